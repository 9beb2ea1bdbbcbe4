//! Writes a simulated run into a folder: traces of every rank in any format, the truth, the scenario.

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use convert::rocpd::four::{self, FourVersion};
use convert::rocprofv3::{csv, json};
use convert::{rocpd, rpd, torch, xplane};
use files::{OutputFile, TemporaryFolder};

use crate::Error;
use crate::emit::Emitter;
use crate::identity::Dialect;
use crate::inspector::{self, Member};
use crate::program::{GraphMode, Program};
use crate::run::{Options, Prepared};
use crate::scenario::{Action, Scenario};
use crate::snapshot::{self, MemoryTruth};
use crate::truth::Truth;

/// A format that runs are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// rocpd database.
    Rocpd,
    /// rocpd database of schema 4.0.
    Rocpd40,
    /// rocpd database of schema 4.1.
    Rocpd41,
    /// Database of rocmProfileData.
    Rpd,
    /// torch JSON.
    Torch,
    /// torch JSON, compressed.
    TorchGz,
    /// Set of rocprofv3 CSV files.
    Rocprofv3Csv,
    /// rocprofv3 JSON.
    Rocprofv3Json,
    /// Memory snapshot of torch.
    Snapshot,
    /// Collectives as RCCL's Inspector writes them.
    Inspector,
    /// JAX profile.
    Xplane,
}

impl OutputFormat {
    /// All formats with their names.
    pub const ALL: [(&'static str, OutputFormat); 11] = [
        ("rocpd", OutputFormat::Rocpd),
        ("rocpd-4.0", OutputFormat::Rocpd40),
        ("rocpd-4.1", OutputFormat::Rocpd41),
        ("rpd", OutputFormat::Rpd),
        ("torch", OutputFormat::Torch),
        ("torch-gz", OutputFormat::TorchGz),
        ("rocprofv3-csv", OutputFormat::Rocprofv3Csv),
        ("rocprofv3-json", OutputFormat::Rocprofv3Json),
        ("snapshot", OutputFormat::Snapshot),
        ("inspector", OutputFormat::Inspector),
        ("xplane", OutputFormat::Xplane),
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// The format with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    fn is_torch(self) -> bool {
        matches!(self, OutputFormat::Torch | OutputFormat::TorchGz)
    }
}

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

/// Steps that make a file of this size, from the sizes of two short runs.
fn steps_for_size(options: &GenerateOptions, size: u64) -> Result<u64, Error> {
    let round: u64 = options.scenario.pattern.iter().map(|step| u64::from(step.repeat.max(1))).sum();
    let pilot = |steps: u64| -> Result<u64, Error> {
        let folder = TemporaryFolder::beside(&options.out.join("pilot"))
            .map_err(|source| Error::Write { path: options.out.clone(), why: source.to_string() })?;
        pilot_bytes(options, steps, folder.path())
    };
    // Files grow by pages and tables have headers: the second run is long enough for these not to matter.
    let small = pilot(round)?;
    let enough = small + (size / 4).min(8 << 20);
    let mut many = round * 8;
    let mut large = pilot(many)?;
    while large < enough {
        if large == small {
            let why =
                "this scenario has nothing to write in this format: a run of one rank has no collectives";
            return Err(Error::Options(why.into()));
        }
        if many > 1 << 24 {
            return Err(Error::Options(
                "the steps of this scenario write too little data to reach the size".into(),
            ));
        }
        many *= 4;
        large = pilot(many)?;
    }
    let per_step = (large - small) as f64 / (many - round) as f64;
    let fixed = small as f64 - per_step * round as f64;
    Ok(((size as f64 - fixed) / per_step).round().max(1.0) as u64)
}

fn pilot_bytes(options: &GenerateOptions, steps: u64, folder: &Path) -> Result<u64, Error> {
    // One rank shows the size of all, but alone it has no collectives.
    let ranks = match options.formats[0] {
        OutputFormat::Inspector => options.options.ranks,
        _ => Some(1),
    };
    let run_options = Options { steps: Some(steps), ranks, ..options.options.clone() };
    let prepared = Prepared::new(&options.scenario, &run_options)?;
    let name = &options.scenario.name;
    let (format, folder) = (options.formats[0], folder.to_path_buf());
    let mut sink = Sink::open(&prepared, 0..1, name, format, folder, run_options.stacks)?;
    prepared.drive(|block| sink.append(&block).map(|()| true))?;
    let of_first = |file: &&GeneratedFile| file.rank == Some(0);
    Ok(sink.finish()?.iter().filter(of_first).map(|file| file.bytes).sum())
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

/// One format of a run: torch is written as it comes, the others hold their rows until the end.
struct Sink<'a> {
    format: OutputFormat,
    ranks: Range<u32>,
    emitters: Vec<Emitter<'a>>,
    targets: Vec<PathBuf>,
    streams: Vec<torch::FileWriter>,
    seed: u64,
    program: &'a Program,
}

impl<'a> Sink<'a> {
    fn open(
        prepared: &'a Prepared<'_>,
        ranks: Range<u32>,
        name: &str,
        format: OutputFormat,
        folder: PathBuf,
        stacks: bool,
    ) -> Result<Self, Error> {
        // JAX's profiler knows ops and Python frames, as torch's does.
        let has_ops = format.is_torch() || format == OutputFormat::Xplane;
        let dialect = if has_ops { Dialect::Torch } else { Dialect::Rocprof };
        let emitters = prepared.emitters(ranks.clone(), dialect, stacks);
        let target = |rank: u32| {
            let (mut host, pid) = prepared.host_and_pid(rank);
            if prepared.program.recording.pid.is_some() {
                // Equal process ids: each container writes to a folder of its own.
                host = format!("{host}/container{rank}");
            }
            match format {
                OutputFormat::Torch => folder.join(format!("{name}.rank{rank}.json")),
                OutputFormat::TorchGz => folder.join(format!("{name}.rank{rank}.json.gz")),
                OutputFormat::Rocpd | OutputFormat::Rocpd40 | OutputFormat::Rocpd41 => {
                    folder.join(host).join(format!("{pid}_results.db"))
                }
                OutputFormat::Rpd => folder.join(host).join(format!("{pid}.rpd")),
                OutputFormat::Rocprofv3Json => folder.join(host).join(format!("{pid}_results.json")),
                // One file for each host, in a folder for each profile.
                OutputFormat::Xplane => {
                    folder.join(format!("plugins/profile/{name}.rank{rank}/{host}.xplane.pb"))
                }
                OutputFormat::Rocprofv3Csv => folder.join(host).join(pid.to_string()),
                OutputFormat::Snapshot => folder.join(format!("{name}.rank{rank}.pickle")),
                OutputFormat::Inspector => folder.join(format!("{host}-pid{pid}.jsonl")),
            }
        };
        let targets: Vec<PathBuf> = ranks.clone().map(target).collect();
        let mut streams = Vec::new();
        if format.is_torch() {
            for (emitter, target) in emitters.iter().zip(&targets) {
                let options = torch::Options {
                    gzip: format == OutputFormat::TorchGz,
                    registers: false,
                    event_index: true,
                    flows: true,
                };
                let mut stream =
                    torch::FileWriter::create(target, options).map_err(|e| failed(target, &e))?;
                stream.begin(&emitter.trace).map_err(|e| failed(target, &e))?;
                streams.push(stream);
            }
        }
        let (seed, program) = (prepared.options.seed, &prepared.program);
        Ok(Self { format, ranks, emitters, targets, streams, seed, program })
    }

    fn append(&mut self, block: &crate::run::Block<'_>) -> Result<(), Error> {
        let records = &block.records[self.ranks.start as usize..self.ranks.end as usize];
        let mut streams = self.streams.iter_mut();
        let ranks: Vec<_> = self
            .emitters
            .iter_mut()
            .zip(&self.targets)
            .zip(records)
            .map(|((emitter, target), records)| (emitter, target, records, streams.next()))
            .collect();
        in_parallel(ranks, |(emitter, target, records, stream)| {
            emitter.emit(records);
            if let Some(stream) = stream {
                emitter.sample(Some(block.reached));
                // Rows of kernels and of ops alternate; writers need them by table.
                emitter.trace.args.sort();
                stream.append(&emitter.trace).map_err(|e| failed(target, &e))?;
                emitter.clear();
            }
            Ok(())
        })
        .into_iter()
        .collect()
    }

    /// Bytes of the first rank's file so far, if it is a stream.
    fn written(&self) -> u64 {
        self.streams.first().map_or(0, torch::FileWriter::written)
    }

    fn finish(self) -> Result<Vec<GeneratedFile>, Error> {
        let mut streams = self.streams.into_iter();
        let emitters = self.emitters.into_iter().zip(self.targets).zip(self.ranks);
        let ranks: Vec<_> =
            emitters.map(|((emitter, target), rank)| (emitter, target, rank, streams.next())).collect();
        let (format, seed, program) = (self.format, self.seed, self.program);
        let done = in_parallel(ranks, |(mut emitter, target, rank, stream)| {
            emitter.sample(None);
            let mut written: Vec<(PathBuf, u64)> = Vec::new();
            match format {
                OutputFormat::Torch | OutputFormat::TorchGz => {
                    if let Some(mut stream) = stream {
                        emitter.trace.args.sort();
                        stream.append(&emitter.trace).map_err(|e| failed(&target, &e))?;
                        let bytes = stream.finish().map_err(|e| failed(&target, &e))?;
                        written.push((target, bytes));
                    }
                }
                OutputFormat::Rocpd | OutputFormat::Rocpd40 | OutputFormat::Rocpd41 => {
                    emitter.trace.finish();
                    let options = rocpd::Options::default();
                    let done = match format {
                        OutputFormat::Rocpd40 => {
                            four::write(&emitter.trace, &target, FourVersion::V4_0, &options)
                        }
                        OutputFormat::Rocpd41 => {
                            four::write(&emitter.trace, &target, FourVersion::V4_1, &options)
                        }
                        _ => rocpd::write(&emitter.trace, &target, &options),
                    };
                    let done = done.map_err(|e| Error::Write { path: e.path, why: e.why })?;
                    written.push((target, done.bytes));
                }
                OutputFormat::Rpd => {
                    emitter.trace.finish();
                    let bytes = rpd::write(&emitter.trace, &target)
                        .map_err(|e| Error::Write { path: e.path, why: e.why })?;
                    written.push((target, bytes));
                }
                OutputFormat::Rocprofv3Csv => {
                    emitter.trace.finish();
                    let options = csv::Options::default();
                    written =
                        csv::write(&emitter.trace, &target, &options).map_err(|e| failed(&target, &e))?;
                }
                OutputFormat::Xplane => {
                    emitter.trace.finish();
                    let bytes = xplane::write(&emitter.trace, &target).map_err(|e| failed(&target, &e))?;
                    written.push((target, bytes));
                }
                OutputFormat::Rocprofv3Json => {
                    emitter.trace.finish();
                    let bytes = json::write(&emitter.trace, &target).map_err(|e| failed(&target, &e))?;
                    written.push((target, bytes));
                }
                OutputFormat::Inspector => {
                    emitter.trace.finish();
                    let member = Member {
                        rank,
                        layout: &program.layout,
                        ranks_per_node: program.machine.ranks_per_node,
                    };
                    let write = || -> std::io::Result<u64> {
                        let mut file = OutputFile::create(&target)?;
                        let bytes = inspector::write(&emitter.trace, &mut file, seed, &member)?;
                        file.commit()?;
                        Ok(bytes)
                    };
                    let bytes = write().map_err(|e| failed(&target, &e))?;
                    written.push((target, bytes));
                }
                // The allocator's record is not part of the simulated timeline; `generate` writes it.
                OutputFormat::Snapshot => {}
            }
            let file = |(path, bytes)| GeneratedFile {
                path,
                format: Some(format),
                rank: Some(rank),
                role: None,
                bytes,
            };
            Ok(written.into_iter().map(file).collect::<Vec<_>>())
        });
        Ok(done.into_iter().collect::<Result<Vec<_>, Error>>()?.concat())
    }
}

/// Runs `work` on every item on all cores; results keep their order.
fn in_parallel<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(items.len());
    if cores < 2 {
        return items.into_iter().map(work).collect();
    }
    // Threads take the next item when they are done with one: ranks differ in size.
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let queue = Mutex::new(items.into_iter().enumerate());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((place, item)) = next else { return };
                    *results[place].lock().unwrap_or_else(PoisonError::into_inner) = Some(work(item));
                }
            });
        }
    });
    let inner = |slot: Mutex<Option<R>>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().filter_map(inner).collect()
}
