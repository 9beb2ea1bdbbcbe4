//! A caching allocator in the manner of torch's: segments from the driver, split into blocks, merged when freed.

use std::collections::BTreeMap;

/// Sizes are rounded up to this.
const ROUND: i64 = 512;
/// Up to this a block comes from the small pool.
const SMALL: i64 = 1 << 20;
const SMALL_SEGMENT: i64 = 2 << 20;
const MIDDLE_SEGMENT: i64 = 20 << 20;
const LARGE: i64 = 10 << 20;
const ADDRESS: i64 = 0x7f00_0000_0000;

/// A part of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub bytes: i64,
    pub requested: i64,
    pub held: bool,
    /// Which stack allocated it last.
    pub stack: u32,
}

/// Memory from the driver.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub address: i64,
    pub bytes: i64,
    pub is_small: bool,
    /// Blocks by address; together they fill the segment.
    pub blocks: BTreeMap<i64, Block>,
}

/// The result of an allocation.
pub(super) struct Given {
    pub address: i64,
    /// Address and size of a segment that was taken from the driver for it.
    pub segment: Option<(i64, i64)>,
}

/// The allocator of one device.
#[derive(Debug, Default)]
pub(super) struct Allocator {
    pub segments: Vec<Segment>,
    /// Segment of every held block, by address.
    of_block: BTreeMap<i64, usize>,
}

impl Allocator {
    pub fn reserved(&self) -> i64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    pub fn alloc(&mut self, requested: i64, stack: u32) -> Given {
        let bytes = (requested.max(1) + ROUND - 1) / ROUND * ROUND;
        let is_small = bytes <= SMALL;
        let fits = |block: &Block| !block.held && block.bytes >= bytes;
        let mut best: Option<(i64, usize, i64)> = None;
        for (place, segment) in self.segments.iter().enumerate().filter(|(_, s)| s.is_small == is_small) {
            for (&address, block) in segment.blocks.iter().filter(|(_, block)| fits(block)) {
                if best.is_none_or(|(size, _, at)| (block.bytes, address) < (size, at)) {
                    best = Some((block.bytes, place, address));
                }
            }
        }
        let (place, address, new) = match best {
            Some((_, place, address)) => (place, address, None),
            None => {
                let (place, segment) = self.segment(bytes, is_small);
                (place, segment.0, Some(segment))
            }
        };
        let blocks = &mut self.segments[place].blocks;
        let whole = blocks[&address].bytes;
        let split = if is_small { whole - bytes >= ROUND } else { whole - bytes > SMALL };
        let taken = if split { bytes } else { whole };
        blocks.insert(address, Block { bytes: taken, requested, held: true, stack });
        if split {
            let rest = Block { bytes: whole - bytes, requested: 0, held: false, stack };
            blocks.insert(address + bytes, rest);
        }
        self.of_block.insert(address, place);
        Given { address, segment: new }
    }

    fn segment(&mut self, bytes: i64, is_small: bool) -> (usize, (i64, i64)) {
        let size = match (is_small, bytes < LARGE) {
            (true, _) => SMALL_SEGMENT,
            (false, true) => MIDDLE_SEGMENT,
            (false, false) => (bytes + SMALL_SEGMENT - 1) / SMALL_SEGMENT * SMALL_SEGMENT,
        };
        let address = self.segments.last().map_or(ADDRESS, |last| last.address + last.bytes + SMALL_SEGMENT);
        let whole = Block { bytes: size, requested: 0, held: false, stack: 0 };
        let blocks = BTreeMap::from([(address, whole)]);
        self.segments.push(Segment { address, bytes: size, is_small, blocks });
        (self.segments.len() - 1, (address, size))
    }

    /// The size that was requested for the held block at an address.
    pub fn requested(&self, address: i64) -> i64 {
        let place = self.of_block.get(&address);
        let block = place.and_then(|&place| self.segments[place].blocks.get(&address));
        block.map_or(0, |block| block.requested)
    }

    pub fn free(&mut self, address: i64) {
        let Some(place) = self.of_block.remove(&address) else { return };
        let blocks = &mut self.segments[place].blocks;
        let mut start = address;
        let mut bytes = blocks[&address].bytes;
        if let Some((&next, block)) = blocks.range(address + 1..).next()
            && !block.held
        {
            bytes += block.bytes;
            blocks.remove(&next);
        }
        if let Some((&before, block)) = blocks.range(..address).next_back()
            && !block.held
        {
            bytes += block.bytes;
            blocks.remove(&address);
            start = before;
        }
        let stack = blocks.get(&start).map_or(0, |block| block.stack);
        blocks.insert(start, Block { bytes, requested: 0, held: false, stack });
    }
}
