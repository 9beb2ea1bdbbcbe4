//! GPU work: `rocpd_kernel_dispatch`, `rocpd_memory_copy`, `rocpd_memory_allocate`.

use formats::rocpd::table;
use trace::{
    AgentId, CopyKind, Graph, GraphNode, GraphNodes, Kernel, Kernels, LaunchShape, Map, MemoryAllocation,
    MemoryAllocations, MemoryCopies, MemoryCopy, OptI64, RowRef, ShapeId, Shapes, StrId, Strings, Table,
    Trace,
};

use super::Reader;
use super::groups::unpacked;
use super::identity::{EntityKind, Symbol};
use super::places::{Late, OWN_SLOTS, Places, Time, times};
use super::refs::{Missing, Refs, make_up};
use crate::sqlite::{ROWS_OF_CHUNK, Row};

#[derive(Default)]
struct KernelChunk {
    rows: Kernels,
    refs: Refs,
    shapes: Shapes,
    events: Vec<Option<i64>>,
    passes: Vec<(usize, i64)>,
    nodes: GraphNodes,
    lost: u64,
    nameless: u64,
}

impl KernelChunk {
    fn with_room() -> Self {
        let mut chunk = Self::default();
        chunk.rows.reserve(ROWS_OF_CHUNK);
        chunk
    }
}

impl Reader<'_> {
    /// Reads dispatches. A NULL event, thread, region or symbol leaves the field empty, but keeps the row.
    pub(super) fn kernels(&mut self) {
        let Reader { group, needs, trace, identity, events, tally, passes, stamps, .. } = self;
        let Some(table) = group.table(table::KERNEL_DISPATCH) else { return };
        let column = |name| table.column(name);
        let [kernel, dispatch, region, event, graph, node, pass] = [
            "kernel_id",
            "dispatch_id",
            "region_name_id",
            "event_id",
            "graph_exec_id",
            "graph_node_id",
            "replay_pass",
        ]
        .map(column);
        let places = Places::of(group, table::KERNEL_DISPATCH);
        let [start, end] = ["start", "end"].map(|name| Time::of(group, stamps, table::KERNEL_DISPATCH, name));
        let geometry = [
            "private_segment_size",
            "group_segment_size",
            "workgroup_size_x",
            "workgroup_size_y",
            "workgroup_size_z",
            "grid_size_x",
            "grid_size_y",
            "grid_size_z",
        ]
        .map(column);
        let mut wanted = vec![kernel, dispatch, region, event, graph, pass, start.column(), end.column()];
        wanted.extend(places.columns());
        if needs.graph_nodes || needs.graph_columns {
            wanted.push(node);
        }
        if needs.shapes {
            wanted.extend(geometry);
        }
        let (lookup, all_events, first) = (&*identity, &*events, trace.kernels.len());
        let owners = all_events.keeps_owners();
        let each = |chunk: &mut KernelChunk, row: &Row<'_>| {
            let Some((start, end)) = times(&start, &end, row) else {
                chunk.lost += 1;
                return;
            };
            let at = chunk.rows.len();
            let event_id = row.int(event);
            let event = all_events.get(event_id);
            let symbol = row.int(kernel).and_then(|id| lookup.symbol(id));
            chunk.nameless += u64::from(symbol.is_none());
            let symbol = symbol.unwrap_or_default();
            let place = places.get(row, at, &mut chunk.refs, lookup);
            let kernel = Kernel {
                name: symbol.name,
                start,
                end,
                process: place.process,
                thread: place.thread,
                agent: place.agent,
                queue: place.queue,
                stream: place.stream,
                correlation: event.stack,
                external: event.external,
                dispatch: row.int(dispatch).into(),
                shape: if needs.shapes {
                    chunk.shapes.intern(shape(geometry.map(|c| row.int(c)), &symbol))
                } else {
                    ShapeId::default()
                },
                symbol: symbol.id,
                region: row.int(region).and_then(|id| lookup.string(id)).unwrap_or_default(),
                graph: graph_of(graph.is_present(), row.int(graph)),
            };
            chunk.rows.push(kernel);
            if needs.graph_nodes || needs.graph_columns {
                keep_node(&mut chunk.nodes, RowRef::kernel(at), row.int(graph), row.int(node));
            }
            if owners {
                chunk.events.push(event_id);
            }
            if let Some(pass) = row.int(pass) {
                chunk.passes.push((at, pass));
            }
        };
        let (mut missing, mut event_ids): (Vec<Missing>, Vec<Option<i64>>) = Default::default();
        group.scan_expecting(
            table::KERNEL_DISPATCH,
            &wanted,
            KernelChunk::with_room,
            each,
            |mut chunk, rows| {
                let base = trace.kernels.len();
                if base == first {
                    trace.kernels.reserve(rows);
                }
                if needs.shapes {
                    let known: Vec<ShapeId> = chunk.shapes.iter().map(|s| trace.shapes.intern(*s)).collect();
                    for shape in &mut chunk.rows.shape {
                        *shape = known[shape.0 as usize];
                    }
                }
                add_nodes(trace, chunk.nodes, |row| RowRef::kernel(base + row));
                trace.kernels.concat(chunk.rows);
                chunk.refs.drain_into(&mut missing, base);
                event_ids.append(&mut chunk.events);
                passes.extend(chunk.passes.into_iter().map(|(row, pass)| (RowRef::kernel(base + row), pass)));
                tally.lost_rows += chunk.lost;
                tally.nameless += chunk.nameless;
            },
        );
        make_up(
            &missing,
            identity,
            trace,
            |t, row| t.kernels.process[row],
            |t, row, late| match late {
                Late::Process(id) => t.kernels.process[row] = id,
                Late::Thread(id) => t.kernels.thread[row] = id,
                Late::Agent(id) => t.kernels.agent[row] = id,
                Late::Queue(id) => t.kernels.queue[row] = id,
                Late::Stream(id) => t.kernels.stream[row] = id,
                Late::Own(..) => {}
            },
        );
        self.own(Table::Kernels, first, &event_ids);
    }

    /// Reads copies.
    pub(super) fn copies(&mut self) {
        let Reader { group, needs, trace, identity, events, tally, stamps, .. } = self;
        let Some(table) = group.table(table::MEMORY_COPY) else { return };
        let [name, dst, dst_address, src, src_address, size, event, graph, node] = [
            "name_id",
            "dst_agent_id",
            "dst_address",
            "src_agent_id",
            "src_address",
            "size",
            "event_id",
            "graph_exec_id",
            "graph_node_id",
        ]
        .map(|name| table.column(name));
        let places = Places::of(group, table::MEMORY_COPY);
        let [start, end] = ["start", "end"].map(|name| Time::of(group, stamps, table::MEMORY_COPY, name));
        let mut wanted = vec![name, dst, dst_address, src, src_address, size, event, graph, node];
        wanted.extend(places.columns());
        wanted.extend([start.column(), end.column()]);
        let (lookup, all_events, first) = (&*identity, &*events, trace.memory_copies.len());
        let owners = all_events.keeps_owners();
        type Chunk = (MemoryCopies, Refs, Vec<Option<i64>>, GraphNodes, u64);
        let each = |chunk: &mut Chunk, row: &Row<'_>| {
            let (rows, refs, event_ids, nodes, lost) = chunk;
            let Some((start, end)) = times(&start, &end, row) else {
                *lost += 1;
                return;
            };
            let at = rows.len();
            let event_id = row.int(event);
            let event = all_events.get(event_id);
            let place = places.get(row, at, refs, lookup);
            rows.push(MemoryCopy {
                name: row.int(name).and_then(|id| lookup.string(id)).unwrap_or_default(),
                kind: CopyKind::Copy,
                start,
                end,
                bytes: row.int(size).into(),
                process: place.process,
                thread: place.thread,
                src: refs.get(lookup, (OWN_SLOTS, EntityKind::Agent), at, row.int(src)),
                dst: refs.get(lookup, (OWN_SLOTS + 1, EntityKind::Agent), at, row.int(dst)),
                src_address: row.int(src_address).into(),
                dst_address: row.int(dst_address).into(),
                queue: place.queue,
                stream: place.stream,
                correlation: event.stack,
                external: event.external,
                graph: graph_of(graph.is_present(), row.int(graph)),
            });
            if needs.graph_nodes || needs.graph_columns {
                keep_node(nodes, RowRef::new(Table::MemoryCopies, at), row.int(graph), row.int(node));
            }
            if owners {
                event_ids.push(event_id);
            }
        };
        let (mut missing, mut all_ids): (Vec<Missing>, Vec<Option<i64>>) = Default::default();
        group.scan(
            table::MEMORY_COPY,
            &wanted,
            Default::default,
            each,
            |(rows, refs, mut event_ids, nodes, lost)| {
                let base = trace.memory_copies.len();
                add_nodes(trace, nodes, |row| RowRef::new(Table::MemoryCopies, base + row));
                refs.drain_into(&mut missing, base);
                trace.memory_copies.concat(rows);
                all_ids.append(&mut event_ids);
                tally.lost_rows += lost;
            },
        );
        let mut fills: Map<StrId, bool> = Map::default();
        for row in first..trace.memory_copies.len() {
            let name = trace.memory_copies.name[row];
            if *fills.entry(name).or_insert_with(|| is_fill(trace.strings.get(name))) {
                trace.memory_copies.kind[row] = CopyKind::Fill;
            }
        }
        let process_of = |t: &trace::Trace, row: usize| t.memory_copies.process[row];
        make_up(&missing, identity, trace, process_of, |t, row, late| match late {
            Late::Process(id) => t.memory_copies.process[row] = id,
            Late::Thread(id) => t.memory_copies.thread[row] = id,
            Late::Queue(id) => t.memory_copies.queue[row] = id,
            Late::Stream(id) => t.memory_copies.stream[row] = id,
            Late::Own(0, number) => t.memory_copies.src[row] = AgentId(number),
            Late::Own(_, number) => t.memory_copies.dst[row] = AgentId(number),
            Late::Agent(_) => {}
        });
        self.own(Table::MemoryCopies, first, &all_ids);
    }

    /// Reads allocations and frees, scratch included.
    pub(super) fn allocations(&mut self) {
        let Reader { group, trace, identity, events, tally, stamps, .. } = self;
        let Some(table) = group.table(table::MEMORY_ALLOCATE) else { return };
        let [kind, level, address, size, event, extdata] =
            ["type", "level", "address", "size", "event_id", "extdata"].map(|name| table.column(name));
        let places = Places::of(group, table::MEMORY_ALLOCATE);
        let [start, end] = ["start", "end"].map(|name| Time::of(group, stamps, table::MEMORY_ALLOCATE, name));
        let mut wanted = vec![kind, level, address, size, event, extdata, start.column(), end.column()];
        wanted.extend(places.columns());
        let (lookup, all_events, first) = (&*identity, &*events, trace.memory_allocations.len());
        let owners = all_events.keeps_owners();
        type Chunk = (MemoryAllocations, Refs, Strings, Vec<Option<i64>>, u64);
        let each = |chunk: &mut Chunk, row: &Row<'_>| {
            let (rows, refs, strings, event_ids, lost) = chunk;
            let Some((start, end)) = times(&start, &end, row) else {
                *lost += 1;
                return;
            };
            let at = rows.len();
            let event_id = row.int(event);
            let kind = row.text(kind).unwrap_or_default();
            // A free does not know its size and records 0.
            let frees = kind.eq_ignore_ascii_case("FREE");
            let place = places.get(row, at, refs, lookup);
            rows.push(MemoryAllocation {
                kind: strings.intern(&kind),
                level: strings.intern(&row.text(level).unwrap_or_default()),
                start,
                end,
                address: row.int(address).into(),
                bytes: row.int(size).filter(|bytes| !(frees && *bytes == 0)).into(),
                process: place.process,
                thread: place.thread,
                agent: place.agent,
                queue: place.queue,
                stream: place.stream,
                correlation: all_events.get(event_id).stack,
                flags: flags_of(&unpacked(row, extdata).unwrap_or_default()).into(),
            });
            if owners {
                event_ids.push(event_id);
            }
        };
        let (mut missing, mut all_ids): (Vec<Missing>, Vec<Option<i64>>) = Default::default();
        let base = table::MEMORY_ALLOCATE;
        group.scan(
            base,
            &wanted,
            Default::default,
            each,
            |(mut rows, refs, strings, mut event_ids, lost)| {
                let known = trace.strings.absorb(&strings);
                for id in rows.kind.iter_mut().chain(&mut rows.level) {
                    *id = known[id.0 as usize];
                }
                refs.drain_into(&mut missing, trace.memory_allocations.len());
                trace.memory_allocations.concat(rows);
                all_ids.append(&mut event_ids);
                tally.lost_rows += lost;
            },
        );
        let process_of = |t: &trace::Trace, row: usize| t.memory_allocations.process[row];
        make_up(&missing, identity, trace, process_of, |t, row, late| match late {
            Late::Process(id) => t.memory_allocations.process[row] = id,
            Late::Thread(id) => t.memory_allocations.thread[row] = id,
            Late::Agent(id) => t.memory_allocations.agent[row] = id,
            Late::Queue(id) => t.memory_allocations.queue[row] = id,
            Late::Stream(id) => t.memory_allocations.stream[row] = id,
            Late::Own(..) => {}
        });
        self.own(Table::MemoryAllocations, first, &all_ids);
    }

    /// Notes which row each event belongs to.
    pub(super) fn own(&mut self, table: Table, first: usize, event_ids: &[Option<i64>]) {
        for (i, id) in event_ids.iter().enumerate() {
            if let Some(id) = id {
                self.events.set_owner(*id, RowRef::new(table, first + i));
            }
        }
    }
}

fn graph_of(told: bool, graph: Option<i64>) -> Graph {
    match (told, graph) {
        (false, _) | (true, None) => Graph::Unknown,
        (true, Some(0)) => Graph::Direct,
        (true, Some(_)) => Graph::Replayed,
    }
}

/// Stores the graph node that a row ran as.
fn keep_node(nodes: &mut GraphNodes, row: RowRef, exec: Option<i64>, node: Option<i64>) {
    let (exec, node) = (exec.unwrap_or(0), node.unwrap_or(0));
    if exec != 0 || node != 0 {
        nodes.push(GraphNode { row, exec, node });
    }
}

/// Adds the nodes of a chunk, whose rows are numbered from the start of the chunk.
fn add_nodes(trace: &mut Trace, nodes: GraphNodes, row: impl Fn(usize) -> RowRef) {
    for node in nodes.rows() {
        let place = node.row.get().map_or(0, |(_, place)| place);
        trace.graph_nodes.push(GraphNode { row: row(place), ..node });
    }
}

/// Geometry of the dispatch, with its symbol's registers. Sizes of zero were not recorded.
fn shape([scratch, lds, wx, wy, wz, gx, gy, gz]: [Option<i64>; 8], symbol: &Symbol) -> LaunchShape {
    let size = |sizes: [Option<i64>; 3]| {
        let mut out = [0; 3];
        for (out, size) in out.iter_mut().zip(sizes) {
            *out = u32::try_from(size?).ok()?;
        }
        (out != [0; 3]).then_some(out)
    };
    LaunchShape {
        grid: size([gx, gy, gz]),
        workgroup: size([wx, wy, wz]),
        lds_bytes: lds.map_or(symbol.lds, OptI64::some),
        scratch_bytes: scratch.map_or(symbol.scratch, OptI64::some),
        vgpr: symbol.vgpr,
        agpr: symbol.agpr,
        sgpr: symbol.sgpr,
    }
}

/// Flags of a scratch allocation: `{"flags": "2"}`.
fn flags_of(extdata: &str) -> Option<i64> {
    if !extdata.contains("flags") {
        return None;
    }
    match serde_json::from_str::<serde_json::Value>(extdata).ok()?.get("flags")? {
        serde_json::Value::String(text) => text.trim().parse().ok(),
        number => number.as_i64(),
    }
}

fn is_fill(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("memset") || name.contains("fill")
}
