//! Lakes: the traces of many ranks as one partitioned Parquet dataset, and SQL over it.
//!
//! ```text
//! traces ─► build (a rank at a time) ─► tables/TABLE/run=R/node=N/rank=K/part.parquet + a manifest per rank
//! SQL ─► Engine ─┬─ Session: DataFusion in this process ─┬─► rows
//!                └─ Cluster: `rocm-perf-cluster query` ──┘
//! ```
//!
//! A rank is in a lake whole or not at all: its files are announced before the first is written, and its manifest is
//! written last. Nodes can write at the same time without coordination, because no two ranks share a file.
//!
//! DataFusion takes minutes to build, so everything that needs it is behind the feature `engine`.

mod address;
mod cluster;
pub mod compare;
mod error;
pub mod rows;
pub mod summary;
mod wire;

#[cfg(feature = "engine")]
pub mod build;
#[cfg(feature = "engine")]
pub mod check;
#[cfg(feature = "engine")]
mod lake;
#[cfg(feature = "engine")]
mod manifest;
#[cfg(feature = "engine")]
pub mod present;
#[cfg(feature = "engine")]
mod session;
#[cfg(feature = "engine")]
mod store;
#[cfg(feature = "engine")]
pub mod tables;
#[cfg(feature = "engine")]
mod upload;

pub use address::Address;
pub use cluster::{CLUSTER_FAILED, Cluster};
pub use error::Error;
pub use wire::{end as last_line, write as write_lines};

#[cfg(feature = "engine")]
pub use lake::{Lake, Partition};
#[cfg(feature = "engine")]
pub use manifest::{Manifest, SourceFile, TableFile, Warning};
#[cfg(feature = "engine")]
pub use session::{Session, checked, explain, half_of_memory, send, settings};
#[cfg(feature = "engine")]
pub use store::Stores;

/// Whether this build can build lakes and query them in process.
pub const AVAILABLE: bool = cfg!(feature = "engine");

/// The version of lakes that this program writes, and the newest that it reads.
pub const VERSION: u32 = 1;

/// What runs SQL on a lake.
pub trait Engine {
    /// Runs one statement and hands over its rows in pieces as they come.
    fn run(&self, sql: &str, take: &mut rows::Take<'_>) -> Result<(), Error>;
}
