//! Commands for the profiler: the right options for its version, and `--` where it belongs.

mod build;
pub mod options;
mod version;

pub use build::{Built, Output, Wanted, build};
pub use version::Version;
