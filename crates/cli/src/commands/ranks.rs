//! `ranks`

use app::ranks::RanksRequest;
use clap::Args;

use crate::failure::Failure;
use crate::input::PathArgs;
use crate::output::OutputArgs;
use crate::store::{TrialArgs, attach};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf ranks traces/
  rocm-perf ranks rank0.json.gz rank1.json.gz
  rocm-perf ranks digests/ --table clocks
  rocm-perf ranks traces/ --format html > ranks.html
  rocm-perf ranks traces/ --table collectives --limit 0

Reads traces of ranks (rocpd, torch, JAX, rocprofv3, RCCL Inspector), folders
of them, and digests that `digest` wrote. Each trace is read, digested and
dropped, so memory does not grow with the number of kernels.

Clocks are aligned by the ends of collectives; `--table clocks` shows offset,
drift and error of each. `wait` is the time in a collective before the last
rank comes, `transfer` the time after that; `bus` is the bandwidth as
rccl-tests count it. A straggler is a rank whose own work takes longer than
that of its peers: `own excess` is by how much in the whole run, `step
without` is a step with that rank like its peers, simulated.")]
pub struct RanksArgs {
    #[command(flatten)]
    files: PathArgs,

    #[command(flatten)]
    trial: TrialArgs,
}

impl RanksArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        app::keep_for_next_trace();
        let request = RanksRequest { paths: self.files.paths()? };
        let target = self.trial.target("ranks")?;
        let mut report = app::ranks(&request, output)?;
        attach(target.as_ref(), &mut report, &[], output)?;
        output.show(report)
    }
}
