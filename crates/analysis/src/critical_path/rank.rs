//! What each kernel has to do with the span: its time on the path, its slack, and what a little less of it would save.

use trace::{Map, StrId};

use super::NONE;
use super::build::{Run, start_of};
use super::rules::Rules;
use super::walk::Path;
use super::what_if::Factors;

/// What "a little faster" is.
const FASTER: f64 = 0.99;

/// All dispatches of one name.
#[derive(Clone, Debug)]
pub(super) struct Ranked {
    pub name: StrId,
    pub copy: bool,
    pub calls: usize,
    pub total: i64,
    pub on_path: i64,
    /// The least of its dispatches: how much later one may start without the run ending later.
    pub slack: i64,
    /// The least of its dispatches: how much later one may end without anything else being later.
    pub free_slack: i64,
    /// Dispatches that are nearly on the path.
    pub near: usize,
    /// What the run would be shorter by if it were 1 % faster; unknown beyond the first few.
    pub saved: Option<i64>,
}

/// All names, those that would save most first.
pub(super) fn rank(run: &Run, path: &Path) -> Vec<Ranked> {
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
    let near = ((run.span.1 - run.span.0) as f64 * limits.near_critical_pct / 100.0) as i64;
    let mut numbers: Map<(StrId, bool), usize> = Map::default();
    let mut ranked: Vec<Ranked> = Vec::new();
    let mut of_work: Vec<u32> = Vec::with_capacity(works.len());
    for (work, &free) in free.iter().enumerate() {
        let (name, copy) = (works.name[work], works.is_copy_row[work]);
        let number = *numbers.entry((name, copy)).or_insert(ranked.len());
        if number == ranked.len() {
            let (calls, total, on_path, near) = (0, 0, 0, 0);
            ranked.push(Ranked {
                name,
                copy,
                calls,
                total,
                on_path,
                slack: i64::MAX,
                free_slack: i64::MAX,
                near,
                saved: None,
            });
        }
        of_work.push(number as u32);
        let point = start_of(work as u32) as usize;
        let slack = latest[point] - graph.time[point];
        let row = &mut ranked[number];
        row.calls += 1;
        row.total += works.duration(work);
        row.slack = row.slack.min(slack);
        row.free_slack = row.free_slack.min(free).min(slack);
        row.near += usize::from(slack <= near);
    }
    drop((latest, free));
    for segment in path.segments.iter().filter(|segment| segment.work != NONE) {
        ranked[of_work[segment.work as usize] as usize].on_path += segment.end - segment.start;
    }
    drop(of_work);
    ranked.sort_by_key(|row| {
        (std::cmp::Reverse(row.on_path), std::cmp::Reverse(row.total), row.name, row.copy)
    });
    let mut buffer = Vec::new();
    for (place, row) in ranked.iter_mut().enumerate() {
        if row.on_path == 0 {
            row.saved = Some(0);
        } else if place < limits.ranked_kernels {
            let factors = Factors::of_name(run, row.name, row.copy, FASTER);
            row.saved = Some(end - factors.end(run, &mut buffer));
        }
    }
    ranked.sort_by_key(|row| (std::cmp::Reverse(row.saved), std::cmp::Reverse(row.on_path), row.slack));
    ranked
}
