//! `experiment`: from a trace to a trial, what is refused, and the gate, as a user sees them.

use crate::common;

use std::path::Path;
use std::process::Output;

use common::{rocm_perf, synth};
use serde_json::Value;

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = rocm_perf();
    command.current_dir(folder).env("ROCM_PERF_DB", "store.db").env("COLUMNS", "100");
    command.args(arguments).output().expect("it runs")
}

fn text(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The JSON of a command, which must fit the shipped schema.
fn json(folder: &Path, arguments: &[&str]) -> Value {
    let document = serde_json::from_str(&text(folder, &[arguments, &["--json"]].concat())).expect("JSON");
    let schema = include_str!("../../../schemas/experiment.json");
    let schema = serde_json::from_str(schema).expect("a schema");
    assert_eq!(formats::json_schema::problems(&schema, &document), Vec::<String>::new(), "{arguments:?}");
    document
}

#[test]
fn a_trace_becomes_a_trial_with_the_output_of_each_analysis() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    synth(&at.join("run"), &["--steps", "3", "--no-stacks"]);
    json(at, &["experiment", "new", "decode", "--description", "serving"]);
    let attached =
        json(at, &["experiment", "attach", "decode", "t1", "run/serving.rank0.json", "--branch", "main"]);
    let names: Vec<&str> = attached["tables"]["attached"]
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(|row| row["artifact"].as_str())
        .collect();
    for name in ["serving.rank0.json", "summary.json", "explain.json", "triage.json", "critical_path.json"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    let trial = json(at, &["experiment", "show", "decode", "t1"]);
    assert!(trial["tables"]["metrics"].as_array().expect("rows").iter().any(|row| row["metric"] == "span"));
    let again = json(at, &["experiment", "attach", "decode", "t1", "run/serving.rank0.json"]);
    let changed = again["tables"]["attached"].as_array().expect("rows").iter();
    assert_eq!(changed.filter(|row| row["status"] != "unchanged").count(), 0);
    // A command attaches its own result, and creates the experiment if it is new.
    let triage = [
        "triage",
        "run/serving.rank0.json",
        "--experiment-id",
        "own",
        "--trial-id",
        "t1",
        "--out",
        "artifacts",
    ];
    text(at, &triage);
    let trial = json(at, &["experiment", "show", "own", "t1"]);
    let rows = trial["tables"]["artifacts"].as_array().expect("rows");
    assert!(
        ["triage.json", "kernel_table.json"]
            .iter()
            .all(|name| rows.iter().any(|row| row["artifact"] == *name))
    );
    assert_eq!(run(at, &triage).status.code(), Some(2), "the trial has a triage already");
    json(at, &["experiment", "export", "decode", "out"]);
    assert!(at.join("out/steps.jsonl").exists());
    json(at, &["experiment", "import", "out", "--name", "copy"]);
}

#[test]
fn a_malformed_artifact_is_refused_by_file_and_field() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    text(at, &["experiment", "new", "e"]);
    std::fs::write(at.join("kernel_table.json"), r#"[{"stage": 1}]"#).expect("a file");
    let output = run(at, &["experiment", "attach", "e", "t", "kernel_table.json"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("`kernel_table.json`: /0"), "{said}");
    assert_eq!(run(at, &["experiment", "show", "e", "t"]).status.code(), Some(2), "nothing was stored");
}

#[test]
fn the_gate_is_closed_by_what_got_worse_and_by_what_it_cannot_judge() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    text(at, &["experiment", "new", "e"]);
    let values = ["100", "101", "99.5", "100.4", "99.8", "100.9", "110", "109.5"];
    for (trial, value) in values.iter().enumerate() {
        let metric = format!("latency={value}ms");
        text(at, &["experiment", "attach", "e", &format!("t{trial}"), "--metric", &metric]);
        let gate = run(at, &["experiment", "gate", "e"]);
        let expected = if (5..6).contains(&trial) { 0 } else { 1 };
        assert_eq!(gate.status.code(), Some(expected), "t{trial}: {}", String::from_utf8_lossy(&gate.stdout));
    }
    insta::assert_snapshot!("gate", String::from_utf8(run(at, &["experiment", "gate", "e"]).stdout).unwrap());
    insta::assert_snapshot!("alerts", text(at, &["experiment", "alerts", "e"]));
    insta::assert_snapshot!("compare", text(at, &["experiment", "compare", "e", "t0", "t7"]));
    json(at, &["experiment", "acknowledge", "e", "t6", "--reason", "new driver"]);
    assert!(run(at, &["experiment", "gate", "e"]).status.success());
}

#[test]
fn steps_have_what_changed_and_what_it_did_without_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    text(at, &["experiment", "new", "e"]);
    for (trial, latency) in [("t1", "latency=12±0.5ms"), ("t2", "latency=9±0.5ms")] {
        text(at, &["experiment", "attach", "e", trial, "--metric", latency]);
    }
    text(
        at,
        &[
            "experiment",
            "note",
            "e",
            "fused norm; ran with HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123456789",
            "--trial",
            "t2",
        ],
    );
    text(at, &["experiment", "export", "e", "out"]);
    let lines = std::fs::read_to_string(at.join("out/steps.jsonl")).expect("steps");
    let step: Value = serde_json::from_str(lines.lines().next().expect("a step")).expect("JSON");
    let schema =
        serde_json::from_str(include_str!("../../../schemas/optimization_step.json")).expect("a schema");
    assert_eq!(formats::json_schema::problems(&schema, &step), Vec::<String>::new());
    assert_eq!((lines.lines().count(), &step["kind"], &step["trial"]), (1, &"trial".into(), &"t2".into()));
    let outcome = &step["outcome"]["metrics"][0];
    assert_eq!((&outcome["before"]["value"], &outcome["after"]["high"]), (&12.0.into(), &9.5.into()));
    assert!(lines.contains("fused norm") && !lines.contains("hf_abcdef"), "{lines}");
}
