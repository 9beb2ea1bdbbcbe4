//! SQL with rocpd's table names on any trace.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use report::{Column, InputFact, Report, Table, Unit, Value};
use trace::Needs;

use crate::failure::Failure;
use crate::input::Input;
use crate::observer::{Observer, watched};
use crate::ops::{self, OpsRequest};

pub use query::{InterruptHandle, Relation, Session, Value as SqlValue};
use query::{ResultSet, ValueRef};

/// Opens inputs for statements; only what `sql` names is read.
pub fn open(input: &Input, sql: Option<&str>, observer: &dyn Observer) -> Result<Session, Failure> {
    let session = match input.filters.is_empty() {
        true => watched("reading", observer, |progress| Session::open_for(&input.paths, sql, progress))?,
        false => open_part(input, observer)?,
    };
    add_ops(&session, input, sql, observer)?;
    Ok(session)
}

/// Tables of `ops` that can be queried.
const OPS_TABLES: [&str; 2] = ["ops", "modules"];

/// Whether statements may use the tables of `ops`, which are computed when inputs are opened.
pub fn names_ops(sql: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = sql.split(|c| !is_word(c));
    words.any(|word| OPS_TABLES.iter().any(|table| word.eq_ignore_ascii_case(table)))
}

/// Adds the tables of `ops`, if a statement may use them.
fn add_ops(
    session: &Session,
    input: &Input,
    sql: Option<&str>,
    observer: &dyn Observer,
) -> Result<(), Failure> {
    // Standard input cannot be read twice, and the user's own tables take precedence.
    let is_free = || session.relations().iter().all(|relation| !OPS_TABLES.contains(&relation.name.as_str()));
    let is_file = input.paths.iter().all(|path| path.as_os_str() != "-");
    if !sql.is_some_and(names_ops) || !is_file || !is_free() {
        return Ok(());
    }
    let request = OpsRequest { input: input.clone(), ..OpsRequest::default() };
    let (found, ()) = ops::compute(&request, observer, |_| (), |_, _, ()| ())?;
    let tables = [analysis::ops::op_table(&found), analysis::ops::module_table(&found)];
    for table in tables {
        let columns: Vec<&str> = table.columns.iter().map(|column| column.key.as_str()).collect();
        let rows = table.rows.iter().map(|row| row.iter().map(sql_value).collect());
        session.add_table(&table.name, &columns, &rows.collect::<Vec<_>>())?;
    }
    Ok(())
}

fn sql_value(value: &Value) -> query::Value {
    match value {
        Value::Int(number) => query::Value::Integer(*number),
        Value::Float(number) => query::Value::Real(*number),
        Value::Text(text) => query::Value::Text(text.clone()),
        Value::Absent(_) => query::Value::Null,
        Value::Json(json) => query::Value::Text(json.to_string()),
    }
}

/// A part of the inputs: for rocpd databases, rows of their own tables; for other inputs, a trace.
fn open_part(input: &Input, observer: &dyn Observer) -> Result<Session, Failure> {
    let Some(databases) = input.only_databases()? else {
        return Ok(Session::of_trace(Arc::unwrap_or_clone(input.read(&Needs::everything(), observer)?))?);
    };
    let (trace, part) = input.read_part(observer)?;
    let health = trace.health.clone();
    match Session::of_part(databases, &part, trace.clone()) {
        // More databases than SQLite can attach.
        Err(query::Error::TooManyForPart { .. }) => Ok(Session::of_trace(Arc::unwrap_or_clone(trace))?),
        Ok(mut session) => {
            session.add_health(health);
            Ok(session)
        }
        Err(error) => Err(error.into()),
    }
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

/// All rows of a result, with values as in SQLite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Names of the columns as in the statement; empty if it returns no rows.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<SqlValue>>,
}

/// Runs statements with values for their `?`, and returns all rows of the last one's result.
pub fn rows(session: &Session, sql: &str, values: &[SqlValue]) -> Result<Rows, Failure> {
    let mut result = session.run_with(sql, values)?;
    let columns = result.columns().iter().map(|column| column.name.clone()).collect();
    Ok(Rows { columns, rows: result.collect()? })
}

/// Runs statements and passes on the rows of the last result in pieces as they arrive; returning false ends
/// it.
pub fn query_pieces(
    session: &Session,
    sql: &str,
    most_rows: usize,
    show: &mut dyn FnMut(&Table, bool) -> bool,
) -> Result<(), Failure> {
    /// Rows per piece.
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
    let names: Vec<&str> = result.columns().iter().map(|column| column.name.as_str()).collect();
    let columns = distinct(&names).iter().map(|name| Column::int(name, Unit::Exact).key()).collect();
    Table::new("result", "Result", columns)
}

/// Column names, each unique: the second `name` becomes `name_2`, so that no value hides another.
pub(crate) fn distinct(names: &[&str]) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        let numbered = (2..).map(|n| format!("{name}_{n}"));
        // A name that a later column really has is kept for it.
        let free = |choice: &String| {
            !taken.contains(choice) && (choice == name || !names.contains(&choice.as_str()))
        };
        let choice = std::iter::once(name.to_string()).chain(numbered).find(free).unwrap_or_default();
        taken.insert(choice.clone());
        found.push(choice);
    }
    found
}

/// The first `limit` rows (0: all), and the number of rows beyond them.
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
        // No reason: an `absent` object next to the columns could hide a column of that name.
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

/// Shows the position of bad SQL under its line.
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

#[cfg(test)]
mod tests {
    use super::distinct;

    #[test]
    fn columns_of_one_name_get_numbers() {
        assert_eq!(distinct(&["a", "a", "b", "a"]), ["a", "a_2", "b", "a_3"]);
        assert_eq!(distinct(&["a", "a", "a_2"]), ["a", "a_3", "a_2"]);
    }
}
