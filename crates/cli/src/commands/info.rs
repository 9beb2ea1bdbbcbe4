//! `info`

use clap::Args;

use crate::failure::Failure;
use crate::input::InputArgs;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf info trace.json.gz
  rocm-perf info rank*_results.db --format json
  rocm-perf info run_folder/")]
pub struct InfoArgs {
    #[command(flatten)]
    input: InputArgs,
}

impl InfoArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        output.show(app::info(&self.input.request()?, output)?)
    }
}
