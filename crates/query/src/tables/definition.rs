//! Declares a virtual table: name, columns with their types, and the source of each value.

use rusqlite::types::ValueRef;

use super::model::Model;

/// A value of a row.
pub(super) enum Cell<'m> {
    Null,
    Int(i64),
    Real(f64),
    Text(&'m str),
    Made(String),
}

impl Cell<'_> {
    /// The value in SQLite's form.
    pub fn as_value(&self) -> ValueRef<'_> {
        match self {
            Cell::Null => ValueRef::Null,
            Cell::Int(value) => ValueRef::Integer(*value),
            Cell::Real(value) => ValueRef::Real(*value),
            Cell::Text(text) => ValueRef::Text(text.as_bytes()),
            Cell::Made(text) => ValueRef::Text(text.as_bytes()),
        }
    }
}

impl From<i64> for Cell<'_> {
    fn from(value: i64) -> Self {
        Cell::Int(value)
    }
}

impl From<Option<i64>> for Cell<'_> {
    fn from(value: Option<i64>) -> Self {
        value.map_or(Cell::Null, Cell::Int)
    }
}

impl From<trace::OptI64> for Cell<'_> {
    fn from(value: trace::OptI64) -> Self {
        value.get().into()
    }
}

impl From<f64> for Cell<'_> {
    fn from(value: f64) -> Self {
        if value.is_nan() { Cell::Null } else { Cell::Real(value) }
    }
}

impl<'m> From<&'m str> for Cell<'m> {
    fn from(text: &'m str) -> Self {
        Cell::Text(text)
    }
}

impl<'m> From<Option<&'m str>> for Cell<'m> {
    fn from(text: Option<&'m str>) -> Self {
        text.map_or(Cell::Null, Cell::Text)
    }
}

/// A column: name, declared type, and the value for a row.
pub(super) struct ColumnDef {
    pub name: &'static str,
    pub declared: &'static str,
    pub get: for<'m> fn(&'m Model, usize) -> Cell<'m>,
}

/// The sorted times of a table's rows.
pub(super) type Times = fn(&Model) -> &[i64];

/// A virtual table.
pub(super) struct TableDef {
    pub name: &'static str,
    pub columns: &'static [ColumnDef],
    /// How many rows it has.
    pub rows: fn(&Model) -> usize,
    /// Whether `id` is the row number, starting at 1.
    pub numbered: bool,
    /// Name of the column that rows are sorted by, and its values.
    pub time: Option<(&'static str, Times)>,
}

impl TableDef {
    /// The index of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }
}

/// Declares tables: `table!(table::NAME, numbered by "start" |m| &m.trace.kernels.start; |m| rows; { "id" INTEGER = …; })`.
macro_rules! tables {
    ($($name:path $(, numbered $numbered:literal)? $(, sorted by $time:literal $values:expr)?, rows $rows:expr, {
        $($column:literal $declared:ident = $get:expr;)*
    })*) => {
        &[$($crate::tables::definition::TableDef {
            name: $name,
            columns: &[$($crate::tables::definition::ColumnDef {
                name: $column,
                declared: stringify!($declared),
                get: $get,
            },)*],
            rows: $rows,
            numbered: false $(|| $numbered)?,
            time: $crate::tables::definition::tables!(@time $($time $values)?),
        },)*]
    };
    (@time) => { None };
    (@time $time:literal $values:expr) => { Some(($time, $values)) };
}
pub(super) use tables;

/// Row number, starting at 1.
pub(super) fn number(row: usize) -> Cell<'static> {
    Cell::Int(row as i64 + 1)
}
