//! The GPU work of a run in columns: kernels and copies in time order, by stream, with the calls that launched them.

use trace::{
    AgentId, AgentKind, CopyKind, Graph, LinkKind, Map, ProcessId, QueueId, StrId, StreamId, Table, Trace,
};

use super::clocks::Clocks;
use model::classify::Classes;
use model::lanes::Bucket;
use model::lanes::kernel_bucket;

/// No row.
pub(super) const NONE: u32 = u32::MAX;

/// What the GPU did in a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Compute,
    Copy,
    Communication,
}

/// A stream, or a queue or a device where streams are not known.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub process: ProcessId,
    pub agent: AgentId,
    pub stream: StreamId,
    pub queue: QueueId,
    /// Its work in the order of starts.
    pub works: Vec<u32>,
}

/// Kernels, copies and fills in time order.
#[derive(Default)]
pub(super) struct Works {
    /// Row of `kernels`, or of `memory_copies` where `copy` is set.
    pub row: Vec<u32>,
    pub copy: Vec<bool>,
    pub start: Vec<i64>,
    pub end: Vec<i64>,
    pub name: Vec<StrId>,
    pub class: Vec<Class>,
    pub lane: Vec<u32>,
    /// Row of `regions` of the call that launched it.
    pub launch: Vec<u32>,
    pub replayed: Vec<bool>,
    pub lanes: Vec<Lane>,
}

impl Works {
    pub fn len(&self) -> usize {
        self.row.len()
    }

    pub fn duration(&self, work: usize) -> i64 {
        self.end[work] - self.start[work]
    }

    pub fn process(&self, work: usize) -> ProcessId {
        self.lanes[self.lane[work] as usize].process
    }

    /// The work of a trace as far as `counted` takes its process.
    pub fn of(trace: &Trace, classes: &Classes, clocks: &Clocks, counted: &[bool]) -> Self {
        let mut builder = Builder::new(trace, classes, clocks);
        let (kernels, copies) = (&trace.kernels, &trace.memory_copies);
        let (mut k, mut c) = (0, 0);
        while k < kernels.len() || c < copies.len() {
            let take_kernel = c == copies.len() || k < kernels.len() && kernels.start[k] <= copies.start[c];
            let (row, process) = if take_kernel { (k, kernels.process[k]) } else { (c, copies.process[c]) };
            if process.get().is_none_or(|process| counted[process]) {
                if take_kernel { builder.kernel(row) } else { builder.copy(row) }
            }
            if take_kernel { k += 1 } else { c += 1 }
        }
        builder.works
    }
}

struct Builder<'a> {
    trace: &'a Trace,
    classes: &'a Classes,
    clocks: &'a Clocks,
    kernel_launch: Vec<u32>,
    copy_launch: Vec<u32>,
    class_of: Map<StrId, Class>,
    /// Streams that kernels of several devices name alike.
    shared_streams: Map<StreamId, AgentId>,
    numbers: Map<(ProcessId, u32, u32, u32), u32>,
    works: Works,
}

impl<'a> Builder<'a> {
    fn new(trace: &'a Trace, classes: &'a Classes, clocks: &'a Clocks) -> Self {
        let (mut kernel_launch, mut copy_launch) =
            (vec![NONE; trace.kernels.len()], vec![NONE; trace.memory_copies.len()]);
        let links = &trace.links;
        for i in 0..links.len() {
            if links.kind[i] != LinkKind::Launch {
                continue;
            }
            let Some(call) = links.from[i].row_of(Table::Regions) else { continue };
            match links.to[i].get() {
                Some((Table::Kernels, row)) => kernel_launch[row] = call as u32,
                Some((Table::MemoryCopies, row)) => copy_launch[row] = call as u32,
                _ => {}
            }
        }
        let mut only: Map<StreamId, AgentId> = Map::default();
        let mut shared_streams: Map<StreamId, AgentId> = Map::default();
        for (&stream, &agent) in trace.kernels.stream.iter().zip(&trace.kernels.agent) {
            if stream.is_some() && *only.entry(stream).or_insert(agent) != agent {
                shared_streams.insert(stream, agent);
            }
        }
        let mut works = Works::default();
        let expected = trace.kernels.len() + trace.memory_copies.len();
        works.row.reserve_exact(expected);
        works.start.reserve_exact(expected);
        works.end.reserve_exact(expected);
        Self {
            trace,
            classes,
            clocks,
            kernel_launch,
            copy_launch,
            class_of: Map::default(),
            shared_streams,
            numbers: Map::default(),
            works,
        }
    }

    fn kernel(&mut self, row: usize) {
        let kernels = &self.trace.kernels;
        let name = kernels.name[row];
        let (trace, classes) = (self.trace, self.classes);
        let class = *self.class_of.entry(name).or_insert_with(|| match kernel_bucket(trace, classes, name) {
            Bucket::Communication => Class::Communication,
            Bucket::Memcpy => Class::Copy,
            Bucket::Compute => Class::Compute,
        });
        let lane =
            self.lane(kernels.process[row], kernels.agent[row], kernels.stream[row], kernels.queue[row]);
        let replayed = kernels.graph[row] == Graph::Replayed;
        self.push(row, false, name, class, lane, self.kernel_launch[row], replayed);
        self.times(kernels.process[row], kernels.start[row], kernels.end[row]);
    }

    fn copy(&mut self, row: usize) {
        let copies = &self.trace.memory_copies;
        let class = if copies.kind[row] == CopyKind::Fill { Class::Compute } else { Class::Copy };
        let is_gpu = |agent: &AgentId| {
            agent.get().is_some_and(|agent| self.trace.agents[agent].kind == AgentKind::Gpu)
        };
        let agent = [copies.dst[row], copies.src[row]].into_iter().find(is_gpu).unwrap_or(AgentId::NONE);
        let lane = self.lane(copies.process[row], agent, copies.stream[row], copies.queue[row]);
        let replayed = copies.graph[row] == Graph::Replayed;
        self.push(row, true, copies.name[row], class, lane, self.copy_launch[row], replayed);
        self.times(copies.process[row], copies.start[row], copies.end[row]);
    }

    #[allow(clippy::too_many_arguments)]
    fn push(
        &mut self,
        row: usize,
        copy: bool,
        name: StrId,
        class: Class,
        lane: u32,
        launch: u32,
        replayed: bool,
    ) {
        let works = &mut self.works;
        works.lanes[lane as usize].works.push(works.row.len() as u32);
        works.row.push(row as u32);
        works.copy.push(copy);
        works.name.push(name);
        works.class.push(class);
        works.lane.push(lane);
        works.launch.push(launch);
        works.replayed.push(replayed);
    }

    fn times(&mut self, process: ProcessId, start: i64, end: i64) {
        let start = self.clocks.align(process, start);
        self.works.start.push(start);
        // Rows that end before they start are reported by the trace's health; here they take no time.
        self.works.end.push(self.clocks.align(process, end).max(start));
    }

    fn lane(&mut self, process: ProcessId, agent: AgentId, stream: StreamId, queue: QueueId) -> u32 {
        let next = self.works.lanes.len() as u32;
        let key = match (stream.is_some(), queue.is_some()) {
            (true, _) if self.shared_streams.contains_key(&stream) => (process, 3, stream.0, agent.0),
            (true, _) => (process, 0, stream.0, NONE),
            (false, true) => (process, 1, queue.0, NONE),
            (false, false) => (process, 2, agent.0, NONE),
        };
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.works.lanes.push(Lane { process, agent, stream, queue, works: Vec::new() });
        }
        let lane = &mut self.works.lanes[number as usize];
        if !lane.agent.is_some() {
            lane.agent = agent;
        }
        number
    }
}
