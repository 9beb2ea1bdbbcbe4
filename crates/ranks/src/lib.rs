//! Analysis across ranks: one small digest per rank, then everything from digests.
//!
//! ```text
//! Trace ─► digest ─┐
//! Trace ─► digest ─┼─► Fleet ─► matching ─► clocks ─► collectives ─► stragglers ─► Report
//! Trace ─► digest ─┘
//! ```
//!
//! A trace is read, digested and dropped, so memory grows with ranks, steps and collectives, not with kernels.

pub mod balance;
pub mod clocks;
pub mod digest;
pub mod figures;
pub mod fleet;
pub mod kinds;
pub mod matching;
mod names;
mod operation;
mod peers;
mod present;
mod simulate;
pub mod stragglers;

pub use digest::{Digest, digest_needs};
pub use fleet::{Fleet, FleetBuilder};
pub use names::GroupKind;
pub use operation::Operation;
pub use present::present;

use clocks::Clocks;
use figures::AllFigures;
use matching::Meetings;
use simulate::StepGraph;
use stragglers::Delays;

/// What the digests of a job show together.
pub struct Ranks {
    /// The ranks.
    pub fleet: Fleet,
    /// Their common collectives.
    pub meetings: Meetings,
    /// Their clocks.
    pub clocks: Clocks,
    /// What the collectives cost.
    pub figures: AllFigures,
    /// Who makes whom wait.
    pub delays: Delays,
}

/// Analyses all ranks of a job.
pub fn compute(fleet: Fleet) -> Ranks {
    let meetings = Meetings::of(&fleet);
    let clocks = Clocks::of(&fleet, &meetings);
    let figures = AllFigures::of(&fleet, &meetings, &clocks);
    let graph = StepGraph::of(&fleet, &meetings, &figures, &clocks);
    let delays = stragglers::delays(&fleet, &meetings, &figures, graph);
    Ranks { fleet, meetings, clocks, figures, delays }
}
