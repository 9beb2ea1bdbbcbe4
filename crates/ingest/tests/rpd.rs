//! `.rpd` databases of rocmProfileData: the same rows as plain SQL, in all schemas, and what decides the unit
//! of grids.

use std::path::{Path, PathBuf};

use rocm_perf_ingest::{Format, Progress, detect, read};
use rusqlite::Connection;
use trace::{AgentKind, CopyKind, Needs, RowRef, Table, Trace};

/// Tables of schema 3, with a bit of everything.
const SCHEMA_3: &str = r#"
CREATE TABLE rocpd_metadata (id integer PRIMARY KEY, tag varchar, value varchar);
INSERT INTO rocpd_metadata(tag, value) VALUES ('pid_stride', '10000000'), ('gpu_stride', '1000'), ('schema_version', '3');
CREATE TABLE rocpd_string (id integer PRIMARY KEY, string varchar);
INSERT INTO rocpd_string VALUES (1, ''), (2, 'hipLaunchKernel'), (3, 'UserMarker'), (4, 'gemm'), (5, 'KernelExecution'),
    (6, 'CopyHostToDevice'), (7, 'hip'), (8, 'hipMemcpyAsync'), (9, 'FillBuffer'), (10, 'SQ_WAVES'), (11, 'hipGraphLaunch');
CREATE TABLE rocpd_ustring (id integer PRIMARY KEY, string varchar);
INSERT INTO rocpd_ustring VALUES (1, ''), (2, 'decode "step"'), (3, 'stream=0x10 | x'), (4, 'go');
CREATE TABLE rocpd_api (id integer PRIMARY KEY, pid integer, tid integer, start integer, "end" integer,
    apiName_id bigint, category_id bigint, domain_id bigint, args_id bigint);
INSERT INTO rocpd_api VALUES (100, 77, 78, 1000, 1010, 2, 1, 7, 3), (101, 77, 78, 900, 5000, 3, 1, 3, 2),
    (102, 77, 79, 1100, 1120, 8, 1, 7, 1), (103, 77, 78, 1500, 1500, 3, 1, 3, 4), (104, 10000077, 10000078, 2000, 2020, 11, 1, 7, 1);
CREATE TABLE rocpd_kernelapi (api_ptr_id bigint PRIMARY KEY, stream varchar(18), gridX integer, gridY integer, gridZ integer,
    workgroupX integer, workgroupY integer, workgroupZ integer, groupSegmentSize integer, privateSegmentSize integer, kernelName_id bigint);
INSERT INTO rocpd_kernelapi VALUES (100, '0x10', 7, 2, 1, 256, 1, 1, 1024, 16, 4);
CREATE TABLE rocpd_copyapi (api_ptr_id bigint PRIMARY KEY, stream varchar(18), size integer, width integer, height integer,
    kind integer, dst varchar(18), src varchar(18), dstDevice integer, srcDevice integer, sync bool, pinned bool);
INSERT INTO rocpd_copyapi VALUES (102, '(nil)', 4096, 0, 0, 1, '0x7f00', '0x1000', 2, 0, 0, 1);
CREATE TABLE rocpd_op (id integer PRIMARY KEY, gpuId integer, queueId integer, sequenceId integer, start integer, "end" integer,
    description_id bigint, opType_id bigint);
INSERT INTO rocpd_op VALUES (1, 2, 5, 0, 1020, 1060, 4, 5), (2, 2, 6, 0, 1130, 1190, 1, 6), (3, 2, 6, 0, 1200, 1205, 1, 9),
    (4, 1003, 5, 0, 2030, 2040, 4, 5), (5, 1003, 5, 0, 2040, 2070, 4, 5);
CREATE TABLE rocpd_api_ops (id integer PRIMARY KEY, api_id bigint, op_id bigint);
INSERT INTO rocpd_api_ops(api_id, op_id) VALUES (100, 1), (102, 2), (104, 4), (104, 5);
CREATE TABLE rocpd_monitor (id integer PRIMARY KEY, deviceType varchar(16), deviceId integer, monitorType varchar(16),
    start integer, "end" integer, value varchar(255));
INSERT INTO rocpd_monitor(deviceType, deviceId, monitorType, start, "end", value) VALUES ('gpu', 2, 'sclk', 1000, 2000, '2100');
CREATE TABLE rocpd_counter (id integer PRIMARY KEY, value real, op_id bigint, name_id bigint);
INSERT INTO rocpd_counter(value, op_id, name_id) VALUES (12.5, 1, 10);
"#;

struct Made {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn made(sql: &str) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.rpd");
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    Made { _folder: folder, path }
}

fn of(path: &Path) -> Trace {
    read(&[path.to_path_buf()], &Needs::everything(), &Progress::default()).unwrap()
}

fn number(path: &Path, sql: &str) -> i64 {
    Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn every_table_of_schema_3_is_read() {
    let made = made(SCHEMA_3);
    assert_eq!(detect(&made.path).unwrap(), Format::Rpd);
    let trace = of(&made.path);
    let text = |id| trace.strings.get(id);
    assert_eq!(
        trace.kernels.len() as i64,
        number(&made.path, "SELECT count(*) FROM rocpd_op WHERE opType_id = 5")
    );
    let busy: i64 = trace.kernels.rows().map(|k| k.end - k.start).sum();
    assert_eq!(busy, number(&made.path, "SELECT sum(\"end\" - start) FROM rocpd_op WHERE opType_id = 5"));
    let kernel = trace.kernels.get(0);
    assert_eq!((text(kernel.name), kernel.start, kernel.end), ("gemm", 1020, 1060));
    let shape = trace.shapes.get(kernel.shape);
    // Seven is not a multiple of 256: the grid counts workgroups.
    assert_eq!((shape.grid, shape.workgroup), (Some([7 * 256, 2, 1]), Some([256, 1, 1])));
    assert_eq!((shape.lds_bytes.get(), shape.scratch_bytes.get()), (Some(1024), Some(16)));
    let agent = &trace.agents[kernel.agent.get().unwrap()];
    assert_eq!((agent.kind, agent.type_index.get()), (AgentKind::Gpu, Some(2)));
    assert_eq!(trace.streams[kernel.stream.get().unwrap()].id, 0x10);
    assert_eq!(trace.queues[kernel.queue.get().unwrap()].id, 5);
    let launch = trace.links.launch_of(RowRef::kernel(0)).unwrap();
    assert_eq!((text(trace.regions.name[launch]), trace.regions.start[launch]), ("hipLaunchKernel", 1000));
    assert_eq!(text(trace.regions.category[launch]), "HIP_RUNTIME_API_EXT");
    let args = trace.strings.find("args").unwrap();
    assert_eq!(trace.args.value(RowRef::region(launch), args).map(text), Some("stream=0x10 | x"));
    // A marker's name is the user's text, and a mark without duration is a sample.
    let marker = trace.regions.rows().find(|r| text(r.name) == "decode \"step\"").unwrap();
    assert_eq!((marker.start, marker.end, text(marker.category)), (900, 5000, "MARKER_CORE_RANGE_API"));
    let mark = trace.samples.rows().find(|s| s.start == 1500).unwrap();
    assert_eq!((text(mark.location), text(mark.kind)), ("go", "MARKER_CORE_API"));
    let (copy, fill) = (trace.memory_copies.get(0), trace.memory_copies.get(1));
    assert_eq!(
        (copy.kind, copy.bytes.get(), copy.src_address.get()),
        (CopyKind::Copy, Some(4096), Some(0x1000))
    );
    assert!(trace.links.launch_of(RowRef::new(Table::MemoryCopies, 0)).is_some());
    assert_eq!((fill.kind, fill.start, fill.end), (CopyKind::Fill, 1200, 1205));
    let clock = trace.samples.rows().find(|s| !s.value.is_nan()).unwrap();
    assert_eq!((text(clock.name), text(clock.unit), clock.value), ("sclk", "MHz", 2100.0));
    assert_eq!((trace.counters.value[0], trace.counters.kernel[0]), (12.5, RowRef::kernel(0)));
    // Processes and GPUs of a second machine have different numbers.
    let other = &trace.processes[trace.kernels.process[1].get().unwrap()];
    assert_eq!((other.pid, other.node.get()), (77, Some(1)));
    assert_eq!(trace.agents[trace.kernels.agent[1].get().unwrap()].type_index.get(), Some(3));
    // One graph launch has two kernels.
    let launches: Vec<_> = (1..3).map(|row| trace.links.launch_of(RowRef::kernel(row))).collect();
    assert_eq!(launches[0], launches[1]);
    assert!(trace.health.problems().all(|check| ["clock", "overlaps", "causality"].contains(&check.id)));
}

#[test]
fn texts_of_schema_2_are_in_one_table() {
    let made = made(SCHEMA_3);
    let db = Connection::open(&made.path).unwrap();
    db.execute_batch(
        "INSERT INTO rocpd_string VALUES (50, 'prefill'); UPDATE rocpd_api SET args_id = 50 WHERE id = 101;
         DROP TABLE rocpd_ustring; DROP TABLE rocpd_counter; DROP TABLE rocpd_monitor; DROP TABLE rocpd_copyapi;",
    )
    .unwrap();
    drop(db);
    let trace = of(&made.path);
    assert!(trace.regions.rows().any(|r| trace.strings.get(r.name) == "prefill"));
    assert_eq!((trace.kernels.len(), trace.memory_copies.len(), trace.counters.len()), (3, 2, 0));
    assert_eq!(trace.memory_copies.bytes[0].get(), None);
}

#[test]
fn grids_of_unknown_unit_stay_out() {
    let grid = |sql: &str| {
        let made = made(SCHEMA_3);
        Connection::open(&made.path).unwrap().execute_batch(sql).unwrap();
        let trace = of(&made.path);
        trace.shapes.get(trace.kernels.shape[0]).grid
    };
    let plain =
        "UPDATE rocpd_kernelapi SET gridX = 512; UPDATE rocpd_string SET string = 'Copy' WHERE id = 6;";
    assert_eq!(grid(plain), None);
    let sdk = "UPDATE rocpd_kernelapi SET gridX = 512; UPDATE rocpd_string SET string = 'MEMORY_COPY_HOST_TO_DEVICE' WHERE id = 6;";
    assert_eq!(grid(sdk), Some([512, 2, 1]));
    // This call takes work-items, whatever the others take.
    let extended = "UPDATE rocpd_string SET string = 'hipExtModuleLaunchKernel' WHERE id = 2;";
    assert_eq!(grid(extended), Some([7, 2, 1]));
}

#[test]
fn a_file_cut_in_half_is_read_as_far_as_it_goes() {
    let made = made(SCHEMA_3);
    let db = Connection::open(&made.path).unwrap();
    db.execute_batch(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
         INSERT INTO rocpd_op SELECT 100 + i, 2, 5, 0, 10000 + 10 * i, 10005 + 10 * i, 4, 5 FROM n",
    )
    .unwrap();
    drop(db);
    let whole = std::fs::read(&made.path).unwrap();
    for share in [2, 3, 7] {
        std::fs::write(&made.path, &whole[..whole.len() / share]).unwrap();
        let trace = of(&made.path);
        assert!(trace.kernels.len() < 20_003);
        assert!(trace.health.problems().any(|check| check.id == "truncated"));
    }
}

#[test]
fn times_near_the_ends_of_64_bits_ended_the_program() {
    let spoil = "UPDATE rocpd_op SET start = 0, \"end\" = 9223372036854775807 WHERE id IN (1, 4);
        UPDATE rocpd_api SET start = -9223372036854775808 WHERE id = 100;";
    let made = made(&format!("{SCHEMA_3}{spoil}"));
    let trace = of(&made.path);
    assert_eq!(trace.kernels.rows().map(|k| (k.start, k.end)).collect::<Vec<_>>(), [(2040, 2070)]);
    let lost = trace.health.checks.iter().find(|check| check.id == "lost_rows").unwrap();
    assert_eq!(lost.message, "3 rows have no usable time and were left out");
}
