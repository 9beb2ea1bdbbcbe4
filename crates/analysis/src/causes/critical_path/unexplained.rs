//! Work that starts later than all its known causes: looks for an unrecorded one.
//!
//! The default stream and other streams wait for each other; kernels of a replayed graph follow edges that no
//! record shows. On request, any work may follow whatever ended last before it. Cost: one sort of ends, and a
//! look-up for each unexplained start.

use trace::{ProcessId, Trace};

use super::NONE;
use super::build::{end_of, start_of};
use super::graph::{Dependency, Draft};
use super::minimum_times::MinimumTimes;
use super::rules::Rules;
use model::work::GpuWork;

/// How many ends to check before each start.
const CANDIDATES: usize = 32;
/// Processes with more lanes are skipped when looking for default-stream order.
const MOST_LANES: usize = 64;

pub(super) fn explain(trace: &Trace, works: &GpuWork, least: &MinimumTimes, infer: bool, draft: &mut Draft) {
    if works.streams.len() < 2 {
        return;
    }
    let limits = &Rules::built_in().limits;
    let mut arrival = vec![i64::MIN; works.len()];
    let points = 2 * works.len() as u32;
    draft.arrivals(|to, at| {
        if to < points && to % 2 == 0 {
            let arrival = &mut arrival[to as usize / 2];
            *arrival = (*arrival).max(at);
        }
    });
    let late = |work: &usize| {
        arrival[*work] != i64::MIN && works.start[*work] - arrival[*work] > limits.unexplained_start_ns
    };
    let unexplained: Vec<usize> = (0..works.len()).filter(late).collect();
    if unexplained.is_empty() {
        return;
    }
    let default_stream = DefaultStream::of(trace, works);
    let mut by_end: Vec<u32> = (0..works.len() as u32).collect();
    by_end.sort_unstable_by_key(|&work| (works.process(work as usize), works.end[work as usize], work));
    for work in unexplained {
        let key = (works.process(work), works.start[work]);
        let before = by_end.partition_point(|&w| (works.process(w as usize), works.end[w as usize]) <= key);
        let candidates = by_end[before.saturating_sub(CANDIDATES)..before].iter().rev();
        let reason = |&&other: &&u32| -> Option<Dependency> {
            let o = other as usize;
            if works.process(o) != works.process(work)
                || works.stream[o] == works.stream[work]
                || works.end[o] <= arrival[work]
                || o == work
            {
                return None;
            }
            if default_stream.orders(works.stream[o], works.stream[work]) {
                return Some(Dependency::DefaultStream);
            }
            let graph =
                works.replayed[work] && works.launch[work] != NONE && works.launch[o] == works.launch[work];
            if graph { Some(Dependency::Graph) } else { infer.then_some(Dependency::Nearest) }
        };
        let found = candidates.into_iter().find_map(|other| Some((*other, reason(&other)?)));
        if let Some((other, kind)) = found {
            let gap = least.gap(works.replayed[work]);
            draft.add(end_of(other), start_of(work as u32), gap, kind);
        }
    }
}

/// Lanes that are ordered with the default stream: those that never overlap with it.
struct DefaultStream {
    /// By lane: the default stream of its process, if the lane is ordered with it.
    of_lane: Vec<u32>,
}

impl DefaultStream {
    fn of(trace: &Trace, works: &GpuWork) -> Self {
        let mut of_lane = vec![NONE; works.streams.len()];
        let is_default = |lane: usize| {
            let lane = &works.streams[lane];
            // torch creates streams that do not wait for the default stream.
            let source = lane.process.get().and_then(|process| trace.processes[process].source.get());
            let hip = source.is_none_or(|source| trace.sources[source].format != "torch");
            hip && lane.stream.get().is_some_and(|stream| trace.streams[stream].id == 0)
        };
        for default in (0..works.streams.len()).filter(|&lane| is_default(lane)) {
            let process: ProcessId = works.streams[default].process;
            let others: Vec<usize> = (0..works.streams.len())
                .filter(|&lane| lane != default && works.streams[lane].process == process)
                .collect();
            if others.len() > MOST_LANES {
                continue;
            }
            for other in others {
                if !overlap(works, default, other) {
                    of_lane[other] = default as u32;
                }
            }
        }
        Self { of_lane }
    }

    fn orders(&self, one: u32, two: u32) -> bool {
        self.of_lane[one as usize] == two || self.of_lane[two as usize] == one
    }
}

/// Whether work of two lanes ever ran at the same time.
fn overlap(works: &GpuWork, one: usize, two: usize) -> bool {
    let (one, two) = (&works.streams[one].work, &works.streams[two].work);
    let (mut i, mut k) = (0, 0);
    while i < one.len() && k < two.len() {
        let (a, b) = (one[i] as usize, two[k] as usize);
        if works.start[a].max(works.start[b]) < works.end[a].min(works.end[b]) {
            return true;
        }
        if works.end[a] <= works.end[b] { i += 1 } else { k += 1 }
    }
    false
}
