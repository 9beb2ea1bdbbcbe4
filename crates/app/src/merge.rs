//! rocpd databases of many ranks and nodes as one.

use formats::rocpd::table;
use std::path::{Path, PathBuf};

use convert::merge::{
    self, Error, Input, Merged, Options, PackageOptions, Recording, files_of_package, is_package,
};
use ingest::Format;
use report::{Column, InputFact, Note, Remedy, Report, Table, Unit, Value};
use trace::{Health, Status};

use crate::failure::Failure;
use crate::input::{is_folder, is_within};
use crate::observer::{Observer, watched};

/// File name if the output is a folder.
const DEFAULT_NAME: &str = "merged.db";

/// Tables whose rows are counted separately: (column, plain name).
const COUNTED: &[(&str, &str)] = &[
    ("dispatches", table::KERNEL_DISPATCH),
    ("regions", table::REGION),
    ("copies", table::MEMORY_COPY),
    ("allocations", table::MEMORY_ALLOCATE),
    ("samples", table::SAMPLE),
    ("counters", table::PMC_EVENT),
    ("events", table::EVENT),
    ("args", table::ARG),
    ("strings", table::STRING),
];

/// What to merge, and into what.
#[derive(Clone, Debug, Default)]
pub struct MergeRequest {
    /// Databases, folders of them, packages.
    pub inputs: Vec<PathBuf>,
    /// Database to write.
    pub out: Option<PathBuf>,
    /// Folder package to write instead.
    pub package: Option<PathBuf>,
    /// Whether to move the databases into the package.
    pub move_files: bool,
    /// Whether to keep environments and command lines, secrets included.
    pub keep_environment: bool,
    /// Whether to replace existing files.
    pub force: bool,
}

/// Joins rocpd databases into one, or into a folder package.
pub fn merge(request: &MergeRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    request.answer(observer)
}

impl MergeRequest {
    fn answer(&self, observer: &dyn Observer) -> Result<Report, Failure> {
        if self.inputs.is_empty() {
            return Err(Failure::input("no input given").with_help(Remedy::NameInput));
        }
        if self.move_files && !self.keep_environment {
            let message = "moving the databases would lose the environments that are left out of the package";
            return Err(Failure::input(message).with_help(Remedy::KeepEnvironment));
        }
        let target = self.target();
        if target.exists() && !self.force {
            return Err(Failure::input(format!("`{}` already exists", target.display()))
                .with_help(Remedy::OtherPlaceOrReplace));
        }
        if self.package.is_some() {
            files::check_replaceable(&target)
                .map_err(|error| Failure::input(error.to_string()).with_help(Remedy::OtherPackage))?;
        }
        let mut health = Health::default();
        let inputs = databases(&self.inputs, &target, &mut health)?;
        let options = Options { keep_environment: self.keep_environment };
        let named: Vec<Input> = inputs
            .iter()
            .map(|input| Input { path: input.path.clone(), rank: ingest::rank_of_path(&input.path) })
            .collect();
        let merged = watched("merging", observer, |progress| {
            progress.expect(inputs.iter().map(|input| input.bytes).sum());
            let done = |bytes| progress.advance(bytes);
            match self.package {
                Some(_) => {
                    let options = PackageOptions { options, move_files: self.move_files };
                    merge::package(&named, &target, &options, &done)
                }
                None => merge::merge(&named, &target, &options, &done),
            }
        })?;
        health.checks.extend(merged.health.checks.iter().cloned());
        Ok(self.report(&inputs, &merged, &health))
    }

    fn target(&self) -> PathBuf {
        match (&self.out, &self.package) {
            (Some(out), _) if is_folder(out) => out.join(DEFAULT_NAME),
            (Some(path), _) | (None, Some(path)) => path.clone(),
            (None, None) => DEFAULT_NAME.into(),
        }
    }

    fn report(&self, inputs: &[ingest::Input], merged: &Merged, health: &Health) -> Report {
        let mut files = Table::new(
            "files",
            "Written",
            vec![Column::text("path"), Column::int("bytes", Unit::Bytes).key()],
        );
        for (path, bytes) in &merged.files {
            files.push(vec![Value::Text(path.display().to_string()), Value::Int(*bytes as i64)]);
        }
        let rank_of = |path: &Path| merged.recordings.iter().find(|r| r.path == path).and_then(|r| r.rank);
        let facts = inputs.iter().map(|input| InputFact {
            path: input.path.display().to_string(),
            format: input.format.name().into(),
            bytes: input.bytes,
            rank: rank_of(&input.path),
        });
        Report {
            command: "merge".into(),
            inputs: facts.collect(),
            health: analysis::health(health),
            tables: vec![recordings(&merged.recordings), files],
            notes: self.notes(merged),
            ..Report::default()
        }
    }

    fn notes(&self, merged: &Merged) -> Vec<Note> {
        let mut notes = Vec::new();
        notes.push(match (self.keep_environment, merged.removed) {
            (true, _) => "environments and command lines are kept as they were, secrets included".into(),
            (false, 0) => "found no secrets in the environments".into(),
            (false, n) => Note::new(
                format!("{n} values were removed from environments and command lines"),
                Remedy::KeepEnvironment,
            ),
        });
        if !merged.carried.is_empty() {
            let names = merged.carried.join("`, `");
            notes.push(format!("the merged file has views and triggers of the inputs: `{names}`").into());
        }
        let mut hosts: Vec<&str> = merged.recordings.iter().map(|r| r.host.as_str()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        if hosts.len() > 1 {
            notes.push(
                format!(
                    "the clocks of {} hosts start at their boots: compare durations between hosts, not times",
                    hosts.len()
                )
                .into(),
            );
        }
        notes
    }
}

/// The databases behind files, folders and packages. A file that is not a database is refused if the user
/// named it, and reported if it is in a folder.
fn databases(paths: &[PathBuf], target: &Path, health: &mut Health) -> Result<Vec<ingest::Input>, Failure> {
    let mut databases = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            return Err(Failure::input("a SQLite database can only be read from a file"));
        }
        if is_package(path) {
            let (found, _) = ingest::find_usable_inputs(&files_of_package(path)?)?;
            if let Some(input) = found.iter().find(|input| is_within(&input.path, target)) {
                let message = format!("`{}` holds the input `{}`", target.display(), input.path.display());
                return Err(Failure::input(message).with_help(Remedy::OtherPackage));
            }
            databases.extend(found.into_iter().map(only_database).collect::<Result<Vec<_>, _>>()?);
        } else if path.is_dir() {
            let (found, unusable) = ingest::find_usable_inputs(std::slice::from_ref(path))?;
            let (own, others): (Vec<_>, Vec<_>) = found
                .into_iter()
                .filter(|input| !is_within(&input.path, target))
                .partition(|input| input.format == Format::Rocpd);
            if own.is_empty() {
                return Err(match others.into_iter().next() {
                    Some(other) => not_a_database(&other),
                    None => Failure::input(format!("no rocpd database found in `{}`", path.display())),
                });
            }
            for other in &others {
                let message = format!(
                    "`{}` is {}, not rocpd, and is left out",
                    other.path.display(),
                    other.format.name()
                );
                health.report("left_out", Status::Warn, None, message);
            }
            for error in &unusable {
                health.report("unreadable_input", Status::Fail, None, format!("left out: {error}"));
            }
            databases.extend(own);
        } else {
            let found = ingest::find_inputs(std::slice::from_ref(path))?;
            for input in found {
                if is_within(&input.path, target) {
                    return Err(Failure::input(format!("`{}` is the input", target.display()))
                        .with_help(Remedy::OtherPlace));
                }
                databases.push(only_database(input)?);
            }
        }
    }
    Ok(databases)
}

fn only_database(input: ingest::Input) -> Result<ingest::Input, Failure> {
    if input.format == Format::Rocpd { Ok(input) } else { Err(not_a_database(&input)) }
}

fn not_a_database(input: &ingest::Input) -> Failure {
    let path = input.path.display();
    Failure::input(format!("`{path}` is {}, and merge only reads rocpd databases", input.format.name()))
        .with_help(Remedy::ConvertToRocpd(path.to_string()))
}

fn recordings(recordings: &[Recording]) -> Table {
    let mut columns = vec![
        Column::text("input"),
        Column::text("guid").normal(),
        Column::text("host"),
        Column::int("rank", Unit::Exact).key(),
        Column::text("schema").detail(),
        Column::int("rows", Unit::None).key(),
    ];
    columns.extend(COUNTED.iter().map(|(key, _)| Column::int(key, Unit::None)));
    columns.push(Column::int("other_rows", Unit::None));
    let mut table = Table::new("recordings", "Recordings merged", columns);
    for recording in recordings {
        let all: u64 = recording.rows.iter().map(|(_, rows)| rows).sum();
        let rows_of =
            |plain: &str| recording.rows.iter().find(|(name, _)| name == plain).map(|(_, rows)| *rows as i64);
        let counted: Vec<Option<i64>> = COUNTED.iter().map(|(_, plain)| rows_of(plain)).collect();
        let mut row = vec![
            Value::Text(recording.path.display().to_string()),
            Value::from(recording.guid.as_str()),
            Value::from(recording.host.as_str()),
            Value::int_or(recording.rank.map(i64::from), "neither the environment nor the file name has it"),
            Value::from(recording.schema.as_str()),
            Value::Int(all as i64),
        ];
        row.extend(counted.iter().map(|rows| Value::int_or(*rows, "the database has no such table")));
        row.push(Value::Int(all as i64 - counted.iter().flatten().sum::<i64>()));
        table.push(row);
    }
    table
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = Failure::input(error.to_string());
        match error {
            Error::NotRocpd { path } => failure.with_help(Remedy::ConvertToRocpd(path.display().to_string())),
            Error::Conflict { .. } => failure.with_help("merge one of them only"),
            Error::Output { .. } => failure.with_help(Remedy::OtherPlace),
            Error::Input { .. } => failure,
        }
    }
}
