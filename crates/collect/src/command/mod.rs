//! Commands for the profiler: the right options for its version, and `--` where it belongs.

mod build;
pub mod options;
mod systems;
mod version;

pub use build::{Built, Definition, Output, Wanted, build};
pub(crate) use build::{definitions_since, since};
pub(crate) use systems::INSTRUMENTED;
pub use systems::Mode;
pub use version::Version;
