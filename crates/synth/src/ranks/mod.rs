//! How ranks work together and what is wrong with them: process groups, clocks, stragglers, slow links.

mod faults;
mod groups;
mod meetings;

pub(crate) use faults::Resolved;
pub use faults::{Cause, Faults, SlowLink, Straggler, Where};
pub use groups::{GroupKind, Parallelism};
pub(crate) use groups::{Layout, P2P};
pub use meetings::{
    CauseTruth, CollectiveTruth, ExpertTruth, GroupTruth, PipelineTruth, PropagatedTruth, RanksTruth,
};
pub(crate) use meetings::{MeetingLog, Met, StepEnds};
