//! `compare`: what got slower or faster from one run to another, beyond noise, and what explains it.
//!
//! ```text
//! runs ─► measure (series of calls) ─► match names ─► bootstrap + drift ─► correct for many rows ─► verdicts
//!                └─► time of each GPU, shared out ─► waterfall
//! ```
//!
//! Costs: one grouping of each table, one sweep of each GPU, and a fixed number of draws for each row: the cost
//! after reading does not depend on the number of calls.

mod bootstrap;
pub mod comparability;
mod drift;
mod gates;
mod matching;
mod measure;
mod rows;
mod series;
mod student;
mod tables;
mod verdict;
mod waterfall;

use report::{HealthCheck, HealthStatus, Report};
use trace::Trace;

use crate::base;
use crate::classify::Classifier;

pub use gates::{Gate, GateError, GateFailure};
pub use verdict::Verdict;

use measure::Run;
use rows::{Rows, percent};

/// What is compared of a kernel, a category or a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// The time of all its calls in a run.
    #[default]
    Total,
    /// The mean time of a call, for runs of different length.
    Mean,
}

/// What `compare` is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareOptions {
    /// Smaller changes do not matter, in percent.
    pub min_effect_pct: f64,
    /// Of the intervals, and of no row being false.
    pub confidence: f64,
    /// What two single runs may differ by without any change, in percent.
    pub single_run_floor_pct: f64,
    /// Totals or means.
    pub metric: Metric,
    /// Number that the draws follow from.
    pub seed: u64,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            min_effect_pct: 1.0,
            confidence: 0.95,
            single_run_floor_pct: 3.0,
            metric: Metric::Total,
            seed: 1,
        }
    }
}

/// A comparison: its report, and what gates look at.
pub struct Comparison {
    /// All tables.
    pub report: Report,
    rows: Rows,
    confidence: f64,
}

/// Compares runs; every trace is one run, with all its ranks.
pub fn compare(base: &[Trace], candidate: &[Trace], options: &CompareOptions) -> Report {
    Comparison::of(base, candidate, &Classifier::builtin(), options).report
}

impl Comparison {
    /// Compares runs, with categories by these rules.
    pub fn of(
        base: &[Trace],
        candidate: &[Trace],
        classifier: &Classifier,
        options: &CompareOptions,
    ) -> Self {
        let measure = |traces: &[Trace]| -> Vec<Run> {
            traces.iter().map(|trace| Run::of(trace, classifier)).collect()
        };
        let (before, after) = (measure(base), measure(candidate));
        let rows = if before.is_empty() || after.is_empty() {
            Rows::default()
        } else {
            Rows::of(&before, &after, options)
        };
        let mut report = start(base, candidate);
        report.tables = vec![
            tables::kernels(&rows),
            tables::end_to_end(&rows),
            waterfall::table(&before, &after, &rows),
            tables::categories(&rows),
            tables::regions(&rows),
        ];
        report.tables.retain(|table| !table.rows.is_empty());
        caveats(&mut report, [&before, &after], &rows, options);
        Self { report, rows, confidence: options.confidence }
    }

    /// The gates that failed. A gate fails when the lower bound of the change is above its limit, or with
    /// `on_point` the change itself.
    pub fn failures(&self, gates: &[Gate], on_point: bool) -> Result<Vec<GateFailure>, GateError> {
        gates::failures(&self.rows, gates, self.confidence, on_point)
    }
}

/// An empty report with the inputs and health of both sides.
fn start(base: &[Trace], candidate: &[Trace]) -> Report {
    let mut report = Report { command: "compare".into(), ..Report::default() };
    for trace in base.iter().chain(candidate) {
        let one = base::report("compare", trace);
        report.inputs.extend(one.inputs);
        report.health.extend(one.health);
    }
    report
}

/// More calls on one side than this ratio is remarked on.
const CALLS_RATIO: f64 = 1.02;

fn caveats(report: &mut Report, sides: [&[Run]; 2], rows: &Rows, options: &CompareOptions) {
    let [base, candidate] = sides;
    let mut warn = |id: &str, value: Option<f64>, message: String| {
        let status = HealthStatus::Warn;
        report.health.push(HealthCheck { id: id.into(), status, value, message });
    };
    if base.len() == 1 && candidate.len() == 1 {
        let floor = options.single_run_floor_pct;
        warn(
            "single_run",
            Some(1.0),
            format!(
                "one run on each side: noise between runs is unknown, so a change counts from {floor} % on; \
                 repeats (`--base A B C --candidate D E F`) tell smaller ones"
            ),
        );
    }
    let calls = |runs: &[Run]| {
        let all: usize = runs.iter().map(|run| run.kernel_total().calls).sum();
        all as f64 / runs.len().max(1) as f64
    };
    let ratio = calls(candidate) / calls(base);
    if options.metric == Metric::Total
        && ratio.is_finite()
        && !(1.0 / CALLS_RATIO..=CALLS_RATIO).contains(&ratio)
    {
        warn(
            "calls",
            Some(ratio),
            format!(
                "the candidate launched {ratio:.2} times as many kernels: totals may be of different work \
                 (`--metric mean` compares single calls)"
            ),
        );
    }
    if let Some(drift) = rows.drift.as_ref().filter(|drift| drift.real) {
        report.notes.push(format!(
            "the middle kernel changed by {:+.1} %, more than runs differ: clocks, power or the machine may differ",
            percent(drift.shift.exp())
        ));
    }
}
