//! A stream read front to back: one thread inflates, the others parse blocks cut at plausible events, and the
//! caller's thread accepts a block if the one before ends exactly at its border; otherwise it reads the block
//! again after the leftover bytes.

use std::collections::BTreeMap;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use trace::Needs;

use super::document::{DocumentPosition, Span, Stop, is_bare, next_event};
use super::fingerprint::Fingerprint;
use super::mapped::Gathered;
use super::worker::{Piece, Worker};
use crate::bytes::Stream;

/// Bytes of a block.
pub(super) const BLOCK: usize = 4 << 20;

/// Minimum bytes of the first block, to identify the document.
const LEAST_HEAD: usize = 64;

/// Bytes kept before the position where reading continues, for looking back.
const CONTEXT: usize = 64;

/// A part of the document.
struct Block {
    number: usize,
    text: Buffer,
    /// The assumed position at its first byte; `None` if the block before was cut anywhere.
    place: Option<DocumentPosition>,
    /// Whether the document is just a list of events.
    bare: bool,
}

/// Reused memory, so that it is cleared only once.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    len: usize,
}

impl std::ops::Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Buffer {
    /// Holds `text` and up to `more` bytes of the stream; false at the end of the stream.
    fn refill(&mut self, text: &[u8], stream: &mut Stream<'_>, more: usize) -> bool {
        let size = text.len() + more;
        if self.bytes.len() < size {
            self.bytes.resize(size, 0);
        }
        self.bytes[..text.len()].copy_from_slice(text);
        let (count, open) = stream.fill_slice(&mut self.bytes[text.len()..size]);
        self.len = text.len() + count;
        open
    }
}

/// A block that was parsed on an assumption.
struct Parsed {
    block: Block,
    result: Option<(Piece, Stop)>,
}

/// What a stream contained besides its events.
pub(super) struct Read<'n> {
    pub gathered: Gathered<'n>,
    pub fingerprint: Fingerprint,
    /// Why the stream ended early, if it did.
    pub damage: Option<String>,
}

/// Reads a whole stream. The block size changes the speed, never the result.
pub(super) fn read<'n>(stream: Stream<'_>, block: usize, needs: &'n Needs) -> Read<'n> {
    let parsers = rayon::current_num_threads();
    let (to_parse, blocks) = bounded(2);
    let (to_join, parsed) = bounded(2 * parsers);
    let (used, free) = unbounded();
    std::thread::scope(|scope| {
        let inflater = scope.spawn(move || inflate(stream, block, &to_parse, &free));
        let workers: Vec<_> = (0..parsers)
            .map(|number| {
                let (blocks, to_join) = (blocks.clone(), to_join.clone());
                scope.spawn(move || parse(number, &blocks, &to_join, needs))
            })
            .collect();
        drop((blocks, to_join));
        let mut joiner = Joiner::new(parsers, needs);
        let mut early = BTreeMap::new();
        for parsed in parsed {
            early.insert(parsed.block.number, parsed);
            while let Some(next) = early.remove(&joiner.next) {
                // The inflater may have ended already.
                let _ = used.send(joiner.accept(next));
            }
        }
        let mut workers: Vec<_> =
            workers.into_iter().map(|w| w.join().expect("parsers do not panic")).collect();
        let damage = inflater.join().expect("the inflater does not panic");
        let stop = joiner.finish();
        let Joiner { worker, pieces, bare, fingerprint, .. } = joiner;
        workers.push(worker);
        Read { gathered: Gathered { workers, pieces, stop, bare }, fingerprint, damage }
    })
}

/// Cuts the stream into blocks.
fn inflate(
    mut stream: Stream<'_>,
    size: usize,
    to_parse: &Sender<Block>,
    free: &Receiver<Buffer>,
) -> Option<String> {
    let (mut number, mut place, mut bare) = (0, Some(DocumentPosition::Start), false);
    let mut carried: Vec<u8> = Vec::new();
    loop {
        let mut text: Buffer = free.try_recv().unwrap_or_default();
        let more = if number == 0 { size.max(LEAST_HEAD) } else { size };
        let open = text.refill(&carried, &mut stream, more);
        carried.clear();
        if number == 0 {
            bare = is_bare(&text);
        }
        let cut = if open { last_event(&text) } else { None };
        if let Some(cut) = cut {
            carried.extend_from_slice(&text[cut..]);
            text.len = cut;
        }
        if to_parse.send(Block { number, text, place, bare }).is_err() || !open {
            return stream.damage;
        }
        place = cut.map(|_| DocumentPosition::Events);
        number += 1;
    }
}

/// A plausible event near the end of a block.
fn last_event(text: &[u8]) -> Option<usize> {
    [16 << 10, 256 << 10, usize::MAX].iter().find_map(|back| {
        let from = text.len().saturating_sub(*back).max(1);
        next_event(text, from)
    })
}

fn parse<'n>(
    number: usize,
    blocks: &Receiver<Block>,
    to_join: &Sender<Parsed>,
    needs: &'n Needs,
) -> Worker<'n> {
    let mut worker = Worker::new(needs);
    for block in blocks {
        let result = block.place.map(|place| {
            worker.begin();
            let span = Span { text: &block.text, until: usize::MAX, last: false, bare: block.bare };
            let stop = worker.walk(span, Stop { at: 0, place });
            (worker.end(number), stop)
        });
        if to_join.send(Parsed { block, result }).is_err() {
            break;
        }
    }
    worker
}

/// Puts blocks back together.
struct Joiner<'n> {
    worker: Worker<'n>,
    number: usize,
    /// The block that comes next.
    next: usize,
    pieces: Vec<Piece>,
    /// Unconsumed bytes, with some context before them.
    rest: Vec<u8>,
    /// Where in `rest` reading continues.
    stop: Stop,
    /// Bytes of the document up to the end of `rest`.
    total: usize,
    fingerprint: Fingerprint,
    bare: bool,
}

impl<'n> Joiner<'n> {
    fn new(number: usize, needs: &'n Needs) -> Self {
        Self {
            worker: Worker::new(needs),
            number,
            next: 0,
            pieces: Vec::new(),
            rest: Vec::new(),
            stop: Stop { at: 0, place: DocumentPosition::Start },
            total: 0,
            fingerprint: Fingerprint::default(),
            bare: false,
        }
    }

    /// Takes the next block; returns its buffer.
    fn accept(&mut self, parsed: Parsed) -> Buffer {
        let Parsed { block, result } = parsed;
        self.next += 1;
        self.bare = block.bare;
        self.total += block.text.len();
        self.fingerprint.add(&block.text);
        let clean = self.stop.at == self.rest.len() && block.place == Some(self.stop.place);
        match result {
            Some((piece, stop)) if clean => {
                self.pieces.push(piece);
                self.leave(&block.text, stop);
            }
            _ => {
                let mut text = std::mem::take(&mut self.rest);
                text.extend_from_slice(&block.text);
                self.walk(text, false);
            }
        }
        block.text
    }

    fn walk(&mut self, text: Vec<u8>, last: bool) {
        self.worker.begin();
        let span = Span { text: &text, until: usize::MAX, last, bare: self.bare };
        let stop = self.worker.walk(span, self.stop);
        self.pieces.push(self.worker.end(self.number));
        self.leave(&text, stop);
    }

    fn leave(&mut self, text: &[u8], stop: Stop) {
        let kept =
            if stop.place == DocumentPosition::Done { text.len() } else { stop.at.saturating_sub(CONTEXT) };
        self.rest.clear();
        self.rest.extend_from_slice(&text[kept..]);
        self.stop = Stop { at: stop.at.saturating_sub(kept), place: stop.place };
    }

    /// Ends the document; the stop is a position in the whole document.
    fn finish(&mut self) -> Stop {
        let text = std::mem::take(&mut self.rest);
        self.walk(text, true);
        Stop { at: self.total - (self.rest.len() - self.stop.at), place: self.stop.place }
    }
}
