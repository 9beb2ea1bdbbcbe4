//! A trace, with the numbers that rocpd's tables use to refer to each other.

mod build;

use std::sync::OnceLock;

use trace::{AgentId, Graph, ProcessId, QueueId, RowRef, StrId, StreamId, Table, ThreadId, Trace};

use super::memory::Blocks;

/// Tables whose rows each have an event, in the order of event numbers.
const EVENT_TABLES: [Table; 6] = [
    Table::Kernels,
    Table::MemoryCopies,
    Table::MemoryAllocations,
    Table::Regions,
    Table::Samples,
    Table::Syncs,
];

/// Categories for rows without one in the trace.
pub(super) const KERNEL: &str = "KERNEL_DISPATCH";
pub(super) const COPY: &str = "MEMORY_COPY";
pub(super) const ALLOCATION: &str = "MEMORY_ALLOCATION";
pub(super) const SCRATCH: &str = "SCRATCH_MEMORY";
pub(super) const SYNC: &str = "HIP_EVENT";

/// A kernel symbol: the trace's own, or one created for kernels without.
pub(super) struct Symbol {
    pub process: usize,
    pub id: i64,
    pub own: Option<usize>,
    pub name: StrId,
    /// Registers of kernels without a symbol: vector, accumulation, scalar.
    pub registers: [trace::OptI64; 3],
}

/// A track of samples.
pub(super) struct Track {
    pub process: usize,
    pub thread: ThreadId,
    pub name: StrId,
}

/// A counter: the trace's own, or a series of samples.
pub(super) struct Pmc {
    pub process: usize,
    pub agent: AgentId,
    pub name: StrId,
    pub unit: StrId,
    pub own: Option<usize>,
}

/// The trace, and extra data for its tables.
pub(super) struct Model {
    pub trace: Trace,
    /// Whether kernels come from databases, which have their own ids.
    pub beside_databases: bool,
    /// Recordings by number.
    pub guids: Vec<String>,
    /// Recording of each process.
    pub group_of: Vec<u32>,
    /// Node number of each process.
    pub nid: Vec<i64>,
    /// One process of each (recording, node).
    pub nodes: Vec<usize>,
    pub process_id: Vec<i64>,
    pub thread_id: Vec<i64>,
    pub agent_id: Vec<i64>,
    pub queue_id: Vec<i64>,
    pub stream_id: Vec<i64>,
    pub symbols: Vec<Symbol>,
    /// Symbol of each kernel.
    pub symbol_of: Vec<u32>,
    /// One symbol of each (recording, code object).
    pub code_objects: Vec<usize>,
    pub tracks: Vec<Track>,
    /// Track of each sample.
    pub track_of: Vec<u32>,
    pub pmcs: Vec<Pmc>,
    /// Samples with a value, and the counter of each.
    pub valued: Vec<(u32, u32)>,
    /// Arguments that belong to regions.
    pub region_args: std::ops::Range<usize>,
    /// First event number of each table, and the end.
    first_event: [usize; EVENT_TABLES.len() + 1],
    frames: Option<StrId>,
    strings: OnceLock<Vec<(u32, StrId)>>,
    memory: OnceLock<Blocks>,
}

impl Model {
    /// Marks the model as used next to databases.
    pub fn beside_databases(self) -> Model {
        Model { beside_databases: true, ..self }
    }

    /// Which memory was held when, computed on first use.
    pub fn memory(&self) -> &Blocks {
        self.memory.get_or_init(|| Blocks::of(&self.trace))
    }

    /// The text of a string.
    pub fn text(&self, id: StrId) -> &str {
        self.trace.strings.get(id)
    }

    /// The text of a string; `None` if empty.
    pub fn known(&self, id: StrId) -> Option<&str> {
        (!id.is_empty()).then(|| self.text(id))
    }

    /// `rocpd_string.id` of a string.
    pub fn string_id(&self, id: StrId) -> i64 {
        i64::from(id.0) + 1
    }

    /// The number of a process; rows that do not name one belong to the last.
    pub fn process(&self, process: ProcessId) -> usize {
        process.get().unwrap_or(self.trace.processes.len() - 1)
    }

    pub fn guid(&self, process: ProcessId) -> &str {
        self.guid_of(self.process(process))
    }

    pub fn guid_of(&self, process: usize) -> &str {
        &self.guids[self.group_of[process] as usize]
    }

    pub fn nid(&self, process: ProcessId) -> i64 {
        self.nid[self.process(process)]
    }

    pub fn pid(&self, process: ProcessId) -> i64 {
        self.trace.processes[self.process(process)].pid
    }

    /// `rocpd_info_process.id`
    pub fn process_ref(&self, process: ProcessId) -> i64 {
        self.process_id[self.process(process)]
    }

    pub fn thread_ref(&self, thread: ThreadId) -> Option<i64> {
        thread.get().map(|t| self.thread_id[t])
    }

    pub fn tid(&self, thread: ThreadId) -> Option<i64> {
        thread.get().map(|t| self.trace.threads[t].tid)
    }

    pub fn agent(&self, agent: AgentId) -> Option<&trace::Agent> {
        agent.get().map(|a| &self.trace.agents[a])
    }

    pub fn agent_ref(&self, agent: AgentId) -> Option<i64> {
        agent.get().map(|a| self.agent_id[a])
    }

    pub fn agent_kind(&self, agent: AgentId) -> Option<&str> {
        self.agent(agent).map(|a| a.kind.name()).filter(|name| !name.is_empty())
    }

    pub fn queue_ref(&self, queue: QueueId) -> Option<i64> {
        queue.get().map(|q| self.queue_id[q])
    }

    pub fn stream_ref(&self, stream: StreamId) -> Option<i64> {
        stream.get().map(|s| self.stream_id[s])
    }

    pub fn queue_name(&self, queue: QueueId) -> Option<&str> {
        queue.get().and_then(|q| self.known(self.trace.queues[q].name))
    }

    pub fn stream_name(&self, stream: StreamId) -> Option<&str> {
        stream.get().and_then(|s| self.known(self.trace.streams[s].name))
    }

    /// The thread of GPU work: its own, or that of the call that launched it.
    pub fn launcher(&self, thread: ThreadId, row: RowRef) -> ThreadId {
        match thread.get() {
            Some(_) => thread,
            None => {
                self.trace.links.launch_of(row).map_or(ThreadId::NONE, |call| self.trace.regions.thread[call])
            }
        }
    }

    /// The event of a row.
    pub fn event(&self, table: Table, row: usize) -> i64 {
        let place = EVENT_TABLES.iter().position(|t| *t == table).unwrap_or(0);
        (self.first_event[place] + row) as i64 + 1
    }

    /// The row that an event belongs to, by the event's own row.
    pub fn owner(&self, event: usize) -> RowRef {
        let place = self.first_event[1..].partition_point(|first| *first <= event);
        EVENT_TABLES.get(place).map_or(RowRef::NONE, |t| RowRef::new(*t, event - self.first_event[place]))
    }

    /// Number of events.
    pub fn events(&self) -> usize {
        self.first_event[EVENT_TABLES.len()]
    }

    /// Parent of a region as a correlation id; `None` for Python frames, whose parents are frame numbers.
    pub fn parent(&self, region: usize) -> Option<i64> {
        let regions = &self.trace.regions;
        let is_frame = self.frames.is_some_and(|frames| regions.category[region] == frames);
        Some(regions.parent[region]).filter(|_| !is_frame)
    }

    /// Category of an allocation.
    pub fn allocation_category(&self, row: usize) -> &'static str {
        let level = self.text(self.trace.memory_allocations.level[row]);
        if level.eq_ignore_ascii_case("SCRATCH") { SCRATCH } else { ALLOCATION }
    }

    /// (recording, string) of every name that a row refers to.
    pub fn strings(&self) -> &[(u32, StrId)] {
        self.strings.get_or_init(|| {
            let mut pairs: Vec<(u32, StrId)> = Vec::new();
            let trace = &self.trace;
            let mut used = vec![vec![0u64; trace.strings.len().div_ceil(64)]; self.guids.len()];
            let mut mark = |process: ProcessId, id: StrId| {
                let group = self.group_of[self.process(process)] as usize;
                used[group][id.0 as usize / 64] |= 1 << (id.0 % 64);
            };
            let categories = [KERNEL, COPY, ALLOCATION, SCRATCH, SYNC].map(|c| trace.strings.find(c));
            for process in 0..trace.processes.len() {
                for category in categories.into_iter().flatten() {
                    mark(ProcessId::at(process), category);
                }
                mark(ProcessId::at(process), StrId::EMPTY);
            }
            let (k, c, r, s) = (&trace.kernels, &trace.memory_copies, &trace.regions, &trace.samples);
            (0..k.len()).for_each(|i| mark(k.process[i], k.name[i]));
            (0..k.len()).for_each(|i| mark(k.process[i], k.region[i]));
            (0..c.len()).for_each(|i| mark(c.process[i], c.name[i]));
            (0..r.len()).for_each(|i| mark(r.process[i], r.name[i]));
            (0..r.len()).for_each(|i| mark(r.process[i], r.category[i]));
            (0..s.len()).for_each(|i| mark(s.process[i], s.name[i]));
            (0..s.len()).for_each(|i| mark(s.process[i], s.kind[i]));
            (0..trace.syncs.len()).for_each(|i| mark(trace.syncs.process[i], trace.syncs.kind[i]));
            for (group, bits) in (0..).zip(&used) {
                for (word, bits) in bits.iter().enumerate() {
                    let set = (0..64).filter(|bit| bits >> bit & 1 == 1);
                    pairs.extend(set.map(|bit| (group, StrId((word * 64 + bit) as u32))));
                }
            }
            pairs
        })
    }

    /// The graph that replayed a row; 1 if it has no number, 0 for work that was launched directly.
    pub fn graph(&self, row: RowRef, graph: Graph) -> Option<i64> {
        if let Some(node) = self.trace.graph_nodes.of(row) {
            return Some(node.exec);
        }
        match graph {
            Graph::Unknown => None,
            Graph::Direct => Some(0),
            Graph::Replayed => Some(1),
        }
    }

    /// The node of that graph.
    pub fn graph_node(&self, row: RowRef) -> Option<i64> {
        self.trace.graph_nodes.of(row).map(|node| node.node)
    }
}
