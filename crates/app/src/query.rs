//! SQL with rocpd's names on any trace.

use std::path::PathBuf;

use report::{Column, InputFact, Report, Table, Unit, Value};
use trace::Needs;

use crate::failure::Failure;
use crate::input::Input;
use crate::observer::{Observer, watched};

pub use query::{Relation, Session};
use query::{ResultSet, ValueRef};

/// Opens inputs for statements; `sql` narrows what is read to what they name.
pub fn open(input: &Input, sql: Option<&str>, observer: &dyn Observer) -> Result<Session, Failure> {
    if input.filters.is_empty() {
        return watched("reading", observer, |progress| Session::open_for(&input.paths, sql, progress));
    }
    // A part is a trace of its own: the files themselves hold all of it.
    Ok(Session::of_trace(input.read(&Needs::everything(), observer)?)?)
}

/// Runs statements; the report has the first `limit` rows (0: all) of the last one's result.
pub fn query(session: &Session, paths: &[PathBuf], sql: &str, limit: usize) -> Result<Report, Failure> {
    let mut result = session.run(sql)?;
    let mut report = Report { command: "query".into(), ..Report::default() };
    report.inputs = paths.iter().map(input_fact).collect();
    report.health = analysis::health(session.health());
    if !result.columns().is_empty() {
        report.tables.push(collect(&mut result, limit)?);
    }
    Ok(report)
}

/// Runs statements and gives the rows of the last one's result in pieces, while they come; false ends it.
pub fn query_pieces(
    session: &Session,
    sql: &str,
    most_rows: usize,
    show: &mut dyn FnMut(&Table, bool) -> bool,
) -> Result<(), Failure> {
    /// Rows held before they are given.
    const PIECE: usize = 4096;
    let mut result = session.run(sql)?;
    let mut piece = empty_table(&result);
    let width = piece.columns.len();
    if width == 0 {
        return Ok(());
    }
    let (mut first, mut given) = (true, 0);
    let mut rows = result.rows();
    while let Some(row) = rows.next()? {
        piece.push((0..width).map(|i| cell(row.value(i))).collect());
        given += 1;
        if piece.rows.len() == PIECE {
            if !show(&piece, first) {
                return Ok(());
            }
            first = false;
            piece.rows.clear();
        }
        if given == most_rows {
            break;
        }
    }
    show(&piece, first);
    Ok(())
}

fn input_fact(path: &PathBuf) -> InputFact {
    let bytes = std::fs::metadata(path).map_or(0, |meta| if meta.is_file() { meta.len() } else { 0 });
    let format = ingest::detect(path).map_or("", |format| format.name());
    InputFact { path: path.display().to_string(), format: format.into(), bytes, rank: None }
}

fn empty_table(result: &ResultSet<'_>) -> Table {
    let columns =
        result.columns().iter().map(|column| Column::int(&column.name, Unit::Exact).key()).collect();
    Table::new("result", "Result", columns)
}

/// The first `limit` rows (0: all), and how many there are beyond them.
fn collect(result: &mut ResultSet<'_>, limit: usize) -> Result<Table, Failure> {
    let mut table = empty_table(result);
    let width = table.columns.len();
    let mut rows = result.rows();
    while let Some(row) = rows.next()? {
        if limit > 0 && table.rows.len() == limit {
            table.hidden += 1;
        } else {
            table.push((0..width).map(|i| cell(row.value(i))).collect());
        }
    }
    for (i, column) in table.columns.iter_mut().enumerate() {
        column.text = table.rows.iter().any(|row| matches!(row[i], Value::Text(_)));
    }
    Ok(table)
}

fn cell(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::absent("NULL"),
        ValueRef::Integer(n) => Value::Int(n),
        ValueRef::Real(f) => Value::Float(f),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            Value::Text(format!("x'{hex}'"))
        }
    }
}

/// The place of bad SQL is drawn under its line.
impl From<query::Error> for Failure {
    fn from(error: query::Error) -> Self {
        let mut message = error.to_string();
        if let query::Error::Sql(sql) = &error
            && let Some(place) = &sql.place
        {
            for line in place.picture().lines() {
                message.push_str("\n    ");
                message.push_str(line);
            }
        }
        Failure::input(message).with_remedy(error.help())
    }
}
