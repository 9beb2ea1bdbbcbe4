//! Replays what a caching allocator recorded about itself.

use trace::{AllocatorAction, BlockState, OptI64, Trace};

use super::owners::Owners;
use super::{Devices, Held};

pub(super) fn replay(trace: &Trace, devices: &mut Devices, owners: &mut Owners) {
    let events = &trace.allocator_events;
    for row in 0..events.len() {
        let device = devices.of(events.process[row], events.agent[row]);
        let (at, bytes) = (events.start[row], events.bytes[row].get().unwrap_or(0));
        let block = |owners: &mut Owners| Held {
            address: events.address[row],
            bytes,
            owner: owners.of_stack(trace, events.stack[row]),
            stack: events.stack[row],
            stream: events.stream[row],
            ..Held::default()
        };
        match events.action[row] {
            AllocatorAction::Alloc => device.alloc(at, block(owners)),
            AllocatorAction::FreeCompleted => {
                // The stack of a free shows who freed, not who allocated.
                let unknown =
                    Held { owner: owners.before_the_record(), stack: Default::default(), ..block(owners) };
                device.free(at, unknown, Some(bytes));
            }
            AllocatorAction::SegmentAlloc | AllocatorAction::SegmentMap => {
                device.device.reserved_changes.push((at, bytes));
            }
            AllocatorAction::SegmentFree | AllocatorAction::SegmentUnmap => {
                device.device.reserved_changes.push((at, -bytes));
            }
            AllocatorAction::OutOfMemory => device.device.out_of_memory.push(row as u32),
            AllocatorAction::FreeRequested | AllocatorAction::Snapshot | AllocatorAction::Other => {}
        }
    }
    let segments = &trace.allocator_segments;
    for row in 0..segments.len() {
        let device = &mut devices.of(segments.process[row], segments.agent[row]).device;
        device.segments.push(row as u32);
        *device.reserved_at_end.get_or_insert(0) += segments.bytes[row];
    }
    let blocks = &trace.allocator_blocks;
    for row in 0..blocks.len() {
        let device = devices.of(blocks.process[row], blocks.agent[row]);
        device.device.snapshot_blocks.push(row as u32);
        if blocks.state[row] == BlockState::Free {
            continue;
        }
        let owner = match blocks.stack[row].is_some() {
            true => owners.of_stack(trace, blocks.stack[row]),
            false => owners.before_the_record(),
        };
        device.held_at_end(Held {
            address: OptI64::some(blocks.address[row]),
            bytes: blocks.requested[row].get().unwrap_or(blocks.bytes[row]),
            owner,
            stack: blocks.stack[row],
            stream: blocks.stream[row],
            ..Held::default()
        });
    }
}
