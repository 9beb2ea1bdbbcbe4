//! The host's calls that explain gaps, by thread and in time order.

use model::calls::{CallFacts, Calls};
use trace::{Map, ProcessId, StrId, ThreadId, Trace};

/// A thread of a process; calls without a thread share one per process.
pub(super) type Thread = (ProcessId, ThreadId);

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallKind {
    /// Waits for the GPU.
    Block,
    /// Copies and waits for it.
    BlockingCopy,
    /// Gets or gives back memory.
    Memory,
    /// Makes a stream wait for an event.
    WaitEvent,
}

impl CallKind {
    fn of(call: &CallFacts) -> Option<Self> {
        match call {
            _ if !call.is_of_runtime() => None,
            _ if call.is_about_memory() => Some(CallKind::Memory),
            _ if call.is_blocking_copy() => Some(CallKind::BlockingCopy),
            _ if call.is_synchronisation() => Some(CallKind::Block),
            _ if call.waits_for_event => Some(CallKind::WaitEvent),
            _ => None,
        }
    }
}

/// One call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub name: StrId,
    pub start: i64,
    pub end: i64,
    pub kind: CallKind,
}

/// Calls of interest by thread, each thread's in the order they start.
pub(super) struct HostCalls<'a> {
    calls: &'a Calls,
    by_thread: Map<Thread, Vec<Call>>,
}

impl<'a> HostCalls<'a> {
    pub fn of(trace: &Trace, calls: &'a Calls) -> Self {
        let mut by_thread: Map<Thread, Vec<Call>> = Map::default();
        let regions = &trace.regions;
        for row in 0..regions.len() {
            let Some(kind) = calls.of_region(trace, row).and_then(CallKind::of) else { continue };
            let call =
                Call { name: regions.name[row], start: regions.start[row], end: regions.end[row], kind };
            by_thread.entry((regions.process[row], regions.thread[row])).or_default().push(call);
        }
        Self { calls, by_thread }
    }

    /// What a name of a call means.
    pub fn kind(&self, name: StrId) -> Option<CallKind> {
        self.calls.named(name).and_then(CallKind::of)
    }

    /// The most frequent call of a kind.
    pub fn most_frequent(&self, kind: CallKind) -> Option<StrId> {
        let mut counts: Map<StrId, usize> = Map::default();
        for call in self.by_thread.values().flatten().filter(|call| call.kind == kind) {
            *counts.entry(call.name).or_default() += 1;
        }
        counts.into_iter().max_by_key(|&(name, count)| (count, std::cmp::Reverse(name))).map(|(name, _)| name)
    }

    /// The call of that kind in which the thread is at `moment`, give or take `tolerance`.
    pub fn during(&self, thread: Thread, moment: i64, tolerance: i64, kind: CallKind) -> Option<Call> {
        let calls = self.by_thread.get(&thread)?;
        let after = calls.partition_point(|call| call.start <= moment);
        // Calls of one thread do not overlap but may be nested, one in another and no deeper.
        let near = calls[..after].iter().rev().take(4);
        near.copied().find(|call| call.kind == kind && call.end + tolerance >= moment)
    }

    /// Time in calls of a kind between two moments, and the name with most of it.
    pub fn between(&self, thread: Thread, from: i64, to: i64, kind: CallKind) -> (i64, Option<StrId>) {
        let Some(calls) = self.by_thread.get(&thread) else { return (0, None) };
        let first = calls.partition_point(|call| call.start < from).saturating_sub(4);
        let (mut covered, mut reached, mut most) = (0, from, (0, None));
        for call in calls[first..].iter().take_while(|call| call.start < to).filter(|call| call.kind == kind)
        {
            // What a nested call takes is the outer one's already.
            let inside = call.end.min(to) - call.start.max(reached);
            if inside > 0 {
                covered += inside;
                reached = call.end.min(to);
                most = most.max((inside, Some(call.name)));
            }
        }
        (covered, most.1)
    }
}
