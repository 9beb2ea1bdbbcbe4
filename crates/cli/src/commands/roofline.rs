//! `roofline`

use std::path::PathBuf;

use app::roofline::{Peaks, RooflineRequest};
use clap::Args;

use crate::aggregate::AggregateArgs;
use crate::failure::Failure;
use crate::input::{InputArgs, MappingArgs};
use crate::output::OutputArgs;

/// Heading of the options that describe the GPU.
const GPU: &str = "The GPU, if the input does not name it";

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf roofline workloads/vcopy/MI300X
  rocm-perf roofline 4711_results.db --product MI300X
  rocm-perf roofline workloads/vcopy/MI200 --measured --format json
  rocm-perf roofline trace.json.gz --product MI300X
  rocm-perf roofline decode.json.gz --mapping capture.json.gz
  rocm-perf roofline trace.json.gz counters.db       # both in one row
  rocm-perf roofline run.db --peaks peaks.json -o roofline.svg
  rocm-perf roofline --list-counters --arch gfx942

`intensity` is operations per byte of memory traffic. `peak` is the share of
the nearest ceiling: the time its bytes or operations would take at peak, over
the kernel's time. At 60 % or more that ceiling bounds the kernel; below 30 %
of every ceiling, latency does. Operations and bytes need counters; missing
ones are named. Ops of torch traces with shapes are modelled without counters
(table `ops`); add counters of the same program as a second input to compare
measured with modelled values.")]
pub struct RooflineArgs {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    mapping: MappingArgs,

    #[command(flatten)]
    aggregate: AggregateArgs,

    /// Use the peaks that rocprof-compute measured (roofline.csv)
    #[arg(long, conflicts_with = "peaks")]
    measured: bool,

    /// JSON file with your own peaks, such as `{"hbm_gbps": 4300, "bf16_matrix_gflops": 708000}`
    #[arg(long, value_name = "FILE")]
    peaks: Option<PathBuf>,

    /// Draw the roofline chart to this file (.svg or .png)
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// List the counters that the roofline needs on `--arch`, and their passes
    #[arg(long, alias = "counters", requires = "arch")]
    list_counters: bool,

    /// Architecture (`gfx942`) or product (MI300X)
    #[arg(help_heading = GPU, long, value_name = "GPU")]
    arch: Option<String>,

    /// Product, which sets clock, compute units and bandwidth
    #[arg(help_heading = GPU, long, value_name = "NAME")]
    product: Option<String>,

    /// Compute units of the device
    #[arg(help_heading = GPU, long, value_name = "N")]
    cus: Option<u32>,

    /// Engine clock
    #[arg(help_heading = GPU, long, value_name = "MHZ")]
    clock_mhz: Option<f64>,

    /// Memory bandwidth of the device
    #[arg(help_heading = GPU, long, value_name = "GBPS")]
    memory_gbps: Option<f64>,

    /// Compute partition mode: SPX, DPX, TPX, QPX, CPX
    #[arg(help_heading = GPU, long, value_name = "MODE")]
    partition: Option<String>,

    /// Memory partition mode: NPS1, NPS2, NPS4, NPS8
    #[arg(help_heading = GPU, long, value_name = "MODE")]
    memory_mode: Option<String>,
}

impl RooflineArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        if let (true, Some(arch)) = (self.list_counters, &self.arch) {
            return output.show(app::roofline_counters(arch)?);
        }
        let request = RooflineRequest {
            input: self.input.request()?,
            mapping: self.mapping.path(),
            aggregate: self.aggregate.request(),
            peaks: match &self.peaks {
                Some(path) => Peaks::File(path.clone()),
                None if self.measured => Peaks::Measured,
                None => Peaks::DataSheet,
            },
            out: self.out.clone(),
            arch: self.arch.clone(),
            product: self.product.clone(),
            cus: self.cus,
            clock_mhz: self.clock_mhz,
            memory_gbps: self.memory_gbps,
            compute_partition: self.partition.clone(),
            memory_partition: self.memory_mode.clone(),
        };
        output.show(app::roofline(&request, output)?)
    }
}
