//! Windows and filters: the same for every command, equal to plain SQL with rocpd's rules, and errors that
//! say what works.

use crate::common;

use std::path::{Path, PathBuf};

use common::{files, json, run, stdout, synth};
use rusqlite::Connection;
use serde_json::Value;

/// A table's real name.
fn table(db: &Connection, name: &str) -> String {
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE ?1 || '\\_%' ESCAPE '\\' \
               ORDER BY length(name) LIMIT 1";
    db.query_row(sql, [name.replace('_', "\\_")], |row| row.get(0)).expect("the table is there")
}

fn number(db: &Connection, sql: &str) -> i64 {
    db.query_row(sql, [], |row| row.get(0)).expect("a number")
}

/// First start and last end, by rocpd's rule.
fn bounds(db: &Connection) -> (i64, i64) {
    let spans = ["rocpd_region", "rocpd_kernel_dispatch", "rocpd_memory_copy", "rocpd_memory_allocate"];
    let mut parts: Vec<String> =
        spans.iter().map(|name| format!("SELECT start, end FROM {}", table(db, name))).collect();
    parts.push(format!("SELECT timestamp, timestamp FROM {}", table(db, "rocpd_sample")));
    let all = parts.join(" UNION ALL ");
    let of = |what: &str| {
        number(db, &format!("SELECT {what} FROM (SELECT 0 AS start, 0 AS end WHERE 0 UNION ALL {all})"))
    };
    (of("min(start)"), of("max(end)"))
}

fn training(folder: &Path) -> Vec<PathBuf> {
    synth(folder, &["--scenario", "training", "--ranks", "2", "--steps", "3", "--to", "rocpd"]);
    files(folder, ".db")
}

fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    path
}

fn calls(report: &Value, table: &str) -> i64 {
    let rows = report["tables"][table].as_array().map_or(&[][..], |rows| rows);
    rows.iter().map(|row| row["calls"].as_i64().expect("calls")).sum()
}

fn names(report: &Value, table: &str) -> Vec<String> {
    let rows = report["tables"][table].as_array().map_or(&[][..], |rows| rows);
    rows.iter().map(|row| row["name"].as_str().expect("a name").to_string()).collect()
}

fn selection_note(report: &Value) -> String {
    let checks = report["health"]["checks"].as_array().expect("checks");
    let check =
        checks.iter().find(|check| check["id"] == "selection").expect("the part is named in the health");
    assert_eq!(check["status"], "pass");
    let message = check["message"].as_str().expect("a message").to_string();
    assert_eq!(report["notes"][0], message.as_str(), "the part is shown");
    message
}

#[test]
fn windows_keep_what_rocpd_s_rules_keep() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = &training(folder.path())[0];
    let db = Connection::open(database).expect("a database");
    let (first, last) = bounds(&db);
    let (from, to) = (first + (last - first) * 30 / 100, first + (last - first) * 60 / 100);
    let (from_text, to_text) = (from.to_string(), to.to_string());
    let rules = [
        ("true", format!("start >= {from} AND end <= {to}")),
        ("false", format!("start <= {to} AND end >= {from}")),
    ];
    for (inclusive, rule) in rules {
        let by_share = ["--start", "30%", "--end", "60%", "--inclusive", inclusive];
        let by_clock = ["--start", &from_text, "--end", &to_text, "--inclusive", inclusive];
        for window in [by_share, by_clock] {
            let report = json("summary", &[database], &window);
            for (name, rows) in [("rocpd_kernel_dispatch", "kernels"), ("rocpd_region", "regions")] {
                let sql = format!("SELECT count(*) FROM {} WHERE {rule}", table(&db, name));
                let expected = number(&db, &sql);
                assert!(expected > 10, "a window with something in it");
                assert_eq!(calls(&report, rows), expected, "{rows} {window:?}");
                let sql = format!("SELECT count(*) AS n FROM {name}");
                let seen = json("query", &[database], &[&["--sql", &sql], &window[..]].concat());
                assert_eq!(seen["tables"]["result"][0]["n"], expected, "{sql} {window:?}");
            }
        }
    }
    let touching = json("summary", &[database], &["--start", "30%", "--end", "60%", "--overlapping"]);
    let exclusive = json("summary", &[database], &["--start", "30%", "--end", "60%", "--inclusive", "false"]);
    assert_eq!(touching["tables"], exclusive["tables"]);
}

#[test]
fn the_share_is_stated_by_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = &training(folder.path())[0];
    let window = ["--start", "30%", "--end", "60%"];
    let of_summary = selection_note(&json("summary", &[database], &window));
    assert!(
        of_summary.starts_with("window 30 %–60 %: ") && of_summary.contains("% of GPU time"),
        "{of_summary}"
    );
    for command in ["info", "breakdown", "overlap"] {
        let note = selection_note(&json(command, &[database], &window));
        let gpu = |note: &str| note.split(" host regions").next().map(str::to_string);
        assert_eq!(gpu(&note), gpu(&of_summary), "{command}");
    }
    let path = database.to_str().expect("a path");
    let shown = stdout(&["summary", path, "--start", "30%", "--end", "60%", "--limit", "1"]);
    assert!(shown.contains("window 30 %–60 %: "), "{shown}");
    let whole = json("summary", &[database], &[]);
    assert!(!whole.to_string().contains("\"selection\""), "the whole is no part");
}

#[test]
fn a_converted_part_holds_only_the_part() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = &training(folder.path())[0];
    let out = folder.path().join("part.db");
    let window = ["--start", "30%", "--end", "60%"];
    let to = ["--to", "rocpd", "--out", out.to_str().expect("a path")];
    let note = selection_note(&json("convert", &[database], &[&to, &window[..]].concat()));
    assert!(note.starts_with("window 30 %–60 %: "), "{note}");
    let (part, expected) = (json("summary", &[&out], &[]), json("summary", &[database], &window));
    assert!(calls(&expected, "kernels") > 10);
    for rows in ["kernels", "memory_copies", "regions"] {
        assert_eq!(calls(&part, rows), calls(&expected, rows), "{rows}");
    }
}

#[test]
fn ranks_and_processes_choose_host_rows_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let databases = training(folder.path());
    let both: Vec<&Path> = databases.iter().map(PathBuf::as_path).collect();
    for (rank, database) in databases.iter().enumerate() {
        let alone = json("summary", &[database], &[]);
        let chosen = json("summary", &both, &["--rank", &rank.to_string()]);
        for rows in ["kernels", "memory_copies", "regions"] {
            assert_eq!(chosen["tables"][rows], alone["tables"][rows], "rank {rank}: {rows}");
        }
        let db = Connection::open(database).expect("a database");
        let pid = number(&db, &format!("SELECT pid FROM {} LIMIT 1", table(&db, "rocpd_info_process")));
        let by_pid = json("summary", &both, &["--pid", &pid.to_string()]);
        assert_eq!(by_pid["tables"]["regions"], alone["tables"]["regions"], "pid {pid}");
    }
    let all = json("summary", &both, &[]);
    assert_eq!(json("summary", &both, &["--rank", "0,1"])["tables"], all["tables"]);
}

#[test]
fn filters_on_gpu_work_leave_the_host_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = &written(folder.path(), "t.json", common::SMALL_TORCH);
    let whole = json("summary", &[trace], &[]);
    let cases: [(&[&str], &[&str], usize); 7] = [
        (&["--kernel", "^ge"], &["gemm"], 0),
        (&["--kernel", "relu|DtoH"], &["relu"], 1),
        (&["--category", "gemm"], &["gemm"], 0),
        (&["--category", "gemm,activation"], &["gemm", "relu"], 0),
        (&["--category", "memory"], &[], 1),
        (&["--agent", "0"], &["gemm", "relu"], 1),
        (&["--stream", "0", "--kernel", "relu"], &["relu"], 0),
    ];
    for (filter, kernels, copies) in cases {
        let part = json("summary", &[trace], filter);
        assert_eq!(names(&part, "kernels"), kernels, "{filter:?}");
        assert_eq!(names(&part, "memory_copies").len(), copies, "{filter:?}");
        assert_eq!(part["tables"]["regions"], whole["tables"]["regions"], "{filter:?}: host rows stay");
        // The launch of the remaining rows is still known.
        let sql = "SELECT count(*) AS n FROM kernels k JOIN regions r ON r.stack_id = k.stack_id";
        let linked = json("query", &[trace], &[&["--sql", sql], filter].concat());
        assert_eq!(linked["tables"]["result"][0]["n"], kernels.len(), "{filter:?}");
    }
    let part = json("summary", &[trace], &["--category", "cpu_op"]);
    assert_eq!(names(&part, "regions"), ["aten::mm"]);
    assert_eq!(
        part["tables"]["kernels"], whole["tables"]["kernels"],
        "a host category leaves GPU work alone"
    );
}

#[test]
fn rules_of_the_user_decide_categories() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = &written(folder.path(), "t.json", common::SMALL_TORCH);
    let rules = written(
        folder.path(),
        "rules.toml",
        "[[rule]]\npattern = '^relu$'\ncategory = 'attention'\nbackend = 'mine'\n",
    );
    let options = ["--category", "attention", "--rules", rules.to_str().expect("a path")];
    let part = json("breakdown", &[trace], &options);
    let rows = part["tables"]["categories"].as_array().expect("rows");
    assert_eq!((rows.len(), &rows[0]["category"]), (1, &Value::from("attention")));
}

/// Two steps with a mark between them.
const MARKED: &str = r#"{"schemaVersion": 1, "roctracer_version": 4.1, "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "warm up", "pid": 10, "tid": 10, "ts": 0, "dur": 100},
{"ph": "X", "cat": "user_annotation", "name": "work", "pid": 10, "tid": 10, "ts": 200, "dur": 100},
{"ph": "X", "cat": "gpu_user_annotation", "name": "work", "pid": 0, "tid": 0, "ts": 220, "dur": 60},
{"ph": "X", "cat": "user_annotation", "name": "step", "pid": 10, "tid": 10, "ts": 300, "dur": 10},
{"ph": "X", "cat": "user_annotation", "name": "step", "pid": 10, "tid": 10, "ts": 320, "dur": 10},
{"ph": "X", "cat": "kernel", "name": "first", "pid": 0, "tid": 0, "ts": 50, "dur": 30, "args": {"device": 0, "stream": 0, "correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "second", "pid": 0, "tid": 0, "ts": 220, "dur": 30, "args": {"device": 0, "stream": 0, "correlation": 2}},
{"ph": "X", "cat": "kernel", "name": "third", "pid": 0, "tid": 0, "ts": 290, "dur": 110, "args": {"device": 0, "stream": 0, "correlation": 3}}
]}"#;

fn kernels_of(trace: &Path, options: &[&str]) -> Vec<String> {
    let mut kernels = names(&json("summary", &[trace], options), "kernels");
    kernels.sort();
    kernels
}

#[test]
fn markers_bound_a_window() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = &written(folder.path(), "t.json", MARKED);
    assert_eq!(kernels_of(trace, &["--start-marker", "work", "--end-marker", "work"]), ["second"]);
    assert_eq!(kernels_of(trace, &["--start-marker", "work"]), ["second", "third"]);
    assert_eq!(kernels_of(trace, &["--end-marker", "warm up"]), ["first"]);
    assert_eq!(kernels_of(trace, &["--start-marker", "work", "--end", "100%"]), ["second", "third"]);
    let touching = ["--start-marker", "work", "--end-marker", "work", "--overlapping"];
    assert_eq!(kernels_of(trace, &touching), ["second", "third"]);
}

/// A clock that starts at zero is valid: shares and times count from it.
#[test]
fn regression_shares_of_a_trace_whose_first_event_is_at_zero() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = &written(folder.path(), "t.json", MARKED);
    // The span is 0 to 400 µs.
    assert_eq!(kernels_of(trace, &["--start", "0%", "--end", "20%"]), ["first"]);
    assert_eq!(kernels_of(trace, &["--start", "0%", "--end", "100%"]), ["first", "second", "third"]);
    assert_eq!(kernels_of(trace, &["--start", "55%"]), ["second", "third"]);
    assert_eq!(kernels_of(trace, &["--start", "220us", "--end", "250us"]), ["second"]);
    assert_eq!(kernels_of(trace, &["--start", "0", "--end", "80000"]), ["first"]);
    assert_eq!(kernels_of(trace, &["--start", "0.05ms", "--end", "79.999us", "--overlapping"]), ["first"]);
}

/// A double is exact to 2^53 ns, 104 days of uptime; windows are exact beyond.
#[test]
fn regression_nanoseconds_above_2_to_the_53_are_exact() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = &training(folder.path())[0];
    let db = Connection::open(database).expect("a database");
    let kernels = table(&db, "rocpd_kernel_dispatch");
    let far = (1i64 << 53) + 1;
    let row = number(&db, &format!("SELECT id FROM {kernels} ORDER BY end DESC LIMIT 1"));
    db.execute(&format!("UPDATE {kernels} SET start = ?1, end = ?1 + 10 WHERE id = ?2"), [far, row])
        .expect("moved");
    drop(db);
    let of = |start: i64, end: i64| {
        let window = [
            "summary",
            database.to_str().expect("a path"),
            "--json",
            "--start",
            &start.to_string(),
            "--end",
            &end.to_string(),
        ];
        let output = run(&window);
        let report = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        calls(&report, "kernels")
    };
    assert_eq!(of(far, far + 10), 1);
    assert_eq!(of(far, far + 9), 0, "one nanosecond less");
    assert_eq!(of(far + 1, far + 10), 0, "one nanosecond later");
}

/// Runs a command, checks the contract of a failure and returns standard error.
fn refused(trace: &Path, options: &[&str]) -> String {
    let path = trace.to_str().expect("a path");
    let output = run(&[&["summary", path], options].concat());
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{options:?}: {errors}");
    assert!(output.stdout.is_empty() && errors.starts_with("error: "), "{options:?}: {errors}");
    let said = errors.lines().filter(|line| !line.starts_with(" help:")).count();
    assert_eq!(said, 1, "one line: {errors}");
    errors
}

#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = &written(folder.path(), "t.json", MARKED);
    let cases: [(&[&str], &[&str]); 20] = [
        (&["--start", "500000"], &["outside the trace", "from 0 ns to 400000 ns"]),
        (&["--start", "1s"], &["outside the trace"]),
        (&["--start", "60%", "--end", "30%"], &["ends at 120000 ns, before it starts at 240000 ns"]),
        (&["--start", "130%"], &["`--start 130%`", "0% and 100%"]),
        (&["--end", "soon"], &["`--end soon`", "350ms"]),
        (
            &["--kernel", "ge(mm"],
            &["`--kernel ge(mm` is not a regular expression: unclosed group, at character 3"],
        ),
        (&["--kernel", "THIRD"], &["no kernel matches `THIRD`", "`(?i)THIRD` matches `third`"]),
        (&["--kernel", "fourth"], &["no kernel matches `fourth`", "`first`"]),
        (&["--category", "gem"], &["no category `gem`", "other", "user_annotation"]),
        (&["--category", "gemm"], &["no category `gemm`", "other"]),
        (&["--agent", "7"], &["no agent 7", "it has agent 0"]),
        (&["--stream", "9"], &["no stream 9", "it has stream 0"]),
        (&["--rank", "3"], &["no rank 3"]),
        (&["--pid", "3"], &["no process 3", "10"]),
        (&["--stage", "decode"], &["no GPU work of stage decode"]),
        (&["--start-marker", "works"], &["named `works`", "nearest names are `work`"]),
        (
            &["--start-marker", "step"],
            &["there are 2 regions or samples named `step`", "300000 ns, 320000 ns"],
        ),
        (&["--start", "20%", "--end", "21%"], &["nothing is left", "`--overlapping`"]),
        (
            &["--kernel", "first", "--start", "50%"],
            &["nothing is left of the trace: window 50 %–end, kernel `first`"],
        ),
        (&["--overlapping"], &["`--overlapping` and `--inclusive false` need a window", "`--start`"]),
    ];
    for (options, parts) in cases {
        let errors = refused(trace, options);
        for part in parts {
            assert!(errors.contains(part), "{options:?}: {errors}");
        }
    }
    let path = trace.to_str().expect("a path");
    for pair in [["--start", "--start-marker"], ["--end", "--end-marker"]] {
        let output = run(&["summary", path, pair[0], "1%", pair[1], "work"]);
        assert_eq!(output.status.code(), Some(2), "{pair:?} exclude each other");
    }
}

#[test]
fn commands_that_lose_nothing_or_read_nothing_take_no_part() {
    for command in ["info", "summary", "query", "convert", "triage", "breakdown", "overlap"] {
        let help = stdout(&[command, "--help"]);
        assert!(help.contains("--start-marker") && help.contains("--kernel"), "{command}");
    }
    for command in ["perfetto-fix", "capture", "synth"] {
        assert!(!stdout(&[command, "--help"]).contains("--start-marker"), "{command}");
    }
}

#[test]
fn stages_of_a_real_trace_add_up() {
    let Some(data) = common::shared_data() else { return };
    let trace = data.join("traces/sglang_prefilldecode.json.gz");
    let whole = json("breakdown", &[&trace], &[]);
    let stages: Vec<String> = whole["tables"]["categories"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["stage"].as_str().unwrap_or("other").to_string())
        .collect();
    let mut kernels = 0;
    let mut seen = std::collections::BTreeSet::new();
    for stage in stages.iter().filter(|stage| seen.insert(stage.to_string())) {
        let part = json("summary", &[&trace], &["--stage", stage]);
        kernels += calls(&part, "kernels");
    }
    assert_eq!(kernels, calls(&json("summary", &[&trace], &[]), "kernels"));
}
