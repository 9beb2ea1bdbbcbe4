//! Whether two databases hold the same data: one recording may come under several names, but only with the
//! same rows.

use rusqlite::{Connection, Result, Statement};

use super::contents::{Group, Table};
use super::copy::columns_to_copy;
use crate::rocpd::recordings::qualified;

/// A table, the database that it is attached in, and the rank in the file's name.
pub(super) type AttachedTable<'a> = (&'a str, &'a Table, Option<u32>);

/// Whether two recordings have the same tables with the same rows, as they would be copied.
pub(super) fn same_groups(
    connection: &Connection,
    (first, group, rank): (&str, &Group, Option<u32>),
    (second, other, other_rank): (&str, &Group, Option<u32>),
) -> Result<bool> {
    if group.tables.len() != other.tables.len() {
        return Ok(false);
    }
    for table in &group.tables {
        let Some(twin) = other.table(&table.plain) else { return Ok(false) };
        if !same_tables(connection, (first, table, rank), (second, twin, other_rank))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether two tables have the same columns and rows.
pub(super) fn same_tables(
    connection: &Connection,
    a: AttachedTable<'_>,
    b: AttachedTable<'_>,
) -> Result<bool> {
    if a.1.columns != b.1.columns {
        return Ok(false);
    }
    let mut of_a = select(connection, a)?;
    let mut of_b = select(connection, b)?;
    let columns = of_a.column_count();
    let (mut of_a, mut of_b) = (of_a.query([])?, of_b.query([])?);
    loop {
        match (of_a.next()?, of_b.next()?) {
            (None, None) => return Ok(true),
            (Some(row), Some(other)) => {
                for column in 0..columns {
                    if row.get_ref(column)? != other.get_ref(column)? {
                        return Ok(false);
                    }
                }
            }
            _ => return Ok(false),
        }
    }
}

fn select<'c>(
    connection: &'c Connection,
    (database, table, rank): AttachedTable<'_>,
) -> Result<Statement<'c>> {
    let from = qualified(database, &table.name);
    connection.prepare(&format!("SELECT {} FROM {from}", columns_to_copy(table, rank)))
}
