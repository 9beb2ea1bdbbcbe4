//! Every table and view on one database, on two, on more than SQLite attaches, and on a trace.

use crate::common;

use common::{KERNELS, REGIONS, database, nth, number, rows, together, write};
use convert::rocpd::views;
use rocm_perf_query::{Session, Value};

/// Rows of each view for one recording of `common`, counted by hand.
const ROWS: &[(&str, usize)] = &[
    ("code_objects", 1),
    ("kernel_symbols", 3),
    ("processes", 1),
    ("threads", 1),
    ("pmc_info", 2),
    ("regions", REGIONS),
    ("region_args", 2),
    ("samples", 6),
    ("sample_regions", 6),
    ("regions_and_samples", REGIONS + 6),
    ("markers", REGIONS / 4 + 5),
    ("events_args", 3),
    ("stream_args", 0),
    ("kernels", KERNELS),
    ("pmc_events", 2 * KERNELS),
    ("counters_collection", KERNELS),
    ("memory_copies", 4),
    ("memory_allocations", 3),
    ("scratch_memory", 1),
    ("graph_launches", 0),
    ("hip_events", 1),
    ("spm_counters", 0),
];

/// Rows of the totals, whatever the number of recordings (agents are counted for each).
const TOTALS: &[(&str, usize)] = &[
    ("top_kernels", 3),
    ("top", 3 + 1 + 2),
    ("kernel_summary", 3),
    ("kernel_summary_region", 1),
    ("memory_copy_summary", 1),
    ("memory_allocation_summary", 2),
];

fn check_counts(session: &Session, recordings: usize) {
    for (view, count) in ROWS {
        assert_eq!(
            number(session, &format!("SELECT count(*) FROM {view}")),
            (count * recordings) as i64,
            "{view}"
        );
        // Many files make this slow, and show nothing new.
        if recordings <= 3 {
            assert_eq!(rows(session, &format!("SELECT * FROM {view}")).len(), count * recordings, "{view}");
        }
    }
    for (view, count) in TOTALS {
        assert_eq!(rows(session, &format!("SELECT * FROM {view}")).len(), *count, "{view}");
    }
    assert_eq!(rows(session, "SELECT * FROM busy").len(), recordings);
    assert_eq!(ROWS.len() + TOTALS.len() + 1, views::known().len());
    let calls = number(session, "SELECT sum(total_calls) FROM top_kernels");
    assert_eq!(calls, (KERNELS * recordings) as i64);
    let percent = rows(session, "SELECT round(sum(percentage), 6) FROM top");
    assert_eq!(percent, [[Value::Real(100.0)]]);
    let joined =
        "SELECT count(*) FROM kernels K JOIN regions R ON R.guid = K.guid AND R.stack_id = K.stack_id";
    assert_eq!(number(session, joined), (KERNELS * recordings) as i64);
    let by_id = "SELECT count(*) FROM rocpd_region R
                 JOIN rocpd_event E ON E.id = R.event_id AND E.guid = R.guid
                 JOIN rocpd_string S ON S.id = R.name_id AND S.guid = R.guid
                 WHERE S.string = 'hipLaunchKernel'";
    assert_eq!(number(session, by_id), (REGIONS * 3 / 4 * recordings) as i64);
}

#[test]
fn one_database() {
    let folder = tempfile::tempdir().unwrap();
    let session = Session::open(&[database(folder.path(), 0)], &Default::default()).unwrap();
    check_counts(&session, 1);
    assert!(session.health().problems().next().is_none());
}

#[test]
fn two_databases_with_equal_pids_and_tids_on_two_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [database(folder.path(), 0), database(folder.path(), 1)];
    let session = Session::open(&paths, &Default::default()).unwrap();
    check_counts(&session, 2);
    assert_eq!(number(&session, "SELECT count(DISTINCT hostname) FROM threads"), 2);
}

#[test]
fn one_database_of_two_recordings() {
    let folder = tempfile::tempdir().unwrap();
    let merged = write(&together([nth(0), nth(1)]), folder.path(), "merged.db");
    let session = Session::open(&[merged], &Default::default()).unwrap();
    check_counts(&session, 2);
}

#[test]
fn two_hundred_databases() {
    let folder = tempfile::tempdir().unwrap();
    let options = convert::rocpd::Options { views: false, ..Default::default() };
    let paths: Vec<_> = (0..200).map(|n| folder.path().join(format!("{n}_results.db"))).collect();
    for (n, path) in (0..).zip(&paths) {
        convert::rocpd::write(&together([nth(n)]), path, &options).unwrap();
    }
    let session = Session::open(&paths, &Default::default()).unwrap();
    check_counts(&session, 200);
    let one = "SELECT count(*) FROM kernels WHERE guid = '00000137-8903-7903-b269-cd8d3745bb8a' AND start >= 138000000";
    assert_eq!(number(&session, one), KERNELS as i64);
    let names = rows(&session, "SELECT DISTINCT hostname FROM processes ORDER BY 1");
    assert_eq!(names.len(), 2);
}

#[test]
fn a_trace() {
    for recordings in [1, 3] {
        let session = Session::of_trace(together((0..recordings).map(nth))).unwrap();
        check_counts(&session, recordings as usize);
    }
}

#[test]
fn dispatches_with_nulls_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blank.db");
    let options = convert::rocpd::Options { blank_every: 3, ..Default::default() };
    convert::rocpd::write(&together([nth(0)]), &path, &options).unwrap();
    let session = Session::open(&[path], &Default::default()).unwrap();
    assert_eq!(number(&session, "SELECT count(*) FROM rocpd_kernel_dispatch WHERE event_id IS NULL"), 4);
    assert_eq!(number(&session, "SELECT count(*) FROM kernels"), KERNELS as i64);
    assert_eq!(number(&session, "SELECT count(*) FROM memory_copies"), 4);
}

/// A query returns the same on virtual tables as on the same data in a database, except for ids.
#[test]
fn virtual_tables_equal_databases() {
    let folder = tempfile::tempdir().unwrap();
    let recordings = || together([nth(0), nth(1)]);
    let database =
        Session::open(&[write(&recordings(), folder.path(), "both.db")], &Default::default()).unwrap();
    let trace = Session::of_trace(recordings()).unwrap();
    let hidden = ["id", "event_id", "pmc_id", "counter_id", "argument_id", "kernel_id", "code_object_id"];
    // The schema requires these columns, so the writer fills them even without a value.
    let made_up = [
        "parent_stack_id",
        "stack_id",
        "corr_id",
        "correlation_id",
        "description",
        "block",
        "expression",
        "alloc_flags",
        "uri",
        "code_object_size",
        "agent_abs_index",
        "kernel_symbol_size",
        "storage_type",
        "memory_base",
        "memory_size",
        "call_stack",
        "line_info",
        "extdata",
        "is_derived",
        "system_name",
        "system_release",
        "system_version",
    ];
    for view in views::known() {
        let columns: Vec<String> = trace
            .relations()
            .into_iter()
            .find(|r| r.name == view.name)
            .unwrap()
            .columns
            .into_iter()
            .map(|c| c.name)
            .filter(|c| !hidden.contains(&c.as_str()) && !made_up.contains(&c.as_str()))
            .map(|c| format!("\"{c}\""))
            .collect();
        let list = columns.join(", ");
        let sql = format!("SELECT {list} FROM {} ORDER BY {list}", view.name);
        assert_eq!(rows(&trace, &sql), rows(&database, &sql), "{}", view.name);
    }
    for sql in [
        "SELECT K.name, K.start, R.name, R.start FROM kernels K
         JOIN regions R ON R.guid = K.guid AND R.stack_id = K.stack_id ORDER BY K.guid, K.start",
        "SELECT K.start, S.display_name, A.name, A.type_index FROM rocpd_kernel_dispatch K
         JOIN rocpd_info_kernel_symbol S ON S.guid = K.guid AND S.id = K.kernel_id
         JOIN rocpd_info_agent A ON A.guid = K.guid AND A.id = K.agent_id ORDER BY K.start",
        "SELECT S.string, count(*), sum(R.\"end\" - R.start) FROM rocpd_region R
         JOIN rocpd_string S ON S.id = R.name_id AND S.guid = R.guid GROUP BY 1 ORDER BY 1",
        "SELECT I.name, sum(V.value) FROM rocpd_pmc_event V
         JOIN rocpd_info_pmc I ON I.id = V.pmc_id AND I.guid = V.guid GROUP BY 1 ORDER BY 1",
        "SELECT name, start FROM kernels WHERE start > 1002000 AND start <= 2003500.5 ORDER BY start DESC",
        "SELECT A.name, A.value, E.stack_id FROM rocpd_arg A
         JOIN rocpd_event E ON E.id = A.event_id AND E.guid = A.guid ORDER BY 1, 2, 3",
        "SELECT P.pid, N.hostname FROM rocpd_info_process P
         JOIN rocpd_info_node N ON N.id = P.nid AND N.guid = P.guid ORDER BY N.hostname",
        "SELECT count(*) FROM kernels WHERE name IN ('kernel_0', 'kernel_2') AND stack_id IN (1, 2, '3')",
        "SELECT K.start FROM kernels K LEFT JOIN regions R ON R.stack_id = K.stack_id + 1000 WHERE R.id IS NULL ORDER BY 1",
    ] {
        assert_eq!(rows(&trace, sql), rows(&database, sql), "{sql}");
    }
}
