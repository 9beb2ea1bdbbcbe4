//! The tables and their columns, named as in rocpd's views. `id` counts rows from 1; `launch_id` of GPU work is the `id`
//! of the region that launched it, `agent_id` the `id` of an agent.

use trace::{
    AgentId, Graph, LaunchShape, LinkKind, ProcessId, QueueId, RowRef, StrId, StreamId, SymbolId, ThreadId,
    Trace,
};

use super::columns::{Column, code, command_line, number, real, text, time};

/// A table of the trace.
pub(super) struct Table {
    pub name: &'static str,
    pub rows: fn(&Trace) -> usize,
    pub columns: fn() -> Vec<Column>,
}

/// All tables, in the order of [`trace::COLUMNAR_TABLES`].
pub(super) fn all() -> &'static [Table] {
    &[
        Table { name: "kernels", rows: |t| t.kernels.len(), columns: kernels },
        Table { name: "memory_copies", rows: |t| t.memory_copies.len(), columns: memory_copies },
        Table {
            name: "memory_allocations",
            rows: |t| t.memory_allocations.len(),
            columns: memory_allocations,
        },
        Table { name: "regions", rows: |t| t.regions.len(), columns: regions },
        Table { name: "counters", rows: |t| t.counters.len(), columns: counters },
        Table { name: "samples", rows: |t| t.samples.len(), columns: samples },
        Table { name: "syncs", rows: |t| t.syncs.len(), columns: syncs },
        Table { name: "collectives", rows: |t| t.collectives.len(), columns: collectives },
        Table { name: "args", rows: |t| t.args.len(), columns: args },
        Table { name: "links", rows: |t| t.links.len(), columns: links },
        Table { name: "agents", rows: |t| t.agents.len(), columns: agents },
        Table { name: "processes", rows: |t| t.processes.len(), columns: processes },
        Table { name: "threads", rows: |t| t.threads.len(), columns: threads },
        Table { name: "queues", rows: |t| t.queues.len(), columns: queues },
        Table { name: "streams", rows: |t| t.streams.len(), columns: streams },
        Table { name: "kernel_symbols", rows: |t| t.symbols.len(), columns: kernel_symbols },
        Table { name: "metadata", rows: |t| t.metadata.len(), columns: metadata },
        Table { name: "sources", rows: |t| t.sources.len(), columns: sources },
    ]
}

fn kernels() -> Vec<Column> {
    let mut columns = whose(|t, i| t.kernels.process[i]);
    columns.extend([
        code("tid", |t, i| tid(t, t.kernels.thread[i])),
        text("name", |t, i| name(t, t.kernels.name[i])),
        text("region", |t, i| name(t, t.kernels.region[i])),
        time("start", |t, i| t.kernels.start[i]),
        time("end", |t, i| t.kernels.end[i]),
        time("duration", |t, i| t.kernels.end[i] - t.kernels.start[i]),
        code("agent_id", |t, i| row(t.kernels.agent[i])),
        code("agent_abs_index", |t, i| agent(t, t.kernels.agent[i])),
        code("agent_log_index", |t, i| agent_number(t, t.kernels.agent[i], |a| a.logical_index)),
        code("agent_type_index", |t, i| agent_number(t, t.kernels.agent[i], |a| a.type_index)),
        text("agent_type", |t, i| agent_kind(t, t.kernels.agent[i])),
        code("queue_id", |t, i| queue(t, t.kernels.queue[i])),
        text("queue", |t, i| queue_name(t, t.kernels.queue[i])),
        code("stream_id", |t, i| stream(t, t.kernels.stream[i])),
        text("stream", |t, i| stream_name(t, t.kernels.stream[i])),
        code("kernel_id", |t, i| symbol(t, t.kernels.symbol[i])),
        code("code_object_id", |t, i| symbol_number(t, t.kernels.symbol[i], |s| s.code_object)),
        number("dispatch_id", |t, i| t.kernels.dispatch[i]),
        number("stack_id", |t, i| t.kernels.correlation[i]),
        number("corr_id", |t, i| t.kernels.external[i]),
        number("launch_id", |t, i| launch(t, RowRef::kernel(i))),
        text("graph", |t, i| graph(t.kernels.graph[i])),
        number("graph_exec_id", |t, i| node(t, RowRef::kernel(i)).map(|node| node.exec)),
        number("graph_node_id", |t, i| node(t, RowRef::kernel(i)).map(|node| node.node)),
        code("lds_size", |t, i| shape(t, i).lds_bytes),
        code("scratch_size", |t, i| shape(t, i).scratch_bytes),
        code("vgpr_count", |t, i| shape(t, i).vgpr),
        code("accum_vgpr_count", |t, i| shape(t, i).agpr),
        code("sgpr_count", |t, i| shape(t, i).sgpr),
        code("static_lds_size", |t, i| symbol_number(t, t.kernels.symbol[i], |s| s.group_segment_bytes)),
        code("static_scratch_size", |t, i| {
            symbol_number(t, t.kernels.symbol[i], |s| s.private_segment_bytes)
        }),
    ]);
    for (axis, grid, workgroup) in
        [(0, "grid_x", "workgroup_x"), (1, "grid_y", "workgroup_y"), (2, "grid_z", "workgroup_z")]
    {
        columns.push(code(grid, move |t, i| shape(t, i).grid.map(|sizes| sizes[axis])));
        columns.push(code(workgroup, move |t, i| shape(t, i).workgroup.map(|sizes| sizes[axis])));
    }
    columns
}

fn memory_copies() -> Vec<Column> {
    let mut columns = whose(|t, i| t.memory_copies.process[i]);
    columns.extend([
        code("tid", |t, i| tid(t, t.memory_copies.thread[i])),
        text("name", |t, i| name(t, t.memory_copies.name[i])),
        text("kind", |t, i| match t.memory_copies.kind[i] {
            trace::CopyKind::Copy => "copy",
            trace::CopyKind::Fill => "fill",
        }),
        time("start", |t, i| t.memory_copies.start[i]),
        time("end", |t, i| t.memory_copies.end[i]),
        time("duration", |t, i| t.memory_copies.end[i] - t.memory_copies.start[i]),
        code("size", |t, i| t.memory_copies.bytes[i]),
        code("src_agent_id", |t, i| row(t.memory_copies.src[i])),
        text("src_device", |t, i| agent_name(t, t.memory_copies.src[i])),
        code("src_agent_abs_index", |t, i| agent(t, t.memory_copies.src[i])),
        code("src_agent_log_index", |t, i| agent_number(t, t.memory_copies.src[i], |a| a.logical_index)),
        code("src_agent_type_index", |t, i| agent_number(t, t.memory_copies.src[i], |a| a.type_index)),
        text("src_agent_type", |t, i| agent_kind(t, t.memory_copies.src[i])),
        number("src_address", |t, i| t.memory_copies.src_address[i]),
        code("dst_agent_id", |t, i| row(t.memory_copies.dst[i])),
        text("dst_device", |t, i| agent_name(t, t.memory_copies.dst[i])),
        code("dst_agent_abs_index", |t, i| agent(t, t.memory_copies.dst[i])),
        code("dst_agent_log_index", |t, i| agent_number(t, t.memory_copies.dst[i], |a| a.logical_index)),
        code("dst_agent_type_index", |t, i| agent_number(t, t.memory_copies.dst[i], |a| a.type_index)),
        text("dst_agent_type", |t, i| agent_kind(t, t.memory_copies.dst[i])),
        number("dst_address", |t, i| t.memory_copies.dst_address[i]),
        code("queue_id", |t, i| queue(t, t.memory_copies.queue[i])),
        text("queue_name", |t, i| queue_name(t, t.memory_copies.queue[i])),
        code("stream_id", |t, i| stream(t, t.memory_copies.stream[i])),
        text("stream_name", |t, i| stream_name(t, t.memory_copies.stream[i])),
        number("stack_id", |t, i| t.memory_copies.correlation[i]),
        number("corr_id", |t, i| t.memory_copies.external[i]),
        number("launch_id", |t, i| launch(t, RowRef::new(trace::Table::MemoryCopies, i))),
        text("graph", |t, i| graph(t.memory_copies.graph[i])),
        number("graph_exec_id", |t, i| node(t, copy_row(i)).map(|node| node.exec)),
        number("graph_node_id", |t, i| node(t, copy_row(i)).map(|node| node.node)),
    ]);
    columns
}

fn memory_allocations() -> Vec<Column> {
    let mut columns = whose(|t, i| t.memory_allocations.process[i]);
    columns.extend([
        code("tid", |t, i| tid(t, t.memory_allocations.thread[i])),
        text("type", |t, i| name(t, t.memory_allocations.kind[i])),
        text("level", |t, i| name(t, t.memory_allocations.level[i])),
        time("start", |t, i| t.memory_allocations.start[i]),
        time("end", |t, i| t.memory_allocations.end[i]),
        time("duration", |t, i| t.memory_allocations.end[i] - t.memory_allocations.start[i]),
        number("address", |t, i| t.memory_allocations.address[i]),
        code("size", |t, i| t.memory_allocations.bytes[i]),
        code("agent_id", |t, i| row(t.memory_allocations.agent[i])),
        text("agent_name", |t, i| agent_name(t, t.memory_allocations.agent[i])),
        code("agent_abs_index", |t, i| agent(t, t.memory_allocations.agent[i])),
        code("agent_log_index", |t, i| agent_number(t, t.memory_allocations.agent[i], |a| a.logical_index)),
        code("agent_type_index", |t, i| agent_number(t, t.memory_allocations.agent[i], |a| a.type_index)),
        text("agent_type", |t, i| agent_kind(t, t.memory_allocations.agent[i])),
        code("queue_id", |t, i| queue(t, t.memory_allocations.queue[i])),
        text("queue_name", |t, i| queue_name(t, t.memory_allocations.queue[i])),
        code("stream_id", |t, i| stream(t, t.memory_allocations.stream[i])),
        text("stream_name", |t, i| stream_name(t, t.memory_allocations.stream[i])),
        number("stack_id", |t, i| t.memory_allocations.correlation[i]),
    ]);
    columns
}

fn regions() -> Vec<Column> {
    let mut columns = whose(|t, i| t.regions.process[i]);
    columns.extend([
        code("tid", |t, i| tid(t, t.regions.thread[i])),
        text("category", |t, i| name(t, t.regions.category[i])),
        text("name", |t, i| name(t, t.regions.name[i])),
        time("start", |t, i| t.regions.start[i]),
        time("end", |t, i| t.regions.end[i]),
        time("duration", |t, i| t.regions.end[i] - t.regions.start[i]),
        number("stack_id", |t, i| t.regions.correlation[i]),
        number("parent_stack_id", |t, i| t.regions.parent[i]),
        number("corr_id", |t, i| t.regions.external[i]),
    ]);
    columns
}

fn counters() -> Vec<Column> {
    fn kind(t: &Trace, i: usize) -> Option<&trace::CounterKind> {
        t.counters.counter[i].get().map(|kind| &t.counter_kinds[kind])
    }
    vec![
        row_number(),
        number("kernel_row", |t, i| t.counters.kernel[i].row_of(trace::Table::Kernels).map(|row| row + 1)),
        text("counter_name", |t, i| kind(t, i).map_or("", |kind| name(t, kind.name))),
        text("unit", |t, i| kind(t, i).map_or("", |kind| name(t, kind.unit))),
        text("block", |t, i| kind(t, i).map_or("", |kind| name(t, kind.block))),
        text("expression", |t, i| kind(t, i).map_or("", |kind| name(t, kind.expression))),
        text("description", |t, i| kind(t, i).map_or("", |kind| name(t, kind.description))),
        code("agent_abs_index", |t, i| kind(t, i).and_then(|kind| agent(t, kind.agent))),
        real("value", |t, i| t.counters.value[i]),
        code("pass", |t, i| t.counters.pass[i]),
        code("xcc", |t, i| t.counters.xcc[i]),
        code("shader_engine", |t, i| t.counters.shader_engine[i]),
        code("instance", |t, i| t.counters.instance[i]),
    ]
}

fn samples() -> Vec<Column> {
    let mut columns = whose(|t, i| t.samples.process[i]);
    columns.extend([
        code("tid", |t, i| tid(t, t.samples.thread[i])),
        text("category", |t, i| name(t, t.samples.kind[i])),
        text("name", |t, i| name(t, t.samples.name[i])),
        time("timestamp", |t, i| t.samples.start[i]),
        time("end", |t, i| t.samples.end[i]),
        real("value", |t, i| t.samples.value[i]),
        text("unit", |t, i| name(t, t.samples.unit[i])),
        text("location", |t, i| name(t, t.samples.location[i])),
        code("agent_id", |t, i| row(t.samples.agent[i])),
        code("agent_abs_index", |t, i| agent(t, t.samples.agent[i])),
        number("stack_id", |t, i| t.samples.correlation[i]),
        number("dispatch_id", |t, i| t.samples.dispatch[i]),
    ]);
    columns
}

fn syncs() -> Vec<Column> {
    let mut columns = whose(|t, i| t.syncs.process[i]);
    columns.extend([
        code("tid", |t, i| tid(t, t.syncs.thread[i])),
        text("kind", |t, i| name(t, t.syncs.kind[i])),
        time("start", |t, i| t.syncs.start[i]),
        time("end", |t, i| t.syncs.end[i]),
        time("duration", |t, i| t.syncs.end[i] - t.syncs.start[i]),
        code("stream_id", |t, i| stream(t, t.syncs.stream[i])),
        number("event", |t, i| t.syncs.event[i]),
        code("waits_for_stream_id", |t, i| stream(t, t.syncs.waits_for[i])),
        number("awaited", |t, i| t.syncs.awaited[i]),
        number("stack_id", |t, i| t.syncs.correlation[i]),
    ]);
    columns
}

fn collectives() -> Vec<Column> {
    let mut columns = whose(|t, i| t.collectives.process[i]);
    columns.extend([
        text("group", |t, i| name(t, t.collectives.group[i])),
        code("group_size", |t, i| t.collectives.group_size[i]),
        number("sequence", |t, i| t.collectives.sequence[i]),
        text("operation", |t, i| name(t, t.collectives.operation[i])),
        code("size", |t, i| t.collectives.bytes[i]),
        text("dtype", |t, i| name(t, t.collectives.dtype[i])),
        number("peer", |t, i| t.collectives.peer[i]),
        number("start", |t, i| t.collectives.start[i]),
        number("duration", |t, i| t.collectives.time_ns[i]),
    ]);
    columns.extend(row_of("of_table", "of_row", |t, i| t.collectives.row[i]));
    columns
}

fn args() -> Vec<Column> {
    let mut columns = Vec::from(row_of("of_table", "of_row", |t, i| t.args.owner[i]));
    columns.extend([
        code("position", |t, i| t.args.position[i]),
        text("type", |t, i| name(t, t.args.ty[i])),
        text("name", |t, i| name(t, t.args.name[i])),
        text("value", |t, i| name(t, t.args.value[i])),
    ]);
    columns
}

fn links() -> Vec<Column> {
    let mut columns = vec![text("kind", |t, i| match t.links.kind[i] {
        LinkKind::Launch => "launch",
        LinkKind::ForwardBackward => "forward_backward",
    })];
    columns.extend(row_of("from_table", "from_row", |t, i| t.links.from[i]));
    columns.extend(row_of("to_table", "to_row", |t, i| t.links.to[i]));
    columns
}

fn agents() -> Vec<Column> {
    let mut columns = whose(|t, i| t.agents[i].process);
    columns.extend([
        text("type", |t, i| t.agents[i].kind.name()),
        code("absolute_index", |t, i| t.agents[i].absolute_index),
        code("logical_index", |t, i| t.agents[i].logical_index),
        code("type_index", |t, i| t.agents[i].type_index),
        text("name", |t, i| name(t, t.agents[i].name)),
        text("product_name", |t, i| name(t, t.agents[i].product)),
        code("compute_units", |t, i| t.agents[i].compute_units),
        code("memory_size", |t, i| t.agents[i].memory_bytes),
        text("extdata", |t, i| name(t, t.agents[i].extra)),
    ]);
    columns
}

fn processes() -> Vec<Column> {
    let mut columns = whose(|_, i| ProcessId::at(i));
    columns.extend([
        code("ppid", |t, i| t.processes[i].ppid),
        text("machine_id", |t, i| name(t, t.processes[i].machine)),
        text("hostname", |t, i| name(t, t.processes[i].hostname)),
        number("start", |t, i| t.processes[i].start),
        number("end", |t, i| t.processes[i].end),
        command_line("command", |t, i| name(t, t.processes[i].command)),
        text("source", |t, i| {
            t.processes[i].source.get().map_or("", |source| t.sources[source].path.as_str())
        }),
    ]);
    columns
}

fn threads() -> Vec<Column> {
    let mut columns = whose(|t, i| t.threads[i].process);
    columns.push(code("tid", |t, i| t.threads[i].tid));
    columns.push(text("name", |t, i| name(t, t.threads[i].name)));
    columns
}

fn queues() -> Vec<Column> {
    let mut columns = whose(|t, i| t.queues[i].process);
    columns.push(code("queue_id", |t, i| t.queues[i].id));
    columns.push(text("name", |t, i| name(t, t.queues[i].name)));
    columns
}

fn streams() -> Vec<Column> {
    let mut columns = whose(|t, i| t.streams[i].process);
    columns.push(code("stream_id", |t, i| t.streams[i].id));
    columns.push(text("name", |t, i| name(t, t.streams[i].name)));
    columns
}

fn kernel_symbols() -> Vec<Column> {
    let mut columns = whose(|t, i| t.symbols[i].process);
    columns.extend([
        code("kernel_id", |t, i| t.symbols[i].id),
        code("code_object_id", |t, i| t.symbols[i].code_object),
        text("kernel_name", |t, i| name(t, t.symbols[i].kernel_name)),
        text("display_name", |t, i| name(t, t.symbols[i].display_name)),
        code("group_segment_size", |t, i| t.symbols[i].group_segment_bytes),
        code("private_segment_size", |t, i| t.symbols[i].private_segment_bytes),
        code("kernarg_segment_size", |t, i| t.symbols[i].kernarg_bytes),
        code("sgpr_count", |t, i| t.symbols[i].sgpr),
        code("vgpr_count", |t, i| t.symbols[i].vgpr),
        code("accum_vgpr_count", |t, i| t.symbols[i].agpr),
    ]);
    columns
}

fn metadata() -> Vec<Column> {
    vec![
        text("source", |t, i| {
            t.metadata[i].source.get().map_or("", |source| t.sources[source].path.as_str())
        }),
        text("key", |t, i| name(t, t.metadata[i].key)),
        text("value", |t, i| name(t, t.metadata[i].value)),
    ]
}

fn sources() -> Vec<Column> {
    vec![
        text("path", |t, i| &t.sources[i].path),
        text("format", |t, i| &t.sources[i].format),
        number("size", |t, i| t.sources[i].bytes as i64),
        code("rank", |t, i| t.sources[i].rank),
        text("role", |t, i| t.sources[i].role.as_deref().unwrap_or("")),
    ]
}

fn row_number() -> Column {
    number("id", |_, i| i as i64 + 1)
}

/// Row number and process.
fn whose(process: fn(&Trace, usize) -> ProcessId) -> Vec<Column> {
    let of = move |t: &Trace, i: usize| process(t, i).get();
    vec![
        row_number(),
        text("guid", move |t, i| process(t, i).get().map_or("", |p| name(t, t.processes[p].guid))),
        code("rank", move |t, i| t.rank_of(process(t, i))),
        code("nid", move |t, i| of(t, i).and_then(|p| t.processes[p].node.get())),
        code("pid", move |t, i| of(t, i).map(|p| t.processes[p].pid)),
    ]
}

/// A reference to another table: the table's name and the row's `id`.
fn row_of(table: &'static str, row: &'static str, of: fn(&Trace, usize) -> RowRef) -> [Column; 2] {
    [
        text(table, move |t, i| match of(t, i).get() {
            None => "",
            Some((trace::Table::Kernels, _)) => "kernels",
            Some((trace::Table::MemoryCopies, _)) => "memory_copies",
            Some((trace::Table::MemoryAllocations, _)) => "memory_allocations",
            Some((trace::Table::Regions, _)) => "regions",
            Some((trace::Table::Samples, _)) => "samples",
            Some((trace::Table::Syncs, _)) => "syncs",
        }),
        number(row, move |t, i| of(t, i).get().map(|(_, row)| row + 1)),
    ]
}

fn name(t: &Trace, id: StrId) -> &str {
    t.strings.get(id)
}

fn tid(t: &Trace, thread: ThreadId) -> Option<i64> {
    thread.get().map(|thread| t.threads[thread].tid)
}

/// The `id` of an agent.
fn row(agent: AgentId) -> Option<usize> {
    agent.get().map(|agent| agent + 1)
}

fn agent(t: &Trace, agent: AgentId) -> Option<i64> {
    agent_number(t, agent, |agent| agent.absolute_index)
}

fn agent_number(t: &Trace, agent: AgentId, of: fn(&trace::Agent) -> trace::OptI64) -> Option<i64> {
    agent.get().and_then(|agent| of(&t.agents[agent]).get())
}

fn agent_kind(t: &Trace, agent: AgentId) -> &'static str {
    agent.get().map_or("", |agent| t.agents[agent].kind.name())
}

fn agent_name(t: &Trace, agent: AgentId) -> &str {
    agent.get().map_or("", |agent| name(t, t.agents[agent].name))
}

fn queue_name(t: &Trace, queue: QueueId) -> &str {
    queue.get().map_or("", |queue| name(t, t.queues[queue].name))
}

fn stream_name(t: &Trace, stream: StreamId) -> &str {
    stream.get().map_or("", |stream| name(t, t.streams[stream].name))
}

fn symbol_number(t: &Trace, symbol: SymbolId, of: fn(&trace::KernelSymbol) -> trace::OptI64) -> Option<i64> {
    symbol.get().and_then(|symbol| of(&t.symbols[symbol]).get())
}

fn queue(t: &Trace, queue: QueueId) -> Option<i64> {
    queue.get().map(|queue| t.queues[queue].id)
}

fn stream(t: &Trace, stream: StreamId) -> Option<i64> {
    stream.get().map(|stream| t.streams[stream].id)
}

fn symbol(t: &Trace, symbol: SymbolId) -> Option<i64> {
    symbol.get().map(|symbol| t.symbols[symbol].id)
}

fn shape(t: &Trace, kernel: usize) -> &LaunchShape {
    t.shapes.get(t.kernels.shape[kernel])
}

fn launch(t: &Trace, row: RowRef) -> Option<usize> {
    t.links.launch_of(row).map(|region| region + 1)
}

/// The graph node that a row ran as.
fn node(trace: &Trace, row: RowRef) -> Option<trace::GraphNode> {
    trace.graph_nodes.of(row)
}

fn copy_row(i: usize) -> RowRef {
    RowRef::new(trace::Table::MemoryCopies, i)
}

fn graph(graph: Graph) -> &'static str {
    match graph {
        Graph::Unknown => "",
        Graph::Direct => "direct",
        Graph::Replayed => "replayed",
    }
}
