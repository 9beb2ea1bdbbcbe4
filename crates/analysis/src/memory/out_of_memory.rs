//! Allocations that failed, and what they would have needed.

use model::memory::{DeviceMemory, Owner};
use trace::{Ns, Trace};

/// An allocation that failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutOfMemory {
    /// When it failed.
    pub at: Ns,
    /// Bytes requested.
    pub asked: i64,
    /// Bytes the device had left, if recorded.
    pub device_free: Option<i64>,
    /// Bytes the program held.
    pub held: i64,
    /// Bytes the allocator had taken from the driver, if known.
    pub reserved: Option<i64>,
    /// The line that requested it.
    pub line: String,
}

impl OutOfMemory {
    /// Bytes that the allocator had but the program did not use.
    pub fn cached(&self) -> Option<i64> {
        self.reserved.map(|reserved| (reserved - self.held).max(0))
    }

    /// How many bytes the device was short.
    pub fn short(&self) -> Option<i64> {
        self.device_free.map(|free| (self.asked - free).max(0))
    }

    /// Whether the allocator had enough memory, but in pieces that were too small.
    pub fn is_fragmentation(&self) -> Option<bool> {
        self.cached().map(|cached| cached >= self.asked)
    }
}

pub(super) fn of(trace: &Trace, device: &DeviceMemory) -> Vec<OutOfMemory> {
    let events = &trace.allocator_events;
    let (mut held, mut next) = (device.at_start(), 0);
    let mut found = Vec::with_capacity(device.out_of_memory.len());
    for row in device.out_of_memory.iter().map(|&row| row as usize) {
        let at = events.start[row];
        while let Some(change) = device.changes.get(next).filter(|change| change.at <= at) {
            held += device.bytes_of(change);
            next += 1;
        }
        found.push(OutOfMemory {
            at,
            asked: events.bytes[row].get().unwrap_or(0),
            device_free: events.device_free[row].get(),
            held,
            reserved: device.reserved_at(at),
            line: Owner::of_stack(trace, events.stack[row]).map_or_else(String::new, |owner| owner.line),
        });
    }
    found
}
