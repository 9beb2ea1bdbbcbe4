//! Windows and conversions of rocpd databases keep every column that the database has.

use crate::common;

use std::path::{Path, PathBuf};

use common::{files, run, stdout, synth};
use rusqlite::Connection;
use serde_json::Value;

/// The real name of a table.
fn table(db: &Connection, plain: &str) -> String {
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE ?1 || '@_%' ESCAPE '@' \
               ORDER BY length(name) LIMIT 1";
    db.query_row(sql, [plain], |row| row.get(0)).expect("the table is there")
}

/// A database with data that a trace cannot hold.
fn database(folder: &Path) -> PathBuf {
    synth(folder, &["--scenario", "training", "--ranks", "1", "--steps", "2", "--to", "rocpd"]);
    let path = files(folder, ".db").remove(0);
    let db = Connection::open(&path).expect("a database");
    let [node, process, agent, symbol, event, allocation, region, queue, stream] = [
        "rocpd_info_node",
        "rocpd_info_process",
        "rocpd_info_agent",
        "rocpd_info_kernel_symbol",
        "rocpd_event",
        "rocpd_memory_allocate",
        "rocpd_region",
        "rocpd_info_queue",
        "rocpd_info_stream",
    ]
    .map(|plain| table(&db, plain));
    let columns: Vec<String> = db
        .prepare(&format!(
            "SELECT name FROM pragma_table_info('{symbol}') WHERE name <> 'id' AND name <> 'kernel_name'"
        ))
        .and_then(|mut rows| rows.query_map([], |row| row.get(0))?.collect())
        .expect("columns");
    let columns = columns.join(", ");
    db.execute_batch(&format!(
        "UPDATE {node} SET release = '6.8.0', version = '#45';
         UPDATE {process} SET extdata = '{{\"kernel_rename\": true}}';
         UPDATE {agent} SET vendor_name = 'AMD', user_name = 'mine';
         UPDATE {event} SET correlation_id = id + 7;
         INSERT INTO {allocation} (nid, pid, tid, agent_id, type, level, start, \"end\", address, size, queue_id, stream_id, event_id, extdata)
             SELECT nid, pid, tid, (SELECT id FROM {agent} WHERE type = 'GPU' LIMIT 1), 'ALLOC', 'SCRATCH', start, \"end\", 4096 + id, 64,
                 (SELECT id FROM {queue} LIMIT 1), (SELECT id FROM {stream} LIMIT 1), event_id, '{{\"flags\": \"2\"}}' FROM {region} LIMIT 5;
         INSERT INTO {symbol} (kernel_name, {columns}) SELECT 'never_ran.kd', {columns} FROM {symbol} LIMIT 3;"
    ))
    .expect("changes");
    path
}

const VIEWS: [&str; 8] = [
    "processes",
    "kernels",
    "regions",
    "memory_copies",
    "memory_allocations",
    "scratch_memory",
    "kernel_symbols",
    "rocpd_info_agent",
];

fn rows(database: &Path, view: &str, more: &[&str]) -> String {
    let sql = format!("SELECT * FROM {view}");
    let mut arguments = vec!["query", database.to_str().expect("a path"), "--sql", &sql, "--format", "csv"];
    arguments.extend(more);
    let text = stdout(&arguments);
    let mut lines: Vec<&str> = text.lines().collect();
    lines[1..].sort_unstable();
    lines.join("\n")
}

#[test]
fn a_window_of_everything_changed_what_views_hold() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = database(folder.path());
    for view in VIEWS {
        let whole = rows(&path, view, &[]);
        assert!(whole.lines().count() > 1, "{view} has rows");
        assert_eq!(whole, rows(&path, view, &["--start", "0%", "--end", "100%"]), "{view}");
    }
}

#[test]
fn a_window_keeps_the_columns_of_the_rows_that_it_keeps() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = database(folder.path());
    for view in VIEWS {
        let whole = rows(&path, view, &[]);
        let part = rows(&path, view, &["--start", "30%", "--end", "60%"]);
        assert!(part.lines().all(|line| whole.lines().any(|other| other == line)), "{view}");
    }
    let count = |more: &[&str]| rows(&path, "kernels", more).lines().count();
    assert!(count(&["--start", "30%", "--end", "60%"]) < count(&[]));
    // What belongs to an excluded row is excluded with it.
    let orphans = "rocpd_arg WHERE event_id NOT IN (SELECT id FROM rocpd_event)";
    assert_eq!(rows(&path, orphans, &["--start", "30%", "--end", "60%"]).lines().count(), 1);
}

#[test]
fn rocpd_to_rocpd_lost_symbols_release_extdata_vendor_and_user_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = database(folder.path());
    let copy = folder.path().join("copy/all.db");
    std::fs::create_dir(folder.path().join("copy")).expect("a folder");
    stdout(&["convert", path.to_str().unwrap(), "--to", "rocpd", "--out", copy.to_str().unwrap()]);
    for view in VIEWS.into_iter().chain(["rocpd_info_process", "rocpd_info_node", "rocpd_string"]) {
        assert_eq!(rows(&path, view, &[]), rows(&copy, view, &[]), "{view}");
    }
    let part = folder.path().join("copy/part.db");
    let window = ["--start", "30%", "--end", "60%"];
    let mut arguments =
        vec!["convert", path.to_str().unwrap(), "--to", "rocpd", "--out", part.to_str().unwrap()];
    arguments.extend(window);
    stdout(&arguments);
    for view in VIEWS {
        assert_eq!(rows(&path, view, &window), rows(&part, view, &[]), "{view}");
    }
    let checked: i64 = Connection::open(&part)
        .and_then(|db| db.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0)))
        .expect("a check");
    assert_eq!(checked, 0);
}

#[test]
fn alloc_flags_of_scratch_were_written_as_zero() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = database(folder.path());
    let out = folder.path().join("csv/");
    std::fs::create_dir(&out).expect("a folder");
    stdout(&["convert", path.to_str().unwrap(), "--to", "csv", "--out", out.to_str().unwrap()]);
    let file = files(&out, "scratch_memory_trace.csv").remove(0);
    let text = std::fs::read_to_string(file).expect("a file");
    let header: Vec<&str> = text.lines().next().expect("a header").split(',').collect();
    let flags = header.iter().position(|name| name.trim_matches('"') == "Alloc_Flags").expect("the column");
    let values: Vec<&str> = text.lines().skip(1).map(|line| line.split(',').nth(flags).unwrap()).collect();
    assert_eq!(values, ["2"; 5]);
}

#[test]
fn a_query_left_a_shm_file_beside_a_database_with_a_write_ahead_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = database(folder.path());
    let db = Connection::open(&path).expect("a database");
    db.pragma_update(None, "journal_mode", "WAL").expect("a log");
    let node = table(&db, "rocpd_info_node");
    db.execute(&format!("UPDATE {node} SET release = 'in the log'"), []).expect("a change");
    // A copy of both files, as you get from a database that is still being written.
    let copied = folder.path().join("copied");
    std::fs::create_dir(&copied).expect("a folder");
    for ending in ["", "-wal"] {
        let from = format!("{}{ending}", path.display());
        std::fs::copy(from, copied.join(format!("run.db{ending}"))).expect("a copy");
    }
    let listed = |folder: &Path| {
        let mut names: Vec<_> = std::fs::read_dir(folder)
            .expect("a folder")
            .map(|file| file.expect("a file").file_name())
            .collect();
        names.sort();
        names
    };
    let before = listed(&copied);
    let text = rows(&copied.join("run.db"), "rocpd_info_node", &[]);
    assert!(text.contains("in the log"), "{text}");
    assert_eq!(before, listed(&copied));
}

#[test]
fn the_index_of_a_package_is_an_input_everywhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = database(folder.path());
    let package = folder.path().join("pk.rpdb");
    stdout(&["merge", path.to_str().unwrap(), "--package", package.to_str().unwrap()]);
    let index = package.join("index.yaml");
    for command in ["info", "summary", "bottleneck"] {
        let output = run(&[command, "--format", "json", index.to_str().unwrap()]);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(report["inputs"][0]["path"].as_str().is_some_and(|path| path.ends_with(".db")), "{command}");
    }
}
