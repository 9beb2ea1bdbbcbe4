//! The model: what the rows of a [`trace::Trace`] mean, decided once for every analysis.
//!
//! ```text
//! names ─► classify ─┐
//! steps ─► attribution ─► stages ─┴─► Run ─► analyses
//! ```

pub mod attribution;
pub mod call_tree;
pub mod calls;
pub mod classify;
pub mod collectives;
pub mod completeness;
pub mod lanes;
mod launches;
mod marks;
pub mod memory;
pub mod names;
pub mod nesting;
pub mod order;
pub mod profiler;
pub mod recordings;
pub mod requests;
mod run;
mod selection;
pub mod stages;
mod steps;
pub mod work;

pub use run::{KnownProgram, Run};
pub use selection::{NothingSelected, Selection};

/// Rows that one thread handles at a time.
const ROWS_AT_ONCE: usize = 1 << 14;
