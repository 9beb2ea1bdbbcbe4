//! Joins of virtual tables are look-ups, counted in steps of SQLite's machine rather than in seconds.

use crate::common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::{database, number};
use rocm_perf_query::Session;
use trace::{Kernel, Process, Region, Source, Trace};

const ROWS: i64 = 200_000;

fn big() -> Session {
    let mut trace = Trace::default();
    let source = trace.add_source(Source::named("big", "test"));
    let guid = trace.strings.intern("big");
    let process = trace.add_process(Process { guid, ..Process::new(source, 1) });
    let names: Vec<_> = (0..50).map(|i| trace.strings.intern(&format!("k{i}"))).collect();
    for i in 0..ROWS {
        let (name, start) = (names[i as usize % 50], 10 * i);
        trace.regions.push(Region {
            name,
            start,
            end: start + 5,
            process,
            correlation: i + 1,
            ..Default::default()
        });
        trace.kernels.push(Kernel {
            name,
            start: start + 3,
            end: start + 9,
            process,
            correlation: ROWS - i,
            ..Default::default()
        });
    }
    trace.finish();
    Session::of_trace(trace).unwrap()
}

#[test]
fn joins_of_many_rows_take_few_steps() {
    let mut session = big();
    let mut per_row = |sql: &str, expected: i64| {
        let steps = Arc::new(AtomicU64::new(0));
        let counted = steps.clone();
        // A nested loop of 200,000 × 200,000 would never end: it is stopped early, and the test fails.
        let stop = move || counted.fetch_add(1_000, Ordering::Relaxed) > 100 * ROWS as u64;
        session.watch(1_000, stop).unwrap();
        assert_eq!(number(&session, sql), expected, "{sql}");
        steps.load(Ordering::Relaxed) / ROWS as u64
    };
    for (sql, expected) in [
        (
            "SELECT count(*) FROM kernels K JOIN regions R ON R.guid = K.guid AND R.stack_id = K.stack_id",
            ROWS,
        ),
        (
            "SELECT count(*) FROM kernels K JOIN regions R ON R.stack_id = K.stack_id WHERE K.name <> R.name",
            ROWS,
        ),
        (
            "SELECT count(*) FROM rocpd_region R JOIN rocpd_event E ON E.id = R.event_id AND E.guid = R.guid",
            ROWS,
        ),
        ("SELECT count(*) FROM rocpd_event E JOIN rocpd_kernel_dispatch K ON K.event_id = E.id", ROWS),
        ("SELECT count(*) FROM regions R JOIN rocpd_string S ON S.string = R.name", ROWS),
        ("SELECT count(*) FROM kernels K LEFT JOIN regions R ON R.start = K.start - 3", ROWS),
        (
            "SELECT count(*) FROM kernels K WHERE EXISTS (SELECT 1 FROM regions R WHERE R.stack_id = K.stack_id)",
            ROWS,
        ),
    ] {
        let steps = per_row(sql, expected);
        assert!(steps < 60, "{steps} steps a row: {sql}");
    }
}

#[test]
fn time_ranges_and_order_are_read_straight() {
    let session = big();
    let plan = |sql: &str| -> String {
        common::rows(&session, &format!("EXPLAIN QUERY PLAN {sql}"))
            .iter()
            .map(|row| format!("{:?}\n", row[3]))
            .collect()
    };
    let ordered = "SELECT start FROM kernels WHERE start >= 1000 AND start < 2000 ORDER BY start DESC";
    assert!(!plan(ordered).contains("TEMP B-TREE"), "{}", plan(ordered));
    let rows = common::rows(&session, ordered);
    assert_eq!(rows.len(), 100);
    assert!(rows.windows(2).all(|w| w[0][0] != w[1][0]));
    assert_eq!(rows[0][0], rocm_perf_query::Value::Integer(1993));
    assert!(plan("SELECT name FROM kernels ORDER BY name").contains("TEMP B-TREE"));
    assert!(!plan("SELECT start FROM regions ORDER BY start, \"end\" LIMIT 5").contains("TEMP B-TREE"));
}

/// All rows of a database share their guid: an index on it is a nested loop in disguise.
#[test]
fn databases_are_joined_by_the_correlation_id_not_by_the_guid() {
    let folder = tempfile::tempdir().unwrap();
    let session = Session::open(&[database(folder.path(), 0)], &Default::default()).unwrap();
    for sql in [
        "SELECT * FROM kernels K JOIN regions R ON R.guid = K.guid AND R.stack_id = K.stack_id",
        "SELECT * FROM regions R JOIN memory_copies C USING (guid, stack_id)",
        "SELECT * FROM rocpd_event E JOIN rocpd_kernel_dispatch K ON K.guid = E.guid AND K.event_id = E.id",
    ] {
        for row in common::rows(&session, &format!("EXPLAIN QUERY PLAN {sql}")) {
            let step = format!("{:?}", row[3]);
            assert!(!step.contains("(guid=?)"), "{sql}: {step}");
        }
    }
}
