//! Host threads as chains of points: where they launch work, and where blocking calls begin and end.
//!
//! Everything a thread does between two of its points keeps its observed duration. Threads that torch links
//! as forward and backward take turns, so they form one chain.

use trace::{LinkKind, Map, ProcessId, StrId, Table, ThreadId, Trace};

use super::NONE;
use super::clocks::Clocks;
use super::graph::{Dependency, Draft};
use model::profiler::{ProfilerSpans, Span};

/// The kind of a host point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Begin,
    Call,
    Return,
    End,
}

/// A host thread, or several that take turns.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub process: ProcessId,
    /// Start of its first region and end of its last.
    first: i64,
    last: i64,
    /// Its latest point so far.
    latest: u32,
}

/// The host side of the graph.
pub(super) struct Host {
    pub chains: Vec<Chain>,
    of_thread: Vec<u32>,
    of_process: Map<ProcessId, u32>,
    /// The first host point of the graph; host points are consecutive.
    base: u32,
    pub chain: Vec<u32>,
    pub thread: Vec<ThreadId>,
    /// The call's row in `regions`.
    pub region: Vec<u32>,
    pub role: Vec<Role>,
}

impl Host {
    /// The threads of a trace, without points.
    pub fn of(trace: &Trace, profiler: &ProfilerSpans, clocks: &Clocks, counted: &[bool], base: u32) -> Self {
        let mut host = Self {
            chains: Vec::new(),
            of_thread: vec![NONE; trace.threads.len()],
            of_process: Map::default(),
            base,
            chain: Vec::new(),
            thread: Vec::new(),
            region: Vec::new(),
            role: Vec::new(),
        };
        let turns = turns(trace);
        let regions = &trace.regions;
        for row in 0..regions.len() {
            let process = regions.process[row];
            if process.get().is_some_and(|process| !counted[process])
                || profiler.of_region(trace, row) == Span::Profiler
            {
                continue;
            }
            let start = clocks.align(process, regions.start[row]);
            let end = clocks.align(process, regions.end[row]);
            let chain = host.number(process, regions.thread[row], &turns);
            let chain = &mut host.chains[chain as usize];
            chain.first = chain.first.min(start);
            chain.last = chain.last.max(end);
        }
        host
    }

    fn number(&mut self, process: ProcessId, thread: ThreadId, turns: &[u32]) -> u32 {
        let slot = match thread.get() {
            Some(thread) => &mut self.of_thread[turns[thread] as usize],
            None => self.of_process.entry(process).or_insert(NONE),
        };
        if *slot == NONE {
            *slot = self.chains.len() as u32;
            self.chains.push(Chain { process, first: i64::MAX, last: i64::MIN, latest: NONE });
        }
        let chain = *slot;
        if let Some(thread) = thread.get() {
            self.of_thread[thread] = chain;
        }
        chain
    }

    /// The chain of a thread.
    pub fn chain_of(&self, process: ProcessId, thread: ThreadId) -> Option<u32> {
        let chain = match thread.get() {
            Some(thread) => self.of_thread[thread],
            None => *self.of_process.get(&process)?,
        };
        (chain != NONE).then_some(chain)
    }

    /// The index among host points, if the point belongs to a host thread.
    pub fn place(&self, point: u32) -> Option<usize> {
        let place = point.checked_sub(self.base)? as usize;
        (place < self.chain.len()).then_some(place)
    }

    /// Adds the next point of a chain; returns it with its dependency on the previous one.
    pub fn add(
        &mut self,
        draft: &mut Draft,
        chain: u32,
        thread: ThreadId,
        time: i64,
        region: u32,
        role: Role,
    ) -> (u32, Option<usize>) {
        if self.chains[chain as usize].latest == NONE && role != Role::Begin {
            let first = self.chains[chain as usize].first.min(time);
            self.add(draft, chain, thread, first, NONE, Role::Begin);
        }
        // A thread's points are in order: a call that seems to start inside a blocking call comes after it.
        let previous = self.chains[chain as usize].latest;
        let time = if previous == NONE { time } else { time.max(draft.time[previous as usize]) };
        let point = draft.point(time);
        let edge = if previous == NONE {
            None
        } else {
            let elapsed = time - draft.time[previous as usize];
            draft.add(previous, point, elapsed, Dependency::Host)
        };
        self.chains[chain as usize].latest = point;
        self.chain.push(chain);
        self.thread.push(thread);
        self.region.push(region);
        self.role.push(role);
        (point, edge)
    }

    /// Ends every chain that has points, and ties its begin to a call of another thread of the process.
    pub fn finish(&mut self, draft: &mut Draft) {
        let with_points: Vec<u32> = (0..self.chains.len() as u32)
            .filter(|&chain| self.chains[chain as usize].latest != NONE)
            .collect();
        let mut chains_of: Map<ProcessId, usize> = Map::default();
        with_points.iter().for_each(|&c| *chains_of.entry(self.chains[c as usize].process).or_default() += 1);
        if chains_of.values().any(|&chains| chains > 1) {
            self.hand_over(draft, &chains_of);
        }
        for chain in with_points {
            let last = self.chains[chain as usize].last;
            let thread = self.thread[(self.chains[chain as usize].latest - self.base) as usize];
            self.add(draft, chain, thread, last, NONE, Role::End);
        }
    }

    fn hand_over(&self, draft: &mut Draft, chains_of: &Map<ProcessId, usize>) {
        // Calls were added in order of start, process by process on one clock.
        let mut calls: Map<ProcessId, Vec<(i64, u32)>> = Map::default();
        let mut begins = Vec::new();
        for place in 0..self.chain.len() {
            let process = self.chains[self.chain[place] as usize].process;
            let point = self.base + place as u32;
            if chains_of.get(&process).is_some_and(|&chains| chains > 1) {
                match self.role[place] {
                    Role::Call => {
                        calls.entry(process).or_default().push((draft.time[point as usize], point));
                    }
                    Role::Begin => begins.push((process, point)),
                    _ => {}
                }
            }
        }
        calls.values_mut().for_each(|calls| calls.sort_unstable());
        for (process, begin) in begins {
            let Some(calls) = calls.get(&process) else { continue };
            let time = draft.time[begin as usize];
            let own = self.chain[(begin - self.base) as usize];
            let before = calls.partition_point(|&(at, _)| at <= time);
            let other =
                calls[..before].iter().rev().find(|(_, p)| self.chain[(p - self.base) as usize] != own);
            if let Some(&(at, point)) = other {
                draft.add(point, begin, time - at, Dependency::HandOff);
            }
        }
    }
}

/// For each thread, the representative of the threads it takes turns with.
fn turns(trace: &Trace) -> Vec<u32> {
    let mut stands_for: Vec<u32> = (0..trace.threads.len() as u32).collect();
    fn root(stands_for: &mut [u32], mut thread: u32) -> u32 {
        while stands_for[thread as usize] != thread {
            stands_for[thread as usize] = stands_for[stands_for[thread as usize] as usize];
            thread = stands_for[thread as usize];
        }
        thread
    }
    let links = &trace.links;
    for i in 0..links.len() {
        if links.kind[i] != LinkKind::ForwardBackward {
            continue;
        }
        let thread =
            |row: trace::RowRef| row.row_of(Table::Regions).and_then(|row| trace.regions.thread[row].get());
        if let (Some(forward), Some(backward)) = (thread(links.from[i]), thread(links.to[i])) {
            let forward = root(&mut stands_for, forward as u32);
            let backward = root(&mut stands_for, backward as u32);
            stands_for[forward.max(backward) as usize] = forward.min(backward);
        }
    }
    (0..stands_for.len() as u32).map(|thread| root(&mut stands_for, thread)).collect()
}

/// A stretch of a thread and the innermost region that covers it.
pub(super) struct Covered {
    pub start: i64,
    pub end: i64,
    pub name: Option<StrId>,
}

/// Splits stretches of threads by the innermost region that covers them. `wanted` has the stretches of each
/// thread in time order; the result has the pieces in the same order. The profiler's own spans cover nothing.
pub(super) fn innermost(
    trace: &Trace,
    profiler: &ProfilerSpans,
    clocks: &Clocks,
    wanted: &Map<ThreadId, Vec<(i64, i64)>>,
) -> Map<ThreadId, Vec<Covered>> {
    struct Sweep<'a> {
        wanted: &'a [(i64, i64)],
        at: usize,
        /// Time before this is assigned already.
        until: i64,
        open: Vec<(i64, StrId)>,
        pieces: Vec<Covered>,
    }
    impl Sweep<'_> {
        /// Assigns the time up to `to`.
        fn tell(&mut self, to: i64, name: Option<StrId>) {
            while let Some(&(start, end)) = self.wanted.get(self.at) {
                let (from, upto) = (start.max(self.until), end.min(to));
                if from < upto {
                    match self.pieces.last_mut() {
                        Some(last) if last.end == from && last.name == name && from > start => {
                            last.end = upto
                        }
                        _ => self.pieces.push(Covered { start: from, end: upto, name }),
                    }
                }
                if end > to {
                    break;
                }
                self.at += 1;
            }
            self.until = self.until.max(to);
        }

        /// Closes regions that end by `to`, then assigns the time up to it.
        fn advance(&mut self, to: i64) {
            while let Some(&(end, name)) = self.open.last() {
                if end > to {
                    break;
                }
                if end > self.until {
                    self.tell(end, Some(name));
                }
                self.open.pop();
            }
            if to > self.until {
                let name = self.open.last().map(|&(_, name)| name);
                self.tell(to, name);
            }
        }
    }
    let mut sweeps: Map<ThreadId, Sweep> = wanted
        .iter()
        .map(|(&thread, wanted)| {
            // At least one piece for each stretch.
            let pieces = Vec::with_capacity(wanted.len());
            let sweep = Sweep { wanted, at: 0, until: i64::MIN, open: Vec::new(), pieces };
            (thread, sweep)
        })
        .collect();
    let regions = &trace.regions;
    let mut row = 0;
    while row < regions.len() {
        // Equal starts come shortest first and the longest is outermost, so take such a run in reverse.
        let mut run_end = row + 1;
        while run_end < regions.len() && regions.start[run_end] == regions.start[row] {
            run_end += 1;
        }
        for row in (row..run_end).rev() {
            let Some(sweep) = sweeps.get_mut(&regions.thread[row]) else { continue };
            if sweep.at == sweep.wanted.len() || !profiler.is_program(trace, row) {
                continue;
            }
            let start = clocks.align(regions.process[row], regions.start[row]);
            let end = clocks.align(regions.process[row], regions.end[row]);
            sweep.advance(start);
            if end > start {
                sweep.open.push((end, regions.name[row]));
            }
        }
        row = run_end;
    }
    sweeps
        .into_iter()
        .map(|(thread, mut sweep)| {
            sweep.advance(i64::MAX);
            (thread, sweep.pieces)
        })
        .collect()
}
