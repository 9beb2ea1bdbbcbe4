//! `doctor`

use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf doctor
  rocm-perf doctor --format json
  rocm-perf doctor --out /scratch/traces    # check the space there

Checks the driver, the permissions, the profiler, the environment and the
disk, and prints how to fix each problem. Exit code: 0 if no check failed
(warnings are fine), 1 if one did.")]
pub struct DoctorArgs {
    /// Folder where you want to write traces
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    out: PathBuf,

    /// Examine a machine whose files are below this folder
    #[arg(long, value_name = "DIR", hide = true)]
    root: Option<PathBuf>,
}

impl DoctorArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        // A checklist is only useful as a whole.
        let output = &OutputArgs { limit: output.limit.or(Some(0)), ..output.clone() };
        output.answer(app::doctor(&self.out, self.root.as_ref()))
    }
}
