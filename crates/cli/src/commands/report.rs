//! `report`

use std::path::PathBuf;

use app::report::{Look, ReportRequest, Target, Theme};
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::input::{InputArgs, MappingArgs, TargetArgs};
use crate::output::OutputArgs;
use crate::values::choices;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf report 4711_results.db                             # writes 4711_report.html
  rocm-perf report trace.json.gz --to html,pdf,xlsx -o results/
  rocm-perf report ranks/ -o ranks.pdf
  rocm-perf report trace.json.gz --to png,svg --theme dark --scale 3 -o figures/
  rocm-perf report run/ --to md,svg -o notes/                  # Markdown with charts beside it

A report has the run's main figures, the findings of `explain`, `summary` and
`breakdown`, charts, and for serving traces the tables of `triage`. The html
page works offline: you can sort and filter its tables and hover over its
charts. Charts are written to NAME_CHART.svg, .png or .jpeg, the rest to
NAME_report.*.")]
pub struct ReportArgs {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    target: TargetArgs,

    /// Formats, separated by commas [default: the extension of `--out`, else html]
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', value_parser = targets())]
    to: Vec<Target>,

    /// File for one format, or folder for several [default: current folder]
    #[arg(short, long, value_name = "PATH")]
    out: Option<PathBuf>,

    /// Title of the report [default: the input's name]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    /// Colours of svg, png and jpeg; html follows the browser's
    #[arg(long, value_enum, default_value_t, value_name = "THEME")]
    theme: ThemeName,

    /// Scale of png and jpeg relative to svg
    #[arg(long, value_name = "N", default_value_t = 2.0, value_parser = scale)]
    scale: f32,

    #[command(flatten)]
    mapping: MappingArgs,

    /// Overwrite existing files
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ThemeName {
    #[default]
    Light,
    Dark,
}

impl ReportArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let theme = match self.theme {
            ThemeName::Light => Theme::Light,
            ThemeName::Dark => Theme::Dark,
        };
        let request = ReportRequest {
            input: self.input.request()?,
            target_arch: self.target.arch(),
            to: self.to.clone(),
            out: self.out.clone(),
            title: self.title.clone(),
            look: Look { theme, scale: self.scale, rows: output.limit },
            mapping: self.mapping.path(),
            replace: self.force,
        };
        let written = app::report(&request, output)?;
        output.gate(&written.report)?;
        output.show(written.files)
    }
}

/// The formats, as the application lists them.
fn targets() -> impl TypedValueParser<Value = Target> {
    choices(
        Target::ALL.iter().map(|(target, name, other, what)| {
            (PossibleValue::new(*name).aliases(*other).help(*what), *target)
        }),
    )
}

/// The scale of an image.
fn scale(text: &str) -> Result<f32, String> {
    let number = text.parse::<f32>().ok().filter(|scale| (0.25..=8.0).contains(scale));
    number.ok_or_else(|| "expected a number from 0.25 to 8".into())
}
