//! Several recordings in one query: unaligned clocks, captures next to a run, lanes with their own names.

use crate::common;

use std::path::{Path, PathBuf};

use common::{files, json, run, shared_data, synth};
use rusqlite::Connection;
use serde_json::Value;

/// Time between the boots of the hosts.
const APART_NS: i64 = 400_000_000_000_000;

/// Two ranks on two hosts whose clocks count from boots days apart.
fn two_hosts(folder: &Path) -> Vec<PathBuf> {
    synth(folder, &["--scenario", "training", "--ranks", "2", "--steps", "3", "--to", "rocpd"]);
    let databases = files(folder, ".db");
    let db = Connection::open(&databases[1]).expect("a database");
    let tables: Vec<String> = {
        let mut named = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").expect("tables");
        let names = named.query_map([], |row| row.get(0)).expect("names");
        names.map(|name| name.expect("a name")).collect()
    };
    let change = |sql: String| db.execute_batch(&sql).expect("a change");
    for table in tables.iter().filter(|table| !table.starts_with("rocpd_info_process")) {
        let has = |column: &str| {
            let sql = format!("SELECT count(*) FROM pragma_table_info('{table}') WHERE name = '{column}'");
            db.query_row(&sql, [], |row| row.get::<_, i64>(0)).expect("a count") > 0
        };
        for column in ["start", "end", "timestamp"].into_iter().filter(|column| has(column)) {
            change(format!("UPDATE {table} SET \"{column}\" = \"{column}\" + {APART_NS}"));
        }
        if table.starts_with("rocpd_info_node_") {
            change(format!("UPDATE {table} SET hostname = 'node2', machine_id = 'machine2'"));
        }
    }
    databases
}

fn calls_by_rank(report: &Value) -> [i64; 2] {
    let mut calls = [0; 2];
    for row in report["tables"]["kernels"].as_array().expect("kernels") {
        let rank: usize = row["rank"].as_str().expect("a rank").parse().expect("a number");
        calls[rank] += row["calls"].as_i64().expect("calls");
    }
    calls
}

#[test]
fn a_share_of_two_hosts_no_longer_drops_all_of_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let databases = two_hosts(folder.path());
    let both: Vec<&Path> = databases.iter().map(PathBuf::as_path).collect();
    let part = calls_by_rank(&json("summary", &both, &["--by-rank", "--start", "50%"]));
    for (rank, database) in databases.iter().enumerate() {
        let alone = json("summary", &[database], &["--start", "50%"]);
        let own: i64 = alone["tables"]["kernels"]
            .as_array()
            .expect("kernels")
            .iter()
            .map(|row| row["calls"].as_i64().expect("calls"))
            .sum();
        assert!(own > 0);
        assert_eq!(part[rank], own, "rank {rank} has the part it has alone");
    }
    let refused = run(&["summary", both[0].to_str().unwrap(), both[1].to_str().unwrap(), "--start", "1000"]);
    let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2));
    assert!(errors.contains("2 unaligned clocks") && errors.contains("--rank"), "{errors}");
}

#[test]
fn timelines_of_two_hosts_no_longer_span_days() {
    let folder = tempfile::tempdir().expect("a folder");
    let databases = two_hosts(folder.path());
    let both: Vec<&Path> = databases.iter().map(PathBuf::as_path).collect();
    for target in ["chrome", "pftrace"] {
        let out = folder.path().join(format!("both.{target}"));
        let written = json("convert", &both, &["--to", target, "--out", out.to_str().unwrap()]);
        let notes = written["notes"].to_string();
        assert!(notes.contains("2 clocks are not aligned"), "{target}: {notes}");
        let contents = json("info", &[&out], &[]);
        let rows = contents["tables"]["contents"].as_array().expect("contents");
        let edge = |name: &'static str| rows.iter().filter_map(move |row| row[name].as_i64());
        let span = edge("last_ns").max().unwrap() - edge("first_ns").min().unwrap();
        assert!(span < 100_000_000_000, "{target}: {span} ns");
    }
    let page = folder.path().join("both.html");
    let arguments = ["report", both[0].to_str().unwrap(), both[1].to_str().unwrap(), "--out"];
    let output = run(&[&arguments[..], &[page.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("each starts at its own zero"), "the timeline says so");
}

#[test]
fn lanes_of_several_hosts_no_longer_have_one_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let databases = two_hosts(folder.path());
    let out = folder.path().join("both.json");
    let both: Vec<&Path> = databases.iter().map(PathBuf::as_path).collect();
    json("convert", &both, &["--to", "chrome", "--out", out.to_str().unwrap()]);
    let text = std::fs::read_to_string(&out).expect("a trace");
    let trace: Value = serde_json::from_str(&text).expect("JSON");
    let names: Vec<&str> = trace["traceEvents"]
        .as_array()
        .expect("events")
        .iter()
        .filter(|event| event["name"] == "process_name")
        .filter_map(|event| event["args"]["name"].as_str())
        .collect();
    assert!(names.iter().any(|name| name.contains("node2 · rank 1")), "{names:?}");
    assert!(names.iter().any(|name| name.contains("· rank 0")), "{names:?}");
}

#[test]
fn captures_beside_a_run_are_not_added_to_it() {
    let folder = tempfile::tempdir().expect("a folder");
    synth(&folder.path().join("run"), &["--scenario", "serving", "--seed", "3", "--steps", "4"]);
    let (run, alone) = (folder.path().join("run"), folder.path().join("run/serving.rank0.json"));
    let kernels = |path: &Path| json("summary", &[path], &[])["tables"]["kernels"].clone();
    assert_eq!(kernels(&run), kernels(&alone), "summary");
}

#[test]
fn roofline_no_longer_leaves_out_replayed_kernels_whose_shapes_a_capture_has() {
    let Some(data) = shared_data() else { return };
    let folder = data.join("traces/sglang_decode");
    let (trace, captures) = (folder.join("sglang_Qwen3-8B_decode.json.gz"), folder.join("capture_traces"));
    let share = |input: &Path, more: &[&str], part: &str| -> f64 {
        let report = json("roofline", &[input], more);
        let rows = report["tables"]["coverage"].as_array().expect("coverage").clone();
        let row = rows.iter().find(|row| row["part"] == part);
        row.and_then(|row| row["share_pct"].as_f64()).unwrap_or(0.0)
    };
    let mapping = ["--mapping", captures.to_str().expect("a path")];
    assert!(share(&trace, &[], "modelled") < 10.0, "a replay alone tells no shapes");
    assert!(share(&trace, &mapping, "modelled") > 75.0, "the capture tells them");
    assert_eq!(share(&folder, &[], "modelled"), share(&trace, &mapping, "modelled"), "found in the folder");
    // The capture's own kernels are not part of the run.
    let dispatches = |input: &Path| -> i64 {
        let report = json("roofline", &[input], &[]);
        let rows = report["tables"]["kernels"].as_array().expect("kernels").clone();
        rows.iter().filter_map(|row| row["dispatches"].as_i64()).sum()
    };
    assert_eq!(dispatches(&folder), dispatches(&trace));
}

#[test]
fn commands_no_longer_hide_the_architecture() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = &two_hosts(folder.path())[0];
    for command in ["summary", "breakdown", "overlap", "explain", "critical-path"] {
        for (target, expected) in [("gfx942", "exact"), ("gfx90a", "unknown")] {
            let verdict = &json(command, &[trace], &["--target-arch", target])["verdict"];
            assert_eq!(verdict["arch_match"], expected, "{command} {target}: {verdict}");
        }
        let output = run(&[command, trace.to_str().unwrap(), "--target-arch", "gfx950"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("gfx942, target gfx950: arch_match compatible"), "{command}: {text}");
    }
}

#[test]
fn a_memory_snapshot_and_collectives_beside_a_run_are_no_ranks_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (alone, beside) = (folder.path().join("alone"), folder.path().join("beside"));
    for to in ["torch", "torch,snapshot,inspector"] {
        let out = if to == "torch" { &alone } else { &beside };
        synth(out, &["--scenario", "training", "--ranks", "1", "--steps", "2", "--to", to]);
    }
    assert_eq!(files(&beside, ".pickle").len() + files(&beside, ".jsonl").len(), 2);
    for command in ["summary", "triage", "breakdown", "explain"] {
        let (one, other) = (json(command, &[&alone], &[]), json(command, &[&beside], &[]));
        assert_eq!(one["tables"], other["tables"], "{command}");
    }
    let memory = json("memory", &[&beside], &[]);
    assert_eq!(memory["tables"]["devices"].as_array().map(Vec::len), Some(1));
}
