//! Memory and collectives, which have no table in rocpd.

use std::fmt::Write;

use ::model::memory::{DeviceMemory, Held, MemoryHistory, Owner};
use trace::{AgentId, ProcessId, RowRef, StackId, StreamId};

use super::definition::{Cell, TableDef, number, tables};
use super::model::Model;

const BLOCKS: &str = "memory_blocks";
const EVENTS: &str = "memory_events";
const SEGMENTS: &str = "memory_segments";
const COLLECTIVES: &str = "collectives";

/// The blocks of all devices, one after another.
#[derive(Default)]
pub(super) struct Blocks {
    history: MemoryHistory,
    /// Where the blocks of each device end.
    ends: Vec<usize>,
}

impl Blocks {
    pub fn of(trace: &trace::Trace) -> Self {
        let history = MemoryHistory::of(trace);
        let mut end = 0;
        let ends = history.devices.iter().map(|device| {
            end += device.blocks.len();
            end
        });
        Self { ends: ends.collect(), history }
    }

    fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn get(&self, row: usize) -> (&DeviceMemory, &Held, &Owner) {
        let place = self.ends.partition_point(|end| *end <= row);
        let device = &self.history.devices[place];
        let block = &device.blocks[row + device.blocks.len() - self.ends[place]];
        (device, block, &self.history.owners[block.owner as usize])
    }
}

fn block(m: &Model, row: usize) -> (&DeviceMemory, &Held, &Owner) {
    m.memory().get(row)
}

fn device(m: &Model, agent: AgentId) -> Cell<'_> {
    m.agent(agent).and_then(|agent| agent.type_index.get().or(agent.absolute_index.get())).into()
}

fn known(text: &str) -> Cell<'_> {
    Some(text).filter(|text| !text.is_empty()).into()
}

/// A stack, innermost first, one line per frame.
fn stack(m: &Model, stack: StackId) -> Cell<'static> {
    if !stack.is_some() {
        return Cell::Null;
    }
    let mut text = String::new();
    for frame in m.trace.stacks.get(stack) {
        let separator = if text.is_empty() { "" } else { "\n" };
        let _ = write!(text, "{separator}{}:{} {}", m.text(frame.file), frame.line, m.text(frame.name));
    }
    Cell::Made(text)
}

/// A row of the allocator's events, or of the allocations after them.
enum Event {
    Allocator(usize),
    Allocation(usize),
}

fn event(m: &Model, row: usize) -> Event {
    match row.checked_sub(m.trace.allocator_events.len()) {
        None => Event::Allocator(row),
        Some(row) => Event::Allocation(row),
    }
}

fn event_process(m: &Model, row: usize) -> ProcessId {
    match event(m, row) {
        Event::Allocator(i) => m.trace.allocator_events.process[i],
        Event::Allocation(i) => m.trace.memory_allocations.process[i],
    }
}

fn event_agent(m: &Model, row: usize) -> AgentId {
    match event(m, row) {
        Event::Allocator(i) => m.trace.allocator_events.agent[i],
        Event::Allocation(i) => m.trace.memory_allocations.agent[i],
    }
}

fn event_stream(m: &Model, row: usize) -> StreamId {
    match event(m, row) {
        Event::Allocator(i) => m.trace.allocator_events.stream[i],
        Event::Allocation(i) => m.trace.memory_allocations.stream[i],
    }
}

fn action(m: &Model, row: usize) -> Cell<'_> {
    match event(m, row) {
        Event::Allocator(i) => Cell::Text(m.trace.allocator_events.action[i].name()),
        Event::Allocation(i) => Cell::Made(m.text(m.trace.memory_allocations.kind[i]).to_lowercase()),
    }
}

/// Start and end of a collective: its own, or those of its kernel or region.
fn collective_times(m: &Model, row: usize) -> (Option<i64>, Option<i64>) {
    let collectives = &m.trace.collectives;
    let (kernels, regions) = (&m.trace.kernels, &m.trace.regions);
    match collectives.row[row].get() {
        Some((trace::Table::Kernels, i)) => (Some(kernels.start[i]), Some(kernels.end[i] - kernels.start[i])),
        Some((trace::Table::Regions, i)) => (Some(regions.start[i]), Some(regions.end[i] - regions.start[i])),
        _ => (collectives.start[row].get(), collectives.time_ns[row].get()),
    }
}

fn kernel(m: &Model, row: RowRef) -> Option<i64> {
    let known = !m.beside_databases && !m.trace.kernels.is_empty();
    row.row_of(trace::Table::Kernels).map(|kernel| kernel as i64 + 1).filter(|_| known)
}

pub(super) static TABLES: &[TableDef] = tables! {
    BLOCKS, numbered true, rows |m| m.memory().len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| m.guid(block(m, i).0.process).into();
        "pid" INTEGER = |m, i| m.pid(block(m, i).0.process).into();
        "device" INTEGER = |m, i| device(m, block(m, i).0.agent);
        "device_type" TEXT = |m, i| m.agent_kind(block(m, i).0.agent).into();
        "address" INTEGER = |m, i| block(m, i).1.address.into();
        "size" INTEGER = |m, i| block(m, i).1.bytes.into();
        "start" BIGINT = |m, i| block(m, i).1.from.into();
        "end" BIGINT = |m, i| block(m, i).1.to.into();
        "duration" BIGINT = |m, i| {
            let held = block(m, i).1;
            held.from.zip(held.to).map(|(from, to)| to - from).into()
        };
        "stream_id" INTEGER = |m, i| m.stream_ref(block(m, i).1.stream).into();
        "line" TEXT = |m, i| known(&block(m, i).2.line);
        "op" TEXT = |m, i| known(&block(m, i).2.op);
        "module" TEXT = |m, i| known(&block(m, i).2.module);
        "call_stack" TEXT = |m, i| stack(m, block(m, i).1.stack);
    }
    EVENTS, numbered true, rows |m| m.trace.allocator_events.len() + m.trace.memory_allocations.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| m.guid(event_process(m, i)).into();
        "pid" INTEGER = |m, i| m.pid(event_process(m, i)).into();
        "device" INTEGER = |m, i| device(m, event_agent(m, i));
        "device_type" TEXT = |m, i| m.agent_kind(event_agent(m, i)).into();
        "action" TEXT = action;
        "timestamp" BIGINT = |m, i| match event(m, i) {
            Event::Allocator(i) => m.trace.allocator_events.start[i].into(),
            Event::Allocation(i) => m.trace.memory_allocations.start[i].into(),
        };
        "address" INTEGER = |m, i| match event(m, i) {
            Event::Allocator(i) => m.trace.allocator_events.address[i].into(),
            Event::Allocation(i) => m.trace.memory_allocations.address[i].into(),
        };
        "size" INTEGER = |m, i| match event(m, i) {
            Event::Allocator(i) => m.trace.allocator_events.bytes[i].into(),
            Event::Allocation(i) => m.trace.memory_allocations.bytes[i].into(),
        };
        "device_free" INTEGER = |m, i| match event(m, i) {
            Event::Allocator(i) => m.trace.allocator_events.device_free[i].into(),
            Event::Allocation(_) => Cell::Null,
        };
        "stream_id" INTEGER = |m, i| m.stream_ref(event_stream(m, i)).into();
        "call_stack" TEXT = |m, i| match event(m, i) {
            Event::Allocator(i) => stack(m, m.trace.allocator_events.stack[i]),
            Event::Allocation(_) => Cell::Null,
        };
    }
    SEGMENTS, numbered true, rows |m| m.trace.allocator_segments.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| m.guid(m.trace.allocator_segments.process[i]).into();
        "pid" INTEGER = |m, i| m.pid(m.trace.allocator_segments.process[i]).into();
        "device" INTEGER = |m, i| device(m, m.trace.allocator_segments.agent[i]);
        "address" INTEGER = |m, i| m.trace.allocator_segments.address[i].into();
        "size" INTEGER = |m, i| m.trace.allocator_segments.bytes[i].into();
        "pool" TEXT = |m, i| m.known(m.trace.allocator_segments.kind[i]).into();
        "stream_id" INTEGER = |m, i| m.stream_ref(m.trace.allocator_segments.stream[i]).into();
    }
    COLLECTIVES, numbered true, rows |m| m.trace.collectives.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| m.guid(m.trace.collectives.process[i]).into();
        "pid" INTEGER = |m, i| m.pid(m.trace.collectives.process[i]).into();
        "rank" INTEGER = |m, i| m.trace.rank_of(m.trace.collectives.process[i]).map(i64::from).into();
        "comm" TEXT = |m, i| m.known(m.trace.collectives.group[i]).into();
        "comm_size" INTEGER = |m, i| m.trace.collectives.group_size[i].into();
        "sequence" INTEGER = |m, i| m.trace.collectives.sequence[i].into();
        "operation" TEXT = |m, i| m.known(m.trace.collectives.operation[i]).into();
        "size" INTEGER = |m, i| m.trace.collectives.bytes[i].into();
        "dtype" TEXT = |m, i| m.known(m.trace.collectives.dtype[i]).into();
        "peer" INTEGER = |m, i| m.trace.collectives.peer[i].into();
        "start" BIGINT = |m, i| collective_times(m, i).0.into();
        "end" BIGINT = |m, i| {
            let (start, length) = collective_times(m, i);
            start.zip(length).map(|(start, length)| start + length).into()
        };
        "duration" BIGINT = |m, i| collective_times(m, i).1.into();
        "kernel_id" INTEGER = |m, i| kernel(m, m.trace.collectives.row[i]).into();
    }
};
