//! `critical-path`: what determines the run time, what has slack, and what a faster kernel or call would save.
//!
//! ```text
//! kernels, copies ─► works ─┐             ┌─► walk: last arrivals from the end back ─► path, bounds
//! calls, events ─► replay ──┼─► graph ────┼─► latest times ─► slack
//! threads ─► host ──────────┤             └─► propagation with other times ─► what_if, ranking
//! collectives ─► meetings ──┘
//! ```
//!
//! Points are starts and ends of GPU work, launches and blocking calls; everything else a thread does lies
//! between them. Each point is bound by the dependency that arrives last. The minimum durations of the others
//! are learnt from the run (`minimum_times`). Cost: a sort of the launches, then constant work per
//! dependency; about 120 bytes per dispatch on top of the trace.

mod build;
mod clocks;
mod graph;
mod host;
mod minimum_times;
mod not_recorded;
mod op;
mod order;
mod part;
mod present;
mod rank;
mod replay;
mod result;
mod rules;
mod savings;
mod scenario;
mod track;
mod unexplained;
mod walk;
mod what_if;

use report::{HealthCheck, HealthStatus, Note};
use thiserror::Error;
use trace::{Needs, Trace};

use self::build::{GraphInputs, Parts, Run};
use self::graph::{Dependency, Provenance};
use self::rank::{Names, Slack};
use self::walk::Walked;
use self::what_if::Factors;
use model::classify::{Classes, Classifier};

pub use self::present::{PathRows, present};
pub use self::result::{BoundTime, CriticalPath, DependencyTime, PlaceTime, Prediction, WorkSlack};
pub use self::scenario::{Engine, Scenario};
pub use self::track::{PathStep, PathSteps, draw};
pub use self::walk::{Bound, Label, Nameless};
pub use self::what_if::{WhatIf, WhatIfError};

/// Stands for a missing row.
const NONE: u32 = u32::MAX;

/// Options of `critical-path`.
#[derive(Clone, Debug, Default)]
pub struct CriticalPathOptions {
    /// What-if questions, each answered separately and then all together.
    pub what_if: Vec<WhatIf>,
    /// Use dependencies that only times suggest.
    pub infer: bool,
    /// What each finding would change, by key, for questions about findings.
    pub findings: Vec<(String, Scenario)>,
}

/// A trace without a path, or a question that cannot be answered.
#[derive(Debug, Error)]
pub enum CriticalPathError {
    /// The trace has nothing to follow.
    #[error("there is no critical path: the trace has no GPU work and no calls that launch or wait for it")]
    Empty,
    /// Times on several clocks that cannot be compared.
    #[error(
        "cannot align the {} clocks of these recordings ({}): each host counts time from its own boot, and the recordings share no collective",
        .recordings.len(), .recordings.join(", ")
    )]
    SeveralClocks {
        /// One recording per clock.
        recordings: Vec<String>,
    },
    /// A bad question.
    #[error(transparent)]
    WhatIf(#[from] WhatIfError),
}

/// What to read from a trace for the critical path.
pub fn critical_path_needs() -> Needs {
    Needs {
        kernels: true,
        memory_copies: true,
        regions: true,
        syncs: true,
        collectives: true,
        links: true,
        forward_backward: true,
        ..Needs::nothing()
    }
}

/// The critical path of a run that was read with [`critical_path_needs`].
pub fn compute(
    trace: &Trace,
    classifier: &Classifier,
    options: &CriticalPathOptions,
) -> Result<CriticalPath, CriticalPathError> {
    let classes = Classes::of(trace, classifier);
    let parts = Parts::of(GraphInputs::of_trace(trace, &classes));
    compute_from(parts, trace, &classes, options).map(|(path, _)| path)
}

/// A run whose graph only needs to be joined, which is mostly up to one thread: others can do something else
/// meanwhile.
pub struct Prepared<'a> {
    parts: Option<Parts<'a>>,
    run: &'a model::Run<'a>,
}

/// The part of [`compute`] that keeps all threads busy, for a run that is classified already.
pub fn prepare<'a>(run: &'a model::Run<'a>) -> Prepared<'a> {
    Prepared { parts: Parts::of(GraphInputs::of_run(run)), run }
}

impl<'a> Prepared<'a> {
    /// The critical path, and the graph on which it was found.
    pub fn compute(
        self,
        options: &CriticalPathOptions,
    ) -> Result<(CriticalPath, Engine<'a>), CriticalPathError> {
        compute_from(self.parts, self.run.trace, &self.run.classes, options)
    }
}

fn compute_from<'a>(
    parts: Option<Parts<'a>>,
    trace: &'a Trace,
    classes: &Classes,
    options: &CriticalPathOptions,
) -> Result<(CriticalPath, Engine<'a>), CriticalPathError> {
    let run = parts.and_then(|parts| parts.join(options.infer)).ok_or(CriticalPathError::Empty)?;
    let (walked, slack) = rayon::join(|| Walked::of(trace, &run), || Slack::of(&run));
    // The host part of the path and the savings of kernels are independent.
    let of_path = || {
        let path = walked.path(trace, &run);
        let told = PathFigures::of(trace, &run, &path);
        (path, told)
    };
    let of_names = || rank::rank(&run, walked.segments(), Names::of(&run, &slack));
    // The path comes first: it is a single chain, and its thread can help with the ranking once it is done.
    let ((path, told), ranked) = rayon::join(of_path, of_names);
    // Returning memory takes a while, and nothing waits for it.
    rayon::spawn(move || drop((walked, slack)));
    let engine = Engine::with(trace, run, path.into());
    let found = figures(&engine, ranked, told, classes, options)?;
    Ok((found, engine))
}

/// The critical path of a run whose graph is already built; `options.infer` was decided then.
pub fn compute_on_graph(
    engine: &Engine,
    classes: &Classes,
    options: &CriticalPathOptions,
) -> Result<CriticalPath, CriticalPathError> {
    let (run, path) = (&engine.run, engine.path());
    let ranked = rank::rank(run, path.segments(), Names::of(run, &Slack::of(run)));
    figures(engine, ranked, PathFigures::of(engine.trace, run, path), classes, options)
}

/// Figures that only need the path.
struct PathFigures {
    bounds: Vec<BoundTime>,
    places: Vec<PlaceTime>,
}

impl PathFigures {
    fn of(trace: &Trace, run: &Run, path: &walk::Path) -> Self {
        let (bounds, places) = rayon::join(|| result::bounds(path), || result::places(trace, run, path));
        Self { bounds, places }
    }
}

fn figures(
    engine: &Engine,
    ranked: Vec<WorkSlack>,
    told: PathFigures,
    classes: &Classes,
    options: &CriticalPathOptions,
) -> Result<CriticalPath, CriticalPathError> {
    let (trace, run, path) = (engine.trace, &engine.run, engine.path());
    if !run.separate_clocks.is_empty() {
        return Err(CriticalPathError::SeveralClocks { recordings: run.separate_clocks.clone() });
    }
    let span = run.span.1 - run.span.0;
    let end = run.graph.time[path.last];

    let mut predicted = Vec::new();
    let mut buffer = Vec::new();
    let mut together = Factors::none();
    for question in &options.what_if {
        let saved = if question.is_a_scenario() {
            question.saving(engine, &options.findings)?
        } else {
            let mut factors = Factors::none();
            factors.add(trace, run, classes, question)?;
            together.add(trace, run, classes, question)?;
            end - factors.end(run, &mut buffer)
        };
        predicted.push(Prediction::new(&question.name, Some(question.factor), span, saved));
    }
    if options.what_if.iter().filter(|question| !question.is_a_scenario()).count() > 1 {
        let saved = end - together.end(run, &mut buffer);
        predicted.push(Prediction::new("all together", None, span, saved));
    }
    drop(buffer);

    let (copies, kernels) = ranked.into_iter().partition(|work| work.is_copy);
    Ok(CriticalPath {
        span_ns: span,
        bounds: told.bounds,
        kernels,
        copies,
        what_if: predicted,
        places: told.places,
        dependencies: result::dependencies(run, path),
        steps: path.steps.clone(),
        doubts: doubts(run),
        notes: notes(run),
    })
}

/// Contradictions in the trace.
fn doubts(run: &Run) -> Vec<HealthCheck> {
    let mut doubts = Vec::new();
    let mut doubt = |id: &str, count: usize, message: String| {
        if count > 0 {
            let (id, value) = (id.to_string(), Some(count as f64));
            doubts.push(HealthCheck { id, status: HealthStatus::Warn, value, message });
        }
    };
    let contradicted = &run.graph.contradicted;
    let count: usize = contradicted.iter().sum();
    let kinds: Vec<String> = Dependency::ALL
        .into_iter()
        .filter(|&kind| contradicted[kind as usize] > 0)
        .map(|kind| format!("{} {}", contradicted[kind as usize], kind.name()))
        .collect();
    let message =
        format!("{count} dependencies contradict the clock and were left out ({})", kinds.join(", "));
    doubt("contradictions", count, message);
    let broken = &run.graph.broken;
    let inferred = broken.iter().filter(|kind| kind.provenance() == Provenance::Inferred).count();
    let message = format!(
        "{} dependencies form cycles and were cut at the least certain one ({inferred} of those inferred)",
        broken.len()
    );
    doubt("cycles", broken.len(), message);
    let early = run.known.early_returns;
    let message = format!("{early} blocking calls returned before the work they wait for was done");
    doubt("early_returns", early, message);
    doubts
}

fn notes(run: &Run) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    let (works, known) = (&run.works, &run.known);
    if known.launched < works.len() {
        notes.push(
            format!(
                "{} of {} kernels and copies have no recorded launch: how the host delayed them is not known",
                works.len() - known.launched,
                works.len()
            )
            .into(),
        );
    }
    if known.unresolved_waits > 0 {
        notes.push(format!(
            "{} event waits do not record their event: {} dependencies were inferred from the order of calls; other late starts are blamed on whatever ended last",
            known.unresolved_waits, known.ordered_waits
        ).into());
    }
    if let Some(residual) = run.clocks.residual {
        notes.push(format!(
            "clocks of ranks were aligned by the ends of collectives (by up to {:.1} µs, {:.1} µs are left)",
            run.clocks.largest() as f64 / 1e3,
            residual as f64 / 1e3
        ).into());
    }
    if let Some(reason) = run.not_joined.first() {
        notes.push(format!(
            "ranks not joined: {reason}. What a collective waits for is not known there: the path may run through a rank that only waits"
        ).into());
    }
    notes
}
