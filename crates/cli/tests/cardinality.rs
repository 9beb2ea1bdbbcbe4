//! Traces with as many names, GPUs or processes as rows: time and memory of a command stay proportional.

use crate::common;

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Enough that quadratic work takes minutes.
const MANY: usize = 20_000;
/// Limits of a command in an unoptimised build: CPU seconds, and memory.
const MOST_SECONDS: &str = "30";
const MOST_MEMORY: &str = "1G";

/// A launch and a kernel for each name or process; two for each GPU, with a gap between them next to all
/// other launches.
fn trace(folder: &Path, kind: &str) -> std::path::PathBuf {
    let mut text = String::from(
        r#"{"deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X", "numSms": 304}], "traceEvents": ["#,
    );
    let rounds = if kind == "gpus" { 2 } else { 1 };
    for (i, round) in (0..rounds).flat_map(|round| (0..MANY).map(move |i| (i, round))) {
        let (name, gpu, pid) = match kind {
            "names" => (format!("kernel_{i}"), 0, 7),
            "gpus" => ("gemm".into(), i, 7),
            _ => ("gemm".into(), 0, i + 1),
        };
        _ = writeln!(
            text,
            r#"{{"ph":"M","name":"process_name","pid":{pid},"args":{{"name":"python {pid}"}}}},"#
        );
        let (at, call) = (2 * i + 4 * MANY * round, i + MANY * round + 1);
        _ = write!(
            text,
            r#"{{"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","pid":{pid},"tid":{pid},"ts":{at},"dur":1,"args":{{"correlation":{call}}}}},
{{"ph":"X","cat":"kernel","name":"{name}","pid":{gpu},"tid":3,"ts":{},"dur":1,"args":{{"device":{gpu},"stream":3,"correlation":{call}}}}},
"#,
            at + 1
        );
    }
    text.push_str("{\"ph\":\"M\",\"name\":\"end\",\"pid\":0,\"args\":{}}]}\n");
    let path = folder.join(format!("{kind}.json"));
    std::fs::write(&path, text).expect("a trace");
    path
}

/// Runs a command with limits of CPU time and memory.
fn within_limits(words: &[&str]) {
    // The limit ends a command that takes too long, however busy the machine is.
    let limited = format!("ulimit -t {MOST_SECONDS}; exec \"$0\" \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &limited, env!("CARGO_BIN_EXE_rocm-perf"), "-q", "--memory", MOST_MEMORY])
        .args(words)
        .output()
        .expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {:?} {said}", output.status);
}

#[test]
fn g9_a_trace_of_many_names_took_ten_kilobytes_for_each() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = trace(folder.path(), "names");
    let (input, out) = (input.to_str().expect("text"), folder.path().join("r.html"));
    within_limits(&["bottleneck", input]);
    within_limits(&["report", input, "-o", out.to_str().expect("text")]);
}

#[test]
fn g9_a_trace_of_many_gpus_took_time_for_every_pair_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = trace(folder.path(), "gpus");
    let input = input.to_str().expect("text");
    let (out, digests) = (folder.path().join("r.html"), folder.path().join("digests"));
    within_limits(&["report", input, "-o", out.to_str().expect("text")]);
    within_limits(&["digest", input, "--out", digests.to_str().expect("text")]);
    assert_eq!(common::files(&digests, ".digest").len(), MANY);
    within_limits(&["breakdown", input]);
}

#[test]
fn g9_a_trace_of_many_processes_took_time_for_every_pair_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = trace(folder.path(), "processes");
    let (input, out) = (input.to_str().expect("text"), folder.path().join("r.html"));
    within_limits(&["summary", input]);
    within_limits(&["report", input, "-o", out.to_str().expect("text")]);
}
