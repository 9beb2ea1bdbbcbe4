//! `digest` and `ranks` on a simulated job: the output, bad input among many files, and that digests give the
//! same result as traces.

use crate::common;

use std::path::{Path, PathBuf};
use std::process::Output;

use common::{files, rocm_perf, synth};
use serde_json::Value;

const JOB: [&str; 12] = [
    "--scenario",
    "parallel-training",
    "--steps",
    "4",
    "--no-stacks",
    "--clock-offset-ms",
    "5",
    "--drift-ppm",
    "20",
    "--straggler",
    "3:lower-clocks:1.4",
    "--seed=7",
];

fn run(folder: &Path, line: &str) -> Output {
    let output = rocm_perf().current_dir(folder).args(line.split(' ')).env("COLUMNS", "120").output();
    output.expect("it runs")
}

fn report(folder: &Path, line: &str) -> Value {
    let output = run(folder, &format!("{line} --format json"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn check<'a>(report: &'a Value, id: &str) -> &'a str {
    let checks = report["health"]["checks"].as_array().or(report["health"].as_array()).expect("checks");
    let found = checks.iter().find(|check| check["id"] == id);
    found.map_or("", |check| check["message"].as_str().expect("a message"))
}

#[test]
fn the_straggler_is_named_and_digests_tell_the_same_as_traces() {
    let folder = tempfile::tempdir().expect("a folder");
    synth(&folder.path().join("job"), &JOB);
    let traces = report(folder.path(), "ranks job");
    let straggler = &traces["tables"]["stragglers"][0];
    assert_eq!((&straggler["rank"], &straggler["cause"]), (&"3".into(), &"lower-clocks".into()));
    assert_eq!(traces["findings"][0]["key"], "straggler:3");
    let next = traces["findings"][0]["next"].as_str().expect("a command");
    assert!(next.starts_with("rocm-perf explain ") && next.contains("rank3"), "{next}");
    assert!(run(folder.path(), "digest job --out digests").status.success());
    let digests = report(folder.path(), "ranks digests");
    assert_eq!(digests["tables"], traces["tables"]);
    let kept = report(folder.path(), "digest job --out digests");
    let kept = kept["tables"]["digests"].as_array().expect("rows");
    assert_eq!(kept.len(), 8);
    assert!(kept.iter().all(|row| row["state"] == "kept"));
}

#[test]
fn bad_files_among_many_are_named_and_the_rest_is_analysed() {
    let folder = tempfile::tempdir().expect("a folder");
    synth(&folder.path().join("job"), &JOB);
    assert!(run(folder.path(), "digest job --out digests").status.success());
    let mut digests: Vec<PathBuf> = files(&folder.path().join("digests"), ".digest");
    digests.sort();
    // Rank 7 is missing, rank 6 is damaged, rank 5 has a newer version, and rank 0 is there twice.
    std::fs::remove_file(&digests[7]).expect("a file");
    let bytes = std::fs::read(&digests[6]).expect("a file");
    std::fs::write(&digests[6], &bytes[..bytes.len() / 2]).expect("a file");
    let mut bytes = std::fs::read(&digests[5]).expect("a file");
    bytes[8] = 99;
    std::fs::write(&digests[5], bytes).expect("a file");
    std::fs::copy(&digests[0], folder.path().join("digests/again.digest")).expect("a copy");
    let report = report(folder.path(), "ranks digests");
    assert_eq!(report["tables"]["ranks"].as_array().map(Vec::len), Some(5));
    let tensor = report["tables"]["collectives"].as_array().expect("rows").iter();
    let calls = tensor.filter(|row| row["group"] == "tensor").filter_map(|row| row["calls"].as_i64());
    assert!(calls.sum::<i64>() > 0, "ranks that are there are still compared");
    let left = report["tables"]["left_out"].to_string();
    assert!(left.contains("its checksum is wrong") && left.contains("version 99"), "{left}");
    assert!(left.contains("it is a copy of"), "{left}");
    assert_eq!(check(&report, "missing_ranks"), "ranks 5-7 are missing");
    let output = run(folder.path(), "ranks digests/no-such-folder");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_cut_trace_among_many_is_named_and_what_can_be_read_of_it_is_used() {
    let folder = tempfile::tempdir().expect("a folder");
    synth(&folder.path().join("job"), &JOB);
    let trace = |rank: u32| folder.path().join(format!("job/parallel-training.rank{rank}.json"));
    let cut = |rank: u32, percent: usize| {
        let bytes = std::fs::read(trace(rank)).expect("a trace");
        std::fs::write(trace(rank), &bytes[..bytes.len() * percent / 100]).expect("a trace");
    };
    // The first part of the file has no kernel, the first nine tenths have most of them.
    cut(6, 5);
    cut(7, 90);
    let report = report(folder.path(), "ranks job");
    assert_eq!(report["tables"]["ranks"].as_array().map(Vec::len), Some(7));
    assert_eq!(check(&report, "missing_ranks"), "rank 6 is missing");
    let left = check(&report, "left_out");
    assert!(left.starts_with("1 input is left out: ") && left.contains("rank6.json"), "{left}");
    assert!(left.contains("the file ends inside an event"), "{left}");
    let problem = check(&report, "rank_traces");
    assert!(problem.starts_with("the trace of rank 7 has problems: "), "{problem}");
}

#[test]
fn another_job_in_the_folder_is_left_out_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    synth(&folder.path().join("jobs/one"), &JOB);
    synth(
        &folder.path().join("jobs/two"),
        &["--scenario", "parallel-training", "--steps", "2", "--ranks", "4"],
    );
    let report = report(folder.path(), "ranks jobs");
    assert_eq!(report["tables"]["ranks"].as_array().map(Vec::len), Some(8));
    let left = report["tables"]["left_out"].as_array().expect("rows");
    assert_eq!(left.len(), 4);
    for row in left {
        assert!(row["file"].as_str().expect("a file").contains("two"), "{row}");
        assert!(row["why"].as_str().expect("a reason").contains("of another job (4 ranks)"), "{row}");
    }
}

#[test]
fn clocks_without_evidence_are_refused_and_nobody_is_blamed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut job = JOB.to_vec();
    job.extend(["--lose", "collective=0.98"]);
    synth(&folder.path().join("job"), &job);
    let report = report(folder.path(), "ranks job");
    assert!(check(&report, "clocks").contains("are not aligned: "), "{}", report["health"]);
    let clocks = report["tables"]["clocks"].as_array().expect("rows");
    let refused = clocks.iter().filter(|row| row["offset_ns"].is_null());
    assert!(refused.clone().count() >= 4, "{clocks:?}");
    assert!(refused.clone().all(|row| !row["absent"]["offset_ns"].as_str().expect("a reason").is_empty()));
    assert_eq!(report["tables"]["ranks"].as_array().map(Vec::len), Some(8));
    assert_eq!(report["verdict"]["trusted"], false);
    assert_eq!(report["tables"]["stragglers"].as_array().map(Vec::len), Some(0));
}

#[test]
fn people_see_the_straggler_first() {
    let folder = tempfile::tempdir().expect("a folder");
    synth(&folder.path().join("job"), &JOB);
    let output = run(folder.path(), "ranks job --limit 4");
    insta::assert_snapshot!("ranks", String::from_utf8_lossy(&output.stdout));
    let output = run(folder.path(), "digest job --out digests --limit 2");
    // Names of digests contain a hash of their trace's path.
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.starts_with("Digests (2 of 8)\nfile ") && shown.contains("written"), "{shown}");
}
