//! `occupancy`

use std::path::PathBuf;

use app::Input;
use app::occupancy::OccupancyRequest;
use clap::Args;

use crate::failure::Failure;
use crate::input::InputArgs;
use crate::output::OutputArgs;

/// Heading of the options that describe a kernel.
const KERNEL: &str = "What the kernel uses";

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf occupancy 4711_results.db
  rocm-perf occupancy ./app --kernel gemm --workgroup 256
  rocm-perf occupancy kernel.hsaco --lds 32768 --format json
  rocm-perf occupancy --arch gfx942 --vgpr 137 --workgroup 256 --lds 16384
  rocm-perf occupancy run.db --code-object ./app

An input is a trace, a code object (.co, .hsaco), an offload bundle, or a
program or library with GPU code; without one, give --arch and --vgpr.
Occupancy is the share of a compute unit's wave slots that can be filled. A
trace has the workgroup size and LDS of each launch; for a code object, give
them with --workgroup and --lds, otherwise the limits in its metadata are
used.")]
pub struct OccupancyArgs {
    #[command(flatten)]
    input: InputArgs,

    /// GPU: `gfx942`, or a product such as MI300X; also selects among the code objects of a file
    #[arg(long, value_name = "GPU")]
    arch: Option<String>,

    /// Code objects of a trace; their register counts replace the profiler's
    #[arg(long, value_name = "FILE")]
    code_object: Vec<PathBuf>,

    /// Vector registers per lane
    #[arg(help_heading = KERNEL, long, value_name = "N")]
    vgpr: Option<u32>,

    /// Accumulation registers per lane [default: 0]
    #[arg(help_heading = KERNEL, long, value_name = "N")]
    agpr: Option<u32>,

    /// Scalar registers per wave [default: 0]
    #[arg(help_heading = KERNEL, long, value_name = "N")]
    sgpr: Option<u32>,

    /// LDS per workgroup; for a code object, only the dynamic part
    #[arg(help_heading = KERNEL, long, value_name = "BYTES")]
    lds: Option<u32>,

    /// Threads per workgroup, if the input does not have it [default without an input: 256]
    #[arg(help_heading = KERNEL, long, value_name = "N")]
    workgroup: Option<u32>,

    /// Lanes per wave, on GPUs that support both
    #[arg(help_heading = KERNEL, long, value_name = "32|64")]
    wave_size: Option<u32>,

    /// RDNA: workgroups stay within one compute unit
    #[arg(help_heading = KERNEL, long)]
    cu_mode: bool,
}

impl OccupancyArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let request = OccupancyRequest {
            input: Input {
                paths: app::input::expand(&self.input.files.given())?,
                filters: self.input.selection.filters()?,
            },
            arch: self.arch.clone(),
            code_objects: self.code_object.clone(),
            vgpr: self.vgpr,
            agpr: self.agpr,
            sgpr: self.sgpr,
            lds: self.lds,
            workgroup: self.workgroup,
            wave_size: self.wave_size,
            cu_mode: self.cu_mode,
        };
        output.show(app::occupancy(&request, output)?)
    }
}
