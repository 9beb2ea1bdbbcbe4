//! Passes: which counters fit into which run of the application, and merging the runs.

mod merge;
mod plan;

pub use merge::{Agreement, Merged, merge};
pub use plan::{LeftOut, Pass, Plan, PlanRequest, Replaced, plan};
