//! Memory that the allocator took from the driver, and how much of it is unused.

use model::memory::DeviceMemory;
use trace::{BlockState, Map, Trace};

/// A piece of memory from the driver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segment {
    /// Its address.
    pub address: i64,
    /// `large`, `small`.
    pub pool: String,
    /// Number of its stream, if known.
    pub stream: Option<i64>,
    /// Whether it can grow.
    pub expandable: bool,
    /// Its size.
    pub bytes: i64,
    /// Bytes in use, as rounded by the allocator.
    pub held: i64,
    /// Free bytes.
    pub free: i64,
    /// The largest free block.
    pub largest_free: i64,
    /// Blocks in use.
    pub blocks: usize,
}

/// Segments of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pool {
    /// `large`, `small`.
    pub name: String,
    /// Segments.
    pub segments: usize,
    /// Their size.
    pub reserved: i64,
    /// Bytes in use, as rounded by the allocator.
    pub held: i64,
    /// Free bytes in segments that nothing uses: the allocator can return them.
    pub unused: i64,
    /// Free bytes in segments that are in use: lost if the holes are too small.
    pub fragmented: i64,
    /// The largest free block.
    pub largest_free: i64,
}

pub(super) fn segments(trace: &Trace, device: &DeviceMemory) -> Vec<Segment> {
    let rows = &trace.allocator_segments;
    let mut places: Map<i64, usize> = Map::default();
    let mut found: Vec<Segment> = Vec::with_capacity(device.segments.len());
    for row in device.segments.iter().map(|&row| row as usize) {
        places.insert(rows.address[row], found.len());
        let stream = rows.stream[row].get().and_then(|stream| trace.streams.get(stream));
        found.push(Segment {
            address: rows.address[row],
            pool: trace.strings.get(rows.kind[row]).into(),
            stream: stream.map(|stream| stream.id),
            expandable: rows.expandable[row],
            bytes: rows.bytes[row],
            ..Segment::default()
        });
    }
    let blocks = &trace.allocator_blocks;
    for row in device.snapshot_blocks.iter().map(|&row| row as usize) {
        let Some(&place) = places.get(&blocks.segment[row]) else { continue };
        let (segment, bytes) = (&mut found[place], blocks.bytes[row]);
        if blocks.state[row] == BlockState::Free {
            segment.free += bytes;
            segment.largest_free = segment.largest_free.max(bytes);
        } else {
            segment.held += bytes;
            segment.blocks += 1;
        }
    }
    found.sort_by_key(|segment| (std::cmp::Reverse(segment.free), segment.address));
    found
}

pub(super) fn pools(trace: &Trace, device: &DeviceMemory) -> Vec<Pool> {
    let mut found: Vec<Pool> = Vec::new();
    for segment in segments(trace, device) {
        let place = found.iter().position(|pool| pool.name == segment.pool).unwrap_or_else(|| {
            found.push(Pool { name: segment.pool.clone(), ..Pool::default() });
            found.len() - 1
        });
        let pool = &mut found[place];
        pool.segments += 1;
        pool.reserved += segment.bytes;
        pool.held += segment.held;
        *(if segment.blocks == 0 { &mut pool.unused } else { &mut pool.fragmented }) += segment.free;
        pool.largest_free = pool.largest_free.max(segment.largest_free);
    }
    found.sort_by_key(|pool| std::cmp::Reverse(pool.reserved));
    found
}
