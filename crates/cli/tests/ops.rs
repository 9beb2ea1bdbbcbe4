//! `ops` on a training step small enough to count by hand, and on a part of a serving run.

use crate::common;

use std::path::{Path, PathBuf};

use common::{json, rocm_perf, stdout, synth};
use serde_json::{Value, json};

/// Two layers forward; one backward op that first repeats the forward pass of its layer.
fn training_step(folder: &Path) -> PathBuf {
    let mut events: Vec<Value> = Vec::new();
    let mut host = |cat: &str, name: &str, tid: u32, ts: u32, dur: u32, args: Value| {
        events.push(json!({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}));
    };
    let shapes = json!({"Input Dims": [[8, 4], [4, 2]], "Input type": ["float", "float"]});
    host("python_function", "nn.Module: Net_0", 1, 0, 100, json!({"Python id": 1}));
    for (layer, at) in [(0, 0), (1, 40)] {
        let name = format!("nn.Module: Layer_{layer}");
        host("python_function", &name, 1, at + 1, 39, json!({"Python id": layer + 2, "Python parent id": 1}));
        host("cpu_op", "aten::linear", 1, at + 2, 30, json!({"External id": 10 + layer}));
        host("cpu_op", "aten::mm", 1, at + 3, 20, shapes.clone());
        host("cuda_runtime", "hipLaunchKernel", 1, at + 5, 5, json!({"correlation": layer + 1}));
    }
    host("cpu_op", "autograd::engine::evaluate_function: MmBackward0", 2, 110, 40, json!({}));
    host(
        "python_function",
        "torch/utils/checkpoint.py(99): recompute_fn",
        2,
        111,
        10,
        json!({"Python id": 9}),
    );
    host("cpu_op", "aten::mm", 2, 112, 6, shapes.clone());
    host("cuda_runtime", "hipLaunchKernel", 2, 113, 3, json!({"correlation": 3}));
    host("cpu_op", "aten::mm", 2, 125, 15, shapes);
    host("cuda_runtime", "hipLaunchKernel", 2, 130, 5, json!({"correlation": 4}));
    for (correlation, ts, dur) in [(1, 50, 20), (2, 70, 30), (3, 130, 10), (4, 150, 50), (5, 210, 7)] {
        events.push(
            json!({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": ts, "dur": dur,
            "args": {"correlation": correlation, "device": 0, "stream": 7}}),
        );
    }
    for (phase, tid, ts) in [("s", 1, 3), ("f", 2, 110)] {
        events.push(json!({"ph": phase, "cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": 1, "tid": tid, "ts": ts, "bp": "e"}));
    }
    let path = folder.join("step.json");
    std::fs::write(&path, json!({"schemaVersion": 1, "traceEvents": events}).to_string()).expect("a trace");
    path
}

fn row<'a>(report: &'a Value, table: &str, key: &str, name: &str) -> &'a Value {
    let rows = report["tables"][table].as_array().unwrap_or_else(|| panic!("no table {table}"));
    rows.iter().find(|row| row[key] == name).unwrap_or_else(|| panic!("no {name} in {table}: {rows:?}"))
}

#[test]
fn a_training_step_is_counted_as_by_hand() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = json("ops", &[&training_step(folder.path())], &[]);
    let mm = row(&report, "ops", "name", "aten::mm");
    assert_eq!(
        (&mm["calls"], &mm["self_gpu_ns"], &mm["gpu_ns"]),
        (&json!(4), &json!(110_000), &json!(110_000))
    );
    assert_eq!((&mm["host_ns"], &mm["launches"], &mm["kernels"]), (&json!(61_000), &json!(4), &json!(4)));
    // Delays 40, 20, 14 and 15 µs; the second launch finds one kernel in front of it.
    assert_eq!((&mm["launch_delay_ns"], &mm["queue_length"]), (&json!(22_250), &json!(0.25)));
    assert_eq!((&mm["backward_gpu_ns"], &mm["recomputed_ns"]), (&json!(60_000), &json!(10_000)));
    let linear = row(&report, "ops", "name", "aten::linear");
    assert_eq!((&linear["self_gpu_ns"], &linear["gpu_ns"]), (&json!(0), &json!(50_000)));
    let lost = row(&report, "ops", "name", "(launch not recorded)");
    assert_eq!((&lost["self_gpu_ns"], &lost["queue_length"]), (&json!(7_000), &Value::Null));
    let layers = row(&report, "modules", "module", "Layer");
    assert_eq!((&layers["tree"], &layers["path"]), (&json!("  Layer ×2"), &json!("Net > Layer")));
    assert_eq!((&layers["calls"], &layers["self_gpu_ns"]), (&json!(2), &json!(50_000)));
    assert_eq!(layers["backward_gpu_ns"], 60_000);
    let outside = row(&report, "modules", "module", "(no module)");
    assert_eq!((&outside["self_gpu_ns"], &outside["recomputed_ns"]), (&json!(67_000), &json!(10_000)));
    let shape = &report["tables"]["op_shapes"][0];
    assert_eq!((&shape["shapes"], &shape["calls"]), (&json!("[[8, 4], [4, 2]]"), &json!(4)));
    let frame = &report["tables"]["frames"][0];
    assert_eq!(
        (&frame["frame"], &frame["gpu_ns"]),
        (&json!("torch/utils/checkpoint.py(99): recompute_fn"), &json!(10_000))
    );
}

#[test]
fn linked_ops_leave_out_work_without_a_launch_and_ops_that_launch_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = json("ops", &[&training_step(folder.path())], &["--linked"]);
    let names: Vec<&Value> =
        report["tables"]["ops"].as_array().unwrap().iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["aten::mm"]);
    assert!(
        report["notes"][0].as_str().unwrap().contains("1 kernel or copy is left out"),
        "{}",
        report["notes"]
    );
}

#[test]
fn stacks_and_sql_say_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let (trace, stacks) = (training_step(folder.path()), folder.path().join("gpu.folded"));
    json("ops", &[&trace], &["--stacks", stacks.to_str().unwrap()]);
    let text = std::fs::read_to_string(stacks).expect("the stacks");
    let first = "nn.Module: Net_0;nn.Module: Layer_0;aten::linear;aten::mm;hipLaunchKernel;gemm 20000";
    assert!(text.lines().any(|line| line == first), "{text}");
    let sql =
        "SELECT o.name, o.gpu_ns, m.module FROM ops o, modules m WHERE o.name = 'aten::mm' AND m.depth = 2";
    let report = json("query", &[&trace], &["--sql", sql]);
    assert_eq!(
        report["tables"]["result"],
        json!([{"name": "aten::mm", "gpu_ns": 110_000, "module": "Layer"}])
    );
}

#[test]
fn a_part_keeps_the_modules_around_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = training_step(folder.path());
    // Only the second kernel; its op and module began before the window.
    let report = json("ops", &[&trace], &["--start", "25%", "--end", "50%"]);
    let layer = row(&report, "modules", "path", "Net > Layer");
    assert_eq!((&layer["calls"], &layer["self_gpu_ns"]), (&json!(1), &json!(30_000)));
    assert_eq!(report["tables"]["ops"][0]["calls"], 1);
    let all: i64 = report["tables"]["ops"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["self_gpu_ns"].as_i64().unwrap())
        .sum();
    assert_eq!(all, 30_000);
}

#[test]
fn a_replay_has_the_ops_of_its_capture() {
    let folder = tempfile::tempdir().expect("a folder");
    synth(&folder.path().join("run"), &["--scenario", "serving", "--seed", "3", "--steps", "4"]);
    let trace = folder.path().join("run/serving.rank0.json");
    let capture = folder.path().join("run/capture_traces");
    let total = |report: &Value| -> i64 {
        report["tables"]["ops"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["self_gpu_ns"].as_i64().unwrap())
            .sum()
    };
    let outside =
        |report: &Value| row(report, "modules", "module", "(no module)")["self_gpu_ns"].as_i64().unwrap();
    let alone = json("ops", &[&trace], &[]);
    let joined = json("ops", &[&trace], &["--mapping", capture.to_str().unwrap()]);
    // A folder includes its captures, and their calls are not counted as the run's.
    let folder = json("ops", &[&folder.path().join("run")], &[]);
    assert_eq!(folder["tables"]["ops"], joined["tables"]["ops"]);
    assert_eq!(total(&alone), total(&joined));
    assert!(alone["notes"].to_string().contains("--mapping"), "{}", alone["notes"]);
    assert!(outside(&joined) * 2 < outside(&alone), "{} of {}", outside(&joined), outside(&alone));
}

#[test]
fn a_person_sees_ops_and_modules() {
    let folder = tempfile::tempdir().expect("a folder");
    training_step(folder.path());
    let mut command = rocm_perf();
    let output =
        command.current_dir(folder.path()).env("COLUMNS", "110").args(["ops", "step.json"]).output().unwrap();
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_trace_without_ops_says_what_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    synth(&folder.path().join("run"), &["--scenario", "training", "--kernels", "300", "--to", "rocpd"]);
    let database = common::files(&folder.path().join("run"), ".db").remove(0);
    let text = stdout(&["ops", database.to_str().unwrap()]);
    assert!(text.contains("the trace has no ops"), "{text}");
    assert!(
        text.contains("hipLaunchKernel") || text.contains("hipModuleLaunchKernel") || text.contains("hipExt"),
        "{text}"
    );
}
