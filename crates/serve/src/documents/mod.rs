//! Stored JSON of analyses, read once and kept while there is room.

mod read;
mod rows;
mod texts;

use std::sync::{Arc, Mutex, PoisonError};

use report::Chart;
use serde_json::Value as Json;

use crate::error::Problem;

pub use self::rows::{Cell, Rows};

/// Memory that kept documents may take.
const ROOM: usize = 96 << 20;
/// Artifacts above this size are not shown, only downloaded.
pub const MOST_BYTES: i64 = 256 << 20;

/// Artifacts above this size are read one at a time.
const LARGE: i64 = 4 << 20;

/// What an analysis printed.
#[derive(Default)]
pub struct Document {
    /// Version of its contract; artifacts of the contract have none.
    pub schema: Option<i64>,
    /// The command that printed it.
    pub command: String,
    /// `verdict`, `health`, `findings`, `result` unchanged; null if absent.
    pub parts: Json,
    /// Sentences below the tables.
    pub notes: Vec<String>,
    /// Charts that can be drawn.
    pub charts: Vec<Chart>,
    /// Tables with their names.
    pub tables: Vec<(String, Rows)>,
}

impl Document {
    /// Reads an artifact. `name` is what a plain list of rows is called.
    pub fn read(bytes: &[u8], name: &str) -> Result<Self, String> {
        read::document(bytes, name)
    }

    /// The table with that name.
    pub fn table(&self, name: &str) -> Option<&Rows> {
        self.tables.iter().find(|(there, _)| there == name).map(|(_, rows)| rows)
    }

    /// The chart with that name.
    pub fn chart(&self, name: &str) -> Option<&Chart> {
        self.charts.iter().find(|chart| chart.name == name)
    }

    /// About how much memory it takes.
    fn size(&self) -> usize {
        let tables: usize = self.tables.iter().map(|(_, rows)| rows.size()).sum();
        // Charts and findings are small compared with tables.
        tables + 64 * 1024 * (1 + self.charts.len())
    }
}

/// Documents by the hash of their bytes.
#[derive(Default)]
pub struct Documents {
    /// The one used last first.
    kept: Mutex<Vec<(String, Arc<Document>)>>,
    /// Held while a large document is read: one at a time takes memory, and waiting readers find it kept.
    large: Mutex<()>,
}

impl Documents {
    /// The document of a hash, if it is kept.
    pub fn kept(&self, sha256: &str) -> Option<Arc<Document>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(hash, _)| hash == sha256)?;
        let entry = kept.remove(at);
        kept.insert(0, entry);
        Some(Arc::clone(&kept[0].1))
    }

    /// Reads a document of this size and keeps it while there is room; blocks.
    pub fn read(
        &self,
        sha256: &str,
        size: i64,
        name: &str,
        bytes: impl FnOnce() -> Result<Vec<u8>, Problem>,
    ) -> Result<Arc<Document>, Problem> {
        let _turn = (size > LARGE).then(|| self.large.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(document) = self.kept(sha256) {
            return Ok(document);
        }
        let unreadable = |why: String| {
            Problem::new(
                axum::http::StatusCode::UNPROCESSABLE_ENTITY,
                "unreadable",
                format!("`{name}`: {why}"),
            )
        };
        let document = Arc::new(Document::read(&bytes()?, name).map_err(unreadable)?);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(0, (sha256.to_string(), Arc::clone(&document)));
        let mut used = 0;
        kept.retain(|(_, document)| {
            used += document.size();
            used <= ROOM
        });
        Ok(document)
    }
}
