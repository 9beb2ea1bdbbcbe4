//! Why a run could not be simulated or written.

use std::path::PathBuf;

/// A failure of the simulator: one line that names the place.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No built-in scenario has this name.
    #[error("no scenario `{name}`; choose one of {known}")]
    UnknownScenario {
        /// What was asked for.
        name: String,
        /// All names, joined by commas.
        known: String,
    },
    /// A scenario file is invalid.
    #[error("scenario line {line}: {why}")]
    Scenario {
        /// Line in the file, from 1.
        line: usize,
        /// What is wrong, with the key.
        why: String,
    },
    /// A `--scale` that matches nothing or is not a number.
    #[error("cannot scale `{pattern}`: {why}")]
    Scale {
        /// What was asked for.
        pattern: String,
        /// Why not.
        why: String,
    },
    /// Threads or streams wait for each other forever.
    #[error("the run never ends: rank {rank} waits for {what}")]
    Deadlock {
        /// The first rank that is stuck.
        rank: u32,
        /// What it waits for.
        what: String,
    },
    /// Options that contradict each other.
    #[error("{0}")]
    Options(String),
    /// A file could not be written.
    #[error("cannot write `{path}`: {why}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}
