//! `triage`

use std::path::PathBuf;

use analysis::triage::{Context, NoRun, Nothing, OneRun, Selection, triage};
use analysis::{attribution, stages::Stage};
use clap::Args;
use report::{InputFact, Report};
use trace::{Needs, Trace};

use super::breakdown::classifier;
use crate::failure::Failure;
use crate::input::{InputArgs, with_progress};
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf triage trace.json.gz
  rocm-perf triage run/                                        # finds run/capture_traces by itself
  rocm-perf triage decode.json.gz --mapping capture.json.gz --format json
  rocm-perf triage run/ --stage decode --skip-warm-up --min-share 0.5
  rocm-perf triage 4711_results.db

Times are of kernels, copies and fills; `time share` is of the stage's GPU time. Replayed graphs are located by the
capture trace, or a graph-off trace of the same model, given with `--mapping`. One rank of one run is looked at.")]
pub struct TriageArgs {
    #[command(flatten)]
    input: InputArgs,

    /// The same as INPUT, for people who come from the pair of `--mapping-input` and `--formal-input`
    #[arg(long, value_name = "PATH", hide = true, num_args = 1..)]
    formal_input: Vec<PathBuf>,

    /// Capture trace or graph-off trace of the same model (file or folder): tells where replayed kernels come from
    #[arg(long, visible_alias = "mapping-input", value_name = "PATH", num_args = 1..)]
    mapping: Vec<PathBuf>,

    /// Leave out kernels below this share of their stage's GPU time
    #[arg(long, value_name = "PCT", default_value_t = 1.0, value_parser = share)]
    min_share: f64,

    /// The rank to look at [default: the lowest]
    #[arg(long, value_name = "N")]
    rank: Option<u32>,

    /// Only this stage: prefill (extend), decode, mixed, other
    #[arg(long, value_name = "NAME", value_parser = stage)]
    stage: Option<Stage>,

    /// Leave out the steps before the run settled
    #[arg(long)]
    skip_warm_up: bool,

    /// Rules for kernel names (TOML), tried before the built-in ones
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
}

impl TriageArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let mut input = self.input.clone();
        input.more.extend(self.formal_input.iter().cloned());
        let classifier = classifier(self.rules.as_ref())?;
        let run = Run::find(&input.paths()?, &self.mapping, self.rank, output)?;
        let (trace, mapping) = run.read(output)?;
        let context = Context::new(&trace, mapping.as_ref(), &classifier, self.min_share);
        let mut context = context.map_err(|error| {
            let failure = Failure::input(error.to_string());
            failure.with_help("the mapping trace must come from the same model and the same kernels")
        })?;
        let selection = Selection { rank: run.rank, stage: self.stage, skip_warm_up: self.skip_warm_up };
        let notes = context.select(&selection).map_err(|nothing| nothing_left(&nothing, &run))?;
        let mut report = triage(&context);
        report.notes.splice(0..0, run.notes.iter().cloned().chain(notes));
        if let Some(mapping) = &mapping {
            add_inputs(&mut report, mapping);
        }
        output.show(report)
    }
}

fn nothing_left(nothing: &Nothing, run: &Run) -> Failure {
    let failure = Failure::input(nothing.to_string());
    match nothing {
        Nothing::NoGpuWork { .. } if run.is_capture => failure.with_help(
            "a capture trace holds launches, not kernels: give the trace of the run, and this one with `--mapping`",
        ),
        Nothing::NoGpuWork { .. } => {
            failure.with_help("profile with GPU activities on (torch: ProfilerActivity.CUDA, also on ROCm)")
        }
        Nothing::NotInStage { .. } => failure,
    }
}

fn add_inputs(report: &mut Report, mapping: &Trace) {
    report.inputs.extend(mapping.sources.iter().map(|source| InputFact {
        path: source.path.clone(),
        format: source.format.clone(),
        bytes: source.bytes,
        rank: source.rank,
    }));
}

/// The files of one run.
struct Run {
    formal: Vec<PathBuf>,
    mapping: Vec<PathBuf>,
    rank: Option<u32>,
    /// What is analysed was named as a capture.
    is_capture: bool,
    notes: Vec<String>,
}

impl Run {
    fn find(
        paths: &[PathBuf],
        mapping: &[PathBuf],
        rank: Option<u32>,
        output: &OutputArgs,
    ) -> Result<Self, Failure> {
        let (inputs, sources) = survey(paths, output)?;
        let one = OneRun::choose(&sources, rank)?;
        let files = |places: &[usize]| -> Vec<PathBuf> {
            places.iter().flat_map(|&i| inputs[i].files.clone()).collect()
        };
        let mut notes: Vec<String> = one.note().into_iter().collect();
        let mapping = if !mapping.is_empty() {
            mapping_files(mapping, one.rank, output)?
        } else {
            let found = if one.captures.is_empty() { &one.mapping } else { &one.captures };
            let found = of_rank(files(found), one.rank);
            for path in &found {
                notes.push(format!(
                    "replayed graphs are located by `{}`, found in the folder",
                    path.display()
                ));
            }
            found
        };
        let is_capture = inputs.len() == 1 && ingest::role_of_path(&inputs[0].path) == Some("capture");
        Ok(Self { formal: files(&one.formal), mapping, rank: one.rank.or(rank), is_capture, notes })
    }

    fn read(&self, output: &OutputArgs) -> Result<(Trace, Option<Trace>), Failure> {
        let needs = attribution::needs();
        let read = |files: &[PathBuf]| {
            with_progress("reading", output, |progress| ingest::read(files, &needs, progress))
        };
        let trace = read(&self.formal)?;
        let mapping = if self.mapping.is_empty() { None } else { Some(read(&self.mapping)?) };
        Ok((trace, mapping))
    }
}

/// The inputs behind paths and what they are: from their names where those suffice, else from a first look.
fn survey(
    paths: &[PathBuf],
    output: &OutputArgs,
) -> Result<(Vec<ingest::Input>, Vec<trace::Source>), Failure> {
    let inputs = ingest::find_inputs(paths)?;
    let by_name = |input: &ingest::Input| trace::Source {
        role: ingest::role_of_path(&input.path).filter(|_| inputs.len() > 1).map(String::from),
        rank: ingest::rank_of_path(&input.path),
        ..trace::Source::named(&input.path.display().to_string(), input.format.name())
    };
    let named: Vec<trace::Source> = inputs.iter().map(by_name).collect();
    if named.iter().filter(|source| source.role.is_none()).count() <= 1 {
        return Ok((inputs, named));
    }
    if inputs.iter().any(|input| input.path.as_os_str() == "-") {
        return Err(Failure::input("standard input must be the only input, or several files be named"));
    }
    // What a file says of itself counts more than its name.
    let needs = Needs::nothing();
    let trace = with_progress("looking", output, |progress| ingest::read(paths, &needs, progress))?;
    let mut kept = Vec::new();
    for source in &trace.sources {
        kept.extend(inputs.iter().find(|input| input.path.display().to_string() == source.path).cloned());
    }
    if kept.len() != trace.sources.len() {
        return Ok((inputs, named));
    }
    Ok((kept, trace.sources))
}

/// The files given as mapping: of the rank that is looked at, where they tell.
fn mapping_files(paths: &[PathBuf], rank: Option<u32>, output: &OutputArgs) -> Result<Vec<PathBuf>, Failure> {
    let (inputs, sources) = survey(paths, output)?;
    let usable = |source: &trace::Source| !matches!(source.role.as_deref(), Some("helper" | "merged"));
    let mut files: Vec<PathBuf> = Vec::new();
    for (input, _) in inputs.iter().zip(&sources).filter(|(_, source)| usable(source)) {
        files.extend(input.files.iter().cloned());
    }
    if files.is_empty() {
        files = inputs.iter().flat_map(|input| input.files.clone()).collect();
    }
    Ok(of_rank(files, rank))
}

/// Those of one rank, by their names; all when none is of that rank.
fn of_rank(files: Vec<PathBuf>, rank: Option<u32>) -> Vec<PathBuf> {
    let named = |file: &PathBuf| ingest::rank_of_path(file);
    let wanted = rank.or_else(|| files.iter().filter_map(named).min());
    let own: Vec<PathBuf> =
        files.iter().filter(|file| named(file).is_none() || named(file) == wanted).cloned().collect();
    if own.is_empty() { files } else { own }
}

impl From<NoRun> for Failure {
    fn from(error: NoRun) -> Self {
        let failure = Failure::input(error.to_string());
        match error {
            NoRun::Several { .. } => failure.with_help("give one of them"),
            NoRun::NoSuchRank { .. } => failure,
            NoRun::NoRank { .. } => failure.with_help(
                "give the trace of the run; a capture trace goes with `--mapping`, to locate its kernels",
            ),
        }
    }
}

fn stage(name: &str) -> Result<Stage, String> {
    Stage::from_name(name).ok_or_else(|| "one of prefill, decode, mixed, other is needed".into())
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>().ok();
    number.filter(|pct| (0.0..=100.0).contains(pct)).ok_or_else(|| "a share from 0 to 100 is needed".into())
}
