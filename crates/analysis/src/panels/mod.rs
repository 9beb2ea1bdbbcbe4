//! `panels`: the derived metrics of ROCm Compute Profiler, over all dispatches of a run at a time.
//!
//! ```text
//! Trace ─► Dispatches (columns by name) ─┐
//! panels/*.toml ─► Catalogue ────────────┴─► evaluate ─► tables ─► Report
//! ```
//!
//! Costs: one pass over the columns that the chosen formulas name, block by block; quantiles select, they do not sort.

pub mod catalogue;
mod dispatches;
pub mod expression;
mod options;
mod pivot;
mod specs;
mod statistics;
mod values;

pub use dispatches::Dispatches;
pub use options::{Block, Blocks, NormalUnit, Rule};
pub use specs::Specs;
pub use values::{Cell, RowValues, TableValues, evaluate};
