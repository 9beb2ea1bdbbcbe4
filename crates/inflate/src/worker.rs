//! Worker threads: find and decode chunks, and turn them into bytes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crossbeam_channel::{Receiver, Sender, select};
use flate2::Crc;

use crate::chunk::{Before, Chunk, Chunks, End, Room};
use crate::copy::Out;
use crate::huffman::Table;
use crate::recorded::Recorded;
use crate::window::Window;
use crate::{Input, find, header};

/// Bytes of the file that one worker searches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub number: usize,
    pub from: usize,
    pub until: usize,
    pub start: Start,
}

/// Where the first chunk of a range begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start {
    /// At this bit, the first of a member.
    Known(usize),
    /// At a block that must be guessed.
    Block,
    /// At a BGZF member.
    Bgzf,
}

/// A chunk whose window is known.
pub(crate) struct Placed {
    pub number: usize,
    pub chunk: Chunk,
    pub before: Window,
}

/// Bytes in file order, and their checksum.
pub(crate) struct Bytes {
    pub played: Out<u8>,
    pub plain: Out<u8>,
    pub sum: Crc,
}

/// Result of a worker.
pub(crate) enum Done {
    Found { number: usize, chunks: Vec<Chunk> },
    Played { number: usize, bytes: Bytes },
}

/// How many buffers of a kind are kept for reuse.
const MOST_FREE: usize = 64;

/// Buffers that circulate between workers and the reader.
#[derive(Default)]
pub(crate) struct Pool {
    recorded: Mutex<Vec<Recorded>>,
    /// Separate, since most chunks need only one of them.
    played: Mutex<Vec<Out<u8>>>,
    plain: Mutex<Vec<Out<u8>>>,
}

fn pop<T: Default>(from: &Mutex<Vec<T>>) -> T {
    from.lock().ok().and_then(|mut free| free.pop()).unwrap_or_default()
}

fn push<T>(to: &Mutex<Vec<T>>, buffer: T) {
    if let Ok(mut free) = to.lock()
        && free.len() < MOST_FREE
    {
        free.push(buffer);
    }
}

impl Pool {
    fn room(&self) -> Room {
        Room { recorded: pop(&self.recorded), plain: pop(&self.plain) }
    }

    fn give_room(&self, room: Room) {
        push(&self.recorded, room.recorded);
        push(&self.plain, room.plain);
    }

    /// Buffers for bytes that need no worker.
    pub fn bytes(&self) -> (Out<u8>, Out<u8>) {
        (pop(&self.played), pop(&self.plain))
    }

    /// Takes back the buffers of a rejected chunk.
    pub fn give_chunk(&self, chunk: Chunk) {
        self.give_room(Room { recorded: chunk.recorded, plain: chunk.plain });
    }

    /// Takes back the buffers of bytes that were read.
    pub fn give_bytes(&self, bytes: Bytes) {
        push(&self.played, bytes.played);
        push(&self.plain, bytes.plain);
    }
}

/// State shared by a worker and the reader.
pub(crate) struct Worker {
    pub input: Input,
    pub ranges: Receiver<Range>,
    pub placed: Receiver<Placed>,
    pub done: Sender<Done>,
    pub pool: Arc<Pool>,
    pub stop: Arc<AtomicBool>,
}

impl Worker {
    /// Works until the reader is dropped.
    pub fn run(self) {
        let mut decoder = Chunks::new();
        let mut tables = <(Table, Table)>::default();
        loop {
            // Chunks that the reader waits for come first.
            let done = if let Ok(placed) = self.placed.try_recv() {
                self.play(placed)
            } else {
                select! {
                    recv(self.placed) -> placed => match placed {
                        Ok(placed) => self.play(placed),
                        Err(_) => return,
                    },
                    recv(self.ranges) -> range => match range {
                        Ok(range) => self.find(range, &mut decoder, &mut tables),
                        Err(_) => return,
                    },
                }
            };
            if self.stop.load(Ordering::Relaxed) || self.done.send(done).is_err() {
                return;
            }
        }
    }

    fn play(&self, placed: Placed) -> Done {
        let Placed { number, chunk, before } = placed;
        let mut played = pop(&self.pool.played);
        match chunk.is_recorded() {
            true => chunk.recorded.play(&before, &mut played),
            false => played.start(&[]),
        }
        push(&self.pool.recorded, chunk.recorded);
        let mut sum = Crc::new();
        sum.update(played.decoded());
        sum.update(chunk.plain.decoded());
        Done::Played { number, bytes: Bytes { played, plain: chunk.plain, sum } }
    }

    fn find(&self, range: Range, decoder: &mut Chunks, tables: &mut (Table, Table)) -> Done {
        let data = self.input.as_ref().as_ref();
        let until = range.until * 8;
        let mut chunks = Vec::new();
        let decode_at = |start, before, decoder: &mut Chunks| {
            decoder
                .decode(data, start, before, until, self.pool.room())
                .map_err(|room| self.pool.give_room(room))
        };
        match range.start {
            Start::Known(bit) => chunks.extend(decode_at(bit, Before::Nothing, decoder)),
            Start::Block => {
                let mut from = range.from * 8;
                while let Some(bit) = find::next(data, from, until, tables) {
                    if let Ok(chunk) = decode_at(bit, Before::Unknown, decoder) {
                        chunks.push(chunk);
                        break;
                    }
                    if self.stop.load(Ordering::Relaxed) {
                        break;
                    }
                    from = bit + 1;
                }
            }
            Start::Bgzf => {
                let mut from = range.from;
                while let Some(at) = header::next_bgzf(data, from, range.until) {
                    if let Ok((body, _)) = header::body(data, at)
                        && let Ok(chunk) = decode_at(body * 8, Before::Nothing, decoder)
                    {
                        chunks.push(chunk);
                        break;
                    }
                    from = at + 1;
                }
            }
        }
        // Members that begin in this range, one after another.
        while let Some(End::Member(end)) = chunks.last().map(|chunk| chunk.end) {
            let next = end + header::TRAILER;
            if next >= range.until || next >= data.len() {
                break;
            }
            let Ok((body, _)) = header::body(data, next) else { break };
            let Ok(chunk) = decode_at(body * 8, Before::Nothing, decoder) else { break };
            chunks.push(chunk);
        }
        Done::Found { number: range.number, chunks }
    }
}
