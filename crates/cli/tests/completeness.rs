//! Traces that lack GPU work: the check `complete` reports it, the verdict is not trusted, and `--strict`
//! fails.

use crate::common;

use std::path::Path;

use common::{json, run, synth};
use serde_json::Value;

fn check(report: &Value) -> &Value {
    let checks = report["health"]["checks"].as_array().expect("checks");
    checks.iter().find(|check| check["id"] == "complete").expect("the check")
}

fn exit_code(command: &str, folder: &Path) -> Option<i32> {
    run(&[command, folder.to_str().expect("a path"), "--strict"]).status.code()
}

#[test]
fn a_trace_that_lost_kernels_is_not_trusted_and_fails_under_strict() {
    let folder = tempfile::tempdir().expect("a folder");
    for (format, loss) in [("rocpd", "graph=20%"), ("torch", "eager=20%")] {
        let made = folder.path().join(format);
        synth(
            &made,
            &["--scenario", "serving", "--steps", "5", "--no-stacks", "--to", format, "--lose", loss],
        );
        std::fs::remove_dir_all(made.join("mapping")).ok();
        std::fs::remove_dir_all(made.join("capture_traces")).ok();
        let truth = std::fs::read_to_string(made.join("truth.json")).expect("the truth");
        let truth: Value = serde_json::from_str(&truth).expect("JSON");
        let lost = truth["lost"][0]["time_ns"].as_i64().expect("the lost time");
        for command in ["summary", "explain", "breakdown"] {
            let report = json(command, &[&made], &[]);
            let check = check(&report);
            assert_eq!(check["status"], "fail", "{command}: {check}");
            assert_eq!(report["verdict"]["trusted"], false, "{command}");
            let why = report["verdict"]["why_not"].as_str().expect("a reason");
            assert!(why.contains("GPU work was lost"), "{command}: {why}");
            assert_eq!(exit_code(command, &made), Some(1), "{command}");
        }
        let report = json("info", &[&made], &[]);
        let rows = report["tables"]["missing"].as_array().expect("evidence");
        let sum = |key: &str| rows.iter().map(|row| row[key].as_i64().expect("a time")).sum::<i64>();
        assert!(sum("least_ns") <= lost && lost <= sum("most_ns"), "{lost}: {rows:?}");
    }
}

#[test]
fn a_complete_trace_passes_under_strict_and_says_what_cannot_be_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = folder.path().join("made");
    synth(&made, &["--scenario", "serving", "--steps", "5", "--no-stacks", "--to", "rocpd"]);
    let report = json("summary", &[&made], &[]);
    assert_eq!(check(&report)["status"], "pass");
    assert!(check(&report)["message"].as_str().is_some_and(|text| text.contains("cannot judge")), "{report}");
    assert_eq!(report["verdict"]["trusted"], true);
    assert_eq!(exit_code("summary", &made), Some(0));
    assert_eq!(json("info", &[&made], &[])["tables"].get("missing"), None);
}

#[test]
fn a_part_of_a_complete_trace_is_not_called_incomplete() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = folder.path().join("made");
    synth(&made, &["--scenario", "launch-bound", "--steps", "4", "--no-stacks", "--to", "torch"]);
    let report = json("summary", &[&made], &["--end", "50%"]);
    assert_eq!(check(&report)["status"], "pass");
}

#[test]
fn a_trace_that_ends_while_work_runs_is_not_called_incomplete() {
    let folder = tempfile::tempdir().expect("a folder");
    for (scenario, end) in [("clean", "30%"), ("clean", "80%"), ("serving", "80%"), ("training", "55%")] {
        let made = folder.path().join(scenario);
        synth(&made, &["--scenario", scenario, "--steps", "4", "--no-stacks", "--to", "rocpd", "--force"]);
        let part = folder.path().join(format!("{scenario}-{end}"));
        let made = made.to_str().expect("a path");
        let to = part.to_str().expect("a path");
        let output = run(&["convert", made, "--to", "rocpd", "--end", end, "--out", to, "-q"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report = json("summary", &[&part], &[]);
        assert_eq!(check(&report)["status"], "pass", "{scenario} until {end}: {}", check(&report));
    }
}
