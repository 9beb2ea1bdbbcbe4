//! What each kernel has to do with the span: its time on the path, its slack, and what a little less of it would save.

use trace::{Map, StrId};

use super::NONE;
use super::build::{Run, start_of};
use super::result::WorkSlack;
use super::rules::Rules;
use super::walk::Path;
use super::what_if::Factors;
use stats::percent;

/// What "a little faster" is.
const FASTER: f64 = 0.99;

/// All names, those that would save most first.
pub(super) fn rank(run: &Run, path: &Path) -> Vec<WorkSlack> {
    let (graph, works) = (&run.graph, &run.works);
    let limits = &Rules::built_in().limits;
    let end = graph.time[path.last];
    let latest = graph.latest(end);
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
    let span = run.span.1 - run.span.0;
    let near = (span as f64 * limits.near_critical_pct / 100.0) as i64;
    let mut numbers: Map<(StrId, bool), usize> = Map::default();
    let mut ranked: Vec<WorkSlack> = Vec::new();
    let mut of_work: Vec<u32> = Vec::with_capacity(works.len());
    for (work, &free) in free.iter().enumerate() {
        let (name, is_copy) = (works.name[work], works.is_copy_row[work]);
        let number = *numbers.entry((name, is_copy)).or_insert(ranked.len());
        if number == ranked.len() {
            ranked.push(WorkSlack {
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
        let point = start_of(work as u32) as usize;
        let slack = latest[point] - graph.time[point];
        let row = &mut ranked[number];
        row.calls += 1;
        row.total_ns += works.duration(work);
        row.slack_ns = row.slack_ns.min(slack);
        row.free_slack_ns = row.free_slack_ns.min(free).min(slack);
        row.near_critical += usize::from(slack <= near);
    }
    drop((latest, free));
    for segment in path.segments.iter().filter(|segment| segment.work != NONE) {
        ranked[of_work[segment.work as usize] as usize].on_path_ns += segment.end - segment.start;
    }
    drop(of_work);
    ranked.sort_by_key(|row| {
        (std::cmp::Reverse(row.on_path_ns), std::cmp::Reverse(row.total_ns), row.name, row.is_copy)
    });
    let mut buffer = Vec::new();
    for (place, row) in ranked.iter_mut().enumerate() {
        row.share_pct = percent(row.on_path_ns, span);
        if row.on_path_ns == 0 {
            row.saved_by_1pct_ns = Some(0);
        } else if place < limits.ranked_kernels {
            let factors = Factors::of_name(run, row.name, row.is_copy, FASTER);
            row.saved_by_1pct_ns = Some(end - factors.end(run, &mut buffer));
        }
    }
    ranked.sort_by_key(|row| {
        (std::cmp::Reverse(row.saved_by_1pct_ns), std::cmp::Reverse(row.on_path_ns), row.slack_ns)
    });
    ranked
}
