//! `compare`

use std::path::PathBuf;

use app::compare::{CompareRequest, Metric};
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::input::RulesArgs;
use crate::output::OutputArgs;
use crate::selection::SelectionArgs;
use crate::values::percentage;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf compare before.db after.db
  rocm-perf compare baseline/ candidate/                       # folders of repeats, ranks or both
  rocm-perf compare --base a1.db a2.db a3.db --candidate b1.db b2.db b3.db
  rocm-perf compare main/ branch/ --fail-on 'total>+3%' --fail-on 'kernel:gemm>+5%'
  rocm-perf compare short.json.gz long.json.gz --value mean

Times of a row are of a whole run, as means over repeats. Intervals come from a bootstrap over runs and calls, verdicts
are corrected for the number of rows; docs/compare.md says how. A gate is WHAT>+N%, where WHAT is total (all kernels),
span, busy, idle, kernel:REGEX, category:NAME or region:REGEX; it fails, with exit code 1, when the lower bound of the
change is above N. A gate that cannot be judged (no interval, no such name, runs that may be of different things) exits
with 1 too.")]
pub struct CompareArgs {
    /// The run before and the run after: files, or folders of ranks or repeats
    #[arg(value_names = ["BASE", "CANDIDATE"], num_args = 2, conflicts_with_all = ["base", "candidate"])]
    runs: Vec<PathBuf>,

    /// Runs before; each path is a run, or a folder of repeats
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "candidate")]
    base: Vec<PathBuf>,

    /// Runs after
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "base")]
    candidate: Vec<PathBuf>,

    /// Smaller changes do not matter
    #[arg(long, value_name = "PCT", default_value_t = 1.0, value_parser = effect)]
    min_effect: f64,

    /// Of the intervals, and of no row being flagged by chance
    #[arg(long, value_name = "PCT", default_value_t = 95.0, value_parser = confidence)]
    confidence: f64,

    /// What two single runs may differ by without any change
    #[arg(long, value_name = "PCT", default_value_t = 5.0, value_parser = effect)]
    single_run_floor: f64,

    /// Compare totals of a run, or means of a call (for runs of different length)
    #[arg(long, alias = "metric", value_enum, default_value_t, value_name = "VALUE")]
    value: MetricName,

    /// Exit with 1 when this grew beyond its limit: 'total>+3%', 'kernel:gemm>+5%'; may be repeated
    #[arg(long, value_name = "GATE")]
    fail_on: Vec<String>,

    /// Let the change itself decide a gate, not its lower bound
    #[arg(long, requires = "fail_on")]
    fail_on_point: bool,

    /// Let gates take runs for comparable that do not show it: unknown GPU, framework or model
    #[arg(long, requires = "fail_on")]
    assume_comparable: bool,

    /// Compare runs that were made differently, or on another GPU, framework or model
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    rules: RulesArgs,

    #[command(flatten)]
    selection: SelectionArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum MetricName {
    #[default]
    Total,
    Mean,
}

impl CompareArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let (base, candidate) = match &self.runs[..] {
            [base, candidate] => (vec![base.clone()], vec![candidate.clone()]),
            _ if !self.base.is_empty() => (self.base.clone(), self.candidate.clone()),
            _ => {
                return Err(Failure::input("no runs given")
                    .with_help("name the run before and the run after: `rocm-perf compare BASE CANDIDATE`"));
            }
        };
        let request = CompareRequest {
            filters: self.selection.filters()?,
            min_effect: self.min_effect,
            confidence: self.confidence,
            single_run_floor: self.single_run_floor,
            metric: match self.value {
                MetricName::Total => Metric::Total,
                MetricName::Mean => Metric::Mean,
            },
            gates: self.fail_on.clone(),
            gate_on_change: self.fail_on_point,
            anyway: self.force,
            assume_comparable: self.assume_comparable,
            rules: self.rules.path(),
            ..CompareRequest::new(base, candidate)
        };
        output.answer(app::compare(&request, output)?)
    }
}

fn effect(text: &str) -> Result<f64, String> {
    percentage(text).filter(|pct| *pct >= 0.0).ok_or_else(|| "a percentage from 0 on is needed".into())
}

fn confidence(text: &str) -> Result<f64, String> {
    let inside = |pct: &f64| (50.0..100.0).contains(pct);
    percentage(text).filter(inside).ok_or_else(|| "a percentage from 50 to below 100 is needed".into())
}
