//! `efficiency`

use app::efficiency::EfficiencyRequest;
use clap::Args;

use crate::failure::Failure;
use crate::input::{InputArgs, MappingArgs, RulesArgs};
use crate::output::OutputArgs;

/// Heading of the options that describe the GPU.
const GPU: &str = "The GPU, if the input does not name it";

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf efficiency trace.json.gz
  rocm-perf efficiency trace.json.gz --table efficiency_kernels --limit 10
  rocm-perf efficiency decode.json.gz --mapping capture.json.gz
  rocm-perf efficiency 4711_results.db --product MI300X --format json

Splits the time of each GPU, from what its work takes at peak to the span. The
parts add up to the span, to the nanosecond; so do the rows by stage, by step
and by kernel (with the gaps before it). Work comes from shapes of torch ops
or from roofline counters, clocks from monitor samples or cycle counters. What
nothing tells is `not measured`, and a table says what to collect.
docs/efficiency.md explains each part.")]
pub struct EfficiencyArgs {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    mapping: MappingArgs,

    #[command(flatten)]
    rules: RulesArgs,

    /// Architecture (`gfx942`) or product (MI300X)
    #[arg(help_heading = GPU, long, value_name = "GPU")]
    arch: Option<String>,

    /// Product, which sets clock, compute units and bandwidth
    #[arg(help_heading = GPU, long, value_name = "NAME")]
    product: Option<String>,

    /// Compute units of the device
    #[arg(help_heading = GPU, long, value_name = "N")]
    cus: Option<u32>,

    /// Peak engine clock
    #[arg(help_heading = GPU, long, value_name = "MHZ")]
    clock_mhz: Option<f64>,
}

impl EfficiencyArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let request = EfficiencyRequest {
            input: self.input.request()?,
            mapping: self.mapping.path(),
            rules: self.rules.path(),
            arch: self.arch.clone(),
            product: self.product.clone(),
            cus: self.cus,
            clock_mhz: self.clock_mhz,
        };
        output.show(app::efficiency(&request, output)?)
    }
}
