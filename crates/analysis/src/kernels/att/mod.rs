//! `att`: where the cycles of a kernel's waves went, from decoded thread traces and PC samples.
//!
//! Thread traces show what stalled what; they distort time, so nothing here is a duration in seconds.

mod charge;
mod classes;
mod code_facts;
mod features;
mod occupancy;
mod pc_samples;
mod tables;

use report::{InputFact, Report};
use trace::ThreadTrace;

use crate::base;

pub use charge::{ChargedCycles, LineCycles};
pub use code_facts::{JoinedAccess, code_facts_needs, code_facts_report, compute_accesses};
pub use features::{thread_trace_features, thread_trace_result};
pub use occupancy::EngineWaves;
pub use pc_samples::{
    PcSamples, SampledInstruction, SampledShare, compute_pc_samples, pc_sample_needs, pc_samples_report,
    present_pc_samples,
};

/// A thread trace and where the cycles of its waves went.
#[derive(Clone, Debug)]
pub struct TracedKernel<'t> {
    /// The trace.
    pub trace: &'t ThreadTrace,
    /// Its kernel, or a substitute name.
    pub kernel: String,
    /// Where the cycles went.
    pub cycles: ChargedCycles,
    /// Waves on each shader engine.
    pub engines: Vec<EngineWaves>,
}

/// Where the cycles went in each of several thread traces.
pub fn compute(traces: &[ThreadTrace]) -> Vec<TracedKernel<'_>> {
    let traced = traces.iter().map(|trace| TracedKernel {
        trace,
        kernel: kernel_of(trace),
        cycles: ChargedCycles::of(trace),
        engines: occupancy::engines(&trace.occupancy),
    });
    traced.collect()
}

/// The whole report.
pub fn present(traces: &[TracedKernel]) -> Report {
    let mut report = Report { command: "att".into(), ..Report::default() };
    for TracedKernel { trace, .. } in traces {
        let (path, format) = (trace.path.clone(), "thread trace".to_string());
        report.inputs.push(InputFact { path, format, ..InputFact::default() });
        report.health.extend(base::health(&trace.health));
    }
    report.tables = vec![
        tables::stalls(traces),
        tables::instructions(traces),
        tables::sources(traces),
        tables::mix(traces),
        tables::loads(traces),
        tables::states(traces),
        occupancy::table(traces),
        occupancy::timeline(traces),
    ];
    report.tables.retain(|table| !table.rows.is_empty());
    report.notes.push("cycles are shader clocks of the traced waves; tracing slows a kernel down, so take no times from them".into());
    // A trace that no wave reached does not have sums either.
    let only_sums = |traced: &TracedKernel| {
        !traced.cycles.from_waves && traced.trace.code.iter().any(|line| line.hits > 0)
    };
    if traces.iter().any(only_sums) {
        report.notes.push(
            "only sums over waves are recorded: waits are shown by unit, not charged to the load they wait for"
                .into(),
        );
    }
    report
}

/// [`compute`] and [`present`] in one.
pub fn thread_trace_report(traces: &[ThreadTrace]) -> Report {
    present(&compute(traces))
}

/// The kernel of a trace, or a substitute name.
fn kernel_of(trace: &ThreadTrace) -> String {
    match (trace.kernels.first(), trace.dispatch) {
        (Some(name), _) => name.clone(),
        (None, Some(dispatch)) => format!("dispatch {dispatch}"),
        (None, None) => trace.path.clone(),
    }
}
