//! The row views, directly over the trace's columns.

use formats::rocpd::view;
use trace::{AgentId, RowRef, StrId, Table};

use super::definition::{Cell, TableDef, number, tables};
use super::events::{Event, extdata};
use super::model::{self, Model, Symbol};
use super::work::{allocation_thread, copy_thread, kernel_thread, shape, size};

const EMPTY: Cell<'static> = Cell::Text("{}");

fn agent<'m, T: Into<Cell<'m>>>(m: &'m Model, agent: AgentId, get: fn(&trace::Agent) -> T) -> Cell<'m> {
    m.agent(agent).map_or(Cell::Null, |agent| get(agent).into())
}

fn agent_name(m: &Model, agent: AgentId) -> Option<&str> {
    m.agent(agent).and_then(|agent| m.known(agent.name))
}

fn symbol(m: &Model, kernel: usize) -> &Symbol {
    &m.symbols[m.symbol_of[kernel] as usize]
}

fn own_symbol(m: &Model, kernel: usize) -> Option<&trace::KernelSymbol> {
    symbol(m, kernel).own.map(|own| &m.trace.symbols[own])
}

/// Correlation id; NULL if zero.
fn stack(correlation: i64) -> Cell<'static> {
    Some(correlation).filter(|c| *c != 0).into()
}

/// The argument behind a row of `region_args`, and the region it belongs to.
fn region_arg(m: &Model, row: usize) -> (usize, usize) {
    let arg = m.region_args.start + row;
    (arg, m.trace.args.owner[arg].row_of(Table::Regions).unwrap_or(0))
}

/// The kernel that a counter value belongs to.
fn counted(m: &Model, row: usize) -> Option<usize> {
    m.trace.counters.kernel[row].row_of(Table::Kernels)
}

fn counter_name(m: &Model, row: usize) -> Option<StrId> {
    m.trace.counters.counter[row].get().map(|kind| m.trace.counter_kinds[kind].name)
}

fn arg_event(m: &Model, row: usize) -> Option<Event> {
    Event::of(m, m.trace.args.owner[row])
}

pub(super) static TABLES: &[TableDef] = tables! {
    view::KERNELS, numbered true, sorted by "start" |m| &m.trace.kernels.start, rows |m| m.trace.kernels.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| m.guid(m.trace.kernels.process[i]).into();
        "tid" INTEGER = |m, i| m.tid(kernel_thread(m, i)).into();
        "category" TEXT = |_, _| Cell::Text(model::KERNEL);
        "region" TEXT = |m, i| m.text(m.trace.kernels.region[i]).into();
        "name" TEXT = |m, i| m.text(m.trace.kernels.name[i]).into();
        "nid" INTEGER = |m, i| m.nid(m.trace.kernels.process[i]).into();
        "pid" INTEGER = |m, i| m.pid(m.trace.kernels.process[i]).into();
        "agent_abs_index" INTEGER = |m, i| agent(m, m.trace.kernels.agent[i], |a| a.absolute_index);
        "agent_log_index" INTEGER = |m, i| agent(m, m.trace.kernels.agent[i], |a| a.logical_index);
        "agent_type_index" INTEGER = |m, i| agent(m, m.trace.kernels.agent[i], |a| a.type_index);
        "agent_type" TEXT = |m, i| m.agent_kind(m.trace.kernels.agent[i]).into();
        "code_object_id" INTEGER = |m, i| own_symbol(m, i).and_then(|s| s.code_object.get()).into();
        "kernel_id" INTEGER = |m, i| symbol(m, i).id.into();
        "dispatch_id" INTEGER = |m, i| m.trace.kernels.dispatch[i].into();
        "stream_id" INTEGER = |m, i| m.stream_ref(m.trace.kernels.stream[i]).into();
        "queue_id" INTEGER = |m, i| m.queue_ref(m.trace.kernels.queue[i]).into();
        "queue" TEXT = |m, i| m.queue_name(m.trace.kernels.queue[i]).into();
        "stream" TEXT = |m, i| m.stream_name(m.trace.kernels.stream[i]).into();
        "start" BIGINT = |m, i| m.trace.kernels.start[i].into();
        "end" BIGINT = |m, i| m.trace.kernels.end[i].into();
        "duration" BIGINT = |m, i| (m.trace.kernels.end[i] - m.trace.kernels.start[i]).into();
        "grid_x" INTEGER = |m, i| size(shape(m, i).grid, 0);
        "grid_y" INTEGER = |m, i| size(shape(m, i).grid, 1);
        "grid_z" INTEGER = |m, i| size(shape(m, i).grid, 2);
        "workgroup_x" INTEGER = |m, i| size(shape(m, i).workgroup, 0);
        "workgroup_y" INTEGER = |m, i| size(shape(m, i).workgroup, 1);
        "workgroup_z" INTEGER = |m, i| size(shape(m, i).workgroup, 2);
        "lds_size" INTEGER = |m, i| shape(m, i).lds_bytes.into();
        "scratch_size" INTEGER = |m, i| shape(m, i).scratch_bytes.into();
        "vgpr_count" INTEGER = |m, i| own_symbol(m, i).map_or(symbol(m, i).registers[0], |s| s.vgpr).into();
        "accum_vgpr_count" INTEGER = |m, i| own_symbol(m, i).map_or(symbol(m, i).registers[1], |s| s.agpr).into();
        "sgpr_count" INTEGER = |m, i| own_symbol(m, i).map_or(symbol(m, i).registers[2], |s| s.sgpr).into();
        "static_lds_size" INTEGER = |m, i| own_symbol(m, i).and_then(|s| s.group_segment_bytes.get()).into();
        "static_scratch_size" INTEGER = |m, i| own_symbol(m, i).and_then(|s| s.private_segment_bytes.get()).into();
        "stack_id" INTEGER = |m, i| stack(m.trace.kernels.correlation[i]);
        "parent_stack_id" INTEGER = |m, i| stack(m.trace.kernels.correlation[i]);
        "corr_id" INTEGER = |m, i| m.trace.kernels.external[i].into();
    }
    view::REGIONS, numbered true, sorted by "start" |m| &m.trace.regions.start, rows |m| m.trace.regions.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| m.guid(m.trace.regions.process[i]).into();
        "category" TEXT = |m, i| m.text(m.trace.regions.category[i]).into();
        "name" TEXT = |m, i| m.text(m.trace.regions.name[i]).into();
        "nid" INTEGER = |m, i| m.nid(m.trace.regions.process[i]).into();
        "pid" INTEGER = |m, i| m.pid(m.trace.regions.process[i]).into();
        "tid" INTEGER = |m, i| m.tid(m.trace.regions.thread[i]).into();
        "start" BIGINT = |m, i| m.trace.regions.start[i].into();
        "end" BIGINT = |m, i| m.trace.regions.end[i].into();
        "duration" BIGINT = |m, i| (m.trace.regions.end[i] - m.trace.regions.start[i]).into();
        "event_id" INTEGER = |m, i| m.event(Table::Regions, i).into();
        "stack_id" INTEGER = |m, i| stack(m.trace.regions.correlation[i]);
        "parent_stack_id" INTEGER = |m, i| stack(m.parent(i).unwrap_or(0));
        "corr_id" INTEGER = |m, i| m.trace.regions.external[i].into();
        "extdata" JSONB = |m, i| extdata(m, RowRef::region(i));
        "call_stack" JSONB = |_, _| EMPTY;
        "line_info" JSONB = |_, _| EMPTY;
    }
    view::REGION_ARGS, rows |m| m.region_args.len(), {
        "id" INTEGER = |m, i| number(region_arg(m, i).1);
        "guid" TEXT = |m, i| m.guid(m.trace.regions.process[region_arg(m, i).1]).into();
        "nid" INTEGER = |m, i| m.nid(m.trace.regions.process[region_arg(m, i).1]).into();
        "pid" INTEGER = |m, i| m.pid(m.trace.regions.process[region_arg(m, i).1]).into();
        "type" TEXT = |m, i| m.text(m.trace.args.ty[region_arg(m, i).0]).into();
        "name" TEXT = |m, i| m.text(m.trace.args.name[region_arg(m, i).0]).into();
        "value" TEXT = |m, i| m.text(m.trace.args.value[region_arg(m, i).0]).into();
    }
    view::SAMPLES, numbered true, sorted by "timestamp" |m| &m.trace.samples.start, rows |m| m.trace.samples.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| m.guid(m.trace.samples.process[i]).into();
        "category" TEXT = |m, i| m.text(m.trace.samples.kind[i]).into();
        "name" TEXT = |m, i| m.text(m.trace.samples.name[i]).into();
        "nid" INTEGER = |m, i| m.nid(m.trace.samples.process[i]).into();
        "pid" INTEGER = |m, i| m.pid(m.trace.samples.process[i]).into();
        "tid" INTEGER = |m, i| m.tid(m.trace.samples.thread[i]).into();
        "timestamp" BIGINT = |m, i| m.trace.samples.start[i].into();
        "event_id" INTEGER = |m, i| m.event(Table::Samples, i).into();
        "stack_id" INTEGER = |m, i| stack(m.trace.samples.correlation[i]);
        "parent_stack_id" INTEGER = |_, _| Cell::Null;
        "corr_id" INTEGER = |_, _| Cell::Null;
        "extdata" JSONB = |m, i| extdata(m, RowRef::new(Table::Samples, i));
        "call_stack" JSONB = |_, _| EMPTY;
        "line_info" JSONB = |_, _| EMPTY;
    }
    view::EVENTS_ARGS, rows |m| m.trace.args.len(), {
        "event_id" INTEGER = |m, i| m.trace.args.owner[i].get().map(|(table, row)| m.event(table, row)).into();
        "category" TEXT = |m, i| arg_event(m, i).and_then(|e| e.category(m)).into();
        "stack_id" INTEGER = |m, i| arg_event(m, i).and_then(|e| e.stack()).into();
        "parent_stack_id" INTEGER = |m, i| arg_event(m, i).and_then(|e| e.parent()).into();
        "correlation_id" INTEGER = |m, i| arg_event(m, i).and_then(|e| e.external()).into();
        "arg_position" INTEGER = |m, i| i64::from(m.trace.args.position[i]).into();
        "arg_type" TEXT = |m, i| m.text(m.trace.args.ty[i]).into();
        "arg_name" TEXT = |m, i| m.text(m.trace.args.name[i]).into();
        "arg_value" TEXT = |m, i| m.text(m.trace.args.value[i]).into();
        "call_stack" JSONB = |_, _| EMPTY;
        "line_info" JSONB = |_, _| EMPTY;
        "extdata" JSONB = |_, _| EMPTY;
    }
    view::PMC_EVENTS, numbered true, rows |m| m.trace.counters.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| counted(m, i).map(|k| m.guid(m.trace.kernels.process[k])).into();
        "pmc_id" INTEGER = |m, i| m.trace.counters.counter[i].get().map(|kind| kind as i64 + 1).into();
        "event_id" INTEGER = |m, i| counted(m, i).map(|k| m.event(Table::Kernels, k)).into();
        "category" TEXT = |_, _| Cell::Text(model::KERNEL);
        "name" TEXT = |m, i| counted(m, i).map(|k| m.text(m.trace.kernels.name[k])).into();
        "nid" INTEGER = |m, i| counted(m, i).map(|k| m.nid(m.trace.kernels.process[k])).into();
        "pid" INTEGER = |m, i| counted(m, i).map(|k| m.pid(m.trace.kernels.process[k])).into();
        "dispatch_id" INTEGER = |m, i| counted(m, i).and_then(|k| m.trace.kernels.dispatch[k].get()).into();
        "start" BIGINT = |m, i| counted(m, i).map(|k| m.trace.kernels.start[k]).into();
        "end" BIGINT = |m, i| counted(m, i).map(|k| m.trace.kernels.end[k]).into();
        "duration" BIGINT = |m, i| counted(m, i).map(|k| m.trace.kernels.end[k] - m.trace.kernels.start[k]).into();
        "counter_name" TEXT = |m, i| counter_name(m, i).map(|name| m.text(name)).into();
        "counter_value" REAL = |m, i| m.trace.counters.value[i].into();
    }
    view::MEMORY_COPIES, numbered true, sorted by "start" |m| &m.trace.memory_copies.start, rows |m| m.trace.memory_copies.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| m.guid(m.trace.memory_copies.process[i]).into();
        "category" TEXT = |_, _| Cell::Text(model::COPY);
        "nid" INTEGER = |m, i| m.nid(m.trace.memory_copies.process[i]).into();
        "pid" INTEGER = |m, i| m.pid(m.trace.memory_copies.process[i]).into();
        "tid" INTEGER = |m, i| m.tid(copy_thread(m, i)).into();
        "start" BIGINT = |m, i| m.trace.memory_copies.start[i].into();
        "end" BIGINT = |m, i| m.trace.memory_copies.end[i].into();
        "duration" BIGINT = |m, i| (m.trace.memory_copies.end[i] - m.trace.memory_copies.start[i]).into();
        "name" TEXT = |m, i| m.text(m.trace.memory_copies.name[i]).into();
        "region_name" TEXT = |_, _| Cell::Null;
        "stream_id" INTEGER = |m, i| m.stream_ref(m.trace.memory_copies.stream[i]).into();
        "queue_id" INTEGER = |m, i| m.queue_ref(m.trace.memory_copies.queue[i]).into();
        "stream_name" TEXT = |m, i| m.stream_name(m.trace.memory_copies.stream[i]).into();
        "queue_name" TEXT = |m, i| m.queue_name(m.trace.memory_copies.queue[i]).into();
        "size" INTEGER = |m, i| m.trace.memory_copies.bytes[i].into();
        "dst_device" TEXT = |m, i| agent_name(m, m.trace.memory_copies.dst[i]).into();
        "dst_agent_abs_index" INTEGER = |m, i| agent(m, m.trace.memory_copies.dst[i], |a| a.absolute_index);
        "dst_agent_log_index" INTEGER = |m, i| agent(m, m.trace.memory_copies.dst[i], |a| a.logical_index);
        "dst_agent_type_index" INTEGER = |m, i| agent(m, m.trace.memory_copies.dst[i], |a| a.type_index);
        "dst_agent_type" TEXT = |m, i| m.agent_kind(m.trace.memory_copies.dst[i]).into();
        "dst_address" INTEGER = |m, i| m.trace.memory_copies.dst_address[i].into();
        "src_device" TEXT = |m, i| agent_name(m, m.trace.memory_copies.src[i]).into();
        "src_agent_abs_index" INTEGER = |m, i| agent(m, m.trace.memory_copies.src[i], |a| a.absolute_index);
        "src_agent_log_index" INTEGER = |m, i| agent(m, m.trace.memory_copies.src[i], |a| a.logical_index);
        "src_agent_type_index" INTEGER = |m, i| agent(m, m.trace.memory_copies.src[i], |a| a.type_index);
        "src_agent_type" TEXT = |m, i| m.agent_kind(m.trace.memory_copies.src[i]).into();
        "src_address" INTEGER = |m, i| m.trace.memory_copies.src_address[i].into();
        "stack_id" INTEGER = |m, i| stack(m.trace.memory_copies.correlation[i]);
        "parent_stack_id" INTEGER = |m, i| stack(m.trace.memory_copies.correlation[i]);
        "corr_id" INTEGER = |m, i| m.trace.memory_copies.external[i].into();
    }
    view::MEMORY_ALLOCATIONS, numbered true, sorted by "start" |m| &m.trace.memory_allocations.start, rows |m| m.trace.memory_allocations.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| m.guid(m.trace.memory_allocations.process[i]).into();
        "category" TEXT = |m, i| Cell::Text(m.allocation_category(i));
        "nid" INTEGER = |m, i| m.nid(m.trace.memory_allocations.process[i]).into();
        "pid" INTEGER = |m, i| m.pid(m.trace.memory_allocations.process[i]).into();
        "tid" INTEGER = |m, i| m.tid(allocation_thread(m, i)).into();
        "start" BIGINT = |m, i| m.trace.memory_allocations.start[i].into();
        "end" BIGINT = |m, i| m.trace.memory_allocations.end[i].into();
        "duration" BIGINT = |m, i| (m.trace.memory_allocations.end[i] - m.trace.memory_allocations.start[i]).into();
        "type" TEXT = |m, i| m.known(m.trace.memory_allocations.kind[i]).into();
        "level" TEXT = |m, i| m.known(m.trace.memory_allocations.level[i]).into();
        "agent_name" TEXT = |m, i| agent_name(m, m.trace.memory_allocations.agent[i]).into();
        "agent_abs_index" INTEGER = |m, i| agent(m, m.trace.memory_allocations.agent[i], |a| a.absolute_index);
        "agent_log_index" INTEGER = |m, i| agent(m, m.trace.memory_allocations.agent[i], |a| a.logical_index);
        "agent_type_index" INTEGER = |m, i| agent(m, m.trace.memory_allocations.agent[i], |a| a.type_index);
        "agent_type" TEXT = |m, i| m.agent_kind(m.trace.memory_allocations.agent[i]).into();
        "address" INTEGER = |m, i| m.trace.memory_allocations.address[i].into();
        "size" INTEGER = |m, i| m.trace.memory_allocations.bytes[i].into();
        "queue_id" INTEGER = |m, i| m.queue_ref(m.trace.memory_allocations.queue[i]).into();
        "queue_name" TEXT = |m, i| m.queue_name(m.trace.memory_allocations.queue[i]).into();
        "stream_id" INTEGER = |m, i| m.stream_ref(m.trace.memory_allocations.stream[i]).into();
        "stream_name" TEXT = |m, i| m.stream_name(m.trace.memory_allocations.stream[i]).into();
        "stack_id" INTEGER = |m, i| stack(m.trace.memory_allocations.correlation[i]);
        "parent_stack_id" INTEGER = |m, i| stack(m.trace.memory_allocations.correlation[i]);
        "corr_id" INTEGER = |_, _| Cell::Null;
    }
};
