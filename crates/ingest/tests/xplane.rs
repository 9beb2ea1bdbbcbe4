//! XSpace profiles, compared with a second, simple decoder of the same bytes.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use ingest::{Error, Format, Progress};
use rocm_perf_ingest as ingest;
use trace::{Needs, Trace};

/// A field as (number, whole number, bytes).
type Field = (u64, u64, Vec<u8>);

/// The fields of a message, by protobuf's own rules only.
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

/// A field with a whole number.
fn number(field: u64, value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for mut value in [field << 3, value] {
        while value >= 128 {
            out.push(value as u8 | 128);
            value >>= 7;
        }
        out.push(value as u8);
    }
    out
}

/// A field with text or a message; its type is in the first byte of the tag.
fn message(field: u64, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let mut out = number(field, body.len() as u64);
    out[0] |= 2;
    out.extend(body);
    out
}

/// An entry of a table: number and name.
fn entry(field: u64, id: u64, name: &str, more: &[u8]) -> Vec<u8> {
    message(field, &[&number(1, id), &message(2, &[&number(1, id), &message(2, &[name.as_bytes()]), more])])
}

fn shape(element: u64, sizes: &[u8]) -> Vec<u8> {
    message(3, &[&number(2, element), &message(3, &[sizes])])
}

fn instruction(name: &str, opcode: &str, shape: &[u8], id: u64, more: &[&[u8]]) -> Vec<u8> {
    let parts =
        [&message(1, &[name.as_bytes()])[..], &message(2, &[opcode.as_bytes()]), shape, &number(35, id)];
    message(2, &[&parts.concat(), &more.concat()])
}

/// A profile with one launch per op of a program with these instructions.
fn profile(ops: &[&str], instructions: &[Vec<u8>]) -> Vec<u8> {
    let texts = [
        "correlation_id",
        "hlo_op",
        "hlo_module",
        "kernel_details",
        "jit_f",
        "regs:1 grid:1,1,1 block:64,1,1",
    ];
    let mut stats: Vec<u8> = Vec::new();
    for (id, text) in (1..).zip(texts.iter().chain(ops)) {
        stats.extend(entry(5, id, text, &[]));
    }
    let (mut device, mut host) = (Vec::new(), Vec::new());
    for op in 0..ops.len() as u64 {
        let stat = |name: u64, field: u64, value: u64| message(4, &[&number(1, name), &number(field, value)]);
        let times = [number(1, 1), number(2, 1_000_000 * op), number(3, 500_000)].concat();
        let told = [stat(1, 4, op + 1), stat(2, 7, 7 + op), stat(3, 7, 5), stat(4, 7, 6)].concat();
        device.extend(message(4, &[&times, &told]));
        host.extend(message(4, &[&times, &stat(1, 4, op + 1)]));
    }
    let line =
        |name: &str, events: &[u8]| message(3, &[&number(1, 1), &message(2, &[name.as_bytes()]), events]);
    let plane = |id: u64, name: &str, parts: &[&[u8]]| {
        message(1, &[&number(1, id), &message(2, &[name.as_bytes()]), &parts.concat()])
    };
    let module =
        message(1, &[&message(1, &[b"jit_f"]), &message(3, &[&number(5, 1), &instructions.concat()])]);
    let program = message(5, &[&number(1, 1), &message(6, &[&module])]);
    [
        plane(1, "/device:GPU:0", &[&line("Stream #1(Compute)", &device), &entry(4, 1, "gemm", &[]), &stats]),
        plane(2, "/host:CPU", &[&line("python/7", &host), &entry(4, 1, "hipLaunchKernel", &[]), &stats]),
        plane(3, "/host:metadata", &[&entry(4, 1, "jit_f(1)", &program), &entry(5, 1, "Hlo Proto", &[])]),
    ]
    .concat()
}

#[test]
fn products_and_convolutions_have_the_shapes_of_the_compiled_program_whatever_their_layout() {
    let config = br#"{"gemm_backend_config": {"dot_dimension_numbers": {"lhs_contracting_dimensions": ["0"],
        "rhs_contracting_dimensions": ["1"], "lhs_batch_dimensions": [], "rhs_batch_dimensions": []}}}"#;
    let dims = [message(1, &[&[2]]), message(2, &[&[1]]), message(3, &[&[0]]), message(4, &[&[0]])].concat();
    let window = |gaps: u64| message(1, &[&number(1, 3), &number(2, 1), &number(6, gaps)]);
    let instructions = [
        instruction("a", "parameter", &shape(16, &[8, 100, 64]), 1, &[]),
        instruction("b", "parameter", &shape(16, &[8, 64, 32]), 2, &[]),
        instruction(
            "dot.3",
            "dot",
            &shape(16, &[8, 100, 32]),
            3,
            &[&message(36, &[&[1, 2]]), &message(30, &[&dims])],
        ),
        instruction("c", "parameter", &shape(11, &[64, 100]), 4, &[]),
        instruction("d", "parameter", &shape(11, &[32, 64]), 5, &[]),
        instruction(
            "custom-call.1",
            "custom-call",
            &shape(13, &[]),
            6,
            &[&message(36, &[&[4, 5]]), &message(28, &[b"__cublas$lt$matmul"]), &message(43, &[config])],
        ),
        instruction("add.1", "add", &shape(11, &[64, 100]), 7, &[&message(36, &[&[4, 4]])]),
        instruction("image", "parameter", &shape(16, &[2, 8, 8, 3]), 8, &[]),
        instruction("weights", "parameter", &shape(16, &[3, 3, 3, 16]), 9, &[]),
        instruction(
            "convolution.1",
            "convolution",
            &shape(11, &[2, 6, 6, 16]),
            10,
            // Weights are ordered as height, width, input, output.
            &[&message(36, &[&[8, 9]]), &message(15, &[&window(1)]), &message(16, &[&number(4, 3)])],
        ),
        instruction(
            "convolution.2",
            "convolution",
            &shape(11, &[2, 6, 6, 16]),
            11,
            &[&message(36, &[&[8, 9]]), &message(15, &[&window(2)]), &message(16, &[&number(4, 3)])],
        ),
    ];
    let ops = ["dot.3", "custom-call.1", "add.1", "convolution.1", "convolution.2"];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.xplane.pb");
    std::fs::write(&path, profile(&ops, &instructions)).unwrap();
    let trace = read(&path).unwrap();
    let argument = |op: &str, key: &str| {
        let row = (0..trace.regions.len()).find(|&row| trace.strings.get(trace.regions.name[row]) == op)?;
        let value = trace.args.value(trace::RowRef::region(row), trace.strings.find(key)?)?;
        Some(trace.strings.get(value).to_string())
    };
    let expected = [
        ("dot.3", "[[8,100,64],[8,64,32]]", r#"["c10::BFloat16","c10::BFloat16"]"#),
        ("custom-call.1", "[[1,100,64],[1,64,32]]", r#"["float","float"]"#),
        ("add.1", "[[64,100],[64,100]]", r#"["float","float"]"#),
        ("convolution.1", "[[2,8,8,3],[16,27],[72,16]]", r#"["c10::BFloat16","c10::BFloat16","float"]"#),
        // This op's arithmetic is unknown: the shapes are those of the operands.
        ("convolution.2", "[[2,8,8,3],[3,3,3,16]]", r#"["c10::BFloat16","c10::BFloat16"]"#),
    ];
    for (op, dims, types) in expected {
        assert_eq!(argument(op, "Input Dims").as_deref(), Some(dims), "{op}");
        assert_eq!(argument(op, "Input type").as_deref(), Some(types), "{op}");
    }
}

#[test]
fn ops_of_a_real_profile_have_the_shapes_of_their_operands() {
    let Some(path) = testing::data("formats/jax_mi300_conv.xplane.pb.gz") else { return };
    let trace = read(&path).unwrap();
    let row = (0..trace.regions.len())
        .find(|&row| trace.strings.get(trace.regions.name[row]).starts_with("cudnn-conv.1.0"))
        .unwrap();
    let value =
        trace.args.value(trace::RowRef::region(row), trace.strings.find("Input Dims").unwrap()).unwrap();
    let dims: Vec<Vec<u64>> = serde_json::from_str(trace.strings.get(value)).unwrap();
    // 1 x 2 x 2 weights over 16 channels, a step of 1 x 2 x 2 and a border of 1: 34 x 31 x 53 results for each output.
    assert_eq!(dims, [vec![1, 16, 32, 60, 104], vec![5120, 16 * 2 * 2], vec![34 * 31 * 53, 5120]]);
}

#[test]
fn times_near_the_ends_of_64_bits_ended_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.xplane.pb");
    let event = |offset: u64| message(4, &[&number(1, 1), &number(2, offset), &number(3, 5_000)]);
    let line = |start: i64| {
        let head = [number(1, 1), message(2, &[b"Stream #1(Compute)"]), number(3, start as u64)].concat();
        message(3, &[&head, &event(1_000), &event(9_000)])
    };
    let lines = [line(1_000), line(i64::MAX), line(i64::MIN)].concat();
    let name = message(2, &[b"/device:GPU:0"]);
    let plane = message(1, &[&number(1, 1), &name, &lines, &entry(4, 1, "gemm", &[])]);
    std::fs::write(&path, plane).unwrap();
    let trace = read(&path).unwrap();
    let times: Vec<_> = trace.kernels.rows().map(|k| (k.start, k.end)).collect();
    assert_eq!(times, [(1_001, 1_006), (1_009, 1_014)]);
    let timeless = trace.health.checks.iter().find(|check| check.message.contains("usable time")).unwrap();
    assert_eq!(timeless.value, Some(4.0));
}
