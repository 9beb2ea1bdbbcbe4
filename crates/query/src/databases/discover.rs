//! What a database holds: groups of tables with one suffix each, found by name, with the columns they really have.

use std::collections::{BTreeMap, BTreeSet};

use convert::rocpd::schema::{self, SchemaVersion};
use rusqlite::Connection;

/// The tables of one recording in one database.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// Recordings in it, nearly always one.
    pub guids: Vec<String>,
    /// By plain name: `rocpd_region` …
    pub tables: BTreeMap<String, Table>,
    /// Highest ids of dispatches, regions and events: tells a copy from a different recording of one guid.
    pub last_ids: [i64; 3],
}

/// A table as it is.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// Its name with the suffix.
    pub name: String,
    /// Its columns in order.
    pub columns: Vec<String>,
}

/// Names that only the recording's own tables have, so that their endings are suffixes.
const ENOUGH_TABLES: usize = 3;

/// Plain names and columns of the newest schema.
pub(super) fn known_tables() -> Vec<schema::TableDef> {
    schema::tables(SchemaVersion::NEWEST)
}

/// The groups of a database that is open as `database`.
pub(super) fn groups(connection: &Connection, database: &str) -> rusqlite::Result<Vec<Group>> {
    let sql = format!(
        "SELECT name FROM \"{database}\".sqlite_master WHERE type = 'table' AND name LIKE 'rocpd@_%' ESCAPE '@'"
    );
    let names: Vec<String> =
        connection.prepare(&sql)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut groups: BTreeMap<&str, Group> = BTreeMap::new();
    let suffixes = suffixes(&names);
    let mut columns = connection.prepare("SELECT name FROM pragma_table_xinfo(?1, ?2) WHERE hidden <> 1")?;
    for name in &names {
        // The longest suffix that fits: the empty one fits everything.
        let Some(suffix) = suffixes.iter().filter(|s| name.ends_with(s.as_str())).max_by_key(|s| s.len())
        else {
            continue;
        };
        let plain = &name[..name.len() - suffix.len()];
        let columns = columns.query_map([name.as_str(), database], |row| row.get(0))?;
        let table = Table { name: name.clone(), columns: columns.collect::<Result<_, _>>()? };
        groups.entry(suffix).or_default().tables.insert(plain.to_string(), table);
    }
    let mut found: Vec<Group> = groups.into_values().collect();
    for group in &mut found {
        group.guids = guids(connection, database, group)?;
        group.last_ids = ["rocpd_kernel_dispatch", "rocpd_region", "rocpd_event"]
            .map(|table| last_id(connection, database, group, table).unwrap_or(0));
    }
    Ok(found)
}

/// The endings by which tables belong together: those of metadata tables, and those that several tables share.
fn suffixes(names: &[String]) -> BTreeSet<String> {
    let known = known_tables();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        let plain =
            known.iter().map(|t| t.name).filter(|plain| name.starts_with(plain)).max_by_key(|p| p.len());
        if let Some(plain) = plain {
            let count = counts.entry(&name[plain.len()..]).or_default();
            *count += if plain == "rocpd_metadata" { ENOUGH_TABLES } else { 1 };
        }
    }
    let most = counts.values().copied().max().unwrap_or(0);
    let enough = most.min(ENOUGH_TABLES);
    counts.into_iter().filter(|(_, count)| *count >= enough).map(|(suffix, _)| suffix.to_string()).collect()
}

/// The guids that rows carry; those of the metadata may hold an unfilled placeholder.
fn guids(connection: &Connection, database: &str, group: &Group) -> rusqlite::Result<Vec<String>> {
    let small = ["rocpd_info_process", "rocpd_info_node", "rocpd_info_agent"];
    let large = ["rocpd_kernel_dispatch", "rocpd_region", "rocpd_string"];
    let selects =
        small.map(|t| (t, "DISTINCT guid", "")).into_iter().chain(large.map(|t| (t, "guid", " LIMIT 1")));
    for (plain, what, limit) in selects {
        let Some(table) = group.tables.get(plain).filter(|t| t.columns.iter().any(|c| c == "guid")) else {
            continue;
        };
        let sql = format!("SELECT {what} FROM {}{limit}", qualified(database, &table.name));
        let found: Vec<Option<String>> =
            connection.prepare(&sql)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let found: Vec<String> = found.into_iter().flatten().collect();
        if !found.is_empty() {
            return Ok(found);
        }
    }
    let told = |t: &&Table| ["tag", "value"].iter().all(|wanted| t.columns.iter().any(|c| c == wanted));
    let Some(metadata) = group.tables.get("rocpd_metadata").filter(told) else { return Ok(Vec::new()) };
    let sql = format!("SELECT value FROM {} WHERE tag = 'guid'", qualified(database, &metadata.name));
    connection.prepare(&sql)?.query_map([], |row| row.get(0))?.collect()
}

fn last_id(connection: &Connection, database: &str, group: &Group, table: &str) -> Option<i64> {
    let table = group.tables.get(table)?;
    let sql = format!("SELECT max(id) FROM {}", qualified(database, &table.name));
    connection.query_row(&sql, [], |row| row.get(0)).ok().flatten()
}

/// `"db0"."rocpd_region_0000"`
pub(super) fn qualified(database: &str, table: &str) -> String {
    format!("{}.{}", quoted(database), quoted(table))
}

/// A name in double quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(tables: &[&str]) -> Vec<(String, Vec<String>)> {
        let connection = Connection::open_in_memory().unwrap();
        for table in tables {
            connection
                .execute_batch(&format!("CREATE TABLE {}(id INTEGER, guid TEXT)", quoted(table)))
                .unwrap();
        }
        let groups = groups(&connection, "main").unwrap();
        let mut found: Vec<(String, Vec<String>)> = groups
            .into_iter()
            .map(|g| {
                let (plain, table) = g.tables.iter().next().unwrap();
                (table.name[plain.len()..].to_string(), g.tables.into_keys().collect())
            })
            .collect();
        found.sort();
        found
    }

    #[test]
    fn suffixes_are_found_with_and_without_metadata() {
        let plain = |names: &[&str]| names.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        assert_eq!(
            found(&["rocpd_metadata_ab_1", "rocpd_event_ab_1", "rocpd_event_operation_ab_1"]),
            [("_ab_1".to_string(), plain(&["rocpd_event", "rocpd_event_operation", "rocpd_metadata"]))]
        );
        assert_eq!(
            found(&["rocpd_stringX", "rocpd_regionX", "rocpd_info_nodeX", "rocpd_event_operationX"]),
            [(
                "X".to_string(),
                plain(&["rocpd_event_operation", "rocpd_info_node", "rocpd_region", "rocpd_string"])
            )]
        );
        assert_eq!(found(&["rocpd_region"]), [(String::new(), plain(&["rocpd_region"]))]);
        let two = found(&["rocpd_metadata_a", "rocpd_region_a", "rocpd_metadata_b", "rocpd_region_b"]);
        assert_eq!(two.len(), 2);
        assert!(found(&["other"]).is_empty());
    }
}
