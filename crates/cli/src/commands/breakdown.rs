//! `breakdown`

use std::path::PathBuf;

use analysis::BreakdownOptions;
use clap::Args;
use model::classify::{Classes, Classifier};
use model::stages::{Stage, Stages};
use trace::{Needs, RowRef};

use crate::failure::Failure;
use crate::input::{InputArgs, one_run};
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf breakdown trace.json.gz
  rocm-perf breakdown ranks/ --by-rank --table categories --format csv
  rocm-perf breakdown trace.json.gz --linked --format json
  rocm-perf breakdown 4711_results.db --rules my_kernels.toml

Timeline: compute + exposed communication + exposed memcpy + idle = total, for each rank and GPU; communication is
exposed where no computation runs, a copy where nothing else does. `share` in categories is of the stage's GPU time.
A rules file has [[rule]] entries with `pattern`, `category` and `backend`; they are tried before the built-in ones.")]
pub struct BreakdownArgs {
    #[command(flatten)]
    input: InputArgs,

    /// Count only GPU work whose launch was recorded, as TraceLens does
    #[arg(long)]
    linked: bool,

    /// Categories of each rank
    #[arg(long)]
    by_rank: bool,

    /// Rules for kernel names (TOML), tried before the built-in ones
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
}

impl BreakdownArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let classifier = classifier(self.rules.as_ref())?;
        let needs = Needs { memory_allocations: false, ..Needs::summary() };
        let trace = self.input.read_classified(&needs, output, || classifier.clone())?;
        one_run(&trace, "breakdown")?;
        let classes = Classes::of(&trace, &classifier);
        let stages = Stages::with(&trace, None, &self.input.selection.stage_patterns());
        let stage_of = |row: RowRef| stages.stage(row).name();
        let staged = stages.present().iter().any(|&stage| stage != Stage::Other);
        let options = BreakdownOptions {
            linked: self.linked,
            by_rank: self.by_rank,
            stage_of: staged.then_some(&stage_of as &dyn Fn(RowRef) -> &'static str),
        };
        output.show(analysis::breakdown(&trace, &classes, &options))
    }
}

/// The built-in rules, with those of a file before them.
pub fn classifier(rules: Option<&PathBuf>) -> Result<Classifier, Failure> {
    let Some(path) = rules else { return Ok(Classifier::builtin()) };
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::input(format!("cannot read the rules in `{}`: {error}", path.display())))?;
    Classifier::with_rules(&path.display().to_string(), &text)
        .map_err(|error| Failure::input(error.to_string()))
}
