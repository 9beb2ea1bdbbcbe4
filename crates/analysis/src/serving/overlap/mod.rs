//! `overlap`: what runs alone but could run in parallel, given the order that the program really imposed.
//!
//! ```text
//! GPU rows ─► device (streams, steps) ─► sweep (exclusive, hidden, exposed)
//! events, waits, blocking calls ─► order (what must follow what) ─► pools (what can hide other work)
//!                                             └─► risk, reason ─► decision (rules/overlap.toml)
//! ```
//!
//! The gain ceiling is the most that reordering could win: per step, the smaller of the exposed time and the
//! computation that could hide it, on the GPU where that is largest. It never exceeds the exposed time, which
//! charges each nanosecond once, so all ceilings together never exceed the time the GPU was busy. The gain
//! that the recorded order already allows is shown separately.
//!
//! Cost: two sorts of each GPU's rows, one of the host's operations, constant work per row and stream.

mod device;
mod notes;
mod opportunities;
mod order;
mod pools;
mod present;
mod result;
mod risk;
mod rules;
mod sweep;
mod syncs;

pub use present::present;
pub use result::{Concurrency, OverlapOpportunity, Piece};

use rayon::prelude::*;
use report::{Note, Report};
use trace::Needs;

use self::opportunities::Analysed;
use model::Run;
use model::attribution;
use model::order::Operations;

/// What could overlap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overlap {
    /// Most urgent first.
    pub opportunities: Vec<OverlapOpportunity>,
    /// What each GPU ran in parallel.
    pub concurrency: Vec<Concurrency>,
    /// What the trace cannot show.
    pub notes: Vec<Note>,
}

/// What to read from a trace for the overlap analysis.
pub fn overlap_needs() -> Needs {
    Needs { syncs: true, collectives: true, ..attribution::needs() }
}

/// What could overlap in a run that was read with [`overlap_needs`].
pub fn overlap(context: &Run) -> Overlap {
    let (host, devices) = rayon::join(
        || Operations::of(context.trace, &context.calls, &context.recordings),
        || device::devices(context),
    );
    let devices = devices.into_par_iter();
    let devices: Vec<Analysed> = devices.map(|device| Analysed::of(context, &host, device)).collect();
    let found = opportunities::opportunities(context, &devices);
    Overlap {
        opportunities: result::opportunities(context, &devices, &found),
        concurrency: result::concurrency(&devices),
        notes: notes::notes(context, &devices),
    }
}

/// [`overlap`] and [`present`] in one.
pub fn overlap_report(context: &Run) -> Report {
    present(context, &overlap(context))
}
