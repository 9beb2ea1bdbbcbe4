//! GPU work for all analyses: kernels, copies and fills in time order, by GPU and by stream, with launches.
//!
//! Cost: one pass over the tables and the links; columns, and a look-up per row only for its GPU and stream.

mod gpus;

use trace::{AgentId, CopyKind, Graph, Map, Ns, ProcessId, QueueId, RowRef, StrId, StreamId, Table, Trace};

use crate::classify::{Category, Classes, RowKind};
use crate::launches::launch_rows;
use crate::names;
use crate::recordings::Recordings;
pub use gpus::Gpu;
pub(crate) use gpus::{Gpus, copy_agent};

/// ROCclr's copy kernels, as rocprofv3 and ROCm up to 7.1 record them: a timeline shows them as copies.
const COPY_KERNELS: &[&str] = &["__amd_rocclr_copy", "MEMORY_COPY_"];

/// No row.
const NONE: u32 = u32::MAX;

/// What the GPU does in a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkClass {
    /// A kernel that computes.
    Compute,
    /// A kernel of a collective or another message between GPUs.
    Communication,
    /// A copy, by a kernel or not.
    Copy,
    /// A fill.
    Fill,
}

/// A stream, or a queue or GPU if streams are not recorded: its work runs in order.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The process.
    pub process: ProcessId,
    /// The device; `NONE` if the input does not record it.
    pub agent: AgentId,
    /// Its id, if it is a stream.
    pub stream: StreamId,
    /// The first queue it used.
    pub queue: QueueId,
    /// `stream 3`, `queue 1`.
    pub label: String,
    /// Its work in time order.
    pub work: Vec<u32>,
}

/// All GPU work of a trace in time order.
#[derive(Clone, Debug, Default)]
pub struct GpuWork {
    /// Row of `kernels`, or of `memory_copies` if `is_copy_row` is set.
    pub row: Vec<u32>,
    /// Whether it is a row of `memory_copies`.
    pub is_copy_row: Vec<bool>,
    /// First nanosecond.
    pub start: Vec<Ns>,
    /// Nanosecond after the last; before the first only in damaged rows, which the trace's health reports.
    pub end: Vec<Ns>,
    /// Its name in the trace.
    pub name: Vec<StrId>,
    /// What the GPU does.
    pub class: Vec<WorkClass>,
    /// Index into `gpus`.
    pub gpu: Vec<u32>,
    /// Index into `streams`.
    pub stream: Vec<u32>,
    /// Row of `regions` of the call that launched it; `u32::MAX` if unknown.
    pub launch: Vec<u32>,
    /// Whether it is part of a replayed graph.
    pub replayed: Vec<bool>,
    /// By rank, then by device.
    pub gpus: Vec<Gpu>,
    /// In the order of their first work.
    pub streams: Vec<Stream>,
}

impl GpuWork {
    /// All work of a trace.
    pub fn of(trace: &Trace, classes: &Classes, recordings: &Recordings) -> Self {
        Self::of_processes(trace, classes, recordings, |_| true)
    }

    /// The work of ranks; see [`Recordings::counts`].
    pub fn of_ranks(trace: &Trace, classes: &Classes, recordings: &Recordings) -> Self {
        Self::of_processes(trace, classes, recordings, |process| recordings.counts(process))
    }

    fn of_processes(
        trace: &Trace,
        classes: &Classes,
        recordings: &Recordings,
        wanted: impl Fn(ProcessId) -> bool,
    ) -> Self {
        let mut builder = Builder::new(trace, classes, recordings);
        in_time_order(trace, wanted, |table, row| match table {
            Table::Kernels => builder.kernel(row),
            _ => builder.copy(row),
        });
        builder.finish()
    }

    /// Number of pieces of work.
    pub fn len(&self) -> usize {
        self.row.len()
    }

    /// Whether there is no work.
    pub fn is_empty(&self) -> bool {
        self.row.is_empty()
    }

    /// Where a piece is in the trace.
    pub fn row_ref(&self, work: usize) -> RowRef {
        let table = if self.is_copy_row[work] { Table::MemoryCopies } else { Table::Kernels };
        RowRef::new(table, self.row[work] as usize)
    }

    /// How long a piece takes.
    pub fn duration(&self, work: usize) -> Ns {
        self.end[work] - self.start[work]
    }

    /// The process of a piece.
    pub fn process(&self, work: usize) -> ProcessId {
        self.streams[self.stream[work] as usize].process
    }

    /// The call that launched a piece, as a row of `regions`.
    pub fn launch_of(&self, work: usize) -> Option<usize> {
        Some(self.launch[work]).filter(|&launch| launch != NONE).map(|launch| launch as usize)
    }
}

/// Calls back with the rows of `kernels` and `memory_copies` of the wanted processes, in time order.
pub(crate) fn in_time_order(
    trace: &Trace,
    wanted: impl Fn(ProcessId) -> bool,
    mut each: impl FnMut(Table, usize),
) {
    let (kernels, copies) = (&trace.kernels, &trace.memory_copies);
    let (mut k, mut c) = (0, 0);
    while k < kernels.len() || c < copies.len() {
        let take_kernel = c == copies.len()
            || k < kernels.len() && (kernels.start[k], kernels.end[k]) <= (copies.start[c], copies.end[c]);
        if take_kernel {
            if wanted(kernels.process[k]) {
                each(Table::Kernels, k);
            }
            k += 1;
        } else {
            if wanted(copies.process[c]) {
                each(Table::MemoryCopies, c);
            }
            c += 1;
        }
    }
}

/// The class of kernels by name, each name looked up once.
pub(crate) struct KernelClasses<'a> {
    trace: &'a Trace,
    classes: &'a Classes,
    /// By string id, once a kernel with that name was met.
    of_name: Vec<Option<WorkClass>>,
}

impl<'a> KernelClasses<'a> {
    pub fn new(trace: &'a Trace, classes: &'a Classes) -> Self {
        Self { trace, classes, of_name: Vec::new() }
    }

    pub fn of(&mut self, name: StrId) -> WorkClass {
        let place = name.0 as usize;
        if place >= self.of_name.len() {
            self.of_name.resize(place + 1, None);
        }
        *self.of_name[place].get_or_insert_with(|| kernel_class(self.trace, self.classes, name))
    }
}

/// What a row of `memory_copies` does.
pub(crate) fn copy_class(kind: CopyKind) -> WorkClass {
    if kind == CopyKind::Fill { WorkClass::Fill } else { WorkClass::Copy }
}

/// The class of kernels with this name.
pub fn kernel_class(trace: &Trace, classes: &Classes, name: StrId) -> WorkClass {
    let text = names::demangle(trace.strings.get(name));
    if COPY_KERNELS.iter().any(|copy| text.starts_with(copy)) {
        return WorkClass::Copy;
    }
    match classes.get(name, RowKind::Kernel) {
        Some(class) if class.category == Category::Communication => WorkClass::Communication,
        _ => WorkClass::Compute,
    }
}

/// Key of a stream's number: the process, then what distinguishes its streams.
type StreamKey = (ProcessId, u32, u32, u32);

/// What a row records about its stream: process, GPU, stream, queue, and the GPU's number.
type StreamFacts = (ProcessId, AgentId, StreamId, QueueId, u32);

struct Builder<'a> {
    trace: &'a Trace,
    kernel_launch: Vec<u32>,
    copy_launch: Vec<u32>,
    kernel_classes: KernelClasses<'a>,
    gpus: Gpus<'a>,
    /// The GPUs whose kernels name a stream.
    agents_of_stream: Map<StreamId, Vec<AgentId>>,
    stream_numbers: Map<StreamKey, u32>,
    /// Neighbours are often on one stream.
    last_stream: Option<(StreamFacts, u32)>,
    work: GpuWork,
}

impl<'a> Builder<'a> {
    fn new(trace: &'a Trace, classes: &'a Classes, recordings: &'a Recordings) -> Self {
        let (kernel_launch, copy_launch) = launch_rows(trace);
        let mut agents_of_stream: Map<StreamId, Vec<AgentId>> = Map::default();
        let mut last = (StreamId::NONE, AgentId::NONE);
        for (&stream, &agent) in trace.kernels.stream.iter().zip(&trace.kernels.agent) {
            if stream.is_some() && (stream, agent) != last {
                last = (stream, agent);
                let agents = agents_of_stream.entry(stream).or_default();
                if !agents.contains(&agent) {
                    agents.push(agent);
                }
            }
        }
        let mut work = GpuWork::default();
        let expected = trace.kernels.len() + trace.memory_copies.len();
        work.row.reserve_exact(expected);
        work.is_copy_row.reserve_exact(expected);
        work.start.reserve_exact(expected);
        work.end.reserve_exact(expected);
        work.name.reserve_exact(expected);
        work.class.reserve_exact(expected);
        work.gpu.reserve_exact(expected);
        work.stream.reserve_exact(expected);
        work.launch.reserve_exact(expected);
        work.replayed.reserve_exact(expected);
        Self {
            trace,
            kernel_launch,
            copy_launch,
            kernel_classes: KernelClasses::new(trace, classes),
            gpus: Gpus::new(trace, recordings),
            agents_of_stream,
            stream_numbers: Map::default(),
            last_stream: None,
            work,
        }
    }

    fn kernel(&mut self, row: usize) {
        let kernels = &self.trace.kernels;
        let name = kernels.name[row];
        let class = self.kernel_classes.of(name);
        let (process, agent) = (kernels.process[row], kernels.agent[row]);
        let gpu = self.gpus.number(process, agent);
        let stream = self.stream(process, agent, kernels.stream[row], kernels.queue[row], gpu);
        let (launch, replayed) = (self.kernel_launch[row], kernels.graph[row] == Graph::Replayed);
        self.times(kernels.start[row], kernels.end[row]);
        self.push(row, false, name, class, (gpu, stream), launch, replayed);
    }

    fn copy(&mut self, row: usize) {
        let copies = &self.trace.memory_copies;
        let class = copy_class(copies.kind[row]);
        let (process, agent) = (copies.process[row], copy_agent(self.trace, row));
        let gpu = self.gpus.number(process, agent);
        // Copies join the kernels of their stream, which name only their own GPU.
        let on_stream = match self.agents_of_stream.get(&copies.stream[row]) {
            Some(agents) => {
                let ends = [copies.dst[row], copies.src[row]];
                ends.into_iter().find(|end| agents.contains(end)).unwrap_or(agents[0])
            }
            None => agent,
        };
        let stream = self.stream(process, on_stream, copies.stream[row], copies.queue[row], gpu);
        let (launch, replayed) = (self.copy_launch[row], copies.graph[row] == Graph::Replayed);
        self.times(copies.start[row], copies.end[row]);
        self.push(row, true, copies.name[row], class, (gpu, stream), launch, replayed);
    }

    fn times(&mut self, start: Ns, end: Ns) {
        self.work.start.push(start);
        self.work.end.push(end);
    }

    #[allow(clippy::too_many_arguments)]
    fn push(
        &mut self,
        row: usize,
        is_copy_row: bool,
        name: StrId,
        class: WorkClass,
        (gpu, stream): (u32, u32),
        launch: u32,
        replayed: bool,
    ) {
        let work = &mut self.work;
        let place = work.row.len() as u32;
        if place == 0 {
            // Most traces have one GPU, and most work is on its first stream.
            self.gpus.found[gpu as usize].work.reserve_exact(work.row.capacity());
            work.streams[stream as usize].work.reserve_exact(work.row.capacity());
        }
        self.gpus.found[gpu as usize].work.push(place);
        work.streams[stream as usize].work.push(place);
        work.row.push(row as u32);
        work.is_copy_row.push(is_copy_row);
        work.name.push(name);
        work.class.push(class);
        work.gpu.push(gpu);
        work.stream.push(stream);
        work.launch.push(launch);
        work.replayed.push(replayed);
    }

    fn stream(
        &mut self,
        process: ProcessId,
        agent: AgentId,
        stream: StreamId,
        queue: QueueId,
        gpu: u32,
    ) -> u32 {
        let facts = (process, agent, stream, queue, gpu);
        if let Some((known, number)) = self.last_stream
            && known == facts
        {
            return number;
        }
        let shared = || self.agents_of_stream.get(&stream).is_some_and(|agents| agents.len() > 1);
        // Work of one stream stays in order whatever queues it goes through.
        let key = match (stream.is_some(), queue.is_some()) {
            (true, _) if shared() => (process, 3, stream.0, agent.0),
            (true, _) => (process, 0, stream.0, NONE),
            (false, true) => (process, 1, queue.0, NONE),
            (false, false) => (process, 2, gpu, NONE),
        };
        let next = self.work.streams.len() as u32;
        let number = *self.stream_numbers.entry(key).or_insert(next);
        self.last_stream = Some((facts, number));
        if number == next {
            let known_stream = stream.get().and_then(|stream| self.trace.streams.get(stream));
            let known_queue = queue.get().and_then(|queue| self.trace.queues.get(queue));
            let label = match (known_stream, known_queue) {
                (Some(stream), _) => format!("stream {}", stream.id),
                (None, Some(queue)) => format!("queue {}", queue.id),
                (None, None) => "unknown stream".into(),
            };
            self.work.streams.push(Stream { process, agent, stream, queue, label, work: Vec::new() });
        }
        let known = &mut self.work.streams[number as usize];
        if !known.agent.is_some() {
            known.agent = agent;
        }
        number
    }

    fn finish(mut self) -> GpuWork {
        let (gpus, number) = self.gpus.finish();
        self.work.gpus = gpus;
        for gpu in &mut self.work.gpu {
            *gpu = number[*gpu as usize];
        }
        // Work that moved to another GPU belongs in that GPU's list.
        if number.len() > self.work.gpus.len() {
            self.work.gpus.iter_mut().for_each(|gpu| gpu.work.clear());
            for (place, &gpu) in self.work.gpu.iter().enumerate() {
                self.work.gpus[gpu as usize].work.push(place as u32);
            }
        }
        self.work
    }
}
