//! `completions` and `man`: made from the same definitions as the command line.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::help;
use crate::output::print;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf completions bash > ~/.local/share/bash-completion/completions/rocm-perf
  rocm-perf completions zsh > ~/.zfunc/_rocm-perf")]
pub struct CompletionsArgs {
    /// Shell to print completions for
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArgs {
    pub fn run(&self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut help::command(), "rocm-perf", &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf man ~/.local/share/man/man1
  rocm-perf man . && man ./rocm-perf-summary.1")]
pub struct ManArgs {
    /// Folder for the man pages
    folder: PathBuf,
}

impl ManArgs {
    pub fn run(&self) -> Result<(), Failure> {
        let failed =
            |error| Failure::input(format!("cannot write man pages to `{}`: {error}", self.folder.display()));
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        clap_mangen::generate_to(help::command(), &self.folder).map_err(failed)
    }
}
