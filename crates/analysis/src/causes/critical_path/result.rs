//! The results of `critical-path` as figures.

use rayon::prelude::*;
use report::{HealthCheck, Note};
use trace::{Map, StrId, Trace};

use super::build::Run;
use super::graph::{Dependency, POINTS_AT_ONCE};
use super::track::PathSteps;
use super::walk::{Bound, Path, SegmentLocation};
use stats::percent;

/// What determines the run time.
#[derive(Clone, Debug, Default)]
pub struct CriticalPath {
    /// From the first to the last recorded nanosecond of the run.
    pub span_ns: i64,
    /// Time on the path by bound, largest first.
    pub bounds: Vec<BoundTime>,
    /// Every kernel, largest saving first.
    pub kernels: Vec<WorkSlack>,
    /// Every kind of copy, largest saving first.
    pub copies: Vec<WorkSlack>,
    /// The answer to each what-if question, then to all together.
    pub what_if: Vec<Prediction>,
    /// Time on the path by stream and thread, largest first.
    pub places: Vec<PlaceTime>,
    /// The dependencies of the run, by kind.
    pub dependencies: Vec<DependencyTime>,
    /// The whole path in time order; durations add up to the span.
    pub steps: PathSteps,
    /// Contradictions in the trace.
    pub doubts: Vec<HealthCheck>,
    /// What the trace does not show about the path.
    pub notes: Vec<Note>,
}

/// Time on the path with one bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundTime {
    /// The bound.
    pub bound: Bound,
    /// Time on the path.
    pub total_ns: i64,
    /// Share of the path.
    pub share_pct: f64,
    /// Number of stretches.
    pub segments: usize,
}

/// All dispatches of one kernel, or all copies of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkSlack {
    /// Its name in the trace.
    pub name: StrId,
    /// Whether it is a copy.
    pub is_copy: bool,
    /// Dispatches.
    pub calls: usize,
    /// Total GPU time.
    pub total_ns: i64,
    /// GPU time on the path.
    pub on_path_ns: i64,
    /// Share of the span.
    pub share_pct: f64,
    /// The smallest slack of its dispatches: how much later one may start without making the run end later.
    pub slack_ns: i64,
    /// The smallest free slack of its dispatches: how much later one may end without delaying anything else.
    pub free_slack_ns: i64,
    /// Dispatches that are almost on the path.
    pub near_critical: usize,
    /// How much shorter the run would be if it were 1 % faster; only known for the first few.
    pub saved_by_1pct_ns: Option<i64>,
}

/// The answer to a what-if question.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// What would change.
    pub name: String,
    /// The factor; absent for several questions at once.
    pub factor: Option<f64>,
    /// How long the run would then take.
    pub predicted_span_ns: i64,
    /// How much shorter that is.
    pub saving_ns: i64,
    /// The saving as a share of the span.
    pub saving_pct: f64,
}

/// Time on the path with one bound on one stream or thread.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceTime {
    /// Rank, if the input records it.
    pub rank: Option<i64>,
    /// Process, if the input records it.
    pub pid: Option<i64>,
    /// Device, if it is a GPU and the input records which.
    pub agent: Option<i64>,
    /// The stream or thread.
    pub place: String,
    /// The bound.
    pub bound: Bound,
    /// Time on the path.
    pub total_ns: i64,
    /// Share of the path.
    pub share_pct: f64,
}

/// All dependencies of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DependencyTime {
    /// Its kind.
    pub dependency: &'static str,
    /// How it is known.
    pub known_from: &'static str,
    /// How many there are.
    pub count: usize,
    /// Time on the path that it explains.
    pub on_path_ns: i64,
}

impl CriticalPath {
    /// Time on the path.
    pub fn length_ns(&self) -> i64 {
        self.steps.iter().map(|step| step.duration()).sum()
    }

    /// The kernel with the most time on the path; the first if several tie.
    pub fn dominant_kernel(&self) -> Option<&WorkSlack> {
        // `max_by_key` returns the last of equal elements.
        self.kernels.iter().rev().max_by_key(|kernel| kernel.on_path_ns)
    }
}

impl Prediction {
    /// The answer for a run of `span_ns` that gets `saving_ns` shorter.
    pub(super) fn new(name: &str, factor: Option<f64>, span_ns: i64, saving_ns: i64) -> Self {
        Self {
            name: name.into(),
            factor,
            predicted_span_ns: span_ns - saving_ns,
            saving_ns,
            saving_pct: percent(saving_ns, span_ns),
        }
    }
}

pub(super) fn bounds(path: &Path) -> Vec<BoundTime> {
    let mut totals = [(0usize, 0i64); Bound::ALL.len()];
    for segment in path.segments() {
        let (segments, total) = &mut totals[segment.bound as usize];
        *segments += 1;
        *total += segment.duration();
    }
    let whole: i64 = totals.iter().map(|&(_, total)| total).sum();
    let of_bound = |(bound, (segments, total_ns))| BoundTime {
        bound,
        total_ns,
        share_pct: percent(total_ns, whole),
        segments,
    };
    let all = Bound::ALL.into_iter().zip(totals).map(of_bound);
    let mut bounds: Vec<BoundTime> = all.filter(|one| one.segments > 0).collect();
    bounds.sort_by_key(|one| std::cmp::Reverse(one.total_ns));
    bounds
}

pub(super) fn places(trace: &Trace, run: &Run, path: &Path) -> Vec<PlaceTime> {
    let mut totals: Map<(SegmentLocation, Bound), i64> = Map::default();
    for segment in path.segments() {
        *totals.entry((segment.place, segment.bound)).or_default() += segment.duration();
    }
    let whole: i64 = totals.values().sum();
    let mut rows: Vec<_> = totals.into_iter().collect();
    rows.sort_by_key(|&(key, total)| (std::cmp::Reverse(total), key));
    let place_time = |((place, bound), total_ns)| {
        let (process, agent, label) = match place {
            SegmentLocation::Lane(lane) => {
                let lane = &run.works.streams[lane as usize];
                (lane.process, lane.agent, lane.label.clone())
            }
            SegmentLocation::Thread(thread) => match thread.get().map(|thread| &trace.threads[thread]) {
                Some(thread) => (thread.process, Default::default(), format!("thread {}", thread.tid)),
                None => (Default::default(), Default::default(), "a thread that is not recorded".into()),
            },
            SegmentLocation::Nowhere => (Default::default(), Default::default(), "elsewhere".into()),
        };
        PlaceTime {
            rank: trace.rank_of(process).map(i64::from),
            pid: process.get().map(|process| trace.processes[process].pid),
            agent: agent.get().and_then(|agent| trace.agents[agent].absolute_index.get()),
            place: label,
            bound,
            total_ns,
            share_pct: percent(total_ns, whole),
        }
    };
    rows.into_iter().map(place_time).collect()
}

pub(super) fn dependencies(run: &Run, path: &Path) -> Vec<DependencyTime> {
    let of_chunk = |kinds: &[Dependency]| {
        let mut counts = [0usize; Dependency::ALL.len()];
        kinds.iter().for_each(|&kind| counts[kind as usize] += 1);
        counts
    };
    let counts: Vec<_> = run.graph.kind.par_chunks(POINTS_AT_ONCE).map(of_chunk).collect();
    let count = |kind: Dependency| counts.iter().map(|counts| counts[kind as usize]).sum();
    let of_kind = |kind: Dependency| DependencyTime {
        dependency: kind.name(),
        known_from: kind.provenance().name(),
        count: count(kind),
        on_path_ns: path.by_dependency[kind as usize],
    };
    Dependency::ALL.into_iter().map(of_kind).filter(|one| one.count > 0).collect()
}
