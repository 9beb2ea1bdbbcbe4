//! `panels`: the derived metrics of ROCm Compute Profiler, over all dispatches of a run at a time.
//!
//! ```text
//! Trace ─► Dispatches (columns by name) ─┐
//! panels/*.toml ─► Catalogue ────────────┴─► evaluate ─► tables, memory chart ─► Report
//! ```
//!
//! Cost: one pass over the columns that the formulas use, in blocks; quantiles select instead of sorting.

pub mod catalogue;
mod channels;
mod dispatches;
pub mod expression;
mod listing;
mod machine;
mod memory_chart;
mod needed;
mod options;
mod pivot;
mod present;
mod select;
mod stored;
mod tables;
mod top;
mod values;

pub use crate::kernels::gpu::Specs;
pub use dispatches::Dispatches;
pub use listing::list_metrics;
pub use needed::counters_needed;
pub use options::{Block, Blocks, NormalUnit, Rule, TimeUnit};
pub use present::{
    EvaluatedRun, PanelsOptions, compute, memory_chart_text, panels, panels_needs, present, specs_of,
};
pub use select::{Choice, ChoiceError, choose};
pub use top::{TopKernel, top_kernels};
pub use values::{Cell, RowValues, TableValues, evaluate};
