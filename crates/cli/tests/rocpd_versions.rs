//! One run in every version of rocpd and as `.rpd`: the same results from every file.

use crate::common;

use std::path::{Path, PathBuf};

use common::{files, json, stdout, synth};
use rusqlite::Connection;
use serde_json::Value;

const RUN: [&str; 6] = ["--scenario", "training", "--ranks", "1", "--steps", "3"];

/// The run in one format.
fn made(folder: &Path, format: &str) -> PathBuf {
    let out = folder.join(format);
    synth(&out, &[&RUN[..], &["--to", format]].concat());
    files(&out, if format == "rpd" { ".rpd" } else { ".db" }).remove(0)
}

/// A report without the parts that name the file.
fn said(command: &str, file: &Path) -> Value {
    let mut report = json(command, &[file], &[]);
    for key in ["inputs", "invocation", "notes"] {
        report.as_object_mut().expect("a report").remove(key);
    }
    report
}

#[test]
fn schema_4_gives_the_tables_and_the_verdict_of_schema_3() {
    let folder = tempfile::tempdir().expect("a folder");
    let three = made(folder.path(), "rocpd");
    for format in ["rocpd-4.0", "rocpd-4.1"] {
        let four = made(folder.path(), format);
        for command in ["summary", "explain", "critical-path", "overlap"] {
            let (left, right) = (said(command, &four), said(command, &three));
            assert_eq!(left["verdict"], right["verdict"], "{command} of {format}");
            assert_eq!(left["tables"], right["tables"], "{command} of {format}");
        }
        let sql = "SELECT name, count(*), sum(duration) FROM kernels GROUP BY name ORDER BY name";
        let ask = |file: &Path| stdout(&["query", &file.to_string_lossy(), "--sql", sql, "--format", "csv"]);
        assert_eq!(ask(&four), ask(&three), "{format}");
        // A time window: by the reader, and in SQL by the rows of the tables.
        let window = |file: &Path| {
            let file = file.to_string_lossy().into_owned();
            stdout(&["query", &file, "--sql", sql, "--format", "csv", "--start", "30%", "--end", "60%"])
        };
        assert_eq!(window(&four), window(&three), "{format}");
        assert_ne!(window(&four), ask(&four), "{format}");
        let part =
            |file: &Path| json("summary", &[file], &["--start", "30%", "--end", "60%"])["tables"].clone();
        assert_eq!(part(&four), part(&three), "{format}");
    }
}

#[test]
fn schema_4_is_converted_to_schema_3_and_merged_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let four = made(folder.path(), "rocpd-4.1");
    let number = |path: &Path, sql: &str| -> i64 {
        Connection::open(path).expect("a database").query_row(sql, [], |row| row.get(0)).expect("a number")
    };
    let converted = folder.path().join("three.db");
    stdout(&["convert", &four.to_string_lossy(), "--to", "rocpd", "--out", &converted.to_string_lossy()]);
    let version = "SELECT max(CAST(value AS INTEGER)) FROM rocpd_metadata WHERE tag = 'schema_version'";
    assert_eq!(number(&converted, version), 3);
    let busy = "SELECT sum(\"end\" - start) FROM rocpd_kernel_dispatch";
    assert_eq!(number(&converted, busy), number(&four, busy));
    let placed = "SELECT count(*) FROM rocpd_kernel_dispatch WHERE pid > 0 AND stream_id IS NOT NULL";
    assert_eq!(number(&converted, placed), number(&four, "SELECT count(*) FROM rocpd_kernel_dispatch"));

    let merged = folder.path().join("merged.db");
    stdout(&["merge", &four.to_string_lossy(), "--out", &merged.to_string_lossy()]);
    assert_eq!(number(&merged, version), 4);
    assert_eq!(said("summary", &merged)["verdict"], said("summary", &four)["verdict"]);
}

#[test]
fn rpd_gives_the_kernels_of_rocpd() {
    let folder = tempfile::tempdir().expect("a folder");
    let (rpd, rocpd) = (made(folder.path(), "rpd"), made(folder.path(), "rocpd"));
    let kernels = |file: &Path| -> Vec<(String, i64, i64)> {
        let report = json("summary", &[file], &[]);
        let rows = report["tables"]["kernels"].as_array().expect("kernels").clone();
        let mut rows: Vec<_> = rows
            .iter()
            .map(|row| {
                let number = |key: &str| row[key].as_i64().unwrap_or(-1);
                (row["name"].as_str().expect("a name").to_string(), number("calls"), number("total_ns"))
            })
            .collect();
        rows.sort();
        rows
    };
    assert_eq!(kernels(&rpd), kernels(&rocpd));
    let sql = "SELECT count(*), sum(duration) FROM regions";
    let ask = |file: &Path| stdout(&["query", &file.to_string_lossy(), "--sql", sql, "--format", "csv"]);
    assert_eq!(ask(&rpd), ask(&rocpd));
    let verdict = |file: &Path| said("summary", file)["verdict"]["bound_by"].clone();
    assert_eq!(verdict(&rpd), verdict(&rocpd));
}
