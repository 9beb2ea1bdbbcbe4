//! Rows that are intervals: kernels, calls, copies, allocations and events.

use trace::{
    AgentKind, Graph, GraphNode, Kernel, KernelSymbol, LaunchShape, MemoryAllocation, MemoryCopy, OptI64,
    ProcessId, Region, RowRef, Sample, ShapeId, StrId, Sync, Table, Trace,
};

use super::Set;
use super::columns::{Column, Columns};
use super::split::Rows;
use crate::rocprofv3::words;
use crate::times::are_believable;

/// The columns for the owner and the time of a row.
pub(super) struct Identity {
    guid: Column,
    pid: Column,
    thread: Column,
    queue: Column,
    stream: Column,
    correlation: Column,
    start: Column,
    end: Column,
}

/// The owner of one row: its process, thread, queue, stream and call.
pub(super) struct Whose {
    pub process: ProcessId,
    pub thread: trace::ThreadId,
    pub queue: trace::QueueId,
    pub stream: trace::StreamId,
    pub correlation: i64,
}

impl Identity {
    pub fn of(columns: &Columns) -> Self {
        Self {
            guid: columns.find(&["guid", "pid"]),
            pid: columns.find(&["process_id"]),
            thread: columns.find(&["thread_id", "tid"]),
            queue: columns.find(&["queue_id"]),
            stream: columns.find(&["stream_id"]),
            correlation: columns.find(&["correlation_id", "stack_id"]),
            start: columns.find(&["start_timestamp"]),
            end: columns.find(&["end_timestamp"]),
        }
    }

    /// Start and end, if both exist and are plausible; a last line cut inside its end ends before it starts.
    pub fn times(&self, fields: &[&[u8]], cut: bool) -> Option<(i64, i64)> {
        let (start, end) = (self.start.whole(fields)?, self.end.whole(fields)?);
        ((!cut || end >= start) && are_believable(start, end)).then_some((start, end))
    }

    pub fn whose(&self, set: &mut Set<'_>, fields: &[&[u8]]) -> Whose {
        let Set { trace, entities, processes, .. } = set;
        let process = processes.get(trace, self.guid.text(fields), self.pid.whole(fields));
        Whose {
            process,
            thread: entities.thread(trace, process, self.thread.whole(fields)),
            queue: entities.queue(trace, process, self.queue.whole(fields)),
            stream: entities.stream(trace, process, self.stream.whole(fields)),
            correlation: self.correlation.whole(fields).unwrap_or(0),
        }
    }
}

/// The columns of a launch's shape; the counter file has a product where the kernel file has three sizes.
pub(super) struct Shape {
    grid: [Column; 3],
    grid_product: Column,
    workgroup: [Column; 3],
    workgroup_product: Column,
    lds: Column,
    scratch: Column,
    vgpr: Column,
    agpr: Column,
    sgpr: Column,
}

impl Shape {
    pub fn of(columns: &Columns) -> Self {
        let three = |name: &str| ["x", "y", "z"].map(|axis| columns.find(&[&format!("{name}_{axis}")]));
        Self {
            grid: three("grid_size"),
            grid_product: columns.find(&["grid_size"]),
            workgroup: three("workgroup_size"),
            workgroup_product: columns.find(&["workgroup_size"]),
            lds: columns.find(&["lds_block_size"]),
            scratch: columns.find(&["scratch_size"]),
            vgpr: columns.find(&["vgpr_count"]),
            agpr: columns.find(&["accum_vgpr_count"]),
            sgpr: columns.find(&["sgpr_count"]),
        }
    }

    fn launch(&self, fields: &[&[u8]]) -> LaunchShape {
        let three = |sizes: &[Column; 3], product: Column| match sizes.map(|size| size.size(fields)) {
            [Some(x), Some(y), Some(z)] => Some([x, y, z]),
            // Total work-items, as one dimension: the file does not have their shape.
            _ => product.size(fields).map(|all| [all, 1, 1]),
        };
        LaunchShape {
            grid: three(&self.grid, self.grid_product),
            workgroup: three(&self.workgroup, self.workgroup_product),
            lds_bytes: self.lds.optional(fields),
            scratch_bytes: self.scratch.optional(fields),
            vgpr: self.vgpr.optional(fields),
            agpr: self.agpr.optional(fields),
            sgpr: self.sgpr.optional(fields),
        }
    }

    pub fn intern(&self, trace: &mut Trace, fields: &[&[u8]]) -> ShapeId {
        trace.shapes.intern(self.launch(fields))
    }

    /// What the columns say about the kernel itself.
    pub fn symbol(&self, name: StrId, fields: &[&[u8]]) -> KernelSymbol {
        KernelSymbol {
            display_name: name,
            sgpr: self.sgpr.optional(fields),
            vgpr: self.vgpr.optional(fields),
            agpr: self.agpr.optional(fields),
            ..KernelSymbol::default()
        }
    }
}

impl Set<'_> {
    pub(super) fn take_kernels(&mut self, columns: &Columns, rows: &mut Rows<'_>) {
        if !self.needs.kernels && !self.needs.counters {
            return;
        }
        let identity = Identity::of(columns);
        let shape = Shape::of(columns);
        let (name, id) = (columns.find(&["kernel_name"]), columns.find(&["kernel_id"]));
        let (agent, dispatch) = (columns.find(&["agent_id"]), columns.find(&["dispatch_id"]));
        let (graph, node) = (columns.find(&["graph_exec_id"]), columns.find(&["graph_node_id"]));
        let doubled = rows.doubled();
        let mut fields = Vec::new();
        while rows.next(&mut fields) {
            let Some((start, end)) = identity.times(&fields, rows.cut) else {
                self.unusable += 1;
                continue;
            };
            let whose = identity.whose(self, &fields);
            let name = self.text(name.text(&fields), doubled);
            let Self { trace, entities, agents, .. } = self;
            let process = whose.process;
            let facts = || shape.symbol(name, &fields);
            let kernel = Kernel {
                name,
                start,
                end,
                process,
                thread: whose.thread,
                agent: agents.named(trace, process, agent.text(&fields), AgentKind::Gpu),
                queue: whose.queue,
                stream: whose.stream,
                correlation: whose.correlation,
                dispatch: dispatch.optional(&fields),
                shape: shape.intern(trace, &fields),
                symbol: entities.symbol(trace, process, id.whole(&fields), facts),
                graph: match graph.whole(&fields) {
                    None => Graph::Unknown,
                    Some(0) => Graph::Direct,
                    Some(_) => Graph::Replayed,
                },
                ..Kernel::default()
            };
            keep_node(trace, RowRef::kernel(trace.kernels.len()), [graph, node].map(|c| c.whole(&fields)));
            trace.kernels.push(kernel);
        }
    }

    /// API calls and markers; one without a duration becomes a sample, as in rocpd.
    pub(super) fn take_calls(&mut self, columns: &Columns, rows: &mut Rows<'_>) {
        if !self.needs.regions && !self.needs.links && !self.needs.samples {
            return;
        }
        let identity = Identity::of(columns);
        let (category, name) = (columns.find(&["domain", "category"]), columns.find(&["function", "name"]));
        let doubled = rows.doubled();
        let mut fields = Vec::new();
        while rows.next(&mut fields) {
            let Some((start, end)) = identity.times(&fields, rows.cut) else {
                self.unusable += 1;
                continue;
            };
            let Whose { process, thread, correlation, .. } = identity.whose(self, &fields);
            let category = self.text(category.text(&fields), false);
            let name = self.text(name.text(&fields), doubled);
            if start == end {
                let (kind, value) = (category, f64::NAN);
                let sample = Sample {
                    start,
                    end,
                    kind,
                    name,
                    value,
                    process,
                    thread,
                    correlation,
                    ..Sample::default()
                };
                self.trace.samples.push(sample);
            } else {
                let region =
                    Region { name, category, start, end, process, thread, correlation, ..Region::default() };
                self.trace.regions.push(region);
            }
        }
    }

    pub(super) fn take_copies(&mut self, columns: &Columns, rows: &mut Rows<'_>) {
        if !self.needs.memory_copies {
            return;
        }
        let identity = Identity::of(columns);
        let direction = columns.find(&["direction"]);
        let (src, dst) = (columns.find(&["source_agent_id"]), columns.find(&["destination_agent_id"]));
        let bytes = columns.find(&["size", "bytes", "copy_size", "copy_bytes"]);
        let (graph, node) = (columns.find(&["graph_exec_id"]), columns.find(&["graph_node_id"]));
        let mut fields = Vec::new();
        while rows.next(&mut fields) {
            let Some((start, end)) = identity.times(&fields, rows.cut) else {
                self.unusable += 1;
                continue;
            };
            let whose = identity.whose(self, &fields);
            let name = self.text(direction.text(&fields), false);
            let Self { trace, agents, .. } = self;
            let mut agent =
                |column: Column| agents.named(trace, whose.process, column.text(&fields), AgentKind::Unknown);
            let copy = MemoryCopy {
                name,
                start,
                end,
                bytes: bytes.optional(&fields),
                process: whose.process,
                thread: whose.thread,
                src: agent(src),
                dst: agent(dst),
                queue: whose.queue,
                stream: whose.stream,
                correlation: whose.correlation,
                ..MemoryCopy::default()
            };
            let row = RowRef::new(Table::MemoryCopies, trace.memory_copies.len());
            keep_node(trace, row, [graph, node].map(|c| c.whole(&fields)));
            trace.memory_copies.push(copy);
        }
    }

    pub(super) fn take_allocations(&mut self, columns: &Columns, rows: &mut Rows<'_>, scratch: bool) {
        if !self.needs.memory_allocations {
            return;
        }
        let identity = Identity::of(columns);
        let (operation, agent) = (columns.find(&["operation"]), columns.find(&["agent_id"]));
        let (bytes, address) = (columns.find(&["allocation_size"]), columns.find(&["address"]));
        let flags = columns.find(&["alloc_flags"]);
        let mut fields = Vec::new();
        while rows.next(&mut fields) {
            let Some((start, end)) = identity.times(&fields, rows.cut) else {
                self.unusable += 1;
                continue;
            };
            let whose = identity.whose(self, &fields);
            let operation = String::from_utf8_lossy(operation.text(&fields));
            let (kind, level) =
                if scratch { words::scratch(&operation) } else { words::allocation(&operation) };
            let Self { trace, agents, .. } = self;
            // A free has no size: rocprofv3 prints zero.
            let bytes = bytes.whole(&fields).filter(|bytes| *bytes != 0 || kind == "ALLOC");
            let row = MemoryAllocation {
                kind: trace.strings.intern(kind),
                level: trace.strings.intern(level),
                start,
                end,
                address: address.optional(&fields),
                bytes: bytes.into(),
                process: whose.process,
                thread: whose.thread,
                agent: agents.named(trace, whose.process, agent.text(&fields), AgentKind::Unknown),
                queue: whose.queue,
                stream: whose.stream,
                correlation: whose.correlation,
                flags: flags.optional(&fields),
            };
            trace.memory_allocations.push(row);
        }
    }

    pub(super) fn take_events(&mut self, columns: &Columns, rows: &mut Rows<'_>) {
        if !self.needs.syncs {
            return;
        }
        let identity = Identity::of(columns);
        let name = columns.find(&["name", "function", "operation", "kind"]);
        let event = columns.find(&["hip_event_handle"]);
        let mut fields = Vec::new();
        while rows.next(&mut fields) {
            let Some((start, end)) = identity.times(&fields, rows.cut) else {
                self.unusable += 1;
                continue;
            };
            let whose = identity.whose(self, &fields);
            let kind = self.text(name.text(&fields), false);
            let sync = Sync {
                kind,
                start,
                end,
                process: whose.process,
                thread: whose.thread,
                stream: whose.stream,
                event: event.optional(&fields),
                correlation: whose.correlation,
                awaited: OptI64::NONE,
                ..Sync::default()
            };
            self.trace.syncs.push(sync);
        }
    }
}

/// Stores the graph node that a row ran as.
fn keep_node(trace: &mut Trace, row: RowRef, [exec, node]: [Option<i64>; 2]) {
    if let Some(exec) = exec.filter(|exec| *exec != 0) {
        trace.graph_nodes.push(GraphNode { row, exec, node: node.unwrap_or(0) });
    }
}
