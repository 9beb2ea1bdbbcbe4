//! What both databases can do. SQL is written once: `$1`, `$2` … stand for values, numbered in the order in which they
//! first occur.

use crate::error::StoreError;

/// One value of a row or of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// SQL `NULL`.
    Null,
    /// A whole number.
    Int(i64),
    /// A number.
    Real(f64),
    /// Text.
    Text(String),
}

/// A row as it was selected.
pub type Row = Vec<Cell>;

/// A database with one connection.
pub trait Database: Send {
    /// Runs a statement; returns the rows that it selects or returns.
    fn query(&mut self, sql: &str, values: &[Cell]) -> Result<Vec<Row>, StoreError>;

    /// Runs several statements without values.
    fn batch(&mut self, sql: &str) -> Result<(), StoreError>;

    /// Begins a transaction; other writers wait.
    fn begin(&mut self) -> Result<(), StoreError>;

    /// Commits the transaction durably.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// Rolls the transaction back.
    fn rollback(&mut self) -> Result<(), StoreError>;

    /// The column type of a number that the database assigns.
    fn identity(&self) -> &'static str;

    /// Whether there is a table of that name.
    fn has_table(&mut self, name: &str) -> Result<bool, StoreError>;

    /// Lets only this connection prepare tables until the transaction ends.
    fn lock_schema(&mut self) -> Result<(), StoreError>;

    /// Copies everything before tables change.
    fn backup(&mut self, version: i64, tables: &[&str]) -> Result<(), StoreError>;
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_string())
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Self {
        Cell::Text(text.clone())
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Cell::Int(number)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Cell::Real(number)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Into::into)
    }
}

impl Cell {
    /// The number; 0 for anything else.
    pub fn int(&self) -> i64 {
        match self {
            Cell::Int(number) => *number,
            Cell::Real(number) => *number as i64,
            _ => 0,
        }
    }

    /// The number, if there is one.
    pub fn real(&self) -> Option<f64> {
        match self {
            Cell::Int(number) => Some(*number as f64),
            Cell::Real(number) => Some(*number),
            _ => None,
        }
    }

    /// The text; empty for anything else.
    pub fn text(&self) -> String {
        self.text_or_none().unwrap_or_default()
    }

    /// The text, if there is one.
    pub fn text_or_none(&self) -> Option<String> {
        match self {
            Cell::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// Whether it is `NULL`.
    pub fn is_null(&self) -> bool {
        *self == Cell::Null
    }
}
