//! `summary`

use app::timeline::SummaryRequest;
use clap::Args;

use crate::failure::Failure;
use crate::input::{ClusterArgs, InputArgs, TargetArgs};
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf summary 4711_results.db
  rocm-perf summary trace.json.gz --limit 50 --sort calls
  rocm-perf summary ranks/ --by-rank --table kernels --format csv

`share` is of all kernel time; for regions, of the time of their category.
`self` is a region's time without the regions nested in it on its thread.")]
pub struct SummaryArgs {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    target: TargetArgs,

    /// One row per rank and name
    #[arg(long, visible_alias = "summary-by-rank")]
    by_rank: bool,

    /// Only host regions of these categories: HIP, HSA, MARKER, RCCL …; NONE hides all regions
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    region_categories: Option<Vec<String>>,

    /// Accepted for rocpd's scripts; the table of domains is always shown
    #[arg(long, hide = true)]
    domain_summary: bool,

    #[command(flatten)]
    cluster: ClusterArgs,

    /// Include Python frames (slower, more memory)
    #[arg(long)]
    python: bool,
}

impl SummaryArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let request = SummaryRequest {
            input: self.input.request()?,
            target_arch: self.target.arch(),
            by_rank: self.by_rank,
            region_categories: self.region_categories.clone(),
            python: self.python,
            cluster: self.cluster.url(),
        };
        output.show(app::summary(&request, output)?)
    }
}
