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

Each input (a file, or a folder of one run's ranks) is one run, in the order they were made. The label comes from the
coefficient of variation: stable up to 5 %, noisy up to 10 %, else unstable. Slow first runs are warm-up and left out;
drift with the order of runs, two modes (clock states) and outliers are named. The interval of the median is a
bootstrap's 95 %. docs/stability.md has the thresholds.")]
pub struct StabilityArgs {
    #[command(flatten)]
    input: InputArgs,
}

impl StabilityArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        output.show(app::stability(&self.input.request()?, output)?)
    }
}
