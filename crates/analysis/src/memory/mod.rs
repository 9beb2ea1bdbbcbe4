//! `memory`: peak memory, what held it, what is lost to fragmentation and what is never freed.
//!
//! Sizes are as requested by the program. Cost: one pass over the allocations and frees of each device.

mod chart;
mod compare;
mod holders;
mod out_of_memory;
mod pools;
mod present;

use model::memory::{COUNTED, DeviceMemory, MemoryHistory, Peak};
use trace::{ArgNeeds, BlockState, Moment, Needs, Ns, Trace};

pub use chart::{Slice, Timeline};
pub use compare::{Changed, MemoryChange, compare, present_change};
pub use holders::{Holder, LiveBlock, NeverFreed};
pub use out_of_memory::OutOfMemory;
pub use pools::{Pool, Segment};
pub use present::present;

/// What to read from a trace for memory.
pub fn needs() -> Needs {
    let args = ArgNeeds::Keys(COUNTED.map(String::from).to_vec());
    Needs { memory_allocations: true, regions: true, python_frames: true, args, ..Needs::nothing() }
}

/// The memory of a run.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// GPUs, and the host if the source records it.
    pub devices: Vec<DeviceFigures>,
}

/// The memory of one device.
#[derive(Clone, Debug, Default)]
pub struct DeviceFigures {
    /// The device's name for people.
    pub label: String,
    /// First event of the record.
    pub start: Option<Ns>,
    /// From the first to the last event.
    pub span_ns: i64,
    /// Allocations and frees.
    pub changes: usize,
    /// The most memory held at once.
    pub peak: Peak,
    /// Memory held before the first event.
    pub at_start: i64,
    /// Memory held at the end.
    pub at_end: i64,
    /// Memory held at the end as rounded up by the allocator; absent without a snapshot.
    pub rounded_at_end: Option<i64>,
    /// Memory taken from the driver at the end; absent without a snapshot.
    pub reserved_at_end: Option<i64>,
    /// What held the peak, by line of the program.
    pub peak_lines: Vec<Holder>,
    /// What held the peak, by operation and module.
    pub peak_ops: Vec<Holder>,
    /// The largest blocks still held at the end.
    pub largest: Vec<LiveBlock>,
    /// Blocks that were allocated in the record and never freed, by line.
    pub never_freed: Vec<NeverFreed>,
    /// Reserved memory by pool.
    pub pools: Vec<Pool>,
    /// Reserved memory by segment.
    pub segments: Vec<Segment>,
    /// Failed allocations.
    pub out_of_memory: Vec<OutOfMemory>,
    /// Held memory over time, by owner.
    pub timeline: Timeline,
    /// Frees that were not recorded.
    pub lost_frees: usize,
}

/// The part of the record to analyse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryWindow {
    /// Where it begins.
    pub start: Option<Moment>,
    /// Where it ends.
    pub end: Option<Moment>,
}

/// The figures of a trace; empty if it records nothing about memory.
pub fn compute(trace: &Trace) -> Memory {
    compute_part(trace, MemoryWindow::default())
}

/// The figures of a part of the record.
pub fn compute_part(trace: &Trace, part: MemoryWindow) -> Memory {
    let mut history = MemoryHistory::of(trace);
    let moments = (part.start.is_some() || part.end.is_some()).then_some(part);
    if let Some((part, span)) = moments.zip(history.span()) {
        let start = part.start.map_or(span.0, |moment| moment.resolve(span));
        let end = part.end.map_or(span.1, |moment| moment.resolve(span));
        history = history.between(trace, start, end);
    }
    let figures = |device: &DeviceMemory| of_device(trace, &history, device);
    let mut devices: Vec<DeviceFigures> = history.devices.iter().map(figures).collect();
    // GPUs first: the host's memory is rarely of interest.
    let hosts: Vec<bool> = history.devices.iter().map(|device| device.is_host).collect();
    let mut order: Vec<usize> = (0..devices.len()).collect();
    order.sort_by_key(|&place| hosts[place]);
    let devices = order.into_iter().map(|place| std::mem::take(&mut devices[place])).collect();
    Memory { devices }
}

fn of_device(trace: &Trace, history: &MemoryHistory, device: &DeviceMemory) -> DeviceFigures {
    let peak = device.peak();
    let start = device.changes.first().map(|change| change.at);
    let end = device.changes.last().map(|change| change.at);
    let blocks = &trace.allocator_blocks;
    let rounded = || {
        let rows = device.snapshot_blocks.iter().map(|&row| row as usize);
        rows.filter(|&row| blocks.state[row] != BlockState::Free).map(|row| blocks.bytes[row]).sum()
    };
    let held = device.held_after(peak.changes);
    DeviceFigures {
        label: device.label.clone(),
        start,
        span_ns: start.zip(end).map_or(0, |(start, end)| end - start),
        changes: device.changes.len(),
        peak,
        at_start: device.at_start(),
        at_end: device.at_end(),
        rounded_at_end: (!device.segments.is_empty()).then(rounded),
        reserved_at_end: device.reserved_at_end,
        peak_lines: holders::by_line(history, device, &held),
        peak_ops: holders::by_op(history, device, &held),
        largest: holders::largest(history, device),
        never_freed: holders::never_freed(history, device),
        pools: pools::pools(trace, device),
        segments: pools::segments(trace, device),
        out_of_memory: out_of_memory::of(trace, device),
        timeline: chart::timeline(history, device, &held),
        lost_frees: device.lost_frees,
    }
}
