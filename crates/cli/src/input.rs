//! Options that several commands share: what to read, and with which rules.

use std::path::PathBuf;

use app::triage::TARGET_ARCH;
use app::{Input, Remedy};
use clap::Args;

use crate::failure::Failure;
use crate::selection::SelectionArgs;
use crate::values::share;

/// Files and folders to read.
#[derive(Args, Clone, Debug)]
pub struct PathArgs {
    /// Trace files or folders of them; `-` reads standard input
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// More inputs, as rocpd's tools spell them; may be repeated
    #[arg(short = 'i', long = "input", value_name = "INPUT", num_args = 1..)]
    pub more: Vec<PathBuf>,

    /// Follow symbolic links that lead out of an input folder
    #[arg(long)]
    pub follow: bool,
}

impl PathArgs {
    /// All inputs, at least one.
    pub fn paths(&self) -> Result<Vec<PathBuf>, Failure> {
        let paths = self.given();
        if paths.is_empty() {
            return Err(Failure::input("no input given").with_help(Remedy::NameInput));
        }
        app::input::expand(&paths)
    }

    /// All inputs, possibly none.
    pub fn given(&self) -> Vec<PathBuf> {
        if self.follow {
            app::input::follow_links();
        }
        self.inputs.iter().chain(&self.more).cloned().collect()
    }
}

/// Files and folders to read, and which part of them to look at.
#[derive(Args, Clone, Debug)]
pub struct InputArgs {
    #[command(flatten)]
    pub files: PathArgs,

    #[command(flatten)]
    pub selection: SelectionArgs,
}

impl InputArgs {
    /// The input of a request.
    pub fn request(&self) -> Result<Input, Failure> {
        Ok(Input { paths: self.files.paths()?, filters: self.selection.filters()? })
    }
}

/// Rules for kernel names.
#[derive(Args, Clone, Debug)]
pub struct RulesArgs {
    /// Rules for kernel names (TOML), tried before the built-in ones
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
}

impl RulesArgs {
    /// Their file.
    pub fn path(&self) -> Option<PathBuf> {
        self.rules.clone()
    }
}

/// The cluster that reads a lake.
#[derive(Args, Clone, Debug, Default)]
pub struct ClusterArgs {
    /// For a lake: let the cluster with this scheduler do the work, such as http://head:50050
    #[arg(long, value_name = "URL")]
    cluster: Option<String>,
}

impl ClusterArgs {
    /// Its scheduler.
    pub fn url(&self) -> Option<String> {
        self.cluster.clone()
    }
}

/// The trace that locates replayed kernels.
#[derive(Args, Clone, Debug)]
pub struct MappingArgs {
    /// Capture trace of the graphs, or a trace with graphs off, to locate replayed kernels
    #[arg(long, alias = "mapping-input", value_name = "FILE")]
    mapping: Option<PathBuf>,
}

impl MappingArgs {
    /// Its file.
    pub fn path(&self) -> Option<PathBuf> {
        self.mapping.clone()
    }
}

/// The architecture that the answer is for.
#[derive(Args, Clone, Debug, Default)]
pub struct TargetArgs {
    /// Architecture you care about; `arch_match` compares the trace with it
    #[arg(long = "target-arch", value_name = "GFX", default_value = TARGET_ARCH)]
    name: Option<String>,
}

impl TargetArgs {
    /// Its name.
    pub fn arch(&self) -> Option<String> {
        self.name.clone()
    }
}

/// The smallest share that gets a row.
#[derive(Args, Clone, Copy, Debug)]
pub struct MinShareArgs {
    /// Hide kernels below this share of their stage's GPU time, in percent
    #[arg(long = "min-share", value_name = "PCT", default_value_t = 1.0, value_parser = share)]
    pub percent: f64,
}
