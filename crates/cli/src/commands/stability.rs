//! `stability`

use clap::Args;

use crate::failure::Failure;
use crate::input::InputArgs;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf stability run1.db run2.db run3.db
  rocm-perf stability runs/*/ --table kernels --format csv
  rocm-perf stability run*.json.gz --kernel gemm

Each input (a file, or a folder with the ranks of one run) is one run; give
them in the order they ran. The label follows from the coefficient of
variation: stable up to 5 %, noisy up to 10 %, else unstable. Slow first runs
count as warm-up and are left out; drift over the runs, two modes (clock
states) and outliers are reported. The median has a bootstrap interval of 95
%. docs/stability.md lists the thresholds.")]
pub struct StabilityArgs {
    #[command(flatten)]
    input: InputArgs,
}

impl StabilityArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        output.show(app::stability(&self.input.request()?, output)?)
    }
}
