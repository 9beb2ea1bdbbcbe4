//! Tables of GPU work: dispatches, copies, allocations.

use formats::rocpd::table;
use trace::{LaunchShape, RowRef, Table, ThreadId};

use super::definition::{Cell, TableDef, number, tables};
use super::model::Model;

const EMPTY: Cell<'static> = Cell::Text("{}");

pub(super) fn shape(m: &Model, kernel: usize) -> &LaunchShape {
    m.trace.shapes.get(m.trace.kernels.shape[kernel])
}

pub(super) fn size(sizes: Option<[u32; 3]>, axis: usize) -> Cell<'static> {
    sizes.map(|sizes| i64::from(sizes[axis])).into()
}

pub(super) fn kernel_thread(m: &Model, i: usize) -> ThreadId {
    m.launcher(m.trace.kernels.thread[i], RowRef::kernel(i))
}

pub(super) fn copy_thread(m: &Model, i: usize) -> ThreadId {
    m.launcher(m.trace.memory_copies.thread[i], RowRef::new(Table::MemoryCopies, i))
}

fn copy_row(i: usize) -> RowRef {
    RowRef::new(Table::MemoryCopies, i)
}

pub(super) fn allocation_thread(m: &Model, i: usize) -> ThreadId {
    m.launcher(m.trace.memory_allocations.thread[i], RowRef::new(Table::MemoryAllocations, i))
}

pub(super) static TABLES: &[TableDef] = tables! {
    table::KERNEL_DISPATCH, numbered true, sorted by "start" |m| &m.trace.kernels.start, rows |m| m.trace.kernels.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| m.guid(m.trace.kernels.process[i]).into();
        "nid" INTEGER = |m, i| m.nid(m.trace.kernels.process[i]).into();
        "pid" INTEGER = |m, i| m.process_ref(m.trace.kernels.process[i]).into();
        "tid" INTEGER = |m, i| m.thread_ref(kernel_thread(m, i)).into();
        "agent_id" INTEGER = |m, i| m.agent_ref(m.trace.kernels.agent[i]).into();
        "kernel_id" INTEGER = |m, i| m.symbols[m.symbol_of[i] as usize].id.into();
        "dispatch_id" INTEGER = |m, i| m.trace.kernels.dispatch[i].into();
        "queue_id" INTEGER = |m, i| m.queue_ref(m.trace.kernels.queue[i]).into();
        "stream_id" INTEGER = |m, i| m.stream_ref(m.trace.kernels.stream[i]).into();
        "start" BIGINT = |m, i| m.trace.kernels.start[i].into();
        "end" BIGINT = |m, i| m.trace.kernels.end[i].into();
        "private_segment_size" INTEGER = |m, i| shape(m, i).scratch_bytes.into();
        "group_segment_size" INTEGER = |m, i| shape(m, i).lds_bytes.into();
        "workgroup_size_x" INTEGER = |m, i| size(shape(m, i).workgroup, 0);
        "workgroup_size_y" INTEGER = |m, i| size(shape(m, i).workgroup, 1);
        "workgroup_size_z" INTEGER = |m, i| size(shape(m, i).workgroup, 2);
        "grid_size_x" INTEGER = |m, i| size(shape(m, i).grid, 0);
        "grid_size_y" INTEGER = |m, i| size(shape(m, i).grid, 1);
        "grid_size_z" INTEGER = |m, i| size(shape(m, i).grid, 2);
        "region_name_id" INTEGER = |m, i| m.string_id(m.trace.kernels.region[i]).into();
        "event_id" INTEGER = |m, i| m.event(Table::Kernels, i).into();
        "graph_exec_id" INTEGER = |m, i| m.graph(RowRef::kernel(i), m.trace.kernels.graph[i]).into();
        "graph_node_id" INTEGER = |m, i| m.graph_node(RowRef::kernel(i)).into();
        "replay_pass" INTEGER = |_, _| Cell::Null;
        "extdata" JSONB = |_, _| EMPTY;
    }
    table::MEMORY_COPY, numbered true, sorted by "start" |m| &m.trace.memory_copies.start, rows |m| m.trace.memory_copies.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| m.guid(m.trace.memory_copies.process[i]).into();
        "nid" INTEGER = |m, i| m.nid(m.trace.memory_copies.process[i]).into();
        "pid" INTEGER = |m, i| m.process_ref(m.trace.memory_copies.process[i]).into();
        "tid" INTEGER = |m, i| m.thread_ref(copy_thread(m, i)).into();
        "start" BIGINT = |m, i| m.trace.memory_copies.start[i].into();
        "end" BIGINT = |m, i| m.trace.memory_copies.end[i].into();
        "name_id" INTEGER = |m, i| m.string_id(m.trace.memory_copies.name[i]).into();
        "dst_agent_id" INTEGER = |m, i| m.agent_ref(m.trace.memory_copies.dst[i]).into();
        "dst_address" INTEGER = |m, i| m.trace.memory_copies.dst_address[i].into();
        "src_agent_id" INTEGER = |m, i| m.agent_ref(m.trace.memory_copies.src[i]).into();
        "src_address" INTEGER = |m, i| m.trace.memory_copies.src_address[i].into();
        "size" INTEGER = |m, i| m.trace.memory_copies.bytes[i].into();
        "queue_id" INTEGER = |m, i| m.queue_ref(m.trace.memory_copies.queue[i]).into();
        "stream_id" INTEGER = |m, i| m.stream_ref(m.trace.memory_copies.stream[i]).into();
        "region_name_id" INTEGER = |_, _| Cell::Null;
        "event_id" INTEGER = |m, i| m.event(Table::MemoryCopies, i).into();
        "graph_exec_id" INTEGER = |m, i| m.graph(copy_row(i), m.trace.memory_copies.graph[i]).into();
        "graph_node_id" INTEGER = |m, i| m.graph_node(copy_row(i)).into();
        "extdata" JSONB = |_, _| EMPTY;
    }
    table::MEMORY_ALLOCATE, numbered true, sorted by "start" |m| &m.trace.memory_allocations.start, rows |m| m.trace.memory_allocations.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| m.guid(m.trace.memory_allocations.process[i]).into();
        "nid" INTEGER = |m, i| m.nid(m.trace.memory_allocations.process[i]).into();
        "pid" INTEGER = |m, i| m.process_ref(m.trace.memory_allocations.process[i]).into();
        "tid" INTEGER = |m, i| m.thread_ref(allocation_thread(m, i)).into();
        "agent_id" INTEGER = |m, i| m.agent_ref(m.trace.memory_allocations.agent[i]).into();
        "type" TEXT = |m, i| m.known(m.trace.memory_allocations.kind[i]).into();
        "level" TEXT = |m, i| m.known(m.trace.memory_allocations.level[i]).into();
        "start" BIGINT = |m, i| m.trace.memory_allocations.start[i].into();
        "end" BIGINT = |m, i| m.trace.memory_allocations.end[i].into();
        "address" INTEGER = |m, i| m.trace.memory_allocations.address[i].into();
        "size" INTEGER = |m, i| m.trace.memory_allocations.bytes[i].into();
        "queue_id" INTEGER = |m, i| m.queue_ref(m.trace.memory_allocations.queue[i]).into();
        "stream_id" INTEGER = |m, i| m.stream_ref(m.trace.memory_allocations.stream[i]).into();
        "event_id" INTEGER = |m, i| m.event(Table::MemoryAllocations, i).into();
        "extdata" JSONB = |_, _| EMPTY;
    }
};
