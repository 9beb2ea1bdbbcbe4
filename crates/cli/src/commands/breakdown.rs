//! `breakdown`

use app::timeline::BreakdownRequest;
use clap::Args;

use crate::failure::Failure;
use crate::input::{InputArgs, RulesArgs, TargetArgs};
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf breakdown trace.json.gz
  rocm-perf breakdown ranks/ --by-rank --table categories --format csv
  rocm-perf breakdown trace.json.gz --linked --format json
  rocm-perf breakdown 4711_results.db --rules my_kernels.toml

Timeline: compute + exposed communication + exposed memcpy + idle = total, for
each rank and GPU. Communication is exposed while no compute runs, a copy
while nothing else runs. `share` in categories is of the stage's GPU time. A
rules file has [[rule]] entries with `pattern`, `category` and `backend`,
tried before the built-in ones.")]
pub struct BreakdownArgs {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    target: TargetArgs,

    /// Only count GPU work whose launch was recorded, as TraceLens does
    #[arg(long)]
    linked: bool,

    /// Show categories per rank
    #[arg(long)]
    by_rank: bool,

    #[command(flatten)]
    rules: RulesArgs,
}

impl BreakdownArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let request = BreakdownRequest {
            input: self.input.request()?,
            target_arch: self.target.arch(),
            linked: self.linked,
            by_rank: self.by_rank,
            rules: self.rules.path(),
        };
        output.show(app::breakdown(&request, output)?)
    }
}
