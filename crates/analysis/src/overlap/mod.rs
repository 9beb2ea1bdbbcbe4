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
    /// What each GPU ran at once.
    pub concurrency: Vec<Concurrency>,
    /// What the trace cannot tell.
    pub notes: Vec<Note>,
}

/// What traces must be read with.
pub fn overlap_needs() -> Needs {
    Needs { syncs: true, collectives: true, ..attribution::needs() }
}

/// What could overlap in a run read with [`overlap_needs`].
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
