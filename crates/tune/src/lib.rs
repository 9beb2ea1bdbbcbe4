//! Acting on findings: `autotune` searches parameters, `optimize` changes a kernel and proves the gain.
//!
//! ```text
//! space ─► candidates ─► strategy ─► Target (build, run, check) ─► journal ─► ranking with confidence
//! ```
//!
//! Everything is a result with a status: a configuration that fails, hangs or computes nonsense ends its own trial,
//! never the search.

pub mod autotune;
pub mod builds;
mod checked_outputs;
pub mod importance;
pub mod journal;
pub mod launch;
pub mod measure;
pub mod optimize;
pub mod progress;
pub mod search;
pub mod space;
pub mod tables;
pub mod target;
pub mod template;
pub mod tuner;
