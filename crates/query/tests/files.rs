//! Databases as found in practice: odd paths, several revisions, the same one twice, damage.

use crate::common;

use std::path::{Path, PathBuf};

use common::{KERNELS, database, nth, number, rows, together};
use convert::rocpd::{Options, SchemaVersion};
use rocm_perf_query::{Session, Value};
use rusqlite::Connection;

fn open(paths: &[PathBuf]) -> Session {
    Session::open(paths, &Default::default()).unwrap()
}

fn suffix(db: &Connection) -> String {
    db.query_row("SELECT value FROM rocpd_metadata WHERE tag = 'uuid'", [], |row| row.get(0)).unwrap()
}

fn drop_views(db: &Connection) {
    let views: Vec<String> = db
        .prepare("SELECT name FROM sqlite_master WHERE type = 'view'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for view in views {
        db.execute_batch(&format!("DROP VIEW \"{view}\"")).unwrap();
    }
}

#[test]
fn quotes_and_other_odd_characters_in_a_path() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join("it's 100% \"odd\"?#; é");
    std::fs::create_dir(&odd).unwrap();
    assert_eq!(number(&open(&[database(&odd, 0)]), "SELECT count(*) FROM kernels"), KERNELS as i64);
}

#[test]
fn revisions_go_together_by_column_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (n, version) in (0..).zip(SchemaVersion::ALL) {
        let path = folder.path().join(format!("{version}.db"));
        let options = Options { version: Some(version), ..Options::default() };
        convert::rocpd::write(&together([nth(n)]), &path, &options).unwrap();
        paths.push(path);
    }
    let session = open(&paths);
    let all = SchemaVersion::ALL.len() as i64;
    assert_eq!(number(&session, "SELECT count(*) FROM kernels"), all * KERNELS as i64);
    assert_eq!(number(&session, "SELECT count(*) FROM counters_collection"), all * KERNELS as i64);
    let newer = "SELECT count(DISTINCT guid) FROM rocpd_kernel_dispatch WHERE graph_exec_id IS NOT NULL";
    assert_eq!(number(&session, newer), all - 2);
    let hosts =
        "SELECT count(*) FROM kernels K JOIN processes P ON P.guid = K.guid WHERE P.command = 'serve --fast'";
    assert_eq!(number(&session, hosts), all * KERNELS as i64);
}

#[test]
fn missing_tables_views_and_metadata_leave_the_rest_readable() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path(), 0);
    {
        let db = Connection::open(&path).unwrap();
        let suffix = suffix(&db);
        drop_views(&db);
        db.execute_batch(&format!(
            "PRAGMA foreign_keys = OFF; DROP TABLE \"rocpd_metadata{suffix}\"; DROP TABLE \"rocpd_memory_copy{suffix}\";
             DROP TABLE \"rocpd_info_queue{suffix}\"; CREATE TABLE \"rocpd_event_operation{suffix}\"(id INTEGER, kind TEXT);
             INSERT INTO \"rocpd_event_operation{suffix}\" VALUES (1, 'WAIT');"
        ))
        .unwrap();
    }
    let session = open(&[path]);
    assert_eq!(number(&session, "SELECT count(*) FROM kernels"), KERNELS as i64);
    assert_eq!(number(&session, "SELECT count(*) FROM memory_copies"), 0);
    assert_eq!(
        number(&session, "SELECT count(*) FROM rocpd_event"),
        number(&session, "SELECT max(id) FROM rocpd_event")
    );
    assert_eq!(rows(&session, "SELECT kind FROM rocpd_event_operation"), [[Value::Text("WAIT".into())]]);
    for view in convert::rocpd::views::known() {
        rows(&session, &format!("SELECT * FROM {}", view.name));
    }
}

#[test]
fn one_recording_given_twice_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path(), 0);
    let copy = folder.path().join("copy.db");
    std::fs::copy(&path, &copy).unwrap();
    let session = open(&[path.clone(), copy.clone()]);
    assert_eq!(number(&session, "SELECT count(*) FROM kernels"), KERNELS as i64);
    let message = |session: &Session| session.health().problems().next().unwrap().message.clone();
    assert!(message(&session).contains("the same recording"), "{}", message(&session));
    {
        let db = Connection::open(&copy).unwrap();
        let suffix = suffix(&db);
        db.execute_batch(&format!("DELETE FROM \"rocpd_kernel_dispatch{suffix}\" WHERE id > 3")).unwrap();
    }
    let session = open(&[path, copy]);
    assert!(message(&session).contains("different rows"), "{}", message(&session));
    assert_eq!(number(&session, "SELECT count(*) FROM kernels"), KERNELS as i64);
}

#[test]
fn rocprof_sys_flavour() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rocpd-14.db");
    let options = Options { flavour: convert::rocpd::Flavour::RocprofSys, ..Options::default() };
    convert::rocpd::write(&together([nth(0)]), &path, &options).unwrap();
    let session = open(&[path]);
    assert_eq!(number(&session, "SELECT count(*) FROM kernels WHERE tid = 14 AND pid = 14"), KERNELS as i64);
    assert_eq!(number(&session, "SELECT count(*) FROM samples WHERE name = 'power'"), 1);
}

/// An unfinished transaction leaves the write-ahead log next to the database.
#[test]
fn a_write_ahead_log_is_read_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path(), 0);
    let writer = Connection::open(&path).unwrap();
    let suffix = suffix(&writer);
    writer.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0").unwrap();
    writer.execute_batch(&format!("DELETE FROM \"rocpd_kernel_dispatch{suffix}\" WHERE id = 1")).unwrap();
    assert!(Path::new(&format!("{}-wal", path.display())).exists());
    assert_eq!(
        number(&open(std::slice::from_ref(&path)), "SELECT count(*) FROM kernels"),
        KERNELS as i64 - 1
    );
    drop(writer);
}

/// A killed writer leaves half a transaction in the file, and the journal to undo it.
#[test]
fn a_hot_journal_is_undone_in_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path(), 0);
    let left = folder.path().join("left");
    std::fs::create_dir(&left).unwrap();
    let writer = Connection::open(&path).unwrap();
    let suffix = suffix(&writer);
    let change = format!("UPDATE \"rocpd_event{suffix}\" SET extdata = printf('%.*c', 2000, 'x')");
    writer.execute_batch(&format!("PRAGMA cache_size = 1; BEGIN; {change}; {change}")).unwrap();
    for name in ["0_results.db", "0_results.db-journal"] {
        std::fs::copy(folder.path().join(name), left.join(name)).unwrap();
    }
    drop(writer);
    let left = left.join("0_results.db");
    let before = std::fs::read(&left).unwrap();
    assert!(before != std::fs::read(&path).unwrap(), "nothing was written yet");
    let session = Session::of_databases(vec![left.clone()]).unwrap();
    assert_eq!(number(&session, "SELECT count(*) FROM kernels"), KERNELS as i64);
    assert_eq!(number(&session, "SELECT count(*) FROM rocpd_event WHERE extdata LIKE 'xx%'"), 0);
    assert!(session.health().problems().any(|check| check.id == "journal"));
    drop(session);
    assert_eq!(std::fs::read(&left).unwrap(), before);
}

#[test]
fn what_is_no_rocpd_database_is_one_clear_line() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE t(x)").unwrap();
    let Err(error) = Session::of_databases(vec![other]) else { panic!("opened") };
    assert!(error.to_string().contains("without rocpd tables"), "{error}");
    let text = folder.path().join("text.db");
    std::fs::write(&text, "not a database at all, but longer than its header would be".repeat(20)).unwrap();
    let Err(error) = Session::of_databases(vec![text]) else { panic!("opened") };
    assert!(error.to_string().contains("not a SQLite database"), "{error}");
    let Err(error) = Session::of_databases(vec![folder.path().join("absent.db")]) else { panic!("opened") };
    assert!(error.to_string().starts_with("cannot open `"), "{error}");
}
