//! The views of the merged file: plain names over the tables of all recordings by column names, then rocpd's own
//! data and summary views.

use std::collections::BTreeMap;

use rusqlite::{Connection, Result};

use super::contents::Table;
use crate::rocpd::recordings::{quoted, united};
use crate::rocpd::schema::{self, SchemaVersion};
use crate::rocpd::views;

/// Tables of all recordings by their plain names.
#[derive(Default)]
pub(super) struct Unions {
    tables: BTreeMap<String, Parts>,
}

#[derive(Default)]
struct Parts {
    /// The different lists of columns that tables of this name have.
    layouts: Vec<Vec<String>>,
    /// (table, its layout)
    parts: Vec<(String, usize)>,
}

impl Unions {
    /// Adds a table that stands in the merged file under `name`.
    pub fn add(&mut self, table: &Table, name: &str) {
        let parts = self.tables.entry(table.plain.clone()).or_default();
        let known = parts.layouts.iter().position(|layout| *layout == table.columns);
        let layout = known.unwrap_or_else(|| {
            parts.layouts.push(table.columns.clone());
            parts.layouts.len() - 1
        });
        parts.parts.push((name.to_string(), layout));
    }

    /// Creates all views but those whose names are taken by tables.
    pub fn create(&self, connection: &Connection, taken: &dyn Fn(&str) -> bool) -> Result<()> {
        let columns = self.columns();
        for (plain, columns) in columns.iter().filter(|(plain, _)| !taken(plain)) {
            let select =
                self.tables.get(plain).map_or_else(|| nothing(columns), |parts| parts.select(columns));
            connection.execute(&format!("CREATE VIEW {} AS {select}", quoted(plain)), [])?;
        }
        let has = |table: &str, column: &str| {
            columns.get(table).is_some_and(|columns| columns.iter().any(|c| c.eq_ignore_ascii_case(column)))
        };
        for (name, select) in views::for_schema(&has).into_iter().filter(|(name, _)| !taken(name)) {
            connection.execute(&format!("CREATE VIEW {} AS {select}", quoted(name)), [])?;
        }
        Ok(())
    }

    /// Columns of every plain name: those of schema 3.0.0 that views stand on, those of later revisions that some
    /// recording has, in the schema's order, then what else the recordings have.
    fn columns(&self) -> BTreeMap<String, Vec<String>> {
        let first = schema::tables(SchemaVersion::V3_0_0);
        let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for table in schema::tables(SchemaVersion::NEWEST) {
            let oldest = first.iter().find(|t| t.name == table.name);
            let parts = self.tables.get(table.name);
            if oldest.is_none() && parts.is_none() {
                continue;
            }
            let stands = |column: &&&str| {
                oldest.is_some_and(|t| t.columns.contains(column)) || parts.is_some_and(|p| p.has(column))
            };
            let kept = table.columns.iter().filter(stands).map(|column| column.to_string()).collect();
            columns.insert(table.name.to_string(), kept);
        }
        for (plain, parts) in &self.tables {
            let known = columns.entry(plain.clone()).or_default();
            for column in parts.layouts.iter().flatten() {
                if !known.iter().any(|k| k.eq_ignore_ascii_case(column)) {
                    known.push(column.clone());
                }
            }
        }
        columns
    }
}

impl Parts {
    fn has(&self, column: &str) -> bool {
        self.layouts.iter().flatten().any(|own| own.eq_ignore_ascii_case(column))
    }

    /// All tables of a name, each with all columns there are.
    fn select(&self, columns: &[String]) -> String {
        let lists: Vec<String> = self.layouts.iter().map(|layout| list(layout, columns)).collect();
        let selects: Vec<String> = self
            .parts
            .iter()
            .map(|(name, layout)| format!("SELECT {} FROM {}", lists[*layout], quoted(name)))
            .collect();
        united(&selects)
    }
}

fn list(layout: &[String], columns: &[String]) -> String {
    if layout == columns {
        return "*".into();
    }
    let own = |column: &String| match layout.iter().find(|own| own.eq_ignore_ascii_case(column)) {
        Some(own) => quoted(own),
        None => format!("NULL AS {}", quoted(column)),
    };
    columns.iter().map(own).collect::<Vec<_>>().join(", ")
}

fn nothing(columns: &[String]) -> String {
    let nulls: Vec<String> = columns.iter().map(|column| format!("NULL AS {}", quoted(column))).collect();
    format!("SELECT {} WHERE 0", nulls.join(", "))
}
