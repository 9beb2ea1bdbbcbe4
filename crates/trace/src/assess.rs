//! The checks that every trace gets, whatever its format.

use rayon::join;

use crate::Map;
use crate::health::{Check, Status};
use crate::links::{LinkKind, Table};
use crate::trace::Trace;

/// Clocks of host and GPU are aligned by the profiler; old traces hold whole microseconds.
const CLOCK_TOLERANCE_NS: i64 = 2_000;

/// Adds coverage, clock and overlap checks to the trace's health.
pub(crate) fn assess(trace: &mut Trace) {
    let all = &*trace;
    let ((coverage, clock), (causality, overlaps)) =
        join(|| join(|| coverage(all), || clock(all)), || join(|| causality(all), || overlaps(all)));
    let checks = [contents(all), coverage, clock, causality, overlaps];
    trace.health.checks.extend(checks.into_iter().flatten());
}

fn check(id: &'static str, status: Status, value: f64, message: impl Into<String>) -> Option<Check> {
    Some(Check { id, status, value: Some(value), message: message.into() })
}

fn contents(trace: &Trace) -> Option<Check> {
    // A snapshot of an allocator or a list of collectives is not expected to have kernels.
    let others = trace.allocator_events.len() + trace.allocator_segments.len() + trace.collectives.len();
    if !trace.kernels.is_empty() || others > 0 {
        return None;
    }
    check("kernels", Status::Warn, 0.0, "no GPU kernel was recorded")
}

fn coverage(trace: &Trace) -> Option<Check> {
    let kernels = &trace.kernels;
    if kernels.is_empty() {
        return None;
    }
    let duration = |i: usize| i128::from(kernels.end[i]) - i128::from(kernels.start[i]);
    let total_ns: i128 = (0..kernels.len()).map(duration).sum();
    let (mut linked, mut linked_ns) = (0usize, 0i128);
    for i in 0..trace.links.len() {
        if trace.links.kind[i] == LinkKind::Launch
            && let Some(row) = trace.links.to[i].row_of(Table::Kernels)
        {
            linked += 1;
            linked_ns += duration(row);
        }
    }
    let share = 100.0 * linked as f64 / kernels.len() as f64;
    let time_share = if total_ns > 0 { 100.0 * linked_ns as f64 / total_ns as f64 } else { 0.0 };
    let status = if linked == kernels.len() { Status::Pass } else { Status::Warn };
    let message = if trace.regions.is_empty() {
        "no host call was recorded, so no kernel can be linked to its launch".to_string()
    } else {
        format!("{linked} of {} kernels, {time_share:.1} % of GPU time, linked to a launch", kernels.len())
    };
    check("coverage", status, share, message)
}

fn clock(trace: &Trace) -> Option<Check> {
    let backwards = |start: &[i64], end: &[i64]| start.iter().zip(end).filter(|(s, e)| e < s).count();
    let zeros = |start: &[i64]| start.iter().filter(|s| **s == 0).count();
    let (k, c, r) = (&trace.kernels, &trace.memory_copies, &trace.regions);
    let wrong = backwards(&k.start, &k.end) + backwards(&c.start, &c.end) + backwards(&r.start, &r.end);
    // A run's own clock may start at zero; many zeros are timestamps that were never set.
    let unset = zeros(&k.start) + zeros(&c.start) + zeros(&r.start);
    if wrong > 0 {
        let message = format!("{wrong} rows end before they start; their durations count as negative");
        check("clock", Status::Fail, wrong as f64, message)
    } else if unset > 1 {
        let message = format!("{unset} rows start at time zero: the profiler did not fill them in");
        check("clock", Status::Warn, unset as f64, message)
    } else {
        None
    }
}

fn causality(trace: &Trace) -> Option<Check> {
    let (kernels, regions, links) = (&trace.kernels, &trace.regions, &trace.links);
    let (mut early, mut worst) = (0usize, 0i64);
    for i in 0..links.len() {
        let (LinkKind::Launch, Some(call), Some(kernel)) =
            (links.kind[i], links.from[i].row_of(Table::Regions), links.to[i].row_of(Table::Kernels))
        else {
            continue;
        };
        let ahead = regions.start[call].saturating_sub(kernels.start[kernel]);
        if ahead > CLOCK_TOLERANCE_NS {
            early += 1;
            worst = worst.max(ahead);
        }
    }
    if early == 0 {
        return None;
    }
    let message = format!(
        "{early} kernels start before the call that launched them (worst {:.1} µs): clocks are not aligned",
        worst as f64 / 1e3
    );
    check("causality", Status::Warn, early as f64, message)
}

/// Kernels of one lane (process, agent, queue, stream) that run at the same time, which hardware queues do not do.
fn overlaps(trace: &Trace) -> Option<Check> {
    let kernels = &trace.kernels;
    let mut last_end: Map<(u32, u32, u32, u32), i64> = Map::default();
    let (mut count, mut overlap_ns, mut busy_ns) = (0usize, 0i128, 0i128);
    for i in 0..kernels.len() {
        let lane = (kernels.process[i].0, kernels.agent[i].0, kernels.queue[i].0, kernels.stream[i].0);
        busy_ns += i128::from(kernels.end[i].saturating_sub(kernels.start[i]).max(0));
        let end = last_end.entry(lane).or_insert(i64::MIN);
        if kernels.start[i] < *end {
            count += 1;
            overlap_ns += i128::from((*end).min(kernels.end[i]).saturating_sub(kernels.start[i]).max(0));
        }
        *end = (*end).max(kernels.end[i]);
    }
    if count == 0 {
        return None;
    }
    let share = if busy_ns > 0 { 100.0 * overlap_ns as f64 / busy_ns as f64 } else { 0.0 };
    let status = if share > 1.0 { Status::Warn } else { Status::Pass };
    let message =
        format!("{count} kernels overlap their predecessor on one stream, {share:.2} % of kernel time");
    check("overlaps", status, count as f64, message)
}
