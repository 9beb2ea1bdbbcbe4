//! `convert`

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use convert::rocpd::part::Part;
use convert::{merge, otf2, parquet, pftrace, rocpd, rocprofv3::csv, torch};
use report::{Column, InputFact, Report, Table, Unit, Value};
use trace::{Needs, Trace};

use crate::failure::Failure;
use crate::input::InputArgs;
use crate::output::OutputArgs;

/// Base name where the inputs give none, as rocpd has it.
const DEFAULT_NAME: &str = "out";

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf convert 4711_results.db --to pftrace                  # writes 4711_results.pftrace
  rocm-perf convert trace.json.gz --to rocpd --out trace.db       # a torch trace for any rocpd tool
  rocm-perf convert ranks/ --to csv,chrome --gzip --out converted/
  rocm-perf convert -i 4711_results.db -f csv pftrace -d out -o run   # as rocpd spells it

Files are named as rocpd names them: NAME_kernel_trace.csv and so on, NAME_results.pftrace, NAME_results.otf2 (with
NAME_results.def and NAME_results/), NAME_results.json (chrome), NAME_results.db, NAME_kernels.parquet and so on. Times are exact in every format; what a format cannot hold is said.")]
pub struct ConvertArgs {
    #[command(flatten)]
    input: InputArgs,

    /// Formats to write, separated by commas
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        value_delimiter = ',',
        required_unless_present = "also_to"
    )]
    to: Vec<Target>,

    /// The same, as rocpd's own tools spell it
    #[arg(short = 'f', long = "output-format", id = "also_to", value_enum, value_name = "FORMAT", num_args = 1.., hide = true)]
    also_to: Vec<Target>,

    /// File for one format, or folder for all of them; with `-d` the name that files begin with [default: this folder]
    #[arg(short, long, value_name = "PATH")]
    out: Option<PathBuf>,

    /// Folder to write to
    #[arg(short = 'd', long, value_name = "DIR")]
    output_path: Option<PathBuf>,

    /// Name that files begin with [default: the input's]
    #[arg(long, value_name = "NAME", conflicts_with = "out")]
    output_file: Option<String>,

    /// Compress pftrace and chrome
    #[arg(long)]
    gzip: bool,

    /// In pftrace, tracks of HSA queues instead of HIP streams
    #[arg(long)]
    group_by_queue: bool,

    /// Name kernels after the region that they were launched in, where the program named one
    #[arg(long)]
    kernel_rename: bool,

    /// In csv, number agents as all of them together, as those that the process sees, or by kind (`GPU 0`)
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    agent_index_value: AgentIndex,

    /// Replace files that are already there
    #[arg(long)]
    force: bool,
}

/// How agents are numbered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum AgentIndex {
    #[default]
    Absolute,
    Relative,
    TypeRelative,
}

/// What can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Target {
    /// rocprofv3's CSV files, with the columns of rocpd
    Csv,
    /// Perfetto's protobuf, with flows, counters and annotations
    #[value(alias = "perfetto")]
    Pftrace,
    /// OTF2 archive for Vampir and other HPC tools
    Otf2,
    /// Chrome JSON for Perfetto, chrome://tracing and torch's tools
    #[value(alias = "json")]
    Chrome,
    /// rocpd database
    #[value(alias = "db")]
    Rocpd,
    /// Parquet, a file per table (in builds with the feature `parquet`)
    Parquet,
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Target::Csv => "csv",
            Target::Pftrace => "pftrace",
            Target::Otf2 => "otf2",
            Target::Chrome => "chrome",
            Target::Rocpd => "rocpd",
            Target::Parquet => "parquet",
        }
    }

    /// What follows the name of the run, where it is one file.
    fn ending(self) -> Option<&'static str> {
        match self {
            Target::Csv | Target::Parquet => None,
            Target::Pftrace => Some("_results.pftrace"),
            Target::Otf2 => Some("_results.otf2"),
            Target::Chrome => Some("_results.json"),
            Target::Rocpd => Some("_results.db"),
        }
    }

    fn can_gzip(self) -> bool {
        matches!(self, Target::Pftrace | Target::Chrome)
    }
}

/// One conversion: the format, the file (or what its files begin with), compressed or not.
struct Job {
    target: Target,
    path: PathBuf,
    gzip: bool,
    by_queue: bool,
    agents: csv::AgentIndex,
}

/// A file that was written.
struct Written {
    target: Target,
    path: PathBuf,
    bytes: u64,
}

impl ConvertArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let inputs = self.input.paths()?;
        let jobs = self.jobs(&inputs)?;
        for job in &jobs {
            job.check(&inputs, self.force)?;
        }
        // A database has no place for a second name of a kernel: with new names, rows are written anew.
        let copies = !self.kernel_rename && jobs.iter().any(|job| job.target == Target::Rocpd);
        let databases = match copies {
            true => self.input.only_databases()?,
            false => None,
        };
        let (mut trace, part) = match &databases {
            Some(_) => self.input.read_part(output)?,
            None => (self.input.read(&Needs::everything(), output)?, Part::default()),
        };
        if self.kernel_rename {
            rename_kernels(&mut trace);
        }
        let (mut files, mut notes) = (Vec::new(), Vec::new());
        for job in &jobs {
            let copied = match &databases {
                Some(databases) if job.target == Target::Rocpd => job.copy(databases, &part, &mut notes)?,
                _ => None,
            };
            match copied {
                Some(file) => files.push(file),
                None => files.extend(job.write(&trace, &mut notes)?),
            }
        }
        output.show(report(&trace, &files, notes))
    }

    fn jobs(&self, inputs: &[PathBuf]) -> Result<Vec<Job>, Failure> {
        let mut targets: Vec<Target> = Vec::new();
        for target in self.to.iter().chain(&self.also_to) {
            if !targets.contains(target) {
                targets.push(*target);
            }
        }
        if self.gzip && !targets.iter().any(|target| target.can_gzip()) {
            return Err(Failure::input("`--gzip` compresses pftrace and chrome, neither is asked for"));
        }
        if targets.contains(&Target::Parquet) && !parquet::AVAILABLE {
            return Err(Failure::input("this build does not write Parquet")
                .with_help("`cargo install --path crates/cli --features parquet` makes one that does"));
        }
        let own_name = || base_name(inputs);
        let agents = match self.agent_index_value {
            AgentIndex::Absolute => csv::AgentIndex::Absolute,
            AgentIndex::Relative => csv::AgentIndex::Relative,
            AgentIndex::TypeRelative => csv::AgentIndex::TypeRelative,
        };
        let finish = |job: Job| Job { by_queue: self.group_by_queue, agents, ..job };
        let (folder, name) = match (&self.out, &self.output_path) {
            (Some(name), Some(folder)) => (folder.clone(), name.to_string_lossy().into_owned()),
            (Some(out), None) if is_folder(out) => (out.clone(), own_name()),
            (Some(out), None) => match &targets[..] {
                [target] if target.ending().is_some() => {
                    return Ok(vec![finish(Job::exact(*target, out, self.gzip))]);
                }
                _ => (out.clone(), own_name()),
            },
            (None, folder) => {
                (folder.clone().unwrap_or_default(), self.output_file.clone().unwrap_or_else(own_name))
            }
        };
        let job = |target| finish(Job::named(target, &folder, &name, self.gzip));
        Ok(targets.into_iter().map(job).collect())
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
            agents: csv::AgentIndex::default(),
        }
    }

    /// Writes to the file that a run of this name has.
    fn named(target: Target, folder: &Path, name: &str, gzip: bool) -> Self {
        let gzip = gzip && target.can_gzip();
        let ending = target.ending().unwrap_or("");
        let path = folder.join(format!("{name}{ending}{}", if gzip { ".gz" } else { "" }));
        Self { target, path, gzip, by_queue: false, agents: csv::AgentIndex::default() }
    }

    /// Files that may come to be.
    fn files(&self) -> Vec<PathBuf> {
        match self.target {
            Target::Csv => csv::stems().map(|stem| csv::path(&self.path, stem)).collect(),
            Target::Parquet => parquet::TABLES.iter().map(|table| parquet::path(&self.path, table)).collect(),
            Target::Otf2 => otf2::paths(&self.path).into_iter().chain([self.path.clone()]).collect(),
            _ => vec![self.path.clone()],
        }
    }

    /// Refuses to replace what is there, and in any case inputs, folders with inputs and folders of other people.
    fn check(&self, inputs: &[PathBuf], force: bool) -> Result<(), Failure> {
        let elsewhere = "choose another place with `--out`";
        for file in self.files().iter().filter(|file| file.exists()) {
            if let Some(input) = inputs.iter().find(|input| is_within(input, file)) {
                let what = if is_within(file, input) { "is" } else { "holds" };
                return Err(Failure::input(format!(
                    "`{}` {what} the input `{}`",
                    file.display(),
                    input.display()
                ))
                .with_help(elsewhere));
            }
            if force && file.is_dir() {
                files::check_replaceable(file)
                    .map_err(|error| Failure::input(error.to_string()).with_help(elsewhere))?;
            }
            if !force {
                return Err(Failure::input(format!("`{}` is there already", file.display()))
                    .with_help("choose another place with `--out`, or replace it with `--force`"));
            }
        }
        Ok(())
    }

    /// Copies the tables of rocpd databases as they are, so that nothing a database has is lost; none where the
    /// databases cannot be copied, and the rows that can be read have to do.
    fn copy(
        &self,
        databases: &[PathBuf],
        part: &Part,
        notes: &mut Vec<String>,
    ) -> Result<Option<Written>, Failure> {
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
                notes.push(format!("rocpd: only the rows that can be read are written: {error}"));
                return Ok(None);
            }
        };
        if merged.removed > 0 {
            notes.push(format!(
                "rocpd: {} values that may be secret were removed from environments and command lines; \
                 `merge --keep-environment` keeps them",
                merged.removed
            ));
        }
        let bytes = merged.files.iter().map(|(_, bytes)| bytes).sum();
        Ok(Some(Written { target: self.target, path: self.path.clone(), bytes }))
    }

    fn write(&self, trace: &Trace, notes: &mut Vec<String>) -> Result<Vec<Written>, Failure> {
        let failed = |error: std::io::Error| {
            Failure::input(format!("cannot write `{}`: {error}", self.path.display()))
        };
        let one = |bytes| vec![Written { target: self.target, path: self.path.clone(), bytes }];
        match self.target {
            Target::Csv => {
                let options = csv::Options { columns: csv::ColumnSet::Rocpd, agents: self.agents };
                let files = csv::write(trace, &self.path, &options).map_err(failed)?;
                notes.extend(csv::left_out(trace).iter().map(|what| format!("csv: {what}")));
                let written = |(path, bytes)| Written { target: self.target, path, bytes };
                Ok(files.into_iter().map(written).collect())
            }
            Target::Pftrace => {
                let options = pftrace::Options { gzip: self.gzip, by_queue: self.by_queue };
                let written = pftrace::write(trace, &self.path, &options).map_err(failed)?;
                notes.extend(written.remarks.iter().map(|remark| format!("pftrace: {remark}")));
                Ok(one(written.bytes))
            }
            Target::Otf2 => {
                let written = otf2::write(trace, &self.path).map_err(failed)?;
                notes.extend(written.remarks.iter().map(|remark| format!("otf2: {remark}")));
                Ok(one(written.bytes))
            }
            Target::Chrome => {
                let options = torch::Options { gzip: self.gzip, ..Default::default() };
                let bytes = torch::write(trace, &self.path, &options).map_err(failed)?;
                notes.extend(torch::left_out(trace).iter().map(|what| format!("chrome: {what}")));
                Ok(one(bytes))
            }
            Target::Parquet => {
                let files = parquet::write(trace, &self.path).map_err(failed)?;
                let written = |(path, bytes)| Written { target: self.target, path, bytes };
                Ok(files.into_iter().map(written).collect())
            }
            Target::Rocpd => {
                let written = rocpd::write(trace, &self.path, &rocpd::Options::default())
                    .map_err(|error| Failure::input(error.to_string()))?;
                notes.extend(written.left_out.iter().map(|what| format!("rocpd: {what}")));
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

/// Whether a file is the target or lies in it.
pub(super) fn is_within(path: &Path, target: &Path) -> bool {
    match (path.canonicalize(), target.canonicalize()) {
        (Ok(path), Ok(target)) => path.starts_with(target),
        _ => false,
    }
}

/// Whether a path means a folder: it is one, or it says so.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().to_string_lossy().ends_with('/')
}

/// The run's name: that of the only input without endings, rocpd's default for several.
pub(super) fn base_name(inputs: &[PathBuf]) -> String {
    const ENDINGS: [&str; 6] = [".gz", ".zst", ".json", ".db", ".csv", "_results"];
    let [input] = inputs else { return DEFAULT_NAME.into() };
    let path = input.canonicalize().unwrap_or_else(|_| input.clone());
    let mut name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for ending in ENDINGS {
        if let Some(stem) = name.strip_suffix(ending).filter(|stem| !stem.is_empty()) {
            name.truncate(stem.len());
        }
    }
    if name.is_empty() || name == "-" { DEFAULT_NAME.into() } else { name }
}

/// What was read, as reports state it.
pub(super) fn input_facts(trace: &Trace) -> Vec<InputFact> {
    let fact = |source: &trace::Source| InputFact {
        path: source.path.clone(),
        format: source.format.clone(),
        bytes: source.bytes,
        rank: source.rank,
    };
    trace.sources.iter().map(fact).collect()
}

fn report(trace: &Trace, files: &[Written], notes: Vec<String>) -> Report {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_is_named_after_its_input() {
        let name = |path: &str| base_name(&[PathBuf::from(path)]);
        assert_eq!(name("runs/4711_results.db"), "4711");
        assert_eq!(name("trace.json.gz"), "trace");
        assert_eq!((name("-"), name("_results.db")), ("out".into(), "_results".into()));
        assert_eq!(base_name(&["a.db".into(), "b.db".into()]), "out");
    }
}
