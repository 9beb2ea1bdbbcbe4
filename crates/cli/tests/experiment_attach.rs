//! Commands that attach their own result: what a trial gets from each of them, and their progress meanwhile.

use crate::common;
use crate::lab;
use crate::optimize_lab;

use std::path::Path;
use std::process::Command;

use common::{rocm_perf, synth};
use lab::Lab;
use serde_json::Value;
use stand_in_serving::{Config, Framework, StandIn};

/// Runs a command that attaches to the trial `t` of the experiment `e`; returns the names of the trial's
/// files.
fn attached(command: &mut Command, folder: &Path) -> Vec<String> {
    let database = folder.join("store.db");
    let output = command
        .args(["--experiment", "e", "--trial", "t", "--testbed", "lab", "--branch", "main", "--db"])
        .arg(&database)
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = trial(folder);
    let of = |name: &str| shown["tables"][name].as_array().cloned().unwrap_or_default();
    let text = |row: &Value| row["artifact"].as_str().expect("a name").to_string();
    of("artifacts").iter().map(text).collect()
}

fn trial(folder: &Path) -> Value {
    let mut command = rocm_perf();
    command.args(["experiment", "show", "e", "t", "--json", "--db"]).arg(folder.join("store.db"));
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The last progress that a command recorded.
fn last_word(folder: &Path) -> (String, i64, Option<i64>, bool) {
    let store = rusqlite::Connection::open(folder.join("store.db")).expect("a store");
    let sql = "SELECT kind, done, total, ended FROM progress";
    store.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).expect("a row")
}

fn metric(folder: &Path, name: &str) -> Value {
    let shown = trial(folder);
    let rows = shown["tables"]["metrics"].as_array().cloned().unwrap_or_default();
    rows.into_iter().find(|row| row["metric"] == name).unwrap_or_else(|| panic!("no {name} in {shown}"))
}

#[test]
fn collect_attaches_what_it_reports_and_says_how_far_it_is() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = lab.rocm_perf();
    command.args(["collect", "--quiet", "--arch", "gfx942", "--preset", "compute", "--out"]);
    command.arg(folder.path().join("run"));
    let database = folder.path().join("store.db");
    command.args(["--experiment", "e", "--trial", "t", "--db"]).arg(&database);
    let output = command.arg("--").args([&lab.app("vector_add"), "2"]).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = trial(folder.path());
    assert!(
        rows["tables"]["artifacts"].as_array().unwrap().iter().any(|row| row["artifact"] == "collect.json")
    );
    let (kind, done, total, ended) = last_word(folder.path());
    assert_eq!((kind.as_str(), Some(done), ended), ("collect", total, true), "all passes are done");
    let mut again = lab.rocm_perf();
    again.args(["collect", "--quiet", "--experiment", "e", "--trial", "t", "--db"]).arg(&database);
    let output = again.args(["--out", "never", "--", "true"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "refused before anything runs");
    assert!(!Path::new("never").exists());
}

#[test]
fn a_run_that_fails_is_no_trial() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = lab.rocm_perf();
    command
        .env("STAND_IN_ARCH", "gfx942")
        .args(["collect", "--quiet", "--out"])
        .arg(folder.path().join("run"));
    command.args(["--experiment", "e", "--trial", "t", "--db"]).arg(folder.path().join("store.db"));
    let output = command.arg("--").arg(lab.app("crash")).output().expect("it runs");
    assert_eq!(output.status.code(), Some(3));
    let mut show = rocm_perf();
    show.args(["experiment", "show", "e", "t", "--db"]).arg(folder.path().join("store.db"));
    assert_eq!(show.output().expect("it runs").status.code(), Some(2), "there is no such trial");
    assert!(last_word(folder.path()).3, "watchers hear that it ended");
}

#[test]
fn profile_attaches_what_it_reports() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = lab.rocm_perf();
    command.env("STAND_IN_ARCH", "gfx942").current_dir(folder.path()).args(["profile", "--json", "--quiet"]);
    command.args([
        "--experiment",
        "e",
        "--trial",
        "t",
        "--db",
        "store.db",
        "--",
        &lab.app("vector_add"),
        "2",
    ]);
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = trial(folder.path());
    let names = shown["tables"]["artifacts"].as_array().expect("rows");
    assert!(names.iter().any(|row| row["artifact"] == "profile.json"), "{names:?}");
}

#[test]
fn capture_attaches_what_it_reports() {
    let folder = tempfile::tempdir().expect("a folder");
    let config =
        Config { framework: Framework::Sglang, trace_dir: folder.path().join("server"), ..Config::default() };
    std::fs::create_dir(folder.path().join("server")).expect("a folder");
    let server = StandIn::start(config).expect("a server");
    let mut command = rocm_perf();
    command.args(["capture", "--url", &server.url(), "--out"]).arg(folder.path().join("server"));
    command.args(["--num-steps=2", "--warmup-steps=1", "--prefill-input-len=8", "--decode-output-len=6"]);
    command.args(["--probe-delay=0.001", "--timeout=5", "--poll=0.01", "--settle=0.1", "--quiet"]);
    let names = attached(&mut command, folder.path());
    assert!(names.iter().any(|name| name == "capture.json"), "{names:?}");
}

#[test]
fn compare_and_ranks_attach_what_they_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    synth(&at.join("run"), &["--scenario", "training", "--steps", "3", "--ranks", "2", "--no-stacks"]);
    let mut ranks = rocm_perf();
    ranks.arg("ranks").arg(at.join("run")).arg("--quiet");
    let names = attached(&mut ranks, at);
    assert_eq!(names, ["ranks.json"]);
    let traces: Vec<_> = common::files(&at.join("run"), ".json")
        .into_iter()
        .filter(|path| path.to_string_lossy().contains("rank"))
        .collect();
    let mut compare = rocm_perf();
    compare.arg("compare").args(&traces[..2]).arg("--quiet");
    let names = attached(&mut compare, at);
    assert_eq!(names, ["compare.json", "ranks.json"], "one trial can have the results of several commands");
}

#[test]
fn autotune_attaches_its_search_with_interval_and_importance() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::write(at.join("program.sh"), "echo \"time: $((1000 + $1 * $2)) us\"\n").expect("a program");
    let space = r#"{"BLOCK": [16, 32, 64, 128], "WARPS": [1, 2, 4, 8]}"#;
    std::fs::write(at.join("space.json"), space).expect("a space");
    let mut command = rocm_perf();
    command.current_dir(at).args(["autotune", "--space", "space.json", "--quiet"]);
    command.args(["--cmd-template", "sh program.sh {BLOCK} {WARPS}", "--metric", r"time: (\d+) us"]);
    let names = attached(&mut command, at);
    assert_eq!(names, ["autotune.json", "importance.json"]);
    let best = metric(at, "best_value");
    assert_eq!((best["value"].as_f64(), best["better"].as_str()), (Some(1016.0), Some("lower")));
    assert!(best["low"].as_f64().is_some() && best["high"].as_f64().is_some(), "{best}");
    let (kind, done, total, ended) = last_word(at);
    assert_eq!((kind.as_str(), ended), ("autotune", true));
    assert!(done > 0 && total.is_some_and(|total| total >= done), "{done} of {total:?}");
}

#[test]
fn optimize_attaches_its_session() {
    let folder = optimize_lab::prepared();
    let new = optimize_lab::SOURCE.replacen("x[i] + x[i]", "x[i] * TWICE", 1);
    let proposals = serde_json::json!({ "proposals": [{ "description": "a change", "source": new }] });
    std::fs::write(folder.path().join("proposals.json"), proposals.to_string()).expect("proposals");
    let mut command = optimize_lab::optimize(
        folder.path(),
        &[
            "--proposer",
            "command",
            "--proposer-cmd",
            "cat proposals.json",
            "--experiment",
            "e",
            "--trial",
            "t",
            "--db",
            "store.db",
        ],
    );
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let speedup = metric(folder.path(), "speedup");
    assert!(speedup["value"].as_f64().is_some_and(|value| value > 1.1), "{speedup}");
    assert_eq!(last_word(folder.path()).0, "optimize");
}
