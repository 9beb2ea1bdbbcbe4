//! The trace itself: all tables of one run, over any number of sources.

use rayon::prelude::*;

use crate::allocator::{AllocatorBlocks, AllocatorEvents, AllocatorSegments, Stacks};
use crate::args::Args;
use crate::columns::{ROWS_AT_ONCE, Remap, Remapping, time_order};
use crate::counter_columns::CounterColumns;
use crate::counters::{CounterKind, Counters};
use crate::graph_nodes::GraphNodes;
use crate::health::Health;
use crate::identity::{Agent, KernelSymbol, Metadata, Process, Queue, Source, Stream, Thread};
use crate::ids::{AgentId, CounterId, ProcessId, QueueId, SourceId, StreamId, SymbolId, ThreadId};
use crate::kernels::Kernels;
use crate::links::{Links, Table};
use crate::memory::{MemoryAllocations, MemoryCopies};
use crate::metrics::StoredMetric;
use crate::regions::Regions;
use crate::samples::Samples;
use crate::shapes::Shapes;
use crate::strings::Strings;
use crate::sync::{Collectives, Syncs};
use crate::{Ns, assess, launches};

/// Everything known about a run. Readers fill it, `finish` sorts and links it, analyses only read it.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Every name, once.
    pub strings: Strings,
    /// Input files.
    pub sources: Vec<Source>,
    /// Processes.
    pub processes: Vec<Process>,
    /// Host threads.
    pub threads: Vec<Thread>,
    /// Devices.
    pub agents: Vec<Agent>,
    /// HSA queues.
    pub queues: Vec<Queue>,
    /// HIP streams.
    pub streams: Vec<Stream>,
    /// Kernel symbols.
    pub symbols: Vec<KernelSymbol>,
    /// Distinct launch shapes.
    pub shapes: Shapes,
    /// Facts about the sources.
    pub metadata: Vec<Metadata>,
    /// GPU kernels.
    pub kernels: Kernels,
    /// GPU copies and fills.
    pub memory_copies: MemoryCopies,
    /// Allocations and frees.
    pub memory_allocations: MemoryAllocations,
    /// What a caching allocator did.
    pub allocator_events: AllocatorEvents,
    /// Segments that a caching allocator held at the end.
    pub allocator_segments: AllocatorSegments,
    /// Their blocks.
    pub allocator_blocks: AllocatorBlocks,
    /// Call stacks of the allocator's events and blocks.
    pub stacks: Stacks,
    /// Host intervals.
    pub regions: Regions,
    /// Definitions of counters.
    pub counter_kinds: Vec<CounterKind>,
    /// Counter values.
    pub counters: Counters,
    /// Counter values as columns over `kernels`, if the reader was asked for columns.
    pub counter_columns: CounterColumns,
    /// Metrics that another program computed.
    pub metrics: Vec<StoredMetric>,
    /// Synchronisations.
    pub syncs: Syncs,
    /// Collective operations.
    pub collectives: Collectives,
    /// Graph nodes of replayed kernels and copies.
    pub graph_nodes: GraphNodes,
    /// Points in time.
    pub samples: Samples,
    /// Requested arguments.
    pub args: Args,
    /// Launch → GPU work, forward → backward.
    pub links: Links,
    /// Known problems.
    pub health: Health,
}

macro_rules! add {
    ($($(#[$doc:meta])* $method:ident($item:ty) -> $id:ident in $table:ident;)*) => {$(
        $(#[$doc])*
        pub fn $method(&mut self, item: $item) -> $id {
            self.$table.push(item);
            $id::at(self.$table.len() - 1)
        }
    )*};
}

impl Trace {
    add! {
        /// Adds a source.
        add_source(Source) -> SourceId in sources;
        /// Adds a process.
        add_process(Process) -> ProcessId in processes;
        /// Adds a thread.
        add_thread(Thread) -> ThreadId in threads;
        /// Adds an agent.
        add_agent(Agent) -> AgentId in agents;
        /// Adds a queue.
        add_queue(Queue) -> QueueId in queues;
        /// Adds a stream.
        add_stream(Stream) -> StreamId in streams;
        /// Adds a kernel symbol.
        add_symbol(KernelSymbol) -> SymbolId in symbols;
        /// Adds a counter definition.
        add_counter_kind(CounterKind) -> CounterId in counter_kinds;
    }

    /// Records a fact about a source.
    pub fn add_metadata(&mut self, source: SourceId, key: &str, value: &str) {
        let (key, value) = (self.strings.intern(key), self.strings.intern(value));
        self.metadata.push(Metadata { source, key, value });
    }

    /// Appends an unfinished trace; ids and row references are remapped.
    pub fn append(&mut self, other: Trace) {
        let by = Remapping {
            strings: self.strings.absorb(&other.strings),
            shapes: other.shapes.iter().map(|shape| self.shapes.intern(*shape)).collect(),
            sources: self.sources.len() as u32,
            processes: self.processes.len() as u32,
            threads: self.threads.len() as u32,
            agents: self.agents.len() as u32,
            queues: self.queues.len() as u32,
            streams: self.streams.len() as u32,
            symbols: self.symbols.len() as u32,
            counter_kinds: self.counter_kinds.len() as u32,
            stacks: self.stacks.len() as u32,
            rows: [
                self.kernels.len() as u32,
                self.memory_copies.len() as u32,
                self.memory_allocations.len() as u32,
                self.regions.len() as u32,
                self.samples.len() as u32,
                self.syncs.len() as u32,
            ],
        };
        self.sources.extend(other.sources);
        self.processes.extend(other.processes.into_iter().map(|p| Process {
            source: p.source.remap(&by),
            guid: p.guid.remap(&by),
            machine: p.machine.remap(&by),
            hostname: p.hostname.remap(&by),
            command: p.command.remap(&by),
            ..p
        }));
        self.threads.extend(other.threads.into_iter().map(|t| Thread {
            process: t.process.remap(&by),
            name: t.name.remap(&by),
            ..t
        }));
        self.agents.extend(other.agents.into_iter().map(|a| Agent {
            process: a.process.remap(&by),
            name: a.name.remap(&by),
            product: a.product.remap(&by),
            extra: a.extra.remap(&by),
            ..a
        }));
        self.queues.extend(other.queues.into_iter().map(|q| Queue {
            process: q.process.remap(&by),
            name: q.name.remap(&by),
            ..q
        }));
        self.streams.extend(other.streams.into_iter().map(|s| Stream {
            process: s.process.remap(&by),
            name: s.name.remap(&by),
            ..s
        }));
        self.symbols.extend(other.symbols.into_iter().map(|s| KernelSymbol {
            process: s.process.remap(&by),
            kernel_name: s.kernel_name.remap(&by),
            display_name: s.display_name.remap(&by),
            ..s
        }));
        self.metadata.extend(other.metadata.into_iter().map(|m| Metadata {
            source: m.source.remap(&by),
            key: m.key.remap(&by),
            value: m.value.remap(&by),
        }));
        self.counter_kinds.extend(other.counter_kinds.into_iter().map(|c| CounterKind {
            name: c.name.remap(&by),
            description: c.description.remap(&by),
            block: c.block.remap(&by),
            expression: c.expression.remap(&by),
            unit: c.unit.remap(&by),
            process: c.process.remap(&by),
            agent: c.agent.remap(&by),
        }));
        self.metrics.extend(other.metrics.into_iter().map(|metric| metric.remap(&by)));
        let (before, more) = (self.kernels.len(), other.kernels.len());
        self.counter_columns.append(other.counter_columns, before, more, &by);
        self.kernels.append(other.kernels, &by);
        self.memory_copies.append(other.memory_copies, &by);
        self.memory_allocations.append(other.memory_allocations, &by);
        self.allocator_events.append(other.allocator_events, &by);
        self.allocator_segments.append(other.allocator_segments, &by);
        self.allocator_blocks.append(other.allocator_blocks, &by);
        self.stacks.append(other.stacks, &by);
        self.regions.append(other.regions, &by);
        self.counters.append(other.counters, &by);
        self.syncs.append(other.syncs, &by);
        self.collectives.append(other.collectives, &by);
        self.graph_nodes.append(other.graph_nodes, &by);
        self.samples.append(other.samples, &by);
        self.args.append(other.args, &by);
        self.links.append(other.links, &by);
        self.health.checks.extend(other.health.checks);
    }

    /// Finishes the trace: sorts tables by time, links launches, assesses health. Call it once.
    pub fn finish(&mut self) {
        self.sort();
        launches::link(self);
        self.links.sort();
        assess::assess(self);
    }

    /// Sorts every table by time and updates references.
    pub(crate) fn sort(&mut self) {
        macro_rules! by_time {
            ($table:ident, $kind:expr) => {
                if let Some(order) = time_order(&self.$table.start, &self.$table.end) {
                    self.$table.reorder(&order);
                    self.rows_moved($kind, &order);
                }
            };
        }
        if let Some(order) = time_order(&self.kernels.start, &self.kernels.end) {
            self.kernels.reorder(&order);
            self.counter_columns.reorder(&order);
            self.rows_moved(Table::Kernels, &order);
        }
        by_time!(memory_copies, Table::MemoryCopies);
        by_time!(memory_allocations, Table::MemoryAllocations);
        let events = &mut self.allocator_events;
        if let Some(order) = time_order(&events.start, &events.end) {
            events.reorder(&order);
        }
        by_time!(regions, Table::Regions);
        by_time!(samples, Table::Samples);
        by_time!(syncs, Table::Syncs);
        self.args.sort();
        self.graph_nodes.sort();
    }

    fn rows_moved(&mut self, table: Table, order: &[u32]) {
        let references = [
            &mut self.counters.kernel,
            &mut self.collectives.row,
            &mut self.graph_nodes.row,
            &mut self.args.owner,
            &mut self.links.from,
            &mut self.links.to,
        ];
        if references.iter().all(|column| column.is_empty()) {
            return;
        }
        let mut new_row = vec![0u32; order.len()];
        for (new, &old) in order.iter().enumerate() {
            new_row[old as usize] = new as u32;
        }
        for column in references {
            let references = column.par_iter_mut().with_min_len(ROWS_AT_ONCE);
            references.for_each(|reference| *reference = reference.moved(table, &new_row));
        }
    }

    /// First start and last end over everything that has a time.
    pub fn span(&self) -> Option<(Ns, Ns)> {
        let tables = [
            (&self.kernels.start, &self.kernels.end),
            (&self.memory_copies.start, &self.memory_copies.end),
            (&self.memory_allocations.start, &self.memory_allocations.end),
            (&self.allocator_events.start, &self.allocator_events.end),
            (&self.regions.start, &self.regions.end),
            (&self.samples.start, &self.samples.end),
            (&self.syncs.start, &self.syncs.end),
        ];
        let start = tables.iter().filter_map(|(start, _)| start.first()).min()?;
        let end = tables.iter().filter_map(|(_, end)| end.iter().max()).max()?;
        Some((*start, *end))
    }

    /// The rank of a process: its own, or its source's.
    pub fn rank_of(&self, process: ProcessId) -> Option<u32> {
        let process = self.processes.get(process.get()?)?;
        process.rank.or_else(|| self.sources[process.source.get()?].rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arg, Counter, Kernel, OptI64, Region, RowRef, Status};

    fn trace(names: &[(&str, i64, i64, i64)]) -> Trace {
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named("a", "test"));
        let guid = trace.strings.intern("g");
        let process = trace.add_process(Process { guid, ..Process::new(source, 1) });
        for &(name, start, end, correlation) in names {
            let name = trace.strings.intern(name);
            trace.kernels.push(Kernel { name, start, end, process, correlation, ..Default::default() });
        }
        trace
    }

    fn call(trace: &mut Trace, start: i64, end: i64, correlation: i64) {
        let process = ProcessId(0);
        trace.regions.push(Region { start, end, process, correlation, ..Default::default() });
    }

    #[test]
    fn finish_sorts_and_keeps_references() {
        let mut trace = trace(&[("late", 50, 60, 2), ("early", 10, 20, 1)]);
        trace.counters.push(Counter { kernel: RowRef::kernel(0), value: 7.0, ..Default::default() });
        let key = trace.strings.intern("key");
        trace.args.push(Arg { owner: RowRef::kernel(1), name: key, value: key, ..Default::default() });
        call(&mut trace, 40, 41, 2);
        call(&mut trace, 5, 6, 1);
        trace.finish();
        assert_eq!(trace.kernels.start, [10, 50]);
        assert_eq!(trace.counters.kernel[0], RowRef::kernel(1));
        assert_eq!(trace.args.value(RowRef::kernel(0), key), Some(key));
        assert_eq!(trace.links.launch_of(RowRef::kernel(0)), Some(0));
        assert_eq!(trace.links.launch_of(RowRef::kernel(1)), Some(1));
        let index = trace.links.by_cause();
        let effects: Vec<_> =
            trace.links.effects(&index, crate::LinkKind::Launch, RowRef::region(1)).collect();
        assert_eq!(effects, [RowRef::kernel(1)]);
        assert_eq!(trace.span(), Some((5, 60)));
    }

    #[test]
    fn equal_correlations_of_two_recordings_stay_apart() {
        let mut one = trace(&[("a", 10, 20, 1)]);
        call(&mut one, 1, 2, 1);
        let mut two = trace(&[("b", 11, 21, 1)]);
        two.strings.intern("other");
        two.processes[0].guid = two.strings.intern("other");
        call(&mut two, 3, 4, 1);
        one.append(two);
        one.finish();
        assert_eq!(one.strings.get(one.kernels.name[1]), "b");
        assert_eq!(one.links.launch_of(RowRef::kernel(0)), Some(0));
        assert_eq!(one.links.launch_of(RowRef::kernel(1)), Some(1));
        assert_eq!(one.processes.len(), 2);
        assert_eq!(one.kernels.process[1], ProcessId(1));
    }

    #[test]
    fn one_launch_may_have_many_kernels() {
        let mut trace = trace(&[("a", 10, 20, 9), ("b", 20, 30, 9), ("c", 30, 40, 8)]);
        call(&mut trace, 1, 2, 9);
        trace.finish();
        assert_eq!(trace.links.len(), 2);
        let coverage = trace.health.checks.iter().find(|c| c.id == "coverage").unwrap();
        assert_eq!(coverage.status, Status::Warn);
        assert!((coverage.value.unwrap() - 200.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn backwards_time_is_reported() {
        let mut trace = trace(&[("a", 20, 10, 0)]);
        trace.kernels.dispatch[0] = OptI64::some(1);
        trace.finish();
        assert!(trace.health.problems().any(|c| c.id == "clock"));
    }
}
