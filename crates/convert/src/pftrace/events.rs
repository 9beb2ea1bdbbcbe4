//! Rows as track events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

use trace::{AgentId, CounterId, Graph, LinkKind, Map, ProcessId, RowRef, StrId, StreamId, Table, Trace};

use super::annotations::{self, id};
use super::names::Interned;
use super::tracks::{Series, Tracks};
use super::wire::{self, event, packet, trace_file};
use super::{Options, Written};
use crate::timeline::{InUse, Lanes, Near, Place, in_time_order, is_call};

/// All packets are of one sequence and share its names.
pub(super) const SEQUENCE: u64 = 1;
/// Flushed when it holds this much.
const BUFFER: usize = 1 << 20;

/// The flow to a launched row.
fn flow_to(table: Table, row: usize) -> u64 {
    (table as u64 + 1) << 40 | row as u64
}

/// The flow of a link from a forward to a backward op.
fn flow_of_link(link: usize) -> u64 {
    1 << 48 | link as u64
}

/// A slice's lane, times, category and name.
struct Slice {
    table: Table,
    row: usize,
    start: i64,
    end: i64,
    category: u64,
    name: StrId,
}

/// Writes one trace.
pub(super) struct Writer<'a, W: Write> {
    trace: &'a Trace,
    out: W,
    buffer: Vec<u8>,
    flushed: u64,
    lanes: Lanes<'a>,
    tracks: Tracks<'a>,
    known: Interned<'a>,
    begun: bool,
    /// The event being put together.
    body: Vec<u8>,
    /// Annotations of each launch shape.
    shapes: Vec<Option<Vec<u8>>>,
    arguments: [Near; Table::COUNT],
    /// Links by cause, and where launches and forward ops are in them.
    by_cause: Vec<u32>,
    launches: Near,
    forward: Near,
    collectives: Map<RowRef, usize>,
    /// Synchronisations that are calls, by process and correlation id.
    calls: Map<(ProcessId, i64), usize>,
    /// Counter rows by dispatch, where they are not sorted so.
    counter_order: Option<Vec<u32>>,
    counters: Near,
    /// Dispatches with counters that run at this time, by track.
    running: Map<Series, Running>,
    in_use: InUse,
    slices: u64,
    negative: u64,
    backwards: u64,
}

impl<'a, W: Write> Writer<'a, W> {
    pub fn new(trace: &'a Trace, out: W, options: &Options) -> Self {
        let first = |table: Table| {
            let row = RowRef::new(table, 0);
            Near::at(trace.args.owner.partition_point(|owner| *owner < row))
        };
        use Table::{Kernels, MemoryAllocations, MemoryCopies, Regions, Samples, Syncs};
        let by_cause = trace.links.by_cause();
        let forward = by_cause.partition_point(|&i| trace.links.kind[i as usize] < LinkKind::ForwardBackward);
        let counters = &trace.counters.kernel;
        let counter_order = (!counters.is_sorted()).then(|| {
            let mut order: Vec<u32> = (0..counters.len() as u32).collect();
            order.sort_by_key(|&i| counters[i as usize]);
            order
        });
        Self {
            trace,
            out,
            buffer: Vec::with_capacity(BUFFER + (1 << 16)),
            flushed: 0,
            lanes: Lanes::new(trace, options.by_queue),
            tracks: Tracks::new(trace),
            known: Interned::new(trace),
            begun: false,
            body: Vec::new(),
            shapes: vec![None; trace.shapes.len()],
            arguments: [Kernels, MemoryCopies, MemoryAllocations, Regions, Samples, Syncs].map(first),
            by_cause,
            launches: Near::default(),
            forward: Near::at(forward),
            calls: (0..trace.syncs.len())
                .filter(|&i| trace.syncs.correlation[i] != 0 && is_call(trace, i))
                .map(|i| ((trace.syncs.process[i], trace.syncs.correlation[i]), i))
                .collect(),
            collectives: trace.collectives.row.iter().enumerate().map(|(i, row)| (*row, i)).collect(),
            counter_order,
            counters: Near::default(),
            running: Map::default(),
            in_use: InUse::default(),
            slices: 0,
            negative: 0,
            backwards: 0,
        }
    }

    pub fn write(mut self) -> io::Result<(W, Written)> {
        let trace = self.trace;
        in_time_order(trace, |table, row| {
            match table {
                Table::Regions => self.region(row),
                Table::Kernels => self.kernel(row),
                Table::MemoryCopies => self.copy(row),
                Table::MemoryAllocations => self.allocation(row),
                Table::Syncs => self.sync(row),
                Table::Samples => self.sample(row),
            }
            self.flush(BUFFER)
        })?;
        self.end_all();
        self.flush(1)?;
        self.out.flush()?;
        let remarks = self.remarks();
        Ok((self.out, Written { bytes: self.flushed, slices: self.slices, remarks }))
    }

    fn remarks(&self) -> Vec<String> {
        let counts = [
            (self.negative, "rows before time zero, which the format cannot hold, were left out"),
            (self.backwards, "rows end before they start and are shown without a length"),
            (self.in_use.unmatched, "frees without a recorded allocation are not counted in the totals"),
        ];
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
    }

    fn flush(&mut self, at: usize) -> io::Result<()> {
        if self.buffer.len() >= at {
            self.out.write_all(&self.buffer)?;
            self.flushed += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes the packet of the event in `body`, with names that are new.
    fn packet(&mut self, ns: i64) {
        let (body, known) = (&self.body, &mut self.known);
        let mut flags = packet::NEEDS_STATE;
        let first = !std::mem::replace(&mut self.begun, true);
        if first {
            flags |= packet::STATE_CLEARED;
        }
        wire::message(&mut self.buffer, trace_file::PACKET, |out| {
            wire::int(out, packet::TIMESTAMP, ns);
            wire::uint(out, packet::SEQUENCE, SEQUENCE);
            wire::uint(out, packet::SEQUENCE_FLAGS, flags);
            if first {
                wire::uint(out, packet::FIRST_ON_SEQUENCE, 1);
            }
            if !known.fresh.is_empty() {
                wire::bytes(out, packet::INTERNED_DATA, &known.fresh);
                known.fresh.clear();
            }
            wire::bytes(out, packet::TRACK_EVENT, body);
        });
        self.body.clear();
    }

    /// Puts the head of an event into `body`.
    fn head(&mut self, kind: u64, track: u64, category: u64, name: StrId) {
        let name = self.known.name(name);
        self.body.clear();
        wire::uint(&mut self.body, event::TYPE, kind);
        wire::uint(&mut self.body, event::TRACK, track);
        wire::uint(&mut self.body, event::CATEGORY, category);
        wire::uint(&mut self.body, event::NAME, name);
    }

    /// Starts a slice: its head is in `body` afterwards, and annotations may follow. `close` writes it.
    fn open(&mut self, slice: &mut Slice) -> Option<u64> {
        if slice.start < 0 {
            self.negative += 1;
            return None;
        }
        if slice.end < slice.start {
            self.backwards += 1;
            slice.end = slice.start;
        }
        let place = self.lanes.place(slice.table, slice.row)?;
        let lane = self.lanes.take(place, slice.start, slice.end);
        let track = self.tracks.lane(&mut self.buffer, &lane);
        self.head(event::BEGIN, track, slice.category, slice.name);
        Some(track)
    }

    fn close(&mut self, slice: &Slice, track: u64) {
        self.rest(slice.table, slice.row);
        self.packet(slice.start);
        // An end needs no names and is half of the packets: it is written directly.
        wire::message(&mut self.buffer, trace_file::PACKET, |out| {
            wire::int(out, packet::TIMESTAMP, slice.end);
            wire::uint(out, packet::SEQUENCE, SEQUENCE);
            wire::message(out, packet::TRACK_EVENT, |out| {
                wire::uint(out, event::TYPE, event::END);
                wire::uint(out, event::TRACK, track);
            });
        });
        self.slices += 1;
    }

    /// Arguments that the source gave, and the flow that ends here.
    fn rest(&mut self, table: Table, row: usize) {
        let (args, owner) = (&self.trace.args, RowRef::new(table, row));
        for i in self.arguments[table as usize].range(args.len(), |i| args.owner[i], owner) {
            let name = self.known.argument(args.name[i]);
            annotations::argument(&mut self.body, name, self.trace.strings.get(args.value[i]));
        }
    }

    /// Flows to everything that a region launched, and to its backward ops.
    fn flows_from(&mut self, row: usize) {
        let links = &self.trace.links;
        let key_of = |i: usize| {
            let link = self.by_cause[i] as usize;
            (links.kind[link], links.from[link])
        };
        let from = RowRef::region(row);
        for i in self.launches.range(self.by_cause.len(), key_of, (LinkKind::Launch, from)) {
            if let Some((table, row)) = links.to[self.by_cause[i] as usize].get() {
                wire::fixed64(&mut self.body, event::FLOW, flow_to(table, row));
            }
        }
        for i in self.forward.range(self.by_cause.len(), key_of, (LinkKind::ForwardBackward, from)) {
            wire::fixed64(&mut self.body, event::FLOW, flow_of_link(self.by_cause[i] as usize));
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
        let (start, end, name) = (regions.start[row], regions.end[row], regions.name[row]);
        let category = self.known.category_of(regions.category[row]);
        let mut slice = Slice { table: Table::Regions, row, start, end, category, name };
        let Some(track) = self.open(&mut slice) else { return };
        let body = &mut self.body;
        if regions.correlation[row] != 0 {
            annotations::int(body, id!("corr_id"), regions.correlation[row]);
        }
        if regions.parent[row] != 0 {
            annotations::int(body, id!("ancestor_id"), regions.parent[row]);
        }
        annotations::some(body, id!("external_id"), regions.external[row]);
        if !self.calls.is_empty() {
            self.synchronises(row);
        }
        if !self.by_cause.is_empty() {
            self.flows_from(row);
            self.flow_to_backward(row);
        }
        self.close(&slice, track);
    }

    /// What a call waits for or records, which its slice stands for too.
    fn synchronises(&mut self, row: usize) {
        let (trace, regions) = (self.trace, &self.trace.regions);
        let Some(&i) = self.calls.get(&(regions.process[row], regions.correlation[row])) else { return };
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

    /// The flow that ends at a backward op. Links are sorted by (kind, to), so it is found there.
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

    fn kernel(&mut self, row: usize) {
        let (trace, kernels) = (self.trace, &self.trace.kernels);
        let (start, end, name) = (kernels.start[row], kernels.end[row], kernels.name[row]);
        let category = self.known.category("kernel_dispatch");
        let mut slice = Slice { table: Table::Kernels, row, start, end, category, name };
        let Some(track) = self.open(&mut slice) else { return };
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
        let shape = kernels.shape[row];
        let encoded =
            self.shapes[shape.0 as usize].get_or_insert_with(|| annotations::shape(trace.shapes.get(shape)));
        body.extend_from_slice(encoded);
        self.collective(row);
        let values = self.counter_values(row);
        for &(counter, value) in &values {
            let kind = counter.get().map_or(StrId::EMPTY, |c| trace.counter_kinds[c].name);
            let name = self.known.argument(kind);
            annotations::double(&mut self.body, name, value);
        }
        self.flow_from_launch(Table::Kernels, row);
        self.close(&slice, track);
        for (counter, value) in values {
            let kind = counter.get().map(|c| &trace.counter_kinds[c]);
            let (name, unit) = kind.map_or_else(Default::default, |kind| (kind.name, kind.unit));
            let series = Series::Counter(kernels.process[row], kernels.agent[row], name, unit);
            self.counted(series, (slice.start, slice.end), value);
        }
    }

    /// Shows the value of a dispatch while it runs. Dispatches overlap: the track has the sum of those that run, and
    /// only falls to zero when the last of them ends.
    fn counted(&mut self, series: Series, (start, end): (i64, i64), value: f64) {
        self.ended(series, start);
        let running = self.running.entry(series).or_default();
        running.ends.push(Reverse((end, value.to_bits())));
        running.sum += value;
        let sum = running.sum;
        self.point(series, start, Number::Float(sum));
    }

    /// Writes the points where dispatches of a series ended, up to a time.
    fn ended(&mut self, series: Series, until: i64) {
        while let Some(running) = self.running.get_mut(&series)
            && running.ends.peek().is_some_and(|Reverse((end, _))| *end <= until)
            && let Some(Reverse((end, value))) = running.ends.pop()
        {
            running.sum -= f64::from_bits(value);
            if running.ends.is_empty() {
                // What adding and taking off leaves behind.
                running.sum = 0.0;
            }
            let sum = running.sum;
            self.point(series, end, Number::Float(sum));
        }
    }

    /// Writes the ends of all dispatches that still run.
    fn end_all(&mut self) {
        let mut series: Vec<Series> = self.running.keys().copied().collect();
        series.sort_unstable();
        for series in series {
            self.ended(series, i64::MAX);
        }
    }

    fn collective(&mut self, row: usize) {
        if self.collectives.is_empty() {
            return;
        }
        let Some(&c) = self.collectives.get(&RowRef::kernel(row)) else { return };
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

    /// The counters of one dispatch, each summed over its instances as rocprofv3 does.
    fn counter_values(&mut self, row: usize) -> Vec<(CounterId, f64)> {
        let rows = &self.trace.counters;
        if rows.is_empty() {
            return Vec::new();
        }
        let order = self.counter_order.as_deref();
        let at = |i: usize| order.map_or(i, |order| order[i] as usize);
        let found = self.counters.range(rows.len(), |i| rows.kernel[at(i)], RowRef::kernel(row));
        let mut values: Vec<(CounterId, f64)> =
            found.map(|i| (rows.counter[at(i)], rows.value[at(i)])).collect();
        values.sort_by_key(|(counter, _)| *counter);
        values.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        values
    }

    fn copy(&mut self, row: usize) {
        let (trace, copies) = (self.trace, &self.trace.memory_copies);
        let (start, end, name) = (copies.start[row], copies.end[row], copies.name[row]);
        let category = self.known.category("memory_copy");
        let mut slice = Slice { table: Table::MemoryCopies, row, start, end, category, name };
        let Some(track) = self.open(&mut slice) else { return };
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
        self.close(&slice, track);
    }

    fn allocation(&mut self, row: usize) {
        let (trace, rows) = (self.trace, &self.trace.memory_allocations);
        let (start, end, name) = (rows.start[row], rows.end[row], rows.kind[row]);
        let category = self.known.category("memory_allocation");
        let mut slice = Slice { table: Table::MemoryAllocations, row, start, end, category, name };
        if let Some(track) = self.open(&mut slice) {
            let body = &mut self.body;
            annotations::some(body, id!("size"), rows.bytes[row]);
            if let Some(address) = rows.address[row].get() {
                annotations::text(body, id!("address"), &format!("{:#x}", address as u64));
            }
            if !rows.level[row].is_empty() {
                annotations::text(body, id!("level"), trace.strings.get(rows.level[row]));
            }
            self.flow_from_launch(Table::MemoryAllocations, row);
            self.close(&slice, track);
        }
        if let Some(level) = self.in_use.after(trace, row).filter(|_| slice.start >= 0) {
            // Only after the call is it sure that the memory is there, or gone.
            self.point(Series::Memory(level.process, level.agent), slice.end, Number::Whole(level.bytes));
        }
    }

    fn sync(&mut self, row: usize) {
        let (trace, syncs) = (self.trace, &self.trace.syncs);
        let (start, end, name) = (syncs.start[row], syncs.end[row], syncs.kind[row]);
        let category = self.known.category("synchronisation");
        let mut slice = Slice { table: Table::Syncs, row, start, end, category, name };
        let Some(track) = self.open(&mut slice) else { return };
        stream(&mut self.body, trace, syncs.stream[row]);
        annotations::some(&mut self.body, id!("event"), syncs.event[row]);
        if let Some(waits_for) = syncs.waits_for[row].get() {
            annotations::int(&mut self.body, id!("waits_for_stream"), trace.streams[waits_for].id);
        }
        self.close(&slice, track);
    }

    /// A sample with a value is a point of a counter track, one without is an instant.
    fn sample(&mut self, row: usize) {
        let (trace, samples) = (self.trace, &self.trace.samples);
        let (ns, process, agent) = (samples.start[row], samples.process[row], samples.agent[row]);
        if ns < 0 {
            self.negative += 1;
            return;
        }
        if !samples.value[row].is_nan() {
            let series = Series::Sample(process, agent, samples.name[row], samples.unit[row]);
            self.point(series, ns, Number::Float(samples.value[row]));
            return;
        }
        let track = match samples.thread[row] {
            thread if thread.is_some() => {
                self.tracks.thread(&mut self.buffer, Place::Thread(process, thread))
            }
            _ => self.tracks.holder(&mut self.buffer, process, agent),
        };
        let category = self.known.category_of(samples.kind[row]);
        self.head(event::INSTANT, track, category, samples.name[row]);
        if !samples.location[row].is_empty() {
            annotations::text(&mut self.body, id!("message"), trace.strings.get(samples.location[row]));
        }
        if samples.correlation[row] != 0 {
            annotations::int(&mut self.body, id!("corr_id"), samples.correlation[row]);
        }
        annotations::some(&mut self.body, id!("dispatch_id"), samples.dispatch[row]);
        self.rest(Table::Samples, row);
        self.packet(ns);
    }

    fn point(&mut self, series: Series, ns: i64, value: Number) {
        let track = self.tracks.series(&mut self.buffer, series);
        self.body.clear();
        wire::uint(&mut self.body, event::TYPE, event::COUNTER);
        wire::uint(&mut self.body, event::TRACK, track);
        match value {
            Number::Whole(value) => wire::int(&mut self.body, event::INT_VALUE, value),
            Number::Float(value) => wire::double(&mut self.body, event::DOUBLE_VALUE, value),
        }
        self.packet(ns);
    }
}

/// Dispatches of one counter that run at the same time.
#[derive(Default)]
struct Running {
    sum: f64,
    /// When each ends, and the bits of its value.
    ends: BinaryHeap<Reverse<(i64, u64)>>,
}

/// A value of a counter track.
enum Number {
    Whole(i64),
    Float(f64),
}

/// The node of a graph that a row was.
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
