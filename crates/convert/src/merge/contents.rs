//! What a database holds: recordings (groups of tables with one suffix), and anything else that was added to
//! it.

use formats::rocpd::table;
use rusqlite::{Connection, Result};
use trace::Map;

use crate::rocpd::recordings::{Suffixes, guids, qualified, quoted};
use crate::rocpd::schema::{self, SchemaVersion};
use crate::rocpd::versions::{self, Tables};
use crate::rocpd::views;

/// The parts of a database that are copied.
#[derive(Default)]
pub(super) struct Contents {
    pub groups: Vec<Group>,
    /// Tables that belong to no recording: a viewer's, a user's.
    pub others: Vec<Table>,
    pub indexes: Vec<Object>,
    pub triggers: Vec<Object>,
    /// Views that are not rocpd's own.
    pub views: Vec<Object>,
    /// Virtual tables: their rows are stored elsewhere.
    pub virtual_tables: Vec<String>,
}

/// The tables of one recording.
#[derive(Default)]
pub(super) struct Group {
    pub suffix: String,
    /// Recordings whose rows it holds, nearly always one.
    pub guids: Vec<String>,
    /// In the order they were created.
    pub tables: Vec<Table>,
    /// Whether its JSON is compressed.
    pub compressed: bool,
    /// What is doubtful about its version.
    pub doubt: Option<String>,
}

/// A table's definition.
#[derive(Clone)]
pub(super) struct Table {
    /// Name without the suffix of its recording.
    pub plain: String,
    pub name: String,
    pub sql: String,
    /// Columns that can be written, in order.
    pub columns: Vec<String>,
    /// Whether it has computed columns.
    pub computed: bool,
}

/// An index, trigger or view.
pub(super) struct Object {
    pub name: String,
    pub table: String,
    pub sql: String,
}

impl Table {
    /// A column by its name, ignoring case.
    pub fn column(&self, name: &str) -> Option<&str> {
        self.columns.iter().map(String::as_str).find(|column| column.eq_ignore_ascii_case(name))
    }
}

impl Group {
    /// A table by its plain name.
    pub fn table(&self, plain: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.plain == plain)
    }

    /// Tables of schema 3.0.0 that it does not have.
    pub fn missing(&self) -> Vec<&'static str> {
        let known = schema::tables(SchemaVersion::V3_0_0);
        known.iter().map(|table| table.name).filter(|name| self.table(name).is_none()).collect()
    }
}

/// A recording of an attached database.
pub(super) struct InDatabase<'a> {
    pub database: &'a str,
    pub group: &'a Group,
}

impl Tables for InDatabase<'_> {
    fn name(&self, plain: &str) -> Option<String> {
        Some(qualified(self.database, &self.group.table(plain)?.name))
    }

    fn has(&self, plain: &str, column: &str) -> bool {
        self.group.table(plain).is_some_and(|table| table.column(column).is_some())
    }

    fn is_compressed(&self) -> bool {
        self.group.compressed
    }
}

/// Reads what a database that is attached as `database` holds.
pub(super) fn contents(connection: &Connection, database: &str) -> Result<Contents> {
    let mut found = Contents::default();
    let sql = format!(
        "SELECT type, name, tbl_name, sql FROM {}.sqlite_master \
         WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite@_%' ESCAPE '@' ORDER BY rowid",
        quoted(database)
    );
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut tables: Vec<Object> = Vec::new();
    while let Some(row) = rows.next()? {
        let object = Object { name: row.get(1)?, table: row.get(2)?, sql: row.get(3)? };
        match row.get::<_, String>(0)?.as_str() {
            "table" if is_virtual(&object.sql) => found.virtual_tables.push(object.name),
            "table" => tables.push(object),
            "index" => found.indexes.push(object),
            "trigger" => found.triggers.push(object),
            _ => found.views.push(object),
        }
    }
    let suffixes = Suffixes::of(tables.iter().map(|table| table.name.as_str()));
    let mut group_of: Map<String, usize> = Map::default();
    let mut columns = connection.prepare("SELECT name, hidden FROM pragma_table_xinfo(?1, ?2)")?;
    for Object { name, sql, .. } in tables {
        let listed: Vec<(String, i64)> = columns
            .query_map([name.as_str(), database], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_>>()?;
        let computed = listed.iter().any(|(_, hidden)| *hidden != 0);
        let columns = listed.into_iter().filter(|(_, hidden)| *hidden == 0).map(|(name, _)| name).collect();
        let split = suffixes.split(&name).map(|(plain, suffix)| (plain.to_string(), suffix.to_string()));
        match split {
            None => found.others.push(Table { plain: name.clone(), name, sql, columns, computed }),
            Some((plain, suffix)) => {
                let number = *group_of.entry(suffix.clone()).or_insert_with(|| {
                    found.groups.push(Group { suffix, ..Group::default() });
                    found.groups.len() - 1
                });
                found.groups[number].tables.push(Table { plain, name, sql, columns, computed });
            }
        }
    }
    for group in &mut found.groups {
        let metadata = group.table(table::METADATA).map(|table| table.name.as_str());
        let doubt = versions::doubt(connection, database, metadata);
        group.compressed = versions::is_compressed(connection, database, metadata);
        group.doubt = doubt;
        group.guids = guids(connection, database, &|plain, columns| {
            let table = group.table(plain)?;
            columns.iter().all(|column| table.column(column).is_some()).then_some(table.name.as_str())
        })?;
    }
    let known = schema::tables(SchemaVersion::NEWEST);
    let own = |name: &str| {
        views::known().iter().any(|view| view.name == name)
            || known.iter().any(|table| table.name == name)
            || found.groups.iter().any(|group| group.table(name).is_some())
    };
    found.views = std::mem::take(&mut found.views).into_iter().filter(|view| !own(&view.name)).collect();
    Ok(found)
}

fn is_virtual(sql: &str) -> bool {
    sql.get(..14).is_some_and(|start| start.eq_ignore_ascii_case("CREATE VIRTUAL"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_belong_to_the_recording_whose_suffix_they_carry() {
        let connection = Connection::open_in_memory().unwrap();
        for table in [
            "rocpd_metadata_1a",
            "rocpd_event_1a",
            "rocpd_event_operation_1a",
            "rocpd_news_1a",
            "rocpd_metadata_2b",
            "rocpd_region_2b",
            "rocpd_notes",
            "bookmarks",
        ] {
            connection.execute_batch(&format!("CREATE TABLE {table}(id INTEGER, guid TEXT)")).unwrap();
        }
        let found = contents(&connection, "main").unwrap();
        let groups: Vec<(&str, Vec<&str>)> = found
            .groups
            .iter()
            .map(|g| (g.suffix.as_str(), g.tables.iter().map(|t| t.plain.as_str()).collect()))
            .collect();
        assert_eq!(
            groups,
            [
                ("_1a", vec!["rocpd_metadata", "rocpd_event", "rocpd_event_operation", "rocpd_news"]),
                ("_2b", vec!["rocpd_metadata", "rocpd_region"]),
            ]
        );
        assert_eq!(
            found.others.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(),
            ["rocpd_notes", "bookmarks"]
        );
    }
}
