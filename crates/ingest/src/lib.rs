//! Readers: every ROCm trace format becomes one [`trace::Trace`].
//!
//! ```text
//! paths ─► inputs (files, folders, CSV sets) ─► detect ─► one reader each ─► append ─► finish ─► Trace
//! ```
//!
//! One folder per format, one detector, one function each: `read(input, needs, progress) -> Trace`.
//! Readers never analyse, never modify a file, and never drop a row silently: unreadable data is counted and
//! reported in the trace's health.

pub mod att;
mod by_id;
mod bytes;
pub mod code;
pub mod compute;
mod detect;
mod duplicates;
mod entities;
mod error;
mod inputs;
pub mod inspector;
mod join;
pub mod json;
pub mod perfetto;
mod progress;
pub mod prometheus;
mod protobuf;
mod rank;
pub mod rocpd;
pub mod rocprofv3;
pub mod rpd;
mod run_folder;
pub mod snapshot;
mod sniff;
mod sqlite;
mod times;
pub mod torch;
pub mod unified_memory;
pub mod xplane;

pub use detect::{Format, detect};
pub use error::Error;
pub use inputs::{Input, find_inputs, find_usable_inputs, follow_links};
pub use progress::Progress;
pub use rank::{rank_of_path, role_of_path};

use trace::{Needs, Trace};

/// Reads files and folders into one finished trace.
pub fn read(paths: &[std::path::PathBuf], needs: &Needs, progress: &Progress) -> Result<Trace, Error> {
    join::read_all(paths, needs, progress)
}
