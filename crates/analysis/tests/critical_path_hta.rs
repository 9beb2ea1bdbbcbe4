//! `critical-path` compared with HTA on HTA's own fixtures.
//!
//! HTA takes the longest weighted path through the events of one annotation, in microseconds rounded inwards; ours
//! covers the whole span in nanoseconds. Both must agree on what the run waits for.

use crate::critical_path_maker;

use std::path::Path;

use critical_path_maker::{Shown, int, path_of, segments, span, table, text};
use ingest::Progress;
use rocm_perf_analysis::critical_path_needs;
use trace::Trace;

fn read(name: &str) -> Option<Trace> {
    let path = testing::data(Path::new("traces").join(name))?;
    Some(ingest::read(&[path], &critical_path_needs(), &Progress::default()).unwrap())
}

fn bound(found: &Shown, kind: &str) -> i64 {
    let bounds = table(&found.report, "bounds");
    (0..bounds.rows.len())
        .find(|&row| text(bounds, row, "kind") == kind)
        .map_or(0, |row| int(bounds, row, "total_ns"))
}

/// HTA: cpu 2365 µs (98.1 %), compute 36 µs, launch 10 µs; the only kernel on its path is the spin kernel that
/// `cudaEventSynchronize` waits for.
#[test]
fn event_sync_goes_through_the_kernel_that_the_event_waits_for() {
    let Some(trace) = read("hta_cp_cuda_event_sync.json.gz") else { return };
    let found = path_of(&trace, &[]);
    // HTA leaves out host time between top-level ops; the span of the step is 3154 µs.
    assert_eq!(span(&found), 3_154_000);
    let kernels: Vec<(String, String, i64)> =
        segments(&found).into_iter().filter(|(kind, ..)| kind == "compute" || kind == "copy").collect();
    let spin = kernels
        .iter()
        .find(|(_, name, _)| name.contains("spin_kernel"))
        .expect("the spin kernel is on the path");
    assert_eq!(spin.2, 36_000);
    // Ours also has the 2 µs copy to pageable memory that `cudaMemcpyAsync` waited for; HTA counts all 29 µs
    // of that call as host time.
    let others: Vec<&(String, String, i64)> = kernels.iter().filter(|k| *k != spin).collect();
    assert!(others.iter().all(|(_, name, ns)| name.starts_with("Memcpy DtoH") && *ns == 2_000), "{others:?}");
    // The launch of the spin kernel, 10 µs from the start of the call as in HTA; and of the copy.
    let launches: Vec<i64> =
        segments(&found).into_iter().filter(|(kind, ..)| kind == "launch").map(|s| s.2).collect();
    assert!(launches.contains(&10_000), "{launches:?}");
    assert!(bound(&found, "host") > 2_365_000, "all that HTA calls cpu, and the gaps between ops");
}

/// HTA, on the second `forward` annotation: cpu 99.78 %, compute 508 µs, launch 17 µs, kernel to kernel 9 µs of
/// 241.7 ms. Ours covers the whole trace, including the first forward. Both say this run is host bound, and that
/// GPU work is on the path only where the host waits for it at the end.
#[test]
fn simple_add_is_bound_by_the_host() {
    let Some(trace) = read("hta_cp_simple_add.json.gz") else { return };
    let found = path_of(&trace, &[]);
    let (whole, host) = (span(&found), bound(&found, "host"));
    assert!(host as f64 > 0.9 * whole as f64, "{host} of {whole}");
    let gpu = bound(&found, "compute") + bound(&found, "copy");
    assert!((gpu as f64) < 0.02 * whole as f64, "{gpu} of {whole}");
    assert!(gpu > 0, "the device synchronisation waits for the last kernels");
}
