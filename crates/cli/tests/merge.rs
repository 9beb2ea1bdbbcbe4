//! `merge`: one database says what its inputs say together, with nothing lost or left behind.

use crate::common;

use std::path::{Path, PathBuf};

use common::{SMALL_TORCH, files, json, run, stdout, synth};
use rusqlite::Connection;

fn ranks(folder: &Path) -> Vec<PathBuf> {
    synth(folder, &["--scenario", "training", "--ranks", "3", "--steps", "2", "--to", "rocpd"]);
    files(folder, ".db")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path")
}

#[test]
fn events_of_one_rank_order_nothing_on_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let (inputs, target) = (folder.path().join("ranks"), folder.path().join("merged.db"));
    synth(&inputs, &["--scenario", "exposed-communication", "--to", "rocpd"]);
    assert!(files(&inputs, ".db").len() > 1);
    json("merge", &[&inputs], &["--out", text(&target)]);
    // The suggested command names the input.
    let findings = |input: &Path| {
        let mut findings = json("explain", &[input], &[])["findings"].clone();
        let rows = findings.as_array_mut().expect("findings");
        rows.iter_mut().for_each(|row| row["next"] = serde_json::Value::Null);
        findings
    };
    assert!(findings(&inputs).as_array().is_some_and(|rows| !rows.is_empty()));
    assert_eq!(findings(&target), findings(&inputs));
}

#[test]
fn the_merged_file_says_what_the_folder_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = folder.path().join("ranks");
    let databases = ranks(&inputs);
    let target = folder.path().join("merged.db");
    let report = json("merge", &[&inputs], &["--out", text(&target)]);
    let rows = report["tables"]["recordings"].as_array().expect("recordings");
    assert_eq!(rows.len(), 3);
    assert_eq!(report["tables"]["files"][0]["path"], text(&target));
    for (rank, row) in rows.iter().enumerate() {
        assert_eq!(row["rank"], rank, "{row}");
        let db = Connection::open(&databases[rank]).expect("a database");
        let count = |table: &str| {
            db.query_row(&format!("SELECT count(*) FROM {table}"), [], |r| r.get::<_, i64>(0))
                .expect("a count")
        };
        assert_eq!(row["dispatches"].as_i64(), Some(count("rocpd_kernel_dispatch")));
        assert_eq!(row["regions"].as_i64(), Some(count("rocpd_region")));
        assert!(count("rocpd_kernel_dispatch") > 10);
    }
    for options in [&[][..], &["--by-rank"]] {
        let apart = json("summary", &[&inputs], options);
        let together = json("summary", &[&target], options);
        for table in ["kernels", "regions", "memory_copies", "domains"] {
            assert_eq!(apart["tables"][table], together["tables"][table], "{table} {options:?}");
        }
        assert!(!apart["tables"]["kernels"].as_array().expect("kernels").is_empty());
    }
    let sql = "SELECT count(*) AS n, sum(duration) AS d, count(DISTINCT guid) AS g FROM kernels";
    let of = |inputs: &[&Path]| json("query", inputs, &["--sql", sql])["tables"]["result"].clone();
    assert_eq!(of(&[&target]), of(&[&inputs]));
    // Again, with its own output in the folder.
    let inside = inputs.join("all.db");
    json("merge", &[&inputs], &["--out", text(&inside)]);
    let again = json("merge", &[&inputs], &["--out", text(&inside), "--force"]);
    assert_eq!(again["inputs"].as_array().expect("inputs").len(), 3);
    assert_eq!(
        std::fs::metadata(&inside).expect("a file").len(),
        std::fs::metadata(&target).expect("a file").len()
    );
}

#[test]
fn a_package_is_an_input_like_any_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = folder.path().join("ranks");
    ranks(&inputs);
    let package = folder.path().join("run.rpdb");
    stdout(&["merge", text(&inputs), "--package", text(&package)]);
    let target = folder.path().join("merged.db");
    let index = package.join("index.yaml");
    let report = json("merge", &[&index], &["-o", text(&target)]);
    assert_eq!(report["inputs"].as_array().expect("inputs").len(), 3);
    let calls = |path: &Path| json("summary", &[path], &[])["tables"]["kernels"].clone();
    assert_eq!(calls(&target), calls(&inputs));
    assert_eq!(calls(&package), calls(&inputs));
}

#[test]
fn what_is_removed_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = folder.path().join("ranks");
    let databases = ranks(&inputs);
    let db = Connection::open(&databases[1]).expect("a database");
    let find = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_info_process%'";
    let table: String = db.query_row(find, [], |row| row.get(0)).expect("the table");
    let secret = r#"{"RANK":"1","GITHUB_TOKEN":"abc","USER":"me","NCCL_DEBUG":"WARN"}"#;
    db.execute(&format!("UPDATE \"{table}\" SET environment = ?1"), [secret]).expect("an update");
    drop(db);
    let target = folder.path().join("merged.db");
    let shown = stdout(&["merge", text(&inputs), "--out", text(&target)]);
    assert!(shown.contains("2 values were removed"), "{shown}");
    let kept = || {
        let db = Connection::open(&target).expect("a database");
        let sql = "SELECT group_concat(environment) FROM rocpd_info_process";
        db.query_row(sql, [], |row| row.get::<_, String>(0)).expect("environments")
    };
    assert!(
        kept().contains("NCCL_DEBUG") && !kept().contains("abc") && !kept().contains("USER"),
        "{}",
        kept()
    );
    let shown = stdout(&["merge", text(&inputs), "--out", text(&target), "--keep-environment", "--force"]);
    assert!(shown.contains("kept as they were") && kept().contains("abc"), "{shown}");
}

#[test]
fn what_cannot_be_merged_is_refused_in_a_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = folder.path().join("ranks");
    let databases = ranks(&inputs);
    let torch = folder.path().join("torch.json");
    std::fs::write(&torch, SMALL_TORCH).expect("a trace");
    let target = folder.path().join("out.db");
    let refused = |arguments: &[&str], expected: &[&str]| {
        let output = run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(output.stdout.is_empty());
        for part in expected {
            assert!(errors.contains(part), "{errors}");
        }
    };
    let [first, torch, out] = [text(&databases[0]), text(&torch), text(&target)];
    refused(&["merge", first, torch, "-o", out], &["torch.json` is torch", "convert", "--to rocpd"]);
    refused(&["merge", first, "-o", first], &["already exists"]);
    refused(&["merge", first, "-o", first, "--force"], &["is the input"]);
    refused(&["merge", first, "--package", out, "--move"], &["--keep-environment"]);
    refused(&["merge", "-o", out], &["no input given"]);
    refused(&["merge", first, "-o", "/proc/nowhere/out.db"], &["cannot write `/proc/nowhere/out.db`"]);
    std::fs::write(&target, "precious").expect("a file");
    refused(&["merge", first, "-o", out], &["already exists", "--force"]);
    assert_eq!(std::fs::read(&target).expect("a file"), b"precious");
    assert_eq!(files(folder.path(), ".partial"), Vec::<PathBuf>::new());
}

#[test]
fn what_lies_beside_the_databases_is_told_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let databases = ranks(folder.path());
    std::fs::write(folder.path().join("torch.json"), SMALL_TORCH).expect("a trace");
    std::fs::write(folder.path().join("killed_results.db"), "").expect("a file");
    let out = tempfile::tempdir().expect("a folder");
    let report = json("merge", &[folder.path()], &["-o", text(out.path())]);
    assert_eq!(report["inputs"].as_array().expect("inputs").len(), databases.len());
    let checks = report["health"]["checks"].to_string();
    assert!(checks.contains("torch.json") && checks.contains("killed_results.db"), "{checks}");
    assert!(out.path().join("merged.db").exists());
}

#[test]
fn a_package_never_replaces_its_own_input_or_foreign_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = folder.path().join("ranks");
    ranks(&inputs);
    let package = folder.path().join("pk");
    stdout(&["merge", text(&inputs), "--package", text(&package)]);
    stdout(&["merge", text(&inputs), "--package", text(&package), "--force"]);
    let before = files(&package, ".db").len();
    let refused = |input: &Path, why: &str| {
        let output = run(&["merge", text(input), "--package", text(&package), "--force"]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(why), "{errors}");
        assert_eq!(files(&package, ".db").len(), before);
    };
    refused(&package, "holds the input");
    std::fs::write(package.join("notes.txt"), "mine").expect("a file");
    refused(&inputs, "notes.txt");
    assert!(package.join("notes.txt").exists());
}
