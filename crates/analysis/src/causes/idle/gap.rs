//! One gap, cut into pieces by what the launching thread did.

use model::calls::CallFacts;
use model::lanes::GpuRow;
use trace::{Map, Ns, RowRef, StrId, Table, Trace};

use super::host::{Call, HostThread, HostThreads, Thread};
use super::{Cause, GpuAccount, Piece};

/// Work that starts this long after its launch returned was held up by something else.
const HELD_BACK_NS: Ns = 50_000;

/// An idle GPU starts queued work, or notices an event, within microseconds. Anything slower waits for
/// something that was not recorded.
const QUEUED_NS: Ns = 1_000_000;

/// When the other GPUs of the run were busy.
pub(super) struct Elsewhere<'a> {
    /// GPUs with the same span, including this one.
    same: &'a [usize],
    busy: &'a [Vec<(Ns, Ns)>],
    own: usize,
}

/// No run has more GPUs than this: a file that claims more must not cost quadratic time.
const MOST_OTHERS: usize = 4096;

impl<'a> Elsewhere<'a> {
    pub fn new(same: &'a [usize], busy: &'a [Vec<(Ns, Ns)>], own: usize) -> Self {
        Self { same, busy, own }
    }

    /// Whether another GPU works for most of a stretch.
    fn is_busy(&self, from: Ns, to: Ns) -> bool {
        self.same.iter().filter(|other| **other != self.own).take(MOST_OTHERS).any(|&other| {
            let busy = &self.busy[other];
            let first = busy.partition_point(|one| one.1 <= from);
            let covered: Ns = busy[first..]
                .iter()
                .take_while(|one| one.0 < to)
                .map(|one| one.1.min(to) - one.0.max(from))
                .sum();
            2 * covered > to - from
        })
    }
}

/// For each name, the last GPU that ran it. GPUs are visited one after the other.
pub(super) struct Names(Vec<u32>);

impl Names {
    pub fn of(trace: &Trace) -> Self {
        Self(vec![u32::MAX; trace.strings.len()])
    }

    /// Whether this is the GPU's first work with this name.
    fn is_first(&mut self, gpu: usize, name: StrId) -> bool {
        std::mem::replace(&mut self.0[name.0 as usize], gpu as u32) != gpu as u32
    }
}

/// Cuts the idle time of a GPU into pieces; calls `stretch` with each piece of host code and its thread.
pub(super) fn pieces(
    trace: &Trace,
    host: &HostThreads,
    gpu: &GpuAccount,
    elsewhere: &Elsewhere,
    names: &mut Names,
    stretch: &mut dyn FnMut(&Piece, Thread),
) -> Vec<Piece> {
    let mut found = GapPieces { pieces: Vec::new(), stretch };
    let mut reached = gpu.span.0;
    // The latest launch on each stream so far.
    let mut last_launch: Map<u32, Ns> = Map::default();
    for row in &gpu.rows {
        let first_of_name = names.is_first(elsewhere.own, name_of(trace, row.row));
        let launch = row
            .launch()
            .map(|launch| ((trace.regions.process[launch], trace.regions.thread[launch]), launch));
        let stream = stream_of(trace, row.row);
        if row.work.start > reached {
            let (from, to) = (reached, row.work.start);
            if reached == gpu.span.0 && std::ptr::eq(row, &gpu.rows[0]) {
                found.put(from, to, Cause::BeforeAndAfter, StrId::EMPTY, RowRef::NONE);
            } else {
                let gap = Gap {
                    trace,
                    row,
                    from,
                    to,
                    first_of_name,
                    queued_behind: last_launch.get(&stream).copied(),
                };
                gap.cut(host, launch, elsewhere, &mut found);
            }
        }
        if let Some((_, call)) = launch {
            last_launch.insert(stream, trace.regions.start[call]);
        }
        reached = reached.max(row.work.end);
    }
    found.put(reached, gpu.span.1, Cause::BeforeAndAfter, StrId::EMPTY, RowRef::NONE);
    found.pieces
}

/// The pieces found so far.
struct GapPieces<'a> {
    pieces: Vec<Piece>,
    stretch: &'a mut dyn FnMut(&Piece, Thread),
}

impl GapPieces<'_> {
    fn put(&mut self, start: Ns, end: Ns, cause: Cause, place: StrId, next: RowRef) {
        if end <= start {
            return;
        }
        match self.pieces.last_mut() {
            // Merges adjacent pieces. Host code stays separate until its owner is known.
            Some(last)
                if cause != Cause::HostCode
                    && last.end == start
                    && (last.cause, last.place, last.next) == (cause, place, next) =>
            {
                last.end = end;
            }
            _ => self.pieces.push(Piece { start, end, cause, place, next }),
        }
    }
}

/// A gap in a GPU's work, and the row that ends it.
struct Gap<'a> {
    trace: &'a Trace,
    row: &'a GpuRow,
    from: Ns,
    to: Ns,
    first_of_name: bool,
    /// Launch time of the previous work on the same stream.
    queued_behind: Option<Ns>,
}

impl Gap<'_> {
    fn cut(
        &self,
        host: &HostThreads,
        launch: Option<(Thread, usize)>,
        elsewhere: &Elsewhere,
        found: &mut GapPieces,
    ) {
        let next = self.row.row;
        let Some((thread, call)) = launch else {
            return found.put(self.from, self.to, Cause::NotRecorded, StrId::EMPTY, next);
        };
        let Some(calls) = host.get(thread) else {
            return found.put(self.from, self.to, Cause::NotRecorded, StrId::EMPTY, next);
        };
        let regions = &self.trace.regions;
        let (begin, end) = (regions.start[call], regions.end[call]);
        if end <= self.from {
            let cause = self.queued(calls, begin, elsewhere);
            return found.put(self.from, self.to, cause, StrId::EMPTY, next);
        }
        let issued = begin.clamp(self.from, self.to);
        let before = found.pieces.len();
        self.cut_host_time(calls, thread, issued, elsewhere, found);
        // If a wait is followed by nothing but the launch, it explains the whole gap: the queue had run dry.
        let restarted = found.pieces[before..]
            .last()
            .filter(|piece| matches!(piece.cause, Cause::BlockingCall | Cause::Allocating))
            .copied();
        let facts = host.facts(self.trace, call);
        let is_blocking_copy = facts.is_some_and(CallFacts::is_blocking_copy);
        self.cut_launch(calls, (call, is_blocking_copy), issued, restarted, found);
    }

    /// The cause of a gap before work that was launched before the gap began.
    fn queued(&self, calls: &HostThread, begin: Ns, elsewhere: &Elsewhere) -> Cause {
        let waits = calls.waits_for_event(self.queued_behind.unwrap_or(Ns::MIN), begin);
        match (waits, elsewhere.is_busy(self.from, self.to)) {
            (true, true) => Cause::WaitingElsewhere,
            _ if self.to - self.from > QUEUED_NS => Cause::NotRecorded,
            (true, false) => Cause::WaitingForEvent,
            (false, _) => Cause::StartingQueuedWork,
        }
    }

    /// Cuts the thread's time up to the launch.
    fn cut_host_time(
        &self,
        calls: &HostThread,
        thread: Thread,
        issued: Ns,
        elsewhere: &Elsewhere,
        found: &mut GapPieces,
    ) {
        let next = self.row.row;
        let mut at = self.from;
        // The thread's last call before the stretch between calls.
        let mut last: Option<Call> = calls.before(self.from).filter(|call| call.facts.is_synchronisation());
        let mut places = calls.between(self.from, issued);
        while let Some(first) = places.next() {
            let call = calls.call(first);
            self.between_calls(calls, thread, (at, call.start.min(issued)), last, found);
            at = at.max(call.start.min(issued));
            // Calls that follow and only launch join this piece.
            let until = calls.launches_up_to(first).min(places.end - 1);
            places.start = until + 1;
            let until = calls.call(until);
            let end = until.end.min(issued);
            let (cause, place) = self.in_call(&call, end - at, elsewhere, (at, end));
            found.put(at, end, cause, place, next);
            at = at.max(end);
            last = Some(until);
        }
        self.between_calls(calls, thread, (at, issued), last, found);
    }

    /// Why the GPU is idle while the thread is in a call.
    fn in_call(&self, call: &Call, inside: Ns, elsewhere: &Elsewhere, time: (Ns, Ns)) -> (Cause, StrId) {
        let facts = call.facts;
        if facts.is_synchronisation() || facts.is_blocking_copy() {
            let cause = if inside >= HELD_BACK_NS && elsewhere.is_busy(time.0, time.1) {
                Cause::WaitingElsewhere
            } else {
                Cause::BlockingCall
            };
            return (cause, call.name);
        }
        if facts.is_about_memory() {
            return (Cause::Allocating, call.name);
        }
        if call.loads() {
            return (Cause::FirstCall, call.name);
        }
        (Cause::Launching, StrId::EMPTY)
    }

    /// Why the GPU is idle between two calls of the thread.
    fn between_calls(
        &self,
        calls: &HostThread,
        thread: Thread,
        (from, to): (Ns, Ns),
        last: Option<Call>,
        found: &mut GapPieces,
    ) {
        if to <= from {
            return;
        }
        let next = self.row.row;
        if to - from > calls.launching_up_to {
            found.put(from, to, Cause::HostCode, StrId::EMPTY, next);
            if let Some(piece) = found.pieces.last().copied() {
                (found.stretch)(&piece, thread);
            }
            return;
        }
        // After a wait, or an allocation that let the queue run dry, a short stretch is restart cost.
        let (cause, place) = match last {
            Some(call) if call.facts.is_synchronisation() || call.facts.is_blocking_copy() => {
                (Cause::BlockingCall, call.name)
            }
            Some(call) if call.facts.is_about_memory() => (Cause::Allocating, call.name),
            _ => (Cause::Launching, StrId::EMPTY),
        };
        found.put(from, to, cause, place, next);
    }

    /// Cuts the time from the launch to the start of the work.
    fn cut_launch(
        &self,
        calls: &HostThread,
        (call, is_blocking_copy): (usize, bool),
        issued: Ns,
        restarted: Option<Piece>,
        found: &mut GapPieces,
    ) {
        let regions = &self.trace.regions;
        let (name, next) = (regions.name[call], self.row.row);
        let returned = regions.end[call].clamp(issued, self.to);
        let long = regions.end[call] - regions.start[call] > calls.long_launch;
        let (cause, place) = if is_blocking_copy {
            (Cause::BlockingCall, name)
        } else if long && self.first_of_name {
            (Cause::FirstCall, name)
        } else if let Some(wait) = restarted {
            (wait.cause, wait.place)
        } else {
            (Cause::Launching, StrId::EMPTY)
        };
        // Work that starts long after its launch returned waits for something else.
        let held_back = self.to - returned > HELD_BACK_NS;
        let split = if held_back { returned } else { self.to };
        found.put(issued, split, cause, place, next);
        let behind = self.queued_behind.unwrap_or(Ns::MIN);
        let waits = calls.waits_for_event(behind, regions.start[call]);
        let cause = match waits {
            _ if self.to - split > QUEUED_NS => Cause::NotRecorded,
            true => Cause::WaitingForEvent,
            false => Cause::StartingQueuedWork,
        };
        found.put(split, self.to, cause, StrId::EMPTY, next);
    }
}

fn name_of(trace: &Trace, row: RowRef) -> StrId {
    match row.get() {
        Some((Table::Kernels, i)) => trace.kernels.name[i],
        Some((Table::MemoryCopies, i)) => trace.memory_copies.name[i],
        _ => StrId::EMPTY,
    }
}

fn stream_of(trace: &Trace, row: RowRef) -> u32 {
    match row.get() {
        Some((Table::Kernels, i)) => trace.kernels.stream[i].0,
        Some((Table::MemoryCopies, i)) => trace.memory_copies.stream[i].0,
        _ => u32::MAX,
    }
}
