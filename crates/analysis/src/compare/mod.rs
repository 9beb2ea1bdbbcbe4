//! `compare`: what got slower or faster from one run to another, beyond noise, and what explains it.
//!
//! ```text
//! runs ─► measure (series of calls) ─► match names ─► bootstrap + drift ─► correct for many rows ─► verdicts
//!                └─► time of each GPU, shared out ─► waterfall
//! ```
//!
//! Costs: one grouping of each table, one sweep of each GPU, and a fixed number of draws for each row: the cost
//! after reading does not depend on the number of calls.

pub mod comparability;
mod drift;
mod gates;
pub mod ground;
mod matching;
mod measure;
mod repeats;
mod rows;
mod series;
mod tables;
mod verdict;
mod waterfall;

use report::{Finding, HealthCheck, HealthStatus, Note, Remedy, Report, Severity};
use trace::Trace;

use crate::base;
use model::classify::Classifier;

pub use gates::{Gate, GateError, GateOptions, GateOutcome, GateStatus, Unjudged};
pub use repeats::{Uneven, repeats};
pub use verdict::{Verdict, holm};

use ground::{CommonGround, Ground, Repeated};
use measure::Run;
use rows::{CALLS_RATIO, Rows, percent};

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
            single_run_floor_pct: 5.0,
            metric: Metric::Total,
            seed: 1,
        }
    }
}

/// Compares runs; every trace is one run, with all its ranks.
pub fn compare(base: &[Trace], candidate: &[Trace], options: &CompareOptions) -> Report {
    let classifier = Classifier::builtin();
    let measure = |traces: &[Trace]| -> Vec<MeasuredRun> {
        traces.iter().map(|trace| MeasuredRun::of(trace, &classifier)).collect()
    };
    Comparison::of(measure(base), measure(candidate), options).report
}

/// What a comparison keeps of a run, small whatever the size of its trace.
pub struct MeasuredRun {
    run: Run,
    report: Report,
    ground: Ground,
}

impl MeasuredRun {
    /// Measures a run: a trace with all its ranks.
    pub fn of(trace: &Trace, classifier: &Classifier) -> Self {
        Self {
            ground: Ground::of(trace),
            run: Run::of(trace, classifier),
            report: base::report("compare", trace),
        }
    }
}

/// A comparison: its report, and what gates look at.
pub struct Comparison {
    /// All tables.
    pub report: Report,
    /// What the traces tell of whether the two sides can be compared.
    pub ground: CommonGround,
    rows: Rows,
    confidence: f64,
}

impl Comparison {
    /// Compares runs, at least one on each side.
    pub fn of(base: Vec<MeasuredRun>, candidate: Vec<MeasuredRun>, options: &CompareOptions) -> Self {
        let mut report = Report { command: "compare".into(), ..Report::default() };
        let mut split = |side: Vec<MeasuredRun>| -> (Vec<Run>, Vec<Ground>) {
            let runs = side.into_iter().map(|measured| {
                report.inputs.extend(measured.report.inputs);
                report.health.extend(measured.report.health);
                (measured.run, measured.ground)
            });
            runs.unzip()
        };
        let ((before, base_ground), (after, candidate_ground)) = (split(base), split(candidate));
        let ground = CommonGround::of(&base_ground, &candidate_ground);
        let rows = match (before.is_empty(), after.is_empty()) {
            (false, false) => Rows::of(&before, &after, options),
            _ => Rows::default(),
        };
        report.tables = vec![
            tables::kernels(&rows),
            tables::end_to_end(&rows),
            waterfall::table(&before, &after, &rows),
            tables::categories(&rows),
            tables::regions(&rows),
        ];
        report.tables.retain(|table| !table.rows.is_empty());
        report.tables.push(tables::comparability(&ground));
        let differences = ground.differences();
        if !differences.is_empty() {
            let message = format!("the runs are of different things: {}", differences.join(", "));
            warn(&mut report, "different_ground", None, message);
        }
        say_first(&mut report, &ground);
        caveats(&mut report, [&before, &after], &rows, options);
        Self { report, ground, rows, confidence: options.confidence }
    }

    /// Looks at gates and puts them first into the report.
    pub fn check(&mut self, gates: &[Gate], options: &GateOptions) -> Vec<GateOutcome> {
        let outcomes = gates::outcomes(&self.rows, gates, self.confidence, options, self.ground.gap());
        if !outcomes.is_empty() {
            self.report.tables.insert(0, gates::table(&outcomes));
        }
        let mut first = Vec::new();
        for outcome in &outcomes {
            let GateStatus::CannotJudge(why) = &outcome.status else { continue };
            first.push(Finding {
                id: "gate".into(),
                key: outcome.gate.clone(),
                severity: Severity::High,
                title: outcome.to_string(),
                recommendation: why.advice().into(),
                ..Finding::default()
            });
        }
        self.report.findings.splice(0..0, first);
        outcomes
    }
}

/// Says before all tables whether the runs can be compared.
fn say_first(report: &mut Report, ground: &CommonGround) {
    report.findings_first = true;
    let mut say = |key: &str, severity, title: String, recommendation: &str| {
        report.findings.push(Finding {
            id: "comparability".into(),
            key: key.into(),
            severity,
            title,
            recommendation: recommendation.into(),
            ..Finding::default()
        });
    };
    match ground.repeated {
        Some(Repeated::Content) => {
            let title = "the same recording is on both sides: nothing can have changed".into();
            say("same_recording", Severity::High, title, "give two recordings");
        }
        Some(Repeated::Recording) => {
            let title = "a recording of the base is in the candidate too, with other rows".into();
            say(
                "same_recording",
                Severity::Medium,
                title,
                "give two recordings, or two parts of one on purpose",
            );
        }
        None => {}
    }
    let differences = ground.differences();
    if !differences.is_empty() {
        let title = format!("not comparable: different {}", differences.join(", "));
        say("different", Severity::High, title, "read a change as one of all these together");
    } else if let Some(gap) = ground.gap().filter(|_| ground.repeated != Some(Repeated::Content)) {
        say("unknown", Severity::Medium, format!("comparable or not is unknown: {gap}"), "");
    }
}

fn warn(report: &mut Report, id: &str, value: Option<f64>, message: String) {
    report.health.push(HealthCheck { id: id.into(), status: HealthStatus::Warn, value, message });
}

fn caveats(report: &mut Report, sides: [&[Run]; 2], rows: &Rows, options: &CompareOptions) {
    let [base, candidate] = sides;
    if base.len() == 1 && candidate.len() == 1 {
        let floor = options.single_run_floor_pct;
        warn(
            report,
            "single_run",
            Some(1.0),
            format!(
                "one run on each side: noise between runs is unknown, so a change counts from {floor} % on"
            ),
        );
        report.notes.push(Note::new("several runs of each side would show smaller changes", Remedy::Repeats));
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
            report,
            "calls",
            Some(ratio),
            format!(
                "the candidate launched {ratio:.2} times as many kernels: totals may be of different work"
            ),
        );
        let text = "the runs launched different numbers of kernels, so totals may be of different work";
        report.notes.push(Note::new(text, Remedy::CompareCalls));
    }
    if let Some(drift) = rows.drift.as_ref().filter(|drift| drift.real) {
        report.notes.push(format!(
            "the middle kernel changed by {:+.1} %, more than runs differ: clocks, power or the machine may differ",
            percent(drift.shift.exp())
        ).into());
    }
}
