//! Shared by the tests of the binary: running it, reading its JSON, finding real traces.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The binary without the caller's terminal settings.
pub fn rocm_perf() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rocm-perf"));
    command.env_remove("COLUMNS").env("NO_COLOR", "1").stdin(std::process::Stdio::null());
    command
}

/// Runs it and returns the whole output.
pub fn run<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Output {
    rocm_perf().args(arguments).output().expect("the binary runs")
}

/// Standard output of a run that must succeed.
pub fn stdout<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{:?}: {errors}", output.status);
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

/// The JSON report of a command on an input.
pub fn json(command: &str, inputs: &[&Path], more: &[&str]) -> Value {
    let mut arguments: Vec<&std::ffi::OsStr> = vec![command.as_ref(), "--format".as_ref(), "json".as_ref()];
    arguments.extend(inputs.iter().map(|path| path.as_os_str()));
    arguments.extend(more.iter().map(std::ffi::OsStr::new));
    serde_json::from_str(&stdout(&arguments)).expect("the report is JSON")
}

/// Real traces and expected results, if they are here; otherwise prints that they are not.
pub fn shared_data() -> Option<PathBuf> {
    testing::data("")
}

/// Data made by `synth` in its own folder.
pub fn synth(folder: &Path, arguments: &[&str]) {
    let output =
        rocm_perf().arg("synth").args(arguments).arg("--out").arg(folder).output().expect("synth runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The files below a folder with this extension, sorted.
pub fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A torch trace of two kernels, their launches and a copy.
pub const SMALL_TORCH: &str = r#"{"schemaVersion": 1, "roctracer_version": 4.1, "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 10, "tid": 10, "ts": 100, "dur": 50, "args": {"External id": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 10, "tid": 10, "ts": 110, "dur": 10, "args": {"External id": 1, "correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 0, "ts": 130, "dur": 30, "args": {"External id": 1, "device": 0, "stream": 0, "correlation": 7, "kind": "Dispatch Kernel", "grid": [4, 1, 1], "block": [64, 1, 1]}},
{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 10, "tid": 10, "ts": 160, "dur": 5, "args": {"correlation": 8}},
{"ph": "X", "cat": "kernel", "name": "relu", "pid": 0, "tid": 0, "ts": 170, "dur": 12.5, "args": {"device": 0, "stream": 0, "correlation": 8, "kind": "Dispatch Kernel", "grid": [2, 1, 1], "block": [256, 1, 1]}},
{"ph": "X", "cat": "cuda_runtime", "name": "hipMemcpyAsync", "pid": 10, "tid": 10, "ts": 180, "dur": 3, "args": {"correlation": 9}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Host)", "pid": 0, "tid": 0, "ts": 190, "dur": 4, "args": {"device": 0, "stream": 0, "correlation": 9, "kind": "DtoH", "bytes": 4096}}
]}"#;

/// Sends a signal by its name.
pub fn signal(name: &str, process: u32) {
    let status = Command::new("kill").arg(format!("-{name}")).arg(process.to_string()).status();
    assert!(status.expect("kill runs").success(), "{name} to {process}");
}

/// Sends a signal that ends a process, and waits for the end: until then, a crashing process still takes work.
pub fn crash(name: &str, process: u32) {
    signal(name, process);
    let began = Instant::now();
    while is_running(process) {
        assert!(began.elapsed() < Duration::from_secs(60), "{process} lives on after {name}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a process exists and is not a zombie.
pub fn is_running(process: impl std::fmt::Display) -> bool {
    let facts = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name before the state may contain anything.
    facts.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

/// The worker that a server started.
pub fn worker_of(server: u32) -> u32 {
    let children = format!("/proc/{server}/task/{server}/children");
    let children = std::fs::read_to_string(children).expect("a running server");
    let mut children = children.split_whitespace().map(|pid| pid.parse().expect("a number"));
    children.next().expect("a worker")
}
