//! Many rocpd databases as one: every table of every recording is copied whole, including columns, tables,
//! indexes and views that we know nothing about.
//!
//! ```text
//! inputs ─► plan (recordings, duplicates) ─► copy, one input attached at a time ─► views over all ─► one file
//!                                        └─► package: a folder of files and its index
//! ```
//!
//! A recording keeps its suffix, guid and ids: `(guid, id)` is rocpd's key, so nothing needs new numbers.
//! Only a suffix that is missing or shared by two recordings is replaced by one made from the guid.

mod contents;
mod copy;
mod environment;
mod package;
mod plan;
mod rename;
mod same;
mod source;
mod union;

use formats::rocpd::table;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::{Connection, ErrorCode};
use trace::{Health, Map, Status};

use crate::rocpd::part::{ExcludedRows, PartTable};
use crate::rocpd::recordings::{qualified, quoted, texts};
use crate::rocpd::schema::{self, SchemaVersion};
use crate::rocpd::set_aside::SetAside;
use crate::rocpd::views::known;
use contents::{Contents, InDatabase, Object, Table, contents};
use files::OutputFile;
pub use package::{PackageOptions, files_of_package, is_package, package};
use plan::{Planned, SOURCE};
use union::Unions;

/// One database to merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The file.
    pub path: PathBuf,
    /// Rank in its file name; stored as `RANK` if the recording itself has none.
    pub rank: Option<u32>,
}

/// How to merge databases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Keep environments and command lines unchanged, including secrets.
    pub keep_environment: bool,
}

/// One recording of the result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The file that it came from.
    pub path: PathBuf,
    /// Its identity; several if recordings share tables.
    pub guid: String,
    /// Suffix of its tables.
    pub suffix: String,
    /// Revision of the schema according to the recording; empty if it has none.
    pub schema: String,
    /// Host name; empty if unknown.
    pub host: String,
    /// Rank of its process, if known.
    pub rank: Option<u32>,
    /// Number of rows of every table, by plain name.
    pub rows: Vec<(String, u64)>,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merged {
    /// Recordings in the order of the inputs.
    pub recordings: Vec<Recording>,
    /// Files and their bytes.
    pub files: Vec<(PathBuf, u64)>,
    /// Removed environment variables and secrets of command lines.
    pub removed: u64,
    /// The inputs' own views and triggers that the merged file also has.
    pub carried: Vec<String>,
    /// What is doubtful.
    pub health: Health,
}

/// Why databases could not be merged.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An input cannot be read.
    #[error("cannot read `{path}`: {why}", path = path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// An input has no tables of a recording.
    #[error("`{path}` has no rocpd tables", path = path.display())]
    NotRocpd {
        /// The file.
        path: PathBuf,
    },
    /// Two inputs claim to be the same recording but differ.
    #[error("`{first}` and `{second}` both hold recording {guid}, with different rows",
        first = first.display(), second = second.display())]
    Conflict {
        /// The recording.
        guid: String,
        /// The file that came first.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// The result cannot be written.
    #[error("cannot write `{path}`: {why}", path = path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

impl Error {
    fn input(path: &Path, why: &dyn std::fmt::Display) -> Self {
        Self::Input { path: path.into(), why: why.to_string() }
    }

    fn output(path: &Path, why: &dyn std::fmt::Display) -> Self {
        Self::Output { path: path.into(), why: why.to_string() }
    }

    fn conflict(guid: &str, first: &Path, second: &Path) -> Self {
        Self::Conflict { guid: guid.into(), first: first.into(), second: second.into() }
    }
}

/// Merges databases into one file. Inputs are only read; there is nothing at `target` until everything is
/// done. `progress` gets the bytes of every finished input.
pub fn merge(
    inputs: &[Input],
    target: &Path,
    options: &Options,
    progress: &dyn Fn(u64),
) -> Result<Merged, Error> {
    merge_part(inputs, target, options, &ExcludedRows::default(), progress)
}

/// Merges without the rows that a window or a filter excludes.
pub fn merge_part(
    inputs: &[Input],
    target: &Path,
    options: &Options,
    part: &ExcludedRows,
    progress: &dyn Fn(u64),
) -> Result<Merged, Error> {
    let mut health = Health::default();
    let planned = plan_inputs(inputs, target, options, &mut health)?;
    write(&planned, target, options, part, health, progress)
}

/// Decides what to merge, in a separate database so that nothing is counted twice.
fn plan_inputs(
    inputs: &[Input],
    target: &Path,
    options: &Options,
    health: &mut Health,
) -> Result<Vec<Planned>, Error> {
    let failed = |e: rusqlite::Error| Error::output(target, &e);
    let connection = Connection::open_in_memory().map_err(failed)?;
    environment::register(&connection, options.keep_environment, &Arc::default()).map_err(failed)?;
    plan::plan(&connection, inputs, target, health)
}

fn write(
    planned: &[Planned],
    target: &Path,
    options: &Options,
    part: &ExcludedRows,
    health: Health,
    progress: &dyn Fn(u64),
) -> Result<Merged, Error> {
    let failed = |e: rusqlite::Error| Error::output(target, &e);
    let output = OutputFile::reserve(target).map_err(|e| Error::output(target, &e))?;
    let connection = Connection::open(output.partial()).map_err(failed)?;
    // Nobody sees the file before it is complete: no journal, no syncing until then.
    connection
        .execute_batch(
            "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; \
             PRAGMA foreign_keys = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -32768; \
             PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;",
        )
        .map_err(failed)?;
    let removed = Arc::new(AtomicU64::new(0));
    environment::register(&connection, options.keep_environment, &removed).map_err(failed)?;
    let mut writer = Writer {
        connection,
        target,
        part,
        unions: Unions::default(),
        names: HashSet::default(),
        others: Map::default(),
        views: Vec::new(),
        triggers: Vec::new(),
        aside: SetAside::default(),
        merged: Merged { health, ..Merged::default() },
    };
    for input in planned {
        writer.copy(input)?;
        progress(input.bytes);
    }
    let mut merged = writer.finish()?;
    merged.removed = removed.load(Ordering::Relaxed);
    let bytes = std::fs::metadata(output.partial()).map_err(|e| Error::output(target, &e))?.len();
    output.commit().map_err(|e| Error::output(target, &e))?;
    merged.files.push((target.into(), bytes));
    Ok(merged)
}

struct Writer<'a> {
    connection: Connection,
    target: &'a Path,
    /// Excluded rows.
    part: &'a ExcludedRows,
    unions: Unions,
    /// Names of all tables and indexes so far, in lower case.
    names: HashSet<String>,
    /// Tables that belong to no recording, by lower-case name.
    others: Map<String, Table>,
    /// The inputs' own views, and their input.
    views: Vec<(Object, PathBuf)>,
    /// The inputs' own triggers, and their input.
    triggers: Vec<(Object, PathBuf)>,
    /// Definitions of finished recordings.
    aside: SetAside,
    merged: Merged,
}

impl Writer<'_> {
    /// Copies the recordings of one input that are not in the file yet, and everything else in it.
    fn copy(&mut self, input: &Planned) -> Result<(), Error> {
        input.source.attach(&self.connection, SOURCE)?;
        let unreadable = |e: rusqlite::Error| Error::input(&input.source.path, &e);
        let found = contents(&self.connection, SOURCE).map_err(unreadable)?;
        let copied = self
            .connection
            .execute_batch("BEGIN")
            .and_then(|()| self.copy_all(input, found))
            .and_then(|()| self.connection.execute_batch("COMMIT"));
        copied.map_err(|e| match e.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => unreadable(e),
            _ => Error::output(self.target, &e),
        })?;
        input.source.detach(&self.connection, SOURCE)?;
        // Tables of no recording are compared again if another input has one with the same name.
        let others = &self.others;
        let taken =
            self.aside.take(&self.connection, &|table| others.contains_key(&table.to_ascii_lowercase()));
        taken.map_err(|e| Error::output(self.target, &e))
    }

    fn copy_all(&mut self, input: &Planned, found: Contents) -> rusqlite::Result<()> {
        let path = &input.source.path;
        let mut new_names: Map<String, String> = Map::default();
        for group in &found.groups {
            let Some(suffix) = input.suffixes.get(&group.suffix) else { continue };
            for table in &group.tables {
                new_names.insert(table.name.to_ascii_lowercase(), format!("{}{suffix}", table.plain));
            }
        }
        let own_suffix = input.suffixes.values().next().cloned().unwrap_or_default();
        let mut others = Vec::new();
        for table in &found.others {
            if let Some(name) = self.name_of_other(table, &own_suffix, path)? {
                new_names.insert(table.name.to_ascii_lowercase(), name);
                others.push(table);
            }
        }
        for index in found
            .indexes
            .iter()
            .filter(|i| new_names.contains_key(&i.table.to_ascii_lowercase()))
            .collect::<Vec<_>>()
        {
            let name = self.free_name(&index.name, &own_suffix);
            self.names.insert(name.to_ascii_lowercase());
            new_names.insert(index.name.to_ascii_lowercase(), name);
        }
        let new_name =
            |name: &str| new_names.get(&name.to_ascii_lowercase()).filter(|new| *new != name).cloned();
        let indexes_of = |table: &Table| -> Vec<&Object> {
            found.indexes.iter().filter(|index| index.table.eq_ignore_ascii_case(&table.name)).collect()
        };
        let tables = found.groups.iter().filter(|group| input.suffixes.contains_key(&group.suffix));
        for table in tables.flat_map(|group| &group.tables).chain(others.iter().copied()) {
            copy::define(&self.connection, &table.sql, &indexes_of(table), &new_name)?;
        }
        for group in &found.groups {
            let Some(suffix) = input.suffixes.get(&group.suffix) else { continue };
            let mut recording = Recording {
                path: path.clone(),
                guid: group.guids.join(", "),
                suffix: suffix.clone(),
                ..Recording::default()
            };
            let in_part: Vec<PartTable<'_>> = group
                .tables
                .iter()
                .map(|table| PartTable { plain: &table.plain, name: &table.name, columns: &table.columns })
                .collect();
            let shown = InDatabase { database: SOURCE, group };
            self.part.note(&self.connection, SOURCE, &in_part, &shown, suffix)?;
            for (table, in_part) in group.tables.iter().zip(&in_part) {
                let name = format!("{}{suffix}", table.plain);
                let condition = self.part.condition(in_part, suffix);
                let rows = copy::rows(&self.connection, SOURCE, table, &name, input.rank, &condition)?;
                copy::last_id(&self.connection, SOURCE, table, &name)?;
                recording.rows.push((table.plain.clone(), rows));
                self.names.insert(name.to_ascii_lowercase());
            }
            self.unions.add(group, suffix);
            self.part.forget(&self.connection, suffix)?;
            self.describe(&mut recording, group)?;
            self.merged.recordings.push(recording);
        }
        for table in others {
            let name = new_names[&table.name.to_ascii_lowercase()].clone();
            copy::rows(&self.connection, SOURCE, table, &name, None, "")?;
            copy::last_id(&self.connection, SOURCE, table, &name)?;
            self.names.insert(name.to_ascii_lowercase());
            self.others.insert(name.to_ascii_lowercase(), Table { name, ..table.clone() });
        }
        self.views.extend(found.views.into_iter().map(|view| (view, path.clone())));
        self.triggers.extend(found.triggers.into_iter().map(|trigger| (trigger, path.clone())));
        Ok(())
    }

    /// The new name of a table of no recording; `None` if an equal one exists already.
    fn name_of_other(
        &mut self,
        table: &Table,
        suffix: &str,
        path: &Path,
    ) -> rusqlite::Result<Option<String>> {
        if let Some(twin) = self.others.get(&table.name.to_ascii_lowercase())
            && same::same_tables(&self.connection, ("main", twin, None), (SOURCE, table, None))?
        {
            return Ok(None);
        }
        let name = self.free_name(&table.name, suffix);
        if name != table.name {
            let message = format!(
                "renamed table `{}` of `{}` to `{name}`: its name is already used",
                table.name,
                path.display()
            );
            self.merged.health.report("renamed_table", Status::Warn, None, message);
        }
        Ok(Some(name))
    }

    /// A name that no table, index or view of the file has or will have.
    fn free_name(&self, name: &str, suffix: &str) -> String {
        let taken = |name: &String| {
            let lower = name.to_ascii_lowercase();
            self.names.contains(&lower) || is_ours(&lower)
        };
        let with_suffix = format!("{name}{suffix}");
        let numbered = (2..).map(|n| format!("{with_suffix}_{n}"));
        let mut choices = [name.to_string(), with_suffix.clone()].into_iter().chain(numbered);
        choices.find(|choice| !taken(choice)).unwrap_or(with_suffix)
    }

    /// Facts about a recording for the report; unreadable ones are left empty.
    fn describe(&self, recording: &mut Recording, group: &contents::Group) -> rusqlite::Result<()> {
        let of = |plain: &str, column: &str, rest: &str| -> rusqlite::Result<Vec<String>> {
            let Some(column) = group.table(plain).and_then(|table| table.column(column)) else {
                return Ok(Vec::new());
            };
            let from = qualified("main", &format!("{plain}{}", recording.suffix));
            let mut found = texts(&self.connection, &format!("SELECT {} FROM {from}{rest}", quoted(column)))?;
            found.sort();
            found.dedup();
            Ok(found)
        };
        let tagged = group.table(table::METADATA).is_some_and(|table| table.column("tag").is_some());
        if tagged {
            recording.schema = of(table::METADATA, "value", " WHERE tag = 'schema_version'")?.join(", ");
        }
        recording.host = of(table::INFO_NODE, "hostname", "")?.join(", ");
        let environments = of(copy::PROCESSES, "environment", "")?;
        recording.rank = environments.iter().find_map(|text| environment::rank_of_text(text));
        Ok(())
    }

    /// Creates the views over all recordings, and the inputs' own views and triggers.
    fn finish(mut self) -> Result<Merged, Error> {
        let target = self.target;
        let failed = |e: rusqlite::Error| Error::output(target, &e);
        // A view only needs its tables when it is read: with their definitions still set aside, creating it
        // is instant.
        self.connection.execute_batch("BEGIN").map_err(failed)?;
        let names = &self.names;
        self.unions
            .create(&self.connection, &|name| names.contains(&name.to_ascii_lowercase()))
            .map_err(failed)?;
        let views = std::mem::take(&mut self.views);
        self.add(views);
        self.connection.execute_batch("COMMIT").map_err(failed)?;
        std::mem::take(&mut self.aside).put_back(&self.connection).map_err(failed)?;
        if !self.triggers.is_empty() {
            self.connection.execute_batch("BEGIN").map_err(failed)?;
            let triggers = std::mem::take(&mut self.triggers);
            self.add(triggers);
            self.connection.execute_batch("COMMIT").map_err(failed)?;
        }
        self.connection.close().map_err(|(_, e)| failed(e))?;
        Ok(self.merged)
    }

    /// Adds views or triggers of the inputs; equal ones only once.
    fn add(&mut self, objects: Vec<(Object, PathBuf)>) {
        let mut own: Map<String, String> = Map::default();
        for (Object { name, sql, .. }, path) in objects {
            let taken = self.names.contains(&name.to_ascii_lowercase());
            match own.get(&name) {
                Some(same) if *same == sql => continue,
                None if !taken && self.connection.execute(&sql, []).is_ok() => {
                    self.merged.carried.push(name.clone());
                    own.insert(name, sql);
                }
                _ => {
                    let message =
                        format!("left out `{name}` of `{}`: it does not fit the merged file", path.display());
                    self.merged.health.report("left_out", Status::Warn, None, message);
                }
            }
        }
    }
}

/// Whether a name is one of rocpd's views.
fn is_ours(name: &str) -> bool {
    known().iter().any(|view| view.name == name)
        || schema::tables(SchemaVersion::NEWEST).iter().any(|table| table.name == name)
}
