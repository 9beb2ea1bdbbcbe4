//! Which tables of a database belong together: rocpd names carry the recording's suffix, and a merged file has
//! several recordings.

use formats::lz4;
use formats::rocpd::table;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use formats::rocpd::BEGINNING;
use formats::rocpd::TABLES;
use formats::rocpd::versions::{self, ColumnSource};
pub(super) use formats::rocpd::{EXPECTED, base_of};
use trace::Map;

use crate::Progress;
use crate::sqlite::{Col, Database, Row, Table, Value};

/// Columns of schema 3.0.0 that analyses need, whatever tables hold them in later versions.
const COLUMNS: [(&str, &[&str]); 7] = [
    (table::STRING, &["string"]),
    (table::EVENT, &["category_id", "stack_id", "parent_stack_id"]),
    (table::REGION, &["pid", "tid", "start", "end", "name_id", "event_id"]),
    (
        table::KERNEL_DISPATCH,
        &["pid", "tid", "agent_id", "kernel_id", "queue_id", "stream_id", "start", "end", "event_id"],
    ),
    (table::MEMORY_COPY, &["pid", "start", "end", "name_id", "size", "event_id"]),
    (table::MEMORY_ALLOCATE, &["pid", "type", "start", "end", "address", "size", "event_id"]),
    (table::PMC_EVENT, &["event_id", "pmc_id", "value"]),
];

/// Tables that only a recording has.
const TELLING: [&str; 8] = [
    table::METADATA,
    table::STRING,
    table::INFO_PROCESS,
    table::KERNEL_DISPATCH,
    table::REGION,
    table::MEMORY_COPY,
    table::MEMORY_ALLOCATE,
    table::SAMPLE,
];

/// The tables of one recording.
pub(super) struct Group<'a> {
    pub db: &'a Database,
    pub suffix: String,
    pub guid: String,
    tables: Map<&'static str, &'a Table>,
    /// Other recordings share these tables; their rows are skipped.
    mixed: bool,
    progress: &'a Progress,
    losses: RefCell<Losses>,
    advanced: &'a Cell<u64>,
}

/// What could not be read from a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Loss {
    /// Invalid pages and rows.
    pub damaged: u64,
    /// Rows that were read.
    pub rows: u64,
    /// Rows that the database should have, if it says.
    pub promised: Option<u64>,
}

/// Losses by the name of the table.
pub(super) type Losses = BTreeMap<String, Loss>;

impl Loss {
    /// How much is lost, in words.
    pub fn words(&self) -> String {
        let pages = if self.damaged == 1 { "page or row" } else { "pages or rows" };
        match self.promised.filter(|&promised| promised > self.rows) {
            Some(promised) if self.rows == 0 => format!("all {promised} rows"),
            Some(promised) => format!("{} of {promised} rows", promised - self.rows),
            None if self.rows == 0 => "all rows".into(),
            None => format!("{} {pages}, {} rows were read", self.damaged, self.rows),
        }
    }
}

/// Finds the recordings of a database, in the order of their tables.
pub(super) fn find<'a>(db: &'a Database, progress: &'a Progress, advanced: &'a Cell<u64>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for table in db.tables.iter().filter(|t| t.has_rows) {
        let Some((base, suffix)) = base_of(&table.name) else { continue };
        let known = groups.iter().position(|g| g.suffix == suffix).unwrap_or_else(|| {
            groups.push(Group {
                db,
                suffix: suffix.into(),
                guid: String::new(),
                tables: Map::default(),
                mixed: false,
                progress,
                losses: RefCell::default(),
                advanced,
            });
            groups.len() - 1
        });
        groups[known].tables.insert(base, table);
    }
    groups.retain(|g| TELLING.iter().any(|base| g.tables.contains_key(base)));
    groups.into_iter().flat_map(Group::by_guid).collect()
}

impl<'a> Group<'a> {
    /// A table by its base name.
    pub fn table(&self, base: &str) -> Option<&'a Table> {
        self.tables.get(base).copied()
    }

    /// Whether a table exists and is not empty.
    pub fn has_rows(&self, base: &str) -> bool {
        self.table(base).is_some_and(|table| !self.db.is_empty(table))
    }

    /// A column of a table; absent if either is missing.
    pub fn column(&self, base: &str, name: &str) -> Col {
        self.table(base).map_or(Col::ABSENT, |table| table.column(name))
    }

    /// Where a column of schema 3 is in this recording.
    pub fn place(&self, base: &str, column: &str) -> ColumnSource {
        versions::place(base, column, &|table, column| self.column(table, column).is_present())
    }

    /// The table and column with the categories of events.
    pub fn categories(&self) -> (&'static str, &'static str) {
        versions::categories(&|table, column| self.column(table, column).is_present())
    }

    /// Unknown tables of this recording.
    pub fn unknown(&self) -> Vec<&'a str> {
        let own = |name: &&'a str| name.starts_with(BEGINNING) && base_of(name).is_none();
        let names = self.db.tables.iter().map(|table| table.name.as_str()).filter(own);
        names.filter_map(|name| name.strip_suffix(self.suffix.as_str())).collect()
    }

    /// Names of tables that should exist but do not.
    pub fn missing(&self) -> Vec<&'static str> {
        TABLES[..EXPECTED].iter().copied().filter(|base| !self.tables.contains_key(base)).collect()
    }

    /// Columns that should exist but do not, as `table.column`.
    pub fn missing_columns(&self) -> Vec<String> {
        let of = |&(base, columns): &(&str, &[&str])| {
            self.table(base)?;
            let gone = columns.iter().filter(|column| self.place(base, column) == ColumnSource::Nowhere);
            Some(gone.map(|column| format!("{base}.{column}")).collect::<Vec<_>>())
        };
        COLUMNS.iter().filter_map(of).flatten().collect()
    }

    /// What could not be read so far.
    pub fn losses(&self) -> Losses {
        self.losses.borrow().clone()
    }

    /// Reads a table, with `each` on workers; nothing if it is missing. See [`Database::scan`].
    pub fn scan<T: Send>(
        &self,
        base: &str,
        wanted: &[Col],
        start: impl Fn() -> T + Sync,
        each: impl Fn(&mut T, &Row<'_>) + Sync,
        mut merge: impl FnMut(T),
    ) {
        self.scan_expecting(base, wanted, start, each, |state, _| merge(state));
    }

    /// [`Self::scan`], where `merge` also gets about how many rows the whole table has.
    pub fn scan_expecting<T: Send>(
        &self,
        base: &str,
        wanted: &[Col],
        start: impl Fn() -> T + Sync,
        each: impl Fn(&mut T, &Row<'_>) + Sync,
        merge: impl FnMut(T, usize),
    ) {
        let Some(table) = self.table(base) else { return };
        let scanned = if self.mixed {
            let guid = table.column("guid");
            let mut columns = wanted.to_vec();
            columns.push(guid);
            let name = self.guid.as_str();
            let own = |row: &Row<'_>| !guid.is_present() || row.text(guid).as_deref() == Some(name);
            let each = |state: &mut T, row: &Row<'_>| {
                if own(row) {
                    each(state, row);
                }
            };
            self.db.scan_expecting(table, &columns, start, each, merge)
        } else {
            self.db.scan_expecting(table, wanted, start, each, merge)
        };
        if scanned.damaged > 0 {
            let promised = self.db.promised_rows(&table.name);
            let loss = Loss { damaged: scanned.damaged, rows: scanned.rows, promised };
            // A table that is read twice loses its rows only once.
            self.losses.borrow_mut().insert(table.name.clone(), loss);
        }
        self.advance(scanned.rows);
    }

    /// Reads a small table on this thread.
    pub fn each(&self, base: &str, mut each: impl FnMut(&Cells<'_>)) {
        let Some(table) = self.table(base) else { return };
        let wanted: Vec<Col> = table.columns.iter().map(|c| c.place).collect();
        let own = |row: &Row<'_>| Owned {
            values: table.columns.iter().map(|c| OwnedValue::of(row, c.place)).collect(),
        };
        self.scan(
            base,
            &wanted,
            Vec::new,
            |out: &mut Vec<Owned>, row| out.push(own(row)),
            |rows| {
                for row in &rows {
                    each(&Cells { table, row });
                }
            },
        );
    }

    /// Rows stand in for bytes: progress need not be exact, only steady.
    fn advance(&self, rows: u64) {
        let bytes = (rows * 80).min(self.db.bytes().saturating_sub(self.advanced.get()));
        self.advanced.set(self.advanced.get() + bytes);
        self.progress.advance(bytes);
    }

    /// Distinct texts of a column.
    fn column_values(&self, base: &str, column: &str) -> Vec<String> {
        let mut values = Vec::new();
        let column = self.table(base).map_or(Col::ABSENT, |table| table.column(column));
        let each =
            |known: &mut Vec<String>, row: &Row<'_>| note(known, &row.text(column).unwrap_or_default());
        self.scan(base, &[column], Vec::new, each, |chunk| {
            for text in chunk {
                note(&mut values, &text);
            }
        });
        values
    }

    /// One group for each guid in the rows: ids are unique only within a guid.
    fn by_guid(mut self) -> Vec<Group<'a>> {
        let mut guids = self.column_values(table::INFO_PROCESS, "guid");
        for base in
            [table::INFO_NODE, table::INFO_AGENT, table::STRING, table::REGION, table::KERNEL_DISPATCH]
        {
            if guids.is_empty() {
                guids = self.column_values(base, "guid");
            }
        }
        if guids.is_empty() {
            self.each(table::METADATA, |row| {
                if row.text("tag") == "guid" && !row.text("value").starts_with("{{") {
                    guids = vec![row.text("value").to_string()];
                }
            });
        }
        if guids.len() <= 1 {
            self.guid = guids.pop().unwrap_or_else(|| guid_of_suffix(&self.suffix));
            return vec![self];
        }
        guids
            .into_iter()
            .map(|guid| Group {
                db: self.db,
                suffix: self.suffix.clone(),
                guid,
                tables: self.tables.clone(),
                mixed: true,
                progress: self.progress,
                losses: RefCell::default(),
                advanced: self.advanced,
            })
            .collect()
    }
}

/// Keeps distinct texts in order of first appearance.
fn note(known: &mut Vec<String>, text: &str) {
    // rocprof-sys leaves its own template unfilled in some rows.
    if !text.is_empty() && !text.starts_with("{{") && !known.iter().any(|k| k == text) {
        known.push(text.into());
    }
}

/// A suffix is `_` and the guid with underscores for dashes.
fn guid_of_suffix(suffix: &str) -> String {
    let digits = suffix.trim_start_matches('_');
    let groups: Vec<usize> = digits.split('_').map(str::len).collect();
    if groups == [8, 4, 4, 4, 12] { digits.replace('_', "-") } else { digits.into() }
}

/// Text, unpacked if it is an LZ4 frame.
pub(super) fn unpacked<'a>(row: &Row<'a>, column: Col) -> Option<Cow<'a, str>> {
    match row.value(column) {
        Value::Blob(bytes) if lz4::is_frame(bytes) => {
            let text = lz4::decompress(bytes)?;
            Some(String::from_utf8_lossy(&text).into_owned().into())
        }
        _ => row.text(column),
    }
}

/// A small row by column names.
pub(super) struct Cells<'a> {
    table: &'a Table,
    row: &'a Owned,
}

struct Owned {
    values: Vec<OwnedValue>,
}

/// A value as number and text; small tables can afford both.
struct OwnedValue {
    int: Option<i64>,
    text: Option<String>,
}

impl OwnedValue {
    fn of(row: &Row<'_>, col: Col) -> Self {
        Self { int: row.int(col), text: unpacked(row, col).map(Cow::into_owned) }
    }
}

impl<'a> Cells<'a> {
    fn value(&self, name: &str) -> Option<&'a OwnedValue> {
        let at = self.table.columns.iter().position(|c| c.name.eq_ignore_ascii_case(name))?;
        self.row.values.get(at)
    }

    /// A whole number; `None` if the column or the value is missing.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.value(name)?.int
    }

    /// Text; empty if the column or the value is missing.
    pub fn text(&self, name: &str) -> &'a str {
        self.value(name).and_then(|v| v.text.as_deref()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_tells_the_guid() {
        assert_eq!(
            guid_of_suffix("_0000ddb5_8903_7903_b269_cd8d3745bb8a"),
            "0000ddb5-8903-7903-b269-cd8d3745bb8a"
        );
        assert_eq!(guid_of_suffix("_abc_def"), "abc_def");
    }
}
