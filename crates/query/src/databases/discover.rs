//! The contents of a database: groups of tables with one suffix each, found by name, with actual columns.

use formats::rocpd::table;
use std::collections::BTreeMap;

use convert::rocpd::recordings::{Suffixes, guids, qualified};
use convert::rocpd::schema::{self, SchemaVersion};
use convert::rocpd::versions::{self, Tables};
use rusqlite::Connection;

/// The tables of one recording in one database.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// Recordings in it, nearly always one.
    pub guids: Vec<String>,
    /// By plain name: `rocpd_region` …
    pub tables: BTreeMap<String, Table>,
    /// Highest ids of dispatches, regions and events: shows whether equal guids are copies.
    pub last_ids: [i64; 3],
    /// Whether its JSON is compressed.
    pub compressed: bool,
    /// The warning about its version, if any.
    pub doubt: Option<String>,
}

/// A group in a named database.
pub(super) struct InDatabase<'a> {
    pub database: &'a str,
    pub group: &'a Group,
}

impl Tables for InDatabase<'_> {
    fn name(&self, plain: &str) -> Option<String> {
        Some(qualified(self.database, &self.group.tables.get(plain)?.name))
    }

    fn has(&self, plain: &str, column: &str) -> bool {
        let table = self.group.tables.get(plain);
        table.is_some_and(|table| table.columns.iter().any(|own| own.eq_ignore_ascii_case(column)))
    }

    fn is_compressed(&self) -> bool {
        self.group.compressed
    }
}

/// A table as found.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// Its name with the suffix.
    pub name: String,
    /// Its columns in order.
    pub columns: Vec<String>,
}

/// Plain names and columns of the newest schema.
pub(super) fn known_tables() -> Vec<schema::TableDef> {
    schema::tables(SchemaVersion::NEWEST)
}

/// The groups of the database attached as `database`.
pub(super) fn groups(connection: &Connection, database: &str) -> rusqlite::Result<Vec<Group>> {
    let sql = format!(
        "SELECT name FROM \"{database}\".sqlite_master WHERE type = 'table' AND name LIKE 'rocpd@_%' ESCAPE '@'"
    );
    let names: Vec<String> =
        connection.prepare(&sql)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut groups: BTreeMap<&str, Group> = BTreeMap::new();
    let suffixes = Suffixes::of(names.iter().map(String::as_str));
    let mut columns = connection.prepare("SELECT name FROM pragma_table_xinfo(?1, ?2) WHERE hidden <> 1")?;
    for name in &names {
        let Some((plain, suffix)) = suffixes.split(name) else { continue };
        let columns = columns.query_map([name.as_str(), database], |row| row.get(0))?;
        let table = Table { name: name.clone(), columns: columns.collect::<Result<_, _>>()? };
        groups.entry(suffix).or_default().tables.insert(plain.to_string(), table);
    }
    let mut found: Vec<Group> = groups.into_values().collect();
    for group in &mut found {
        group.guids = guids(connection, database, &|plain, columns| {
            let table = group.tables.get(plain)?;
            let has = |column: &&str| table.columns.iter().any(|own| own.eq_ignore_ascii_case(column));
            columns.iter().all(has).then_some(table.name.as_str())
        })?;
        let metadata = group.tables.get(table::METADATA).map(|table| table.name.as_str());
        let doubt = versions::doubt(connection, database, metadata);
        group.compressed = versions::is_compressed(connection, database, metadata);
        group.doubt = doubt;
        group.last_ids = [table::KERNEL_DISPATCH, table::REGION, table::EVENT]
            .map(|table| last_id(connection, database, group, table).unwrap_or(0));
    }
    Ok(found)
}

fn last_id(connection: &Connection, database: &str, group: &Group, table: &str) -> Option<i64> {
    let table = group.tables.get(table)?;
    let sql = format!("SELECT max(id) FROM {}", qualified(database, &table.name));
    connection.query_row(&sql, [], |row| row.get(0)).ok().flatten()
}
