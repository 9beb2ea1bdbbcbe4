//! `report`

mod assemble;
mod files;
mod panels;
mod roofline;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use report::{Column, Report, Table, Unit, Value};

use self::assemble::Run;
use self::files::{Place, Target, Theme};
use super::triage::Request;
use crate::failure::Failure;
use crate::input::InputArgs;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf report 4711_results.db                             # writes 4711_report.html
  rocm-perf report trace.json.gz --to html,pdf,xlsx -o results/
  rocm-perf report ranks/ -o ranks.pdf
  rocm-perf report trace.json.gz --to png,svg --theme dark --scale 3 -o figures/
  rocm-perf report run/ --to md,svg -o notes/                  # Markdown with its pictures beside it

A report holds the run's main figures, what `explain` found, `summary` and `breakdown`, charts, and for traces of a
serving framework what `triage` says. The page works from disk, without a network: its tables sort and filter, its
charts tell numbers under the pointer. Charts are NAME_CHART.svg, .png or .jpeg; the rest is NAME_report.*.")]
pub struct ReportArgs {
    #[command(flatten)]
    input: InputArgs,

    /// What to write, separated by commas [default: what `--out` ends in, else html]
    #[arg(long, value_enum, value_name = "FORMAT", value_delimiter = ',')]
    to: Vec<Target>,

    /// File for one format, or folder for all of them [default: this folder]
    #[arg(short, long, value_name = "PATH")]
    out: Option<PathBuf>,

    /// Title of the report [default: the input's name]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    /// Colours of svg, png and jpeg; the page follows its reader's
    #[arg(long, value_enum, default_value_t, value_name = "THEME")]
    theme: Theme,

    /// Pixels of png and jpeg for each of svg
    #[arg(long, value_name = "N", default_value_t = 2.0, value_parser = scale)]
    scale: f32,

    /// Trace of a graph's capture, or of a run without graphs, that tells where replayed kernels come from
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,

    /// Replace files that are already there
    #[arg(long)]
    force: bool,
}

impl ReportArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let inputs = self.input.paths()?;
        let place = Place::new(&self.to, self.out.as_deref(), &inputs, self.force)?;
        place.check()?;
        let run = Run::read(&self.input, self.mapping.as_ref(), output)?;
        let triage = match run.staged {
            true => {
                let request = Request {
                    mapping: self.mapping.iter().cloned().collect(),
                    rank: self.input.selection.only_rank()?,
                    stage: self.input.selection.only_stage()?,
                    part: self.input.selection.without_rank_and_stage(),
                    ..Request::new(inputs)
                };
                Some(request.answer(output)?)
            }
            false => None,
        };
        let title = self.title.clone().unwrap_or_else(|| place.name.clone());
        let document = run.document(&title, triage);
        let look = files::Look { theme: self.theme, scale: self.scale, rows: output.limit };
        let written = place.write(&document, &look)?;
        output.gate(&document.report)?;
        let columns =
            vec![Column::text("path"), Column::text("format"), Column::int("bytes", Unit::Bytes).key()];
        let mut table = Table::new("files", "Written", columns);
        for (path, target, bytes) in written {
            let path = Value::Text(path.display().to_string());
            table.push(vec![path, Value::Text(target.name()), Value::from(bytes)]);
        }
        let full = document.report;
        let report =
            Report { inputs: full.inputs, health: full.health, tables: vec![table], ..Report::default() };
        output.show(Report { command: "report".into(), ..report })
    }
}

/// How much larger than life an image is.
fn scale(text: &str) -> Result<f32, String> {
    let number = text.parse::<f32>().ok().filter(|scale| (0.25..=8.0).contains(scale));
    number.ok_or_else(|| "a number from 0.25 to 8 is needed".into())
}

impl Target {
    /// Its word on the command line.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string())
    }
}
