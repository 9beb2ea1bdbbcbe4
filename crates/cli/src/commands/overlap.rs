//! `overlap`

use app::causes::OverlapRequest;
use clap::Args;

use crate::failure::Failure;
use crate::input::{InputArgs, MappingArgs, MinShareArgs, RulesArgs, TargetArgs};
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf overlap trace.json.gz
  rocm-perf overlap decode.json.gz --mapping capture.json.gz
  rocm-perf overlap 4711_results.db --min-share 0.5 --format json

`exclusive` is time with nothing on another stream. `exposed` is the part of
it that costs time: communication without compute, copies without either,
compute alone. `gain ceiling` is the most you could save if the order may
change: per step, the smaller of the exposed time and the compute it could
hide behind, on the GPU where that is largest. `free gain` is the part that
the recorded order (streams, events, blocking calls) already allows.
`dependency risk` is how likely the order is required.")]
pub struct OverlapArgs {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    mapping: MappingArgs,

    #[command(flatten)]
    min_share: MinShareArgs,

    #[command(flatten)]
    rules: RulesArgs,
}

impl OverlapArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let request = OverlapRequest {
            input: self.input.request()?,
            target_arch: self.target.arch(),
            mapping: self.mapping.path(),
            min_share: self.min_share.percent,
            rules: self.rules.path(),
        };
        output.show(app::overlap(&request, output)?)
    }
}
