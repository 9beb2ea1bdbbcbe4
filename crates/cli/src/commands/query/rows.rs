//! Rows of a result as a report, or as CSV while they come.

use std::path::PathBuf;

use query::{ResultSet, Session, ValueRef};
use report::{Column, InputFact, Report, Table, Unit, Value, render};

use super::failure;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, print};

/// Rows of CSV held before they are written.
const PIECE: usize = 4096;

/// Runs statements and shows the result of the last.
pub fn show(session: &Session, paths: &[PathBuf], sql: &str, output: &OutputArgs) -> Result<(), Failure> {
    let mut result = session.run(sql).map_err(failure)?;
    let streams = output.format() == Format::Csv && output.sort.is_none();
    if streams {
        return stream_csv(&mut result, output.limit.unwrap_or(0));
    }
    let mut report = Report { command: "query".into(), ..Report::default() };
    report.inputs = paths.iter().map(input).collect();
    report.health = analysis::health(session.health());
    if !result.columns().is_empty() {
        let limit = if output.sort.is_some() { 0 } else { output.row_limit() };
        report.tables.push(collect(&mut result, limit)?);
    }
    output.show(report)
}

fn input(path: &PathBuf) -> InputFact {
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
    while let Some(row) = rows.next().map_err(failure)? {
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

fn stream_csv(result: &mut ResultSet<'_>, limit: usize) -> Result<(), Failure> {
    let mut piece = empty_table(result);
    let width = piece.columns.len();
    if width == 0 {
        return Ok(());
    }
    print(&render::csv_header(&piece))?;
    let mut written = 0;
    let mut rows = result.rows();
    while let Some(row) = rows.next().map_err(failure)? {
        piece.push((0..width).map(|i| cell(row.value(i))).collect());
        written += 1;
        if piece.rows.len() == PIECE {
            print(&render::csv_rows(&piece))?;
            piece.rows.clear();
        }
        if written == limit {
            break;
        }
    }
    print(&render::csv_rows(&piece))
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
