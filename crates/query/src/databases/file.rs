//! One database file, opened so that nothing is ever written to it.

use std::path::{Path, PathBuf};

use convert::rocpd::address::{companions, uri};
use rusqlite::{Connection, OpenFlags};
use trace::{Health, Status};

use super::discover::{self, Group};
use crate::error::Error;

/// A database file and the address under which SQLite opens it.
pub(super) struct File {
    pub path: PathBuf,
    pub uri: String,
    /// The copy that was made, if its journal must be played back first.
    pub copy: Option<tempfile::TempDir>,
}

impl File {
    /// Decides how to read a file: directly if there are no files next to it, otherwise as a copy, in which
    /// SQLite may play back the write-ahead log or the journal. Next to the input, SQLite would leave a
    /// `-shm` file.
    pub fn find(path: &Path, health: &mut Health) -> Result<File, Error> {
        let companions = companions(path);
        let mut file = File { path: path.to_path_buf(), uri: uri(path, "mode=ro&immutable=1"), copy: None };
        if companions.is_empty() {
            return Ok(file);
        }
        let unreadable = |e: std::io::Error| Error::Open { path: path.to_path_buf(), why: e.to_string() };
        let folder = tempfile::tempdir().map_err(unreadable)?;
        for original in companions.iter().map(PathBuf::as_path).chain([path]) {
            let name = original.file_name().unwrap_or_default();
            std::fs::copy(original, folder.path().join(name)).map_err(unreadable)?;
        }
        let copied = folder.path().join(path.file_name().unwrap_or_default());
        file.uri = uri(&copied, "mode=rw");
        file.copy = Some(folder);
        if companions.iter().any(|file| file.to_string_lossy().ends_with("-journal")) {
            let message = format!("the writer of `{}` was interrupted; read a repaired copy", path.display());
            health.report("journal", Status::Warn, None, message);
        }
        Ok(file)
    }

    /// Opens a separate connection.
    pub fn open(&self) -> Result<Connection, Error> {
        open(&self.uri).map_err(|e| self.error(e))
    }

    /// Attaches it to another connection and returns its groups.
    pub fn attach(&self, connection: &Connection, name: &str) -> Result<Vec<Group>, Error> {
        let attached = connection.execute("ATTACH ?1 AS ?2", (&self.uri, name)).and_then(|_| {
            connection.execute_batch(&format!("PRAGMA {name}.mmap_size = {MAPPED_BYTES}"))?;
            discover::groups(connection, name)
        });
        attached.map_err(|e| self.error(e))
    }

    /// Translates SQLite's reason.
    pub fn error(&self, error: rusqlite::Error) -> Error {
        let path = self.path.clone();
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => {
                let why = "it is not a SQLite database".to_string();
                ingest::Error::NotATrace { path, why }.into()
            }
            Some(rusqlite::ErrorCode::DatabaseCorrupt) => {
                ingest::Error::Damaged { path, format: "rocpd", why: error.to_string() }.into()
            }
            _ => Error::Open { path, why: error.to_string() },
        }
    }
}

/// Databases are mapped completely: pages are then read without a copy.
const MAPPED_BYTES: i64 = 1 << 40;

/// Opens a database by its address.
pub(super) fn open(uri: &str) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri, flags)?;
    connection.execute_batch(&format!(
        "PRAGMA mmap_size = {MAPPED_BYTES}; PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;"
    ))?;
    convert::rocpd::versions::register(&connection)?;
    Ok(connection)
}
