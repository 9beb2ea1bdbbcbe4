//! A database written in bulk: schema and small tables through SQLite, the tables of events page by page.

use formats::rocpd::table;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;

use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, ToSql, params_from_iter};
use trace::Map;

use super::pages::{PAGE, PageFile, TreeWriter, Value};
use super::recordings::united;
use super::schema::{self, SchemaVersion, TableDef};
use super::set_aside::SetAside;
use super::{Error, Flavour, Options, Written, views};
use files::OutputFile;

/// Tables that are written page by page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Big {
    Event,
    Arg,
    PmcEvent,
    Region,
    Sample,
    KernelDispatch,
    MemoryCopy,
    MemoryAllocate,
    GraphLaunch,
    HipEvent,
}

/// Their names, by `Big as usize`.
pub(super) const BIG: [&str; 10] = [
    table::EVENT,
    table::ARG,
    table::PMC_EVENT,
    table::REGION,
    table::SAMPLE,
    table::KERNEL_DISPATCH,
    table::MEMORY_COPY,
    table::MEMORY_ALLOCATE,
    table::GRAPH_LAUNCH,
    table::HIP_EVENT,
];

/// One tree per big table; `None` if the revision has no such table.
struct BigTable {
    tree: TreeWriter,
    /// Which of the newest revision's columns (without `id` and `guid`) this one has.
    keep: Vec<bool>,
}

/// A small row that is written at the end: table, columns, values.
type SmallRow = (&'static str, Vec<&'static str>, Vec<Stored>);

/// A value that owns its data.
enum Stored {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
}

impl ToSql for Stored {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Stored::Null => Ok(ToSqlOutput::Owned(rusqlite::types::Value::Null)),
            Stored::Int(i) => i.to_sql(),
            Stored::Real(f) => f.to_sql(),
            Stored::Text(t) => t.to_sql(),
        }
    }
}

/// The tables of one recording, with the recording's suffix.
struct Group {
    guid: String,
    suffix: String,
    big: Vec<Option<BigTable>>,
    strings: Map<String, i64>,
    texts: Vec<String>,
    small: Vec<SmallRow>,
}

/// Writes a rocpd database in one pass with bounded memory: rows of the big tables go straight to the file,
/// names and facts wait for [`BulkWriter::finish`]. Groups (recordings) are numbered in the given order.
///
/// ```
/// use rocm_perf_convert::rocpd::{BulkWriter, EventRow, Options, RegionRow};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("run.db");
/// let mut db = BulkWriter::create(&path, &Options::default(), &["0000-01".into()])?;
/// db.insert(0, "rocpd_info_node", &[("id", 7.into()), ("hash", 7.into()), ("machine_id", "m".into())]);
/// db.insert(0, "rocpd_info_process", &[("id", 42.into()), ("nid", 7.into()), ("pid", 42.into())]);
/// db.insert(0, "rocpd_info_thread", &[("id", 42.into()), ("nid", 7.into()), ("pid", 42.into()), ("tid", 42.into())]);
/// let (category, name) = (db.string(0, "HIP_RUNTIME_API_EXT"), db.string(0, "hipLaunchKernel"));
/// let event_id = Some(db.event(0, &EventRow { category: Some(category), stack: Some(1), ..EventRow::default() })?);
/// db.region(0, &RegionRow { nid: 7, pid: 42, tid: 42, start: 10, end: 25, name, event_id, ..RegionRow::default() })?;
/// assert_eq!(db.finish()?.rows, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BulkWriter {
    output: OutputFile,
    target: std::path::PathBuf,
    options: Options,
    version: SchemaVersion,
    tables: Vec<TableDef>,
    groups: Vec<Group>,
    pages: PageFile,
    rows: u64,
}

impl BulkWriter {
    /// Starts a database with one group of tables for each guid. There is nothing at `target` until `finish`.
    pub fn create(target: &Path, options: &Options, guids: &[String]) -> Result<Self, Error> {
        let fail = |why: &dyn std::fmt::Display| Error::write(target, why);
        let output = OutputFile::reserve(target).map_err(|e| fail(&e))?;
        let version = options.version.unwrap_or_default();
        let tables = schema::tables(version);
        let newest = schema::tables(SchemaVersion::NEWEST);
        let connection = Connection::open(output.partial()).map_err(|e| fail(&e))?;
        connection
            .execute_batch(&format!(
                "PRAGMA page_size = {PAGE}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; \
                 PRAGMA locking_mode = EXCLUSIVE; PRAGMA foreign_keys = OFF"
            ))
            .map_err(|e| fail(&e))?;
        let mut aside = SetAside::default();
        let mut suffixes: BTreeSet<String> = BTreeSet::new();
        let mut groups: Vec<Group> = Vec::new();
        for guid in guids {
            let guid = options.flavour.guid(guid);
            let suffix = format!("_{}", guid.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
            if !suffixes.insert(suffix.clone()) {
                return Err(fail(&format!("guid `{guid}` occurs twice")));
            }
            let default = if options.flavour == Flavour::RocprofSys { "{{guid}}" } else { &guid };
            let mut big: Vec<Option<BigTable>> = BIG.iter().map(|_| None).collect();
            connection.execute_batch("BEGIN").map_err(|e| fail(&e))?;
            for table in &tables {
                connection.execute_batch(&table.create(&suffix, default)).map_err(|e| fail(&e))?;
                let Some(number) = BIG.iter().position(|name| *name == table.name) else { continue };
                let root = connection
                    .query_row(
                        "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?1",
                        [format!("{}{suffix}", table.name)],
                        |row| row.get(0),
                    )
                    .map_err(|e| fail(&e))?;
                let full = newest.iter().find(|t| t.name == table.name).map_or(&[][..], |t| &t.columns[2..]);
                let keep = full.iter().map(|column| table.columns.contains(column)).collect();
                big[number] = Some(BigTable { tree: TreeWriter::new(root), keep });
            }
            connection.execute_batch("COMMIT").map_err(|e| fail(&e))?;
            if guids.len() > 1 {
                aside.take(&connection, &|_| false).map_err(|e| fail(&e))?;
            }
            let mut group =
                Group { guid, suffix, big, strings: Map::default(), texts: Vec::new(), small: Vec::new() };
            group.string("");
            groups.push(group);
        }
        if guids.len() > 1 {
            aside.put_back(&connection).map_err(|e| fail(&e))?;
        }
        drop(connection);
        let file = File::options().read(true).write(true).open(output.partial()).map_err(|e| fail(&e))?;
        let pages = PageFile::append_to(file).map_err(|e| fail(&e))?;
        Ok(Self {
            output,
            target: target.into(),
            options: options.clone(),
            version,
            tables,
            groups,
            pages,
            rows: 0,
        })
    }

    /// The revision being written.
    pub fn version(&self) -> SchemaVersion {
        self.version
    }

    /// The guid of a group as written in the file.
    pub fn guid(&self, group: usize) -> &str {
        &self.groups[group].guid
    }

    /// The id of a string in `rocpd_string`; 1 is the empty string.
    pub fn string(&mut self, group: usize, text: &str) -> i64 {
        self.groups[group].string(text)
    }

    /// Adds a row to a small table (all `rocpd_info_…`, `rocpd_track`, `rocpd_metadata`) by column names.
    /// Columns that the revision does not have are left out.
    pub fn insert(&mut self, group: usize, table: &'static str, columns: &[(&'static str, Value<'_>)]) {
        let known = self.tables.iter().find(|t| t.name == table);
        let columns = columns.iter().filter(|(name, _)| known.is_some_and(|t| t.columns.contains(name)));
        let (names, values) = columns
            .map(|(name, value)| {
                let value = match *value {
                    Value::Null => Stored::Null,
                    Value::Int(i) => Stored::Int(i),
                    Value::Real(f) => Stored::Real(f),
                    Value::Text(t) => Stored::Text(t.into()),
                };
                (*name, value)
            })
            .unzip();
        self.groups[group].small.push((table, names, values));
    }

    /// Adds a row to a big table; `values` are the newest revision's columns after `id` and `guid`. Returns
    /// its id, or 0 if the revision has no such table.
    pub(super) fn push(&mut self, group: usize, table: Big, values: &[Value<'_>]) -> Result<i64, Error> {
        let Self { groups, pages, rows, target, .. } = self;
        let Group { guid, big, .. } = &mut groups[group];
        let Some(BigTable { tree, keep }) = &mut big[table as usize] else { return Ok(0) };
        debug_assert_eq!(keep.len(), values.len(), "{table:?}");
        let id = tree.last_rowid().unwrap_or(0) + 1;
        let kept = values.iter().zip(keep.iter()).filter(|(_, keep)| **keep).map(|(value, _)| *value);
        tree.push(pages, id, [Value::Null, Value::Text(guid)].into_iter().chain(kept))
            .map_err(|e| Error::write(target, &e))?;
        *rows += 1;
        Ok(id)
    }

    /// Writes the deferred rows, the views and the file's header, and renames the file.
    pub fn finish(self) -> Result<Written, Error> {
        let Self { output, target, options, version, tables, groups, mut pages, rows } = self;
        let mut sequences: Vec<(String, i64)> = Vec::new();
        let mut rest = Vec::new();
        let close = |pages: &mut PageFile, tree: TreeWriter| -> io::Result<()> { tree.finish(pages) };
        for Group { guid, suffix, big, texts, small, .. } in groups {
            for (number, table) in big.into_iter().enumerate() {
                let Some(BigTable { tree, .. }) = table else { continue };
                if let Some(last) = tree.last_rowid() {
                    sequences.push((format!("{}{suffix}", BIG[number]), last));
                }
                close(&mut pages, tree).map_err(|e| Error::write(&target, &e))?;
            }
            rest.push((guid, suffix, texts, small));
        }
        pages.finish().map_err(|e| Error::write(&target, &e))?;
        let connection = Connection::open(output.partial()).map_err(|e| Error::write(&target, &e))?;
        write_small(&connection, &options, version, &rest, &sequences)
            .and_then(|()| write_views(&connection, &options, &tables, &rest))
            .and_then(|()| connection.execute_batch("COMMIT"))
            .map_err(|e| Error::write(&target, &e))?;
        drop(connection);
        let bytes = std::fs::metadata(output.partial()).map_err(|e| Error::write(&target, &e))?.len();
        output.commit().map_err(|e| Error::write(&target, &e))?;
        Ok(Written { version, bytes, rows, left_out: Vec::new() })
    }
}

impl Group {
    fn string(&mut self, text: &str) -> i64 {
        if let Some(id) = self.strings.get(text) {
            return *id;
        }
        self.texts.push(text.into());
        let id = self.texts.len() as i64;
        self.strings.insert(text.into(), id);
        id
    }
}

type Rest = (String, String, Vec<String>, Vec<SmallRow>);

fn write_small(
    connection: &Connection,
    options: &Options,
    version: SchemaVersion,
    groups: &[Rest],
    sequences: &[(String, i64)],
) -> rusqlite::Result<()> {
    connection.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; \
         PRAGMA cache_size = -32768; PRAGMA foreign_keys = OFF; BEGIN",
    )?;
    connection.set_prepared_statement_cache_capacity(64);
    let mut aside = SetAside::default();
    for (guid, suffix, texts, small) in groups {
        let metadata = format!("INSERT INTO \"rocpd_metadata{suffix}\" (tag, value) VALUES (?1, ?2)");
        let tags = options.flavour.metadata(version, guid, suffix);
        for (tag, value) in &tags {
            connection.prepare_cached(&metadata)?.execute([tag, value])?;
        }
        let text = format!("INSERT INTO \"rocpd_string{suffix}\" (id, guid, string) VALUES (?1, ?2, ?3)");
        let mut statement = connection.prepare(&text)?;
        for (i, text) in texts.iter().enumerate() {
            statement.execute((i as i64 + 1, guid, text))?;
        }
        for (table, columns, values) in small {
            let with_guid = *table != table::METADATA;
            let columns: Vec<&str> =
                with_guid.then_some("guid").into_iter().chain(columns.iter().copied()).collect();
            let sql = format!(
                "INSERT INTO \"{table}{suffix}\" (\"{}\") VALUES ({})",
                columns.join("\", \""),
                vec!["?"; columns.len()].join(", ")
            );
            let guid = with_guid.then_some(guid as &dyn ToSql);
            let values = guid.into_iter().chain(values.iter().map(|v| v as &dyn ToSql));
            connection.prepare_cached(&sql)?.execute(params_from_iter(values))?;
        }
        aside.take_last_ids(connection)?;
    }
    aside.put_back_last_ids(connection)?;
    let mut statement = connection.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)")?;
    for sequence in sequences {
        statement.execute((&sequence.0, sequence.1))?;
    }
    Ok(())
}

/// Plain names over all groups, then the data and summary views.
fn write_views(
    connection: &Connection,
    options: &Options,
    tables: &[TableDef],
    groups: &[Rest],
) -> rusqlite::Result<()> {
    if !options.views {
        return Ok(());
    }
    for table in tables {
        let selects: Vec<String> = groups
            .iter()
            .map(|(_, suffix, ..)| format!("SELECT * FROM \"{}{suffix}\"", table.name))
            .collect();
        if !selects.is_empty() {
            let sql = format!("CREATE VIEW \"{}\" AS {}", table.name, united(&selects));
            connection.execute_batch(&sql)?;
        }
    }
    let has =
        |table: &str, column: &str| tables.iter().any(|t| t.name == table && t.columns.contains(&column));
    for (name, select) in views::for_schema(&has) {
        connection.execute_batch(&format!("CREATE VIEW \"{name}\" AS {select}"))?;
    }
    Ok(())
}
