//! Merged databases read by SQLite itself: the union of their inputs, including everything that we do not
//! know.

use crate::merge_maker::{ENVIRONMENT, GUIDS, Maker, assert_sound, files, inputs, merged, one, rows};

use std::path::PathBuf;

use rocm_perf_convert::merge::{
    Error, Input, Options, PackageOptions, files_of_package, is_package, merge, package,
};
use rocm_perf_convert::rocpd::{self, SchemaVersion};
use rusqlite::Connection;
use rusqlite::types::Value;

#[test]
fn ranks_of_equal_pids_on_two_hosts_are_their_union_and_stay_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let ranks: Vec<PathBuf> = (0..4)
        .map(|i| {
            let host = if i < 2 { "node1" } else { "node two" };
            let path = folder.path().join(format!("rank{i}.db"));
            Maker { host, ..Maker::new(GUIDS[i], i as i64) }.make(&path)
        })
        .collect();
    let before: Vec<Vec<u8>> = ranks.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let target = folder.path().join("merged.db");
    let told = merged(&ranks.iter().collect::<Vec<_>>(), &target).unwrap();
    assert_sound(&target);
    let after: Vec<Vec<u8>> = ranks.iter().map(|path| std::fs::read(path).unwrap()).collect();
    assert!(before == after, "inputs are only read");
    assert_eq!(files(folder.path()), ["merged.db", "rank0.db", "rank1.db", "rank2.db", "rank3.db"]);
    let text = |v: &Value| format!("{v:?}");
    let sort = |mut rows: Vec<Vec<Value>>| {
        rows.sort_by_key(|row| row.iter().map(text).collect::<String>());
        rows
    };
    for sql in [
        "SELECT * FROM rocpd_kernel_dispatch",
        "SELECT * FROM rocpd_region",
        "SELECT * FROM rocpd_event",
        "SELECT * FROM rocpd_string",
        "SELECT * FROM rocpd_info_agent",
        "SELECT * FROM rocpd_metadata",
        "SELECT * FROM kernels",
        "SELECT * FROM regions",
        "SELECT * FROM threads",
        "SELECT * FROM processes",
    ] {
        // The vendor's key is (guid, id): everything but redacted text equals the inputs row for row.
        let apart: Vec<Vec<Value>> = ranks.iter().flat_map(|path| rows(path, sql)).collect();
        let hide = |rows: Vec<Vec<Value>>| -> Vec<Vec<Value>> {
            let plain = |v: Value| match v {
                Value::Text(t) if t.starts_with("python serve.py") => Value::Null,
                other => other,
            };
            rows.into_iter().map(|row| row.into_iter().map(plain).collect()).collect()
        };
        assert!(apart.len() >= 4, "{sql}");
        assert_eq!(sort(hide(rows(&target, sql))), sort(hide(apart)), "{sql}");
    }
    let db = Connection::open(&target).unwrap();
    assert_eq!(one::<i64>(&db, "SELECT sum(total_calls) FROM top_kernels"), 20 + 21 + 22 + 23);
    let counted: u64 = told.recordings.iter().flat_map(|r| &r.rows).map(|(_, rows)| rows).sum();
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'";
    let tables: Vec<Vec<Value>> = rows(&target, tables);
    let all: i64 = tables
        .iter()
        .map(|row| match &row[0] {
            Value::Text(name) => one::<i64>(&db, &format!("SELECT count(*) FROM \"{name}\"")),
            _ => 0,
        })
        .sum();
    assert_eq!(counted as i64, all, "the report counts every row");
    assert_eq!(told.recordings[3].host, "node two");
    // Ids continue after the highest ones ever used.
    let name = format!("rocpd_event_{}", GUIDS[3].replace('-', "_"));
    db.execute(&format!("INSERT INTO {name} (stack_id) VALUES (1)"), []).unwrap();
    assert_eq!(db.last_insert_rowid(), 24);
}

#[test]
fn secrets_stay_behind_unless_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let rank = Maker::new(GUIDS[0], 0).make(&folder.path().join("a.db"));
    let target = folder.path().join("out.db");
    let told = merged(&[&rank], &target).unwrap();
    assert_eq!(told.removed, 4, "HOME, HF_TOKEN, NCCL_KEY and the option's value");
    let bytes = std::fs::read(&target).unwrap();
    let holds = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
    assert!(!holds(&bytes, "top-secret") && !holds(&bytes, "/home/somebody"), "not even in unused pages");
    let db = Connection::open(&target).unwrap();
    let kept: String = one(&db, "SELECT environment FROM rocpd_info_process");
    assert_eq!(kept, r#"{"HIP_VISIBLE_DEVICES":"0"}"#);
    let command: String = one(&db, "SELECT command FROM processes");
    assert_eq!(command, "python serve.py --api-key [redacted]");
    let whole = folder.path().join("whole.db");
    let told = merge(&inputs(&[&rank]), &whole, &Options { keep_environment: true }, &|_| {}).unwrap();
    assert_eq!(told.removed, 0);
    let db = Connection::open(&whole).unwrap();
    assert_eq!(one::<String>(&db, "SELECT environment FROM rocpd_info_process"), ENVIRONMENT);
}

#[test]
fn a_rank_that_only_the_name_tells_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = Maker::new(GUIDS[0], 0).make(&folder.path().join("a.db"));
    let target = folder.path().join("out.db");
    let told = merge(&[Input { path, rank: Some(3) }], &target, &Options::default(), &|_| {}).unwrap();
    assert_eq!(told.recordings[0].rank, Some(3));
    let db = Connection::open(&target).unwrap();
    let kept: String = one(&db, "SELECT environment FROM rocpd_info_process");
    assert_eq!(kept, r#"{"HIP_VISIBLE_DEVICES":"0","RANK":"3"}"#);
}

#[test]
fn what_nobody_knows_survives() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = [0, 1].map(|i| Maker::new(GUIDS[i], 1).make(&folder.path().join(format!("{i}.db"))));
    for (number, path) in [&a, &b].into_iter().enumerate() {
        let suffix = format!("_{}", GUIDS[number].replace('-', "_"));
        let db = Connection::open(path).unwrap();
        db.execute_batch(&format!(
            "CREATE TABLE rocpd_thermal{suffix} (id INTEGER PRIMARY KEY, guid TEXT, celsius REAL, half AS (celsius / 2));
             INSERT INTO rocpd_thermal{suffix} (guid, celsius) VALUES ('{guid}', {number} + 0.5);
             CREATE TABLE bookmarks (id INTEGER PRIMARY KEY, at BIGINT);
             INSERT INTO bookmarks (at) VALUES ({number});
             CREATE TABLE palette (colour TEXT);
             INSERT INTO palette VALUES ('red');
             CREATE INDEX by_start ON rocpd_region{suffix} (start);
             CREATE VIEW my_long_kernels AS SELECT * FROM kernels WHERE duration > 200;",
            guid = GUIDS[number],
        ))
        .unwrap();
        if number == 0 {
            db.execute_batch(&format!(
                "ALTER TABLE rocpd_region{suffix} ADD COLUMN colour TEXT; UPDATE rocpd_region{suffix} SET colour = 'blue'"
            ))
            .unwrap();
        }
    }
    let target = folder.path().join("out.db");
    let told = merged(&[&a, &b], &target).unwrap();
    assert_sound(&target);
    let db = Connection::open(&target).unwrap();
    assert_eq!(one::<f64>(&db, "SELECT sum(celsius) FROM rocpd_thermal"), 2.0);
    assert_eq!(
        one::<f64>(&db, &format!("SELECT half FROM rocpd_thermal_{}", GUIDS[1].replace('-', "_"))),
        0.75
    );
    assert_eq!(one::<i64>(&db, "SELECT count(colour) FROM rocpd_region"), 21);
    assert_eq!(one::<i64>(&db, "SELECT count(*) FROM rocpd_region"), 42);
    assert_eq!(one::<i64>(&db, "SELECT count(*) FROM palette"), 1, "equal tables of no recording are one");
    assert_eq!(one::<i64>(&db, "SELECT at FROM bookmarks"), 0);
    let renamed = format!("bookmarks_{}", GUIDS[1].replace('-', "_"));
    assert_eq!(one::<i64>(&db, &format!("SELECT at FROM \"{renamed}\"")), 1);
    assert!(told.health.checks.iter().any(|check| check.id == "renamed_table"), "{:?}", told.health);
    assert_eq!(
        one::<i64>(&db, "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND name LIKE 'by_start%'"),
        2
    );
    assert_eq!(one::<i64>(&db, "SELECT count(*) FROM my_long_kernels"), 42);
    let extdata: String = one(&db, "SELECT extdata FROM rocpd_info_agent LIMIT 1");
    assert!(extdata.contains("unheard_of"));
}

#[test]
fn revisions_of_the_schema_go_together() {
    let folder = tempfile::tempdir().unwrap();
    let old = Maker::new(GUIDS[0], 0).make(&folder.path().join("old.db"));
    let new = Maker { version: SchemaVersion::V3_0_5, ..Maker::new(GUIDS[1], 1) };
    let new = new.make(&folder.path().join("new.db"));
    let target = folder.path().join("out.db");
    for order in [[&old, &new], [&new, &old]] {
        let told = merged(&order, &target).unwrap();
        assert_sound(&target);
        let db = Connection::open(&target).unwrap();
        let graphs = "SELECT count(graph_exec_id) FROM rocpd_kernel_dispatch";
        assert_eq!(one::<i64>(&db, graphs), 21, "what a revision does not have is NULL");
        assert_eq!(one::<i64>(&db, "SELECT count(*) FROM rocpd_kernel_dispatch"), 41);
        assert_eq!(one::<i64>(&db, "SELECT count(*) FROM kernels WHERE name IS NOT NULL AND tid = 15"), 41);
        let mut schemas: Vec<&str> = told.recordings.iter().map(|r| r.schema.as_str()).collect();
        schemas.sort();
        assert_eq!(schemas, ["3", "3.0.5"]);
    }
}

#[test]
fn one_recording_twice_is_merged_once_and_two_of_one_guid_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let a = Maker::new(GUIDS[0], 0).make(&folder.path().join("a.db"));
    let copy = folder.path().join("copy.db");
    std::fs::copy(&a, &copy).unwrap();
    let target = folder.path().join("out.db");
    let told = merged(&[&a, &copy], &target).unwrap();
    assert_eq!(told.recordings.len(), 1);
    let warning = told.health.checks.iter().find(|check| check.id == "duplicate_input").unwrap();
    assert!(warning.message.contains("copy.db") && warning.message.contains("a.db"), "{}", warning.message);
    assert_eq!(rows(&target, "SELECT id FROM rocpd_region").len(), 20);
    std::fs::remove_file(&target).unwrap();
    let other = Maker::new(GUIDS[0], 1).make(&folder.path().join("other.db"));
    let error = merged(&[&a, &other], &target).unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error}");
    let line = error.to_string();
    assert!(line.contains("a.db") && line.contains("other.db") && line.contains(GUIDS[0]), "{line}");
    // A difference in one argument of one call is enough.
    let db = Connection::open(&copy).unwrap();
    db.execute(
        "UPDATE rocpd_event_0000ddb5_8903_7903_b269_000000000000 SET extdata = '{\"x\":1}' WHERE id = 7",
        [],
    )
    .unwrap();
    drop(db);
    assert!(matches!(merged(&[&a, &copy], &target), Err(Error::Conflict { .. })));
    assert_eq!(files(folder.path()), ["a.db", "copy.db", "other.db"], "a failed merge leaves nothing");
}

#[test]
fn a_merged_file_is_merged_again() {
    let folder = tempfile::tempdir().unwrap();
    let ranks =
        [0, 1, 2].map(|i| Maker::new(GUIDS[i], i as i64).make(&folder.path().join(format!("{i}.db"))));
    let [first, second, at_once] =
        ["first.db", "second.db", "at_once.db"].map(|name| folder.path().join(name));
    merged(&[&ranks[0], &ranks[1]], &first).unwrap();
    // The original of a redacted recording counts as the same recording.
    let told = merged(&[&first, &ranks[2], &ranks[1]], &second).unwrap();
    assert_eq!(told.recordings.len(), 3);
    assert_eq!(told.health.checks.len(), 1, "{:?}", told.health);
    merged(&[&ranks[0], &ranks[1], &ranks[2]], &at_once).unwrap();
    assert_sound(&second);
    let every = "SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2";
    assert_eq!(rows(&second, every), rows(&at_once, every));
    for table in ["rocpd_kernel_dispatch", "rocpd_info_process", "kernels", "top"] {
        let sql = format!("SELECT * FROM {table}");
        assert_eq!(rows(&second, &sql), rows(&at_once, &sql), "{table}");
    }
}

#[test]
fn tables_without_suffix_and_clashing_suffixes_get_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, suffix: &str, guid: &str| {
        let path = folder.path().join(name);
        let db = Connection::open(&path).unwrap();
        for table in rocpd::schema::tables(SchemaVersion::V3_0_0) {
            db.execute_batch(&table.create(suffix, guid)).unwrap();
        }
        db.execute_batch(&format!(
            "INSERT INTO rocpd_string{suffix} (string) VALUES ('{guid}');
             INSERT INTO rocpd_info_node{suffix} (id, hash, machine_id, hostname) VALUES (1, 1, 'm', '{name}');
             INSERT INTO rocpd_info_process{suffix} (id, nid, pid) VALUES (2, 1, 2);
             INSERT INTO rocpd_info_thread{suffix} (id, nid, pid, tid) VALUES (3, 1, 2, 3);
             INSERT INTO rocpd_region{suffix} (nid, pid, tid, start, end, name_id) VALUES (1, 2, 3, 10, 20, 1);",
        ))
        .unwrap();
        path
    };
    let paths = [
        make("a.db", "", "g-1"),
        make("b.db", "", "g-2"),
        make("c.db", "_x", "g-3"),
        make("d.db", "_x", "g-4"),
    ];
    let target = folder.path().join("out.db");
    let told = merged(&paths.iter().collect::<Vec<_>>(), &target).unwrap();
    assert_sound(&target);
    let suffixes: Vec<&str> = told.recordings.iter().map(|r| r.suffix.as_str()).collect();
    assert_eq!(suffixes, ["_g_1", "_g_2", "_x", "_g_4"]);
    let db = Connection::open(&target).unwrap();
    let names: String =
        one(&db, "SELECT group_concat(name, ' ') FROM (SELECT name FROM regions ORDER BY name)");
    assert_eq!(names, "g-1 g-2 g-3 g-4");
}

#[test]
fn more_recordings_than_sqlite_joins_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch("PRAGMA synchronous = OFF; BEGIN").unwrap();
    for i in 0..1_201 {
        db.execute_batch(&format!(
            "CREATE TABLE rocpd_metadata_{i} (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
             CREATE TABLE rocpd_kernel_dispatch_{i} (id INTEGER PRIMARY KEY, guid TEXT, start BIGINT, \"end\" BIGINT);
             INSERT INTO rocpd_kernel_dispatch_{i} (guid, start, \"end\") VALUES ('g{i}', {i}, 2 * {i});"
        ))
        .unwrap();
    }
    db.execute_batch("COMMIT").unwrap();
    drop(db);
    let one_more = Maker::new(GUIDS[0], 0).make(&folder.path().join("one.db"));
    let target = folder.path().join("out.db");
    let told = merged(&[&path, &one_more], &target).unwrap();
    assert_eq!(told.recordings.len(), 1_202);
    let db = Connection::open(&target).unwrap();
    assert_eq!(one::<i64>(&db, "SELECT count(*) FROM rocpd_kernel_dispatch"), 1_221);
    let sum: i64 = one(&db, "SELECT sum(\"end\" - start) FROM rocpd_kernel_dispatch WHERE guid LIKE 'g%'");
    assert_eq!(sum, 1_200 * 1_201 / 2);
}

#[test]
fn journals_and_logs_are_played_back_in_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let a = Maker::new(GUIDS[0], 0).make(&folder.path().join("a.db"));
    let writer = Connection::open(&a).unwrap();
    let table = format!("rocpd_region_{}", GUIDS[0].replace('-', "_"));
    writer.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
    writer.execute(&format!("DELETE FROM {table} WHERE id > 5"), []).unwrap();
    // As a killed writer leaves them: with the log next to the file.
    let left = folder.path().join("left");
    std::fs::create_dir(&left).unwrap();
    for name in ["a.db", "a.db-wal"] {
        std::fs::copy(folder.path().join(name), left.join(name)).unwrap();
    }
    drop(writer);
    let target = folder.path().join("out.db");
    let before: Vec<Vec<u8>> =
        files(&left).iter().map(|name| std::fs::read(left.join(name)).unwrap()).collect();
    merged(&[&left.join("a.db")], &target).unwrap();
    assert_eq!(rows(&target, "SELECT id FROM rocpd_region").len(), 5);
    assert_eq!(files(&left), ["a.db", "a.db-wal"]);
    let after: Vec<Vec<u8>> =
        files(&left).iter().map(|name| std::fs::read(left.join(name)).unwrap()).collect();
    assert!(before == after);
    assert_eq!(files(folder.path()), ["a.db", "left", "out.db"]);
}

#[test]
fn a_damaged_input_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let good = Maker::new(GUIDS[0], 0).make(&folder.path().join("good.db"));
    let bad = Maker::new(GUIDS[1], 3_000).make(&folder.path().join("bad.db"));
    let bytes = std::fs::read(&bad).unwrap();
    std::fs::write(&bad, &bytes[..bytes.len() / 3]).unwrap();
    let target = folder.path().join("out.db");
    let error = merged(&[&good, &bad], &target).unwrap_err().to_string();
    assert!(error.contains("bad.db") && !error.contains("good.db"), "{error}");
    assert_eq!(files(folder.path()), ["bad.db", "good.db"]);
}

#[test]
fn packages_list_their_files_and_hold_no_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let ranks = [0, 1].map(|i| {
        let rank = folder.path().join(format!("rank{i}"));
        std::fs::create_dir(&rank).unwrap();
        Maker::new(GUIDS[i], i as i64).make(&rank.join("14_results.db"))
    });
    let target = folder.path().join("run.rpdb");
    let told =
        package(&inputs(&[&ranks[0], &ranks[1]]), &target, &PackageOptions::default(), &|_| {}).unwrap();
    assert_eq!((told.recordings.len(), told.removed), (2, 8));
    let index = std::fs::read_to_string(target.join("index.yaml")).unwrap();
    assert_eq!(
        index,
        "rocprofiler-sdk:\n  rocpd:\n    rocpd_package_version: \"1.0\"\n    path: \".\"\n    files:\n      \
         - \"rank0/14_results.db\"\n      - \"rank1/14_results.db\"\n"
    );
    assert!(is_package(&target) && is_package(&target.join("index.yaml")) && !is_package(&ranks[0]));
    let listed = files_of_package(&target).unwrap();
    for (path, original) in listed.iter().zip(&ranks) {
        assert_sound(path);
        let sql = "SELECT * FROM rocpd_kernel_dispatch";
        assert_eq!(rows(path, sql), rows(original, sql));
        assert!(!String::from_utf8_lossy(&std::fs::read(path).unwrap()).contains("top-secret"));
    }
    let before = ranks.clone().map(|path| std::fs::read(path).unwrap());
    let options = PackageOptions { options: Options { keep_environment: true }, move_files: true };
    package(&inputs(&[&ranks[0], &ranks[1]]), &target, &options, &|_| {}).unwrap();
    let moved: Vec<Vec<u8>> = listed.iter().map(|path| std::fs::read(path).unwrap()).collect();
    assert!(moved == before, "moved as they are");
    assert!(!ranks[0].exists() && !ranks[1].exists());
    assert_eq!(files(folder.path()), ["rank0", "rank1", "run.rpdb"]);
}

#[test]
fn triggers_and_views_of_ones_own_are_kept_or_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = [0, 1].map(|i| Maker::new(GUIDS[i], 1).make(&folder.path().join(format!("{i}.db"))));
    for (number, path) in [&a, &b].into_iter().enumerate() {
        let suffix = format!("_{}", GUIDS[number].replace('-', "_"));
        let db = Connection::open(path).unwrap();
        db.execute_batch(&format!(
            "CREATE TABLE seen (name TEXT);
             CREATE TRIGGER on_region{number} AFTER INSERT ON rocpd_region{suffix} BEGIN INSERT INTO seen VALUES ('{number}'); END;
             CREATE VIEW mine AS SELECT {number} AS n;
             CREATE VIEW shared AS SELECT count(*) AS n FROM kernels;"
        ))
        .unwrap();
    }
    let target = folder.path().join("out.db");
    let told = merged(&[&a, &b], &target).unwrap();
    assert_sound(&target);
    let db = Connection::open(&target).unwrap();
    let triggers: String = one(
        &db,
        "SELECT group_concat(name) FROM (SELECT name FROM sqlite_master WHERE type = 'trigger' ORDER BY 1)",
    );
    assert_eq!(triggers, "on_region0,on_region1");
    let region = format!("rocpd_region_{}", GUIDS[1].replace('-', "_"));
    db.execute_batch(&format!("INSERT INTO {region} SELECT 1000, guid, nid, pid, tid, start, end, name_id, event_id, extdata FROM {region} LIMIT 1")).unwrap();
    assert_eq!(one::<String>(&db, "SELECT group_concat(name) FROM seen"), "1", "it still does its work");
    assert_eq!(one::<i64>(&db, "SELECT n FROM mine"), 0, "the first of two different ones");
    assert_eq!(one::<i64>(&db, "SELECT n FROM shared"), 42);
    assert_eq!(told.carried, ["mine", "shared", "on_region0", "on_region1"], "and all of them are named");
    let left_out: Vec<&str> = told.health.checks.iter().map(|check| check.message.as_str()).collect();
    assert_eq!(left_out.len(), 1, "{left_out:?}");
    assert!(left_out[0].contains("`mine`") && left_out[0].contains("1.db"), "{left_out:?}");
}
