//! `bottleneck`

use std::path::PathBuf;

use analysis::att::thread_trace_features;
use analysis::bottleneck::{bottleneck_needs, bottleneck_report};
use clap::Args;

use super::att::thread_traces;
use crate::failure::Failure;
use crate::input::{InputArgs, one_run};
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf bottleneck 4711_results.db
  rocm-perf bottleneck workloads/vcopy/MI300X --limit 5
  rocm-perf bottleneck run/ --att att_run/ --format json

Labels kernels (memory bandwidth, memory latency, matrix throughput, LDS, under-occupied, launch bound …) by a table of
rules over counters, launch shapes and the GPU's peaks; each with its evidence. A rule that lacks a counter is undecided and
names it; no label is guessed. docs/bottleneck.md lists the rules.")]
pub struct BottleneckArgs {
    #[command(flatten)]
    input: InputArgs,

    /// Decoded thread traces of the same kernels; may be repeated
    #[arg(long, value_name = "PATH")]
    att: Vec<PathBuf>,
}

impl BottleneckArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let features = thread_trace_features(&thread_traces(&self.att)?);
        if features.is_empty() && !self.att.is_empty() {
            return Err(Failure::input("`--att` names no decoded thread trace"));
        }
        let trace = self.input.read(&bottleneck_needs(), output)?;
        one_run(&trace, "bottleneck")?;
        output.show(bottleneck_report(&trace, &features))
    }
}
