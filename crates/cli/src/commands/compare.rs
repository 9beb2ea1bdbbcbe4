//! `compare`

use std::path::PathBuf;

use app::compare::{By, CompareRequest, Metric};
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::input::{ClusterArgs, RulesArgs};
use crate::output::OutputArgs;
use crate::selection::SelectionArgs;
use crate::store::{TrialArgs, attach};
use crate::values::percentage;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf compare before.db after.db
  rocm-perf compare baseline/ candidate/    # folders of repeats or ranks
  rocm-perf compare --base a1.db a2.db a3.db --candidate b1.db b2.db b3.db
  rocm-perf compare main/ branch/ --fail-on 'total>+3%' --fail-on 'kernel:gemm>+5%'
  rocm-perf compare short.json.gz long.json.gz --value mean
  rocm-perf compare h100.json.gz mi300.json.gz --by ops

Times are totals of a run, averaged over repeats. Intervals come from a
bootstrap over runs and calls, and verdicts are corrected for the number of
rows; docs/compare.md explains how. A gate is WHAT>+N%, where WHAT is total
(all kernels), span, busy, idle, kernel:REGEX, category:NAME or region:REGEX.
It fails with exit code 1 if the lower bound of the change is above N, and
also if it cannot be judged: no interval, no such name, or runs that may not
be comparable. --by ops matches modules and ops by their call trees, across
versions and vendors: what was replaced, added or removed, and how much of
the difference each place explains.")]
pub struct CompareArgs {
    /// The runs to compare: files, or folders of ranks or repeats
    #[arg(value_names = ["BASE", "CANDIDATE"], num_args = 2, conflicts_with_all = ["base", "candidate"])]
    runs: Vec<PathBuf>,

    /// Base runs; each path is a run or a folder of repeats
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "candidate")]
    base: Vec<PathBuf>,

    /// Candidate runs, in the same notation
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "base")]
    candidate: Vec<PathBuf>,

    /// Ignore smaller changes
    #[arg(long, value_name = "PCT", default_value_t = 1.0, value_parser = effect)]
    min_effect: f64,

    /// Confidence level of the intervals, corrected for the number of rows
    #[arg(long, value_name = "PCT", default_value_t = 95.0, value_parser = confidence)]
    confidence: f64,

    /// With one run on each side: how much two runs differ without any change
    #[arg(long, value_name = "PCT", default_value_t = 5.0, value_parser = effect)]
    single_run_floor: f64,

    /// Compare totals per run, or means per call (for runs of different length)
    #[arg(long, alias = "metric", value_enum, default_value_t, value_name = "VALUE")]
    value: MetricName,

    /// Match kernels by name, or modules and ops by their call trees
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    by: ByName,

    /// Exit with 1 if this grew by more: 'total>+3%', 'kernel:gemm>+5%'; may be repeated
    #[arg(long, value_name = "GATE")]
    fail_on: Vec<String>,

    /// Judge gates by the change itself, not by its lower bound
    #[arg(long, requires = "fail_on")]
    fail_on_point: bool,

    /// Let gates judge runs with unknown GPU, framework or model
    #[arg(long, requires = "fail_on")]
    assume_comparable: bool,

    /// Compare runs even if they differ in GPU, framework, model or how they were recorded
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    cluster: ClusterArgs,

    #[command(flatten)]
    rules: RulesArgs,

    #[command(flatten)]
    selection: SelectionArgs,

    #[command(flatten)]
    trial: TrialArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum MetricName {
    #[default]
    Total,
    Mean,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ByName {
    #[default]
    Kernels,
    Ops,
}

impl CompareArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let target = self.trial.target("compare")?;
        let (base, candidate) = match &self.runs[..] {
            [base, candidate] => (vec![base.clone()], vec![candidate.clone()]),
            _ if !self.base.is_empty() => (self.base.clone(), self.candidate.clone()),
            _ => {
                return Err(Failure::input("no runs given")
                    .with_help("name two runs: `rocm-perf compare BASE CANDIDATE`"));
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
            by: match self.by {
                ByName::Kernels => By::Kernels,
                ByName::Ops => By::Ops,
            },
            gates: self.fail_on.clone(),
            gate_on_change: self.fail_on_point,
            anyway: self.force,
            assume_comparable: self.assume_comparable,
            rules: self.rules.path(),
            cluster: self.cluster.url(),
            ..CompareRequest::new(base, candidate)
        };
        let mut answer = app::compare(&request, output)?;
        attach(target.as_ref(), &mut answer.report, &[], output)?;
        output.answer(answer)
    }
}

fn effect(text: &str) -> Result<f64, String> {
    percentage(text).filter(|pct| *pct >= 0.0).ok_or_else(|| "expected a percentage of at least 0".into())
}

fn confidence(text: &str) -> Result<f64, String> {
    let inside = |pct: &f64| (50.0..100.0).contains(pct);
    percentage(text).filter(inside).ok_or_else(|| "expected a percentage from 50 to below 100".into())
}
