//! `critical-path`

use std::path::PathBuf;

use app::causes::{CriticalPathRequest, PathRows};
use clap::Args;

use crate::failure::Failure;
use crate::input::{InputArgs, RulesArgs, TargetArgs};
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf critical-path trace.json.gz
  rocm-perf critical-path 4711_results.db --what-if 'gemm=0.5' --what-if 'copy=0'
  rocm-perf critical-path trace.json.gz --what-if 'op:aten::layer_norm=0'
  rocm-perf critical-path ranks/ --table path --format csv
  rocm-perf critical-path trace.json.gz --out path.pftrace

The path leads from the last event back through whatever each event waited
for; its segments add up to the span. `slack` is how much later a kernel could
start without delaying the end of the run (the smallest of its dispatches).
`--what-if` scales a kind of time (compute, copy, communication, launch,
queueing, host, sync), a category (gemm, attention …) or kernels and copies by
name (`kernel:copy=0.5` is always a name), and predicts the span through all
dependencies. `op:NAME=FACTOR` scales a host op with its launches and kernels;
0 removes it, as a fusion would; `module:NAME` and `stage:NAME` scale an
nn.Module or a stage the same way. `clock=1.1` predicts a 10 % higher clock,
from which kernels that memory bounds gain nothing. A name is a full name, a
part of one in any case, or a regular expression between slashes.
docs/critical-path.md lists the dependencies.")]
pub struct CriticalPathArgs {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    target: TargetArgs,

    /// Predict the span with the time of NAME multiplied by FACTOR; may be repeated
    #[arg(long, value_name = "NAME=FACTOR")]
    what_if: Vec<String>,

    /// Also infer dependencies from times: work depends on what ended last before it
    #[arg(long)]
    infer: bool,

    /// Show every segment of the path in its own row
    #[arg(long)]
    all_segments: bool,

    /// Write the trace with the path as an extra track, for Perfetto (`.pftrace`, `.pftrace.gz`)
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    rules: RulesArgs,
}

impl CriticalPathArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let request = CriticalPathRequest {
            input: self.input.request()?,
            target_arch: self.target.arch(),
            what_if: self.what_if.clone(),
            infer: self.infer,
            rows: PathRows { all_segments: self.all_segments, first: output.first_rows() },
            out: self.out.clone(),
            rules: self.rules.path(),
        };
        output.show(app::critical_path(&request, output)?)
    }
}
