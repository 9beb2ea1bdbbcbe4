//! `triage`

use std::path::PathBuf;

use app::input::{only_rank, only_stage, without_rank_and_stage};
use app::triage::{Folder, TriageRequest, framework_named};
use clap::Args;

use crate::failure::Failure;
use crate::input::{InputArgs, MinShareArgs, RulesArgs};
use crate::output::OutputArgs;
use crate::profile_facts::ProfileFactsArgs;
use crate::store::attach;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf triage trace.json.gz
  rocm-perf triage run/                                        # also reads run/capture_traces
  rocm-perf triage decode.json.gz --mapping capture.json.gz --format json
  rocm-perf triage run/ --stage decode --skip-warm-up --min-share 0.5
  rocm-perf triage run/ --out artifacts --perfetto-fix
  rocm-perf triage run/ --out artifacts --experiment e1 --trial t1
  rocm-perf triage 4711_results.db

Covers kernels, copies and fills of one rank of one run; `time share` is of
the stage's GPU time. To locate kernels of replayed graphs, give the capture
trace, or a graph-off trace of the same model, with `--mapping`. `--out`
writes profile_summary.md, profile_metadata.json, kernel_table.json,
overlap_opportunities.json, fuse_opportunities.json and kernel_map.json;
unknown metadata is null there, with the reason.")]
pub struct TriageArgs {
    #[command(flatten)]
    input: InputArgs,

    /// Same as INPUT, for scripts that use `--mapping-input` and `--formal-input`
    #[arg(long, value_name = "PATH", hide = true, num_args = 1..)]
    formal_input: Vec<PathBuf>,

    /// Capture trace or graph-off trace of the same model (file or folder), to locate replayed kernels
    #[arg(long, visible_alias = "mapping-input", value_name = "PATH", num_args = 1..)]
    mapping: Vec<PathBuf>,

    #[command(flatten)]
    min_share: MinShareArgs,

    /// Skip the warm-up steps
    #[arg(long)]
    skip_warm_up: bool,

    #[command(flatten)]
    rules: RulesArgs,

    /// Serving framework: sglang, vllm …; `auto` detects it from the trace
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = framework)]
    framework: Framework,

    /// Folder for the artifacts; replaces those of an earlier run
    #[arg(short, long, visible_alias = "output-dir", value_name = "DIR")]
    out: Option<PathBuf>,

    /// Also write perfetto_fixed_trace.json(.gz)
    #[arg(long, requires = "out")]
    perfetto_fix: bool,

    #[command(flatten)]
    profile: ProfileFactsArgs,
}

impl TriageArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let target = self.profile.trial.target("triage")?;
        let mut input = self.input.clone();
        input.files.more.extend(self.formal_input.iter().cloned());
        let input = input.request()?;
        let request = TriageRequest {
            rank: only_rank(&input.filters)?,
            stage: only_stage(&input.filters)?,
            part: without_rank_and_stage(&input.filters),
            inputs: input.paths,
            mapping: self.mapping.clone(),
            skip_warm_up: self.skip_warm_up,
            min_share: self.min_share.percent,
            rules: self.rules.path(),
            framework: self.framework.0,
            profile: self.profile.facts(),
            folder: self.out.clone().map(|path| Folder { path, perfetto_fix: self.perfetto_fix }),
        };
        let mut report = app::triage(&request, output)?;
        let files = self.out.as_ref().map(|folder| app::triage::artifact_files(folder)).unwrap_or_default();
        attach(target.as_ref(), &mut report, &files, output)?;
        output.show(report)
    }
}

/// A framework; `None` for `auto`.
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
    known.ok_or_else(|| "unknown framework; `auto` detects it from the trace".into())
}
