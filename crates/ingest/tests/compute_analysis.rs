//! Analysis databases of ROCm Compute Profiler: the same rows as plain SQL.

use rocm_perf_ingest::{Format, Progress, detect, read};
use rusqlite::Connection;
use trace::{Needs, Trace};

/// Tables as release 3.9 declares them: keys come after the columns.
const TABLES: &str = r#"
CREATE TABLE compute_metadata (id INTEGER NOT NULL, compute_version VARCHAR, git_version VARCHAR, schema_version VARCHAR, PRIMARY KEY (id));
CREATE TABLE compute_workload (workload_id INTEGER NOT NULL, name VARCHAR, sub_name VARCHAR, sys_info_extdata JSON,
    roofline_bench_extdata JSON, profiling_config_extdata JSON, PRIMARY KEY (workload_id));
CREATE TABLE compute_kernel (kernel_uuid INTEGER NOT NULL, workload_id INTEGER NOT NULL, kernel_name VARCHAR, PRIMARY KEY (kernel_uuid),
    UNIQUE (workload_id, kernel_name), FOREIGN KEY(workload_id) REFERENCES compute_workload (workload_id));
CREATE TABLE compute_dispatch (dispatch_uuid INTEGER NOT NULL, kernel_uuid INTEGER NOT NULL, dispatch_id INTEGER, gpu_id INTEGER,
    start_timestamp INTEGER, end_timestamp INTEGER, PRIMARY KEY (dispatch_uuid), UNIQUE (kernel_uuid, dispatch_id));
CREATE TABLE compute_metric_definition (metric_uuid INTEGER NOT NULL, workload_id INTEGER NOT NULL, name VARCHAR, metric_id VARCHAR,
    description TEXT, table_name VARCHAR, sub_table_name VARCHAR, unit VARCHAR, PRIMARY KEY (metric_uuid));
CREATE TABLE compute_kernel_metric_value (value_uuid INTEGER NOT NULL, metric_uuid INTEGER NOT NULL, kernel_uuid INTEGER NOT NULL,
    value_name VARCHAR, value FLOAT, PRIMARY KEY (value_uuid));
CREATE TABLE compute_workload_metric_value (value_uuid INTEGER NOT NULL, metric_uuid INTEGER NOT NULL, workload_id INTEGER NOT NULL,
    value_name VARCHAR, value FLOAT, PRIMARY KEY (value_uuid));
INSERT INTO compute_workload VALUES (1, 'app', 'MI300X', '{"gpu_arch": "gfx942", "gpu_model": "MI300X", "cu_per_gpu": 304, "hostname": null}', NULL, '{}');
INSERT INTO compute_kernel VALUES (1, 1, 'gemm'), (2, 1, 'copy');
INSERT INTO compute_dispatch VALUES (1, 1, 0, 0, 1000, 3000), (2, 2, 1, 0, 4000, 4500), (3, 1, 2, 1, 5000, 6000), (4, 9, 3, 0, 7000, 8000);
INSERT INTO compute_metric_definition VALUES (1, 1, 'VALU Util', '2.1.3', 'text', 'System Speed-of-Light', 'Speed-of-Light', 'Percent'),
    (2, 1, 'Wavefronts', '7.1.0', '', 'Wavefront', 'Wavefront Launch Stats', 'Wavefronts');
INSERT INTO compute_kernel_metric_value VALUES (1, 1, 1, 'Avg', 61.5), (2, 1, 1, 'Peak', 100), (3, 1, 2, 'Avg', NULL);
INSERT INTO compute_workload_metric_value VALUES (1, 1, 1, 'Avg', 55.25), (2, 2, 1, 'Min', 64);
"#;

fn made(schema: &str) -> (tempfile::TempDir, Trace) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rocprof_compute_1.db");
    let sql = format!("{TABLES} INSERT INTO compute_metadata VALUES (1, '3.9.0', 'abc', '{schema}');");
    Connection::open(&path).unwrap().execute_batch(&sql).unwrap();
    assert_eq!(detect(&path).unwrap(), Format::ComputeAnalysis);
    let needs = Needs { kernels: true, counter_columns: true, ..Needs::nothing() };
    let trace = read(&[path], &needs, &Progress::default()).unwrap();
    (folder, trace)
}

#[test]
fn dispatches_are_kernels_and_metrics_are_kept_as_they_are() {
    let (_folder, trace) = made("2.0.0");
    let name = |id| trace.strings.get(id);
    let kernels: Vec<_> = (0..trace.kernels.len())
        .map(|i| (name(trace.kernels.name[i]), trace.kernels.start[i], trace.kernels.end[i]))
        .collect();
    assert_eq!(kernels, [("gemm", 1000, 3000), ("copy", 4000, 4500), ("gemm", 5000, 6000)]);
    assert_eq!(trace.agents.len(), 2, "two GPUs");
    assert_eq!((name(trace.agents[0].name), trace.agents[0].compute_units.get()), ("gfx942", Some(304)));
    let lost = trace.health.checks.iter().find(|check| check.id == "lost_rows").expect("said");
    assert_eq!(lost.value, Some(1.0), "a dispatch without its kernel");
    let metrics: Vec<_> = trace
        .metrics
        .iter()
        .map(|m| (name(m.kernel), name(m.id), name(m.statistic), m.value.to_string()))
        .collect();
    let expected = [
        ("gemm", "2.1.3", "Avg", "61.5"),
        ("gemm", "2.1.3", "Peak", "100"),
        ("copy", "2.1.3", "Avg", "NaN"),
        ("", "2.1.3", "Avg", "55.25"),
        ("", "7.1.0", "Min", "64"),
    ];
    assert_eq!(metrics, expected.map(|(kernel, id, statistic, value)| (kernel, id, statistic, value.into())));
    assert_eq!(name(trace.metrics[0].table), "Speed-of-Light");
}

#[test]
fn a_later_schema_is_read_as_far_as_it_is_known() {
    let (_folder, trace) = made("3.1.0");
    assert_eq!((trace.kernels.len(), trace.metrics.len()), (3, 5));
    assert!(trace.health.checks.iter().any(|check| check.id == "schema"));
}
