//! `convert` end to end: files where the user wants them, nothing overwritten by default, nothing left by a
//! failure.

use crate::common;

use std::path::{Path, PathBuf};

use common::{files, json, rocm_perf, run, stdout, synth};

fn database(folder: &Path) -> PathBuf {
    synth(folder, &["--scenario", "training", "--ranks", "1", "--steps", "2", "--to", "rocpd"]);
    files(folder, ".db").remove(0)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).map(|entries| entries.flatten().collect()).unwrap_or_default();
    let entries: Vec<std::fs::DirEntry> = entries;
    let mut names: Vec<String> =
        entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn several_formats_at_once_under_the_names_of_rocpd() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(&folder.path().join("run"));
    let out = folder.path().join("out");
    let report = json(
        "convert",
        &[&database],
        &["--to", "csv,pftrace,otf2,chrome,rocpd", "-o", &out.to_string_lossy()],
    );
    let written = names(&out);
    for name in [
        "2000_agent_info.csv",
        "2000_hip_api_trace.csv",
        "2000_kernel_trace.csv",
        "2000_results",
        "2000_results.db",
        "2000_results.def",
        "2000_results.json",
        "2000_results.otf2",
        "2000_results.pftrace",
    ] {
        assert!(written.contains(&name.to_string()), "{name} in {written:?}");
    }
    let rows = report["tables"]["files"].as_array().expect("a table");
    for row in rows {
        let path = Path::new(row["path"].as_str().expect("a path"));
        assert!(path.exists(), "{path:?}");
        assert!(row["bytes"].as_i64().expect("a size") > 0);
    }
    let kernels = |path: &Path| {
        let contents = json("info", &[path], &["--table", "contents"])["tables"]["contents"].clone();
        let rows = contents.as_array().expect("a table").clone();
        rows.into_iter().find(|row| row["table"] == "kernels").expect("kernels")
    };
    let expected = kernels(&database);
    for name in ["2000_results.db", "2000_results.json", "2000_kernel_trace.csv", "2000_results.pftrace"] {
        assert_eq!(kernels(&out.join(name)), expected, "{name}");
    }
    let header = std::fs::read_to_string(out.join("2000_kernel_trace.csv")).expect("a file");
    assert!(header.starts_with("Guid,Kind,Agent_Id,Queue_Id,Stream_Id,"), "{}", &header[..100]);
}

#[test]
fn rocpd_spellings_are_understood() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(&folder.path().join("run")).display().to_string();
    let out = folder.path().join("out").display().to_string();
    stdout(&["convert", "-i", &database, "-f", "csv", "perfetto", "-d", &out, "-o", "mine"]);
    let written = names(&folder.path().join("out"));
    assert!(written.contains(&"mine_kernel_trace.csv".into()), "{written:?}");
    assert!(written.contains(&"mine_results.pftrace".into()), "{written:?}");
}

#[test]
fn a_file_is_written_where_it_is_named_and_compressed_by_its_ending() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(&folder.path().join("run")).display().to_string();
    let target = folder.path().join("deep/trace.json.gz");
    stdout(&["convert", &database, "--to", "chrome", "-o", &target.to_string_lossy()]);
    assert_eq!(std::fs::read(&target).expect("a file")[..2], [0x1f, 0x8b]);
    assert_eq!(names(&folder.path().join("deep")), ["trace.json.gz"]);
}

#[test]
fn what_is_there_is_kept_unless_forced_and_the_input_always() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(&folder.path().join("run")).display().to_string();
    let out = folder.path().join("out");
    std::fs::create_dir(&out).expect("a folder");
    for (format, name) in [
        ("csv", "2000_kernel_trace.csv"),
        ("pftrace", "2000_results.pftrace"),
        ("otf2", "2000_results.def"),
        ("rocpd", "2000_results.db"),
    ] {
        std::fs::write(out.join(name), b"mine").expect("a file");
        let arguments = ["convert", &database, "--to", format, "--out", &out.to_string_lossy()];
        let refused = run(&arguments);
        let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{errors}");
        assert!(errors.contains(name) && errors.contains("already"), "{errors}");
        assert_eq!(std::fs::read(out.join(name)).expect("kept"), b"mine");
        let forced = rocm_perf().args(arguments).arg("--force").output().expect("it runs");
        assert!(forced.status.success(), "{}", String::from_utf8_lossy(&forced.stderr));
        assert_ne!(std::fs::read(out.join(name)).expect("replaced"), b"mine");
    }
    let before = std::fs::read(&database).expect("the input");
    let same = run(&["convert", &database, "--to", "rocpd", "--out", &database, "--force"]);
    assert_eq!(same.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&same.stderr).contains("is the input"));
    assert!(std::fs::read(&database).expect("the input") == before);
}

#[test]
fn a_failure_is_one_line_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(&folder.path().join("run")).display().to_string();
    let file = folder.path().join("file");
    std::fs::write(&file, b"no folder").expect("a file");
    // A limit of one block on file sizes simulates a full disk.
    let limited = "trap '' XFSZ; ulimit -f 1; exec \"$@\"";
    for format in ["csv", "pftrace", "otf2", "chrome", "rocpd"] {
        let blocked = file.join("out/").display().to_string();
        let output = run(&["convert", &database, "--to", format, "--out", &blocked]);
        check_failure(&output, format);
        let full = folder.path().join("full");
        let output = std::process::Command::new("bash")
            .args(["-c", limited, "bash", env!("CARGO_BIN_EXE_rocm-perf")])
            .args(["convert", &database, "--to", format, "--out"])
            .arg(full.join(""))
            .output()
            .expect("it runs");
        check_failure(&output, format);
        assert_eq!(names(&full), Vec::<String>::new(), "{format}");
    }
    let gzip = run(&["convert", &database, "--to", "csv", "--gzip"]);
    check_failure(&gzip, "csv");
    let unknown = run(&["convert", &database, "--to", "nonsense"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn a_build_without_parquet_says_how_to_get_one_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(&folder.path().join("run")).display().to_string();
    let out = folder.path().join("out").display().to_string();
    let output = run(&["convert", &database, "--to", "parquet", "--out", &out]);
    if cfg!(feature = "parquet") {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let written = names(Path::new(&out));
        assert!(written.contains(&"2000_kernels.parquet".into()), "{written:?}");
    } else {
        check_failure(&output, "parquet");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(errors.contains("--features parquet"), "{errors}");
    }
}

fn check_failure(output: &std::process::Output, format: &str) {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{format}: {errors}");
    assert!(errors.starts_with("error: ") && !errors.contains("panicked"), "{format}: {errors}");
    assert_eq!(errors.lines().filter(|line| !line.starts_with(" help:")).count(), 1, "{format}: {errors}");
    assert!(output.stdout.is_empty());
}

/// A Perfetto trace shows the same run as the database that it was made from.
#[test]
fn perfetto_traces_are_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = folder.path().join("runs");
    synth(&runs, &["--scenario", "training", "--ranks", "2", "--steps", "2", "--to", "rocpd"]);
    let out = folder.path().join("out");
    for database in files(&runs, ".db") {
        json("convert", &[&database], &["--to", "pftrace", "-o", &format!("{}/", out.display())]);
    }
    assert_eq!(files(&out, ".pftrace").len(), 2);
    let of = |folder: &Path, command: &str, tables: &[&str]| -> Vec<serde_json::Value> {
        let report = json(command, &[folder], &[]);
        tables.iter().map(|table| report["tables"][table].clone()).collect()
    };
    let tables = ["kernels", "memory_copies", "domains"];
    let (expected, found) = (of(&runs, "summary", &tables), of(&out, "summary", &tables));
    for ((table, expected), found) in tables.iter().zip(&expected).zip(&found) {
        assert!(expected.as_array().is_some_and(|rows| !rows.is_empty()), "{table}");
        assert_eq!(found, expected, "{table}");
    }
    let coverage = |folder: &Path| {
        let report = json("info", &[folder], &[]);
        let checks = report["health"]["checks"].as_array().expect("checks").clone();
        checks.into_iter().find(|check| check["id"] == "coverage").map(|check| check["value"].clone())
    };
    assert!(coverage(&runs).is_some());
    assert_eq!(coverage(&out), coverage(&runs), "kernels are linked to their launches");
}

#[test]
fn an_otf2_archive_never_replaces_a_folder_that_holds_the_input_or_foreign_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(&folder.path().join("made"));
    let run_folder = folder.path().join("run");
    std::fs::create_dir(&run_folder).expect("a folder");
    let input = run_folder.join("a.db");
    std::fs::copy(&database, &input).expect("a copy");
    std::fs::write(run_folder.join("notes.txt"), b"mine").expect("a file");
    let anchor = folder.path().join("run.otf2").display().to_string();
    let refused = |input: &Path, why: &str| {
        let output = run(&["convert", &input.to_string_lossy(), "--to", "otf2", "--out", &anchor, "--force"]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(why), "{errors}");
        assert!(run_folder.join("notes.txt").exists());
    };
    refused(&input, "holds the input");
    assert!(input.exists());
    std::fs::remove_file(&input).expect("removed");
    refused(&database, "did not write it");
    assert_eq!(names(&run_folder), ["notes.txt"]);
    // One of ours may be replaced, until something else is in it.
    std::fs::remove_dir_all(&run_folder).expect("removed");
    for _ in 0..2 {
        stdout(&["convert", &database.to_string_lossy(), "--to", "otf2", "--out", &anchor, "--force"]);
    }
    std::fs::write(run_folder.join("notes.txt"), b"mine").expect("a file");
    refused(&database, "notes.txt");
}
