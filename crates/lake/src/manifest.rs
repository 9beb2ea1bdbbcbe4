//! A rank in a lake: where it came from and what its files hold. Written after the files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trace::{Status, Trace};

use crate::lake::Partition;

/// A complete rank in the lake.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Manifest {
    /// The version of the lake.
    pub version: u32,
    /// Which rank.
    #[serde(flatten)]
    pub part: Partition,
    /// The file it came from, and those next to it that were read with it.
    pub sources: Vec<SourceFile>,
    /// All ranks of that file.
    pub ranks_of_source: Vec<i64>,
    /// Its files, by table.
    pub tables: BTreeMap<String, TableFile>,
    /// How many digests it has.
    pub digests: u64,
    /// Time of all kernels together.
    pub kernel_ns: i64,
    /// First nanosecond of GPU work.
    pub first_ns: Option<i64>,
    /// Last nanosecond of GPU work.
    pub last_ns: Option<i64>,
    /// What is known to be wrong with the trace.
    pub warnings: Vec<Warning>,
    /// Who wrote it.
    pub written_by: String,
}

/// A file that was read.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub struct SourceFile {
    /// Its path on the machine that read it.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// When it was last changed, in nanoseconds since 1970; 0 if unknown.
    pub modified_ns: u64,
}

/// A file of the lake.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct TableFile {
    /// Rows in it.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
    /// CRC-32 of its bytes.
    pub crc32: u32,
}

/// Something that is wrong with a trace.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Warning {
    /// What was checked.
    pub check: String,
    /// What was found.
    pub message: String,
}

impl Manifest {
    /// The manifest of a trace that is being written; its files are added later.
    pub(crate) fn of(
        trace: &Trace,
        part: Partition,
        sources: Vec<SourceFile>,
        ranks_of_source: Vec<i64>,
    ) -> Self {
        let kernels = &trace.kernels;
        let ended = kernels.end.iter().chain(&trace.memory_copies.end).max();
        let started = kernels.start.iter().chain(&trace.memory_copies.start).min();
        let bad = trace.health.checks.iter().filter(|check| check.status != Status::Pass);
        Self {
            version: crate::VERSION,
            part,
            sources,
            ranks_of_source,
            tables: BTreeMap::new(),
            digests: 0,
            kernel_ns: kernels.end.iter().sum::<i64>() - kernels.start.iter().sum::<i64>(),
            first_ns: started.copied(),
            last_ns: ended.copied(),
            warnings: bad
                .map(|check| Warning { check: check.id.to_string(), message: check.message.clone() })
                .collect(),
            written_by: format!("rocm-perf {}", env!("CARGO_PKG_VERSION")),
        }
    }

    /// Rows of a table.
    pub fn rows(&self, table: &str) -> u64 {
        self.tables.get(table).map_or(0, |file| file.rows)
    }

    /// Bytes of all its files.
    pub fn bytes(&self) -> u64 {
        self.tables.values().map(|file| file.bytes).sum()
    }
}
