//! The results of `breakdown` as figures.

use report::Note;
use trace::{AgentId, Map, Trace};

use super::BreakdownOptions;
use super::sweep::Timeline;
use model::classify::Classes;
use model::lanes::{Bucket, GpuRow, Lane};
use stats::percent;

/// The stage name when the run is not split into stages.
const ONE_STAGE: &str = "all";

/// How the GPUs spent their time.
#[derive(Clone, Debug, Default)]
pub struct Breakdown {
    /// The time of each GPU.
    pub gpus: Vec<GpuTime>,
    /// Whether categories are split by rank.
    pub by_rank: bool,
    /// GPU time by stage, category and backend, largest first.
    pub categories: Vec<CategoryTime>,
    /// GPU work by whether its launch was recorded; empty if no launch was.
    pub coverage: Vec<LaunchCoverage>,
    /// Remarkable facts.
    pub notes: Vec<Note>,
}

/// How one GPU spent its time.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuTime {
    /// The rank, if the input records it.
    pub rank: Option<u32>,
    /// The GPU.
    pub agent: AgentId,
    /// From the start of its first work to the end of its last.
    pub total_ns: i64,
    /// Time with any work.
    pub busy_ns: i64,
    /// Time without work.
    pub idle_ns: i64,
    /// Time with computation.
    pub compute_ns: i64,
    /// Time with communication.
    pub communication_ns: i64,
    /// Time with copies.
    pub memcpy_ns: i64,
    /// Communication not overlapped by computation.
    pub exposed_communication_ns: i64,
    /// Copies not overlapped by anything.
    pub exposed_memcpy_ns: i64,
    /// Time by combination of overlapping kinds, longest first.
    pub combinations: Vec<CombinationTime>,
}

/// Time in which exactly these kinds of work overlapped.
#[derive(Clone, Debug, PartialEq)]
pub struct CombinationTime {
    /// The kinds: `compute + memcpy`, `idle`.
    pub combination: String,
    /// Time of this combination.
    pub total_ns: i64,
    /// Share of the GPU's time.
    pub share_pct: f64,
}

/// GPU time of one category and backend in one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct CategoryTime {
    /// The rank, if categories are split by rank and the input records it.
    pub rank: Option<u32>,
    /// The stage; `all` if the run has none.
    pub stage: &'static str,
    /// What the work does.
    pub category: &'static str,
    /// The library it comes from.
    pub backend: String,
    /// Kernels, copies and fills.
    pub calls: usize,
    /// Their GPU time.
    pub total_ns: i64,
    /// Share of the GPU time of the stage and rank.
    pub share_pct: f64,
}

/// GPU work by launch: from before launches were recorded, with its launch, or with its launch lost.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchCoverage {
    /// The rank, if the input records it.
    pub rank: Option<u32>,
    /// The GPU.
    pub agent: AgentId,
    /// `lead_in`, `linked` or `unlinked_inside`.
    pub part: &'static str,
    /// Kernels, copies and fills.
    pub calls: usize,
    /// Their GPU time.
    pub total_ns: i64,
    /// Time with any of them.
    pub busy_ns: i64,
    /// Share of the GPU's work.
    pub share_pct: f64,
}

impl GpuTime {
    pub(super) fn of(lane: &Lane, timeline: &Timeline) -> Self {
        let total_ns = timeline.total();
        let mut rows: Vec<(usize, i64)> = timeline.combinations.into_iter().enumerate().collect();
        rows.retain(|(_, time)| *time > 0);
        rows.sort_by_key(|&(combination, time)| (-time, combination));
        let combination = |(combination, time): (usize, i64)| CombinationTime {
            combination: Timeline::name(combination),
            total_ns: time,
            share_pct: percent(time, total_ns),
        };
        Self {
            rank: lane.rank,
            agent: lane.agent,
            total_ns,
            busy_ns: timeline.busy(),
            idle_ns: timeline.idle(),
            compute_ns: timeline.of_bucket(Bucket::Compute),
            communication_ns: timeline.of_bucket(Bucket::Communication),
            memcpy_ns: timeline.of_bucket(Bucket::Memcpy),
            exposed_communication_ns: timeline.exposed_communication(),
            exposed_memcpy_ns: timeline.exposed_memcpy(),
            combinations: rows.into_iter().map(combination).collect(),
        }
    }
}

/// Calls and time in one category.
#[derive(Clone, Copy, Default)]
struct Sum {
    calls: usize,
    total: i64,
}

pub(super) fn categories(
    trace: &Trace,
    classes: &Classes,
    lanes: &[Lane],
    options: &BreakdownOptions,
) -> Vec<CategoryTime> {
    type Key<'a> = (Option<u32>, &'static str, &'static str, &'a str);
    let mut sums: Map<Key<'_>, Sum> = Map::default();
    let mut wholes: Map<(Option<u32>, &str), i64> = Map::default();
    for lane in lanes {
        let rank = lane.rank.filter(|_| options.by_rank);
        for gpu in &lane.rows {
            let Some(class) = classes.of_row(trace, gpu.row) else { continue };
            let stage = options.stage_of.map_or(ONE_STAGE, |stage_of| stage_of(gpu.row));
            let time = gpu.work.end - gpu.work.start;
            let sum = sums.entry((rank, stage, class.category.name(), &class.backend)).or_default();
            sum.calls += 1;
            sum.total += time;
            *wholes.entry((rank, stage)).or_default() += time;
        }
    }
    let mut rows: Vec<(Key<'_>, Sum)> = sums.into_iter().collect();
    rows.sort_by_key(|&((rank, stage, category, backend), sum)| {
        (rank.is_none(), rank, -wholes[&(rank, stage)], stage, -sum.total, category, backend)
    });
    let category_time = |((rank, stage, category, backend), sum): (Key<'_>, Sum)| CategoryTime {
        rank,
        stage,
        category,
        backend: backend.to_string(),
        calls: sum.calls,
        total_ns: sum.total,
        share_pct: percent(sum.total, wholes[&(rank, stage)]),
    };
    rows.into_iter().map(category_time).collect()
}

/// Work launched before host recording began, work with its launch, and work whose launch was lost.
pub(super) fn coverage(lanes: &[Lane]) -> Vec<LaunchCoverage> {
    let mut coverage = Vec::new();
    for lane in lanes {
        let first_linked = lane.rows.iter().filter(|row| row.is_linked()).map(|row| row.work.start).min();
        let part_of = |row: &GpuRow| match first_linked {
            _ if row.is_linked() => "linked",
            Some(first) if row.work.start >= first => "unlinked_inside",
            _ => "lead_in",
        };
        let time = |row: &GpuRow| row.work.end - row.work.start;
        let whole: i64 = lane.rows.iter().map(time).sum();
        for part in ["lead_in", "linked", "unlinked_inside"] {
            let rows: Vec<&GpuRow> = lane.rows.iter().filter(|row| part_of(row) == part).collect();
            if rows.is_empty() {
                continue;
            }
            let total_ns: i64 = rows.iter().map(|row| time(row)).sum();
            let work: Vec<_> = rows.iter().map(|row| row.work).collect();
            coverage.push(LaunchCoverage {
                rank: lane.rank,
                agent: lane.agent,
                part,
                calls: rows.len(),
                total_ns,
                busy_ns: Timeline::of(&work).busy(),
                share_pct: percent(total_ns, whole),
            });
        }
    }
    coverage
}
