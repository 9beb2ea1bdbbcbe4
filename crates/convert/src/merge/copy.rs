//! Copies tables from an attached database: same definition, same rows, same ids.
//!
//! If nothing must be left out, `INSERT … SELECT *` between tables of one definition moves records as they
//! are, without decoding a column.

use formats::rocpd::table;
use rusqlite::{Connection, Result};

use super::contents::{Object, Table};
use super::environment::{COMMAND_FUNCTION, ENVIRONMENT_FUNCTION};
use super::rename::renamed;
use crate::rocpd::recordings::{qualified, quoted};

/// The table of processes, whose environment and command line are redacted.
pub(super) const PROCESSES: &str = table::INFO_PROCESS;

/// A column of a process's environment, in any table that has one.
const ENVIRONMENT: &str = "environment";

/// Creates an empty table with the same definition under its new name, with its indexes.
pub(super) fn define(
    connection: &Connection,
    sql: &str,
    indexes: &[&Object],
    new_name: &dyn Fn(&str) -> Option<String>,
) -> Result<()> {
    connection.execute(&renamed(sql, new_name), [])?;
    for index in indexes {
        connection.execute(&renamed(&index.sql, new_name), [])?;
    }
    Ok(())
}

/// Copies the rows of a table for which `condition` (` WHERE …`, or empty) holds, and returns their number.
pub(super) fn rows(
    connection: &Connection,
    database: &str,
    table: &Table,
    target: &str,
    rank: Option<u32>,
    condition: &str,
) -> Result<u64> {
    let columns = columns_to_copy(table, rank);
    let into = match columns == "*" {
        true => String::new(),
        false => format!(" ({})", table.columns.iter().map(|c| quoted(c)).collect::<Vec<_>>().join(", ")),
    };
    let (from, target_table) = (qualified(database, &table.name), qualified("main", target));
    let insert = format!("INSERT INTO {target_table}{into} SELECT {columns} FROM {from}{condition}");
    let copied = connection.execute(&insert, [])?;
    Ok(copied as u64)
}

/// Keeps the highest id that a table ever had: AUTOINCREMENT never reuses one.
pub(super) fn last_id(connection: &Connection, database: &str, table: &Table, target: &str) -> Result<()> {
    let counts =
        format!("SELECT count(*) FROM {}.sqlite_master WHERE name = 'sqlite_sequence'", quoted(database));
    if connection.query_row(&counts, [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(());
    }
    connection.execute(
        &format!(
            "UPDATE main.sqlite_sequence SET seq = max(seq, coalesce((SELECT seq FROM {}.sqlite_sequence \
             WHERE name = ?1), seq)) WHERE name = ?2",
            quoted(database)
        ),
        [&table.name, target],
    )?;
    Ok(())
}

/// What to select from a table: all columns, or all with secrets redacted.
pub(super) fn columns_to_copy(table: &Table, rank: Option<u32>) -> String {
    let is_process = table.plain == PROCESSES;
    let looked_through =
        table.column(ENVIRONMENT).is_some() || (is_process && table.column("command").is_some());
    if !looked_through && !table.computed {
        return "*".into();
    }
    let rank = rank.filter(|_| is_process).map_or("NULL".into(), |rank| rank.to_string());
    let column = |name: &String| match name.to_ascii_lowercase().as_str() {
        ENVIRONMENT => format!("{ENVIRONMENT_FUNCTION}({}, {rank})", quoted(name)),
        "command" if is_process => format!("{COMMAND_FUNCTION}({})", quoted(name)),
        _ => quoted(name),
    };
    table.columns.iter().map(column).collect::<Vec<_>>().join(", ")
}
