//! Tables of a trace as files of a dataset: the same columns, without those in the dataset's folder names,
//! and with precomputed columns.

use std::io;
use std::sync::Arc;

use trace::Trace;

use super::columns::{Column, Values, number};
use super::{tables, writer};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Integers.
    Number,
    /// Measured values.
    Real,
    /// Strings.
    Text,
}

/// A column of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileColumn {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub holds: Holds,
    /// Whether every row has a value.
    pub required: bool,
}

/// A column computed from the trace: a number for each row of a table.
#[derive(Clone, Debug)]
pub struct Computed {
    /// The table.
    pub table: &'static str,
    /// The column's name.
    pub name: &'static str,
    /// Its values.
    pub values: Arc<[i64]>,
}

/// How a dataset's files differ from standalone ones.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Columns to leave out.
    pub without: &'static [&'static str],
    /// Columns to add.
    pub computed: Vec<Computed>,
    /// Rows per row group; 0: as in standalone files.
    pub group: usize,
}

/// The columns of a table's files; empty for a table that does not exist.
pub fn columns(table: &str, without: &[&str]) -> Vec<FileColumn> {
    let Some(table) = tables::all().iter().find(|known| known.name == table) else { return Vec::new() };
    let columns = (table.columns)().into_iter().filter(|column| !without.contains(&column.name));
    columns.map(|column| FileColumn::of(&column)).collect()
}

/// Rows of a table in a trace.
pub fn rows(trace: &Trace, table: &str) -> usize {
    tables::all().iter().find(|known| known.name == table).map_or(0, |table| (table.rows)(trace))
}

/// Writes one table of a trace.
pub fn write<W: io::Write + Send>(trace: &Trace, table: &str, layout: &Layout, output: W) -> io::Result<W> {
    let known = tables::all().iter().find(|known| known.name == table);
    let table = known.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no table {table}")))?;
    let mut columns = (table.columns)();
    columns.retain(|column| !layout.without.contains(&column.name));
    for computed in layout.computed.iter().filter(|computed| computed.table == table.name) {
        let values = Arc::clone(&computed.values);
        columns.push(number(computed.name, move |_, row| values.get(row).copied()));
    }
    let group = if layout.group == 0 { writer::GROUP } else { layout.group };
    writer::fill(trace, table.name, (table.rows)(trace), &columns, group, output)
}

impl FileColumn {
    fn of(column: &Column) -> Self {
        let (holds, required) = match column.values {
            Values::Time(_) => (Holds::Number, true),
            Values::Number(_) | Values::Code(_) => (Holds::Number, false),
            Values::Real(_) => (Holds::Real, false),
            Values::Text(_) | Values::CommandLine(_) => (Holds::Text, false),
        };
        Self { name: column.name, holds, required }
    }
}
