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
  rocm-perf presets copy memory my-memory.toml     # edit it, then:
  rocm-perf collect --preset my-memory.toml -- ./app

A preset says what to record. rocm-perf derives the passes, counters and
options for your GPU and profiler from it; `show` prints them without running
anything.")]
pub struct PresetsArgs {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// List all presets
    #[command(after_help = "Example:\n  rocm-perf presets list")]
    List,
    /// Show what a preset runs: commands, passes, counters, cost, files
    #[command(after_help = "Example:\n  rocm-perf presets show compute --arch gfx942")]
    Show(ShowArgs),
    /// Copy a preset to a file that you can edit
    #[command(after_help = "Example:\n  rocm-perf presets copy memory my-memory.toml")]
    Copy(CopyArgs),
}

#[derive(Args, Debug)]
struct ShowArgs {
    /// Preset name or TOML file
    #[arg(value_name = "PRESET")]
    preset: String,

    /// Architecture [default: the first GPU of this machine]
    #[arg(long, value_name = "GFX")]
    arch: Option<String>,

    /// Panels, tables or metrics of the preset `panels` [default: all]
    #[arg(short, long, value_name = "BLOCK", value_delimiter = ',')]
    block: Vec<String>,

    /// ROCm release to show options for [default: the installed profiler's, else 7.0]
    #[arg(long, value_name = "VERSION")]
    rocm: Option<String>,

    /// Add a run without counters, for undisturbed timings
    #[arg(long)]
    timing: bool,
}

#[derive(Args, Debug)]
struct CopyArgs {
    /// Preset name
    #[arg(value_name = "PRESET")]
    preset: String,

    /// File to write [default: PRESET.toml]
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
