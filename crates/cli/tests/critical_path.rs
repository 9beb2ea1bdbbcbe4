//! `critical-path` end to end: what a person sees, JSON, questions, and the path as a track.

use crate::common;

use common::{files, json, rocm_perf, run, synth};
use serde_json::Value;

fn training(to: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    synth(
        &folder.path().join("run"),
        &["--scenario", "training", "--ranks", "2", "--steps", "2", "--to", to],
    );
    folder
}

fn rows<'a>(report: &'a Value, table: &str) -> &'a Vec<Value> {
    report["tables"][table].as_array().unwrap_or_else(|| panic!("no table {table}"))
}

#[test]
fn tables_keep_the_contract_in_every_format() {
    for (to, ending) in [("torch", ".json"), ("rocpd", ".db")] {
        let folder = training(to);
        let inputs = files(folder.path(), ending);
        let inputs: Vec<_> =
            inputs.iter().filter(|p| !p.ends_with("truth.json")).map(|p| p.as_path()).collect();
        let report = json("critical-path", &inputs, &["--what-if", "gemm=0.5", "--what-if", "copy=0"]);
        let path = rows(&report, "path");
        let keys = ["index", "kind", "name", "start_ns", "end_ns", "duration_ns"];
        assert!(keys.iter().all(|key| path[0].get(key).is_some()), "{}", path[0]);
        let total: i64 = path.iter().map(|row| row["duration_ns"].as_i64().unwrap()).sum();
        let span = path.last().unwrap()["end_ns"].as_i64().unwrap() - path[0]["start_ns"].as_i64().unwrap();
        assert_eq!(total, span);
        let bounds: i64 = rows(&report, "bounds").iter().map(|row| row["total_ns"].as_i64().unwrap()).sum();
        assert_eq!(bounds, span);
        let asked: Vec<&str> =
            rows(&report, "what_if").iter().map(|row| row["name"].as_str().unwrap()).collect();
        assert_eq!(asked, ["gemm", "copy", "all together"]);
        let predicted = rows(&report, "what_if")[0]["predicted_span_ns"].as_i64().unwrap();
        assert!(predicted < span && predicted > span / 3, "{predicted} of {span}");
        assert!(rows(&report, "kernels").iter().all(|row| row["slack_ns"].as_i64().unwrap() >= 0));
    }
}

#[test]
fn a_person_sees_it_in_80_columns() {
    let folder = tempfile::tempdir().expect("a folder");
    synth(
        &folder.path().join("run"),
        &["--scenario", "exposed-communication", "--steps", "3", "--ranks", "1", "--to", "rocpd"],
    );
    let input = files(folder.path(), ".db").remove(0);
    let output = rocm_perf()
        .args(["critical-path", "--limit", "6", "--what-if", "communication=0"])
        .arg(&input)
        .env("COLUMNS", "80")
        .output()
        .expect("it runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success());
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text.replace(&folder.path().display().to_string(), "FOLDER"));
}

#[test]
fn the_path_is_a_track_of_its_own() {
    let folder = training("rocpd");
    let input = files(folder.path(), ".db").remove(0);
    let target = folder.path().join("path.pftrace");
    let report = json("critical-path", &[&input], &["--out", target.to_str().unwrap()]);
    let bytes = std::fs::read(&target).expect("the file is there");
    let find = |text: &[u8]| bytes.windows(text.len()).filter(|window| *window == text).count();
    assert!(find(b"critical path") > 0, "the track has its name");
    assert!(find(b"compute") > 0 && find(b"launch") > 0, "segments have their kinds");
    assert!(!rows(&report, "path").is_empty());
    assert_eq!(
        std::fs::read_dir(folder.path())
            .unwrap()
            .flatten()
            .filter(|e| e.file_name().to_string_lossy().contains("partial"))
            .count(),
        0
    );
}

#[test]
fn questions_that_cannot_be_answered_say_why() {
    let folder = training("torch");
    let input = files(folder.path(), ".rank0.json").remove(0).display().to_string();
    for (question, words) in [
        ("gemm", "is not NAME=FACTOR"),
        ("gemm=fast", "has no factor of at least 0"),
        ("no_such_kernel=2", "no kernel, copy or kind of time is called `no_such_kernel`"),
        ("/a(/=1", "is not a regular expression"),
        ("op:no_such_op=0", "no op, annotation or range of the host is called `no_such_op`"),
        ("module:NoSuchModule=0", "no `nn.Module` of the run is called `NoSuchModule`"),
        ("stage:decode=0.5", "the run has no stage `decode`"),
        ("clock=0", "has no factor of at least 0"),
    ] {
        let output = run(&["critical-path", &input, "--what-if", question]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(words) && errors.contains("help:"), "{errors}");
    }
}
