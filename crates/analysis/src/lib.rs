//! Analyses: functions from [`trace::Trace`] to [`report::Report`]. One analysis, one module.
//!
//! Costs: every analysis here is one pass over the tables it names plus a sort where it says so; memory
//! is bounded by the rows it keeps, never by the size of the input file.

mod base;
mod info;
mod nesting;
mod statistics;
mod summary;

pub use base::health;
pub use info::info;
pub use summary::{SummaryOptions, summary};
