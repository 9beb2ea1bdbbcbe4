//! Experiments, their trials and what was attached to them.
//!
//! The facts are in a database, SQLite or PostgreSQL, with one SQL text for both. The files are in a folder,
//! each named by the SHA-256 of its bytes. An attach writes and syncs its files first and then adds all rows
//! in one transaction: a kill in between leaves unreferenced files, which `gc` removes, but never half a
//! trial.
//!
//! | module | what for |
//! |---|---|
//! | `location`, `database`, `sqlite`, `postgresql` | where the store is, and the two databases behind one trait |
//! | `schema` | tables, versions, migrations with their backup |
//! | `blobs` | files by the hash of their content |
//! | `attach` | adding files, metadata and metrics to a trial, all or nothing |
//! | `experiments`, `remarks` | making, listing and showing; tags, notes, links |
//! | `overview` | the overview row of each experiment: searched, filtered, page by page |
//! | `progress` | progress of runs that write to a trial |
//! | `listing` | what pages query about artifacts |
//! | `removal` | removing, restoring, collecting what is no longer referenced |
//! | `bundle` | an experiment as a folder that another store can import |
//! | `trends` | series by branch, testbed and metric: changes, alerts, limits |
//! | `gate` | whether the metrics of a trial pass |

mod attach;
mod blobs;
mod bundle;
mod database;
mod error;
mod experiments;
mod gate;
mod listing;
mod location;
mod overview;
mod postgresql;
mod progress;
mod remarks;
mod removal;
mod schema;
mod sqlite;
mod trends;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

pub use self::attach::{Attached, Attachment, Content, NewArtifact};
pub use self::blobs::sha256;
pub use self::bundle::{Bundle, BundleTrial};
pub use self::error::StoreError;
pub use self::experiments::{Artifact, Conclusion, ExperimentRow, Metric, Trial, TrialRow};
pub use self::gate::{Judgement, Verdict};
pub use self::location::Location;
pub use self::overview::{
    Choices, OverviewFilter, OverviewOrder, OverviewRow, Page, PageRequest, Status, Summary, Trend,
};
pub use self::progress::Progress;
pub use self::remarks::{Link, Note};
pub use self::removal::Collected;
pub use self::schema::VERSION;
pub use self::trends::{Alert, AlertState, Change, Limit, Point, Series, SeriesKey};

use self::blobs::Blobs;
use self::database::Database;

/// An open store.
pub struct Store {
    database: Box<dyn Database>,
    blobs: Blobs,
}

impl Store {
    /// Opens a store, and creates or migrates its tables if needed.
    pub fn open(location: &Location) -> Result<Self, StoreError> {
        let mut database: Box<dyn Database> = match location {
            Location::Sqlite { path, .. } => Box::new(sqlite::Sqlite::open(path)?),
            Location::PostgreSql { url, .. } => Box::new(postgresql::PostgreSql::connect(url)?),
        };
        schema::prepare(database.as_mut())?;
        Ok(Self { database, blobs: Blobs::open(location.artifacts())? })
    }

    /// The folder of the artifact files.
    pub fn artifacts(&self) -> &Path {
        self.blobs.folder()
    }

    /// Runs a closure in a transaction.
    fn whole<T>(
        &mut self,
        work: impl FnOnce(&mut dyn Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.database.begin()?;
        match work(self.database.as_mut()) {
            Ok(value) => self.database.commit().map(|()| value),
            Err(error) => {
                // The first error says more than that of the clean-up.
                let _ = self.database.rollback();
                Err(error)
            }
        }
    }
}

/// Nanoseconds since 1970.
fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as i64)
}
