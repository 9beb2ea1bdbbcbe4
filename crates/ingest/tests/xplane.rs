//! XSpace profiles against a second, plain decoder of the same bytes.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use ingest::{Error, Format, Progress};
use rocm_perf_ingest as ingest;
use trace::{Needs, Trace};

/// A field as (number, whole number, bytes).
type Field = (u64, u64, Vec<u8>);

/// The fields of a message; protobuf's own rules and nothing else.
fn fields(bytes: &[u8]) -> Vec<Field> {
    let (mut at, mut found) = (0, Vec::new());
    let varint = |at: &mut usize| {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = bytes[*at];
            *at += 1;
            value |= u64::from(byte & 127) << shift;
            shift += 7;
            if byte < 128 {
                return value;
            }
        }
    };
    while at < bytes.len() {
        let tag = varint(&mut at);
        let (number, bytes) = match tag & 7 {
            0 => (varint(&mut at), Vec::new()),
            2 => {
                let length = varint(&mut at) as usize;
                at += length;
                (0, bytes[at - length..at].to_vec())
            }
            kind => {
                let length = if kind == 1 { 8 } else { 4 };
                at += length;
                (0, bytes[at - length..at].to_vec())
            }
        };
        found.push((tag >> 3, number, bytes));
    }
    found
}

fn text_of(message: &[u8], field: u64) -> String {
    let found = fields(message).into_iter().find(|one| one.0 == field);
    found.map_or_else(String::new, |one| String::from_utf8(one.2).unwrap())
}

fn number_of(message: &[u8], field: u64) -> u64 {
    fields(message).into_iter().find(|one| one.0 == field).map_or(0, |one| one.1)
}

/// (GPU, name) → (events, picoseconds) of all stream lines.
fn events_by_gpu_and_name(space: &[u8]) -> BTreeMap<(String, String), (usize, u64)> {
    let mut sums: BTreeMap<(String, String), (usize, u64)> = BTreeMap::new();
    for (_, _, plane) in fields(space).into_iter().filter(|field| field.0 == 1) {
        let name = text_of(&plane, 2);
        let Some(gpu) = name.strip_prefix("/device:GPU:") else { continue };
        let mut names: BTreeMap<u64, String> = BTreeMap::new();
        for (_, _, entry) in fields(&plane).into_iter().filter(|field| field.0 == 4) {
            let value = fields(&entry).into_iter().find(|one| one.0 == 2).unwrap().2;
            names.insert(number_of(&entry, 1), text_of(&value, 2));
        }
        for (_, _, line) in fields(&plane).into_iter().filter(|field| field.0 == 3) {
            for (_, _, event) in fields(&line).into_iter().filter(|field| field.0 == 4) {
                let sum = sums.entry((gpu.to_string(), names[&number_of(&event, 1)].clone())).or_default();
                sum.0 += 1;
                sum.1 += number_of(&event, 3);
            }
        }
    }
    sums
}

fn read(path: &Path) -> Result<Trace, Error> {
    ingest::read(&[path.to_path_buf()], &Needs::everything(), &Progress::default())
}

fn unpacked(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}

fn profiles() -> Vec<PathBuf> {
    ["formats/jax_mi300_conv.xplane.pb.gz", "formats/jax_h200.xplane.pb.gz"]
        .into_iter()
        .filter_map(testing::data)
        .collect()
}

#[test]
fn every_event_of_a_stream_is_a_kernel_a_copy_or_a_fill() {
    for path in profiles() {
        let trace = read(&path).unwrap();
        let mut sums: BTreeMap<(String, String), (usize, u64)> = BTreeMap::new();
        let gpu = |agent: trace::AgentId| {
            trace.agents[agent.get().unwrap()].absolute_index.get().unwrap().to_string()
        };
        let mut add = |gpu: String, name: trace::StrId, ns: i64| {
            let sum = sums.entry((gpu, trace.strings.get(name).to_string())).or_default();
            sum.0 += 1;
            sum.1 += 1000 * ns as u64;
        };
        let (kernels, copies) = (&trace.kernels, &trace.memory_copies);
        for i in 0..kernels.len() {
            add(gpu(kernels.agent[i]), kernels.name[i], kernels.end[i] - kernels.start[i]);
        }
        for i in 0..copies.len() {
            add(gpu(copies.dst[i]), copies.name[i], copies.end[i] - copies.start[i]);
        }
        assert_eq!(sums, events_by_gpu_and_name(&unpacked(&path)), "{}", path.display());
    }
}

#[test]
fn work_is_linked_to_its_call_and_stands_below_its_hlo_op() {
    let Some(path) = testing::data("formats/jax_mi300_conv.xplane.pb.gz") else { return };
    let trace = read(&path).unwrap();
    let category = trace.strings.find("cpu_op").unwrap();
    let regions = &trace.regions;
    let ops: Vec<usize> = (0..regions.len()).filter(|&i| regions.category[i] == category).collect();
    assert!(!ops.is_empty());
    let mut located = 0;
    for kernel in 0..trace.kernels.len() {
        let row = trace::RowRef::new(trace::Table::Kernels, kernel);
        let Some(call) = trace.links.launch_of(row) else { continue };
        let op = trace.strings.get(trace.kernels.region[kernel]);
        let covers = |&&i: &&usize| {
            regions.thread[i] == regions.thread[call]
                && regions.start[i] <= regions.start[call]
                && regions.end[i] >= regions.end[call]
        };
        let over = ops.iter().find(covers).expect("an op over the launch");
        assert!(trace.strings.get(regions.name[*over]).starts_with(op));
        located += 1;
    }
    assert_eq!(located, trace.kernels.len());
}

#[test]
fn a_profile_that_is_cut_or_is_none_is_read_as_far_as_it_goes_or_refused() {
    let Some(path) = testing::data("formats/jax_mi300_conv.xplane.pb.gz") else { return };
    let bytes = unpacked(&path);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("host.xplane.pb");
    for part in [1, 2, 3, 7, 9] {
        std::fs::write(&file, &bytes[..bytes.len() * part / 10]).unwrap();
        match read(&file) {
            Ok(trace) => assert!(trace.health.checks.iter().any(|check| check.id == "damaged_rows")),
            Err(error) => {
                assert!(matches!(error, Error::Damaged { .. } | Error::NotATrace { .. }), "{error}")
            }
        }
    }
    std::fs::write(&file, &bytes).unwrap();
    assert_eq!(ingest::detect(&file).unwrap(), Format::Xplane);
}

#[test]
fn the_page_for_viewers_beside_a_profile_is_not_a_second_recording() {
    let Some(path) = testing::data("formats/jax_mi300_conv.xplane.pb.gz") else { return };
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("plugins/profile/2026_11_15_10_00_00");
    std::fs::create_dir_all(&below).unwrap();
    std::fs::write(below.join("node7.xplane.pb"), unpacked(&path)).unwrap();
    let page = r#"{"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "name": "a"}]}"#;
    std::fs::write(below.join("node7.trace.json"), page).unwrap();
    let trace = read(folder.path()).unwrap();
    assert_eq!(trace.sources.len(), 1);
    assert_eq!(trace.strings.get(trace.processes[0].hostname), "node7");
}
