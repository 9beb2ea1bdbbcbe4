//! Damaged and unusual rocpd databases: only the damaged part is lost, and it is said.

use crate::rocpd_example::{
    GUIDS, assert_equal, example, made, made_four, problems, read, read_unfinished, said, suffix_of,
};

use convert::rocpd::four::FourVersion;
use convert::rocpd::{Options, write};
use rocm_perf_ingest::{Error, rocpd};
use rusqlite::Connection;
use trace::Needs;

#[test]
fn missing_tables_columns_and_metadata_are_read_around() {
    let trace = example(1, 30);
    let made = made(&trace, &Options { views: false, ..Options::default() });
    let db = Connection::open(&made.path).unwrap();
    db.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    let suffix = suffix_of(&db);
    for table in ["rocpd_pmc_event", "rocpd_metadata", "rocpd_info_thread", "rocpd_info_stream"] {
        db.execute_batch(&format!("DROP TABLE \"{table}{suffix}\"")).unwrap();
    }
    let sql = format!(
        "CREATE TABLE \"rocpd_event_operation{suffix}\" (id INTEGER PRIMARY KEY, x);
         CREATE TABLE \"rocpd_event_other{suffix}\" (id INTEGER PRIMARY KEY, x);
         ALTER TABLE \"rocpd_region{suffix}\" ADD COLUMN later TEXT DEFAULT 'x';
         ALTER TABLE \"rocpd_memory_copy{suffix}\" RENAME COLUMN size TO bytes_moved"
    );
    db.execute_batch(&sql).unwrap();
    drop(db);
    let back = read(&made.path);
    assert_eq!((back.kernels.len(), back.regions.len(), back.counters.len()), (30, 60, 0));
    assert_eq!(rocpd::guids(&made.path).unwrap(), [GUIDS[0]]);
    assert!(back.memory_copies.bytes.iter().all(|b| b.get().is_none()));
    assert_eq!(back.threads.len(), 3, "threads are known by their numbers");
    assert_eq!(back.kernels.thread.iter().filter(|t| t.is_some()).count(), 30);
    assert_eq!(back.links.len(), 90);
    let missing = back.health.checks.iter().find(|c| c.id == "missing_tables").unwrap();
    assert_eq!(missing.value, Some(4.0));
    assert!(missing.message.contains("rocpd_info_thread"));
    assert!(problems(&back).contains(&"undescribed"));
    let columns = back.health.checks.iter().find(|c| c.id == "missing_columns").unwrap();
    assert!(columns.message.ends_with(": rocpd_memory_copy.size"), "{}", columns.message);
}

#[test]
fn a_database_with_a_log_is_read_whole_and_left_alone() {
    let trace = example(1, 30);
    let made = made(&trace, &Options::default());
    let db = Connection::open(&made.path).unwrap();
    db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0").unwrap();
    let suffix = suffix_of(&db);
    db.execute_batch(&format!("UPDATE \"rocpd_region{suffix}\" SET \"end\" = \"end\" + 1000000")).unwrap();
    let wal = made.path.with_file_name("it's a run.db-wal");
    let before = (std::fs::read(&made.path).unwrap(), std::fs::read(&wal).unwrap());
    let back = read(&made.path);
    assert_eq!(back.regions.end.iter().sum::<i64>(), trace.regions.end.iter().sum::<i64>() + 60_000_000);
    assert_eq!((std::fs::read(&made.path).unwrap(), std::fs::read(&wal).unwrap()), before);
}

#[test]
fn what_is_no_rocpd_database_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    std::fs::write(&path, "").unwrap();
    assert!(matches!(read_unfinished(&path, &Needs::summary()), Err(Error::Empty { .. })));
    assert!(matches!(rocpd::probe(&path), Err(Error::Empty { .. })));
    std::fs::write(&path, "hello, this is text").unwrap();
    assert_eq!(rocpd::probe(&path).unwrap(), rocpd::Probe::NotSqlite);
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(rocpd::probe(&path), Err(Error::Unreadable { .. })));
    let says = |sql: &str| {
        let _ = std::fs::remove_file(&path);
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let error = read_unfinished(&path, &Needs::summary()).unwrap_err().to_string();
        (rocpd::probe(&path).unwrap(), error)
    };
    let (probe, error) = says("CREATE TABLE bookmarks (id INTEGER PRIMARY KEY, url TEXT)");
    assert_eq!(probe, rocpd::Probe::OtherDatabase);
    assert!(error.ends_with("it is a SQLite database without rocpd tables"), "{error}");
    let (probe, error) =
        says("CREATE TABLE rocpd_api (id INTEGER PRIMARY KEY); CREATE TABLE rocpd_op (id INTEGER)");
    assert_eq!(probe, rocpd::Probe::Rpd);
    assert!(error.contains("rocmProfileData"), "{error}");
    let (probe, _) = says("CREATE TABLE t (x); DROP TABLE t");
    assert_eq!(probe, rocpd::Probe::NoTables);
}

#[test]
fn damage_never_fails_and_loses_only_what_is_gone() {
    let trace = example(1, 1500);
    let made = made(&trace, &Options::default());
    let sound = std::fs::read(&made.path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.db");
    let mut seed = 7u64;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let (mut readable, mut kept) = (0, 0);
    for round in 0..60 {
        let mut bytes = sound.clone();
        if round < 30 {
            bytes.truncate(random(sound.len()));
        } else {
            for _ in 0..1 + random(40) {
                let at = random(bytes.len());
                bytes[at] ^= 1 << random(8);
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        match read_unfinished(&path, &Needs::everything()) {
            Ok(mut back) => {
                back.finish();
                readable += 1;
                kept += back.kernels.len();
                assert!(back.kernels.len() <= 1500 + 200 && back.regions.len() <= 3000 + 400);
                if round < 30 {
                    assert!(problems(&back).contains(&"truncated"), "{:?}", back.health);
                }
            }
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        }
    }
    assert!(readable >= 50 && kept > 30 * 1000, "{readable} readable, {kept} kernels");
}

/// This once lost all kernels with only a warning.
#[test]
fn a_database_cut_in_half_fails_its_health_and_names_what_each_table_lost() {
    let made = made(&example(1, 1500), &Options::default());
    let whole = read(&made.path);
    let bytes = std::fs::read(&made.path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("half.db");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let half = read(&path);
    let check = half.health.checks.iter().find(|check| check.id == "truncated").unwrap();
    assert_eq!(check.status, trace::Status::Fail);
    assert!(half.kernels.len() < whole.kernels.len() || half.regions.len() < whole.regions.len());
    for (table, left, all) in [
        ("rocpd_kernel_dispatch", half.kernels.len(), whole.kernels.len()),
        ("rocpd_region", half.regions.len(), whole.regions.len()),
    ] {
        let named = check.message.contains(&format!("{table} lost "));
        assert_eq!(named, left < all, "{table}: {left} of {all}: {}", check.message);
    }
    assert!(problems(&whole).is_empty(), "{:?}", whole.health);
}

#[test]
fn a_hot_journal_brings_back_what_was_there() {
    let trace = example(1, 400);
    let made = made(&trace, &Options::default());
    let db = Connection::open(&made.path).unwrap();
    let s = suffix_of(&db);
    db.execute_batch("PRAGMA cache_size = 5; BEGIN").unwrap();
    db.execute_batch(&format!(
        "UPDATE \"rocpd_region{s}\" SET start = 0; UPDATE \"rocpd_event{s}\" SET stack_id = 0"
    ))
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.db");
    std::fs::copy(&made.path, &copy).unwrap();
    std::fs::copy(made.path.with_file_name("it's a run.db-journal"), folder.path().join("copy.db-journal"))
        .unwrap();
    let back = read(&copy);
    assert_equal(&said(&back), &said(&trace));
    assert_eq!(problems(&back), ["journal"]);
}

#[test]
fn rows_of_a_lost_track_stay_and_are_counted() {
    let trace = example(1, 20);
    let made = made_four(&trace, FourVersion::V4_1);
    let db = Connection::open(&made.path).unwrap();
    let suffix = suffix_of(&db);
    db.execute_batch(&format!(
        "PRAGMA foreign_keys = OFF; UPDATE \"rocpd_region{suffix}\" SET track_id = 4711 WHERE id <= 7"
    ))
    .unwrap();
    drop(db);
    let back = read(&made.path);
    assert_eq!(back.regions.len(), trace.regions.len());
    assert_eq!(back.regions.thread.iter().filter(|thread| !thread.is_some()).count(), 7);
    let check = back.health.problems().find(|check| check.id == "lost_tracks").unwrap();
    assert_eq!(check.value, Some(7.0));
}

#[test]
fn times_near_the_ends_of_64_bits_ended_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.db");
    let trace = example(1, 6);
    write(&trace, &path, &Options::default()).unwrap();
    let database = Connection::open(&path).unwrap();
    let table = |base: &str| -> String {
        let sql = format!("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE '{base}%'");
        database.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    for (base, start, end) in [("rocpd_kernel_dispatch", 0, i64::MAX), ("rocpd_region", i64::MIN, i64::MAX)] {
        let table = table(base);
        let sql = format!(
            "UPDATE {table} SET start = ?1, \"end\" = ?2 WHERE id <= (SELECT min(id) + 1 FROM {table})"
        );
        assert_eq!(database.execute(&sql, [start, end]).unwrap(), 2);
    }
    drop(database);
    let read = read(&path);
    assert_eq!(read.kernels.len() + 2, trace.kernels.len());
    assert_eq!(read.regions.len() + 2, trace.regions.len());
    let lost = read.health.checks.iter().find(|check| check.id == "lost_rows").unwrap();
    assert_eq!(lost.message, "4 rows have no usable time and were left out");
}
