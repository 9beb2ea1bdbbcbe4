//! GPU work as Chrome events: kernels, copies and fills, each at the end of its launch's flow.

use std::io::{self, Write};

use formats::torch::{category, key};
use trace::{CopyKind, Graph, Map, RowRef, Table, Trace};

use super::Writer;
use super::bytes::{float, int, string};
use super::lanes::device_of;
use super::object::{ArgCursor, Object, complete};
use super::places::{TrackSpan, gpu_of_copy, stream_of};

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

impl<W: Write> Writer<W> {
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
}

/// Writes the graph node that a row ran as.
fn graph_node(object: &mut Object<'_>, trace: &Trace, row: RowRef) {
    if let Some(node) = trace.graph_nodes.of(row) {
        object.int(key::GRAPH_ID, node.exec);
        object.int(key::GRAPH_NODE_ID, node.node);
    }
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
