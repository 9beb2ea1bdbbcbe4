//! The profiler of this machine: where it is and which release it belongs to.

mod find;

pub(crate) use ::files::process::reason;
pub use find::{Places, find, find_systems, is_program, on_path};

use std::path::PathBuf;

use crate::command::{Mode, Version};

/// Which program profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfilerKind {
    /// `rocprofv3`, since ROCm 6.2.
    Rocprofv3,
    /// The legacy `rocprof`.
    Rocprof,
    /// ROCm Systems Profiler, in one of its modes.
    RocprofSys(Mode),
}

impl ProfilerKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ProfilerKind::Rocprofv3 => "rocprofv3",
            ProfilerKind::Rocprof => "rocprof",
            ProfilerKind::RocprofSys(_) => "rocprof-sys",
        }
    }
}

/// A profiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profiler {
    /// Which one.
    pub kind: ProfilerKind,
    /// Its program.
    pub path: PathBuf,
    /// The ROCm release it belongs to.
    pub version: Version,
    /// The version as it prints it.
    pub version_text: String,
    /// How the version was found.
    pub version_from: String,
}

impl Profiler {
    /// A profiler to show commands for if none is installed.
    pub fn assumed() -> Self {
        Self {
            kind: ProfilerKind::Rocprofv3,
            path: "rocprofv3".into(),
            version: Version::ASSUMED,
            version_text: String::new(),
            version_from: "assumed: no profiler is installed".into(),
        }
    }
}
