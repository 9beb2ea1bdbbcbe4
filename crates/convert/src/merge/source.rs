//! One database to merge, opened so that nothing is ever written to it or next to it.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use trace::{Health, Status};

use super::Error;
use crate::rocpd::address::{companions, uri};
use files::TemporaryFolder;

/// A database and the address under which SQLite attaches it.
pub(super) struct Source {
    pub path: PathBuf,
    uri: String,
    /// The copy, if its journal or log must be replayed first; deleted when this is dropped.
    _copy: Option<TemporaryFolder>,
}

impl Source {
    /// Decides how to read a file: directly if it has no companion files, otherwise as a copy near `target`,
    /// in which SQLite may replay the journal of an interrupted writer or the write-ahead log.
    pub fn find(path: &Path, number: usize, target: &Path, health: &mut Health) -> Result<Self, Error> {
        let companions = companions(path);
        if companions.is_empty() {
            let uri = uri(path, "mode=ro&immutable=1");
            return Ok(Self { path: path.into(), uri, _copy: None });
        }
        let failed = |e: std::io::Error| Error::input(path, &e);
        let name = path.file_name().unwrap_or_default();
        // Inputs from several folders may have equal names.
        let copy =
            TemporaryFolder::beside(&target.with_file_name(format!("input-{number}"))).map_err(failed)?;
        let folder = copy.path().to_path_buf();
        for original in companions.iter().map(PathBuf::as_path).chain([path]) {
            let copied = folder.join(original.file_name().unwrap_or_default());
            std::fs::copy(original, copied).map_err(failed)?;
        }
        if companions.iter().any(|file| file.to_string_lossy().ends_with("-journal")) {
            let message =
                format!("the writer of `{}` was interrupted; merged a repaired copy", path.display());
            health.report("journal", Status::Warn, None, message);
        }
        Ok(Self { path: path.into(), uri: uri(&folder.join(name), "mode=rw"), _copy: Some(copy) })
    }

    /// Attaches it under a name; `detach` ends that.
    pub fn attach(&self, connection: &Connection, name: &str) -> Result<(), Error> {
        let attached = connection.execute("ATTACH ?1 AS ?2", (&self.uri, name));
        attached.map(|_| ()).map_err(|e| Error::input(&self.path, &e))
    }

    /// Undoes `attach`.
    pub fn detach(&self, connection: &Connection, name: &str) -> Result<(), Error> {
        connection.execute("DETACH ?1", [name]).map(|_| ()).map_err(|e| Error::input(&self.path, &e))
    }
}
