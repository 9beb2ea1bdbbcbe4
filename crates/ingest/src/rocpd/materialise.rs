//! Databases whose rocpd names are views over something else, or tables without rowids: SQLite copies their
//! rows into plain tables of a temporary file, which is then read like any other.

use std::path::{Path, PathBuf};

use files::TemporaryFolder;
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, OpenFlags};

use super::groups::base_of;
use crate::Error;
use crate::sqlite::Database;

/// A temporary database that is deleted on drop.
pub(super) struct Copy {
    folder: TemporaryFolder,
}

impl Copy {
    /// Path of the file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("copy.db")
    }
}

/// Whether rows are accessible only through SQLite: there are rocpd names, none of them a plain table.
pub(super) fn needed(database: &Database) -> bool {
    let plain = database.tables.iter().any(|t| t.has_rows && base_of(&t.name).is_some());
    let rowless = database.tables.iter().any(|t| !t.has_rows && base_of(&t.name).is_some());
    let views = database.views.iter().any(|name| base_of(name).is_some());
    !plain && (views || rowless)
}

/// Copies the rows behind the rocpd names. The original is opened read-only.
pub(super) fn tables(path: &Path) -> Result<Copy, Error> {
    let damaged = |why: String| Error::Damaged { path: path.into(), format: "rocpd", why };
    let folder = TemporaryFolder::of_system().map_err(|e| damaged(format!("no temporary folder: {e}")))?;
    let copy = Copy { folder };
    // Passed as a parameter and a path, never as text of a statement: paths contain quotes.
    let target = Connection::open(copy.path()).map_err(|e| damaged(e.to_string()))?;
    let source =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(|e| damaged(e.to_string()))?;
    copy_tables(&source, &target).map_err(|e| damaged(e.to_string()))?;
    Ok(copy)
}

fn copy_tables(source: &Connection, target: &Connection) -> rusqlite::Result<()> {
    let mut names = source.prepare("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")?;
    let names: Vec<String> = names.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    target.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")?;
    for name in names.iter().filter(|name| base_of(name).is_some()) {
        let quoted = name.replace('"', "\"\"");
        // A broken view counts as a missing table.
        let Ok(mut rows) = source.prepare(&format!("SELECT * FROM \"{quoted}\"")) else { continue };
        let columns: Vec<String> =
            rows.column_names().map(|name| format!("\"{}\"", name.replace('"', "\"\""))).collect();
        target.execute_batch(&format!("CREATE TABLE \"{quoted}\" ({})", columns.join(", ")))?;
        let places = vec!["?"; columns.len()].join(", ");
        let mut insert = target.prepare(&format!("INSERT INTO \"{quoted}\" VALUES ({places})"))?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            for i in 0..columns.len() {
                insert.raw_bind_parameter(i + 1, ToSqlOutput::Borrowed(row.get_ref(i)?))?;
            }
            insert.raw_execute()?;
        }
    }
    target.execute_batch("COMMIT")
}
