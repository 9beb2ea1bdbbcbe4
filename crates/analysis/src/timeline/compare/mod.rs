//! `compare`: what got slower or faster from one run to another, beyond noise, and what explains it.
//!
//! ```text
//! runs ─► measure (series of calls) ─► match names ─► bootstrap + drift ─► correct for many rows ─► verdicts
//!                └─► time of each GPU, shared out ─► waterfall
//! ```
//!
//! Cost: one grouping of each table, one sweep of each GPU, and a fixed number of draws per row: after
//! reading, the cost does not depend on the number of calls.

mod blocks;
pub mod comparability;
mod drift;
mod gates;
pub mod ground;
mod matching;
mod measure;
mod present;
mod repeats;
mod rows;
mod series;
pub mod structure;
mod tables;
mod verdict;
mod waterfall;

use report::Report;
use trace::Trace;

use crate::base;
use model::classify::Classifier;

pub use blocks::{BLOCKING, BlockedRun, Blocks};
pub use drift::Drift;
pub use gates::{Gate, GateError, GateOptions, GateOutcome, GateStatus, Unjudged};
pub use present::present;
pub use repeats::{Uneven, repeats};
pub use rows::{ComparedRow, ComparedRows, SideFigures};
pub use verdict::{Verdict, holm};
pub use waterfall::SpanCause;

use ground::{CommonGround, Ground};
use measure::Run;
use rows::CALLS_RATIO;
use structure::{StructuralRun, Structure};

/// The figure compared for a kernel, a category or a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// The time of all its calls in a run.
    #[default]
    Total,
    /// The mean time of a call, for runs of different length.
    Mean,
}

/// Options of `compare`.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareOptions {
    /// Smaller changes do not matter, in percent.
    pub min_effect_pct: f64,
    /// Confidence level of the intervals, and of having no false row.
    pub confidence: f64,
    /// How much two single runs may differ without any change, in percent.
    pub single_run_floor_pct: f64,
    /// Totals or means.
    pub metric: Metric,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            min_effect_pct: 1.0,
            confidence: 0.95,
            single_run_floor_pct: 5.0,
            metric: Metric::Total,
            seed: 1,
        }
    }
}

/// Compares runs; each trace is one run with all its ranks.
pub fn compare(base: &[Trace], candidate: &[Trace], options: &CompareOptions) -> Report {
    let classifier = Classifier::builtin();
    let measure = |traces: &[Trace]| -> Vec<MeasuredRun> {
        traces.iter().map(|trace| MeasuredRun::of(trace, &classifier)).collect()
    };
    present(&compute(measure(base), measure(candidate), options))
}

/// What a comparison keeps of a run: small, whatever the size of its trace.
pub struct MeasuredRun {
    run: Run,
    /// Inputs and health of the run.
    report: Report,
    ground: Ground,
    /// Its call tree, if places are compared.
    structure: Option<StructuralRun>,
}

impl MeasuredRun {
    /// Measures a run: a trace with all its ranks.
    pub fn of(trace: &Trace, classifier: &Classifier) -> Self {
        Self {
            ground: Ground::of(trace),
            run: Run::of(trace, classifier),
            report: base::report("compare", trace),
            structure: None,
        }
    }

    /// Whether the run has ops, whose places are better keys than kernel names.
    pub fn has_ops(&self) -> bool {
        self.run.regions.keys().any(|(category, _)| category == "cpu_op")
    }

    /// Adds the run's places: modules and ops.
    pub fn with_structure(self, structure: StructuralRun) -> Self {
        Self { structure: Some(structure), ..self }
    }
}

/// The change of everything from the base to the candidate.
pub struct Comparison {
    /// Every compared row with its verdict.
    pub rows: ComparedRows,
    /// What explains the change of the span, largest first.
    pub span_causes: Vec<SpanCause>,
    /// What the traces show about whether the two sides can be compared.
    pub ground: CommonGround,
    /// The runs place by place, if all of them have call trees.
    pub structure: Option<Structure>,
    /// Whether places were requested instead of kernels.
    pub by_places: bool,
    /// Outcomes of the gates: undecidable ones first, then failures.
    pub gates: Vec<GateOutcome>,
    /// Whether there is one run on each side, which says nothing about noise between runs.
    pub is_of_single_runs: bool,
    /// Ratio of kernels launched, candidate to base, if totals may be of different work because of it.
    pub launch_ratio: Option<f64>,
    options: CompareOptions,
    /// Inputs and health of all runs.
    read: Report,
}

/// What is kept of the runs on a side.
#[derive(Default)]
struct Side {
    runs: Vec<Run>,
    grounds: Vec<Ground>,
    structures: Vec<StructuralRun>,
}

/// Compares runs, at least one on each side.
pub fn compute(base: Vec<MeasuredRun>, candidate: Vec<MeasuredRun>, options: &CompareOptions) -> Comparison {
    let mut read = Report { command: "compare".into(), ..Report::default() };
    let mut split = |side: Vec<MeasuredRun>| -> Side {
        let mut all = Side::default();
        for measured in side {
            read.inputs.extend(measured.report.inputs);
            read.health.extend(measured.report.health);
            all.runs.push(measured.run);
            all.grounds.push(measured.ground);
            all.structures.extend(measured.structure);
        }
        all
    };
    let (base, candidate) = (split(base), split(candidate));
    let (before, after) = (base.runs, candidate.runs);
    let has_both = !before.is_empty() && !after.is_empty();
    let all_told = base.structures.len() == before.len() && candidate.structures.len() == after.len();
    let structure = (has_both && all_told)
        .then(|| structure::compute(&base.structures, &candidate.structures, (&before, &after), options));
    let same_places = structure.as_ref().map_or(&[][..], |structure| &structure.kernel_pairs);
    let rows = match has_both {
        true => ComparedRows::of(&before, &after, options, same_places),
        false => ComparedRows::default(),
    };
    Comparison {
        span_causes: waterfall::causes(&before, &after, &rows),
        rows,
        ground: CommonGround::of(&base.grounds, &candidate.grounds),
        structure,
        by_places: false,
        gates: Vec::new(),
        is_of_single_runs: before.len() == 1 && after.len() == 1,
        launch_ratio: launch_ratio(&before, &after).filter(|_| options.metric == Metric::Total),
        options: options.clone(),
        read,
    }
}

impl Comparison {
    /// Time of kernels that only one side has, in percent of its kernels; the larger of both sides.
    pub fn unpaired_pct(&self) -> f64 {
        let share = |side: fn(&ComparedRow) -> (Option<SideFigures>, Option<SideFigures>)| {
            let total = |alone: bool| -> i64 {
                let rows = self.rows.kernels.iter().map(side);
                let wanted = rows.filter(|(_, other)| !alone || other.is_none());
                wanted.filter_map(|(own, _)| own).map(|own| own.total).sum()
            };
            stats::percent(total(true), total(false).max(1))
        };
        share(|row| (row.base, row.candidate)).max(share(|row| (row.candidate, row.base)))
    }

    /// Judges gates on this comparison.
    pub fn judge(&mut self, gates: &[Gate], options: &GateOptions) {
        self.gates = gates::outcomes(&self.rows, gates, self.options.confidence, options, self.ground.gap());
    }
}

/// Ratio of kernels launched, candidate to base, if the numbers differ.
fn launch_ratio(base: &[Run], candidate: &[Run]) -> Option<f64> {
    let calls = |runs: &[Run]| {
        let all: usize = runs.iter().map(|run| run.kernel_total().calls).sum();
        all as f64 / runs.len().max(1) as f64
    };
    let ratio = calls(candidate) / calls(base);
    (ratio.is_finite() && !(1.0 / CALLS_RATIO..=CALLS_RATIO).contains(&ratio)).then_some(ratio)
}
