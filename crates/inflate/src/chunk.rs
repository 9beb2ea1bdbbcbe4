//! Stretches of a member that a worker decoded.

use crate::WINDOW;
use crate::copy::{MARK, Out};
use crate::decode::{Decoder, Step};
use crate::find;

/// Bytes that a chunk should have when it is inflated: small enough for memory, and much more than a block.
pub(crate) const TARGET: usize = 3 << 20;

/// The most symbols a chunk may hold: what a worker needs at most, however well the data are packed.
pub(crate) const MOST: usize = 16 << 20;

/// Symbols that a chunk has room for at first.
const ROOM: usize = 2 * TARGET;

/// Where a chunk ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Before a block, at this bit.
    Block(usize),
    /// Behind the last block of a member, at this byte.
    Member(usize),
}

/// Decoded symbols: first those with marks, then, once no mark is left to copy, plain bytes.
pub(crate) struct Chunk {
    pub start: usize,
    pub end: End,
    pub marked: Out<u16>,
    pub plain: Out<u8>,
}

impl Chunk {
    /// Symbols in it.
    pub fn len(&self) -> usize {
        self.marked.len() + self.plain.len()
    }

    /// Whether it was decoded without knowing what comes before.
    pub fn is_marked(&self) -> bool {
        self.marked.len() > 0
    }
}

/// Buffers to decode into, used again and again.
#[derive(Default)]
pub(crate) struct Room {
    pub marked: Out<u16>,
    pub plain: Out<u8>,
}

/// What a decoder may know at its start.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Before {
    /// Anything may come before.
    Unknown,
    /// A member begins.
    Nothing,
}

/// Decodes blocks from `start` to the first place from `until` on (in bits) where [`find::next`] would find a
/// block, or to the end of the member. None, and the room back, where the data are damaged or the first
/// block is too large.
pub(crate) fn decode(
    data: &[u8],
    start: usize,
    before: Before,
    until: usize,
    decoder: &mut Decoder,
    mut room: Room,
) -> Result<Chunk, Room> {
    decoder.start(start);
    room.plain.start(&[]);
    match before {
        Before::Unknown => room.marked.start(&MARKS),
        Before::Nothing => room.marked.start(&[]),
    }
    let mut plain = before == Before::Nothing;
    let mut end = None;
    let mut kept = (0, 0);
    let mut most = ROOM;
    loop {
        let step = if plain {
            room.plain.reserve(most);
            decoder.step(data, &mut room.plain)
        } else {
            room.marked.reserve(most);
            decoder.step(data, &mut room.marked)
        };
        match step {
            Ok(Step::Last) => {
                end = Some(End::Member(decoder.bit.div_ceil(8)));
                break;
            }
            Ok(Step::Boundary) => {
                end = Some(End::Block(decoder.bit));
                kept = (room.marked.len(), room.plain.len());
                if decoder.bit >= until && find::may_begin(data, decoder.bit) {
                    break;
                }
                if !plain {
                    let history = room.marked.history();
                    let window = &history[history.len() - WINDOW..];
                    if room.marked.len() >= WINDOW && window.iter().all(|&symbol| symbol < MARK) {
                        let window: Vec<u8> = window.iter().map(|&symbol| symbol as u8).collect();
                        room.plain.start(&window);
                        plain = true;
                    }
                }
            }
            Ok(Step::Full) if most < MOST => most *= 2,
            // What was decoded up to the last whole block is right or not like any other chunk.
            Ok(Step::Full) => {
                room.marked.truncate(kept.0);
                room.plain.truncate(kept.1);
                break;
            }
            Err(_) => return Err(room),
        }
    }
    match end {
        Some(end) => Ok(Chunk { start, end, marked: room.marked, plain: room.plain }),
        None => Err(room),
    }
}

/// A window of which nothing is known.
static MARKS: [u16; WINDOW] = {
    let mut marks = [0; WINDOW];
    let mut at = 0;
    while at < WINDOW {
        marks[at] = MARK + at as u16;
        at += 1;
    }
    marks
};
