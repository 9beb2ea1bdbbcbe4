//! Rows of a result as a report, or as CSV while they come.

use std::collections::HashSet;
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
    let names: Vec<&str> = result.columns().iter().map(|column| column.name.as_str()).collect();
    let columns = distinct(&names).iter().map(|name| Column::int(name, Unit::Exact).key()).collect();
    Table::new("result", "Result", columns)
}

/// Names of columns, each once: the second of one name becomes `name_2`, so that no value hides another.
fn distinct(names: &[&str]) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        let numbered = (2..).map(|n| format!("{name}_{n}"));
        // A name that a later column has of its own is left to it.
        let free = |choice: &String| {
            !taken.contains(choice) && (choice == name || !names.contains(&choice.as_str()))
        };
        let choice = std::iter::once(name.to_string()).chain(numbered).find(free).unwrap_or_default();
        taken.insert(choice.clone());
        found.push(choice);
    }
    found
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
        // No reason: an `absent` object beside the columns could hide a column of that name.
        ValueRef::Null => Value::absent(""),
        ValueRef::Integer(n) => Value::Int(n),
        ValueRef::Real(f) => Value::Float(f),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            Value::Text(format!("x'{hex}'"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::distinct;

    #[test]
    fn columns_of_one_name_get_numbers() {
        assert_eq!(distinct(&["a", "a", "b", "a"]), ["a", "a_2", "b", "a_3"]);
        assert_eq!(distinct(&["a", "a", "a_2"]), ["a", "a_3", "a_2"]);
    }
}
