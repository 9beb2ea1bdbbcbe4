//! `presets`

use std::path::PathBuf;

use app::presets::PresetRequest;
use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf presets list
  rocm-perf presets show compute --arch gfx942
  rocm-perf presets show memory-bound --arch gfx950 --format json
  rocm-perf presets copy memory my-memory.toml     # change it, then: rocm-perf collect --preset my-memory.toml -- ./app

A preset says what to record; the passes, counters and options that the GPU and the profiler at hand need are worked out
from it. `show` prints them for one architecture without running anything.")]
pub struct PresetsArgs {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// List all presets
    #[command(after_help = "Example:\n  rocm-perf presets list")]
    List,
    /// Show what a preset runs: commands, passes, counters with replacements, cost, files
    #[command(after_help = "Example:\n  rocm-perf presets show compute --arch gfx942")]
    Show(ShowArgs),
    /// Write a preset's file, to be changed
    #[command(after_help = "Example:\n  rocm-perf presets copy memory my-memory.toml")]
    Copy(CopyArgs),
}

#[derive(Args, Debug)]
struct ShowArgs {
    /// Name of a preset, or a TOML file
    #[arg(value_name = "PRESET")]
    preset: String,

    /// Architecture [default: that of the first GPU here]
    #[arg(long, value_name = "GFX")]
    arch: Option<String>,

    /// Panels, tables or metrics of the preset `panels` [default: all]
    #[arg(short, long, value_name = "BLOCK", value_delimiter = ',')]
    block: Vec<String>,

    /// ROCm release whose options are shown [default: that of the profiler here, else 7.0]
    #[arg(long, value_name = "VERSION")]
    rocm: Option<String>,

    /// A run of its own without counters, for true timings
    #[arg(long)]
    timing: bool,
}

#[derive(Args, Debug)]
struct CopyArgs {
    /// Name of a preset
    #[arg(value_name = "PRESET")]
    preset: String,

    /// The file [default: PRESET.toml]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

impl PresetsArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        match &self.action {
            None | Some(Action::List) => output.show(app::presets()),
            Some(Action::Show(args)) => output.show(app::preset(&args.request())?),
            Some(Action::Copy(args)) => {
                let path = app::copy_preset(&args.preset, args.file.as_deref())?;
                if !output.quiet {
                    let path = path.display();
                    eprintln!("wrote `{path}`: run it with `rocm-perf collect --preset {path} -- APP`");
                }
                Ok(())
            }
        }
    }
}

impl ShowArgs {
    fn request(&self) -> PresetRequest {
        PresetRequest {
            preset: self.preset.clone(),
            arch: self.arch.clone(),
            blocks: self.block.clone(),
            rocm: self.rocm.clone(),
            timing: self.timing,
        }
    }
}
