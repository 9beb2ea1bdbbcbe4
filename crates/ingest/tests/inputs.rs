//! Folders, sets, duplicates and ranks.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use rocm_perf_ingest::{Error, Format, Progress, find_inputs, read};
use trace::{Needs, Status, Trace};

fn torch(kernel: &str) -> String {
    format!(
        r#"{{"schemaVersion": 1, "deviceProperties": [{{"id": 0, "name": "AMD Instinct MI300X"}}], "traceEvents": [
        {{"ph": "X", "cat": "kernel", "name": "{kernel}", "pid": 0, "tid": 3, "ts": 100.5, "dur": 2.25, "args": {{"device": 0, "stream": 3, "correlation": 7}}}}]}}"#
    )
}

fn sdk(pid: i64) -> String {
    format!(
        r#"{{"rocprofiler-sdk-tool": [{{"metadata": {{"pid": {pid}, "init_time": 1, "fini_time": 9}}, "buffer_records": {{"kernel_dispatch": [
        {{"size": 1, "kind": 1, "thread_id": 1, "correlation_id": {{"internal": 1, "external": 0}}, "start_timestamp": 5, "end_timestamp": 7,
        "dispatch_info": {{"size": 1, "kernel_id": 3, "dispatch_id": 1}}}}]}}}}]}}"#
    )
}

const KERNELS: &str = "\"Kind\",\"Dispatch_Id\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n\"KERNEL_DISPATCH\",1,\"foo\",5,7\n";
const CALLS: &str = "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n\"HIP\",\"hipFree\",1,1,1,1,2\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            folder.add(name, text.as_bytes());
        }
        folder
    }

    fn add(&self, name: &str, bytes: &[u8]) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn path(&self) -> PathBuf {
        self.0.path().to_path_buf()
    }

    fn found(&self) -> Vec<(String, Format, usize)> {
        let inputs = find_inputs(&[self.path()]).unwrap();
        let short = |path: &Path| path.strip_prefix(self.0.path()).unwrap().to_string_lossy().into_owned();
        inputs.iter().map(|i| (short(&i.path), i.format, i.files.len())).collect()
    }
}

fn read_paths(paths: &[PathBuf]) -> Trace {
    read(paths, &Needs::summary(), &Progress::default()).unwrap()
}

fn warnings(trace: &Trace, id: &str) -> Vec<String> {
    trace.health.problems().filter(|c| c.id == id).map(|c| c.message.clone()).collect()
}

#[test]
fn folders_are_their_traces_in_a_fixed_order() {
    let folder = Folder::with(&[
        ("rank10.json", &torch("a")),
        ("rank2.json", &torch("b")),
        ("deep/er/1_kernel_trace.csv", KERNELS),
        ("deep/er/1_hip_api_trace.csv", CALLS),
        ("deep/er/2_kernel_trace.csv", KERNELS),
        ("deep/9_results.json", &sdk(9)),
        ("execution_details.json", r#"{"captures": []}"#),
        ("server_args.json", r#"{"model": "x"}"#),
        (".hidden.json", &torch("c")),
        ("half.json.part", &torch("d")),
        ("notes.txt", "hello"),
        ("index.yaml", "rocprofiler-sdk: {}"),
    ]);
    let expected = [
        ("deep/9_results.json", Format::Rocprofv3Json, 1),
        ("deep/er/1_hip_api_trace.csv", Format::Rocprofv3Csv, 2),
        ("deep/er/2_kernel_trace.csv", Format::Rocprofv3Csv, 1),
        ("rank2.json", Format::Torch, 1),
        ("rank10.json", Format::Torch, 1),
    ];
    let found = folder.found();
    let found: Vec<_> = found.iter().map(|(path, format, files)| (path.as_str(), *format, *files)).collect();
    assert_eq!(found, expected);
}

#[cfg(unix)]
#[test]
fn links_that_go_round_end() {
    let folder = Folder::with(&[("a/rank0.json", &torch("a"))]);
    std::os::unix::fs::symlink(folder.path(), folder.path().join("a/loop")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path().join("dangling.json")).unwrap();
    assert_eq!(folder.found().len(), 1);
}

#[test]
fn nothing_to_read_is_an_error_with_a_name() {
    let empty = Folder::with(&[("notes.txt", "hello")]);
    assert!(matches!(find_inputs(&[empty.path()]), Err(Error::NoTraces { .. })));
    let notes = empty.path().join("notes.txt");
    assert!(matches!(find_inputs(&[notes]), Err(Error::NotATrace { .. })));
    let dead = Folder::with(&[("1_results.db", "")]);
    assert!(matches!(find_inputs(&[dead.path()]), Err(Error::Empty { .. })));
    let mixed = Folder::with(&[("2_results.db", ""), ("9_results.json", &sdk(9))]);
    let trace = read_paths(&[mixed.path()]);
    assert_eq!(trace.kernels.len(), 1);
    let told = warnings(&trace, "unreadable_input");
    assert!(told.len() == 1 && told[0].contains("2_results.db"), "{told:?}");
}

#[test]
fn one_recording_is_read_once() {
    let folder = Folder::with(&[("a_results.json", &sdk(9)), ("copies/b_results.json", &sdk(9))]);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(sdk(9).as_bytes()).unwrap();
    folder.add("packed/c_results.json.gz", &packed.finish().unwrap());
    folder.add("other_results.json", sdk(8).as_bytes());
    let file = folder.path().join("a_results.json");
    let trace = read_paths(&[folder.path(), file]);
    let mut pids: Vec<_> = trace.processes.iter().map(|p| p.pid).collect();
    pids.sort();
    assert_eq!(pids, [8, 9]);
    let told = warnings(&trace, "duplicate_input");
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told.iter().all(|message| message.matches("results.json").count() == 2), "{told:?}");
}

#[test]
fn one_recording_with_different_rows_is_a_failure() {
    let folder = Folder::with(&[
        ("a.json", &sdk(9)),
        ("b.json", &sdk(9).replace("\"end_timestamp\": 7", "\"end_timestamp\": 8")),
    ]);
    let trace = read_paths(&[folder.path()]);
    let told = warnings(&trace, "conflicting_input");
    assert!(told.len() == 1 && told[0].contains("a.json") && told[0].contains("b.json"), "{told:?}");
    assert_eq!(trace.health.status(), Status::Fail);
}

#[test]
fn a_run_in_several_formats_is_read_from_the_richest() {
    let folder = Folder::with(&[
        ("9_results.json", &sdk(9)),
        ("9_kernel_trace.csv", KERNELS),
        ("8_kernel_trace.csv", KERNELS),
    ]);
    let trace = read_paths(&[folder.path()]);
    let formats: Vec<_> = trace.sources.iter().map(|s| s.format.as_str()).collect();
    assert_eq!(formats, ["rocprofv3-csv", "rocprofv3-json"]);
    assert_eq!(warnings(&trace, "duplicate_input").len(), 1);
}

#[test]
fn ranks_come_from_names_and_never_for_captures() {
    let folder = Folder::with(&[
        ("node1_rank12_results.json", &sdk(1)),
        ("rank_3/host/77_results.json", &sdk(2)),
        ("77_results.json", &sdk(3)),
    ]);
    let trace = read_paths(&[folder.path()]);
    let mut ranks: Vec<_> =
        trace.processes.iter().map(|p| (p.pid, trace.sources[p.source.get().unwrap()].rank)).collect();
    ranks.sort();
    assert_eq!(ranks, [(1, Some(12)), (2, Some(3)), (3, None)]);
}

#[test]
fn captures_merged_and_helper_traces_are_no_ranks() {
    let with_rank = |kernel: &str, rank: u32| {
        torch(kernel).replacen(
            "\"traceEvents\"",
            &format!("\"distributedInfo\": {{\"rank\": {rank}, \"world_size\": 8}}, \"traceEvents\""),
            1,
        )
    };
    let folder = Folder::with(&[
        ("run-TP-1-DECODE.trace.json", &torch("a")),
        ("capture_traces/bs_32_rank0.json", &with_rank("b", 0)),
        ("host_12.async_llm.177.pt.trace.json", &torch("c")),
        ("merged-17.trace.json", &torch("d")),
        ("known_by_content.json", &with_rank("e", 5)),
        ("rank_1.json", &with_rank("f", 6)),
    ]);
    let trace = read_paths(&[folder.path()]);
    let mut ranks: Vec<_> = trace
        .sources
        .iter()
        .map(|s| {
            let name = Path::new(&s.path).file_name().unwrap().to_string_lossy().into_owned();
            (name, s.rank, s.role.clone().unwrap_or_default())
        })
        .collect();
    ranks.sort();
    let ranks: Vec<_> =
        ranks.iter().map(|(name, rank, role)| (name.as_str(), *rank, role.as_str())).collect();
    assert_eq!(
        ranks,
        [
            ("bs_32_rank0.json", None, "capture"),
            ("host_12.async_llm.177.pt.trace.json", None, "helper"),
            ("known_by_content.json", Some(5), ""),
            ("merged-17.trace.json", None, "merged"),
            ("rank_1.json", Some(6), ""),
            ("run-TP-1-DECODE.trace.json", Some(1), ""),
        ]
    );
}

#[test]
fn a_torch_trace_packed_differently_is_the_same_recording() {
    let folder = Folder::with(&[("a.json", &torch("a")), ("b.json", &torch("b"))]);
    folder.add("c.json.zst", &zstd::stream::encode_all(torch("a").as_bytes(), 1).unwrap());
    let trace = read_paths(&[folder.path()]);
    assert_eq!((trace.kernels.len(), trace.sources.len()), (2, 2));
    let told = warnings(&trace, "duplicate_input");
    assert!(told.len() == 1 && told[0].contains("a.json") && told[0].contains("c.json.zst"), "{told:?}");
}

#[test]
fn equal_tensor_ranks_of_several_replicas_are_told_apart() {
    let folder = Folder::with(&[
        ("t-TP-0-DP-0.json", &sdk(1)),
        ("t-TP-1-DP-0.json", &sdk(2)),
        ("t-TP-0-DP-1.json", &sdk(3)),
        ("t-TP-1-DP-1.json", &sdk(4)),
    ]);
    let trace = read_paths(&[folder.path()]);
    let mut ranks: Vec<_> =
        trace.processes.iter().map(|p| (p.pid, trace.sources[p.source.get().unwrap()].rank)).collect();
    ranks.sort();
    assert_eq!(ranks, [(1, Some(0)), (2, Some(1)), (3, Some(2)), (4, Some(3))]);
}

#[test]
fn thousands_of_files_are_one_trace() {
    let folder = Folder::with(&[]);
    for pid in 0..2000 {
        folder.add(&format!("{pid}_results.json"), sdk(pid).as_bytes());
    }
    let progress = Progress::default();
    let trace = read(&[folder.path()], &Needs::summary(), &progress).unwrap();
    assert_eq!((trace.kernels.len(), trace.sources.len()), (2000, 2000));
    let pids: Vec<_> = trace.processes.iter().map(|p| p.pid).collect();
    assert!(pids.is_sorted());
    let (done, total) = progress.get();
    assert_eq!(done, total);
}
