//! `doctor`

use std::path::PathBuf;

use app::DoctorRequest;
use clap::Args;

use crate::failure::Failure;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf doctor
  rocm-perf doctor --format json
  rocm-perf doctor --out /scratch/traces    # check the space there
  rocm-perf doctor --root /mnt/image        # an unpacked image, or a copy of /sys, /proc and /opt
  rocm-perf doctor --probe                  # does the profiler record all that runs?

Checks the driver, the permissions, the profiler, the environment and the
disk, compares the installed releases with a table of known issues, and prints
how to fix each problem. Exit code: 0 if no check failed (warnings are fine),
1 if one did, or if the profiler lost work of the probe.")]
pub struct DoctorArgs {
    /// Folder where you want to write traces
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    out: PathBuf,

    /// Examine a machine whose files are below this folder
    #[arg(long, value_name = "DIR", conflicts_with = "probe")]
    root: Option<PathBuf>,

    /// Compile a small program, run it under the profiler, and compare what it launched with what was recorded
    #[arg(long)]
    probe: bool,
}

impl DoctorArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        // A checklist is only useful as a whole.
        let output = &OutputArgs { limit: output.limit.or(Some(0)), ..output.clone() };
        let request = DoctorRequest { out: self.out.clone(), root: self.root.clone(), probe: self.probe };
        output.answer(app::doctor(&request))
    }
}
