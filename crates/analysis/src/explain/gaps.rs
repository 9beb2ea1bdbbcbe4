//! Gaps in a GPU's work, and what the host did instead of launching more.
//!
//! ```text
//! work ─► gap ─► the work that ends it ─► its launch ─► its thread during the gap ─► call, op or frame
//! ```
//!
//! Cost: one pass over the work; a binary search per gap; for long gaps one pass over the regions.

use trace::{Map, RowRef, StrId, Trace};

use super::calls::{CallKind, HostCalls, Thread};
use super::facts::Gpu;
use super::thresholds::Thresholds;
use model::lanes::GpuRow;

/// Why the GPU had nothing to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Cause {
    /// The trace does not tell: the work that ends the gap has no launch.
    #[default]
    Unknown,
    /// It was launched before the gap began: the GPU itself took the time.
    Dispatch,
    /// The host was not done launching.
    Launch,
    /// The host waited for the GPU in this call and had to begin anew.
    Sync(StrId),
    /// The host waited for something that was not this GPU's work: another GPU.
    Elsewhere,
    /// The host was in calls for memory most of the time.
    Memory(StrId),
    /// The host did something else: the op or frame it was in, when recorded.
    Host(Option<StrId>),
}

/// A time without GPU work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub start: i64,
    pub end: i64,
    /// The work that ends it.
    pub next: RowRef,
    pub cause: Cause,
}

impl Gap {
    pub fn length(&self) -> i64 {
        self.end - self.start
    }
}

/// The gaps between rows in time order.
pub(super) fn find(rows: &[GpuRow]) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let mut reached = rows.first().map_or(0, |row| row.work.start);
    for row in rows {
        if row.work.start > reached {
            gaps.push(Gap { start: reached, end: row.work.start, next: row.row, cause: Cause::Unknown });
        }
        reached = reached.max(row.work.end);
    }
    gaps
}

/// A long gap whose thread is to be looked at.
struct Window {
    gpu: usize,
    gap: usize,
    from: i64,
    to: i64,
    /// What the thread waited in when the gap began.
    waited: Option<(StrId, i64)>,
    /// The innermost region that covers most of it so far: (length, name).
    covering: Option<(i64, StrId)>,
}

/// Finds the cause of every gap.
pub(super) fn explain(trace: &Trace, calls: &HostCalls, limits: &Thresholds, gpus: &mut [Gpu]) {
    let mut windows: Map<Thread, Vec<Window>> = Map::default();
    let tolerance = limits.gaps.tolerance_ns;
    for (number, gpu) in gpus.iter_mut().enumerate() {
        for (place, gap) in gpu.gaps.iter_mut().enumerate() {
            let Some(launch) = trace.links.launch_of(gap.next) else { continue };
            let regions = &trace.regions;
            let thread = (regions.process[launch], regions.thread[launch]);
            if regions.end[launch] <= gap.start {
                gap.cause = Cause::Dispatch;
                continue;
            }
            let (in_memory, name) = calls.between(thread, gap.start, gap.end, CallKind::Memory);
            if let Some(name) = name.filter(|_| in_memory * 2 > gap.length()) {
                gap.cause = Cause::Memory(name);
                continue;
            }
            let waiting = |kind| calls.during(thread, gap.start, tolerance, kind);
            let waited = waiting(CallKind::Block).or_else(|| waiting(CallKind::BlockingCopy));
            if waited.is_some_and(|call| call.end - gap.start >= limits.gaps.long_ns) {
                gap.cause = Cause::Elsewhere;
                continue;
            }
            let to = regions.start[launch];
            gap.cause = waited.map_or(Cause::Launch, |call| Cause::Sync(call.name));
            if gap.length() >= limits.gaps.long_ns && to > gap.start {
                windows.entry(thread).or_default().push(Window {
                    gpu: number,
                    gap: place,
                    from: gap.start,
                    to,
                    waited: waited.map(|call| (call.name, call.end)),
                    covering: None,
                });
            }
        }
    }
    cover(trace, &mut windows);
    for window in windows.into_values().flatten() {
        let gap = &mut gpus[window.gpu].gaps[window.gap];
        gap.cause = match (window.waited, window.covering) {
            // What is short after the call is what it takes to begin anew.
            (Some((call, ended)), _) if window.to - ended < limits.gaps.long_ns => Cause::Sync(call),
            (_, Some((_, name))) if calls.kind(name) == Some(CallKind::Block) => Cause::Sync(name),
            (_, covering) => Cause::Host(covering.map(|(_, name)| name)),
        };
    }
}

/// Finds for each window the innermost region of its thread that covers more than half of it.
fn cover(trace: &Trace, windows: &mut Map<Thread, Vec<Window>>) {
    if windows.is_empty() {
        return;
    }
    windows.values_mut().for_each(|windows| windows.sort_by_key(|window| (window.from, window.to)));
    let regions = &trace.regions;
    let mut passed: Map<Thread, usize> = Map::default();
    for row in 0..regions.len() {
        let thread = (regions.process[row], regions.thread[row]);
        let Some(windows) = windows.get_mut(&thread) else { continue };
        let (start, end) = (regions.start[row], regions.end[row]);
        // Regions come by start, so windows that end before are done with.
        let first = passed.entry(thread).or_default();
        while windows.get(*first).is_some_and(|window| window.to <= start) {
            *first += 1;
        }
        for window in windows[*first..].iter_mut().take_while(|window| window.from < end) {
            let inside = end.min(window.to) - start.max(window.from);
            let inner = window.covering.is_none_or(|(length, _)| end - start < length);
            if inside * 2 > window.to - window.from && inner {
                window.covering = Some((end - start, regions.name[row]));
            }
        }
    }
}
