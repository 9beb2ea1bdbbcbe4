//! `bottleneck`

use std::path::PathBuf;

use app::stalls::BottleneckRequest;
use clap::Args;

use crate::failure::Failure;
use crate::input::InputArgs;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf bottleneck 4711_results.db
  rocm-perf bottleneck workloads/vcopy/MI300X --limit 5
  rocm-perf bottleneck run/ --thread-trace att_run/ --format json

Labels kernels (memory bandwidth, memory latency, matrix throughput, LDS,
under-occupied, launch bound …) by rules over counters, launch sizes and the
GPU's peaks, each with its evidence. A rule without its counters stays
undecided and names them; no label is guessed. docs/bottleneck.md lists the
rules.")]
pub struct BottleneckArgs {
    #[command(flatten)]
    input: InputArgs,

    /// Decoded thread traces of the same kernels; may be repeated
    #[arg(long, alias = "att", value_name = "PATH")]
    thread_trace: Vec<PathBuf>,
}

impl BottleneckArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let request =
            BottleneckRequest { input: self.input.request()?, thread_traces: self.thread_trace.clone() };
        output.show(app::bottleneck(&request, output)?)
    }
}
