//! Stores under stress, as a user meets it: a full disk, a failed sync, a store that another program holds.

use crate::common;
use crate::injected;

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use common::rocm_perf;
use injected::{EIO, ENOSPC, Fault, interposer, sweep};

fn experiment(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = rocm_perf();
    command
        .current_dir(folder)
        .env("ROCM_PERF_DB", folder.join("store/perf.db"))
        .arg("experiment")
        .args(arguments);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Artifacts and metrics of a trial in the store; `None` if there is no such trial.
fn trial(folder: &Path, name: &str) -> Option<(usize, usize)> {
    let output = experiment(folder, &["show", "e", name, "--json"]).output().expect("it runs");
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    let rows = |table: &str| shown["tables"][table].as_array().map_or(0, Vec::len);
    Some((rows("artifacts"), rows("metrics")))
}

#[test]
fn an_attach_that_hits_a_fault_is_there_whole_or_not_at_all() {
    if interposer().is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().canonicalize().expect("a path");
    for name in ["a.txt", "b.txt"] {
        std::fs::write(at.join(name), name.repeat(10_000)).expect("a file");
    }
    assert!(experiment(&at, &["new", "e"]).output().expect("it runs").status.success());
    let mut number = 0;
    for (call, errno) in [("write", ENOSPC), ("sync", EIO), ("rename", EIO), ("create", ENOSPC)] {
        for place in sweep() {
            number += 1;
            let name = format!("t{number}");
            let mut command =
                experiment(&at, &["attach", "e", &name, "a.txt", "b.txt", "--metric", "latency=1ms"]);
            // Different content each time, so that something is written.
            std::fs::write(at.join("a.txt"), name.repeat(10_000)).expect("a file");
            let store = at.join("store");
            let (output, happened) = Fault { call, at: place, below: &store, errno }.run(&mut command, &at);
            let what = format!("{call} {place}: {}", said(&output));
            let found = trial(&at, &name);
            match output.status.code() {
                Some(0) => assert_eq!(found, Some((2, 1)), "acknowledged: {what}"),
                Some(_) => {
                    assert!(found.is_none() || found == Some((2, 1)), "half of it is there: {what}");
                    assert!(said(&output).starts_with("error: "), "{what}");
                    assert!(!said(&output).contains("panicked"), "{what}");
                }
                None => panic!("{what}"),
            }
            // With room again, the same attach succeeds, and changes nothing if it was complete.
            if happened {
                let arguments = ["attach", "e", &name, "a.txt", "b.txt", "--metric", "latency=1ms"];
                let again = experiment(&at, &arguments).output().expect("it runs");
                assert!(again.status.success(), "{what}, then {}", said(&again));
                assert_eq!(trial(&at, &name), Some((2, 1)), "{what}");
            }
        }
    }
    let output = experiment(&at, &["gc"]).output().expect("it runs");
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn a_store_that_another_program_writes_to_is_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    assert!(experiment(at, &["new", "e"]).output().expect("it runs").status.success());
    let other = rusqlite::Connection::open(at.join("store/perf.db")).expect("a store");
    other.execute_batch("BEGIN IMMEDIATE").expect("held");
    let mut waiting = experiment(at, &["attach", "e", "t", "--metric", "latency=1ms"]);
    let mut waiting = waiting.stdout(std::process::Stdio::null()).spawn().expect("it runs");
    std::thread::sleep(Duration::from_millis(700));
    assert!(waiting.try_wait().expect("asked").is_none(), "it waits");
    let listed = experiment(at, &["list"]).output().expect("it runs");
    assert!(listed.status.success(), "readers do not wait: {}", said(&listed));
    other.execute_batch("ROLLBACK").expect("free");
    assert!(waiting.wait().expect("it ends").success());
    assert_eq!(trial(at, "t"), Some((0, 1)));
}

#[test]
fn a_store_that_is_no_store_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::create_dir(at.join("store")).expect("a folder");
    std::fs::write(at.join("store/perf.db"), "not a database at all, but long enough to be looked at")
        .expect("a file");
    let output = experiment(at, &["list"]).output().expect("it runs");
    assert!(!output.status.success());
    assert!(said(&output).contains("perf.db"), "{}", said(&output));
    let mut away = rocm_perf();
    away.args(["experiment", "list", "--db", "postgres://perf@127.0.0.1:1/perf"]);
    let output = away.output().expect("it runs");
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("cannot reach the database"), "{}", said(&output));
}
