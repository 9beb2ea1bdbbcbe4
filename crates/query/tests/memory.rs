//! Checks `memory_blocks`, `memory_events` and `collectives` against sums over the inputs.

use crate::common;

use common::{database, number, rows};
use rocm_perf_query::{Session, Value};

fn session(path: std::path::PathBuf) -> Session {
    Session::open(&[path], &Default::default()).unwrap()
}

/// The numbers come from Python's pickle and plain loops.
#[test]
fn a_snapshot_is_queried_with_lifetimes_and_owners() {
    let Some(path) = testing::data("formats/memory_snapshot.pickle.gz") else { return };
    let session = session(path);
    assert_eq!(number(&session, "SELECT count(*) FROM memory_events WHERE action = 'alloc'"), 312);
    assert_eq!(number(&session, "SELECT sum(size) FROM memory_blocks WHERE \"end\" IS NULL"), 672_217_088);
    assert_eq!(number(&session, "SELECT sum(size) FROM memory_blocks WHERE start IS NULL"), 603_979_776);
    assert_eq!(number(&session, "SELECT sum(size) FROM memory_segments"), 2_071_986_176);
    // Bytes held at the moment of the peak, from lifetimes alone.
    let held = "SELECT sum(size) FROM memory_blocks
                WHERE coalesce(start, 0) <= 1794751327478720000 AND coalesce(\"end\", 1 << 62) > 1794751327478720000";
    assert_eq!(number(&session, held), 867_422_232);
    let kept =
        "SELECT count(*), sum(size) FROM memory_blocks WHERE line LIKE 'patho.py:103%' AND \"end\" IS NULL";
    assert_eq!(rows(&session, kept), [[Value::Integer(5), Value::Integer(20_971_520)]]);
}

/// At the prompt the statements are not known when databases are opened.
#[test]
fn memory_of_a_database_is_queried_beside_its_own_tables() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [database(folder.path(), 0), database(folder.path(), 1)];
    let session = Session::open(&paths, &Default::default()).unwrap();
    let own = "SELECT count(*) FROM rocpd_memory_allocate";
    assert!(number(&session, own) > 0);
    assert_eq!(number(&session, "SELECT count(*) FROM memory_events"), number(&session, own));
    let joined = "SELECT count(*) FROM memory_events e
                  JOIN rocpd_memory_allocate a ON a.guid = e.guid AND a.start = e.timestamp AND coalesce(a.size, 0) = coalesce(e.size, 0)";
    assert_eq!(number(&session, joined), number(&session, own));
    let allocated = "SELECT sum(size) FROM rocpd_memory_allocate WHERE type = 'ALLOC' AND level <> 'VIRTUAL'";
    assert_eq!(number(&session, "SELECT sum(size) FROM memory_blocks"), number(&session, allocated));
}

const LINES: &str = r#"{"header": {"id": "0x1", "rank": 0, "n_ranks": 2}, "metadata": {"hostname": "a", "pid": 7}, "coll_perf": {"coll": "AllReduce", "coll_sn": 0, "coll_msg_size_bytes": 100, "coll_exec_time_us": 3}}
{"header": {"id": "0x1", "rank": 0, "n_ranks": 2}, "metadata": {"hostname": "a", "pid": 7}, "coll_perf": {"coll": "AllReduce", "coll_sn": 1, "coll_msg_size_bytes": 200, "coll_exec_time_us": 5}}
"#;

#[test]
fn collectives_have_their_communicator_number_size_and_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a-pid7.jsonl");
    std::fs::write(&path, LINES).unwrap();
    let sql = "SELECT comm, comm_size, rank, max(sequence), sum(size), sum(duration), max(start) FROM collectives GROUP BY 1";
    let expected = [
        Value::Text("0x1".into()),
        Value::Integer(2),
        Value::Integer(0),
        Value::Integer(1),
        Value::Integer(300),
        Value::Integer(8000),
        Value::Null,
    ];
    assert_eq!(rows(&session(path), sql), [expected]);
}
