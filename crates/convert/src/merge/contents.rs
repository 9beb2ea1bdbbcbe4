//! What a database holds: recordings (groups of tables with one suffix), and whatever else somebody put into it.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, Result};

use crate::rocpd::schema::{self, SchemaVersion};
use crate::rocpd::views;

/// Everything of a database that is copied.
#[derive(Default)]
pub(super) struct Contents {
    pub groups: Vec<Group>,
    /// Tables of no recording: a viewer's, a user's.
    pub others: Vec<Table>,
    pub indexes: Vec<Object>,
    pub triggers: Vec<Object>,
    /// Views that are not rocpd's own.
    pub views: Vec<Object>,
    /// Virtual tables: their rows are elsewhere.
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
}

/// A table as it is.
#[derive(Clone)]
pub(super) struct Table {
    /// Without the suffix of its recording.
    pub plain: String,
    pub name: String,
    pub sql: String,
    /// Columns that can be written, in order.
    pub columns: Vec<String>,
    /// Whether it has columns that are computed.
    pub computed: bool,
}

/// An index, trigger or view.
pub(super) struct Object {
    pub name: String,
    pub table: String,
    pub sql: String,
}

/// So many tables with one ending make it a suffix; a metadata table alone does too.
const ENOUGH_TABLES: usize = 3;

impl Table {
    /// A column by its name in any case.
    pub fn column(&self, name: &str) -> Option<&str> {
        self.columns.iter().map(String::as_str).find(|column| column.eq_ignore_ascii_case(name))
    }
}

impl Group {
    /// A table by its plain name.
    pub fn table(&self, plain: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.plain == plain)
    }

    /// Names of schema 3.0.0 that it lacks.
    pub fn missing(&self) -> Vec<&'static str> {
        let known = schema::tables(SchemaVersion::V3_0_0);
        known.iter().map(|table| table.name).filter(|name| self.table(name).is_none()).collect()
    }
}

/// Looks into a database that is attached as `database`.
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
    let suffixes = suffixes(tables.iter().map(|table| table.name.as_str()));
    let mut columns = connection.prepare("SELECT name, hidden FROM pragma_table_xinfo(?1, ?2)")?;
    for Object { name, sql, .. } in tables {
        let listed: Vec<(String, i64)> = columns
            .query_map([name.as_str(), database], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_>>()?;
        let computed = listed.iter().any(|(_, hidden)| *hidden != 0);
        let columns = listed.into_iter().filter(|(_, hidden)| *hidden == 0).map(|(name, _)| name).collect();
        // The longest suffix that fits: the empty one fits everything.
        let fits = |suffix: &&String| name.starts_with("rocpd_") && name.ends_with(suffix.as_str());
        let suffix = suffixes.iter().filter(fits).max_by_key(|suffix| suffix.len());
        let plain = name[..name.len() - suffix.map_or(0, String::len)].to_string();
        let table = Table { plain, name, sql, columns, computed };
        match suffix {
            None => found.others.push(table),
            Some(suffix) => match found.groups.iter_mut().find(|group| group.suffix == *suffix) {
                Some(group) => group.tables.push(table),
                None => found.groups.push(Group {
                    suffix: suffix.clone(),
                    tables: vec![table],
                    ..Group::default()
                }),
            },
        }
    }
    for group in &mut found.groups {
        group.guids = guids(connection, database, group)?;
    }
    let own = |name: &str| {
        views::known().iter().any(|view| view.name == name)
            || schema::tables(SchemaVersion::NEWEST).iter().any(|table| table.name == name)
            || found.groups.iter().any(|group| group.table(name).is_some())
    };
    found.views = std::mem::take(&mut found.views).into_iter().filter(|view| !own(&view.name)).collect();
    Ok(found)
}

fn is_virtual(sql: &str) -> bool {
    sql.get(..14).is_some_and(|start| start.eq_ignore_ascii_case("CREATE VIRTUAL"))
}

/// The endings by which tables belong together: those of metadata tables, and those that several tables share.
fn suffixes<'n>(names: impl Iterator<Item = &'n str>) -> BTreeSet<String> {
    let known = schema::tables(SchemaVersion::NEWEST);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        let plain =
            known.iter().map(|t| t.name).filter(|plain| name.starts_with(plain)).max_by_key(|p| p.len());
        if let Some(plain) = plain {
            let count = counts.entry(&name[plain.len()..]).or_default();
            *count += if plain == "rocpd_metadata" { ENOUGH_TABLES } else { 1 };
        }
    }
    let enough = counts.values().copied().max().unwrap_or(0).min(ENOUGH_TABLES);
    counts.into_iter().filter(|(_, count)| *count >= enough).map(|(suffix, _)| suffix.to_string()).collect()
}

/// The guids that rows carry; that of the metadata may be an unfilled placeholder.
fn guids(connection: &Connection, database: &str, group: &Group) -> Result<Vec<String>> {
    let small = ["rocpd_info_process", "rocpd_info_node", "rocpd_info_agent"];
    let large = ["rocpd_kernel_dispatch", "rocpd_region", "rocpd_string"];
    let selects = small.map(|t| (t, "DISTINCT", "")).into_iter().chain(large.map(|t| (t, "", " LIMIT 1")));
    for (plain, distinct, limit) in selects {
        let Some(table) = group.table(plain) else { continue };
        let Some(guid) = table.column("guid") else { continue };
        let sql =
            format!("SELECT {distinct} {} FROM {}{limit}", quoted(guid), qualified(database, &table.name));
        let found = texts(connection, &sql)?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    let told =
        group.table("rocpd_metadata").filter(|t| t.column("tag").is_some() && t.column("value").is_some());
    let Some(metadata) = told else { return Ok(Vec::new()) };
    let sql = format!("SELECT value FROM {} WHERE tag = 'guid'", qualified(database, &metadata.name));
    texts(connection, &sql)
}

/// Texts of a query's first column; what is no text, empty or an unfilled placeholder is passed over.
pub(super) fn texts(connection: &Connection, sql: &str) -> Result<Vec<String>> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if let Ok(text) = row.get_ref(0)?.as_str()
            && !text.is_empty()
            && !text.starts_with("{{")
        {
            found.push(text.to_string());
        }
    }
    Ok(found)
}

/// `"source"."rocpd_region_0000"`
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
