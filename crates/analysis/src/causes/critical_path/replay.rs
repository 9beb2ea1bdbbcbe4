//! Replays the host operations in order: launches, event records and waits, blocking calls.
//!
//! Each stream remembers its last work and the waits that its next work must respect; an event remembers both
//! from where it was recorded. A blocking call is resolved when it ends: it waited for what its stream, event
//! or device had finished by then. Cost: one step per launch and call, and a sort of launches by call.

use trace::{Map, ProcessId, StrId, StreamId, Trace};

use super::NONE;
use super::build::{end_of, start_of};
use super::clocks::Clocks;
use super::graph::{Dependency, Draft};
use super::host::{Host, Role};
use super::minimum_times::quartile;
use super::order::CallOrder;
use super::rules::{Limits, Rules};
use model::calls::{BlocksFor, wake_up_ns};
use model::order::{Awaited, Effect, Operation, Operations, Step, Timeline};
use model::work::GpuWork;

/// How much the recorded calls explain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CallCounts {
    /// Work whose launch is known.
    pub launched: usize,
    /// Stream waits whose stream or event is not recorded.
    pub unresolved_waits: usize,
    /// Dependencies that the order of calls provides instead.
    pub ordered_waits: usize,
    /// Blocking calls.
    pub blocking: usize,
    /// Blocking calls that returned before the work they wait for was done.
    pub early_returns: usize,
}

/// The result of a replay.
pub(super) struct Replayed {
    pub known: CallCounts,
    /// Dependencies on events, with the work that waits; their minimum times are not known yet.
    pub waits: Vec<(u32, u32)>,
    /// Dependencies on launches, with the launched work; their minimum times are not known yet.
    pub launches: Vec<(u32, u32)>,
}

pub(super) fn replay(
    trace: &Trace,
    works: &GpuWork,
    operations: &Operations,
    clocks: &Clocks,
    host: &mut Host,
    draft: &mut Draft,
) -> Replayed {
    let mut launched: Vec<u32> =
        (0..works.len() as u32).filter(|&w| works.launch[w as usize] != NONE).collect();
    launched.sort_unstable_by_key(|&work| (works.launch[work as usize], work));
    let mut lanes_of_stream: Map<StreamId, Vec<u32>> = Map::default();
    let mut lanes_of_process: Map<ProcessId, Vec<u32>> = Map::default();
    for (number, lane) in works.streams.iter().enumerate() {
        lanes_of_process.entry(lane.process).or_default().push(number as u32);
        if lane.stream.is_some() {
            lanes_of_stream.entry(lane.stream).or_default().push(number as u32);
        }
    }
    // Streams that only wait have no lane of work, but what they wait for still counts.
    let mut lanes = works.streams.len();
    for operation in operations.all.iter().filter(|operation| operation.stream.is_some()) {
        lanes_of_stream.entry(operation.stream).or_insert_with(|| {
            lanes += 1;
            vec![lanes as u32 - 1]
        });
    }
    let mut replay = Replay {
        trace,
        works,
        operations,
        clocks,
        limits: &Rules::built_in().limits,
        host,
        draft,
        known: CallCounts { launched: launched.len(), ..CallCounts::default() },
        launched,
        lanes_of_stream,
        lanes_of_process,
        last: vec![NONE; lanes],
        pending: vec![Vec::new(); lanes],
        marks: vec![None; operations.all.len()],
        blocked: Vec::new(),
        waits: Vec::new(),
        launches: Vec::new(),
        order: CallOrder::default(),
    };
    replay.run();
    replay.heed_order();
    replay.cost_of_calls();
    Replayed { known: replay.known, waits: replay.waits, launches: replay.launches }
}

/// A blocking call that has ended.
struct Blocked {
    /// The dependency that carries its own cost.
    edge: Option<usize>,
    name: StrId,
    duration: i64,
    waited: bool,
}

struct Replay<'a> {
    trace: &'a Trace,
    works: &'a GpuWork,
    operations: &'a Operations,
    clocks: &'a Clocks,
    limits: &'a Limits,
    host: &'a mut Host,
    draft: &'a mut Draft,
    known: CallCounts,
    /// Launched work, sorted by call.
    launched: Vec<u32>,
    lanes_of_stream: Map<StreamId, Vec<u32>>,
    lanes_of_process: Map<ProcessId, Vec<u32>>,
    /// The last work on each lane so far.
    last: Vec<u32>,
    /// The work that the next work on each lane waits for.
    pending: Vec<Vec<u32>>,
    /// The work that each event record comes after.
    marks: Vec<Option<Vec<u32>>>,
    blocked: Vec<Blocked>,
    waits: Vec<(u32, u32)>,
    launches: Vec<(u32, u32)>,
    /// Infers events whose streams are not recorded.
    order: CallOrder,
}

impl Replay<'_> {
    fn run(&mut self) {
        let (regions, works) = (&self.trace.regions, self.works);
        let unlinked: Vec<u32> =
            (0..works.len() as u32).filter(|&work| works.launch[work as usize] == NONE).collect();
        // Calls and starts in recorded order, before clocks were aligned.
        let recorded_start = |&work: &u32| {
            let row = works.row[work as usize] as usize;
            if works.is_copy_row[work as usize] {
                self.trace.memory_copies.start[row]
            } else {
                self.trace.kernels.start[row]
            }
        };
        let alone = unlinked.iter().map(recorded_start).collect();
        let call_of = |work: u32| works.launch[work as usize];
        let launches =
            self.launched.iter().map(|&work| (regions.start[call_of(work) as usize], call_of(work)));
        let all = (0..self.operations.all.len() as u32).collect();
        for step in Timeline::new(self.operations, all, launches.collect(), alone) {
            match step {
                Step::Launch(places) => {
                    let call = call_of(self.launched[places.start]) as usize;
                    self.launch(call, places);
                }
                Step::Begin(number) => self.operate(number),
                Step::Return(number) => self.return_from(number),
                Step::Alone(place) => self.put(unlinked[place]),
            }
        }
    }

    fn launch(&mut self, call: usize, launched: std::ops::Range<usize>) {
        let regions = &self.trace.regions;
        let (process, thread) = (regions.process[call], regions.thread[call]);
        let start = self.clocks.align(process, regions.start[call]);
        let point = self
            .host
            .chain_of(process, thread)
            .map(|chain| self.host.add(self.draft, chain, thread, start, call as u32, Role::Call).0);
        self.order.launch(thread, self.works, &self.launched[launched.clone()]);
        for i in launched {
            let work = self.launched[i];
            if let Some(point) = point {
                let edge = self.draft.add(point, start_of(work), 0, Dependency::Launch);
                self.launches.extend(edge.map(|edge| (edge as u32, work)));
            }
            self.put(work);
        }
    }

    /// Puts work on its lane, after whatever the lane has to wait for.
    fn put(&mut self, work: u32) {
        let lane = self.works.stream[work as usize] as usize;
        for awaited in std::mem::take(&mut self.pending[lane]) {
            let edge = self.draft.add(end_of(awaited), start_of(work), 0, Dependency::Event);
            self.waits.extend(edge.map(|edge| (edge as u32, work)));
        }
        // Work is numbered by start.
        if self.last[lane] == NONE || self.last[lane] < work {
            self.last[lane] = work;
        }
    }

    fn operate(&mut self, number: usize) {
        let operation = self.operations.all[number];
        match operation.effect {
            Effect::RecordsEvent if operation.stream.is_some() => {
                self.marks[number] = Some(self.behind(operation.stream));
            }
            Effect::RecordsEvent => self.order.record(operation.thread),
            Effect::StreamWaits => self.wait(number, &operation),
            _ => {
                let Some(chain) = self.host.chain_of(operation.process, operation.thread) else { return };
                let start = self.clocks.align(operation.process, operation.start);
                self.host.add(self.draft, chain, operation.thread, start, operation.region, Role::Call);
                self.known.blocking += usize::from(operation.effect != Effect::HostMayWait);
            }
        }
    }

    /// Everything that a stream still has to finish.
    fn behind(&self, stream: StreamId) -> Vec<u32> {
        let mut behind = Vec::new();
        for &lane in self.lanes_of_stream.get(&stream).into_iter().flatten() {
            if self.last[lane as usize] != NONE {
                behind.push(self.last[lane as usize]);
            }
            behind.extend(&self.pending[lane as usize]);
        }
        behind
    }

    /// The work that an operation waits for, if rows record it.
    fn mark(&self, number: usize) -> Option<Vec<u32>> {
        match self.operations.awaited(number, StreamId::is_some) {
            Awaited::Record(record) => self.marks[record].clone(),
            Awaited::Stream(stream) => Some(self.behind(stream)),
            Awaited::Nothing => Some(Vec::new()),
            Awaited::Unknown => None,
        }
    }

    fn wait(&mut self, number: usize, operation: &Operation) {
        let mark = self.mark(number);
        let (Some(mark), true) = (mark, operation.stream.is_some()) else {
            self.known.unresolved_waits += 1;
            self.order.wait(operation.thread);
            return;
        };
        let Some(lanes) = self.lanes_of_stream.get(&operation.stream) else { return };
        for &lane in lanes {
            for &work in mark.iter().filter(|&&work| self.works.stream[work as usize] != lane) {
                let pending = &mut self.pending[lane as usize];
                let same_lane = |other: &&mut u32| {
                    self.works.stream[**other as usize] == self.works.stream[work as usize]
                };
                match pending.iter_mut().find(same_lane) {
                    Some(other) => *other = work.max(*other),
                    None => pending.push(work),
                }
            }
        }
    }

    /// Adds the event dependencies inferred from the order of calls.
    fn heed_order(&mut self) {
        let order = std::mem::take(&mut self.order);
        for (awaited, work) in order.agreed(self.works, self.limits.clock_tolerance_ns) {
            let edge = self.draft.add(end_of(awaited), start_of(work), 0, Dependency::Order);
            self.waits.extend(edge.map(|edge| (edge as u32, work)));
            self.known.ordered_waits += 1;
        }
    }

    fn return_from(&mut self, number: usize) {
        let operation = self.operations.all[number];
        let Some(chain) = self.host.chain_of(operation.process, operation.thread) else { return };
        let start = self.clocks.align(operation.process, operation.start);
        let end = self.clocks.align(operation.process, operation.end.max(operation.start));
        let (point, edge) =
            self.host.add(self.draft, chain, operation.thread, end, operation.region, Role::Return);
        let (awaited, kind) = self.awaited(number, &operation, start, end);
        let mut waited = false;
        for work in awaited {
            let done = self.works.end[work as usize];
            waited |= done > start;
            self.draft.add(end_of(work), point, 0, kind);
        }
        for work in self.copied_along(&operation, start, end) {
            let lag = end - self.works.start[work as usize];
            waited |= self.draft.add(start_of(work), point, lag, Dependency::Along).is_some();
        }
        self.blocked.push(Blocked { edge, name: operation.name, duration: end - start, waited });
    }

    /// The work that a blocking call waited for, and how that is known.
    fn awaited(
        &mut self,
        number: usize,
        operation: &Operation,
        start: i64,
        end: i64,
    ) -> (Vec<u32>, Dependency) {
        match operation.effect {
            Effect::HostWaits(BlocksFor::Stream) if operation.stream.is_some() => {
                let lanes = self.lanes_of_stream.get(&operation.stream).cloned().unwrap_or_default();
                let mut done = self.done(operation, &lanes, end);
                let pending = lanes.iter().flat_map(|&lane| self.pending[lane as usize].clone());
                done.extend(pending.filter(|&work| self.works.end[work as usize] <= end));
                (done, Dependency::Sync)
            }
            Effect::HostWaits(BlocksFor::Device) => {
                let lanes = self.lanes_of_process.get(&operation.process).cloned().unwrap_or_default();
                (self.done(operation, &lanes, end), Dependency::Sync)
            }
            Effect::HostWaits(BlocksFor::Event) => match self.mark(number) {
                Some(mark) => {
                    let early = mark.iter().any(|&work| self.is_late(work, end));
                    self.known.early_returns += usize::from(early);
                    (mark.into_iter().filter(|&work| !self.is_late(work, end)).collect(), Dependency::Sync)
                }
                None => (self.found_running(operation, start, end), Dependency::Return),
            },
            Effect::HostWaits(BlocksFor::Stream) => {
                (self.found_running(operation, start, end), Dependency::Return)
            }
            Effect::HostWaits(BlocksFor::OwnWork) => (self.own(operation, start, end), Dependency::Sync),
            Effect::HostMayWait => {
                let own = self.own(operation, start, end);
                if !own.is_empty() || self.has_own(operation) {
                    return (own, Dependency::Return);
                }
                (self.found_running_all(operation, start, end), Dependency::Return)
            }
            Effect::RecordsEvent | Effect::StreamWaits => (Vec::new(), Dependency::Sync),
        }
    }

    fn is_late(&self, work: u32, end: i64) -> bool {
        self.works.end[work as usize] > end.saturating_add(self.limits.clock_tolerance_ns)
    }

    /// The last work on each lane done by `end`; counts an early return if older work was not done.
    fn done(&mut self, operation: &Operation, lanes: &[u32], end: i64) -> Vec<u32> {
        let mut done = Vec::new();
        let mut early = false;
        for &lane in lanes {
            let Some((work, last)) = self.last_done(lane, end) else { continue };
            if let Some(work) = work {
                done.push(work);
            }
            let before = self.works.launch[last as usize] < operation.region;
            early |= work != Some(last) && before && operation.region != NONE;
        }
        self.known.early_returns += usize::from(early);
        done
    }

    /// The last work on a lane done by `end`, and the last work launched on it.
    fn last_done(&self, lane: u32, end: i64) -> Option<(Option<u32>, u32)> {
        let last = self.last[lane as usize];
        if last == NONE {
            return None;
        }
        if !self.is_late(last, end) {
            return Some((Some(last), last));
        }
        let works = &self.works.streams[lane as usize].work;
        let until = works.partition_point(|&work| work <= last);
        let done = works[..until].partition_point(|&work| !self.is_late(work, end));
        let work = done.checked_sub(1).map(|place| works[place]).filter(|&work| !self.is_late(work, end));
        Some((work, last))
    }

    /// The work launched by a call or by calls nested in it.
    fn own_launches(&self, operation: &Operation) -> &[u32] {
        if operation.region == NONE {
            return &[];
        }
        let (works, regions) = (self.works, &self.trace.regions);
        let call_of = |work: u32| works.launch[work as usize];
        let from = self.launched.partition_point(|&work| call_of(work) < operation.region);
        let inside = |&work: &u32| {
            let call = call_of(work) as usize;
            regions.start[call] <= operation.end && regions.thread[call] == operation.thread
        };
        let count = self.launched[from..].iter().take_while(|work| inside(work)).count();
        &self.launched[from..from + count]
    }

    fn has_own(&self, operation: &Operation) -> bool {
        !self.own_launches(operation).is_empty()
    }

    fn own(&self, operation: &Operation, start: i64, end: i64) -> Vec<u32> {
        let done = |work: &&u32| (start..=end).contains(&self.works.end[**work as usize]);
        self.own_launches(operation).iter().filter(done).copied().collect()
    }

    /// Copies that took most of a call's time and ended just after it returned: pageable memory is copied in
    /// pieces while the host waits, but not for the last piece.
    fn copied_along(&self, operation: &Operation, start: i64, end: i64) -> Vec<u32> {
        if !matches!(operation.effect, Effect::HostMayWait | Effect::HostWaits(BlocksFor::OwnWork)) {
            return Vec::new();
        }
        let along = |work: &&u32| {
            let work = **work as usize;
            let (from, done) = (self.works.start[work], self.works.end[work]);
            let last_piece = done > end && done - end <= wake_up_ns();
            self.works.is_copy_row[work] && from >= start && last_piece && 2 * (end - from) >= end - start
        };
        self.own_launches(operation).iter().filter(along).copied().collect()
    }

    /// The work that was running when a call began and was the last to end before it returned.
    fn found_running(&self, operation: &Operation, start: i64, end: i64) -> Vec<u32> {
        let lanes = self.lanes_of_process.get(&operation.process).into_iter().flatten();
        let done = lanes.filter_map(|&lane| self.last_done(lane, end)?.0);
        let last = done.max_by_key(|&work| self.works.end[work as usize]);
        last.filter(|&work| self.works.end[work as usize] > start).into_iter().collect()
    }

    /// [`Self::found_running`], if no older work was still running and the call returned soon after.
    fn found_running_all(&self, operation: &Operation, start: i64, end: i64) -> Vec<u32> {
        let lanes = self.lanes_of_process.get(&operation.process).into_iter().flatten();
        let runs_on =
            |&lane: &u32| matches!(self.last_done(lane, end), Some((work, last)) if work != Some(last));
        if lanes.copied().any(|lane| runs_on(&lane)) {
            return Vec::new();
        }
        let mut found = self.found_running(operation, start, end);
        found.retain(|&work| end - self.works.end[work as usize] <= wake_up_ns());
        found
    }

    /// The own cost of a call that waited is the usual duration of such calls that did not wait.
    fn cost_of_calls(&mut self) {
        let mut free: Map<StrId, Vec<i64>> = Map::default();
        for call in self.blocked.iter().filter(|call| !call.waited) {
            free.entry(call.name).or_default().push(call.duration);
        }
        let usual: Map<StrId, i64> =
            free.into_iter().filter_map(|(name, mut costs)| Some((name, quartile(&mut costs)?))).collect();
        for call in self.blocked.iter().filter(|call| call.waited) {
            if let Some(edge) = call.edge {
                let cost = usual.get(&call.name).copied().unwrap_or(self.limits.call_cost_ns);
                self.draft.set_least(edge, cost);
            }
        }
    }
}
