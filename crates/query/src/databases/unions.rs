//! The plain tables and views of one or several attached databases, as TEMP views.
//!
//! Columns are selected by name, so databases of different schema revisions go together; a missing column is NULL, a
//! missing table empty. All joins of a view match the guid, and a guid is in one group only: the view of several
//! groups is the union of each group's own view, in which every join is a rowid look-up.

use std::collections::BTreeMap;

use convert::rocpd::views::{self, Scope};
use rusqlite::Connection;

use super::discover::{Group, known_tables, qualified, quoted};

/// Totals that we compute faster than the views that a database carries.
const FASTER: &[(&str, &str)] = &[
    ("top_kernels", include_str!("../views/top_kernels.sql")),
    ("busy", include_str!("../views/busy.sql")),
    ("top", include_str!("../views/top.sql")),
];

/// Columns of every table: those of the newest schema first, then what else the databases have.
pub(super) fn columns_of<'g>(groups: impl Iterator<Item = &'g Group>) -> BTreeMap<String, Vec<String>> {
    let mut columns: BTreeMap<String, Vec<String>> = known_tables()
        .into_iter()
        .map(|table| (table.name.to_string(), table.columns.iter().map(|c| c.to_string()).collect()))
        .collect();
    for (plain, table) in groups.flat_map(|group| &group.tables) {
        let known = columns.entry(plain.clone()).or_default();
        for column in &table.columns {
            if !known.iter().any(|k| k.eq_ignore_ascii_case(column)) {
                known.push(column.clone());
            }
        }
    }
    columns
}

/// Creates the tables and row views of groups, each in the database of that name.
pub(super) fn create(connection: &Connection, groups: &[(String, &Group)]) -> rusqlite::Result<()> {
    create_with(connection, groups, &columns_of(groups.iter().map(|(_, group)| *group)))
}

/// The same with columns that other databases decide on too.
pub(super) fn create_with(
    connection: &Connection,
    groups: &[(String, &Group)],
    columns: &BTreeMap<String, Vec<String>>,
) -> rusqlite::Result<()> {
    let mut sql = String::from("BEGIN;");
    let row_views: Vec<&str> =
        views::known().iter().filter(|v| v.scope == Scope::Rows).map(|v| v.name).collect();
    match groups {
        [(database, group)] => {
            tables(&mut sql, columns, database, group, "");
            rows(&mut sql, "", columns);
        }
        _ => {
            for (number, (database, group)) in groups.iter().enumerate() {
                let part = format!("@{number}");
                tables(&mut sql, columns, database, group, &part);
                rows(&mut sql, &part, columns);
            }
            for name in columns.keys().map(String::as_str).chain(row_views) {
                union(&mut sql, name, groups.len(), columns.get(name));
            }
        }
    }
    sql.push_str("COMMIT;");
    connection.execute_batch(&sql)
}

/// Creates the views of totals over tables and views that exist already.
pub(crate) fn create_totals(connection: &Connection) -> rusqlite::Result<()> {
    let mut sql = String::new();
    for view in views::known().iter().filter(|view| view.scope == Scope::Totals) {
        let select = match FASTER.iter().find(|(name, _)| *name == view.name) {
            Some((_, faster)) => Some(faster.to_string()),
            None => view.select(&|_, _| true),
        };
        if let Some(select) = select {
            sql.push_str(&format!("CREATE TEMP VIEW {} AS {select};\n", view.name));
        }
    }
    connection.execute_batch(&sql)
}

/// One view per table of a group, with all columns there are.
fn tables(
    sql: &mut String,
    columns: &BTreeMap<String, Vec<String>>,
    database: &str,
    group: &Group,
    part: &str,
) {
    for (plain, columns) in columns {
        let table = group.tables.get(plain);
        let own =
            |column: &String| table.is_some_and(|t| t.columns.iter().any(|c| c.eq_ignore_ascii_case(column)));
        let list: Vec<String> = columns
            .iter()
            .map(|c| if own(c) { quoted(c) } else { format!("NULL AS {}", quoted(c)) })
            .collect();
        let from = match table {
            Some(table) => format!(" FROM {}", qualified(database, &table.name)),
            None => " WHERE 0".to_string(),
        };
        let name = quoted(&format!("{plain}{part}"));
        sql.push_str(&format!("CREATE TEMP VIEW {name} AS SELECT {}{from};\n", list.join(", ")));
    }
}

/// The row views of one group.
fn rows(sql: &mut String, part: &str, tables: &BTreeMap<String, Vec<String>>) {
    for view in views::known().iter().filter(|view| view.scope == Scope::Rows) {
        if let Some(select) = view.select(&|_, _| true) {
            let name = quoted(&format!("{}{part}", view.name));
            let select = if part.is_empty() { select } else { of_part(&select, part, tables) };
            sql.push_str(&format!("CREATE TEMP VIEW {name} AS {select};\n"));
        }
    }
}

/// A view's text with every table and view that it reads replaced by that of one group.
fn of_part(select: &str, part: &str, tables: &BTreeMap<String, Vec<String>>) -> String {
    let is_relation =
        |word: &str| tables.contains_key(word) || views::known().iter().any(|view| view.name == word);
    let mut text = String::with_capacity(select.len() + 256);
    let mut before = "";
    for word in select.split_inclusive(|c: char| c.is_whitespace()) {
        let name = word.trim_end();
        if matches!(before, "FROM" | "JOIN") && is_relation(name) {
            text.push_str(&quoted(&format!("{name}{part}")));
            text.push_str(&word[name.len()..]);
        } else {
            text.push_str(word);
        }
        if !name.is_empty() {
            before = name;
        }
    }
    text
}

fn union(sql: &mut String, name: &str, groups: usize, columns: Option<&Vec<String>>) {
    let list = match columns {
        Some(columns) => columns.iter().map(|c| quoted(c)).collect::<Vec<_>>().join(", "),
        None => "*".to_string(),
    };
    let parts: Vec<String> =
        (0..groups).map(|i| format!("SELECT {list} FROM {}", quoted(&format!("{name}@{i}")))).collect();
    let text = if parts.is_empty() { "SELECT NULL WHERE 0".to_string() } else { parts.join("\nUNION ALL ") };
    sql.push_str(&format!("CREATE TEMP VIEW {} AS {text};\n", quoted(name)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_relations_are_replaced() {
        let tables = BTreeMap::from([("rocpd_region".to_string(), Vec::new())]);
        let text = "SELECT R.start, samples\nFROM rocpd_region R\nLEFT JOIN samples S ON S.id = R.id";
        assert_eq!(
            of_part(text, "@3", &tables),
            "SELECT R.start, samples\nFROM \"rocpd_region@3\" R\nLEFT JOIN \"samples@3\" S ON S.id = R.id"
        );
    }
}
