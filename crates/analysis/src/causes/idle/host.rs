//! The runtime calls of the threads that launch GPU work: in time order, outermost only.

use std::cell::Cell;
use std::ops::Range;

use trace::{Map, Ns, ProcessId, StrId, ThreadId, Trace};

use super::GpuAccount;
use model::calls::{CallFacts, Calls, Launches};
use model::lanes::GpuRow;

/// A thread of a process; calls without a thread share one thread per process.
pub(super) type Thread = (ProcessId, ThreadId);

/// Host time of `PACES` times the usual time between launches still counts as launching, within these limits.
const LEAST_NS: Ns = 100_000;
const MOST_NS: Ns = 500_000;
const PACES: Ns = 5;
/// Code loading that takes less than this counts as launching.
const LOADING_NS: Ns = 50_000;
/// A launch call this many times longer than usual, and at least `LEAST_NS`, does more than launch.
const LONG_LAUNCH: Ns = 10;

/// One runtime call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub name: StrId,
    pub start: Ns,
    pub end: Ns,
    pub facts: &'static CallFacts,
}

impl Call {
    /// Whether it puts work on the GPU.
    pub fn launches(&self) -> bool {
        self.facts.launches.is_some_and(|what| what != Launches::HostFunction)
    }

    /// Whether it loads code or instantiates a graph, for longer than a launch takes.
    pub fn loads(&self) -> bool {
        (self.facts.loads_code || self.facts.instantiates_graph) && self.end - self.start >= LOADING_NS
    }

    /// Whether a GPU that idles during this call is only waiting for launches.
    fn only_launches(&self) -> bool {
        let facts = self.facts;
        let waits = facts.is_synchronisation() || facts.is_blocking_copy();
        !waits && !facts.is_about_memory() && !self.loads()
    }

    /// Whether it only looks something up or marks a stream.
    fn is_cheap(&self) -> bool {
        self.facts.queries || self.facts.records_event || self.facts.waits_for_event
    }
}

/// A thread's calls and pace.
pub(super) struct HostThread<'a> {
    trace: &'a Trace,
    facts: &'a Calls,
    /// Rows of `regions`, sorted by start; nested calls are left out.
    calls: Vec<u32>,
    /// Host time between two calls counts as launching up to this length.
    pub launching_up_to: Ns,
    /// A launch call that takes longer than this does more than launch.
    pub long_launch: Ns,
    /// For each call, the last call of the run of launches that starts with it, which may be itself.
    launches_on: Vec<u32>,
    /// Calls that make a stream wait for an event.
    event_waits: Vec<u32>,
    /// Where the last look-up ended: gaps come in time order, so the next one ends nearby.
    near: Cell<usize>,
}

/// The threads that launch work.
pub(super) struct HostThreads<'a> {
    threads: Map<Thread, HostThread<'a>>,
    calls: &'a Calls,
}

impl<'a> HostThreads<'a> {
    pub fn of(trace: &'a Trace, gpus: &[GpuAccount], calls: &'a Calls) -> Self {
        let regions = &trace.regions;
        let mut threads: Map<Thread, HostThread> = Map::default();
        for gpu in gpus {
            let mut last = None;
            for launch in gpu.rows.iter().filter_map(GpuRow::launch) {
                let thread = (regions.process[launch], regions.thread[launch]);
                if last != Some(thread) {
                    threads.entry(thread).or_insert_with(|| HostThread::new(trace, calls));
                    last = Some(thread);
                }
            }
        }
        let mut memo: Option<(Thread, bool)> = None;
        for row in 0..regions.len() {
            if calls.of_region(trace, row).is_none() {
                continue;
            }
            let thread = (regions.process[row], regions.thread[row]);
            // Consecutive regions are mostly from one thread.
            if memo.is_some_and(|(last, known)| last == thread && !known) {
                continue;
            }
            let found = threads.get_mut(&thread);
            memo = Some((thread, found.is_some()));
            let Some(found) = found else { continue };
            let (start, end) = (regions.start[row], regions.end[row]);
            let time = |call: u32| (regions.start[call as usize], regions.end[call as usize]);
            match found.calls.last_mut() {
                Some(last) if start < time(*last).1 && end <= time(*last).1 => {}
                // Regions with the same start come shortest first: the longer one encloses the other.
                Some(last) if start == time(*last).0 && end > time(*last).1 => *last = row as u32,
                _ => found.calls.push(row as u32),
            }
        }
        threads.values_mut().for_each(|thread| {
            thread.find_pace();
            thread.find_launching();
        });
        Self { threads, calls }
    }

    /// The same threads with no calls joined.
    #[cfg(test)]
    pub fn one_by_one(mut self) -> Self {
        for thread in self.threads.values_mut() {
            thread.launches_on = (0..thread.calls.len() as u32).collect();
        }
        self
    }

    /// What a call does, by its row in `regions`; `None` if it is not a runtime call.
    pub fn facts(&self, trace: &Trace, call: usize) -> Option<&'static CallFacts> {
        self.calls.of_region(trace, call)
    }

    pub fn get(&self, thread: Thread) -> Option<&HostThread<'a>> {
        self.threads.get(&thread)
    }
}

impl<'a> HostThread<'a> {
    fn new(trace: &'a Trace, facts: &'a Calls) -> Self {
        Self {
            trace,
            facts,
            calls: Vec::new(),
            launching_up_to: 0,
            long_launch: 0,
            launches_on: Vec::new(),
            event_waits: Vec::new(),
            near: Cell::new(0),
        }
    }

    /// A call by its place among the calls of this thread.
    pub fn call(&self, place: usize) -> Call {
        let (regions, row) = (&self.trace.regions, self.calls[place] as usize);
        let facts = self.facts.of_region(self.trace, row).unwrap_or_else(CallFacts::nothing);
        Call { name: regions.name[row], start: regions.start[row], end: regions.end[row], facts }
    }

    fn find_pace(&mut self) {
        // Four seconds are as good as more: both are far beyond what counts as usual.
        let length = |ns: Ns| u32::try_from(ns.max(0)).unwrap_or(u32::MAX);
        let (mut between, mut launches): (Vec<u32>, Vec<u32>) = Default::default();
        let mut last_end = None;
        for call in (0..self.calls.len()).map(|place| self.call(place)).filter(|call| !call.is_cheap()) {
            if call.launches() {
                launches.push(length(call.end - call.start));
                between.extend(last_end.filter(|&end| call.start > end).map(|end| length(call.start - end)));
            }
            last_end = Some(call.end);
        }
        let usual = middle(&mut between).unwrap_or(0);
        self.launching_up_to = (PACES * usual).clamp(LEAST_NS, MOST_NS);
        self.long_launch = (LONG_LAUNCH * middle(&mut launches).unwrap_or(0)).max(LEAST_NS);
    }

    /// Joins calls that only launch: a long gap on many GPUs spans the same calls on each of them.
    fn find_launching(&mut self) {
        self.launches_on = (0..self.calls.len() as u32).collect();
        let mut next: Option<Call> = None;
        for place in (0..self.calls.len()).rev() {
            let call = self.call(place);
            if call.facts.waits_for_event {
                self.event_waits.push(place as u32);
            }
            let on = next.is_some_and(|next| {
                let soon = next.start - call.end <= self.launching_up_to;
                soon && call.only_launches() && next.only_launches()
            });
            if on {
                self.launches_on[place] = self.launches_on[place + 1];
            }
            next = Some(call);
        }
        self.event_waits.reverse();
    }

    /// The last call of the run of launches that starts with this call.
    pub fn launches_up_to(&self, place: usize) -> usize {
        self.launches_on[place] as usize
    }

    /// Calls that overlap the time from `from` to `to`.
    pub fn between(&self, from: Ns, to: Ns) -> Range<usize> {
        let regions = &self.trace.regions;
        let first = self.partition_point(|call| regions.end[call] <= from);
        let last = self.partition_point(|call| regions.start[call] < to);
        first..last.max(first)
    }

    /// The last call that ended by `moment`.
    pub fn before(&self, moment: Ns) -> Option<Call> {
        let ends = &self.trace.regions.end;
        let place = self.partition_point(|call| ends[call] <= moment).checked_sub(1)?;
        Some(self.call(place))
    }

    /// The first call for which `is_before` does not hold, searched from where the last look-up ended.
    /// Calls are rows of `regions` here.
    fn partition_point(&self, is_before: impl Fn(usize) -> bool) -> usize {
        let is_before = |call: &u32| is_before(*call as usize);
        let (calls, near) = (&self.calls, self.near.get().min(self.calls.len()));
        let (mut low, mut high, mut step) = (near, near, 1);
        while low > 0 && !is_before(&calls[low - 1]) {
            high = low - 1;
            low = low.saturating_sub(step);
            step *= 2;
        }
        while high < calls.len() && is_before(&calls[high]) {
            low = high + 1;
            high = (high + step).min(calls.len());
            step *= 2;
        }
        let place = low + calls[low..high].partition_point(is_before);
        self.near.set(place);
        place
    }

    /// Whether the thread made a stream wait for an event between these times.
    pub fn waits_for_event(&self, from: Ns, to: Ns) -> bool {
        let places = self.between(from, to);
        let next = self.event_waits.partition_point(|&wait| (wait as usize) < places.start);
        self.event_waits.get(next).is_some_and(|&wait| (wait as usize) < places.end)
    }
}

fn middle(values: &mut [u32]) -> Option<Ns> {
    let place = values.len() / 2;
    (!values.is_empty()).then(|| Ns::from(*values.select_nth_unstable(place).1))
}
