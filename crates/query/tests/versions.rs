//! Every table and view on databases of schema 4: the same rows as schema 3 for the same run.

use crate::common;

use std::path::{Path, PathBuf};

use common::{KERNELS, database, nth, number, rows, together};
use convert::rocpd::four::{self, FourVersion};
use convert::rocpd::views;
use rocm_perf_query::Session;

const VERSIONS: [FourVersion; 2] = [FourVersion::V4_0, FourVersion::V4_1];

/// The `n`th recording as a database of schema 4.
fn four(folder: &Path, n: i64, version: FourVersion) -> PathBuf {
    let path = folder.join(format!("{n}-{version}.db"));
    four::write(&together([nth(n)]), &path, version, &Default::default()).unwrap();
    path
}

fn open(paths: &[PathBuf]) -> Session {
    Session::open(paths, &Default::default()).unwrap()
}

/// All rows of every view. Call stacks are separate tables in schema 4.
fn all_rows(session: &Session) -> Vec<String> {
    let mut lines = Vec::new();
    for view in views::known() {
        let relation = session.relations().into_iter().find(|r| r.name == view.name).unwrap();
        let columns = relation.columns.into_iter().map(|c| c.name);
        let columns: Vec<String> = columns
            .filter(|c| !["call_stack", "line_info"].contains(&c.as_str()))
            .map(|c| format!("\"{c}\""))
            .collect();
        let list = columns.join(", ");
        let found = rows(session, &format!("SELECT {list} FROM {} ORDER BY {list}", view.name));
        lines.extend(found.into_iter().map(|row| format!("{} {row:?}", view.name)));
    }
    lines
}

fn assert_equal(left: &[String], right: &[String]) {
    if let Some((a, b)) = left.iter().zip(right).find(|(a, b)| a != b) {
        panic!("first difference:\n{a}\n{b}");
    }
    assert_eq!(left.len(), right.len());
}

#[test]
fn every_view_gives_what_it_gives_on_schema_3() {
    let folder = tempfile::tempdir().unwrap();
    let three = all_rows(&open(&[database(folder.path(), 0)]));
    assert!(three.len() > 100);
    for version in VERSIONS {
        assert_equal(&all_rows(&open(&[four(folder.path(), 0, version)])), &three);
    }
}

#[test]
fn databases_of_all_versions_are_queried_together() {
    let folder = tempfile::tempdir().unwrap();
    let three: Vec<PathBuf> = (0..3).map(|n| database(folder.path(), n)).collect();
    let mixed = [
        three[0].clone(),
        four(folder.path(), 1, FourVersion::V4_0),
        four(folder.path(), 2, FourVersion::V4_1),
    ];
    assert_equal(&all_rows(&open(&mixed)), &all_rows(&open(&three)));
}

#[test]
fn columns_of_schema_4_are_there_too() {
    let folder = tempfile::tempdir().unwrap();
    let session = open(&[four(folder.path(), 0, FourVersion::V4_1)]);
    let joined = "SELECT count(*) FROM rocpd_kernel_dispatch K
                  JOIN rocpd_track T ON T.id = K.track_id AND T.guid = K.guid
                  JOIN rocpd_event E ON E.id = K.event_id AND E.guid = K.guid
                  JOIN rocpd_info_category C ON C.id = E.category_id AND C.guid = E.guid
                  WHERE T.stream_id = K.stream_id AND C.name = 'KERNEL_DISPATCH'";
    assert_eq!(number(&session, joined), KERNELS as i64);
    assert_eq!(number(&session, "SELECT count(*) FROM rocpd_call_stack"), 0);
}

#[test]
fn more_databases_than_can_be_attached() {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..130)
        .map(|n| {
            if n % 13 == 0 {
                four(folder.path(), n, VERSIONS[n as usize % 2])
            } else {
                database(folder.path(), n)
            }
        })
        .collect();
    let session = open(&paths);
    for (sql, expected) in [
        ("SELECT count(*) FROM kernels WHERE category = 'KERNEL_DISPATCH'", 130 * KERNELS),
        (
            "SELECT count(*) FROM kernels K JOIN threads T ON T.guid = K.guid AND T.tid = K.tid WHERE K.duration > 0",
            130 * KERNELS,
        ),
        ("SELECT sum(total_calls) FROM top_kernels", 130 * KERNELS),
    ] {
        assert_eq!(number(&session, sql), expected as i64, "{sql}");
    }
}

#[test]
fn compressed_json_is_shown_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path(), 0);
    let db = rusqlite::Connection::open(&path).unwrap();
    let suffix: String =
        db.query_row("SELECT value FROM rocpd_metadata WHERE tag = 'uuid'", [], |row| row.get(0)).unwrap();
    let mut frame = vec![0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0];
    let text = br#"{"message":"packed"}"#;
    frame.extend((text.len() as u32 | 1 << 31).to_le_bytes());
    frame.extend(text);
    frame.extend([0; 4]);
    db.execute(&format!("UPDATE \"rocpd_event{suffix}\" SET extdata = ?1"), [frame]).unwrap();
    db.execute(
        &format!("INSERT INTO \"rocpd_metadata{suffix}\"(tag, value) VALUES ('compression', 'lz4-frame-v1')"),
        [],
    )
    .unwrap();
    drop(db);
    let session = open(&[path]);
    let sql = "SELECT count(*) FROM rocpd_event WHERE json_extract(extdata, '$.message') = 'packed'";
    assert!(number(&session, sql) > 0);
}
