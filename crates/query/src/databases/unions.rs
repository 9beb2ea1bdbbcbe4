//! The plain tables and views of one or several attached databases, as TEMP views.
//!
//! Columns are selected by name, so databases with different schema revisions can be combined; a missing
//! column is NULL, a missing table empty. All joins of a view match the guid, and a guid is in one group
//! only: so the view of several groups is the union of each group's own view, in which every join is a rowid
//! look-up.

use std::collections::BTreeMap;

use convert::rocpd::part::{ExcludedRows, PartTable};
use convert::rocpd::recordings::{qualified, quoted};
use convert::rocpd::schema::newest_has;
use convert::rocpd::versions;
use convert::rocpd::views::{self, Scope, View};
use rusqlite::Connection;

use super::discover::{Group, InDatabase, Table, known_tables};

/// Totals that we compute faster than the views in a database.
const FASTER: &[(&str, &str)] = &[
    ("top_kernels", include_str!("../views/top_kernels.sql")),
    ("busy", include_str!("../views/busy.sql")),
    ("top", include_str!("../views/top.sql")),
];

/// Columns of every table: those of the newest schema first, then any others in the databases.
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
    let has = |table: &str, column: &str| has(&columns, table, column);
    if versions::has_category_table(&has) {
        let own = versions::CATEGORY_COLUMNS.map(str::to_string).to_vec();
        columns.insert(versions::CATEGORIES.to_string(), own);
    }
    columns
}

/// Whether some database has a column, or could have it.
fn has(columns: &BTreeMap<String, Vec<String>>, table: &str, column: &str) -> bool {
    columns.get(table).is_some_and(|columns| columns.iter().any(|own| own.eq_ignore_ascii_case(column)))
}

/// Creates the tables and row views of groups, each with the name of its database.
pub(super) fn create(
    connection: &Connection,
    groups: &[(String, &Group)],
    part: &ExcludedRows,
) -> rusqlite::Result<()> {
    for (number, (database, group)) in groups.iter().enumerate() {
        let tables: Vec<PartTable<'_>> =
            group.tables.iter().map(|(plain, table)| table_of_part(plain, table)).collect();
        part.note(connection, database, &tables, &InDatabase { database, group }, &label(number))?;
    }
    create_some(connection, groups, &columns_of(groups.iter().map(|(_, group)| *group)), part, &|_| true)
}

/// Suffix that distinguishes the recordings of one session.
fn label(number: usize) -> String {
    format!("@{number}")
}

fn table_of_part<'t>(plain: &'t str, table: &'t Table) -> PartTable<'t> {
    PartTable { plain, name: &table.name, columns: &table.columns }
}

/// Creates one table or row view and everything it reads, with the columns of all databases.
pub(super) fn create_one(
    connection: &Connection,
    groups: &[(String, &Group)],
    columns: &BTreeMap<String, Vec<String>>,
    relation: &str,
) -> rusqlite::Result<()> {
    let mut wanted = vec![relation.to_string()];
    // A view reads only those before it.
    for view in views::known().iter().rev() {
        if !wanted.iter().any(|name| name == view.name) {
            continue;
        }
        let select = view.select(&|table, column| has(columns, table, column)).unwrap_or_default();
        relations_of(&select, &mut |name| {
            wanted.push(name.to_string());
            None
        });
    }
    create_some(connection, groups, columns, &ExcludedRows::default(), &|name| {
        wanted.iter().any(|w| w == name)
    })
}

fn create_some(
    connection: &Connection,
    groups: &[(String, &Group)],
    columns: &BTreeMap<String, Vec<String>>,
    part: &ExcludedRows,
    wanted: &dyn Fn(&str) -> bool,
) -> rusqlite::Result<()> {
    let mut sql = String::from("BEGIN;");
    let some: BTreeMap<&str, &[String]> =
        columns.iter().filter(|(name, _)| wanted(name)).map(|(n, c)| (n.as_str(), c.as_slice())).collect();
    let row_views: Vec<&View> =
        views::known().iter().filter(|v| v.scope == Scope::Rows && wanted(v.name)).collect();
    match groups {
        [(database, group)] => {
            let left_out = |table: &PartTable<'_>| part.condition(table, &label(0));
            tables(&mut sql, &some, (database, group), "", &left_out);
            rows(&mut sql, &row_views, columns, "");
        }
        _ => {
            for (number, (database, group)) in groups.iter().enumerate() {
                let ending = label(number);
                let left_out = |table: &PartTable<'_>| part.condition(table, &ending);
                tables(&mut sql, &some, (database, group), &ending, &left_out);
                rows(&mut sql, &row_views, columns, &ending);
            }
            for name in some.keys().copied().chain(row_views.iter().map(|view| view.name)) {
                union(&mut sql, name, groups.len(), some.get(name).copied());
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
            None => view.select(&newest_has),
        };
        if let Some(select) = select {
            sql.push_str(&format!("CREATE TEMP VIEW {} AS {select};\n", view.name));
        }
    }
    connection.execute_batch(&sql)
}

/// One view per table of a group, with all available columns and without the rows that are left out.
fn tables(
    sql: &mut String,
    columns: &BTreeMap<&str, &[String]>,
    (database, group): (&str, &Group),
    ending: &str,
    left_out: &dyn Fn(&PartTable<'_>) -> String,
) {
    for (&plain, &columns) in columns {
        let shown = InDatabase { database, group };
        // Categories are rows of another table, under another name.
        let (stored, names) = match plain {
            versions::CATEGORIES => versions::categories(&shown),
            _ => (plain, ""),
        };
        let table = group.tables.get(stored);
        let list: Vec<String> = columns
            .iter()
            .map(|column| {
                let own = if column == "string" && !names.is_empty() { names } else { column.as_str() };
                match versions::expression(&shown, stored, own) {
                    None => format!("NULL AS {}", quoted(column)),
                    // All rows of a group share their guid: the plus keeps SQLite from joining by an index on it.
                    Some(own) if column == "guid" => format!("+{own} AS \"guid\""),
                    Some(own) if own == quoted(column) => own,
                    Some(other) => format!("{other} AS {}", quoted(column)),
                }
            })
            .collect();
        let from = match table {
            Some(table) => {
                let condition = left_out(&table_of_part(stored, table));
                format!(" FROM {}{condition}", qualified(database, &table.name))
            }
            None => " WHERE 0".to_string(),
        };
        let name = quoted(&format!("{plain}{ending}"));
        sql.push_str(&format!("CREATE TEMP VIEW {name} AS SELECT {}{from};\n", list.join(", ")));
    }
}

/// The row views of one group.
fn rows(sql: &mut String, row_views: &[&View], columns: &BTreeMap<String, Vec<String>>, part: &str) {
    for view in row_views {
        if let Some(select) = view.select(&|table, column| has(columns, table, column)) {
            let name = quoted(&format!("{}{part}", view.name));
            let select = if part.is_empty() { select } else { of_part(&select, part) };
            sql.push_str(&format!("CREATE TEMP VIEW {name} AS {select};\n"));
        }
    }
}

/// A view's text in which every table and view is replaced by one group's.
fn of_part(select: &str, part: &str) -> String {
    relations_of(select, &mut |name| Some(quoted(&format!("{name}{part}"))))
}

/// Calls `replace` for every table and view that a text reads, and inserts the results.
fn relations_of(select: &str, replace: &mut dyn FnMut(&str) -> Option<String>) -> String {
    let is_name = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let mut text = String::with_capacity(select.len() + 256);
    let mut before = "";
    for word in select.split_inclusive(char::is_whitespace) {
        let name = word.trim_end();
        let relation = matches!(before, "FROM" | "JOIN") && !name.is_empty() && is_name(name);
        match relation.then(|| replace(name)).flatten() {
            Some(new) => {
                text.push_str(&new);
                text.push_str(&word[name.len()..]);
            }
            None => text.push_str(word),
        }
        if !name.is_empty() {
            before = name;
        }
    }
    text
}

fn union(sql: &mut String, name: &str, groups: usize, columns: Option<&[String]>) {
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
        let text = "SELECT R.start, samples\nFROM rocpd_region R\nLEFT JOIN samples S ON S.id = R.id";
        assert_eq!(
            of_part(text, "@3"),
            "SELECT R.start, samples\nFROM \"rocpd_region@3\" R\nLEFT JOIN \"samples@3\" S ON S.id = R.id"
        );
    }
}
