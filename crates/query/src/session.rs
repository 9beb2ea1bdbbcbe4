//! A session: inputs opened once, queried any number of times.

use std::path::PathBuf;
use std::sync::Arc;

use convert::rocpd::part::ExcludedRows;
use ingest::{Format, Progress};
use rusqlite::types::Value;
use rusqlite::{Connection, InterruptHandle};
use trace::{Health, Trace};

use crate::catalogue::{self, Relation};
use crate::error::{Error, SqlError, TextPosition};
use crate::guard::{self, Refused};
use crate::result::{ResultSet, Script};
use crate::{databases, functions, hint, needs, script, tables};

/// Inputs that can be queried.
pub struct Session {
    connection: Connection,
    refused: Refused,
    health: Health,
    /// Databases that were copied because they could not be read in place; removed with the session.
    _copies: Vec<tempfile::TempDir>,
}

impl Session {
    /// Opens files and folders. rocpd databases alone are queried directly; other inputs, and a mix, are read
    /// into a trace first.
    pub fn open(paths: &[PathBuf], progress: &Progress) -> Result<Session, Error> {
        Self::open_for(paths, None, progress)
    }

    /// Opens files and folders for the statements of one text; reads only the parts of a trace they need.
    pub fn open_for(paths: &[PathBuf], sql: Option<&str>, progress: &Progress) -> Result<Session, Error> {
        let inputs = ingest::find_inputs(paths)?;
        let is_of_trace = sql.is_some_and(needs::names_rows_of_trace);
        if inputs.iter().all(|input| input.format == Format::Rocpd) && !is_of_trace {
            Self::of_databases(inputs.into_iter().map(|input| input.path).collect())
        } else {
            Self::of_trace(ingest::read(paths, &needs::of(sql), progress)?)
        }
    }

    /// Opens rocpd databases directly.
    pub fn of_databases(paths: Vec<PathBuf>) -> Result<Session, Error> {
        let read = {
            let paths = paths.clone();
            move || ingest::read(&paths, &needs::made(), &Progress::default()).map_err(|e| e.to_string())
        };
        Self::of_files(paths, &ExcludedRows::default(), read)
    }

    /// Opens rocpd databases directly, without rows that a window or filter leaves out; `trace` has the rest.
    pub fn of_part(paths: Vec<PathBuf>, part: &ExcludedRows, trace: Arc<Trace>) -> Result<Session, Error> {
        Self::of_files(paths, part, move || Ok(Trace::clone(&trace)))
    }

    fn of_files(
        paths: Vec<PathBuf>,
        part: &ExcludedRows,
        read: impl Fn() -> Result<Trace, String> + Send + Sync + 'static,
    ) -> Result<Session, Error> {
        let mut connection = empty_connection().map_err(internal)?;
        let opened = databases::open(&mut connection, paths, part)?;
        tables::create_made(&mut connection, read).map_err(internal)?;
        Self::guarded(connection, opened.health, opened.copies)
    }

    /// Queries a finished trace.
    pub fn of_trace(trace: Trace) -> Result<Session, Error> {
        let mut connection = empty_connection().map_err(internal)?;
        let health = trace.health.clone();
        tables::create(&mut connection, trace).map_err(internal)?;
        Self::guarded(connection, health, Vec::new())
    }

    fn guarded(
        mut connection: Connection,
        health: Health,
        copies: Vec<tempfile::TempDir>,
    ) -> Result<Session, Error> {
        let refused = guard::install(&mut connection).map_err(internal)?;
        Ok(Session { connection, refused, health, _copies: copies })
    }

    /// Known problems with the inputs: the same database given twice, missing tables …
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// Adds health checks made elsewhere.
    pub fn add_health(&mut self, health: Health) {
        self.health.checks.extend(health.checks);
    }

    /// Adds a table of results under a name; it hides a table of that name in the inputs.
    pub fn add_table(&self, name: &str, columns: &[&str], rows: &[Vec<Value>]) -> Result<(), Error> {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let list: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
        let marks = vec!["?"; columns.len()].join(", ");
        let add = || -> rusqlite::Result<()> {
            self.connection
                .execute(&format!("CREATE TEMP TABLE {} ({})", quoted(name), list.join(", ")), [])?;
            let mut insert =
                self.connection.prepare(&format!("INSERT INTO temp.{} VALUES ({marks})", quoted(name)))?;
            for row in rows {
                insert.execute(rusqlite::params_from_iter(row))?;
            }
            Ok(())
        };
        add().map_err(internal)
    }

    /// Runs every statement of a text and returns the result of the last, with rows on demand.
    pub fn run<'s>(&'s self, sql: &'s str) -> Result<ResultSet<'s>, Error> {
        self.run_with(sql, &[])
    }

    /// Like `run`, with values for the `?` in the statements, in order.
    pub fn run_with<'s>(&'s self, sql: &'s str, values: &'s [Value]) -> Result<ResultSet<'s>, Error> {
        let mut script = self.script(sql)?.with_values(values);
        loop {
            match script.next()? {
                Some(result) if script.is_done() => return Ok(result),
                Some(mut result) => result.drain()?,
                None => return Err(self.no_statement()),
            }
        }
    }

    /// The statements of a text, to be run one at a time with the result of each.
    pub fn script<'s>(&'s self, sql: &'s str) -> Result<Script<'s>, Error> {
        let pieces = script::split(sql);
        if pieces.is_empty() {
            return Err(self.no_statement());
        }
        Ok(Script::new(self, sql, pieces))
    }

    /// Tables and views with their columns, sorted by name.
    pub fn relations(&self) -> Vec<Relation> {
        catalogue::list(&self.connection).unwrap_or_default()
    }

    /// A handle that stops the running query from another thread.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        self.connection.get_interrupt_handle()
    }

    /// Calls `check` about every `steps` steps of SQLite's machine; a query stops if it returns true.
    pub fn watch(&mut self, steps: i32, check: impl FnMut() -> bool + Send + 'static) -> Result<(), Error> {
        self.connection.progress_handler(steps, Some(check)).map_err(internal)
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    fn no_statement(&self) -> Error {
        let hint = Some("for example `SELECT * FROM top_kernels`".to_string());
        SqlError { message: "no SQL statement given".to_string(), place: None, hint }.into()
    }

    /// SQLite's error about the statement at `offset` of `sql`, with its place in the whole text and a hint.
    pub(crate) fn explain(&self, error: rusqlite::Error, sql: &str, offset: usize) -> Error {
        let (message, place) = match error {
            rusqlite::Error::SqlInputError { msg, offset: inside, .. } => {
                let place = usize::try_from(inside).ok().map(|inside| TextPosition::at(sql, offset + inside));
                (msg, place)
            }
            rusqlite::Error::SqliteFailure(_, Some(message)) => (message, None),
            other => (other.to_string(), None),
        };
        let start = sql.len() - sql[offset..].trim_start().len();
        if let Some(what) = self.refused.take() {
            let message = format!("{what} is not allowed: a query never changes a trace");
            let hint = Some(
                "`CREATE TEMP TABLE` and `CREATE TEMP VIEW` are allowed; they last for the session".into(),
            );
            return SqlError { message, place: Some(TextPosition::at(sql, start)), hint }.into();
        }
        let place = match message.as_str() {
            "incomplete input" => Some(TextPosition::at(sql, sql.trim_end().len())),
            // Without its own position, an error applies to the statement.
            _ => place.or_else(|| Some(TextPosition::at(sql, start))),
        };
        let hint = hint::hint(&message, sql, &self.relations());
        SqlError { message, place, hint }.into()
    }
}

fn empty_connection() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(
        "PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA cache_size = -65536; PRAGMA threads = 2;",
    )?;
    functions::register(&connection)?;
    Ok(connection)
}

/// An internal failure, which has no position in the user's text.
fn internal(error: rusqlite::Error) -> Error {
    SqlError { message: error.to_string(), place: None, hint: None }.into()
}
