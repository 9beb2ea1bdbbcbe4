//! Stretches of a member that a worker decoded.

use crate::copy::Out;
use crate::decode::{Decoder, Step};
use crate::find;
use crate::recorded::{Recorded, Recorder};

/// Inflated size that a chunk should have: small enough for memory, and much larger than a block.
pub(crate) const TARGET: usize = 3 << 20;

/// Limit for the symbols of a chunk, which bounds a worker's memory, however well the data are compressed.
pub(crate) const MOST: usize = 16 << 20;

/// Initial capacity of a chunk, in symbols.
const ROOM: usize = 2 * TARGET;

/// Where a chunk ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Before a block, at this bit.
    Block(usize),
    /// After the last block of a member, at this byte.
    Member(usize),
}

/// Result of a worker: recorded symbols while copies may reach before its start, then bytes.
pub(crate) struct Chunk {
    pub start: usize,
    pub end: End,
    pub recorded: Recorded,
    pub plain: Out<u8>,
}

impl Chunk {
    /// Symbols in it.
    pub fn len(&self) -> usize {
        self.recorded.len() + self.plain.len()
    }

    /// Whether it depends on what comes before.
    pub fn is_recorded(&self) -> bool {
        self.recorded.len() > 0
    }
}

/// Reusable buffers to decode into.
#[derive(Default)]
pub(crate) struct Room {
    pub recorded: Recorded,
    pub plain: Out<u8>,
}

/// What a decoder knows about the data before its start.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Before {
    /// Anything may come before.
    Unknown,
    /// A member begins.
    Nothing,
}

/// Decodes chunks, one after another.
pub(crate) struct Chunks {
    decoder: Decoder,
    recorder: Recorder,
}

impl Chunks {
    pub fn new() -> Self {
        Self { decoder: Decoder::new(), recorder: Recorder::default() }
    }

    /// Decodes blocks from `start` to the first place from `until` on (in bits) where [`find::next`] would
    /// find a block, to the end of the member, or until there are many symbols. Returns the room as an error
    /// if the data are damaged or a block is too large.
    pub fn decode(
        &mut self,
        data: &[u8],
        start: usize,
        before: Before,
        until: usize,
        room: Room,
    ) -> Result<Chunk, Room> {
        let Self { decoder, recorder } = self;
        let Room { recorded, mut plain } = room;
        decoder.start(start);
        recorder.start(recorded);
        plain.start(&[]);
        let mut is_plain = before == Before::Nothing;
        let mut end = None;
        let mut kept = 0;
        let mut most = ROOM;
        loop {
            let step = if is_plain {
                plain.reserve(most);
                decoder.step(data, &mut plain)
            } else {
                decoder.step(data, recorder)
            };
            match step {
                Ok(Step::Last) => {
                    end = Some(End::Member(decoder.bit.div_ceil(8)));
                    break;
                }
                Ok(Step::Boundary) => {
                    end = Some(End::Block(decoder.bit));
                    kept = plain.len();
                    let is_over = decoder.bit >= until && find::may_begin(data, decoder.bit);
                    if is_over || recorder.len() + kept >= MOST / 2 {
                        break;
                    }
                    if !is_plain && let Some(window) = recorder.window() {
                        plain.start(&window);
                        is_plain = true;
                    }
                }
                Ok(Step::Full) if !is_plain && recorder.len() < MOST => recorder.make_room(),
                Ok(Step::Full) if is_plain && most < MOST => most *= 2,
                // The part up to the last whole block is checked like any other chunk.
                Ok(Step::Full) if is_plain => {
                    plain.truncate(kept);
                    break;
                }
                Ok(Step::Full) | Err(_) => {
                    end = None;
                    break;
                }
            }
        }
        let recorded = recorder.finish();
        match end {
            Some(end) => Ok(Chunk { start, end, recorded, plain }),
            None => Err(Room { recorded, plain }),
        }
    }
}
