//! rocpd databases read by SQLite itself: intact, consistent, and with every given row.

use rocm_perf_convert::rocpd::{BulkWriter, EventRow, Flavour, Options, RegionRow, SchemaVersion, write};
use rusqlite::Connection;
use trace::{
    Agent, AgentKind, Arg, Counter, CounterKind, Graph, Kernel, LaunchShape, MemoryAllocation, MemoryCopy,
    OptI64, Process, Queue, Region, RowRef, Sample, Source, Stream, Sync, Thread, Trace,
};

/// Two processes of two recordings with a bit of everything.
fn example() -> Trace {
    let mut t = Trace::default();
    for (guid, pid) in [("0000ddb5-8903-7903-b269-cd8d3745bb8a", 14), ("second recording", 14)] {
        let source = t.add_source(Source { rank: Some(3), ..Source::named("a.db", "rocpd") });
        t.add_metadata(source, "note", "kept");
        let guid = t.strings.intern(guid);
        let hostname = t.strings.intern("node1");
        let process =
            t.add_process(Process { guid, hostname, node: OptI64::some(99), ..Process::new(source, pid) });
        let thread = t.add_thread(Thread { process, tid: 15, ..Default::default() });
        let name = t.strings.intern("gfx942");
        let agent = t.add_agent(Agent {
            process,
            kind: AgentKind::Gpu,
            absolute_index: OptI64::some(4),
            name,
            compute_units: OptI64::some(304),
            ..Default::default()
        });
        let queue = t.add_queue(Queue { process, id: 7, ..Default::default() });
        let stream = t.add_stream(Stream { process, id: 0, ..Default::default() });
        let [call, marker, hip, marks, gemm, copy, alloc, real, key, watts] = [
            "hipLaunchKernel",
            "it's a \"step\"",
            "HIP_RUNTIME_API_EXT",
            "MARKER_CORE_RANGE_API",
            "gemm",
            "MEMORY_COPY_HOST_TO_DEVICE",
            "ALLOC",
            "REAL",
            "stream",
            "watts",
        ]
        .map(|s| t.strings.intern(s));
        for i in 0..50 {
            let (start, end) = (1000 + 100 * i, 1040 + 100 * i);
            let shape = t.shapes.intern(LaunchShape {
                grid: Some([64, 2, 1]),
                workgroup: Some([64, 1, 1]),
                vgpr: OptI64::some(32),
                ..Default::default()
            });
            let row = t.regions.len();
            t.regions.push(Region {
                name: call,
                category: hip,
                start,
                end,
                process,
                thread,
                correlation: i + 1,
                ..Default::default()
            });
            t.regions.push(Region {
                name: marker,
                category: marks,
                start,
                end,
                process,
                ..Default::default()
            });
            t.args.push(Arg { owner: RowRef::region(row), position: 0, ty: key, name: key, value: key });
            let kernel = t.kernels.len();
            t.kernels.push(Kernel {
                name: gemm,
                start: start + 20,
                end: end + 20,
                process,
                agent,
                queue,
                stream,
                correlation: i + 1,
                shape,
                graph: if i % 2 == 0 { Graph::Replayed } else { Graph::Direct },
                ..Default::default()
            });
            let counter =
                t.add_counter_kind(CounterKind { name: watts, process, agent, ..Default::default() });
            t.counters.push(Counter {
                kernel: RowRef::kernel(kernel),
                counter,
                value: 2.5,
                ..Default::default()
            });
            t.memory_copies.push(MemoryCopy {
                name: copy,
                start,
                end,
                process,
                dst: agent,
                ..Default::default()
            });
            t.memory_allocations.push(MemoryAllocation {
                kind: alloc,
                level: real,
                start,
                end,
                process,
                agent,
                ..Default::default()
            });
            t.samples.push(Sample {
                start,
                end: start,
                kind: watts,
                name: watts,
                value: 7.0,
                process,
                agent,
                ..Default::default()
            });
            t.syncs.push(Sync { kind: call, start, end, process, stream, ..Default::default() });
        }
    }
    t.finish();
    t
}

fn count(connection: &Connection, table: &str) -> i64 {
    connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |r| r.get(0)).unwrap()
}

fn assert_consistent(connection: &Connection) {
    let check: String = connection.query_row("PRAGMA integrity_check", [], |r| r.get(0)).unwrap();
    assert_eq!(check, "ok");
    let mut statement = connection.prepare("PRAGMA foreign_key_check").unwrap();
    let broken = statement.query_map([], |r| r.get::<_, String>(0)).unwrap().count();
    assert_eq!(broken, 0);
}

#[test]
fn every_revision_and_flavour_is_consistent() {
    let trace = example();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it's.db");
    for version in SchemaVersion::ALL {
        for flavour in [Flavour::Rocprofv3, Flavour::RocprofSys] {
            let options = Options { version: Some(version), flavour, ..Options::default() };
            let written = write(&trace, &path, &options).unwrap();
            let db = Connection::open(&path).unwrap();
            assert_consistent(&db);
            assert_eq!(count(&db, "rocpd_kernel_dispatch"), 100);
            assert_eq!(count(&db, "rocpd_region"), 200);
            assert_eq!(count(&db, "rocpd_memory_copy"), 100);
            assert_eq!(count(&db, "rocpd_memory_allocate"), 100);
            assert_eq!(count(&db, "rocpd_sample"), 100);
            assert_eq!(count(&db, "rocpd_pmc_event"), 200);
            assert_eq!(count(&db, "rocpd_arg"), 100);
            assert_eq!(count(&db, "rocpd_metadata WHERE tag = 'note'"), 2);
            let messages = "rocpd_event WHERE json_extract(extdata, '$.message') = 'it''s a \"step\"'";
            assert_eq!(count(&db, messages), 100);
            let says: String = db
                .query_row("SELECT value FROM rocpd_metadata WHERE tag = 'schema_version'", [], |r| r.get(0))
                .unwrap();
            assert_eq!(SchemaVersion::parse(&says), Some(version));
            for (view, rows) in [("kernels", 100), ("regions", 200), ("memory_copies", 100), ("samples", 100)]
            {
                assert_eq!(count(&db, view), rows, "{view}");
            }
            let mut views = db.prepare("SELECT name FROM sqlite_master WHERE type = 'view'").unwrap();
            for view in views.query_map([], |r| r.get::<_, String>(0)).unwrap() {
                count(&db, &view.unwrap());
            }
            let syncs = written.left_out.iter().any(|l| l.contains("syncs"));
            assert_eq!(syncs, version < SchemaVersion::V3_0_4);
            let rising: i64 = db
                .query_row("SELECT count(*) FROM sqlite_sequence WHERE name LIKE 'rocpd_region%'", [], |r| {
                    r.get(0)
                })
                .unwrap();
            assert_eq!(rising, 2);
        }
    }
}

#[test]
fn a_kernel_joins_its_call_and_nothing_else() {
    let trace = example();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let written = write(&trace, &path, &Options::default()).unwrap();
    assert_eq!(written.version, SchemaVersion::V3_0_4);
    let db = Connection::open(&path).unwrap();
    let joined: i64 = db
        .query_row(
            "SELECT count(*) FROM rocpd_kernel_dispatch k
             JOIN rocpd_event ke ON ke.id = k.event_id AND ke.guid = k.guid
             JOIN rocpd_event re ON re.stack_id = ke.stack_id AND re.guid = ke.guid AND re.id <> ke.id
             JOIN rocpd_region r ON r.event_id = re.id AND r.guid = re.guid",
            [],
            |r| r.get(0),
        )
        .unwrap();
    assert_eq!(joined, 100);
    let replayed: i64 =
        db.query_row("SELECT sum(graph_exec_id <> 0) FROM rocpd_kernel_dispatch", [], |r| r.get(0)).unwrap();
    assert_eq!(replayed, 50);
    let threads: i64 =
        db.query_row("SELECT count(tid) FROM rocpd_kernel_dispatch", [], |r| r.get(0)).unwrap();
    assert_eq!(threads, 100, "a kernel's thread is its launching call's");
}

#[test]
fn blanks_are_null() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    write(&example(), &path, &Options { blank_every: 4, ..Options::default() }).unwrap();
    let db = Connection::open(&path).unwrap();
    assert_consistent(&db);
    let blank = "rocpd_kernel_dispatch WHERE event_id IS NULL AND tid IS NULL AND region_name_id IS NULL";
    assert_eq!(count(&db, blank), 25);
}

#[test]
fn rows_of_two_tables_may_alternate_and_ids_go_on_after_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let options = Options { views: false, ..Options::default() };
    let mut db = BulkWriter::create(&path, &options, &["g".into()]).unwrap();
    db.insert(0, "rocpd_info_node", &[("id", 1.into()), ("hash", 1.into()), ("machine_id", "m".into())]);
    db.insert(0, "rocpd_info_process", &[("id", 2.into()), ("nid", 1.into()), ("pid", 2.into())]);
    let thread = [("id", 3.into()), ("nid", 1.into()), ("pid", 2.into()), ("tid", 3.into())];
    db.insert(0, "rocpd_info_thread", &thread);
    let long = format!("{{\"message\":\"{}\"}}", "m".repeat(20_000));
    for i in 0..5_000 {
        let extdata = (i % 1000 == 0).then_some(long.as_str());
        let event = EventRow { stack: Some(i), extdata, ..EventRow::default() };
        let event_id = Some(db.event(0, &event).unwrap());
        let row = RegionRow { nid: 1, pid: 2, tid: 3, start: i, end: -i, name: 1, event_id, extdata: None };
        db.region(0, &row).unwrap();
    }
    assert!(!path.exists(), "nothing is there before the end");
    assert_eq!(db.finish().unwrap().rows, 10_000);
    let db = Connection::open(&path).unwrap();
    assert_consistent(&db);
    let sums: (i64, i64, i64) = db
        .query_row("SELECT count(*), sum(start), sum(\"end\") FROM rocpd_region_g", [], |r| {
            Ok((r.get(0)?, r.get(1)?, r.get(2)?))
        })
        .unwrap();
    assert_eq!(sums, (5_000, 4_999 * 2_500, -4_999 * 2_500));
    let long_rows: i64 =
        db.query_row("SELECT count(*) FROM rocpd_event_g WHERE extdata = ?1", [&long], |r| r.get(0)).unwrap();
    assert_eq!(long_rows, 5);
    db.execute("INSERT INTO rocpd_event_g (stack_id) VALUES (1)", []).unwrap();
    assert_eq!(db.last_insert_rowid(), 5_001);
}

#[test]
fn an_empty_trace_is_a_valid_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let mut trace = Trace::default();
    trace.finish();
    write(&trace, &path, &Options::default()).unwrap();
    let db = Connection::open(&path).unwrap();
    assert_consistent(&db);
    assert_eq!(count(&db, "rocpd_region"), 0);
}

#[test]
fn torch_rows_without_ids_threads_or_processes_have_a_home() {
    let mut t = Trace::default();
    let source = t.add_source(Source::named("a.json", "torch"));
    let process = t.add_process(Process::new(source, 7));
    let [frames, ops, outer, inner, gemm] =
        ["python_function", "cpu_op", "serve.py(1): main", "serve.py(9): step", "gemm"]
            .map(|s| t.strings.intern(s));
    let frame = |name, start, end, id, parent| Region {
        name,
        category: frames,
        start,
        end,
        process,
        parent,
        external: OptI64::some(id),
        ..Default::default()
    };
    t.regions.push(frame(outer, 0, 100, 41, 0));
    t.regions.push(frame(inner, 10, 90, 42, 41));
    t.regions.push(Region {
        name: outer,
        category: ops,
        start: 20,
        end: 30,
        correlation: 5,
        ..Default::default()
    });
    t.kernels.push(Kernel { name: gemm, start: 40, end: 50, correlation: 5, ..Default::default() });
    t.kernels.push(Kernel { name: gemm, start: 50, end: 60, process, ..Default::default() });
    t.finish();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let written = write(&t, &path, &Options::default()).unwrap();
    assert_eq!(written.version, SchemaVersion::V3_0_0);
    let db = Connection::open(&path).unwrap();
    assert_consistent(&db);
    assert_eq!((count(&db, "kernels"), count(&db, "regions")), (2, 3));
    let parent: String = db
        .query_row(
            "SELECT p.name FROM regions c JOIN regions p ON p.guid = c.guid AND p.stack_id = c.parent_stack_id
             WHERE c.name LIKE '%step'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(parent, "serve.py(1): main");
    let stacks: i64 = db
        .query_row("SELECT count(DISTINCT stack_id || guid) FROM regions WHERE stack_id <> 0", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(stacks, 3, "no two regions share a made-up id");
    let guids = "(SELECT DISTINCT guid FROM rocpd_info_process)";
    assert_eq!(count(&db, guids), 2, "rows without a process belong to a recording of their own");
}
