//! Page faults and migrations of rocprof-sys: sums as facts, and what they mean for the run.

use rocm_perf_ingest::{Error, Format, Progress, detect, read};
use trace::{Needs, Status};

const FILE: &str = r#"{"devices": [{"device_id": 0, "device_name": "AMD Instinct MI300A", "migrations": {
    "host_to_device": {"count": 3, "total_size_bytes": 6000000, "min_size_bytes": 4096, "max_size_bytes": 2097152, "avg_size_bytes": 2000000, "total_time_ns": 1500000, "migration_throughput_gbps": 4.0},
    "device_to_host": {"count": 1, "total_size_bytes": 500000, "min_size_bytes": 1, "max_size_bytes": 2, "avg_size_bytes": 3, "total_time_ns": 500000, "migration_throughput_gbps": 1.0}}}],
    "summary": {"xnack_enabled": true, "total_page_faults": 17, "migration_triggers": {"gpu_page_fault": 3, "cpu_page_fault": 1, "prefetch": 0, "ttm_eviction": 0, "unknown": 0}}}"#;

#[test]
fn sums_are_facts_and_a_check_says_what_was_moved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("unified_memory-4711.json");
    std::fs::write(&path, FILE).unwrap();
    assert_eq!(detect(&path).unwrap(), Format::UnifiedMemory);
    let trace = read(&[path], &Needs::everything(), &Progress::default()).unwrap();
    let fact = |key: &str| {
        let found = trace.metadata.iter().find(|fact| trace.strings.get(fact.key) == key);
        found.map(|fact| trace.strings.get(fact.value))
    };
    assert_eq!(fact("unified_memory.xnack_enabled"), Some("true"));
    assert_eq!(fact("unified_memory.migration_triggers.gpu_page_fault"), Some("3"));
    assert_eq!(fact("unified_memory.device_0.host_to_device.max_size_bytes"), Some("2097152"));
    let check = trace.health.checks.iter().find(|check| check.id == "page_faults").unwrap();
    assert_eq!((check.status, check.value), (Status::Warn, Some(17.0)));
    assert!(
        check.message.contains("4 migrations moved 6.5 MB") && check.message.contains("2.000 ms"),
        "{}",
        check.message
    );
    assert_eq!(trace.sources[0].role.as_deref(), Some("monitor"));
}

#[test]
fn other_documents_with_such_keys_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    std::fs::write(&path, r#"{"devices": [], "summary": {"text": "all is well"}}"#).unwrap();
    let error = read(&[path], &Needs::everything(), &Progress::default()).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }));
}
