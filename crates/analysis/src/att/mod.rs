//! `att`: where the cycles of a kernel's waves went, from decoded thread traces and PC samples.
//!
//! Thread traces say what stalled whom; they distort time, so nothing here is a duration in seconds.

mod charge;
mod classes;
mod features;
mod occupancy;
mod pc_samples;
mod tables;

use report::{InputFact, Report};
use trace::ThreadTrace;

use self::charge::Charged;
use crate::base;

pub use features::{thread_trace_features, thread_trace_result};
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
    // A trace that no wave reached has no sums either.
    let only_sums = |(trace, charged): (&ThreadTrace, &Charged)| {
        !charged.from_waves && trace.code.iter().any(|line| line.hits > 0)
    };
    if traces.iter().zip(&charged).any(only_sums) {
        report.notes.push(
            "only sums over waves are there: waits are told by unit, not charged to the load they wait for"
                .into(),
        );
    }
    report
}
