//! Bad input gets one clear line, a hint if there is one, exit code 2 and nothing on standard output.

use crate::common;

use std::path::Path;

use common::{rocm_perf, run};

/// Runs a command and checks the contract of a failure; returns standard error.
fn refused(arguments: &[&str]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed {}", String::from_utf8_lossy(&output.stdout));
    assert!(errors.starts_with("error: "), "{arguments:?}: {errors}");
    assert!(!errors.contains("panicked") && !errors.contains("RUST_BACKTRACE"), "{errors}");
    errors
}

fn written(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("a file");
    path.display().to_string()
}

#[test]
fn files_that_are_no_traces_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases = [
        (written(folder.path(), "empty.json", b""), "empty"),
        (written(folder.path(), "empty.db", b""), "empty"),
        (written(folder.path(), "text.txt", b"hello, world\nthis is no trace\n"), "not a trace"),
        (written(folder.path(), "other.json", b"{\"answer\": 42}"), "not a trace"),
        (written(folder.path(), "other.csv", b"a,b,c\n1,2,3\n"), "not a trace"),
        (written(folder.path(), "random.bin", &[7, 0, 255, 1, 2, 3, 200, 9]), "not a trace"),
        (folder.path().join("absent.json").display().to_string(), "cannot read"),
    ];
    for (path, part) in &cases {
        for command in ["summary", "info"] {
            let errors = refused(&[command, path]);
            assert!(errors.contains(part) && errors.contains(path.as_str()), "{errors}");
            let said = errors.lines().filter(|line| !line.starts_with(" help:")).count();
            assert_eq!(said, 1, "one line: {errors}");
        }
    }
}

#[test]
fn a_database_of_another_program_is_not_rocpd() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("other.db");
    let db = rusqlite::Connection::open(&path).expect("a database");
    db.execute_batch("CREATE TABLE songs (id INTEGER, title TEXT)").expect("a table");
    drop(db);
    for command in ["summary", "info", "query"] {
        let errors = refused(&[command, path.to_str().expect("a path"), "--limit", "3"]);
        assert!(errors.contains("without rocpd tables"), "{errors}");
    }
}

#[test]
fn a_folder_without_traces_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), "notes.txt", b"nothing here");
    let errors = refused(&["summary", folder.path().to_str().expect("a path")]);
    assert!(errors.contains("no trace found in"), "{errors}");
}

#[test]
fn no_input_asks_for_one() {
    assert!(refused(&["summary"]).contains("no input given"));
}

#[test]
fn unknown_words_are_refused_with_what_would_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = written(folder.path(), "t.json", common::SMALL_TORCH.as_bytes());
    assert!(refused(&["summary", &trace, "--table", "kernel"]).contains("choose one of kernels"));
    assert!(refused(&["summary", &trace, "--sort", "size"]).contains("total_ns"));
    let output = rocm_perf().args(["summery", &trace]).output().expect("the binary runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("summary"), "suggests the nearest command");
}

#[test]
fn bad_sql_is_shown_at_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = written(folder.path(), "t.json", common::SMALL_TORCH.as_bytes());
    let errors = refused(&["query", &trace, "--sql", "SELECT name\nFORM kernels"]);
    assert!(errors.contains("line 2"), "{errors}");
    assert!(errors.contains("FORM kernels\n") && errors.contains('^'), "{errors}");
    let errors = refused(&["query", &trace, "--sql", "SELECT * FROM kernel"]);
    assert!(errors.contains("kernels"), "suggests the nearest table: {errors}");
    let errors = refused(&["query", &trace, "--sql", "DELETE FROM kernels"]);
    assert!(errors.contains("may not be modified"), "{errors}");
}

#[test]
fn strict_turns_a_failed_check_into_exit_1() {
    let folder = tempfile::tempdir().expect("a folder");
    // Negative durations: rows that end before they start.
    let bad = common::SMALL_TORCH.replace("\"dur\": 30", "\"dur\": -30");
    let trace = written(folder.path(), "t.json", bad.as_bytes());
    let output = run(&["summary", &trace]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let output = run(&["summary", &trace, "--strict"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!output.stdout.is_empty(), "the report is still printed");
}

#[test]
fn several_runs_are_listed_by_analyses_of_one() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, start) in [("one", "100"), ("two", "107")] {
        let text = common::SMALL_TORCH.replace("\"ts\": 100", &format!("\"ts\": {start}"));
        written(folder.path(), &format!("{name}.rank0.json"), text.as_bytes());
    }
    let folder = folder.path().to_str().expect("a path");
    for command in ["breakdown", "overlap", "explain", "triage"] {
        let errors = refused(&[command, folder]);
        assert!(
            errors.contains("one.rank0.json") && errors.contains("two.rank0.json"),
            "{command}: {errors}"
        );
    }
    assert!(run(&["summary", folder]).status.success(), "what adds up takes them all");
}
