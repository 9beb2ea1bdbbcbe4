//! Changes to a run beyond a factor: work with another duration, removed host time, removed waits. Savings
//! come from propagation, so no finding promises more than removing its cause would give.

use std::sync::{Mutex, OnceLock, PoisonError};

use rayon::prelude::*;
use trace::{Map, Ns, ProcessId, RowRef, StrId, Table, ThreadId, Trace};

use super::NONE;
use super::build::{self, GraphInputs, Run};
use super::graph::{Dependency, POINTS_AT_ONCE};
use super::host::Role;
use super::walk::{self, Path};

/// What changes.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// New durations of kernels and copies.
    work: Vec<(RowRef, Ns)>,
    /// Host time that is removed.
    host: Vec<(ProcessId, ThreadId, Ns, Ns)>,
    /// Blocking calls that return immediately, by name.
    returns_at_once: Vec<StrId>,
    /// Work that no longer waits for events.
    without_event_waits: Vec<RowRef>,
    /// Work that starts as soon as it is launched.
    without_launch_latency: Vec<RowRef>,
}

impl Scenario {
    /// A kernel or copy takes this long instead.
    pub fn work_takes(&mut self, row: RowRef, ns: Ns) {
        self.work.push((row, ns));
    }

    /// A thread does not spend this time.
    pub fn host_skips(&mut self, process: ProcessId, thread: ThreadId, from: Ns, to: Ns) {
        if to > from {
            self.host.push((process, thread, from, to));
        }
    }

    /// Calls of this name do not wait.
    pub fn returns_at_once(&mut self, call: StrId) {
        self.returns_at_once.push(call);
    }

    /// This work does not wait for events of other streams.
    pub fn without_event_wait(&mut self, row: RowRef) {
        self.without_event_waits.push(row);
    }

    /// This work starts as soon as it is launched.
    pub fn without_launch_latency(&mut self, row: RowRef) {
        self.without_launch_latency.push(row);
    }

    /// Both scenarios combined.
    pub fn and(&self, other: &Scenario) -> Scenario {
        let mut both = self.clone();
        both.work.extend(&other.work);
        both.host.extend(&other.host);
        both.returns_at_once.extend(&other.returns_at_once);
        both.without_event_waits.extend(&other.without_event_waits);
        both.without_launch_latency.extend(&other.without_launch_latency);
        both
    }
}

/// A run that can answer what-if questions.
pub struct Engine<'a> {
    pub(super) trace: &'a Trace,
    pub(super) run: Run,
    /// The path is only walked on demand: savings do not need it.
    pub(super) path: OnceLock<Path>,
    /// The work of every kernel and of every copy; only scenarios use rows.
    of_rows: OnceLock<(Vec<u32>, Vec<u32>)>,
    end: Ns,
    /// Buffers to reuse for later questions.
    buffers: Mutex<Vec<Vec<Ns>>>,
}

impl<'a> Engine<'a> {
    /// Builds the graph of a run; `None` if there is no work.
    pub fn of(run: &'a model::Run<'a>) -> Option<Self> {
        Some(Self::with(run.trace, build::build(GraphInputs::of_run(run), false)?, OnceLock::new()))
    }

    /// A run whose graph is already built.
    pub(super) fn with(trace: &'a Trace, run: Run, path: OnceLock<Path>) -> Self {
        let end = run.graph.time.par_iter().with_min_len(POINTS_AT_ONCE).copied().max().unwrap_or(0);
        Self { trace, run, path, of_rows: OnceLock::new(), end, buffers: Mutex::default() }
    }

    /// The path of the run.
    pub(super) fn path(&self) -> &Path {
        self.path.get_or_init(|| walk::walk(self.trace, &self.run))
    }

    /// How much sooner the run would end.
    pub fn saving(&self, scenario: &Scenario) -> Ns {
        self.sooner(&Changes::of(self, scenario)).max(0)
    }

    /// How much sooner the run would end; negative if it ends later.
    pub(super) fn sooner(&self, changes: &Changes) -> Ns {
        let free = |buffers: &mut Vec<Vec<Ns>>| buffers.pop().unwrap_or_default();
        let mut times = free(&mut self.buffers.lock().unwrap_or_else(PoisonError::into_inner));
        self.run.graph.propagate_into(&mut times, |edge, to| changes.weight(self, edge, to));
        let end = times.iter().copied().max().unwrap_or(0);
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).push(times);
        self.end - end
    }

    /// Work that waits for an event of another stream: (awaited, waiting).
    pub fn event_waits(&self) -> Vec<(RowRef, RowRef)> {
        let (graph, works) = (&self.run.graph, &self.run.works);
        let mut found = Vec::new();
        for work in 0..works.len() {
            for edge in graph.dependencies(2 * work) {
                let waits = matches!(graph.kind[edge], Dependency::Event | Dependency::Order);
                let from = graph.from[edge] as usize;
                if waits && from < 2 * works.len() && works.stream[from / 2] != works.stream[work] {
                    found.push((self.row(from / 2), self.row(work)));
                }
            }
        }
        found
    }

    fn row(&self, work: usize) -> RowRef {
        let table = if self.run.works.is_copy_row[work] { Table::MemoryCopies } else { Table::Kernels };
        RowRef::new(table, self.run.works.row[work] as usize)
    }

    fn work_of(&self, row: RowRef) -> Option<usize> {
        let (of_kernel, of_copy) = self.of_rows.get_or_init(|| {
            let works = &self.run.works;
            let mut of_kernel = vec![NONE; self.trace.kernels.len()];
            let mut of_copy = vec![NONE; self.trace.memory_copies.len()];
            for work in 0..works.len() {
                let of_row = if works.is_copy_row[work] { &mut of_copy } else { &mut of_kernel };
                of_row[works.row[work] as usize] = work as u32;
            }
            (of_kernel, of_copy)
        });
        let work = match row.get()? {
            (Table::Kernels, row) => of_kernel[row],
            (Table::MemoryCopies, row) => of_copy[row],
            _ => return None,
        };
        (work != NONE).then_some(work as usize)
    }
}

/// A scenario in terms of graph points.
pub(super) struct Changes {
    /// How much less time each piece of work takes; empty if none changes.
    pub less: Vec<Ns>,
    /// Removed host time by chain: (start, end, total removed before the start).
    skipped: Map<u32, Vec<(Ns, Ns, Ns)>>,
    /// The share of that time that is removed.
    pub skipped_share: f64,
    returns_at_once: Vec<StrId>,
    /// Calls that do not wait: rows of `regions`, sorted.
    pub no_wait_in: Vec<u32>,
    no_event_wait: Vec<bool>,
    no_latency: Vec<bool>,
    /// The work whose launches are scaled, and the factor.
    pub launches: Option<(Vec<bool>, f64)>,
}

/// The weight of a removed dependency.
const GONE: Ns = Ns::MIN / 4;

impl Changes {
    fn of(engine: &Engine, scenario: &Scenario) -> Self {
        let works = &engine.run.works;
        let marked = |rows: &[RowRef]| {
            let mut marked = vec![false; if rows.is_empty() { 0 } else { works.len() }];
            rows.iter().filter_map(|&row| engine.work_of(row)).for_each(|work| marked[work] = true);
            marked
        };
        let mut less = vec![0; if scenario.work.is_empty() { 0 } else { works.len() }];
        for &(row, ns) in &scenario.work {
            if let Some(work) = engine.work_of(row) {
                less[work] = (works.duration(work) - ns).max(less[work]);
            }
        }
        let mut changes = Self {
            less,
            returns_at_once: scenario.returns_at_once.clone(),
            no_event_wait: marked(&scenario.without_event_waits),
            no_latency: marked(&scenario.without_launch_latency),
            ..Self::none()
        };
        changes.skip(engine, scenario.host.iter().copied());
        changes
    }

    /// No changes.
    pub fn none() -> Self {
        Self {
            less: Vec::new(),
            skipped: Map::default(),
            skipped_share: 1.0,
            returns_at_once: Vec::new(),
            no_wait_in: Vec::new(),
            no_event_wait: Vec::new(),
            no_latency: Vec::new(),
            launches: None,
        }
    }

    /// Removes host time.
    pub fn skip(&mut self, engine: &Engine, host: impl Iterator<Item = (ProcessId, ThreadId, Ns, Ns)>) {
        let mut by_chain: Map<u32, Vec<(Ns, Ns)>> = Map::default();
        for (process, thread, from, to) in host {
            if let Some(chain) = engine.run.host.chain_of(process, thread) {
                let align = |time| engine.run.clocks.align(process, time);
                by_chain.entry(chain).or_default().push((align(from), align(to)));
            }
        }
        self.skipped = by_chain.into_iter().map(|(chain, times)| (chain, summed(times))).collect();
    }

    fn weight(&self, engine: &Engine, edge: usize, to: usize) -> Ns {
        let graph = &engine.run.graph;
        // A wait for something unrecorded stays as long as it was.
        let beyond = engine.run.not_recorded.of_edge(edge);
        let weight = graph.weight[edge] - beyond;
        let marked = |marks: &[bool]| marks.get(to / 2).copied().unwrap_or(false);
        let takes = match graph.kind[edge] {
            Dependency::Work | Dependency::Transfer => {
                weight - self.less.get(to / 2).copied().unwrap_or(0).min(weight.max(0))
            }
            Dependency::Along => {
                let work = graph.from[edge] as usize / 2;
                weight - self.less.get(work).copied().unwrap_or(0).min(weight.max(0))
            }
            Dependency::Host => {
                let skipped = self.skipped_in(engine, edge, to).min(weight.max(0));
                weight - (skipped as f64 * self.skipped_share).round() as Ns
            }
            Dependency::Event | Dependency::Order | Dependency::Nearest if marked(&self.no_event_wait) => {
                GONE
            }
            // Removed work has no gap before it either.
            Dependency::Stream | Dependency::Graph if self.is_gone(engine, to) => weight.min(0),
            Dependency::Launch if marked(&self.no_latency) => weight.min(0),
            Dependency::Launch => match &self.launches {
                Some((launched, factor)) if launched[to / 2] => (weight as f64 * factor).round() as Ns,
                _ => weight,
            },
            Dependency::Sync | Dependency::Return if self.is_free(engine, to) => GONE,
            _ => weight,
        };
        takes + beyond
    }

    /// Whether a point is the start of work whose duration is now zero.
    fn is_gone(&self, engine: &Engine, point: usize) -> bool {
        let works = &engine.run.works;
        let (work, is_start) = (point / 2, point.is_multiple_of(2));
        is_start && self.less.get(work).is_some_and(|&less| less > 0 && less >= works.duration(work))
    }

    /// Whether a point is the return of a call that does not wait.
    fn is_free(&self, engine: &Engine, point: usize) -> bool {
        let host = &engine.run.host;
        if self.returns_at_once.is_empty() && self.no_wait_in.is_empty() {
            return false;
        }
        host.place(point as u32).is_some_and(|place| {
            let region = host.region[place];
            host.role[place] == Role::Return
                && region != NONE
                && (self.no_wait_in.binary_search(&region).is_ok()
                    || self.returns_at_once.contains(&engine.trace.regions.name[region as usize]))
        })
    }

    /// Host time removed between the two points of a dependency.
    fn skipped_in(&self, engine: &Engine, edge: usize, to: usize) -> Ns {
        if self.skipped.is_empty() {
            return 0;
        }
        let (graph, host) = (&engine.run.graph, &engine.run.host);
        let Some(place) = host.place(to as u32) else { return 0 };
        let Some(skipped) = self.skipped.get(&host.chain[place]) else { return 0 };
        let up_to = |moment: Ns| {
            let after = skipped.partition_point(|skip| skip.0 < moment);
            let Some(&(start, end, before)) = after.checked_sub(1).map(|place| &skipped[place]) else {
                return 0;
            };
            before + moment.min(end) - start
        };
        up_to(graph.time[to]) - up_to(graph.time[graph.from[edge] as usize])
    }
}

/// Sorted times without overlaps, each with the total before it.
fn summed(mut times: Vec<(Ns, Ns)>) -> Vec<(Ns, Ns, Ns)> {
    times.sort_unstable();
    let mut merged: Vec<(Ns, Ns, Ns)> = Vec::new();
    for (start, end) in times {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => {
                let before = merged.last().map_or(0, |last| last.2 + last.1 - last.0);
                merged.push((start, end, before));
            }
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_summed_without_counting_twice() {
        assert_eq!(summed(vec![(5, 10), (0, 2), (8, 12)]), [(0, 2, 0), (5, 12, 2)]);
    }
}
