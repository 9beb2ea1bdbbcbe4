//! `att`

use clap::Args;

use crate::failure::Failure;
use crate::input::PathArgs;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf att ui_output_agent_1_dispatch_3
  rocm-perf att stats_ui_output_agent_1_dispatch_3.csv --table instructions
  rocm-perf att att_run/ --table sources --format csv
  rocm-perf att pc_sampling_stochastic.csv
  rocm-perf att omniprobe.json run.db      # cache lines and bank conflicts by source line

Reads decoded thread traces of rocprofv3 (folders and statistics) and PC
samples. A wait is charged to the load it waits for, a stall to the busy unit,
and idle time after a branch to instruction fetch. Also reads Omniprobe's
memory analysis and Nexus' code listings; a trace beside them gives the times
of their kernels. Cycles are shader clocks; they are not converted to time,
because tracing slows the kernel down. docs/att.md explains the causes.")]
pub struct AttArgs {
    #[command(flatten)]
    files: PathArgs,
}

impl AttArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        output.show(app::att(&self.files.paths()?, output)?)
    }
}
