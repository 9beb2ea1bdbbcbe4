//! One function per table: its rows as Chrome events.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use formats::torch::{category, key};

use formats::secrets::redact_text;
use trace::{
    Args, CopyKind, Graph, LinkKind, Map, OptI64, ProcessId, RowRef, StrId, StreamId, Strings, Table,
    ThreadId, Trace,
};

use super::Writer;
use super::bytes::{Text, float, int, micros, string};
use super::lanes::device_of;

/// The category of annotations that the profiler repeats on GPU lanes.
const GPU_ANNOTATION: &[u8] = category::bytes::GPU_USER_ANNOTATION;

/// Kineto's category for host calls of other profilers, so that torch tools find launches and annotations.
const CATEGORIES: [(&str, &str); 7] = [
    ("HIP_RUNTIME_API_EXT", category::CUDA_RUNTIME),
    ("HIP_RUNTIME_API", category::CUDA_RUNTIME),
    ("HIP_COMPILER_API_EXT", category::CUDA_RUNTIME),
    ("HIP_COMPILER_API", category::CUDA_RUNTIME),
    ("MARKER_CORE_RANGE_API", category::USER_ANNOTATION),
    ("MARKER_CORE_API", category::USER_ANNOTATION),
    ("", category::CPU_OP),
];

/// (direction in rocprofiler's or Kineto's words, Kineto's `kind`).
const DIRECTIONS: [(&str, &str); 7] = [
    ("HOST_TO_DEVICE", "HtoD"),
    ("DEVICE_TO_HOST", "DtoH"),
    ("DEVICE_TO_DEVICE", "DtoD"),
    ("HOST_TO_HOST", "HtoH"),
    ("HtoD", "HtoD"),
    ("DtoH", "DtoH"),
    ("DtoD", "DtoD"),
];

/// torch's number for the HIP device type.
const DEVICE_TYPE_HIP: i64 = 6;

/// Numbers that continue from block to block.
#[derive(Default)]
pub(super) struct Numbering {
    event_index: i64,
    /// Bytes in use per agent.
    allocated: Map<u32, i64>,
    sizes: Map<i64, i64>,
    /// Added to the correlation ids of each process, so that ids of several recordings do not collide.
    offsets: Vec<i64>,
    flow: i64,
}

impl Numbering {
    /// Several recordings in one file get separate ranges of ids; a single one keeps its ids.
    pub(super) fn prepare(&mut self, trace: &Trace) {
        if self.offsets.len() == trace.processes.len() {
            return;
        }
        let mut groups: Vec<(StrId, usize)> = Vec::new();
        let mut known: Map<StrId, usize> = Map::default();
        let mut highest: Vec<i64> = Vec::new();
        let group_of: Vec<usize> = trace
            .processes
            .iter()
            .enumerate()
            .map(|(i, process)| {
                let found = known.get(&process.guid).copied().filter(|_| !process.guid.is_empty());
                found.unwrap_or_else(|| {
                    groups.push((process.guid, i));
                    known.insert(process.guid, i);
                    i
                })
            })
            .collect();
        highest.resize(trace.processes.len(), 0);
        if groups.len() > 1 {
            let columns = [
                (&trace.regions.process, &trace.regions.correlation),
                (&trace.kernels.process, &trace.kernels.correlation),
                (&trace.memory_copies.process, &trace.memory_copies.correlation),
            ];
            for (processes, ids) in columns {
                for (process, &id) in processes.iter().zip(ids) {
                    if let Some(process) = process.get() {
                        let top = &mut highest[group_of[process]];
                        *top = id.max(*top);
                    }
                }
            }
        }
        let mut offset = 0;
        let mut starts = vec![0; trace.processes.len()];
        for &(_, first) in &groups {
            starts[first] = offset;
            offset += highest[first];
        }
        self.offsets = group_of.iter().map(|&first| starts[first]).collect();
    }

    fn correlation(&self, process: ProcessId, id: i64) -> i64 {
        id + process.get().and_then(|p| self.offsets.get(p)).copied().unwrap_or(0)
    }
}

/// Walks through the arguments of a table's rows in order.
struct ArgCursor<'a> {
    args: &'a Args,
    at: usize,
}

impl<'a> ArgCursor<'a> {
    fn new(args: &'a Args, table: Table) -> Self {
        let first = RowRef::new(table, 0);
        Self { args, at: args.owner.partition_point(|owner| *owner < first) }
    }

    /// Indices of the arguments of the next row.
    fn of(&mut self, owner: RowRef) -> std::ops::Range<usize> {
        let from = self.at;
        while self.at < self.args.len() && self.args.owner[self.at] == owner {
            self.at += 1;
        }
        from..self.at
    }
}

/// The `args` object of an event: separators in the right places.
struct Object<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

impl<'a> Object<'a> {
    fn open(out: &'a mut Vec<u8>) -> Self {
        out.extend_from_slice(b",\n    \"args\": {\n      ");
        Self { out, empty: true }
    }

    fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !self.empty {
            self.out.extend_from_slice(b", ");
        }
        self.empty = false;
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\": ");
        self.out
    }

    fn int(&mut self, key: &str, value: i64) {
        int(self.key(key), value);
    }

    fn some(&mut self, key: &str, value: OptI64) {
        if let Some(value) = value.get() {
            self.int(key, value);
        }
    }

    /// Arguments kept from the source, except those that are columns of the row and already written.
    fn rest(
        &mut self,
        text: &mut Text,
        strings: &Strings,
        args: &Args,
        rows: std::ops::Range<usize>,
        own: &[&str],
    ) {
        for i in rows {
            let name = strings.get(args.name[i]);
            if own.contains(&name) {
                continue;
            }
            if !self.empty {
                self.out.extend_from_slice(b", ");
            }
            self.empty = false;
            text.name(self.out, strings, args.name[i]);
            self.out.extend_from_slice(b": ");
            text.value(self.out, strings, args.value[i]);
        }
    }

    fn close(self) {
        self.out.extend_from_slice(b"\n    }\n  }");
    }
}

/// The track and time span of an event.
struct TrackSpan {
    pid: i64,
    tid: i64,
    start: i64,
    end: i64,
}

/// `"cat": …, "name": …, "pid": …, "tid": …, "ts": …, "dur": …`
fn complete(
    out: &mut Vec<u8>,
    text: &mut Text,
    strings: &Strings,
    category: &[u8],
    name: StrId,
    at: &TrackSpan,
) {
    out.extend_from_slice(b"\"ph\": \"X\", \"cat\": \"");
    out.extend_from_slice(category);
    out.extend_from_slice(b"\", \"name\": ");
    text.name(out, strings, name);
    out.extend_from_slice(b", \"pid\": ");
    int(out, at.pid);
    out.extend_from_slice(b", \"tid\": ");
    int(out, at.tid);
    out.extend_from_slice(b",\n    \"ts\": ");
    micros(out, at.start);
    out.extend_from_slice(b", \"dur\": ");
    micros(out, at.end - at.start);
}

fn pid_of(trace: &Trace, process: ProcessId) -> i64 {
    process.get().map_or(0, |p| trace.processes[p].pid)
}

fn tid_of(trace: &Trace, thread: ThreadId, process: ProcessId) -> i64 {
    thread.get().map_or_else(|| pid_of(trace, process), |t| trace.threads[t].tid)
}

/// Writes the graph node that a row ran as.
fn graph_node(object: &mut Object<'_>, trace: &Trace, row: RowRef) {
    if let Some(node) = trace.graph_nodes.of(row) {
        object.int(key::GRAPH_ID, node.exec);
        object.int(key::GRAPH_NODE_ID, node.node);
    }
}

fn stream_of(trace: &Trace, stream: StreamId, queue: trace::QueueId) -> i64 {
    match (stream.get(), queue.get()) {
        (Some(stream), _) => trace.streams[stream].id,
        (None, Some(queue)) => trace.queues[queue].id,
        (None, None) => 0,
    }
}

/// The GPU on whose lane a copy is.
fn gpu_of_copy(trace: &Trace, copy: usize) -> trace::AgentId {
    let copies = &trace.memory_copies;
    let is_gpu =
        |agent: trace::AgentId| agent.get().is_some_and(|a| trace.agents[a].kind != trace::AgentKind::Cpu);
    if is_gpu(copies.dst[copy]) { copies.dst[copy] } else { copies.src[copy] }
}

fn triple(out: &mut Vec<u8>, values: [u32; 3]) {
    out.push(b'[');
    for (i, value) in values.into_iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        int(out, i64::from(value));
    }
    out.push(b']');
}

impl<W: Write> Writer<W> {
    /// Names of processes, threads, devices and streams.
    pub(super) fn names(&mut self, trace: &Trace) -> io::Result<()> {
        // Several processes are distinguished by their recordings, or by their ranks.
        let several = trace.processes.len() > 1;
        let labels = trace.process_labels();
        let label_of = |id: ProcessId| id.get().map_or("", |id| labels[id].as_str());
        let whose = |id: ProcessId| match (label_of(id), trace.rank_of(id).filter(|_| several)) {
            ("", Some(rank)) => format!(" rank {rank}"),
            ("", None) => String::new(),
            (label, _) => format!(" {label}"),
        };
        for (i, process) in trace.processes.iter().enumerate() {
            let label = if process.command.is_empty() {
                "python".into()
            } else {
                redact_text(trace.strings.get(process.command))
            };
            let id = ProcessId::at(i);
            let pid = self.lanes.process(id);
            let told = pid == process.pid || label_of(id).contains("pid ");
            let own = if told { String::new() } else { format!(" pid {}", process.pid) };
            self.meta("process_name", pid, 0, "name", &format!("{label}{}{own}", whose(id)))?;
            self.meta("process_labels", pid, 0, "labels", "CPU")?;
        }
        for thread in &trace.threads {
            let pid = self.lanes.process(thread.process);
            let name = match trace.strings.get(thread.name) {
                "" => format!("thread {} (python)", thread.tid),
                name => name.to_string(),
            };
            self.meta("thread_name", pid, thread.tid, "name", &name)?;
        }
        let mut streams = self.streams_by_gpu(trace);
        for (i, agent) in trace.agents.iter().enumerate() {
            if agent.kind != trace::AgentKind::Gpu {
                continue;
            }
            let id = trace::AgentId::at(i);
            let (pid, device) = (self.lanes.agent(id), device_of(trace, id));
            self.meta("process_name", pid, 0, "name", &format!("python{}", whose(agent.process)))?;
            self.meta("process_labels", pid, 0, "labels", &format!("GPU {device}"))?;
            for stream in streams.remove(&pid).unwrap_or_default() {
                self.meta("thread_name", pid, stream, "name", &format!("stream {stream} "))?;
            }
        }
        Ok(())
    }

    /// Streams with work, by GPU number. A trace may declare any number of GPUs and streams: all pairs would
    /// be far more.
    fn streams_by_gpu(&self, trace: &Trace) -> BTreeMap<i64, BTreeSet<i64>> {
        let mut streams: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
        let mut add = |agent, stream, queue| {
            streams.entry(self.lanes.agent(agent)).or_default().insert(stream_of(trace, stream, queue));
        };
        let kernels = &trace.kernels;
        for i in 0..kernels.len() {
            add(kernels.agent[i], kernels.stream[i], kernels.queue[i]);
        }
        let copies = &trace.memory_copies;
        for i in 0..copies.len() {
            add(gpu_of_copy(trace, i), copies.stream[i], copies.queue[i]);
        }
        if kernels.is_empty() && copies.is_empty() {
            self.declared_streams(trace, &mut streams);
        }
        streams
    }

    /// If rows come in blocks after the names: all streams of each GPU's process, unless there are too many.
    fn declared_streams(&self, trace: &Trace, streams: &mut BTreeMap<i64, BTreeSet<i64>>) {
        const MOST: usize = 4096;
        let gpus = trace.agents.iter().filter(|agent| agent.kind == trace::AgentKind::Gpu).count();
        if gpus.saturating_mul(trace.streams.len()) > MOST {
            return;
        }
        for (i, agent) in trace.agents.iter().enumerate() {
            let own = trace.streams.iter().filter(|stream| stream.process == agent.process);
            let gpu = self.lanes.agent(trace::AgentId::at(i));
            streams.entry(gpu).or_default().extend(own.map(|stream| stream.id));
        }
    }

    fn meta(&mut self, kind: &str, pid: i64, tid: i64, key: &str, value: &str) -> io::Result<()> {
        let out = self.event()?;
        out.extend_from_slice(b"\"name\": \"");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\", \"ph\": \"M\", \"ts\": 0.000, \"pid\": ");
        int(out, pid);
        out.extend_from_slice(b", \"tid\": ");
        int(out, tid);
        let mut args = Object::open(out);
        string(args.key(key), value);
        args.close();
        Ok(())
    }

    /// Start (`s`) or end (`f`) of a flow.
    fn flow(&mut self, phase: u8, category: &str, id: i64, pid: i64, tid: i64, ns: i64) -> io::Result<()> {
        let out = self.event()?;
        out.extend_from_slice(b"\"ph\": \"");
        out.push(phase);
        out.extend_from_slice(b"\", \"id\": ");
        int(out, id);
        out.extend_from_slice(b", \"pid\": ");
        int(out, pid);
        out.extend_from_slice(b", \"tid\": ");
        int(out, tid);
        out.extend_from_slice(b", \"ts\": ");
        micros(out, ns);
        for piece in [", \"cat\": \"", category, "\", \"name\": \"", category, "\""] {
            out.extend_from_slice(piece.as_bytes());
        }
        out.extend_from_slice(if phase == b'f' { b", \"bp\": \"e\"\n  }" } else { b"\n  }" });
        Ok(())
    }

    /// Host intervals; calls with a correlation start a flow.
    pub(super) fn regions(&mut self, trace: &Trace) -> io::Result<()> {
        let (regions, strings) = (&trace.regions, &trace.strings);
        let mut cursor = ArgCursor::new(&trace.args, Table::Regions);
        let mut kinds: Vec<Option<(Vec<u8>, bool)>> = Vec::new();
        for i in 0..regions.len() {
            let category = regions.category[i];
            let slot = category.0 as usize;
            if slot >= kinds.len() {
                kinds.resize(slot + 1, None);
            }
            let (label, frame) = kinds[slot].get_or_insert_with(|| {
                let name = strings.get(category);
                let label = CATEGORIES.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| to);
                let mut escaped = Vec::new();
                string(&mut escaped, label);
                (escaped[1..escaped.len() - 1].to_vec(), label == category::PYTHON_FUNCTION)
            });
            let process = regions.process[i];
            let tid = tid_of(trace, regions.thread[i], process);
            let pid = match &label[..] == GPU_ANNOTATION {
                true => self.lanes.annotated(trace, regions.thread[i], process),
                false => self.lanes.process(process),
            };
            let place = TrackSpan { pid, tid, start: regions.start[i], end: regions.end[i] };
            let correlation = match regions.correlation[i] {
                0 => 0,
                id => self.numbers.correlation(process, id),
            };
            let index = self.options.event_index.then(|| {
                self.numbers.event_index += 1;
                self.numbers.event_index - 1
            });
            self.event()?;
            let (out, text) = (&mut self.buffer, &mut self.text);
            complete(out, text, strings, label, regions.name[i], &place);
            let mut object = Object::open(out);
            if *frame {
                match regions.parent[i] {
                    0 => object.key(key::PYTHON_PARENT_ID).extend_from_slice(b"null"),
                    parent => object.int(key::PYTHON_PARENT_ID, parent),
                }
                object.some(key::PYTHON_ID, regions.external[i]);
            } else {
                object.some(key::EXTERNAL_ID, regions.external[i]);
                if correlation != 0 {
                    object.int("correlation", correlation);
                }
            }
            let rows = cursor.of(RowRef::region(i));
            const OWN: [&str; 5] =
                [key::EXTERNAL_ID, "correlation", key::PYTHON_PARENT_ID, key::PYTHON_ID, "Ev Idx"];
            object.rest(text, strings, &trace.args, rows.clone(), &OWN[..4 + usize::from(index.is_some())]);
            if let Some(index) = index.filter(|_| correlation == 0) {
                object.int("Ev Idx", index);
            }
            object.close();
            if correlation != 0 && self.options.flows {
                self.flow(b's', "ac2g", correlation, pid, tid, place.start)?;
            }
        }
        Ok(())
    }

    /// GPU kernels; each ends the flow of its launch.
    pub(super) fn kernels(&mut self, trace: &Trace) -> io::Result<()> {
        let (kernels, strings) = (&trace.kernels, &trace.strings);
        let mut cursor = ArgCursor::new(&trace.args, Table::Kernels);
        let collectives: Map<RowRef, usize> =
            trace.collectives.row.iter().enumerate().map(|(i, row)| (*row, i)).collect();
        for i in 0..kernels.len() {
            let device = device_of(trace, kernels.agent[i]);
            let stream = stream_of(trace, kernels.stream[i], kernels.queue[i]);
            let pid = self.lanes.agent(kernels.agent[i]);
            let place = TrackSpan { pid, tid: stream, start: kernels.start[i], end: kernels.end[i] };
            let correlation = self.numbers.correlation(kernels.process[i], kernels.correlation[i]);
            let rows = cursor.of(RowRef::kernel(i));
            let registers = self.options.registers;
            self.event()?;
            let (out, text) = (&mut self.buffer, &mut self.text);
            complete(out, text, strings, b"kernel", kernels.name[i], &place);
            let mut object = Object::open(out);
            object.some(key::EXTERNAL_ID, kernels.external[i]);
            object.int("device", device);
            object.int("stream", stream);
            if kernels.correlation[i] != 0 {
                object.int("correlation", correlation);
            }
            match kernels.graph[i] {
                Graph::Direct => string(object.key("kind"), "Dispatch Kernel"),
                Graph::Replayed => string(object.key("kind"), "Dispatch Task"),
                Graph::Unknown => {}
            }
            graph_node(&mut object, trace, RowRef::kernel(i));
            let shape = trace.shapes.get(kernels.shape[i]);
            if let (Some(grid), Some(block)) = (shape.grid, shape.workgroup)
                && kernels.graph[i] != Graph::Replayed
            {
                // Kineto counts workgroups, the trace work-items.
                let groups = [0, 1, 2].map(|axis| grid[axis].div_ceil(block[axis].max(1)));
                triple(object.key("grid"), groups);
                triple(object.key("block"), block);
            }
            if registers {
                object.some(key::SHARED_MEMORY, shape.lds_bytes);
                object.some(key::REGISTERS_PER_THREAD, shape.vgpr);
            }
            let known: &[&str] = &[
                key::EXTERNAL_ID,
                "device",
                "stream",
                "correlation",
                "kind",
                key::GRAPH_ID,
                key::GRAPH_NODE_ID,
                "grid",
                "block",
                key::SHARED_MEMORY,
                key::REGISTERS_PER_THREAD,
            ];
            let has_args = !rows.is_empty();
            object.rest(text, strings, &trace.args, rows, known);
            if let Some(&c) = collectives.get(&RowRef::kernel(i)).filter(|_| !has_args) {
                let c = trace.collectives.get(c);
                for (key, value) in [
                    (key::COLLECTIVE_NAME, c.operation),
                    (key::DTYPE, c.dtype),
                    (key::PROCESS_GROUP_NAME, c.group),
                ] {
                    if !value.is_empty() {
                        string(object.key(key), strings.get(value));
                    }
                }
                object.some(key::GROUP_SIZE, c.group_size);
                object.some(key::SEQ, c.sequence);
                object.some("In msg bytes", c.bytes);
            }
            object.close();
            if kernels.correlation[i] != 0 && self.options.flows {
                self.flow(b'f', "ac2g", correlation, pid, stream, place.start)?;
            }
        }
        Ok(())
    }

    /// GPU copies and fills.
    pub(super) fn copies(&mut self, trace: &Trace) -> io::Result<()> {
        let (copies, strings) = (&trace.memory_copies, &trace.strings);
        let mut cursor = ArgCursor::new(&trace.args, Table::MemoryCopies);
        for i in 0..copies.len() {
            let name = strings.get(copies.name[i]);
            let agent = gpu_of_copy(trace, i);
            let device = device_of(trace, agent);
            let stream = stream_of(trace, copies.stream[i], copies.queue[i]);
            let pid = self.lanes.agent(agent);
            let place = TrackSpan { pid, tid: stream, start: copies.start[i], end: copies.end[i] };
            let correlation = self.numbers.correlation(copies.process[i], copies.correlation[i]);
            let rows = cursor.of(RowRef::new(Table::MemoryCopies, i));
            self.event()?;
            let (out, text) = (&mut self.buffer, &mut self.text);
            let fill = copies.kind[i] == CopyKind::Fill;
            let category: &[u8] =
                if fill { category::bytes::GPU_MEMSET } else { category::bytes::GPU_MEMCPY };
            complete(out, text, strings, category, copies.name[i], &place);
            let mut object = Object::open(out);
            object.some(key::EXTERNAL_ID, copies.external[i]);
            object.int("device", device);
            object.int("stream", stream);
            if copies.correlation[i] != 0 {
                object.int("correlation", correlation);
            }
            if fill {
                string(object.key("kind"), "Device");
            } else if let Some((_, kind)) = DIRECTIONS.iter().find(|(word, _)| name.contains(word)) {
                string(object.key("kind"), kind);
            }
            graph_node(&mut object, trace, RowRef::new(Table::MemoryCopies, i));
            object.some("bytes", copies.bytes[i]);
            if let (Some(bytes), true) = (copies.bytes[i].get(), place.end > place.start) {
                let rate = bytes as f64 / (place.end - place.start) as f64;
                float(object.key("memory bandwidth (GB/s)"), rate);
            }
            const OWN: [&str; 9] = [
                key::EXTERNAL_ID,
                "device",
                "stream",
                "correlation",
                "kind",
                key::GRAPH_ID,
                key::GRAPH_NODE_ID,
                "bytes",
                "memory bandwidth (GB/s)",
            ];
            object.rest(text, strings, &trace.args, rows, &OWN);
            object.close();
            if copies.correlation[i] != 0 && self.options.flows {
                self.flow(b'f', "ac2g", correlation, pid, stream, place.start)?;
            }
        }
        Ok(())
    }

    /// Allocations and frees as Kineto's `[memory]` instants, with the memory in use after each.
    pub(super) fn allocations(&mut self, trace: &Trace) -> io::Result<()> {
        let (rows, strings) = (&trace.memory_allocations, &trace.strings);
        for i in 0..rows.len() {
            let freed = strings.get(rows.kind[i]).contains("FREE");
            let address = rows.address[i].get();
            let size = rows.bytes[i].get().map(i64::abs).filter(|b| *b > 0 || !freed);
            let bytes = match (freed, size, address) {
                (true, Some(size), _) => Some(-size),
                (true, None, Some(address)) => self.numbers.sizes.remove(&address).map(|b| -b),
                (_, size, _) => size,
            };
            if let (false, Some(address), Some(bytes)) = (freed, address, bytes) {
                self.numbers.sizes.insert(address, bytes);
            }
            let total = self.numbers.allocated.entry(rows.agent[i].0).or_insert(0);
            *total += bytes.unwrap_or(0);
            let total = *total;
            let process = rows.process[i];
            let (pid, tid) = (self.lanes.process(process), tid_of(trace, rows.thread[i], process));
            let device = device_of(trace, rows.agent[i]);
            let out = self.event()?;
            out.extend_from_slice(
                b"\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": ",
            );
            int(out, pid);
            out.extend_from_slice(b", \"tid\": ");
            int(out, tid);
            out.extend_from_slice(b", \"ts\": ");
            micros(out, rows.start[i]);
            let mut object = Object::open(out);
            object.some(key::ADDR, rows.address[i]);
            if let Some(bytes) = bytes {
                object.int(key::MEMORY_BYTES, bytes);
            }
            object.int(key::DEVICE_ID, device);
            object.int(key::DEVICE_TYPE, DEVICE_TYPE_HIP);
            object.int(key::TOTAL_ALLOCATED, total);
            if rows.end[i] > rows.start[i] {
                object.int("Duration (ns)", rows.end[i] - rows.start[i]);
            }
            object.close();
        }
        Ok(())
    }

    /// Synchronisations that are not host calls; calls are already among the regions.
    pub(super) fn syncs(&mut self, trace: &Trace) -> io::Result<()> {
        let (syncs, strings) = (&trace.syncs, &trace.strings);
        for i in 0..syncs.len() {
            let kind = strings.get(syncs.kind[i]);
            if kind.starts_with("hip") || kind.starts_with("cuda") || kind.starts_with("cu") {
                continue;
            }
            let process = syncs.process[i];
            let stream = stream_of(trace, syncs.stream[i], trace::QueueId::NONE);
            let place = TrackSpan {
                pid: self.lanes.process(process),
                tid: stream,
                start: syncs.start[i],
                end: syncs.end[i],
            };
            let correlation = self.numbers.correlation(process, syncs.correlation[i]);
            let waits_for = syncs.waits_for[i].get().map(|s| trace.streams[s].id);
            self.event()?;
            let (out, text) = (&mut self.buffer, &mut self.text);
            complete(out, text, strings, category::bytes::CUDA_SYNC, syncs.kind[i], &place);
            let mut object = Object::open(out);
            string(object.key(key::CUDA_SYNC_KIND), kind);
            object.int("stream", stream);
            object.int("correlation", correlation);
            object.some(key::WAIT_ON_STREAM, OptI64::from(waits_for));
            object.some(key::WAIT_ON_CUDA_EVENT_RECORD_CORR_ID, syncs.awaited[i]);
            object.some(key::WAIT_ON_CUDA_EVENT_ID, syncs.event[i]);
            object.close();
        }
        Ok(())
    }

    /// Samples with a value as counter tracks, the others as instants.
    pub(super) fn samples(&mut self, trace: &Trace) -> io::Result<()> {
        let (samples, strings) = (&trace.samples, &trace.strings);
        for i in 0..samples.len() {
            let on_device = samples.agent[i].is_some();
            let process = samples.process[i];
            let pid =
                if on_device { self.lanes.agent(samples.agent[i]) } else { self.lanes.process(process) };
            let tid = if on_device { 0 } else { tid_of(trace, samples.thread[i], process) };
            let counter = !samples.value[i].is_nan();
            self.event()?;
            let (out, text) = (&mut self.buffer, &mut self.text);
            out.extend_from_slice(if counter { b"\"ph\": \"C\"" } else { b"\"ph\": \"i\"" });
            out.extend_from_slice(b", \"cat\": ");
            text.name(out, strings, samples.kind[i]);
            out.extend_from_slice(b", \"name\": ");
            text.name(out, strings, samples.name[i]);
            out.extend_from_slice(b", \"pid\": ");
            int(out, pid);
            out.extend_from_slice(b", \"tid\": ");
            int(out, tid);
            out.extend_from_slice(b", \"ts\": ");
            micros(out, samples.start[i]);
            if !counter {
                out.extend_from_slice(b", \"s\": \"t\"\n  }");
                continue;
            }
            let mut object = Object::open(out);
            let unit = if samples.unit[i].is_empty() { "value" } else { strings.get(samples.unit[i]) };
            let mut key = Vec::new();
            string(&mut key, unit);
            let key = String::from_utf8_lossy(&key[1..key.len() - 1]).into_owned();
            float(object.key(&key), samples.value[i]);
            object.close();
        }
        Ok(())
    }

    /// Flows from forward to backward ops.
    pub(super) fn forward_backward(&mut self, trace: &Trace) -> io::Result<()> {
        let (links, regions) = (&trace.links, &trace.regions);
        for i in 0..links.len() {
            let (LinkKind::ForwardBackward, Some(from), Some(to)) =
                (links.kind[i], links.from[i].row_of(Table::Regions), links.to[i].row_of(Table::Regions))
            else {
                continue;
            };
            self.numbers.flow += 1;
            let id = self.numbers.flow;
            for (phase, row) in [(b's', from), (b'f', to)] {
                let process = regions.process[row];
                let (pid, tid) = (self.lanes.process(process), tid_of(trace, regions.thread[row], process));
                self.flow(phase, category::FWDBWD, id, pid, tid, regions.start[row])?;
            }
        }
        Ok(())
    }
}
