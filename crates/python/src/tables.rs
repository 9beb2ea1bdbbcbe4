//! The tables of a trace and their columns, named as in rocpd's views and in Parquet files. `id` counts rows from 1;
//! `launch_id` of GPU work is the `id` of the region that launched it, `agent_id` the `id` of an agent.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use trace::{
    Agent, AgentId, CopyKind, Graph, LaunchShape, LinkKind, OptI64, ProcessId, QueueId, RowRef, StrId,
    StreamId, ThreadId, Trace,
};

use crate::columns::Columns;
use crate::table::batch_of;

/// The table with that name; `None` if there is none.
pub fn batch(trace: &Arc<Trace>, name: &str) -> Option<RecordBatch> {
    batch_of(match name {
        "kernels" => kernels(trace),
        "memory_copies" => memory_copies(trace),
        "memory_allocations" => memory_allocations(trace),
        "regions" => regions(trace),
        "counters" => counters(trace),
        "samples" => samples(trace),
        "syncs" => syncs(trace),
        "collectives" => collectives(trace),
        "args" => args(trace),
        "links" => links(trace),
        "agents" => agents(trace),
        "processes" => processes(trace),
        "threads" => threads(trace),
        "queues" => queues(trace),
        "streams" => streams(trace),
        "kernel_symbols" => kernel_symbols(trace),
        "metadata" => metadata(trace),
        "sources" => sources(trace),
        _ => return None,
    })
}

type Made = Vec<(&'static str, ArrayRef)>;

fn kernels(trace: &Arc<Trace>) -> Made {
    let t = &trace.kernels;
    let shape = |of: fn(&LaunchShape) -> Option<i64>| t.shape.iter().map(move |&id| of(trace.shapes.get(id)));
    let side = |sizes: Option<[u32; 3]>, axis: usize| sizes.map(|sizes| i64::from(sizes[axis]));
    let rows = || (0..t.len()).map(RowRef::kernel);
    let columns = whose(trace, &t.process)
        .number("tid", tids(trace, &t.thread))
        .text("name", &t.name)
        .text("region", &t.region)
        .whole("start", &t.start)
        .whole("end", &t.end)
        .number("duration", durations(&t.start, &t.end));
    agent(trace, columns, ["agent_id", "agent_abs_index"], &t.agent)
        .number("queue_id", queue_ids(trace, &t.queue))
        .number("stream_id", stream_ids(trace, &t.stream))
        .number("kernel_id", t.symbol.iter().map(|id| id.get().map(|symbol| trace.symbols[symbol].id)))
        .optional("dispatch_id", &t.dispatch)
        .whole("stack_id", &t.correlation)
        .optional("corr_id", &t.external)
        .number("launch_id", launches(trace, rows()))
        .word("graph", t.graph.iter().map(|graph| graph_name(*graph)))
        .number("graph_exec_id", rows().map(|row| trace.graph_nodes.of(row).map(|node| node.exec)))
        .number("graph_node_id", rows().map(|row| trace.graph_nodes.of(row).map(|node| node.node)))
        .number("lds_size", shape(|shape| shape.lds_bytes.get()))
        .number("scratch_size", shape(|shape| shape.scratch_bytes.get()))
        .number("vgpr_count", shape(|shape| shape.vgpr.get()))
        .number("accum_vgpr_count", shape(|shape| shape.agpr.get()))
        .number("sgpr_count", shape(|shape| shape.sgpr.get()))
        .number("grid_x", t.shape.iter().map(|&id| side(trace.shapes.get(id).grid, 0)))
        .number("grid_y", t.shape.iter().map(|&id| side(trace.shapes.get(id).grid, 1)))
        .number("grid_z", t.shape.iter().map(|&id| side(trace.shapes.get(id).grid, 2)))
        .number("workgroup_x", t.shape.iter().map(|&id| side(trace.shapes.get(id).workgroup, 0)))
        .number("workgroup_y", t.shape.iter().map(|&id| side(trace.shapes.get(id).workgroup, 1)))
        .number("workgroup_z", t.shape.iter().map(|&id| side(trace.shapes.get(id).workgroup, 2)))
        .finish()
}

fn memory_copies(trace: &Arc<Trace>) -> Made {
    let t = &trace.memory_copies;
    let rows = || (0..t.len()).map(|row| RowRef::new(trace::Table::MemoryCopies, row));
    let kind = |kind: &CopyKind| match kind {
        CopyKind::Copy => "copy",
        CopyKind::Fill => "fill",
    };
    let columns = whose(trace, &t.process)
        .number("tid", tids(trace, &t.thread))
        .text("name", &t.name)
        .word("kind", t.kind.iter().map(kind))
        .whole("start", &t.start)
        .whole("end", &t.end)
        .number("duration", durations(&t.start, &t.end))
        .optional("size", &t.bytes);
    let columns = agent(trace, columns, ["src_agent_id", "src_agent_abs_index"], &t.src)
        .optional("src_address", &t.src_address);
    agent(trace, columns, ["dst_agent_id", "dst_agent_abs_index"], &t.dst)
        .optional("dst_address", &t.dst_address)
        .number("queue_id", queue_ids(trace, &t.queue))
        .number("stream_id", stream_ids(trace, &t.stream))
        .whole("stack_id", &t.correlation)
        .optional("corr_id", &t.external)
        .number("launch_id", launches(trace, rows()))
        .word("graph", t.graph.iter().map(|graph| graph_name(*graph)))
        .number("graph_exec_id", rows().map(|row| trace.graph_nodes.of(row).map(|node| node.exec)))
        .number("graph_node_id", rows().map(|row| trace.graph_nodes.of(row).map(|node| node.node)))
        .finish()
}

fn memory_allocations(trace: &Arc<Trace>) -> Made {
    let t = &trace.memory_allocations;
    let columns = whose(trace, &t.process)
        .number("tid", tids(trace, &t.thread))
        .text("type", &t.kind)
        .text("level", &t.level)
        .whole("start", &t.start)
        .whole("end", &t.end)
        .number("duration", durations(&t.start, &t.end))
        .optional("address", &t.address)
        .optional("size", &t.bytes);
    agent(trace, columns, ["agent_id", "agent_abs_index"], &t.agent)
        .number("queue_id", queue_ids(trace, &t.queue))
        .number("stream_id", stream_ids(trace, &t.stream))
        .whole("stack_id", &t.correlation)
        .finish()
}

fn regions(trace: &Arc<Trace>) -> Made {
    let t = &trace.regions;
    whose(trace, &t.process)
        .number("tid", tids(trace, &t.thread))
        .text("category", &t.category)
        .text("name", &t.name)
        .whole("start", &t.start)
        .whole("end", &t.end)
        .number("duration", durations(&t.start, &t.end))
        .whole("stack_id", &t.correlation)
        .whole("parent_stack_id", &t.parent)
        .optional("corr_id", &t.external)
        .finish()
}

fn counters(trace: &Arc<Trace>) -> Made {
    let t = &trace.counters;
    let kinds = || t.counter.iter().map(|id| id.get().map(|kind| &trace.counter_kinds[kind]));
    Columns::of(trace)
        .number("id", ids(t.len()))
        .number(
            "kernel_row",
            t.kernel.iter().map(|row| row.row_of(trace::Table::Kernels).map(|row| row as i64 + 1)),
        )
        .text_of("counter_name", kinds().map(|kind| kind.map_or(StrId::EMPTY, |kind| kind.name)))
        .text_of("unit", kinds().map(|kind| kind.map_or(StrId::EMPTY, |kind| kind.unit)))
        .text_of("block", kinds().map(|kind| kind.map_or(StrId::EMPTY, |kind| kind.block)))
        .number("agent_abs_index", kinds().map(|kind| kind.and_then(|kind| agent_index(trace, kind.agent))))
        .real("value", &t.value)
        .optional("pass", &t.pass)
        .optional("xcc", &t.xcc)
        .optional("shader_engine", &t.shader_engine)
        .optional("instance", &t.instance)
        .finish()
}

fn samples(trace: &Arc<Trace>) -> Made {
    let t = &trace.samples;
    let columns = whose(trace, &t.process)
        .number("tid", tids(trace, &t.thread))
        .text("category", &t.kind)
        .text("name", &t.name)
        .whole("timestamp", &t.start)
        .whole("end", &t.end)
        .real("value", &t.value)
        .text("unit", &t.unit)
        .text("location", &t.location);
    agent(trace, columns, ["agent_id", "agent_abs_index"], &t.agent)
        .whole("stack_id", &t.correlation)
        .optional("dispatch_id", &t.dispatch)
        .finish()
}

fn syncs(trace: &Arc<Trace>) -> Made {
    let t = &trace.syncs;
    whose(trace, &t.process)
        .number("tid", tids(trace, &t.thread))
        .text("kind", &t.kind)
        .whole("start", &t.start)
        .whole("end", &t.end)
        .number("duration", durations(&t.start, &t.end))
        .number("stream_id", stream_ids(trace, &t.stream))
        .optional("event", &t.event)
        .number("waits_for_stream_id", stream_ids(trace, &t.waits_for))
        .optional("awaited", &t.awaited)
        .whole("stack_id", &t.correlation)
        .finish()
}

fn collectives(trace: &Arc<Trace>) -> Made {
    let t = &trace.collectives;
    let columns = whose(trace, &t.process)
        .text("group", &t.group)
        .optional("group_size", &t.group_size)
        .optional("sequence", &t.sequence)
        .text("operation", &t.operation)
        .optional("size", &t.bytes)
        .text("dtype", &t.dtype)
        .optional("peer", &t.peer)
        .optional("start", &t.start)
        .optional("duration", &t.time_ns);
    row_of(columns, ["of_table", "of_row"], &t.row).finish()
}

fn args(trace: &Arc<Trace>) -> Made {
    let t = &trace.args;
    row_of(Columns::of(trace), ["of_table", "of_row"], &t.owner)
        .number("position", t.position.iter().map(|&position| Some(i64::from(position))))
        .text("type", &t.ty)
        .text("name", &t.name)
        .text("value", &t.value)
        .finish()
}

fn links(trace: &Arc<Trace>) -> Made {
    let t = &trace.links;
    let kind = |kind: &LinkKind| match kind {
        LinkKind::Launch => "launch",
        LinkKind::ForwardBackward => "forward_backward",
    };
    let columns = Columns::of(trace).word("kind", t.kind.iter().map(kind));
    let columns = row_of(columns, ["from_table", "from_row"], &t.from);
    row_of(columns, ["to_table", "to_row"], &t.to).finish()
}

fn agents(trace: &Arc<Trace>) -> Made {
    let t = &trace.agents;
    let number = |of: fn(&Agent) -> OptI64| t.iter().map(move |agent| of(agent).get());
    whose_of(trace, t.iter().map(|agent| agent.process).collect())
        .word("type", t.iter().map(|agent| agent.kind.name()))
        .number("absolute_index", number(|agent| agent.absolute_index))
        .number("logical_index", number(|agent| agent.logical_index))
        .number("type_index", number(|agent| agent.type_index))
        .text_of("name", t.iter().map(|agent| agent.name))
        .text_of("product_name", t.iter().map(|agent| agent.product))
        .number("compute_units", number(|agent| agent.compute_units))
        .number("memory_size", number(|agent| agent.memory_bytes))
        .text_of("extdata", t.iter().map(|agent| agent.extra))
        .finish()
}

fn processes(trace: &Arc<Trace>) -> Made {
    let t = &trace.processes;
    let path =
        |process: &'_ trace::Process| process.source.get().map_or("", |source| &trace.sources[source].path);
    whose_of(trace, (0..t.len()).map(ProcessId::at).collect())
        .number("ppid", t.iter().map(|process| process.ppid.get()))
        .text_of("machine_id", t.iter().map(|process| process.machine))
        .text_of("hostname", t.iter().map(|process| process.hostname))
        .number("start", t.iter().map(|process| process.start))
        .number("end", t.iter().map(|process| process.end))
        .word("source", t.iter().map(path))
        .finish()
}

fn threads(trace: &Arc<Trace>) -> Made {
    let t = &trace.threads;
    whose_of(trace, t.iter().map(|thread| thread.process).collect())
        .number("tid", t.iter().map(|thread| Some(thread.tid)))
        .text_of("name", t.iter().map(|thread| thread.name))
        .finish()
}

fn queues(trace: &Arc<Trace>) -> Made {
    let t = &trace.queues;
    whose_of(trace, t.iter().map(|queue| queue.process).collect())
        .number("queue_id", t.iter().map(|queue| Some(queue.id)))
        .text_of("name", t.iter().map(|queue| queue.name))
        .finish()
}

fn streams(trace: &Arc<Trace>) -> Made {
    let t = &trace.streams;
    whose_of(trace, t.iter().map(|stream| stream.process).collect())
        .number("stream_id", t.iter().map(|stream| Some(stream.id)))
        .text_of("name", t.iter().map(|stream| stream.name))
        .finish()
}

fn kernel_symbols(trace: &Arc<Trace>) -> Made {
    let t = &trace.symbols;
    let number = |of: fn(&trace::KernelSymbol) -> OptI64| t.iter().map(move |symbol| of(symbol).get());
    whose_of(trace, t.iter().map(|symbol| symbol.process).collect())
        .number("kernel_id", t.iter().map(|symbol| Some(symbol.id)))
        .number("code_object_id", number(|symbol| symbol.code_object))
        .text_of("kernel_name", t.iter().map(|symbol| symbol.kernel_name))
        .text_of("display_name", t.iter().map(|symbol| symbol.display_name))
        .number("group_segment_size", number(|symbol| symbol.group_segment_bytes))
        .number("private_segment_size", number(|symbol| symbol.private_segment_bytes))
        .number("kernarg_segment_size", number(|symbol| symbol.kernarg_bytes))
        .number("sgpr_count", number(|symbol| symbol.sgpr))
        .number("vgpr_count", number(|symbol| symbol.vgpr))
        .number("accum_vgpr_count", number(|symbol| symbol.agpr))
        .finish()
}

fn metadata(trace: &Arc<Trace>) -> Made {
    let t = &trace.metadata;
    let path =
        |fact: &trace::Metadata| fact.source.get().map_or("", |source| trace.sources[source].path.as_str());
    Columns::of(trace)
        .word("source", t.iter().map(path))
        .text_of("key", t.iter().map(|fact| fact.key))
        .text_of("value", t.iter().map(|fact| fact.value))
        .finish()
}

fn sources(trace: &Arc<Trace>) -> Made {
    let t = &trace.sources;
    Columns::of(trace)
        .word("path", t.iter().map(|source| source.path.as_str()))
        .word("format", t.iter().map(|source| source.format.as_str()))
        .number("size", t.iter().map(|source| Some(source.bytes as i64)))
        .number("rank", t.iter().map(|source| source.rank.map(i64::from)))
        .word("role", t.iter().map(|source| source.role.as_deref().unwrap_or_default()))
        .finish()
}

/// Row ids, and the process, rank and node of each row.
fn whose<'t>(trace: &'t Arc<Trace>, processes: &[ProcessId]) -> Columns<'t> {
    // Looked up once for each process, not for each row.
    let known = |of: &dyn Fn(usize) -> Option<i64>| -> Vec<Option<i64>> {
        (0..trace.processes.len()).map(of).collect()
    };
    let ranks = known(&|process| trace.rank_of(ProcessId::at(process)).map(i64::from));
    let nodes = known(&|process| trace.processes[process].node.get());
    let pids = known(&|process| Some(trace.processes[process].pid));
    let of = |answers: Vec<Option<i64>>| {
        processes.iter().map(move |id| id.get().and_then(|process| answers[process]))
    };
    let guid = |id: &ProcessId| id.get().map_or(StrId::EMPTY, |process| trace.processes[process].guid);
    Columns::of(trace)
        .number("id", ids(processes.len()))
        .text_of("guid", processes.iter().map(guid))
        .number("rank", of(ranks))
        .number("nid", of(nodes))
        .number("pid", of(pids))
}

fn whose_of(trace: &Arc<Trace>, processes: Vec<ProcessId>) -> Columns<'_> {
    whose(trace, &processes)
}

fn ids(rows: usize) -> impl Iterator<Item = Option<i64>> {
    (1..=rows as i64).map(Some)
}

fn durations(start: &[i64], end: &[i64]) -> impl Iterator<Item = Option<i64>> {
    start.iter().zip(end).map(|(start, end)| Some(end - start))
}

fn tids(trace: &Trace, threads: &[ThreadId]) -> impl Iterator<Item = Option<i64>> {
    threads.iter().map(|id| id.get().map(|thread| trace.threads[thread].tid))
}

fn queue_ids(trace: &Trace, queues: &[QueueId]) -> impl Iterator<Item = Option<i64>> {
    queues.iter().map(|id| id.get().map(|queue| trace.queues[queue].id))
}

fn stream_ids(trace: &Trace, streams: &[StreamId]) -> impl Iterator<Item = Option<i64>> {
    streams.iter().map(|id| id.get().map(|stream| trace.streams[stream].id))
}

fn agent_index(trace: &Trace, agent: AgentId) -> Option<i64> {
    agent.get().and_then(|agent| trace.agents[agent].absolute_index.get())
}

/// The `id` of an agent, and the number that users know it by.
fn agent<'t>(
    trace: &'t Trace,
    columns: Columns<'t>,
    names: [&'static str; 2],
    agents: &[AgentId],
) -> Columns<'t> {
    columns
        .number(names[0], agents.iter().map(|id| id.get().map(|agent| agent as i64 + 1)))
        .number(names[1], agents.iter().map(|id| agent_index(trace, *id)))
}

fn launches(trace: &Trace, rows: impl Iterator<Item = RowRef>) -> impl Iterator<Item = Option<i64>> {
    rows.map(|row| trace.links.launch_of(row).map(|region| region as i64 + 1))
}

fn graph_name(graph: Graph) -> &'static str {
    match graph {
        Graph::Unknown => "",
        Graph::Direct => "direct",
        Graph::Replayed => "replayed",
    }
}

/// A row of another table: the table's name and the row's `id`.
fn row_of<'t>(columns: Columns<'t>, names: [&'static str; 2], rows: &[RowRef]) -> Columns<'t> {
    let table = |row: &RowRef| match row.get() {
        None => "",
        Some((trace::Table::Kernels, _)) => "kernels",
        Some((trace::Table::MemoryCopies, _)) => "memory_copies",
        Some((trace::Table::MemoryAllocations, _)) => "memory_allocations",
        Some((trace::Table::Regions, _)) => "regions",
        Some((trace::Table::Samples, _)) => "samples",
        Some((trace::Table::Syncs, _)) => "syncs",
    };
    columns
        .word(names[0], rows.iter().map(table))
        .number(names[1], rows.iter().map(|row| row.get().map(|(_, row)| row as i64 + 1)))
}
