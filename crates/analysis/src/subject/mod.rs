//! What a trace is of: the program, the architecture, and whether it is one run.

mod architecture;
mod one_run;
mod program;

pub use architecture::{ArchMatch, Architecture, TARGET_ARCH};
pub use one_run::{OneRun, OneRunError};
pub use program::framework_named;
pub(crate) use program::{Program, framework, framework_of_path};
