//! `att`: where the cycles of a kernel's waves went, from decoded thread traces and PC samples.
//!
//! Thread traces say what stalled whom; they distort time, so nothing here is a duration in seconds.

mod charge;
mod classes;
mod occupancy;
mod pc_samples;
mod tables;

use report::{InputFact, Report};
use trace::ThreadTrace;

use self::charge::Charged;
use crate::base;
use crate::bottleneck::Figures;

pub use pc_samples::{pc_sample_needs, pc_samples_report};

/// Where the cycles went in each of several thread traces.
pub fn thread_trace_report(traces: &[ThreadTrace]) -> Report {
    let mut report = Report { command: "att".into(), ..Report::default() };
    for trace in traces {
        let (path, format) = (trace.path.clone(), "thread trace".to_string());
        report.inputs.push(InputFact { path, format, ..InputFact::default() });
        report.health.extend(base::health(&trace.health));
    }
    let charged: Vec<Charged> = traces.iter().map(Charged::of).collect();
    report.tables = vec![
        tables::stalls(traces, &charged),
        tables::instructions(traces, &charged),
        tables::sources(traces, &charged),
        tables::mix(traces, &charged),
        tables::loads(traces, &charged),
        tables::states(traces, &charged),
        occupancy::table(traces),
        occupancy::timeline(traces),
    ];
    report.tables.retain(|table| !table.rows.is_empty());
    report.notes.push("cycles are shader clocks of the traced waves; tracing slows a kernel down, so take no times from them".into());
    if charged.iter().any(|charged| !charged.from_waves) {
        report.notes.push(
            "only sums over waves are there: waits are told by unit, not charged to the load they wait for"
                .into(),
        );
    }
    report
}

/// Features of thread traces for the bottleneck's rules, by kernel.
pub fn thread_trace_features(traces: &[ThreadTrace]) -> Vec<(String, Figures)> {
    let mut found = Vec::new();
    for trace in traces {
        let charged = Charged::of(trace);
        let features: [(&str, &[&str]); 5] = [
            ("att_memory_wait_pct", &["memory latency", "scalar memory latency"]),
            ("att_lds_wait_pct", &["LDS latency", "LDS unit busy"]),
            ("att_barrier_pct", &["barrier"]),
            ("att_fetch_pct", &["instruction fetch"]),
            (
                "att_stall_pct",
                &[
                    "memory unit busy",
                    "LDS unit busy",
                    "vector unit busy",
                    "matrix unit busy",
                    "other unit busy",
                ],
            ),
        ];
        let figures: Figures = features
            .into_iter()
            .filter_map(|(name, causes)| Some((name.to_string(), charged.share_pct(causes)?)))
            .collect();
        found.extend(trace.kernels.iter().map(|kernel| (kernel.clone(), figures.clone())));
    }
    found
}
