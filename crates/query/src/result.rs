//! Results: the statements of a script one after another, and the rows of each on demand.

use rusqlite::Statement;
use rusqlite::types::{Value, ValueRef};

use crate::Session;
use crate::error::{Error, SqlError};
use crate::script::Piece;

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The declared type of the table column behind it, if there is one.
    pub declared: Option<String>,
}

/// The statements of a text, run one at a time.
pub struct Script<'s> {
    session: &'s Session,
    sql: &'s str,
    pieces: std::vec::IntoIter<Piece<'s>>,
    values: &'s [Value],
}

impl<'s> Script<'s> {
    pub(crate) fn new(session: &'s Session, sql: &'s str, pieces: Vec<Piece<'s>>) -> Self {
        Script { session, sql, pieces: pieces.into_iter(), values: &[] }
    }

    /// Sets values for the `?` of each statement.
    pub(crate) fn with_values(self, values: &'s [Value]) -> Self {
        Script { values, ..self }
    }

    /// Binds a statement's values; without values they are NULL.
    fn bind(&self, statement: &mut Statement<'_>, offset: usize) -> Result<(), Error> {
        let wanted = statement.parameter_count();
        if !self.values.is_empty() && wanted != self.values.len() {
            let message =
                format!("the statement has {wanted} parameters, but {} values were given", self.values.len());
            return Err(SqlError { message, place: None, hint: None }.into());
        }
        for (place, value) in self.values.iter().enumerate() {
            let bound = statement.raw_bind_parameter(place + 1, value);
            bound.map_err(|error| self.session.explain(error, self.sql, offset))?;
        }
        Ok(())
    }

    /// Prepares the next statement; it runs as its rows are read, or immediately if it returns none.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<ResultSet<'s>>, Error> {
        let Some(piece) = self.pieces.next() else { return Ok(None) };
        let prepared = self.session.connection().prepare(piece.sql);
        let mut statement = prepared.map_err(|e| self.session.explain(e, self.sql, piece.offset))?;
        self.bind(&mut statement, piece.offset)?;
        let columns: Vec<Column> = statement
            .columns()
            .map(|c| Column { name: c.name().to_string(), declared: c.decl_type().map(str::to_string) })
            .collect();
        let mut result =
            ResultSet { session: self.session, sql: self.sql, offset: piece.offset, statement, columns };
        if result.columns.is_empty() {
            result.execute()?;
        }
        Ok(Some(result))
    }

    /// Whether the last statement was already returned.
    pub fn is_done(&self) -> bool {
        self.pieces.len() == 0
    }
}

/// The result of one statement.
pub struct ResultSet<'s> {
    session: &'s Session,
    sql: &'s str,
    offset: usize,
    statement: Statement<'s>,
    columns: Vec<Column>,
}

impl ResultSet<'_> {
    /// Its columns; empty if the statement returns no rows, such as `CREATE TEMP VIEW`.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The rows, computed on demand. A statement without columns has already run and has none.
    pub fn rows(&mut self) -> Rows<'_> {
        let rows = (!self.columns.is_empty()).then(|| self.statement.raw_query());
        Rows { session: self.session, sql: self.sql, offset: self.offset, rows }
    }

    /// All rows at once, for small results.
    pub fn collect(&mut self) -> Result<Vec<Vec<Value>>, Error> {
        let width = self.columns.len();
        let mut rows = self.rows();
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push((0..width).map(|i| owned(row.value(i))).collect());
        }
        Ok(all)
    }

    /// Runs to the end, and discards the rows.
    pub(crate) fn drain(&mut self) -> Result<(), Error> {
        let mut rows = self.rows();
        while rows.next()?.is_some() {}
        Ok(())
    }

    /// Runs a statement without columns.
    fn execute(&mut self) -> Result<(), Error> {
        let (session, sql, offset) = (self.session, self.sql, self.offset);
        match self.statement.raw_query().next() {
            Ok(_) => Ok(()),
            Err(error) => Err(session.explain(error, sql, offset)),
        }
    }
}

/// Rows of a result.
pub struct Rows<'r> {
    session: &'r Session,
    sql: &'r str,
    offset: usize,
    rows: Option<rusqlite::Rows<'r>>,
}

impl Rows<'_> {
    /// The next row.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Row<'_>>, Error> {
        let (session, sql, offset) = (self.session, self.sql, self.offset);
        let Some(rows) = &mut self.rows else { return Ok(None) };
        match rows.next() {
            Ok(row) => Ok(row.map(Row)),
            Err(error) => Err(session.explain(error, sql, offset)),
        }
    }
}

/// One row.
pub struct Row<'r>(&'r rusqlite::Row<'r>);

impl Row<'_> {
    /// The value of column `i`; NULL beyond the last.
    pub fn value(&self, i: usize) -> ValueRef<'_> {
        self.0.get_ref(i).unwrap_or(ValueRef::Null)
    }
}

/// An owned value; text that is not UTF-8 gets replacement characters.
pub(crate) fn owned(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}
