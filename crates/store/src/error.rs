//! Errors of a store.

use std::path::{Path, PathBuf};

use crate::postgresql;

/// Why something was not stored or found.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No experiment has this name.
    #[error("there is no experiment `{0}`")]
    NoExperiment(String),
    /// The experiment has no such trial.
    #[error("experiment `{0}` has no trial `{1}`")]
    NoTrial(String, String),
    /// The name is taken.
    #[error("experiment `{0}` already exists")]
    Exists(String),
    /// The name belongs to something that was removed and can still come back.
    #[error("`{0}` was removed and can still be restored")]
    Removed(String),
    /// Nothing with that name was removed.
    #[error("`{0}` is not removed")]
    NotRemoved(String),
    /// An invalid name.
    #[error("`{0}` cannot be a name: {1}")]
    BadName(String, &'static str),
    /// The trial has a different file with that name.
    #[error("trial `{trial}` has another `{path}` already")]
    Differs {
        /// The trial.
        trial: String,
        /// The artifact's name.
        path: String,
    },
    /// An invalid bundle or row.
    #[error("{0}")]
    Malformed(String),
    /// No open alert has that number.
    #[error("there is no alert `{0}`")]
    NoAlert(String),
    /// Written by a newer program.
    #[error("the store has schema {found}, this program knows up to {known}")]
    Newer {
        /// The version found.
        found: i64,
        /// The newest known version.
        known: i64,
    },
    /// A file could not be read or written.
    #[error("cannot {what} `{}`: {}", path.display(), error.to_string().to_lowercase())]
    File {
        /// `read` or `write`.
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The database reported an error.
    #[error("the database fails: {0}")]
    Database(String),
    /// The database cannot be reached.
    #[error("cannot reach the database: {0}")]
    Unreachable(String),
}

impl StoreError {
    /// A file that cannot be read.
    pub(crate) fn read(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        |error| StoreError::File { what: "read", path, error }
    }

    /// A file that cannot be written.
    pub(crate) fn write(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        |error| StoreError::File { what: "write", path, error }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        StoreError::Database(error.to_string())
    }
}

impl From<postgres::Error> for StoreError {
    fn from(error: postgres::Error) -> Self {
        let why = match error.as_db_error() {
            Some(told) => told.message().to_string(),
            None => error.to_string(),
        };
        if postgresql::is_lost(&error) { StoreError::Unreachable(why) } else { StoreError::Database(why) }
    }
}
