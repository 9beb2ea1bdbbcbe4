//! rocpd databases of schema 4 say what those of schema 3 say.

use crate::rocpd_example::{GUIDS, assert_equal, example, made_four, problems, read, said, suffix_of};

use std::path::Path;

use convert::rocpd::four::FourVersion;
use rocm_perf_ingest::rocpd;
use rusqlite::Connection;

/// The number that a query on the file returns.
fn number(path: &Path, sql: &str) -> i64 {
    Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn schema_4_says_what_schema_3_says_of_the_same_run() {
    for version in [FourVersion::V4_0, FourVersion::V4_1] {
        for processes in [1, 2] {
            let trace = example(processes, 200);
            let made = made_four(&trace, version);
            let back = read(&made.path);
            assert_equal(&said(&back), &said(&trace));
            assert_eq!(problems(&back), [""; 0], "{version}");
            assert_eq!(rocpd::guids(&made.path).unwrap(), GUIDS[..processes]);
        }
    }
}

#[test]
fn schema_4_is_read_as_plain_sql_reads_it() {
    let trace = example(2, 300);
    for (version, start, end, joins) in [
        (FourVersion::V4_1, "R.start", "R.\"end\"", ""),
        (
            FourVersion::V4_0,
            "S.value",
            "E.value",
            " JOIN rocpd_timestamp S ON S.id = R.start_id AND S.guid = R.guid \
             JOIN rocpd_timestamp E ON E.id = R.end_id AND E.guid = R.guid",
        ),
    ] {
        let made = made_four(&trace, version);
        let back = read(&made.path);
        let tables = [
            ("rocpd_region", back.regions.len(), &back.regions.start, &back.regions.end),
            ("rocpd_kernel_dispatch", back.kernels.len(), &back.kernels.start, &back.kernels.end),
            (
                "rocpd_memory_copy",
                back.memory_copies.len(),
                &back.memory_copies.start,
                &back.memory_copies.end,
            ),
        ];
        for (table, rows, starts, ends) in tables {
            let from = format!("FROM {table} R{joins}");
            assert_eq!(
                number(&made.path, &format!("SELECT count(*) {from}")),
                rows as i64,
                "{version} {table}"
            );
            let total: i64 = starts.iter().zip(ends).map(|(start, end)| end - start).sum();
            assert_eq!(number(&made.path, &format!("SELECT sum({end} - {start}) {from}")), total);
            assert_eq!(
                number(&made.path, &format!("SELECT min({start}) {from}")),
                *starts.iter().min().unwrap()
            );
        }
        let per_stream = number(
            &made.path,
            "SELECT count(*) FROM rocpd_kernel_dispatch R JOIN rocpd_track T ON T.id = R.track_id AND T.guid = R.guid \
             WHERE T.stream_id = 1",
        );
        let streams = back.kernels.stream.iter().filter(|s| back.streams[s.get().unwrap()].id == 1).count();
        assert_eq!(streams as i64, per_stream);
        assert!(per_stream > 0);
    }
}

#[test]
fn a_later_schema_is_read_as_far_as_it_is_known_and_said_so() {
    let trace = example(1, 20);
    let made = made_four(&trace, FourVersion::V4_1);
    let suffix = suffix_of(&Connection::open(&made.path).unwrap());
    Connection::open(&made.path)
        .unwrap()
        .execute_batch(&format!(
            "UPDATE \"rocpd_metadata{suffix}\" SET value = '4.2.0' WHERE tag = 'schema_version';
             CREATE TABLE \"rocpd_blob_event{suffix}\" (id INTEGER PRIMARY KEY, data BLOB);
             ALTER TABLE \"rocpd_region{suffix}\" ADD COLUMN colour TEXT;"
        ))
        .unwrap();
    let back = read(&made.path);
    assert_equal(&said(&back), &said(&trace));
    let check = back.health.problems().find(|check| check.id == "schema").unwrap();
    assert!(
        check.message.contains("4.2.0") && check.message.ends_with("not read: rocpd_blob_event"),
        "{}",
        check.message
    );
}
