//! How each kernel affects the run time: time on the path, slack, and the saving if it were a bit faster.

use std::cmp::Reverse;

use trace::{Map, StrId};

use super::NONE;
use super::build::{Run, start_of};
use super::graph::Dependency;
use super::result::WorkSlack;
use super::rules::Rules;
use super::savings::{MOST_SAVED_IN_32_BITS, Moved, Savings};
use super::walk::Segment;
use super::what_if::scaled;
use stats::percent;

/// The factor for "slightly faster".
const FASTER: f64 = 0.99;

/// Slack by piece of work.
pub(super) struct Slack {
    /// How much later it may start without making the run end later.
    start: Vec<i64>,
    /// How much later it may end without delaying anything else.
    free: Vec<i64>,
}

impl Slack {
    /// The slack of all work, which does not depend on the path.
    pub fn of(run: &Run) -> Self {
        let end = run.graph.time.iter().copied().max().unwrap_or(0);
        let (start, free) = rayon::join(|| start(run, end), || free(run, end));
        Self { start, free }
    }
}

/// All kernel and copy names with their times and slack, which do not depend on the path.
pub(super) struct Names {
    rows: Vec<WorkSlack>,
    /// The index of each piece of work in `rows`.
    of_work: Vec<u32>,
}

impl Names {
    /// The names of a run.
    pub fn of(run: &Run, slack: &Slack) -> Self {
        let works = &run.works;
        let span = run.span.1 - run.span.0;
        let near = (span as f64 * Rules::built_in().limits.near_critical_pct / 100.0) as i64;
        let mut numbers: Map<(StrId, bool), usize> = Map::default();
        let mut rows: Vec<WorkSlack> = Vec::new();
        let mut of_work: Vec<u32> = Vec::with_capacity(works.len());
        for (work, (&slack, &free)) in slack.start.iter().zip(&slack.free).enumerate() {
            let (name, is_copy) = (works.name[work], works.is_copy_row[work]);
            let number = *numbers.entry((name, is_copy)).or_insert(rows.len());
            if number == rows.len() {
                rows.push(WorkSlack {
                    name,
                    is_copy,
                    calls: 0,
                    total_ns: 0,
                    on_path_ns: 0,
                    share_pct: 0.0,
                    slack_ns: i64::MAX,
                    free_slack_ns: i64::MAX,
                    near_critical: 0,
                    saved_by_1pct_ns: None,
                });
            }
            of_work.push(number as u32);
            let row = &mut rows[number];
            row.calls += 1;
            row.total_ns += works.duration(work);
            row.slack_ns = row.slack_ns.min(slack);
            row.free_slack_ns = row.free_slack_ns.min(free).min(slack);
            row.near_critical += usize::from(slack <= near);
        }
        Self { rows, of_work }
    }
}

/// All names, largest saving first.
pub(super) fn rank<'p>(run: &Run, path: impl Iterator<Item = &'p Segment>, names: Names) -> Vec<WorkSlack> {
    let Names { rows: mut ranked, of_work } = names;
    let limits = &Rules::built_in().limits;
    let span = run.span.1 - run.span.0;
    for segment in path.filter(|segment| segment.work != NONE) {
        ranked[of_work[segment.work as usize] as usize].on_path_ns += segment.end - segment.start;
    }
    let mut asked: Vec<u32> = (0..ranked.len() as u32).collect();
    asked.sort_by_key(|&number| rank_on_path(&ranked[number as usize]));
    asked.truncate(limits.ranked_kernels);
    asked.retain(|&number| ranked[number as usize].on_path_ns > 0);
    let saves_little = (1.0 - FASTER) * span as f64 <= MOST_SAVED_IN_32_BITS as f64;
    let saved = match saves_little {
        true => savings::<i32>(run, &of_work, ranked.len(), &asked),
        false => savings::<i64>(run, &of_work, ranked.len(), &asked),
    };
    for (&number, saved) in asked.iter().zip(saved) {
        ranked[number as usize].saved_by_1pct_ns = Some(saved);
    }
    drop(of_work);
    for row in &mut ranked {
        row.share_pct = percent(row.on_path_ns, span);
        if row.on_path_ns == 0 {
            row.saved_by_1pct_ns = Some(0);
        }
    }
    // Rows with equal savings stay in order of time.
    ranked.sort_by_key(rank_on_path);
    ranked.sort_by_key(|row| (Reverse(row.saved_by_1pct_ns), Reverse(row.on_path_ns), row.slack_ns));
    ranked
}

/// Sort key: most time on the path first.
fn rank_on_path(row: &WorkSlack) -> (Reverse<i64>, Reverse<i64>, StrId, bool) {
    (Reverse(row.on_path_ns), Reverse(row.total_ns), row.name, row.is_copy)
}

/// By piece of work: how much later it may start without making the run end later.
fn start(run: &Run, end: i64) -> Vec<i64> {
    let latest = run.graph.latest(end);
    let slack = |work: usize| {
        let point = start_of(work as u32) as usize;
        latest[point] - run.graph.time[point]
    };
    (0..run.works.len()).map(slack).collect()
}

/// By piece of work: how much later it may end without delaying anything else.
fn free(run: &Run, end: i64) -> Vec<i64> {
    let (graph, works) = (&run.graph, &run.works);
    let mut free: Vec<i64> = works.end.iter().map(|&done| end - done).collect();
    for point in 0..graph.len() {
        for edge in graph.dependencies(point) {
            let from = graph.from[edge] as usize;
            if from < 2 * works.len() && from % 2 == 1 {
                let spare = graph.time[point] - graph.weight[edge] - graph.time[from];
                free[from / 2] = free[from / 2].min(spare);
            }
        }
    }
    free
}

/// What the run would save for each of these names if its work took slightly less time. `of_work` has the
/// index of each piece's name among the `names`.
fn savings<T: Moved>(run: &Run, of_work: &[u32], names: usize, numbers: &[u32]) -> Vec<i64> {
    let graph = &run.graph;
    let mut changes = vec![None; names];
    numbers.iter().enumerate().for_each(|(change, &number)| changes[number as usize] = Some(change));
    let change_of = |point: usize| changes[*of_work.get(point / 2)? as usize];
    let shorter = |edge: usize, to: usize| {
        let change = match graph.kind[edge] {
            Dependency::Work | Dependency::Transfer => change_of(to)?,
            Dependency::Beside | Dependency::Along => change_of(graph.from[edge] as usize)?,
            _ => return None,
        };
        // A wait for something unrecorded stays as long as it was.
        let own = graph.weight[edge] - run.not_recorded.of_edge(edge);
        Some((change, own - scaled(own, FASTER)))
    };
    Savings { graph, shorter }.of_each::<T>(numbers.len())
}
