//! The reader against SQLite itself: the same rows from the same file, whatever its shape.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::*;

/// Rows as text, from SQLite.
fn by_sqlite(connection: &Connection, table: &str) -> Vec<Vec<String>> {
    let mut statement = connection.prepare(&format!("SELECT * FROM {table} ORDER BY rowid")).unwrap();
    let columns = statement.column_count();
    statement
        .query_map([], |row| {
            let values = (0..columns).map(|c| match row.get_ref(c).unwrap() {
                ValueRef::Null => "null".into(),
                ValueRef::Integer(i) => format!("i{i}"),
                ValueRef::Real(f) => format!("r{f:?}"),
                ValueRef::Text(t) => format!("t{}", String::from_utf8_lossy(t)),
                ValueRef::Blob(b) => format!("b{b:?}"),
            });
            Ok(values.collect())
        })
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

/// Rows as text, from us.
fn by_pages(path: &Path, table: &str) -> Vec<Vec<String>> {
    let database = Database::open(path).unwrap();
    let table = database.table(table).unwrap();
    let columns: Vec<Col> = table.columns.iter().map(|c| c.place).collect();
    let real = table.column("d");
    let mut rows = Vec::new();
    let scanned = database.scan(
        table,
        &columns,
        Vec::new,
        |out: &mut Vec<Vec<String>>, row| {
            let values = columns.iter().map(|&col| match row.value(col) {
                // Whole numbers of a REAL column are stored as integers.
                Value::Int(_) if col == real => format!("r{:?}", row.real(col).unwrap()),
                Value::Null => "null".into(),
                Value::Int(i) => format!("i{i}"),
                Value::Real(f) => format!("r{f:?}"),
                Value::Text(_) => format!("t{}", row.text(col).unwrap()),
                Value::Blob(b) => format!("b{b:?}"),
            });
            out.push(values.collect());
        },
        |out| rows.extend(out),
    );
    assert_eq!(scanned, Scanned { rows: rows.len() as u64, damaged: 0 });
    rows
}

fn assert_same(path: &Path, connection: &Connection, table: &str) {
    assert!(by_pages(path, table) == by_sqlite(connection, table), "{table} differs");
}

/// A table with every kind of value, short and long rows, and holes.
fn fill(connection: &Connection, rows: i64) {
    connection
        .execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b TEXT, c BLOB, d REAL); BEGIN")
        .unwrap();
    let mut insert = connection.prepare("INSERT INTO t VALUES (?1, ?2, ?3, ?4, ?5)").unwrap();
    for i in 0..rows {
        let number = match i % 7 {
            0 => 0,
            1 => 1,
            _ => (i - 3).wrapping_mul(1i64.wrapping_shl((i % 63) as u32)),
        };
        let length = if i % 97 == 0 { (i * 37 % 9000) as usize } else { (i % 120) as usize };
        let text = "é日x".chars().cycle().skip((i % 3) as usize).take(length).collect::<String>();
        let blob = vec![i as u8; length / 3];
        insert.execute((i * 3 - 50, number, text, blob, i as f64 / 7.0)).unwrap();
    }
    connection
        .execute_batch("DELETE FROM t WHERE id % 5 = 0; UPDATE t SET b = NULL WHERE id % 11 = 0; COMMIT")
        .unwrap();
}

#[test]
fn all_page_sizes_and_encodings_read_alike() {
    for encoding in ["UTF-8", "UTF-16le", "UTF-16be"] {
        for size in [512, 1024, 4096, 65536] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t.db");
            let connection = Connection::open(&path).unwrap();
            connection
                .execute_batch(&format!(
                    "PRAGMA page_size = {size}; PRAGMA encoding = '{encoding}'; PRAGMA synchronous = OFF"
                ))
                .unwrap();
            fill(&connection, 3000);
            assert_same(&path, &connection, "t");
        }
    }
}

#[test]
fn deep_trees_read_alike() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA page_size = 512; PRAGMA synchronous = OFF").unwrap();
    fill(&connection, 40_000);
    assert_same(&path, &connection, "t");
}

#[test]
fn columns_added_later_have_their_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let connection = Connection::open(&path).unwrap();
    fill(&connection, 200);
    connection
        .execute_batch(
            "ALTER TABLE t ADD COLUMN e INT NOT NULL DEFAULT 7;
             ALTER TABLE t ADD COLUMN f TEXT DEFAULT 'it''s';
             ALTER TABLE t ADD COLUMN g;
             INSERT INTO t (id, e, f) VALUES (99999, 1, 'new');
             CREATE TABLE computed (a INT, b AS (a + 1), c INT);
             INSERT INTO computed (a, c) VALUES (1, 3)",
        )
        .unwrap();
    assert_same(&path, &connection, "t");
    let database = Database::open(&path).unwrap();
    let table = database.table("computed").unwrap();
    let c = table.column("c");
    let mut found = Vec::new();
    database.scan(
        table,
        &[c],
        Vec::new,
        |out: &mut Vec<_>, row| out.push(row.int(c)),
        |out| found.extend(out),
    );
    assert_eq!(found, [Some(3)]);
}

#[test]
fn a_log_with_committed_rows_is_read_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0").unwrap();
    fill(&connection, 1000);
    connection.execute_batch("DELETE FROM t WHERE id > 2000; BEGIN; DELETE FROM t").unwrap();
    // The open transaction is not committed, so others do not see its changes.
    let reader = Connection::open(&path).unwrap();
    let before = std::fs::read(folder.path().join("t.db-wal")).unwrap();
    assert!(before.len() > 4096);
    assert_same(&path, &reader, "t");
    assert_eq!(Database::open(&path).unwrap().companion(), Some("-wal"));
    assert_eq!(std::fs::read(folder.path().join("t.db-wal")).unwrap(), before);
}

#[test]
fn a_hot_journal_is_rolled_back_in_memory_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let connection = Connection::open(&path).unwrap();
    fill(&connection, 3000);
    let expected = by_sqlite(&connection, "t");
    connection
        .execute_batch(
            "PRAGMA cache_size = 5; BEGIN; UPDATE t SET a = 'overwritten', b = 'gone'; DELETE FROM t WHERE id < 4000",
        )
        .unwrap();
    // The process dies here: the file is half changed, the journal holds the old pages.
    let copy = folder.path().join("copy.db");
    std::fs::copy(&path, &copy).unwrap();
    let journal = folder.path().join("copy.db-journal");
    std::fs::copy(folder.path().join("t.db-journal"), &journal).unwrap();
    let changed = std::fs::read(&copy).unwrap();
    assert!(std::fs::metadata(&journal).unwrap().len() > 4096);
    assert!(by_pages(&copy, "t") == expected);
    assert_eq!(Database::open(&copy).unwrap().companion(), Some("-journal"));
    assert_eq!(std::fs::read(&copy).unwrap(), changed);
    assert!(journal.exists());
    std::fs::remove_file(&journal).unwrap();
    let database = Database::open(&copy).unwrap();
    let table = database.table("t").unwrap();
    let mut overwritten = 0;
    let a = table.column("a");
    database.scan(
        table,
        &[a],
        || 0,
        |n, row| *n += i32::from(row.text(a).as_deref() == Some("overwritten")),
        |n| overwritten += n,
    );
    assert!(overwritten > 0, "the file really was half changed");
}

#[test]
fn tables_without_rowids_are_known_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("CREATE TABLE t (a TEXT PRIMARY KEY) WITHOUT ROWID; CREATE VIEW v AS SELECT 1; CREATE TABLE u (x)")
        .unwrap();
    let database = Database::open(&path).unwrap();
    assert!(!database.table("t").unwrap().has_rows);
    assert!(database.table("u").unwrap().has_rows);
    assert_eq!(database.views, ["v"]);
}

#[test]
fn numbers_beyond_64_bits_and_numbers_as_text_are_understood() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (a); INSERT INTO t VALUES (18446744073709551615.0), (9223372036854775808), \
             ('0xffffffffffffffff'), ('18446744073709551615'), (' 12 '), (-1.5e3), ('word'), (NULL), (1e300)",
        )
        .unwrap();
    let database = Database::open(&path).unwrap();
    let table = database.table("t").unwrap();
    let a = table.column("A");
    let mut found = Vec::new();
    database.scan(
        table,
        &[a],
        Vec::new,
        |out: &mut Vec<_>, row| out.push(row.int(a)),
        |out| found.extend(out),
    );
    let big = 9_223_372_036_854_775_807;
    assert_eq!(
        found,
        [Some(-1), Some(i64::MIN), Some(-1), Some(-1), Some(12), Some(-1500), None, None, Some(big)]
    );
}

#[test]
fn damage_is_counted_and_never_fatal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA page_size = 1024; PRAGMA synchronous = OFF").unwrap();
    fill(&connection, 4000);
    drop(connection);
    let sound = std::fs::read(&path).unwrap();
    let rows = by_pages(&path, "t").len() as u64;
    let mut seed = 12345u64;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let mut readable = 0;
    for round in 0..400 {
        let mut bytes = sound.clone();
        if round % 4 == 0 {
            bytes.truncate(random(sound.len()));
        } else {
            for _ in 0..1 + random(60) {
                let at = random(bytes.len());
                bytes[at] = random(256) as u8;
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        let Ok(database) = Database::open(&path) else { continue };
        let Some(table) = database.table("t") else { continue };
        let wanted: Vec<Col> = table.columns.iter().map(|c| c.place).collect();
        let each = |n: &mut u64, row: &Row<'_>| {
            for &col in &wanted {
                let _ = (row.int(col), row.text(col), row.real(col));
            }
            *n += 1;
        };
        let mut count = 0;
        let scanned = database.scan(table, &wanted, || 0, each, |n| count += n);
        assert!(count <= 2 * rows && scanned.rows == count);
        if count < rows {
            assert!(scanned.damaged > 0 || database.missing_pages() > 0 || round % 4 != 0);
        }
        readable += u64::from(count > 0);
    }
    assert!(readable > 250, "most damage leaves most rows: {readable} of 400");
}
