//! `profile` end to end, against the stand-ins of ROCm's programs; `stability` and `bottleneck` on its
//! databases.

use crate::lab;

use std::process::Output;

use lab::{Lab, failed, succeeded};
use serde_json::Value;

fn profile(lab: &Lab, folder: &std::path::Path, arguments: &[&str]) -> Output {
    let mut command = lab.rocm_perf();
    command.env("STAND_IN_ARCH", "gfx942").current_dir(folder).args(["profile", "--json", "--quiet"]);
    command.args(arguments).output().expect("the binary runs")
}

/// The result's fields that scripts rely on.
fn checked(report: &Value) -> &Value {
    let result = &report["result"];
    assert!(result["runtime_ms"].as_f64().unwrap() > 0.0, "{result}");
    for (object, field) in [
        ("stability", "cv"),
        ("stability", "classification"),
        ("resources", "vgpr_per_thread"),
        ("resources", "lds_bytes"),
        ("occupancy", "theoretical"),
        ("critical_path", "dominant_symbol"),
    ] {
        assert!(!result[object][field].is_null(), "{object}.{field} of {result}");
    }
    assert!(result["critical_path_ns"].as_i64().unwrap() > 0);
    result
}

#[test]
fn a_program_is_profiled_in_one_go() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let app = lab.app("vector_add");
    let report = succeeded(&profile(lab, folder.path(), &["--runs", "3", "--", &app, "2"]));
    let result = checked(&report);
    assert_eq!(result["stability"]["runs"], 3);
    assert_eq!(result["gpu"]["architecture"], "gfx942");
    let sum: i64 = report["tables"]["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["kernels_ns"].as_i64().unwrap())
        .sum();
    assert!(sum > 0);
    for run in ["run-1", "run-2", "run-3", "warm-up-1"] {
        assert!(folder.path().join(".rocpd_profile").join(run).join("run.json").is_file(), "{run} is kept");
    }
    let runs: Vec<String> = (1..=3)
        .map(|run| folder.path().join(format!(".rocpd_profile/run-{run}")).display().to_string())
        .collect();
    let stability = lab.rocm_perf().args(["stability", "--json"]).args(&runs).output().unwrap();
    let stability = succeeded(&stability);
    assert_eq!(stability["tables"]["runs"].as_array().unwrap().len(), 3);
    let bottleneck = lab.rocm_perf().args(["bottleneck", "--json", &runs[0]]).output().unwrap();
    let bottleneck = succeeded(&bottleneck);
    let row = &bottleneck["tables"]["bottlenecks"][0];
    assert!(!row["label"].as_str().unwrap().is_empty(), "{row}");

    // The next profile replaces the files of an earlier one, and accepts the seed's order of words.
    let report = succeeded(&profile(lab, folder.path(), &["--runs", "1", "--warm-up", "0", &app]));
    let result = &report["result"];
    assert!(result["runtime_ms"].as_f64().unwrap() > 0.0);
    assert!(result["stability"]["cv"].is_null(), "one run shows no spread");
    assert!(
        !folder.path().join(".rocpd_profile/run-2").exists(),
        "an earlier run does not pass for a new one"
    );
}

#[test]
fn counters_give_a_roofline() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let report = succeeded(&profile(
        lab,
        folder.path(),
        &["--runs", "1", "--warm-up", "0", "--counters", "--", &lab.app("vector_add"), "2"],
    ));
    let result = checked_without_spread(&report);
    assert!(!result["roofline"].is_null(), "{result}");
    assert!(report["tables"]["roofline"].as_array().is_some_and(|rows| !rows.is_empty()));
}

fn checked_without_spread(report: &Value) -> &Value {
    let result = &report["result"];
    assert!(result["runtime_ms"].as_f64().unwrap() > 0.0);
    result
}

#[test]
fn without_the_profiler_only_the_process_is_timed() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let report = succeeded(&profile(
        lab,
        folder.path(),
        &["--no-rocprof", "--runs", "4", "--", &lab.app("vector_add"), "1"],
    ));
    assert_eq!(report["result"]["timed"], "process");
    assert_eq!(report["tables"]["runs"].as_array().unwrap().len(), 4);
    assert!(report["result"]["occupancy"].is_null());
    assert!(!folder.path().join(".rocpd_profile").exists());
    let spread = &report["tables"]["totals"][0];
    assert_eq!(spread["metric"], "time of the process");
    // A slow first run may be taken for a warm-up, which is then reported.
    let remarks = spread["remarks"].as_str().unwrap_or_default();
    let warm_up = remarks.split(", ").find_map(|remark| remark.strip_suffix(" warm-up")?.parse::<i64>().ok());
    assert_eq!(spread["runs"].as_i64().unwrap() + warm_up.unwrap_or(0), 4, "{spread}");
    assert!(spread["median_ns"].as_i64().unwrap() > 0, "{spread}");
    let stopped =
        failed(&profile(lab, folder.path(), &["--no-rocprof", "--timeout", "1", "--", "sleep", "60"]), 3);
    assert!(stopped.contains("`sleep` was stopped after 1 s"), "{stopped}");
}

/// A profile replaces the files of earlier ones; a failed attempt does not.
#[test]
fn a_program_that_is_not_there_leaves_earlier_databases_alone() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    succeeded(&profile(lab, folder.path(), &["--runs", "1", "--", &lab.app("vector_add"), "1"]));
    let kept = folder.path().join(".rocpd_profile/run-1");
    assert!(kept.is_dir());
    failed(&profile(lab, folder.path(), &["--", "./no-such-program"]), 2);
    assert!(kept.is_dir());
}

/// A `run-N` folder with a `run.json` was once removed with everything the user had put into it.
#[test]
fn a_file_of_the_users_in_a_run_folder_is_never_deleted() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let app = lab.app("vector_add");
    let profile = || profile(lab, folder.path(), &["--runs", "1", "--", &app, "1"]);
    succeeded(&profile());
    succeeded(&profile());
    let notes = folder.path().join(".rocpd_profile/run-1/notes.txt");
    std::fs::write(&notes, "mine").unwrap();
    let errors = failed(&profile(), 2);
    assert!(errors.contains("notes.txt") && errors.contains("move it away"), "{errors}");
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "mine");
    std::fs::remove_file(&notes).unwrap();
    succeeded(&profile());
}

/// Some GPUs have no known counters; the rest of the report still works.
#[test]
fn a_gpu_without_counters_is_profiled_without() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut command = lab.rocm_perf();
    command.env("STAND_IN_ARCH", "gfx1201").current_dir(folder.path());
    command.args(["profile", "--json", "--runs", "1", "--counters", "--"]);
    let report = succeeded(&command.args([&lab.app("vector_add"), "1"]).output().unwrap());
    assert!(report["result"]["runtime_ms"].as_f64().unwrap() > 0.0);
    assert!(report["result"]["roofline"].is_null());
    assert!(report["notes"].to_string().contains("no counters"), "{}", report["notes"]);
}

/// All figures of one run come from the typical run.
#[test]
fn one_run_stands_for_all() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let report = succeeded(&profile(lab, folder.path(), &["--runs", "3", "--", &lab.app("vector_add"), "1"]));
    let total = |table: &str, column: &str| -> i64 {
        report["tables"][table].as_array().unwrap().iter().map(|row| row[column].as_i64().unwrap()).sum()
    };
    let median = (report["result"]["runtime_ms"].as_f64().unwrap() * 1e6).round() as i64;
    assert_eq!(total("bottlenecks", "total_ns"), median);
    assert_eq!(total("critical_kernels", "total_ns"), median);
}

#[test]
fn a_program_without_dispatches_or_that_fails_is_an_error() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    failed(&profile(lab, folder.path(), &["--runs", "1", "--", "true"]), 3);
    failed(&profile(lab, folder.path(), &["--no-rocprof", "--runs", "1", "--", "false"]), 3);
    failed(&profile(lab, folder.path(), &["--no-rocprof", "--", "./no-such-program"]), 2);
    let errors = failed(&profile(lab, folder.path(), &[]), 2);
    assert!(errors.contains("no program given"), "{errors}");
}
