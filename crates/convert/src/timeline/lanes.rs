//! Lanes: each row has a place; slices that would cross there get additional lanes, with unchanged times.

use trace::{AgentId, AgentKind, Map, MemoryCopy, ProcessId, QueueId, StreamId, Table, ThreadId, Trace};

/// Where a row belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LaneKey {
    /// A host thread.
    Thread(ProcessId, ThreadId),
    /// A stream of a GPU.
    Stream(ProcessId, AgentId, StreamId),
    /// A queue of a GPU.
    Queue(ProcessId, AgentId, QueueId),
    /// Copies of a GPU without a known stream or queue.
    Copies(ProcessId, AgentId),
    /// Allocations and frees on a device.
    Allocations(ProcessId, AgentId),
    /// Waits that are not host calls.
    Waits(ProcessId, StreamId),
}

impl LaneKey {
    /// The process.
    pub fn process(self) -> ProcessId {
        match self {
            LaneKey::Thread(process, _)
            | LaneKey::Stream(process, ..)
            | LaneKey::Queue(process, ..)
            | LaneKey::Copies(process, _)
            | LaneKey::Allocations(process, _)
            | LaneKey::Waits(process, _) => process,
        }
    }

    /// The device, if it is on one.
    pub fn agent(self) -> Option<AgentId> {
        match self {
            LaneKey::Stream(_, agent, _)
            | LaneKey::Queue(_, agent, _)
            | LaneKey::Copies(_, agent)
            | LaneKey::Allocations(_, agent) => Some(agent).filter(|agent| agent.is_some()),
            LaneKey::Thread(..) | LaneKey::Waits(..) => None,
        }
    }

    /// Whether slices may lie inside each other, as calls do.
    fn nests(self) -> bool {
        matches!(self, LaneKey::Thread(..))
    }
}

/// A lane of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    /// Number over all lanes, in the order of first use.
    pub number: usize,
    /// The lane's place.
    pub place: LaneKey,
    /// 0 for the place itself, then its additional lanes for slices that would cross.
    pub beside: usize,
}

/// A lane with the ends of its open slices, the innermost last.
struct Open {
    number: usize,
    ends: Vec<i64>,
}

/// The lanes of the rows placed so far.
pub(crate) struct Lanes<'a> {
    trace: &'a Trace,
    by_queue: bool,
    places: Map<LaneKey, u32>,
    open: Vec<Vec<Open>>,
    count: usize,
}

impl<'a> Lanes<'a> {
    /// No lanes yet. `by_queue` puts GPU work on its queue, otherwise on its stream, if known.
    pub fn new(trace: &'a Trace, by_queue: bool) -> Self {
        Self { trace, by_queue, places: Map::default(), open: Vec::new(), count: 0 }
    }

    /// The lane for a slice. Slices must come ordered by start, the longest first.
    pub fn take(&mut self, place: LaneKey, start: i64, end: i64) -> Lane {
        let fresh = self.open.len() as u32;
        let slot = *self.places.entry(place).or_insert(fresh) as usize;
        if slot == self.open.len() {
            self.open.push(Vec::new());
        }
        let lanes = &mut self.open[slot];
        for (beside, lane) in lanes.iter_mut().enumerate() {
            while lane.ends.last().is_some_and(|open| *open <= start) {
                lane.ends.pop();
            }
            if lane.ends.last().is_none_or(|open| place.nests() && *open >= end) {
                lane.ends.push(end);
                return Lane { number: lane.number, place, beside };
            }
        }
        lanes.push(Open { number: self.count, ends: vec![end] });
        self.count += 1;
        Lane { number: self.count - 1, place, beside: lanes.len() - 1 }
    }

    /// The place of a row; `None` for a row without a lane.
    pub fn place(&self, table: Table, row: usize) -> Option<LaneKey> {
        let trace = self.trace;
        Some(match table {
            Table::Regions => LaneKey::Thread(trace.regions.process[row], trace.regions.thread[row]),
            Table::Kernels => {
                let kernels = &trace.kernels;
                let (process, agent) = (kernels.process[row], kernels.agent[row]);
                let none = LaneKey::Stream(process, agent, StreamId::NONE);
                self.device(process, agent, kernels.stream[row], kernels.queue[row]).unwrap_or(none)
            }
            Table::MemoryCopies => {
                let copy = trace.memory_copies.get(row);
                let agent = gpu_of(trace, &copy);
                let none = LaneKey::Copies(copy.process, agent);
                self.device(copy.process, agent, copy.stream, copy.queue).unwrap_or(none)
            }
            Table::MemoryAllocations => {
                let rows = &trace.memory_allocations;
                LaneKey::Allocations(rows.process[row], rows.agent[row])
            }
            Table::Syncs => {
                // Synchronising calls are already among the regions.
                if is_call(trace, row) {
                    return None;
                }
                LaneKey::Waits(trace.syncs.process[row], trace.syncs.stream[row])
            }
            Table::Samples => return None,
        })
    }

    fn device(
        &self,
        process: ProcessId,
        agent: AgentId,
        stream: StreamId,
        queue: QueueId,
    ) -> Option<LaneKey> {
        let by_stream = stream.is_some().then_some(LaneKey::Stream(process, agent, stream));
        let by_queue = queue.is_some().then_some(LaneKey::Queue(process, agent, queue));
        if self.by_queue { by_queue.or(by_stream) } else { by_stream.or(by_queue) }
    }
}

/// Whether a synchronisation is a host call.
pub(crate) fn is_call(trace: &Trace, sync: usize) -> bool {
    let kind = trace.strings.get(trace.syncs.kind[sync]);
    ["hip", "cuda", "cu"].iter().any(|api| kind.starts_with(api))
}

/// The GPU that a copy is shown on: its destination, unless that is a host.
pub(crate) fn gpu_of(trace: &Trace, copy: &MemoryCopy) -> AgentId {
    let is_gpu = |agent: AgentId| agent.get().is_some_and(|a| trace.agents[a].kind != AgentKind::Cpu);
    if is_gpu(copy.dst) { copy.dst } else { copy.src }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes_of(place: LaneKey, slices: &[(i64, i64)]) -> Vec<usize> {
        let trace = Trace::default();
        let mut lanes = Lanes::new(&trace, false);
        slices.iter().map(|&(start, end)| lanes.take(place, start, end).beside).collect()
    }

    #[test]
    fn host_slices_nest_and_crossing_ones_move() {
        let thread = LaneKey::Thread(ProcessId(0), ThreadId(0));
        let slices = [(0, 100), (10, 50), (20, 60), (50, 60), (55, 70), (60, 100), (100, 110), (100, 100)];
        assert_eq!(lanes_of(thread, &slices), [0, 0, 1, 0, 2, 0, 0, 0]);
    }

    #[test]
    fn device_slices_never_share_a_moment_of_a_lane() {
        let stream = LaneKey::Stream(ProcessId(0), AgentId(0), StreamId(0));
        assert_eq!(lanes_of(stream, &[(0, 100), (10, 50), (20, 30), (50, 60), (100, 120)]), [0, 1, 2, 1, 0]);
    }
}
