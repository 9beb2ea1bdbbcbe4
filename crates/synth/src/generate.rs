//! Writes a simulated run into a folder: traces of every rank in any format, the truth, the scenario.

mod format;
mod sink;
mod size;

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use files::OutputFile;

use sink::Sink;
use size::steps_for_size;

use crate::Error;
use crate::program::GraphMode;
use crate::run::{Options, Prepared};
use crate::scenario::{Action, Scenario};
use crate::snapshot::{self, MemoryTruth};
use crate::truth::Truth;

pub use format::OutputFormat;

/// What to generate and where.
#[derive(Clone, Debug)]
pub struct GenerateOptions {
    /// What runs.
    pub scenario: Scenario,
    /// The folder; it is created if it does not exist.
    pub out: PathBuf,
    /// One or more formats. With several, each has a separate folder.
    pub formats: Vec<OutputFormat>,
    /// Seed, scaling, kernels, steps, ranks, stacks and graphs; the dialect follows from the format.
    pub options: Options,
    /// Run until a rank's file in the first format has about this many bytes (before compression).
    pub size: Option<u64>,
    /// For graphs: also the graph-off trace (`mapping/`) and the capture trace (`capture_traces/`), torch only.
    pub mapping: bool,
    /// Replace existing files.
    pub force: bool,
}

impl GenerateOptions {
    /// A scenario in one format, with defaults for everything else.
    pub fn new(scenario: Scenario, out: impl Into<PathBuf>, format: OutputFormat) -> Self {
        Self {
            scenario,
            out: out.into(),
            formats: vec![format],
            options: Options::default(),
            size: None,
            mapping: true,
            force: false,
        }
    }
}

impl GenerateOptions {
    /// Where files of a format go.
    fn folder(&self, format: OutputFormat) -> PathBuf {
        match self.formats.len() {
            1 => self.out.clone(),
            _ => self.out.join(format.name()),
        }
    }
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Its path.
    pub path: PathBuf,
    /// Its format; `None` for the truth and the scenario.
    pub format: Option<OutputFormat>,
    /// Its rank.
    pub rank: Option<u32>,
    /// `mapping` or `capture` for traces that are not a separate run.
    pub role: Option<&'static str>,
    /// Size on disk.
    pub bytes: u64,
}

/// What was written.
#[derive(Clone, Debug)]
pub struct Generated {
    /// All files, runs first.
    pub files: Vec<GeneratedFile>,
    /// The truth about the run.
    pub truth: Truth,
}

/// Simulates a scenario and writes it.
pub fn generate(options: &GenerateOptions) -> Result<Generated, Error> {
    if options.formats.is_empty() {
        return Err(Error::Options("no output format given".into()));
    }
    let truth_path = options.out.join("truth.json");
    if !options.force && truth_path.exists() {
        let path = options.out.clone();
        return Err(Error::Write { path, why: "it already holds a generated run".into() });
    }
    let mut run_options = options.options.clone();
    let first_is_torch = options.formats[0].is_torch();
    match options.size {
        Some(_) if options.options.kernels.is_some() => {
            return Err(Error::Options("give either a size or a number of kernels, not both".into()));
        }
        Some(_) if !options.options.lose.is_empty() => {
            return Err(Error::Options("give a number of kernels or steps, not a size, to lose some".into()));
        }
        // The record of an allocator has its own length.
        Some(_) if options.formats[0] == OutputFormat::Snapshot => {}
        // A JSON stream is simply cut when it is long enough.
        Some(_) if first_is_torch => run_options.steps = Some(u64::MAX),
        Some(size) => run_options.steps = Some(steps_for_size(options, size)?),
        None => {}
    }
    let mut prepared = Prepared::new(&options.scenario, &run_options)?;
    if let Some(size) = options.size.filter(|_| first_is_torch) {
        // Small blocks, so that the end is not missed by much.
        prepared.block = (size / 300 / 100).clamp(1, 150_000) as usize;
    }
    let batches = batches(&prepared, options);
    let open = |ranks: Range<u32>| {
        let formats = options.formats.iter().filter(|&&format| format != OutputFormat::Snapshot);
        let sink = |&format| {
            let folder = options.folder(format);
            let name = &options.scenario.name;
            Sink::open(&prepared, ranks.clone(), name, format, folder, run_options.stacks)
        };
        formats.map(sink).collect::<Result<Vec<_>, _>>()
    };
    let mut sinks = open(batches[0].clone())?;
    let limit = options.size.filter(|_| first_is_torch);
    let mut before = 0;
    let mut truth = prepared.drive(|block| {
        for sink in &mut sinks {
            sink.append(&block)?;
        }
        let written = sinks.first().map_or(0, Sink::written);
        let half_block = (written - before) / 2;
        before = written;
        Ok(limit.is_none_or(|limit| written + half_block < limit))
    })?;
    let mut files = Vec::new();
    for sink in sinks {
        files.extend(sink.finish()?);
    }
    // The other ranks run again, so that memory and open files do not grow with the number of ranks.
    for ranks in &batches[1..] {
        let mut sinks = open(ranks.clone())?;
        prepared.repeat(truth.steps, |block| sinks.iter_mut().try_for_each(|sink| sink.append(&block)))?;
        for sink in sinks {
            files.extend(sink.finish()?);
        }
    }
    if options.formats.contains(&OutputFormat::Snapshot) {
        for rank in 0..prepared.ranks {
            let (file, memory) = snapshot_file(options, rank)?;
            files.push(file);
            truth.memory.push(memory);
        }
    }
    if options.mapping && has_graphs(&options.scenario) && run_options.graphs == GraphMode::On {
        for &format in options.formats.iter().filter(|f| f.is_torch()) {
            files.extend(graph_companions(options, format)?);
        }
    }
    files.push(text_file(&options.out.join("scenario.toml"), &options.scenario.to_toml()?)?);
    let json = crate::pretty::json(&truth)
        .map_err(|e| Error::Write { path: truth_path.clone(), why: e.to_string() })?;
    files.push(text_file(&truth_path, &(json + "\n"))?);
    Ok(Generated { files, truth })
}

/// Kernels that formats hold in memory until the end, at most.
const HELD_KERNELS: u64 = 2_000_000;
/// Ranks whose files are open at once, at most.
const OPEN_RANKS: u64 = 128;

/// Ranks that are written in one go.
fn batches(prepared: &Prepared<'_>, options: &GenerateOptions) -> Vec<Range<u32>> {
    let streamed = options.formats.iter().all(|format| format.is_torch());
    let held = HELD_KERNELS / prepared.kernels_per_rank().max(1);
    let size = if streamed { OPEN_RANKS } else { held.clamp(1, OPEN_RANKS) } as u32;
    (0..prepared.ranks).step_by(size as usize).map(|rank| rank..(rank + size).min(prepared.ranks)).collect()
}

/// The memory snapshot of a rank.
fn snapshot_file(options: &GenerateOptions, rank: u32) -> Result<(GeneratedFile, MemoryTruth), Error> {
    let format = OutputFormat::Snapshot;
    let path = options.folder(format).join(format!("{}.rank{rank}.pickle", options.scenario.name));
    let size = options.size.filter(|_| options.formats[0] == format);
    let steps = options.options.steps.unwrap_or(snapshot::USUAL_STEPS);
    let write = || -> std::io::Result<(u64, MemoryTruth)> {
        let mut file = OutputFile::create(&path)?;
        let written =
            snapshot::write(&mut file, rank, options.options.seed, snapshot::Amount { steps, size })?;
        file.commit()?;
        Ok(written)
    };
    let (bytes, memory) = write().map_err(|error| failed(&path, &error))?;
    Ok((GeneratedFile { path, format: Some(format), rank: Some(rank), role: None, bytes }, memory))
}

/// The graph-off trace of one round of steps, and the capture trace.
fn graph_companions(options: &GenerateOptions, format: OutputFormat) -> Result<Vec<GeneratedFile>, Error> {
    let out = options.folder(format);
    // One step of each kind shows where every kernel comes from.
    let mut scenario = options.scenario.clone();
    for step in &mut scenario.pattern {
        step.repeat = 1;
    }
    let round = scenario.pattern.len() as u64;
    let roles = [(GraphMode::Off, "mapping", "mapping"), (GraphMode::Capture, "capture_traces", "capture")];
    let mut files = Vec::new();
    for (graphs, folder, role) in roles {
        let run_options = Options {
            graphs,
            kernels: None,
            steps: Some(round),
            lose: Vec::new(),
            ..options.options.clone()
        };
        let prepared = Prepared::new(&scenario, &run_options)?;
        let name = format!("{}.{role}", scenario.name);
        let ranks = 0..prepared.ranks;
        let mut sink = Sink::open(&prepared, ranks, &name, format, out.join(folder), run_options.stacks)?;
        prepared.drive(|block| sink.append(&block).map(|()| true))?;
        let written = sink.finish()?;
        files.extend(written.into_iter().map(|file| GeneratedFile { role: Some(role), ..file }));
    }
    Ok(files)
}

fn has_graphs(scenario: &Scenario) -> bool {
    fn any(program: &[Action]) -> bool {
        program.iter().any(|action| match action {
            Action::Graph(_) => true,
            Action::Annotate(annotate) => any(&annotate.program),
            _ => false,
        })
    }
    let sequences = scenario.sequences.values().any(|sequence| any(&sequence.program));
    sequences || scenario.pattern.iter().any(|step| any(&step.program))
}

fn text_file(path: &Path, text: &str) -> Result<GeneratedFile, Error> {
    let write = || -> std::io::Result<()> {
        let mut file = OutputFile::create(path)?;
        file.write_all(text.as_bytes())?;
        file.commit()
    };
    write().map_err(|error| failed(path, &error))?;
    Ok(GeneratedFile { path: path.into(), format: None, rank: None, role: None, bytes: text.len() as u64 })
}

fn failed(path: &Path, why: &dyn std::fmt::Display) -> Error {
    Error::Write { path: path.into(), why: why.to_string() }
}
