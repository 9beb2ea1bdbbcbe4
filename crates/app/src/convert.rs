//! A trace in other formats.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use convert::rocpd::part::ExcludedRows;
use convert::{merge, otf2, parquet, pftrace, rocpd, rocprofv3::csv, torch};
use formats::rocpd::versions::Version;
use model::recordings::Recordings;
use report::{Column, Note, Remedy, Report, Table, Unit, Value};
use trace::{Needs, Trace};

use crate::failure::Failure;
use crate::input::{Input, base_name, input_facts, is_folder, is_within};
use crate::observer::Observer;
use crate::threads::give_back;

pub use convert::rocprofv3::csv::AgentIndex;

/// What can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// rocprofv3's CSV files, with the columns of rocpd.
    Csv,
    /// Perfetto's protobuf, with flows, counters and annotations.
    Pftrace,
    /// OTF2 archive for Vampir and other HPC tools.
    Otf2,
    /// Chrome JSON for Perfetto, chrome://tracing and torch's tools.
    Chrome,
    /// rocpd database.
    Rocpd,
    /// Parquet, a file per table (in builds with the feature `parquet`).
    Parquet,
}

/// What to write, from which trace.
#[derive(Clone, Debug, Default)]
pub struct ConvertRequest {
    /// The trace.
    pub input: Input,
    /// Formats.
    pub to: Vec<Target>,
    /// File for one format, or folder for all of them; with `folder`, the prefix of file names.
    pub out: Option<PathBuf>,
    /// Folder to write to.
    pub folder: Option<PathBuf>,
    /// Prefix of file names.
    pub name: Option<String>,
    /// Whether to compress pftrace and chrome.
    pub gzip: bool,
    /// In pftrace, tracks of HSA queues instead of HIP streams.
    pub by_queue: bool,
    /// Name kernels after the region they were launched in, if the program named one.
    pub kernel_rename: bool,
    /// How agents are numbered in csv.
    pub agents: AgentIndex,
    /// Whether to replace existing files.
    pub replace: bool,
}

/// One conversion: the format, the file (or what its files begin with), compressed or not.
struct Job {
    target: Target,
    path: PathBuf,
    gzip: bool,
    by_queue: bool,
    agents: AgentIndex,
}

/// A file that was written.
struct WrittenFile {
    target: Target,
    path: PathBuf,
    bytes: u64,
}

/// Writes a trace in other formats; lists the files.
pub fn convert(request: &ConvertRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    let jobs = request.jobs()?;
    for job in &jobs {
        job.check(&request.input.paths, request.replace)?;
    }
    // A database has no column for a second name of a kernel: with new names, rows are written anew.
    let copies = !request.kernel_rename && jobs.iter().any(|job| job.target == Target::Rocpd);
    let databases = match copies {
        true => request.input.only_databases()?,
        false => None,
    };
    rayon::spawn(formats::secrets::prepare);
    let (mut trace, part) = match &databases {
        Some(_) => request.input.read_part(observer)?,
        None => (request.input.read(&Needs::everything(), observer)?, ExcludedRows::default()),
    };
    if request.kernel_rename {
        rename_kernels(Arc::make_mut(&mut trace));
    }
    let (mut files, mut notes) = (Vec::new(), Vec::new());
    let databases = databases.filter(|_| !is_rewritten(&trace, &mut notes));
    let drawn = match jobs.iter().any(|job| job.target.is_timeline()) {
        true => side_by_side(&trace, &mut notes),
        false => None,
    };
    for job in &jobs {
        let copied = match &databases {
            Some(databases) if job.target == Target::Rocpd => job.copy(databases, &part, &mut notes)?,
            _ => None,
        };
        match copied {
            Some(file) => files.push(file),
            None => {
                let drawn = drawn.as_ref().filter(|_| job.target.is_timeline());
                files.extend(job.write(drawn.unwrap_or(&trace), &mut notes)?);
            }
        }
    }
    let report = report(&trace, &files, notes);
    give_back((trace, drawn));
    Ok(report)
}

/// Whether rocpd databases are written anew: released tools read schema 3 only.
fn is_rewritten(trace: &Trace, notes: &mut Vec<Note>) -> bool {
    let newer = |version: &str| Version::parse(version).is_some_and(|version| version.major > 3);
    let told = trace.metadata.iter().filter(|fact| trace.strings.get(fact.key) == "schema_version");
    let Some(version) = told.map(|fact| trace.strings.get(fact.value)).find(|version| newer(version)) else {
        return false;
    };
    let text = format!("rocpd: schema {version} is written as schema 3, which all tools read");
    notes.push(text.into());
    true
}

/// The trace for a timeline if its clocks are not aligned: all recordings start together.
fn side_by_side(trace: &Trace, notes: &mut Vec<Note>) -> Option<Trace> {
    let clocks = Recordings::of(trace).side_by_side(trace)?;
    notes.push(clocks.note().into());
    let mut drawn = trace.clone();
    drawn.shift(&clocks.shift);
    Some(drawn)
}

impl ConvertRequest {
    fn jobs(&self) -> Result<Vec<Job>, Failure> {
        let mut targets: Vec<Target> = Vec::new();
        for target in &self.to {
            if !targets.contains(target) {
                targets.push(*target);
            }
        }
        if self.gzip && !targets.iter().any(|target| target.can_gzip()) {
            return Err(Failure::input(
                "only pftrace and chrome can be compressed, and you requested neither",
            ));
        }
        if targets.contains(&Target::Parquet) && !parquet::AVAILABLE {
            return Err(Failure::input("this build does not write Parquet")
                .with_help("`cargo install --path crates/cli --features parquet` makes one that does"));
        }
        let own_name = || base_name(&self.input.paths);
        let finish = |job: Job| Job { by_queue: self.by_queue, agents: self.agents, ..job };
        let (folder, name) = match (&self.out, &self.folder) {
            (Some(name), Some(folder)) => (folder.clone(), name.to_string_lossy().into_owned()),
            (Some(out), None) if is_folder(out) => (out.clone(), own_name()),
            (Some(out), None) => match &targets[..] {
                [target] if target.ending().is_some() => {
                    return Ok(vec![finish(Job::exact(*target, out, self.gzip))]);
                }
                _ => (out.clone(), own_name()),
            },
            (None, folder) => {
                (folder.clone().unwrap_or_default(), self.name.clone().unwrap_or_else(own_name))
            }
        };
        let job = |target| finish(Job::named(target, &folder, &name, self.gzip));
        Ok(targets.into_iter().map(job).collect())
    }
}

impl Target {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Target::Csv => "csv",
            Target::Pftrace => "pftrace",
            Target::Otf2 => "otf2",
            Target::Chrome => "chrome",
            Target::Rocpd => "rocpd",
            Target::Parquet => "parquet",
        }
    }

    /// What follows the run's name; `None` for formats of several files.
    fn ending(self) -> Option<&'static str> {
        match self {
            Target::Csv | Target::Parquet => None,
            Target::Pftrace => Some("_results.pftrace"),
            Target::Otf2 => Some("_results.otf2"),
            Target::Chrome => Some("_results.json"),
            Target::Rocpd => Some("_results.db"),
        }
    }

    /// Whether it puts all rows on one time line.
    fn is_timeline(self) -> bool {
        matches!(self, Target::Pftrace | Target::Chrome | Target::Otf2)
    }

    fn can_gzip(self) -> bool {
        matches!(self, Target::Pftrace | Target::Chrome)
    }
}

impl Job {
    /// Writes to the file the user named.
    fn exact(target: Target, path: &Path, gzip: bool) -> Self {
        let compressed = path.extension().is_some_and(|ending| ending == "gz");
        Self {
            target,
            path: path.into(),
            gzip: target.can_gzip() && (gzip || compressed),
            by_queue: false,
            agents: AgentIndex::default(),
        }
    }

    /// Writes to the default file of a run with this name.
    fn named(target: Target, folder: &Path, name: &str, gzip: bool) -> Self {
        let gzip = gzip && target.can_gzip();
        let ending = target.ending().unwrap_or("");
        let path = folder.join(format!("{name}{ending}{}", if gzip { ".gz" } else { "" }));
        Self { target, path, gzip, by_queue: false, agents: AgentIndex::default() }
    }

    /// Files that may be written.
    fn files(&self) -> Vec<PathBuf> {
        match self.target {
            Target::Csv => csv::stems().map(|stem| csv::path(&self.path, stem)).collect(),
            Target::Parquet => {
                trace::COLUMNAR_TABLES.iter().map(|table| parquet::path(&self.path, table)).collect()
            }
            Target::Otf2 => otf2::paths(&self.path).into_iter().chain([self.path.clone()]).collect(),
            _ => vec![self.path.clone()],
        }
    }

    /// Refuses to replace existing files, and in any case inputs, folders with inputs and other people's
    /// folders.
    fn check(&self, inputs: &[PathBuf], force: bool) -> Result<(), Failure> {
        for file in self.files().iter().filter(|file| file.exists()) {
            if let Some(input) = inputs.iter().find(|input| is_within(input, file)) {
                let what = if is_within(file, input) { "is" } else { "holds" };
                return Err(Failure::input(format!(
                    "`{}` {what} the input `{}`",
                    file.display(),
                    input.display()
                ))
                .with_help(Remedy::OtherPlace));
            }
            if force && file.is_dir() {
                files::check_replaceable(file)
                    .map_err(|error| Failure::input(error.to_string()).with_help(Remedy::OtherPlace))?;
            }
            if !force {
                return Err(Failure::input(format!("`{}` already exists", file.display()))
                    .with_help(Remedy::OtherPlaceOrReplace));
            }
        }
        Ok(())
    }

    /// Copies the tables of rocpd databases as they are, so that nothing in them is lost; `None` if the
    /// databases cannot be copied and only the readable rows can be written.
    fn copy(
        &self,
        databases: &[PathBuf],
        part: &ExcludedRows,
        notes: &mut Vec<Note>,
    ) -> Result<Option<WrittenFile>, Failure> {
        let inputs: Vec<merge::Input> = databases
            .iter()
            .map(|path| merge::Input { path: path.clone(), rank: ingest::rank_of_path(path) })
            .collect();
        let merged = match merge::merge_part(&inputs, &self.path, &merge::Options::default(), part, &|_| {}) {
            Ok(merged) => merged,
            Err(merge::Error::Output { path, why }) => {
                return Err(merge::Error::Output { path, why }.into());
            }
            Err(error) => {
                notes.push(format!("rocpd: only the rows that can be read are written: {error}").into());
                return Ok(None);
            }
        };
        if merged.removed > 0 {
            let text = format!(
                "rocpd: {} values that may be secret were removed from environments and command lines",
                merged.removed
            );
            notes.push(Note::new(text, Remedy::MergeKeepsEnvironment));
        }
        let bytes = merged.files.iter().map(|(_, bytes)| bytes).sum();
        Ok(Some(WrittenFile { target: self.target, path: self.path.clone(), bytes }))
    }

    fn write(&self, trace: &Trace, notes: &mut Vec<Note>) -> Result<Vec<WrittenFile>, Failure> {
        let failed = |error: std::io::Error| {
            Failure::input(format!("cannot write `{}`: {error}", self.path.display()))
        };
        let one = |bytes| vec![WrittenFile { target: self.target, path: self.path.clone(), bytes }];
        match self.target {
            Target::Csv => {
                let options = csv::Options { columns: csv::ColumnSet::Rocpd, agents: self.agents };
                let files = csv::write(trace, &self.path, &options).map_err(failed)?;
                notes.extend(csv::left_out(trace).iter().map(|what| Note::from(format!("csv: {what}"))));
                let written = |(path, bytes)| WrittenFile { target: self.target, path, bytes };
                Ok(files.into_iter().map(written).collect())
            }
            Target::Pftrace => {
                let options = pftrace::Options { gzip: self.gzip, by_queue: self.by_queue };
                let written = pftrace::write(trace, &self.path, &options).map_err(failed)?;
                notes.extend(written.remarks.iter().map(|remark| Note::from(format!("pftrace: {remark}"))));
                Ok(one(written.bytes))
            }
            Target::Otf2 => {
                let written = otf2::write(trace, &self.path).map_err(failed)?;
                notes.extend(written.remarks.iter().map(|remark| Note::from(format!("otf2: {remark}"))));
                Ok(one(written.bytes))
            }
            Target::Chrome => {
                let options = torch::Options { gzip: self.gzip, ..Default::default() };
                let bytes = torch::write(trace, &self.path, &options).map_err(failed)?;
                notes.extend(torch::left_out(trace).iter().map(|what| Note::from(format!("chrome: {what}"))));
                Ok(one(bytes))
            }
            Target::Parquet => {
                let files = parquet::write(trace, &self.path).map_err(failed)?;
                let written = |(path, bytes)| WrittenFile { target: self.target, path, bytes };
                Ok(files.into_iter().map(written).collect())
            }
            Target::Rocpd => {
                let written = rocpd::write(trace, &self.path, &rocpd::Options::default())
                    .map_err(|error| Failure::input(error.to_string()))?;
                notes.extend(written.left_out.iter().map(|what| Note::from(format!("rocpd: {what}"))));
                Ok(one(written.bytes))
            }
        }
    }
}

/// Gives kernels the names of their regions.
fn rename_kernels(trace: &mut Trace) {
    let kernels = &mut trace.kernels;
    for (name, region) in kernels.name.iter_mut().zip(&kernels.region) {
        if !region.is_empty() {
            *name = *region;
        }
    }
}

fn report(trace: &Trace, files: &[WrittenFile], notes: Vec<Note>) -> Report {
    let columns = vec![Column::text("path"), Column::text("format"), Column::int("bytes", Unit::Bytes).key()];
    let mut table = Table::new("files", "Written", columns);
    for file in files {
        table.push(vec![
            Value::Text(file.path.display().to_string()),
            Value::from(file.target.name()),
            Value::Int(file.bytes as i64),
        ]);
    }
    Report {
        command: "convert".into(),
        inputs: input_facts(trace),
        health: analysis::health(&trace.health),
        tables: vec![table],
        notes,
        ..Report::default()
    }
}
