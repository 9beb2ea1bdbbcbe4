//! `digest`

use std::path::PathBuf;

use app::ranks::{DigestRequest, WorkShare};
use clap::Args;

use crate::failure::Failure;
use crate::input::PathArgs;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf digest traces/ --out digests
  rocm-perf ranks digests
  srun sh -c 'rocm-perf digest /shared/traces --out /shared/digests \\
      --part $SLURM_PROCID/$SLURM_NTASKS'

A digest has the steps, collectives and statistics of one rank and is some
thousand times smaller than its trace. Digests that are there already and whose
trace did not change are kept, so an interrupted pass can be started again.")]
pub struct DigestArgs {
    #[command(flatten)]
    files: PathArgs,

    /// Folder for the digests
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,

    /// Only do this share of the inputs, such as 0/8, to split the work over processes
    #[arg(long, value_name = "NUMBER/OF")]
    part: Option<WorkShare>,

    /// Rewrite existing digests
    #[arg(long)]
    force: bool,
}

impl DigestArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let (paths, out) = (self.files.paths()?, self.out.clone());
        app::keep_for_next_trace();
        let request = DigestRequest { paths, out, part: self.part, force: self.force };
        output.show(app::digest(&request, output)?)
    }
}
