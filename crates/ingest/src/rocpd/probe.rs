//! What a SQLite database is, for the detector: rocpd, something similar, or something else.

use std::cell::Cell;
use std::path::Path;

use super::{groups, materialise, open};
use crate::sqlite::{Database, OpenError};
use crate::{Error, Progress};

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// A rocpd database.
    Rocpd,
    /// rocmProfileData's older format, which shares only the prefix of its table names.
    Rpd,
    /// ROCm Compute Profiler's analysis.
    ComputeAnalysis,
    /// Another program's database.
    OtherDatabase,
    /// A database without any table.
    NoTables,
    /// Not a SQLite file.
    NotSqlite,
}

/// Tables that every analysis database of ROCm Compute Profiler has.
const ANALYSIS: [&str; 3] = ["compute_workload", "compute_kernel", "compute_metric_definition"];

impl Probe {
    /// What to tell a person who mistook it for a trace.
    pub fn why(self) -> &'static str {
        match self {
            Probe::Rocpd => "it is a rocpd database",
            Probe::Rpd => {
                "it is a database of rocmProfileData (tables `rocpd_api`, `rocpd_op`), which is not rocpd"
            }
            Probe::ComputeAnalysis => {
                "it is an analysis database of ROCm Compute Profiler, which has metrics and no trace"
            }
            Probe::OtherDatabase => "it is a SQLite database without rocpd tables",
            Probe::NoTables => {
                "it is a SQLite database without tables: the profiler was probably killed before it wrote them"
            }
            Probe::NotSqlite => "it is not a SQLite database",
        }
    }

    pub(super) fn of(database: &Database) -> Self {
        let has = |name: &str| database.table(name).is_some();
        let (progress, advanced) = (Progress::default(), Cell::new(0));
        // The older format also has a `rocpd_string` and a `rocpd_metadata`.
        if has("rocpd_api") && has("rocpd_op") {
            Probe::Rpd
        } else if !groups::find(database, &progress, &advanced).is_empty() || materialise::needed(database) {
            Probe::Rocpd
        } else if has("rocpd_api") || has("rocpd_op") {
            Probe::Rpd
        } else if database.tables.is_empty() && database.views.is_empty() {
            Probe::NoTables
        } else if ANALYSIS.iter().all(|name| has(name)) {
            Probe::ComputeAnalysis
        } else {
            Probe::OtherDatabase
        }
    }
}

/// Checks a file; only a file that cannot be opened or whose list of tables is unreadable is an error.
pub fn probe(path: &Path) -> Result<Probe, Error> {
    match Database::open(path) {
        Ok(database) => Ok(Probe::of(&database)),
        Err(OpenError::NotSqlite) => Ok(Probe::NotSqlite),
        Err(_) => open(path).map(|database| Probe::of(&database)),
    }
}

/// The recordings of a database: an input is identified by its guid, not its path.
pub fn guids(path: &Path) -> Result<Vec<String>, Error> {
    let database = open(path)?;
    let (progress, advanced) = (Progress::default(), Cell::new(0));
    Ok(groups::find(&database, &progress, &advanced).into_iter().map(|group| group.guid).collect())
}
