//! `merge`

use std::path::PathBuf;

use app::merge::MergeRequest;
use clap::Args;

use crate::failure::Failure;
use crate::input::PathArgs;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf merge ranks/ --out merged.db
  rocm-perf merge node0/*.db node1/*.db -o run.db && rocm-perf summary run.db --by-rank
  rocm-perf merge ranks/ --package run.rpdb              # a folder with an index, for newer rocpd tools

Copies every table whole: unknown tables and columns, ids and guids stay as
they are. The inputs are not changed. Databases hold the whole environment of
their processes, so merge drops all variables except those of ROCm, its
libraries and the job, removes values of options such as `--api-key` from
command lines, and reports how many.")]
pub struct MergeArgs {
    #[command(flatten)]
    input: PathArgs,

    /// Database to write; for a folder, `merged.db` in it
    #[arg(short, long, value_name = "FILE", required_unless_present = "package", conflicts_with = "package")]
    out: Option<PathBuf>,

    /// Write a folder package instead: the databases and an `index.yaml`
    #[arg(long, value_name = "DIR.rpdb")]
    package: Option<PathBuf>,

    /// Move the databases into the package instead of copying them; needs `--keep-environment`
    #[arg(long = "move", requires = "package")]
    move_files: bool,

    /// Keep environments and command lines, secrets included
    #[arg(long)]
    keep_environment: bool,

    /// Overwrite existing output
    #[arg(long)]
    force: bool,
}

impl MergeArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let request = MergeRequest {
            inputs: self.input.paths()?,
            out: self.out.clone(),
            package: self.package.clone(),
            move_files: self.move_files,
            keep_environment: self.keep_environment,
            force: self.force,
        };
        output.show(app::merge(&request, output)?)
    }
}
