//! Passes: which counters fit into which run of the application, and putting the runs back together.

mod merge;
mod plan;

pub use merge::{Agreement, Merged, merge};
pub use plan::{LeftOut, Pass, Plan, PlanRequest, Replaced, plan};
