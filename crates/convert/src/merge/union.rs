//! The views of the merged file: plain names over the tables of all recordings by column names, then rocpd's own
//! data and summary views.

use std::collections::BTreeMap;
use std::rc::Rc;

use rusqlite::{Connection, Result};

use formats::rocpd::table;

use super::contents::Group;
use crate::rocpd::recordings::{quoted, united};
use crate::rocpd::schema::{self, SchemaVersion};
use crate::rocpd::versions::{self, CATEGORIES, CATEGORY_COLUMNS, Tables, expression, has_category_table};
use crate::rocpd::views;

/// Tables of all recordings by their plain names.
#[derive(Default)]
pub(super) struct Unions {
    tables: BTreeMap<String, Parts>,
}

#[derive(Default)]
struct Parts {
    /// The different column lists of tables with this name.
    layouts: Vec<Vec<String>>,
    /// (recording, table, its layout)
    parts: Vec<(Rc<Recording>, String, usize)>,
}

/// The tables of one recording in the merged file.
struct Recording {
    suffix: String,
    columns: BTreeMap<String, Vec<String>>,
    compressed: bool,
}

impl Tables for Recording {
    fn name(&self, plain: &str) -> Option<String> {
        self.columns.contains_key(plain).then(|| quoted(&format!("{plain}{}", self.suffix)))
    }

    fn has(&self, plain: &str, column: &str) -> bool {
        self.columns.get(plain).is_some_and(|own| own.iter().any(|own| own.eq_ignore_ascii_case(column)))
    }

    fn is_compressed(&self) -> bool {
        self.compressed
    }
}

impl Unions {
    /// Adds the tables of a recording, which have `suffix` in the merged file.
    pub fn add(&mut self, group: &Group, suffix: &str) {
        let columns = group.tables.iter().map(|table| (table.plain.clone(), table.columns.clone())).collect();
        let recording = Rc::new(Recording { suffix: suffix.into(), columns, compressed: group.compressed });
        for (plain, columns) in &recording.columns {
            let parts = self.tables.entry(plain.clone()).or_default();
            let known = parts.layouts.iter().position(|layout| layout == columns);
            let layout = known.unwrap_or_else(|| {
                parts.layouts.push(columns.clone());
                parts.layouts.len() - 1
            });
            parts.parts.push((recording.clone(), plain.clone(), layout));
        }
    }

    /// Creates all views, except those whose names are taken by tables.
    pub fn create(&self, connection: &Connection, taken: &dyn Fn(&str) -> bool) -> Result<()> {
        let columns = self.columns();
        for (plain, columns) in columns.iter().filter(|(plain, _)| !taken(plain)) {
            let select = match plain.as_str() {
                CATEGORIES => self.categories(),
                _ => self.tables.get(plain).map_or_else(|| nothing(columns), |parts| parts.select(columns)),
            };
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

    /// Columns by plain name: those of schema 3.0.0 that views need, those of later revisions that some
    /// recording has, in the schema's order, then other columns of the recordings.
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
        let has = |table: &str, column: &str| self.tables.get(table).is_some_and(|parts| parts.has(column));
        if has_category_table(&has) {
            columns.insert(CATEGORIES.to_string(), CATEGORY_COLUMNS.map(str::to_string).to_vec());
        }
        columns
    }

    /// Names of categories of all recordings.
    fn categories(&self) -> String {
        let events = self.tables.get(table::EVENT).map_or(&[][..], |parts| &parts.parts[..]);
        let select = |recording: &Recording| {
            let (table, column) = versions::categories(recording);
            let name = recording.name(table)?;
            Some(format!("SELECT id, guid, {} AS string FROM {name}", quoted(column)))
        };
        let selects: Vec<String> = events.iter().filter_map(|(recording, ..)| select(recording)).collect();
        if selects.is_empty() {
            return nothing(&CATEGORY_COLUMNS.map(str::to_string));
        }
        united(&selects)
    }
}

impl Parts {
    fn has(&self, column: &str) -> bool {
        self.layouts.iter().flatten().any(|own| own.eq_ignore_ascii_case(column))
    }

    /// All tables of a name, each with all columns of the union.
    fn select(&self, columns: &[String]) -> String {
        let selects: Vec<String> = self
            .parts
            .iter()
            .map(|(recording, plain, layout)| {
                let list = list(recording, plain, &self.layouts[*layout], columns);
                format!("SELECT {list} FROM {}", quoted(&format!("{plain}{}", recording.suffix)))
            })
            .collect();
        united(&selects)
    }
}

fn list(recording: &Recording, plain: &str, layout: &[String], columns: &[String]) -> String {
    if layout == columns && !recording.compressed {
        return "*".into();
    }
    let shown = |column: &String| match expression(recording, plain, column) {
        Some(own) if own.eq_ignore_ascii_case(&quoted(column)) => {
            // With the recording's spelling, so that it is found.
            layout.iter().find(|name| name.eq_ignore_ascii_case(column)).map_or(own, |name| quoted(name))
        }
        Some(other) => format!("{other} AS {}", quoted(column)),
        None => format!("NULL AS {}", quoted(column)),
    };
    columns.iter().map(shown).collect::<Vec<_>>().join(", ")
}

fn nothing(columns: &[String]) -> String {
    let nulls: Vec<String> = columns.iter().map(|column| format!("NULL AS {}", quoted(column))).collect();
    format!("SELECT {} WHERE 0", nulls.join(", "))
}
