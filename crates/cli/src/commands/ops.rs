//! `ops`

use std::path::PathBuf;

use app::ops::OpsRequest;
use clap::Args;

use crate::failure::Failure;
use crate::input::{InputArgs, MappingArgs, TargetArgs};
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf ops trace.json.gz
  rocm-perf ops trace.json.gz --table modules --limit 0
  rocm-perf ops decode.json.gz --mapping capture.json.gz --table module_ops
  rocm-perf ops trace.json.gz --linked --format json
  rocm-perf ops trace.json.gz --stacks gpu.folded

`self gpu` is work that the op launches itself, not through another op or
module of the table, so the column adds up to the GPU time; `gpu` also counts
what is below. `launch delay` is the mean time from the end of a launch to the
start of its work, `queue length` the mean number of kernels in front of it on
its stream. `backward gpu` is the backward pass of these calls, `recomputed`
the part of `gpu` that repeats a forward pass (activation checkpointing).
Modules of one class below one parent are one row: `RMSNorm ×36`. Modules and
frames need `with_stack=True`, shapes need `record_shapes=True`.")]
pub struct OpsArgs {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    mapping: MappingArgs,

    /// Only count GPU work whose launch was recorded, and only ops that launch it, as TraceLens does
    #[arg(long)]
    linked: bool,

    /// Also write the stacks to FILE, one `a;b;kernel NS` per line, for flame graph tools
    #[arg(long, value_name = "FILE")]
    stacks: Option<PathBuf>,
}

impl OpsArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let request = OpsRequest {
            input: self.input.request()?,
            mapping: self.mapping.path(),
            linked: self.linked,
            stacks: self.stacks.clone(),
            target_arch: self.target.arch(),
        };
        output.show(app::ops(&request, output)?)
    }
}
