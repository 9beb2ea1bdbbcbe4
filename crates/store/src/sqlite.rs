//! The store in a SQLite file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};

use crate::database::{Cell, Database, Row};
use crate::error::StoreError;

/// How long a writer waits for another one.
const PATIENCE: Duration = Duration::from_secs(60);

/// Statements that are kept prepared; most texts are constant.
const MOST_STATEMENTS: usize = 100;

/// A database file.
pub struct Sqlite {
    connection: Connection,
    path: PathBuf,
}

impl Sqlite {
    /// Opens or creates the file.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(StoreError::write(folder))?;
        }
        let unreadable =
            |error: rusqlite::Error| StoreError::Unreachable(format!("`{}`: {error}", path.display()));
        let connection = Connection::open(path).map_err(unreadable)?;
        connection.busy_timeout(PATIENCE)?;
        connection.set_prepared_statement_cache_capacity(MOST_STATEMENTS);
        // What was acknowledged must survive a power cut, so every commit is synced.
        connection
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")
            .map_err(unreadable)?;
        Ok(Self { connection, path: path.to_path_buf() })
    }
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Cell::Null => ValueRef::Null,
            Cell::Int(number) => ValueRef::Integer(*number),
            Cell::Real(number) => ValueRef::Real(*number),
            Cell::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

impl Database for Sqlite {
    fn query(&mut self, sql: &str, values: &[Cell]) -> Result<Vec<Row>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let columns = statement.column_count();
        let mut found = statement.query(rusqlite::params_from_iter(values))?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let cell = |at: usize| {
                Ok::<Cell, rusqlite::Error>(match row.get_ref(at)? {
                    ValueRef::Integer(number) => Cell::Int(number),
                    ValueRef::Real(number) => Cell::Real(number),
                    ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
                    ValueRef::Null | ValueRef::Blob(_) => Cell::Null,
                })
            };
            rows.push((0..columns).map(cell).collect::<Result<Row, _>>()?);
        }
        Ok(rows)
    }

    fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        Ok(self.connection.execute_batch(sql)?)
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        self.batch("BEGIN IMMEDIATE")
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.batch("COMMIT")
    }

    fn rollback(&mut self) -> Result<(), StoreError> {
        self.batch("ROLLBACK")
    }

    fn identity(&self) -> &'static str {
        "INTEGER PRIMARY KEY"
    }

    fn has_table(&mut self, name: &str) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1";
        Ok(!self.query(sql, &[name.into()])?.is_empty())
    }

    fn lock_schema(&mut self) -> Result<(), StoreError> {
        // `BEGIN IMMEDIATE` did it.
        Ok(())
    }

    fn backup(&mut self, version: i64, _: &[&str]) -> Result<(), StoreError> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let target = self.path.with_file_name(format!("{name}.v{version}.backup"));
        let output = files::OutputFile::reserve(&target).map_err(StoreError::write(&target))?;
        // Inside the transaction of the migration, so a second connection reads: it sees all that was committed.
        let reader = Connection::open_with_flags(&self.path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        reader.busy_timeout(PATIENCE)?;
        let partial = output.partial().to_string_lossy().into_owned();
        reader.execute("VACUUM INTO ?1", [partial])?;
        output.commit().map_err(StoreError::write(&target))
    }
}
