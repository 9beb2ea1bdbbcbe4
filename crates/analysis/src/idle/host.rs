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
#[derive(Default)]
pub(super) struct HostThread {
    /// Sorted by start; nested calls are left out.
    pub calls: Vec<Call>,
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
pub(super) struct HostThreads {
    threads: Map<Thread, HostThread>,
    calls: Calls,
}

impl HostThreads {
    pub fn of(trace: &Trace, gpus: &[GpuAccount]) -> Self {
        let regions = &trace.regions;
        let mut threads: Map<Thread, HostThread> = Map::default();
        for gpu in gpus {
            let mut last = None;
            for launch in gpu.rows.iter().filter_map(GpuRow::launch) {
                let thread = (regions.process[launch], regions.thread[launch]);
                if last != Some(thread) {
                    threads.entry(thread).or_default();
                    last = Some(thread);
                }
            }
        }
        let calls = Calls::of(trace);
        let mut memo: Option<(Thread, bool)> = None;
        for row in 0..regions.len() {
            let Some(facts) = calls.of_region(trace, row) else { continue };
            let thread = (regions.process[row], regions.thread[row]);
            // Consecutive regions are mostly from one thread.
            if memo.is_some_and(|(last, known)| last == thread && !known) {
                continue;
            }
            let found = threads.get_mut(&thread);
            memo = Some((thread, found.is_some()));
            let Some(found) = found else { continue };
            let (start, end) = (regions.start[row], regions.end[row]);
            match found.calls.last_mut() {
                Some(last) if start < last.end && end <= last.end => {}
                // Regions with the same start come shortest first: the longer one encloses the other.
                Some(last) if start == last.start && end > last.end => {
                    *last = Call { name: regions.name[row], start, end, facts };
                }
                _ => found.calls.push(Call { name: regions.name[row], start, end, facts }),
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

    pub fn get(&self, thread: Thread) -> Option<&HostThread> {
        self.threads.get(&thread)
    }
}

impl HostThread {
    fn find_pace(&mut self) {
        let acting = |call: &&Call| !call.is_cheap();
        let acts: Vec<&Call> = self.calls.iter().filter(acting).collect();
        let mut between: Vec<Ns> = acts
            .windows(2)
            .filter(|pair| pair[1].launches() && pair[1].start > pair[0].end)
            .map(|pair| pair[1].start - pair[0].end)
            .collect();
        let mut launches: Vec<Ns> =
            acts.iter().filter(|call| call.launches()).map(|call| call.end - call.start).collect();
        let usual = middle(&mut between).unwrap_or(0);
        self.launching_up_to = (PACES * usual).clamp(LEAST_NS, MOST_NS);
        self.long_launch = (LONG_LAUNCH * middle(&mut launches).unwrap_or(0)).max(LEAST_NS);
    }

    /// Joins calls that only launch: a long gap on many GPUs spans the same calls on each of them.
    fn find_launching(&mut self) {
        let waits = |(place, call): (usize, &Call)| call.facts.waits_for_event.then_some(place as u32);
        self.event_waits = self.calls.iter().enumerate().filter_map(waits).collect();
        self.launches_on = (0..self.calls.len() as u32).collect();
        for place in (1..self.calls.len()).rev() {
            let (last, call) = (&self.calls[place - 1], &self.calls[place]);
            let on =
                last.only_launches() && call.only_launches() && call.start - last.end <= self.launching_up_to;
            if on {
                self.launches_on[place - 1] = self.launches_on[place];
            }
        }
    }

    /// The last call of the run of launches that starts with this call.
    pub fn launches_up_to(&self, place: usize) -> usize {
        self.launches_on[place] as usize
    }

    /// Calls that overlap the time from `from` to `to`.
    pub fn between(&self, from: Ns, to: Ns) -> Range<usize> {
        let first = self.partition_point(|call| call.end <= from);
        let last = self.partition_point(|call| call.start < to);
        first..last.max(first)
    }

    /// The last call that ended by `moment`.
    pub fn before(&self, moment: Ns) -> Option<&Call> {
        self.calls[..self.partition_point(|call| call.end <= moment)].last()
    }

    /// The first call for which `is_before` does not hold, searched from where the last look-up ended.
    fn partition_point(&self, is_before: impl Fn(&Call) -> bool) -> usize {
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

fn middle(values: &mut [Ns]) -> Option<Ns> {
    let place = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(place).1)
}
