//! Slices as packets: a begin with everything known about the row, and an end.

use trace::{AgentId, Graph, LinkKind, Map, ProcessId, RowRef, StreamId, Table, Trace};

use super::annotations::{self, id};
use super::names::{argument_id, name_id};
use super::wire::{self, event, packet, trace_file};
use crate::timeline::{Near, is_call};

/// All packets belong to one sequence and share its names.
pub(super) const SEQUENCE: u64 = 1;

/// The flow to a launched row.
fn flow_to(table: Table, row: usize) -> u64 {
    (table as u64 + 1) << 40 | row as u64
}

/// The flow of a link from a forward to a backward op.
fn flow_of_link(link: usize) -> u64 {
    1 << 48 | link as u64
}

/// A slice: its row, times, category and track.
#[derive(Clone, Copy)]
pub(super) struct Slice {
    pub table: Table,
    pub row: usize,
    pub start: i64,
    pub end: i64,
    pub category: u64,
    pub name: trace::StrId,
    pub track: u64,
}

/// What a packet contains besides its event.
#[derive(Clone, Copy, Default)]
pub(super) struct Head<'a> {
    /// Whether it is the very first packet.
    pub first: bool,
    /// New names.
    pub fresh: &'a [u8],
}

/// Writes a packet with an event.
pub(super) fn packet(out: &mut Vec<u8>, head: Head, ns: i64, body: &[u8]) {
    let cleared = if head.first { packet::STATE_CLEARED } else { 0 };
    wire::message(out, trace_file::PACKET, |out| {
        wire::int(out, packet::TIMESTAMP, ns);
        wire::uint(out, packet::SEQUENCE, SEQUENCE);
        wire::uint(out, packet::SEQUENCE_FLAGS, packet::NEEDS_STATE | cleared);
        if head.first {
            wire::uint(out, packet::FIRST_ON_SEQUENCE, 1);
        }
        if !head.fresh.is_empty() {
            wire::bytes(out, packet::INTERNED_DATA, head.fresh);
        }
        wire::bytes(out, packet::TRACK_EVENT, body);
    });
}

/// Lookup tables of all encoders.
pub(super) struct EncoderTables<'a> {
    trace: &'a Trace,
    /// Annotations of each launch shape.
    shapes: Vec<Vec<u8>>,
    /// Links by cause.
    by_cause: Vec<u32>,
    collectives: Map<RowRef, usize>,
    /// Synchronisations by calls, by process and correlation id.
    calls: Map<(ProcessId, i64), usize>,
}

impl<'a> EncoderTables<'a> {
    pub fn of(trace: &'a Trace) -> Self {
        Self {
            trace,
            shapes: trace.shapes.iter().map(annotations::shape).collect(),
            by_cause: trace.links.by_cause(),
            calls: (0..trace.syncs.len())
                .filter(|&i| trace.syncs.correlation[i] != 0 && is_call(trace, i))
                .map(|i| ((trace.syncs.process[i], trace.syncs.correlation[i]), i))
                .collect(),
            collectives: trace.collectives.row.iter().enumerate().map(|(i, row)| (*row, i)).collect(),
        }
    }

    fn cause(&self, place: usize) -> (LinkKind, RowRef) {
        let link = self.by_cause[place] as usize;
        (self.trace.links.kind[link], self.trace.links.from[link])
    }
}

/// Encodes slices, best in time order: a row's data is searched for near that of the previous row.
pub(super) struct Encoder<'a> {
    shared: &'a EncoderTables<'a>,
    trace: &'a Trace,
    /// The event being encoded.
    body: Vec<u8>,
    arguments: [Option<Near>; Table::COUNT],
    launches: Option<Near>,
    forward: Option<Near>,
}

impl<'a> Encoder<'a> {
    pub fn new(shared: &'a EncoderTables<'a>) -> Self {
        Self {
            shared,
            trace: shared.trace,
            body: Vec::new(),
            arguments: Default::default(),
            launches: None,
            forward: None,
        }
    }

    /// Writes the begin and end of a slice. `counters` are annotations of a dispatch.
    pub fn slice(&mut self, out: &mut Vec<u8>, head: Head, slice: &Slice, counters: &[(trace::StrId, f64)]) {
        self.body.clear();
        wire::uint(&mut self.body, event::TYPE, event::BEGIN);
        wire::uint(&mut self.body, event::TRACK, slice.track);
        wire::uint(&mut self.body, event::CATEGORY, slice.category);
        wire::uint(&mut self.body, event::NAME, name_id(slice.name));
        match slice.table {
            Table::Regions => self.region(slice.row),
            Table::Kernels => self.kernel(slice.row, counters),
            Table::MemoryCopies => self.copy(slice.row),
            Table::MemoryAllocations => self.allocation(slice.row),
            Table::Syncs => self.sync(slice.row),
            Table::Samples => {}
        }
        self.rest(slice.table, slice.row);
        packet(out, head, slice.start, &self.body);
        // An end needs no names, and half of the packets are ends: they are written directly.
        wire::message(out, trace_file::PACKET, |out| {
            wire::int(out, packet::TIMESTAMP, slice.end);
            wire::uint(out, packet::SEQUENCE, SEQUENCE);
            wire::message(out, packet::TRACK_EVENT, |out| {
                wire::uint(out, event::TYPE, event::END);
                wire::uint(out, event::TRACK, slice.track);
            });
        });
    }

    /// Writes the source's arguments.
    fn rest(&mut self, table: Table, row: usize) {
        for i in arguments_of(self.trace, &mut self.arguments[table as usize], RowRef::new(table, row)) {
            let args = &self.trace.args;
            let name = argument_id(args.name[i]);
            annotations::argument(&mut self.body, name, self.trace.strings.get(args.value[i]));
        }
    }

    /// Flows to everything that a region launched, and to its backward ops.
    fn flows_from(&mut self, row: usize) {
        let (shared, links) = (self.shared, &self.trace.links);
        let from = RowRef::region(row);
        let causes = shared.by_cause.len();
        let near = |kind: LinkKind| {
            Near::at(shared.by_cause.partition_point(|&link| {
                (links.kind[link as usize], links.from[link as usize]) < (kind, from)
            }))
        };
        let launches = self.launches.get_or_insert_with(|| near(LinkKind::Launch));
        for i in launches.range(causes, |i| shared.cause(i), (LinkKind::Launch, from)) {
            if let Some((table, row)) = links.to[shared.by_cause[i] as usize].get() {
                wire::fixed64(&mut self.body, event::FLOW, flow_to(table, row));
            }
        }
        let forward = self.forward.get_or_insert_with(|| near(LinkKind::ForwardBackward));
        for i in forward.range(causes, |i| shared.cause(i), (LinkKind::ForwardBackward, from)) {
            wire::fixed64(&mut self.body, event::FLOW, flow_of_link(shared.by_cause[i] as usize));
        }
    }

    /// The flow that ends at a launched row.
    fn flow_from_launch(&mut self, table: Table, row: usize) {
        if self.trace.links.launch_of(RowRef::new(table, row)).is_some() {
            wire::fixed64(&mut self.body, event::LAST_OF_FLOW, flow_to(table, row));
        }
    }

    fn region(&mut self, row: usize) {
        let regions = &self.trace.regions;
        let body = &mut self.body;
        if regions.correlation[row] != 0 {
            annotations::int(body, id!("corr_id"), regions.correlation[row]);
        }
        if regions.parent[row] != 0 {
            annotations::int(body, id!("ancestor_id"), regions.parent[row]);
        }
        annotations::some(body, id!("external_id"), regions.external[row]);
        if !self.shared.calls.is_empty() {
            self.synchronises(row);
        }
        if !self.shared.by_cause.is_empty() {
            self.flows_from(row);
            self.flow_to_backward(row);
        }
    }

    /// What a call waits for or records; its slice also represents the synchronisation.
    fn synchronises(&mut self, row: usize) {
        let (trace, regions) = (self.trace, &self.trace.regions);
        let Some(&i) = self.shared.calls.get(&(regions.process[row], regions.correlation[row])) else {
            return;
        };
        let sync = trace.syncs.get(i);
        if sync.kind != regions.name[row] {
            return;
        }
        for (name, stream) in [(id!("sync_stream"), sync.stream), (id!("waits_for_stream"), sync.waits_for)] {
            if let Some(stream) = stream.get() {
                annotations::int(&mut self.body, name, trace.streams[stream].id);
            }
        }
        annotations::some(&mut self.body, id!("sync_event"), sync.event);
        annotations::some(&mut self.body, id!("awaited_id"), sync.awaited);
    }

    /// The flow that ends at a backward op. Links are sorted by (kind, to), so it can be searched.
    fn flow_to_backward(&mut self, row: usize) {
        let links = &self.trace.links;
        if links.kind.last() != Some(&LinkKind::ForwardBackward) {
            return;
        }
        let key = (LinkKind::ForwardBackward, RowRef::region(row));
        let (mut low, mut high) = (0, links.len());
        while low < high {
            let middle = (low + high) / 2;
            if (links.kind[middle], links.to[middle]) < key { low = middle + 1 } else { high = middle }
        }
        while low < links.len() && (links.kind[low], links.to[low]) == key {
            wire::fixed64(&mut self.body, event::LAST_OF_FLOW, flow_of_link(low));
            low += 1;
        }
    }

    fn kernel(&mut self, row: usize, counters: &[(trace::StrId, f64)]) {
        let (trace, kernels) = (self.trace, &self.trace.kernels);
        let body = &mut self.body;
        if kernels.correlation[row] != 0 {
            annotations::int(body, id!("corr_id"), kernels.correlation[row]);
        }
        annotations::some(body, id!("dispatch_id"), kernels.dispatch[row]);
        if let Some(queue) = kernels.queue[row].get() {
            annotations::int(body, id!("queue"), trace.queues[queue].id);
        }
        stream(body, trace, kernels.stream[row]);
        if let Some(thread) = kernels.thread[row].get() {
            annotations::int(body, id!("tid"), trace.threads[thread].tid);
        }
        if let Some(symbol) = kernels.symbol[row].get() {
            annotations::int(body, id!("kernel_id"), trace.symbols[symbol].id);
        }
        annotations::some(body, id!("external_id"), kernels.external[row]);
        if kernels.graph[row] == Graph::Replayed {
            annotations::text(body, id!("graph"), "replayed");
        }
        graph_node(body, trace, RowRef::kernel(row));
        if !kernels.region[row].is_empty() {
            annotations::text(body, id!("region"), trace.strings.get(kernels.region[row]));
        }
        body.extend_from_slice(&self.shared.shapes[kernels.shape[row].0 as usize]);
        self.collective(row);
        for &(name, value) in counters {
            annotations::double(&mut self.body, argument_id(name), value);
        }
        self.flow_from_launch(Table::Kernels, row);
    }

    fn collective(&mut self, row: usize) {
        if self.shared.collectives.is_empty() {
            return;
        }
        let Some(&c) = self.shared.collectives.get(&RowRef::kernel(row)) else { return };
        let (collective, strings) = (self.trace.collectives.get(c), &self.trace.strings);
        for (name, value) in [
            (id!("collective"), collective.operation),
            (id!("process_group"), collective.group),
            (id!("dtype"), collective.dtype),
        ] {
            if !value.is_empty() {
                annotations::text(&mut self.body, name, strings.get(value));
            }
        }
        annotations::some(&mut self.body, id!("sequence"), collective.sequence);
        annotations::some(&mut self.body, id!("group_size"), collective.group_size);
        annotations::some(&mut self.body, id!("message_bytes"), collective.bytes);
    }

    fn copy(&mut self, row: usize) {
        let (trace, copies) = (self.trace, &self.trace.memory_copies);
        let body = &mut self.body;
        if copies.correlation[row] != 0 {
            annotations::int(body, id!("corr_id"), copies.correlation[row]);
        }
        annotations::some(body, id!("copy_bytes"), copies.bytes[row]);
        let index = |agent: AgentId| agent.get().map(|a| trace.agents[a].absolute_index).unwrap_or_default();
        annotations::some(body, id!("src_agent"), index(copies.src[row]));
        annotations::some(body, id!("dst_agent"), index(copies.dst[row]));
        stream(body, trace, copies.stream[row]);
        if let Some(thread) = copies.thread[row].get() {
            annotations::int(body, id!("tid"), trace.threads[thread].tid);
        }
        graph_node(body, trace, RowRef::new(Table::MemoryCopies, row));
        self.flow_from_launch(Table::MemoryCopies, row);
    }

    fn allocation(&mut self, row: usize) {
        let (trace, rows) = (self.trace, &self.trace.memory_allocations);
        let body = &mut self.body;
        annotations::some(body, id!("size"), rows.bytes[row]);
        if let Some(address) = rows.address[row].get() {
            annotations::text(body, id!("address"), &format!("{:#x}", address as u64));
        }
        if !rows.level[row].is_empty() {
            annotations::text(body, id!("level"), trace.strings.get(rows.level[row]));
        }
        self.flow_from_launch(Table::MemoryAllocations, row);
    }

    fn sync(&mut self, row: usize) {
        let (trace, syncs) = (self.trace, &self.trace.syncs);
        stream(&mut self.body, trace, syncs.stream[row]);
        annotations::some(&mut self.body, id!("event"), syncs.event[row]);
        if let Some(waits_for) = syncs.waits_for[row].get() {
            annotations::int(&mut self.body, id!("waits_for_stream"), trace.streams[waits_for].id);
        }
    }
}

/// The arguments of a row, searched for near those of the last requested row.
pub(super) fn arguments_of(trace: &Trace, near: &mut Option<Near>, owner: RowRef) -> std::ops::Range<usize> {
    let owners = &trace.args.owner;
    if owners.is_empty() {
        return 0..0;
    }
    let near = near.get_or_insert_with(|| Near::at(owners.partition_point(|other| *other < owner)));
    near.range(owners.len(), |i| owners[i], owner)
}

/// Writes the graph node that a row ran as.
fn graph_node(body: &mut Vec<u8>, trace: &Trace, row: RowRef) {
    if let Some(node) = trace.graph_nodes.of(row) {
        annotations::int(body, id!("graph_exec_id"), node.exec);
        annotations::int(body, id!("graph_node_id"), node.node);
    }
}

fn stream(out: &mut Vec<u8>, trace: &Trace, stream: StreamId) {
    if let Some(stream) = stream.get() {
        annotations::int(out, id!("stream_id"), trace.streams[stream].id);
    }
}
