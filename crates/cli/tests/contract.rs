//! What other tools' users type and scripts read: spellings, exit codes and keys.

use crate::common;

use std::path::PathBuf;

use common::{SMALL_TORCH, json, rocm_perf, run, stdout};

/// A folder with the small trace.
fn trace() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.json");
    std::fs::write(&path, SMALL_TORCH).expect("a file");
    (folder, path)
}

#[test]
fn duplicate_column_names_lost_a_value_and_null_added_a_key() {
    let (_folder, path) = trace();
    let sql = "SELECT 1 AS a, 2 AS a, NULL AS absent";
    let report = json("query", &[&path], &["--sql", sql]);
    assert_eq!(
        report["tables"]["result"],
        serde_json::json!([{ "a": 1, "a_2": 2, "absent": null }]),
        "{report}"
    );
    let csv = stdout(&["query", path.to_str().unwrap(), "--sql", sql, "--format", "csv"]);
    assert_eq!(csv.lines().next(), Some("a,a_2,absent"));
}

#[test]
fn script_and_query_were_refused_together() {
    let (folder, path) = trace();
    let script = folder.path().join("views.sql");
    std::fs::write(&script, "CREATE TEMP VIEW mine AS SELECT count(*) AS n FROM kernels -- no semicolon")
        .unwrap();
    let more = ["--script", script.to_str().unwrap(), "--query", "SELECT n FROM mine"];
    assert_eq!(json("query", &[&path], &more)["tables"]["result"][0]["n"], 2);
}

#[test]
fn formats_of_rocpd_were_refused() {
    let (_folder, path) = trace();
    let path = path.to_str().unwrap();
    let show =
        |format: &str| stdout(&["query", path, "--query", "SELECT name FROM kernels", "--format", format]);
    assert_eq!(show("console"), show("table"));
    for format in ["html", "dashboard"] {
        assert!(show(format).to_ascii_lowercase().starts_with("<!doctype html>"), "{format}");
    }
    if cfg!(feature = "pdf") {
        let pdf = run(&["query", path, "--query", "SELECT 1", "--format", "pdf"]);
        assert!(pdf.stdout.starts_with(b"%PDF"), "{}", String::from_utf8_lossy(&pdf.stderr));
    }
}

#[test]
fn options_of_rocpds_summary_were_refused() {
    let (_folder, path) = trace();
    let report = json("summary", &[&path], &["--domain-summary", "--region-categories", "cuda"]);
    let categories: Vec<&str> = report["tables"]["regions"]
        .as_array()
        .expect("regions")
        .iter()
        .map(|row| row["category"].as_str().expect("a category"))
        .collect();
    assert!(!categories.is_empty() && categories.iter().all(|category| *category == "cuda_runtime"));
    assert!(report["tables"]["domains"].is_array());
    let none = json("summary", &[&path], &["--region-categories", "NONE"]);
    assert!(none["tables"]["regions"].is_null());
}

#[test]
fn profile_without_rocprofv3_exits_2_and_names_the_ways_without_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = rocm_perf();
    command.current_dir(folder.path()).env("PATH", "/usr/bin:/bin").env("ROCM_PATH", folder.path());
    let output = command.args(["profile", "--", "true"]).output().expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--no-rocprof") && said.contains("demo --profile"), "{said}");
}

#[test]
fn a_newcomer_sees_a_profile_without_a_gpu() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("demo");
    let out = out.to_str().unwrap();
    let report: serde_json::Value =
        serde_json::from_str(&stdout(&["demo", "--profile", "--out", out, "--format", "json"]))
            .expect("JSON");
    assert_eq!(report["command"], "profile");
    assert_eq!(report["result"]["stability"]["runs"], 5);
    assert!(
        report["notes"][0].as_str().is_some_and(|note| note.starts_with("SIMULATED")),
        "{}",
        report["notes"]
    );
    assert!(
        stdout(&["demo", "--profile", "--out", out]).contains("simulated"),
        "again, over the earlier demo"
    );
}

#[test]
fn optimize_needed_a_build_command() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.hip"), "__global__ void f(float* x) { x[0] = 1; }\nint main() {}\n")
        .unwrap();
    // A compiler that prints how it was called.
    let hipcc = folder.path().join("bin/hipcc");
    std::fs::create_dir(folder.path().join("bin")).unwrap();
    std::fs::write(&hipcc, "#!/bin/sh\necho called with \"$@\" >&2\nexit 1\n").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&hipcc, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", folder.path().join("bin").display());
    let mut command = rocm_perf();
    command.current_dir(folder.path()).env("PATH", path);
    let output =
        command.args(["optimize", "./k", "--no-rocprof", "--unchecked", "--kernel", "f"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("-O3 k.hip -o ./k"), "{said}");
}
