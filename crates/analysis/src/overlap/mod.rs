//! `overlap`: what runs alone that could run beside something else, from the order the program really imposed.
//!
//! ```text
//! GPU rows ─► device (streams, steps) ─► sweep (exclusive, hidden, exposed)
//! events, waits, blocking calls ─► order (what must follow what) ─► pools (what is free to hide beside)
//!                                             └─► risk, reason ─► decision (rules/overlap.toml)
//! ```
//!
//! A gain ceiling is the most that could be won if the order may be changed: step by step the lesser of the
//! exposed time and the computation it could hide beside, on the GPU where that is most. It never exceeds the exposed time, which is time on
//! the clock charged once, so all ceilings together never exceed the time the GPU was busy. What the recorded
//! order leaves free without any change is told beside it.
//!
//! Cost: two sorts of each GPU's rows, one of the host's operations, then constant work per row and stream.

mod device;
mod findings;
mod notes;
mod opportunities;
mod order;
mod pools;
mod risk;
mod rules;
mod sweep;
mod syncs;
mod tables;

use report::{Finding, Note, Report, Table};
use trace::Needs;

use self::opportunities::Analysed;
use crate::base;
use model::Run;
use model::attribution;
use model::order::Operations;

/// What could overlap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overlap {
    /// `overlap_opportunities`, most urgent first.
    pub table: Table,
    /// The urgent ones with their evidence.
    pub findings: Vec<Finding>,
    /// What the trace cannot tell.
    pub notes: Vec<Note>,
}

/// What traces must be read with.
pub fn overlap_needs() -> Needs {
    Needs { syncs: true, collectives: true, ..attribution::needs() }
}

/// What could overlap in a run read with [`overlap_needs`].
pub fn overlap(context: &Run) -> Overlap {
    of_devices(context, &analyse(context))
}

/// The same as a report of its own, with what each GPU ran at once.
pub fn overlap_report(context: &Run) -> Report {
    let devices = analyse(context);
    let Overlap { table, findings, notes } = of_devices(context, &devices);
    let mut report = base::report("overlap", context.trace);
    report.tables = vec![table, tables::concurrency(context, &devices)];
    report.findings = findings;
    report.trace_start_ns = context.trace.bounds().map(|(first, _)| first);
    report.notes = notes;
    report
}

fn analyse(context: &Run) -> Vec<Analysed> {
    let host = Operations::of(context.trace, &context.calls, &context.recordings);
    let devices = device::devices(context).into_iter();
    devices.map(|device| Analysed::of(context, &host, device)).collect()
}

fn of_devices(context: &Run, devices: &[Analysed]) -> Overlap {
    let found = opportunities::opportunities(context, devices);
    Overlap {
        table: tables::opportunities(context, devices, &found),
        findings: findings::findings(context, devices, &found),
        notes: notes::notes(context, devices),
    }
}
