//! rocpd databases: schema, views, a bulk writer, and any trace as a database.
//!
//! ```text
//! Trace ─► from_trace (ids, events) ─► BulkWriter ─► pages appended to the file
//!                                          └─► SQLite: schema, names, facts, views
//! ```

pub mod address;
mod bulk;
mod device;
pub mod four;
mod from_trace;
mod identity;
mod pages;
pub mod part;
pub mod recordings;
mod rows;
pub mod schema;
pub(crate) mod set_aside;
pub mod versions;
pub mod views;

use std::path::{Path, PathBuf};

pub use bulk::BulkWriter;
pub use pages::Value;
pub use rows::{
    AllocationRow, ArgRow, CopyRow, EventRow, GraphLaunchRow, HipEventRow, KernelRow, PmcRow, RegionRow,
    SampleRow,
};
pub use schema::SchemaVersion;

use trace::Trace;

/// Which profiler's conventions to follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flavour {
    /// rocprofv3: ids are pids, tids and agent indices; categories in capitals.
    #[default]
    Rocprofv3,
    /// ROCm Systems Profiler: a guid of 32 hex digits, numbered ids, lower-case categories.
    RocprofSys,
}

/// How to write a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Revision of the schema; `None`: the oldest that holds the whole trace.
    pub version: Option<SchemaVersion>,
    /// Which profiler's conventions to follow.
    pub flavour: Flavour,
    /// Whether to add plain names, data and summary views to the tables.
    pub views: bool,
    /// One in this many dispatches and copies has no event, thread or region, as from some writers; 0: none.
    pub blank_every: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { version: None, flavour: Flavour::default(), views: true, blank_every: 0 }
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Revision of the schema.
    pub version: SchemaVersion,
    /// Bytes of the file.
    pub bytes: u64,
    /// Rows of events, regions, dispatches, copies, allocations, arguments, counters and samples.
    pub rows: u64,
    /// What the trace has but rocpd cannot hold, one line each.
    pub left_out: Vec<String>,
}

/// Why a database could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{path}`: {why}")]
pub struct Error {
    /// The database.
    pub path: PathBuf,
    /// The reason.
    pub why: String,
}

impl Error {
    fn write(path: &Path, why: &dyn std::fmt::Display) -> Self {
        Self { path: path.into(), why: why.to_string() }
    }
}

/// Writes a finished trace as one database, with one group of tables for each recording.
pub fn write(trace: &Trace, target: &Path, options: &Options) -> Result<Written, Error> {
    from_trace::write(trace, target, options)
}

/// Categories in rocprof-sys's spelling, by the prefix of rocprofv3's.
const SYS_CATEGORIES: [(&str, &str); 9] = [
    ("HIP_STREAM", "rocm_hip_stream"),
    ("HIP_", "rocm_hip_api"),
    ("HSA_", "rocm_hsa_api"),
    ("MARKER_", "rocm_marker_api"),
    ("KERNEL_DISPATCH", "rocm_kernel_dispatch"),
    ("MEMORY_COPY", "rocm_memory_copy"),
    ("MEMORY_ALLOCATION", "rocm_memory_allocate"),
    ("SCRATCH_MEMORY", "rocm_scratch_memory"),
    ("RCCL_API", "rocm_rccl_api"),
];

impl Flavour {
    /// A category in this flavour's spelling.
    fn category(self, category: &str) -> &str {
        let other = SYS_CATEGORIES.iter().find(|(start, _)| category.starts_with(start));
        match (self, other) {
            (Flavour::RocprofSys, Some((_, name))) => name,
            _ => category,
        }
    }

    /// A guid in this flavour's form.
    fn guid(self, guid: &str) -> String {
        let digits: String = guid.chars().filter(|c| *c != '-').collect();
        match self {
            Flavour::Rocprofv3 => guid.into(),
            Flavour::RocprofSys if digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit()) => {
                digits
            }
            Flavour::RocprofSys => identity::made_up_guid(guid).replace('-', ""),
        }
    }

    /// Rows of `rocpd_metadata`.
    fn metadata(self, version: SchemaVersion, guid: &str, suffix: &str) -> Vec<(String, String)> {
        let row = |tag: &str, value: &str| (tag.to_string(), value.to_string());
        let mut rows = vec![row("schema_version", &version.tag()), row("uuid", suffix)];
        match self {
            Flavour::Rocprofv3 => rows.push(row("guid", guid)),
            // rocprof-sys does not fill in its own template.
            Flavour::RocprofSys => rows.extend([row("guid", "{{guid}}"), row("upid", guid)]),
        }
        rows
    }
}
