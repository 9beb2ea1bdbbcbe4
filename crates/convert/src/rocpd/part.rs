//! Part of rocpd databases: which rows of the original tables a window or a filter excludes.
//!
//! A filter chooses rows of a `Trace`, which holds less than a database. Comparing the trace before and after
//! shows which rows are gone; their ids are then looked up in the original tables, so that the remaining rows
//! keep every column.

use formats::rocpd::table;
use rusqlite::{Connection, Result};
use trace::{Map, Ns, ProcessId, Trace};

use super::recordings::{qualified, quoted};
use super::versions::{Tables, expression};

/// Identifies a row: guid, start, end, and the dispatch id or size if it has one.
type Key = (String, Ns, Ns, i64);

/// Tables whose rows a filter chooses from: (plain name, column that distinguishes rows of equal times).
const TIMED: [(&str, Option<&str>); 5] = [
    (table::KERNEL_DISPATCH, Some("dispatch_id")),
    (table::MEMORY_COPY, Some("size")),
    (table::MEMORY_ALLOCATE, Some("address")),
    (table::REGION, None),
    (table::SAMPLE, None),
];

/// How often each row of the timed tables is in a trace.
#[derive(Clone, Debug, Default)]
pub struct TimedRows([Map<Key, u32>; TIMED.len()]);

impl TimedRows {
    /// The rows of a trace.
    pub fn of(trace: &Trace) -> Self {
        let guid = |process: ProcessId| {
            process.get().map_or("", |p| trace.strings.get(trace.processes[p].guid)).to_string()
        };
        let mut rows = Self::default();
        let mut add = |table: usize, key: Key| *rows.0[table].entry(key).or_insert(0) += 1;
        let (kernels, copies) = (&trace.kernels, &trace.memory_copies);
        for i in 0..kernels.len() {
            let dispatch = kernels.dispatch[i].get().unwrap_or(0);
            add(0, (guid(kernels.process[i]), kernels.start[i], kernels.end[i], dispatch));
        }
        for i in 0..copies.len() {
            let bytes = copies.bytes[i].get().unwrap_or(0);
            add(1, (guid(copies.process[i]), copies.start[i], copies.end[i], bytes));
        }
        let allocations = &trace.memory_allocations;
        for i in 0..allocations.len() {
            let address = allocations.address[i].get().unwrap_or(0);
            add(2, (guid(allocations.process[i]), allocations.start[i], allocations.end[i], address));
        }
        let (regions, samples) = (&trace.regions, &trace.samples);
        for i in 0..regions.len() {
            add(3, (guid(regions.process[i]), regions.start[i], regions.end[i], 0));
        }
        for i in 0..samples.len() {
            add(4, (guid(samples.process[i]), samples.start[i], samples.start[i], 0));
        }
        rows
    }
}

/// The excluded rows.
#[derive(Clone, Debug, Default)]
pub struct ExcludedRows {
    gone: [Map<Key, ()>; TIMED.len()],
}

/// A table of an attached database.
#[derive(Clone, Copy, Debug)]
pub struct PartTable<'a> {
    /// Its name without the recording's suffix.
    pub plain: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its columns.
    pub columns: &'a [String],
}

impl PartTable<'_> {
    fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|own| own.eq_ignore_ascii_case(column))
    }
}

impl ExcludedRows {
    /// The rows in `all` that are no longer in `kept`. Of indistinguishable rows, all stay if one does.
    pub fn between(all: &TimedRows, kept: &TimedRows) -> Self {
        let mut part = Self::default();
        for (table, rows) in all.0.iter().enumerate() {
            for key in rows.keys().filter(|key| !kept.0[table].contains_key(*key)) {
                part.gone[table].insert(key.clone(), ());
            }
        }
        part
    }

    /// Whether every row stays.
    pub fn is_whole(&self) -> bool {
        self.gone.iter().all(|gone| gone.is_empty())
    }

    /// Records the ids of the rows that one recording loses in TEMP tables, for `condition`. `label`
    /// identifies the recording.
    pub fn note(
        &self,
        connection: &Connection,
        database: &str,
        tables: &[PartTable<'_>],
        shown: &dyn Tables,
        label: &str,
    ) -> Result<()> {
        if self.is_whole() {
            return Ok(());
        }
        let events = noted(label, table::EVENT);
        connection.execute_batch(&format!("CREATE TEMP TABLE {events} (id INTEGER PRIMARY KEY)"))?;
        let mut timed = Vec::new();
        for (number, (plain, extra)) in TIMED.iter().enumerate() {
            let Some(table) = tables.iter().find(|table| table.plain == *plain) else { continue };
            connection.execute_batch(&format!(
                "CREATE TEMP TABLE {} (id INTEGER PRIMARY KEY)",
                noted(label, plain)
            ))?;
            self.note_table(connection, database, (table, shown), number, *extra, label)?;
            timed.push(table);
        }
        // An event is excluded with its row, unless a remaining row also has it.
        for keep in [false, true] {
            for table in timed.iter().filter(|table| table.has("event_id")) {
                let gone = format!("(SELECT id FROM temp.{})", noted(label, table.plain));
                let from = qualified(database, table.name);
                let sql = if keep {
                    format!(
                        "DELETE FROM temp.{events} WHERE id IN (SELECT event_id FROM {from} WHERE rowid NOT IN {gone})"
                    )
                } else {
                    format!(
                        "INSERT OR IGNORE INTO temp.{events} SELECT event_id FROM {from} \
                         WHERE rowid IN {gone} AND typeof(event_id) = 'integer'"
                    )
                };
                connection.execute(&sql, [])?;
            }
        }
        Ok(())
    }

    fn note_table(
        &self,
        connection: &Connection,
        database: &str,
        (table, shown): (&PartTable<'_>, &dyn Tables),
        number: usize,
        extra: Option<&str>,
        label: &str,
    ) -> Result<()> {
        let times = if table.plain == table::SAMPLE { ["timestamp", "timestamp"] } else { ["start", "end"] };
        let [Some(start), Some(end)] = times.map(|column| expression(shown, table.plain, column)) else {
            return Ok(());
        };
        if !table.has("guid") {
            return Ok(());
        }
        let extra = extra.filter(|column| table.has(column)).map_or("0".into(), quoted);
        let select =
            format!("SELECT rowid, guid, {start}, {end}, {extra} FROM {}", qualified(database, table.name));
        let mut rows = connection.prepare(&select)?;
        let mut rows = rows.query([])?;
        let mut insert =
            connection.prepare(&format!("INSERT INTO temp.{} VALUES (?1)", noted(label, table.plain)))?;
        while let Some(row) = rows.next()? {
            let int = |i: usize| row.get_ref(i).ok().and_then(|value| value.as_i64().ok());
            let (Some(id), Some(start), Some(end)) = (int(0), int(2), int(3)) else { continue };
            let guid = row.get_ref(1)?.as_str().unwrap_or_default().to_string();
            if self.gone[number].contains_key(&(guid, start, end, int(4).unwrap_or(0))) {
                insert.execute([id])?;
            }
        }
        Ok(())
    }

    /// The ` WHERE …` that excludes the recorded rows of a table; empty if all rows stay.
    pub fn condition(&self, table: &PartTable<'_>, label: &str) -> String {
        if self.is_whole() {
            return String::new();
        }
        if table.plain == table::EVENT || TIMED.iter().any(|(plain, _)| *plain == table.plain) {
            return format!(" WHERE rowid NOT IN (SELECT id FROM temp.{})", noted(label, table.plain));
        }
        if table.has("event_id") {
            return format!(
                " WHERE event_id IS NULL OR event_id NOT IN (SELECT id FROM temp.{})",
                noted(label, table::EVENT)
            );
        }
        String::new()
    }

    /// Drops what `note` recorded.
    pub fn forget(&self, connection: &Connection, label: &str) -> Result<()> {
        let tables = TIMED.iter().map(|(plain, _)| *plain).chain([table::EVENT]);
        for plain in tables {
            connection.execute_batch(&format!("DROP TABLE IF EXISTS temp.{}", noted(label, plain)))?;
        }
        Ok(())
    }
}

fn noted(label: &str, plain: &str) -> String {
    quoted(&format!("left_out:{plain}{label}"))
}
