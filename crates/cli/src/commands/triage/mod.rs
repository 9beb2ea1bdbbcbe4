//! `triage`

mod files;
mod profile;

use std::path::PathBuf;

use analysis::triage::{artifacts, framework_named, triage};
use clap::Args;
use model::stages::Stage;
use model::{NothingSelected, Selection};
use report::{InputFact, Report};
use trace::Trace;

use super::breakdown::classifier;
use crate::failure::Failure;
use crate::input::InputArgs;
use crate::output::OutputArgs;
use crate::selection::SelectionArgs;

use files::Run;
pub use profile::{Folder, ProfileArgs};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf triage trace.json.gz
  rocm-perf triage run/                                        # finds run/capture_traces by itself
  rocm-perf triage decode.json.gz --mapping capture.json.gz --format json
  rocm-perf triage run/ --stage decode --skip-warm-up --min-share 0.5
  rocm-perf triage run/ --out artifacts --experiment-id e1 --perfetto-fix
  rocm-perf triage 4711_results.db

Times are of kernels, copies and fills; `time share` is of the stage's GPU time. Replayed graphs are located by the
capture trace, or a graph-off trace of the same model, given with `--mapping`. One rank of one run is looked at.
`--out` writes profile_summary.md, profile_metadata.json, kernel_table.json, overlap_opportunities.json,
fuse_opportunities.json and kernel_map.json; what is not known of the profile is null there, with the reason.")]
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

    /// Leave out the steps before the run settled
    #[arg(long)]
    skip_warm_up: bool,

    /// Rules for kernel names (TOML), tried before the built-in ones
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,

    /// The serving framework: sglang, vllm …; `auto` is what the trace shows
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = framework)]
    framework: Framework,

    /// Folder for the artifacts; they replace those of an earlier run as a set
    #[arg(short, long, visible_alias = "output-dir", value_name = "DIR")]
    out: Option<PathBuf>,

    /// Also write perfetto_fixed_trace.json(.gz)
    #[arg(long, requires = "out")]
    perfetto_fix: bool,

    #[command(flatten)]
    profile: ProfileArgs,
}

impl TriageArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let mut input = self.input.clone();
        input.files.more.extend(self.formal_input.iter().cloned());
        let request = Request {
            inputs: input.paths()?,
            mapping: self.mapping.clone(),
            rank: input.selection.only_rank()?,
            stage: input.selection.only_stage()?,
            part: input.selection.without_rank_and_stage(),
            skip_warm_up: self.skip_warm_up,
            min_share: self.min_share,
            rules: self.rules.clone(),
            framework: self.framework.0,
            profile: self.profile.clone(),
            folder: self.out.clone().map(|path| Folder { path, perfetto_fix: self.perfetto_fix }),
        };
        output.show(request.answer(output)?)
    }
}

/// What is to be triaged, and how.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Files and folders.
    pub inputs: Vec<PathBuf>,
    /// The same that locate replayed kernels.
    pub mapping: Vec<PathBuf>,
    /// The rank to look at.
    pub rank: Option<u32>,
    /// The stage to look at.
    pub stage: Option<Stage>,
    /// The rest of what to look at.
    pub part: SelectionArgs,
    /// Whether to leave out the first steps.
    pub skip_warm_up: bool,
    /// Least share of a row, in percent.
    pub min_share: f64,
    /// Rules for kernel names.
    pub rules: Option<PathBuf>,
    /// The framework, when it is told.
    pub framework: Option<&'static str>,
    /// What is known of the profile.
    pub profile: ProfileArgs,
    /// Where artifacts go, if anywhere.
    pub folder: Option<Folder>,
}

impl Request {
    /// A triage as it is without options.
    pub fn new(inputs: Vec<PathBuf>) -> Self {
        Self { inputs, min_share: 1.0, ..Self::default() }
    }

    /// The report; artifacts are written when they were asked for.
    pub fn answer(&self, output: &OutputArgs) -> Result<Report, Failure> {
        let classifier = classifier(self.rules.as_ref())?;
        self.folder.as_ref().map_or(Ok(()), Folder::check)?;
        let run = Run::find(&self.inputs, &self.mapping, self.rank, output)?;
        let (mut trace, mapping) = run.read(&self.part, output)?;
        let part = self.part.mark(&mut trace, &|| classifier.clone())?;
        let context = model::Run::new(&trace, mapping.as_ref(), &classifier, self.min_share);
        let context = context.map_err(|error| {
            Failure::input(error.to_string())
                .with_help("the mapping trace must be of the same model, run with the same kernels")
        })?;
        let mut context = context.with_stage_patterns(&self.part.stage_patterns());
        // The rest of the trace still tells where the part comes from.
        if let Some(part) = &part {
            context.rows.retain(|&row| part.wants_work(&trace, row));
        }
        let selection = Selection { rank: run.rank, stage: self.stage, skip_warm_up: self.skip_warm_up };
        let server_args = self.profile.server_args(&run.formal)?;
        context.program = self.profile.program(self.framework, server_args.as_ref());
        let notes = context.select(&selection).map_err(|nothing| nothing_left(&nothing, &run))?;
        let mut report = triage(&context);
        report.notes.splice(0..0, run.notes.iter().cloned().chain(notes));
        if let Some(mapping) = &mapping {
            add_inputs(&mut report, mapping);
        }
        if let Some(folder) = &self.folder {
            let told = self.profile.told(folder, &run.formal, server_args, self.stage)?;
            let files = artifacts(&context, &report, &told)
                .map_err(|wrong| Failure::input(format!("the metadata is wrong: {wrong}")))?;
            report.notes.push(folder.write(&files, &run.formal, output)?);
        }
        Ok(report)
    }
}

fn nothing_left(nothing: &NothingSelected, run: &Run) -> Failure {
    let failure = Failure::input(nothing.to_string());
    match nothing {
        NothingSelected::NoGpuWork { .. } if run.is_capture => failure.with_help(
            "a capture trace holds launches, not kernels: give the trace of the run, and this one with `--mapping`",
        ),
        NothingSelected::NoGpuWork { .. } => {
            failure.with_help("profile with GPU activities on (torch: ProfilerActivity.CUDA, also on ROCm)")
        }
        NothingSelected::NotInStage { .. } => failure,
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

/// A framework, none for `auto`.
#[derive(Clone, Copy, Debug)]
struct Framework(Option<&'static str>);

fn framework(name: &str) -> Result<Framework, String> {
    let name = name.to_lowercase();
    let name = match name.as_str() {
        "auto" => return Ok(Framework(None)),
        "tllm" | "tensorrt-llm" => "trtllm",
        other => other,
    };
    let known = framework_named(name).map(|name| Framework(Some(name)));
    known.ok_or_else(|| "it is not known; `auto` takes what the trace shows".into())
}

/// A share in percent.
pub fn share(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>().ok();
    number.filter(|pct| (0.0..=100.0).contains(pct)).ok_or_else(|| "a share from 0 to 100 is needed".into())
}
