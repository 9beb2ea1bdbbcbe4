//! Puts the chunks of workers in order, and decodes the parts that no worker got right.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, unbounded};
use flate2::Crc;

use crate::chunk::{Chunk, End, TARGET};
use crate::copy::{Out, Output};
use crate::decode::{Decoder, Step};
use crate::window::{Window, window_behind};
use crate::worker::{Bytes, Done, Placed, Pool, Range, Start, Worker};
use crate::{Damage, Input, WINDOW, find, header};

/// Minimum and maximum compressed bytes of a range.
const RANGE: RangeInclusive<usize> = 64 << 10..=1 << 20;

/// Bytes that are decoded in order before they are passed on.
const PIECE: usize = 1 << 20;

/// Guessing stops after this many ranges in a row without a chunk: the blocks have no codes of their own.
const MOST_MISSES: usize = 16;

/// Inflates all members of a gzip file with several threads. Returns the same bytes and errors as
/// [`crate::Sequential`].
pub struct Parallel {
    input: Input,
    ranges: Option<Sender<Range>>,
    placed: Option<Sender<Placed>>,
    done: Receiver<Done>,
    workers: Vec<JoinHandle<()>>,
    pool: Arc<Pool>,
    stop: Arc<AtomicBool>,
    sizes: RangeInclusive<usize>,
    /// Ranges from the current one on, and what was found in them.
    ahead: VecDeque<Ahead>,
    next_range: usize,
    next_from: usize,
    bgzf: bool,
    misses: usize,
    place: ReadPosition,
    window: Window,
    decoder: Decoder,
    gap: Out<u8>,
    queue: VecDeque<Item>,
    /// The number of the first item of the queue.
    first: usize,
    queued: usize,
    sum: Crc,
    current: Option<(Bytes, usize)>,
    /// Compressed and inflated bytes put in order so far.
    passed: (usize, usize),
}

/// A range given to a worker.
struct Ahead {
    range: Range,
    /// `None` while the worker is working on it.
    found: Option<Vec<Chunk>>,
    hit: bool,
}

/// Position of the in-order reader.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ReadPosition {
    /// At the header of a member, at this byte.
    Head(usize),
    /// Before a block, at this bit.
    Block(usize),
    /// At the decoder: no chunk begins here.
    Gap,
    /// Everything is in the queue.
    End,
}

enum Item {
    /// A chunk that a worker is turning into bytes.
    Pending {
        length: usize,
    },
    Ready {
        bytes: Bytes,
        length: usize,
    },
    /// Checksum and length as stored after a member.
    Trailer([u8; header::TRAILER]),
    Damaged(io::Error),
}

impl Parallel {
    /// Starts `threads` workers on a file.
    pub fn new(input: Input, threads: usize) -> Self {
        Self::with_ranges(input, threads, RANGE)
    }

    /// Starts workers that search this many compressed bytes each. This changes the speed, never the result.
    pub fn with_ranges(input: Input, threads: usize, sizes: RangeInclusive<usize>) -> Self {
        let (ranges, to_find) = unbounded();
        let (placed, to_play) = unbounded();
        let (to_reader, done) = unbounded();
        let pool = Arc::new(Pool::default());
        let stop = Arc::new(AtomicBool::new(false));
        let workers = (0..threads.max(1))
            .map(|_| {
                let worker = Worker {
                    input: input.clone(),
                    ranges: to_find.clone(),
                    placed: to_play.clone(),
                    done: to_reader.clone(),
                    pool: pool.clone(),
                    stop: stop.clone(),
                };
                std::thread::spawn(move || worker.run())
            })
            .collect();
        Self {
            input,
            ranges: Some(ranges),
            placed: Some(placed),
            done,
            workers,
            pool,
            stop,
            sizes,
            ahead: VecDeque::new(),
            next_range: 0,
            next_from: 0,
            bgzf: false,
            misses: 0,
            place: ReadPosition::Head(0),
            window: Window::new(),
            decoder: Decoder::new(),
            gap: Out::default(),
            queue: VecDeque::new(),
            first: 0,
            queued: 0,
            sum: Crc::new(),
            current: None,
            passed: (0, 0),
        }
    }

    /// Compressed bytes processed so far.
    pub fn position(&self) -> usize {
        self.passed.0
    }

    /// Hands out ranges, as far as workers may run ahead.
    fn send_ranges(&mut self) {
        let length = self.input.as_ref().as_ref().len();
        while self.ahead.len() < 2 * self.workers.len()
            && self.next_from < length
            && self.misses < MOST_MISSES
            && self.place != ReadPosition::End
        {
            let start = match (self.next_range, self.place) {
                (0, ReadPosition::Block(bit)) => Start::Known(bit),
                _ if self.bgzf => Start::Bgzf,
                _ => Start::Block,
            };
            let ratio = self.passed.1.checked_div(self.passed.0).unwrap_or(16);
            let size = (TARGET / ratio.max(1)).clamp(*self.sizes.start(), *self.sizes.end());
            let until = length.min(self.next_from + size);
            let range = Range { number: self.next_range, from: self.next_from, until, start };
            if let Some(ranges) = &self.ranges {
                // A worker ends only after this.
                let _ = ranges.send(range);
            }
            self.ahead.push_back(Ahead { range, found: None, hit: false });
            self.next_range += 1;
            self.next_from = until;
        }
    }

    fn take(&mut self, done: Done) {
        match done {
            Done::Found { number, chunks } => {
                match self.ahead.iter_mut().find(|ahead| ahead.range.number == number) {
                    Some(ahead) => ahead.found = Some(chunks),
                    // The in-order reader has already passed it.
                    None => chunks.into_iter().for_each(|chunk| self.pool.give_chunk(chunk)),
                }
            }
            Done::Played { number, bytes } => {
                // After damage the queue is empty.
                let item = number.checked_sub(self.first).and_then(|at| self.queue.get_mut(at));
                if let Some(item) = item
                    && let Item::Pending { length } = *item
                {
                    *item = Item::Ready { bytes, length };
                }
            }
        }
    }

    /// Continues in order; false if that must wait for a worker, or the queue is full.
    fn go_on(&mut self) -> bool {
        if self.queued >= (self.workers.len() + 1) * TARGET {
            return false;
        }
        match self.place {
            ReadPosition::Head(byte) => self.head(byte),
            ReadPosition::Block(bit) => {
                self.pass_ranges(bit);
                self.send_ranges();
                match self.ahead.front_mut() {
                    Some(ahead) if ahead.found.is_none() => return false,
                    Some(ahead) => {
                        let whole = self.window.len() == WINDOW;
                        let found = ahead.found.get_or_insert_default();
                        let right = |chunk: &Chunk| chunk.start == bit && (whole || !chunk.is_recorded());
                        match found.iter().position(right) {
                            Some(at) => {
                                ahead.hit = true;
                                let chunk = found.swap_remove(at);
                                self.accept(chunk);
                            }
                            None => self.start_gap(bit),
                        }
                    }
                    None => self.start_gap(bit),
                }
            }
            ReadPosition::Gap => self.fill_gap(),
            ReadPosition::End => return false,
        }
        true
    }

    fn head(&mut self, byte: usize) {
        match header::body(self.input.as_ref().as_ref(), byte) {
            Ok((body, bgzf)) => {
                self.bgzf = bgzf;
                self.window.clear();
                self.place = ReadPosition::Block(body * 8);
            }
            Err(error) => self.fail(error),
        }
    }

    fn fail(&mut self, error: io::Error) {
        self.queue.push_back(Item::Damaged(error));
        self.place = ReadPosition::End;
    }

    /// Drops ranges that end before this bit.
    fn pass_ranges(&mut self, bit: usize) {
        while self.ahead.front().is_some_and(|ahead| ahead.range.until * 8 <= bit) {
            let Some(ahead) = self.ahead.pop_front() else { break };
            self.misses = if ahead.hit { 0 } else { self.misses + 1 };
            ahead.found.into_iter().flatten().for_each(|chunk| self.pool.give_chunk(chunk));
        }
        if self.ahead.is_empty() {
            self.next_from = self.next_from.max(bit / 8);
        }
    }

    fn accept(&mut self, chunk: Chunk) {
        let (end, length) = (chunk.end, chunk.len());
        let behind = window_behind(&chunk, &self.window);
        let before = std::mem::replace(&mut self.window, behind);
        let number = self.first + self.queue.len();
        self.queue.push_back(Item::Pending { length });
        self.queued += length;
        if let Some(placed) = &self.placed {
            // A worker ends only after this.
            let _ = placed.send(Placed { number, chunk, before });
        }
        match end {
            End::Block(bit) => {
                self.passed = (bit / 8, self.passed.1 + length);
                self.place = ReadPosition::Block(bit);
            }
            End::Member(byte) => {
                self.passed = (byte, self.passed.1 + length);
                self.trailer(byte);
            }
        }
    }

    fn trailer(&mut self, byte: usize) {
        let data = self.input.as_ref().as_ref();
        let end = byte + header::TRAILER;
        match data.get(byte..end).and_then(|stored| stored.try_into().ok()) {
            Some(stored) => {
                self.passed.0 = end;
                self.place = if end == data.len() { ReadPosition::End } else { ReadPosition::Head(end) };
                self.queue.push_back(Item::Trailer(stored));
            }
            None => self.fail(Damage::Cut.into()),
        }
    }

    fn start_gap(&mut self, bit: usize) {
        self.decoder.start(bit);
        self.place = ReadPosition::Gap;
    }

    /// Decodes in order up to where a worker may have started, or for one piece.
    fn fill_gap(&mut self) {
        let input = self.input.clone();
        let data = input.as_ref().as_ref();
        self.gap.start(&self.window);
        self.gap.reserve(PIECE);
        let step = loop {
            let step = self.decoder.step(data, &mut self.gap);
            if step != Ok(Step::Boundary) || self.may_join(data) {
                break step;
            }
        };
        let history = self.gap.history();
        self.window = history[history.len().saturating_sub(WINDOW)..].to_vec();
        let (mut played, mut plain) = self.pool.bytes();
        let decoded = self.gap.decoded();
        let length = decoded.len();
        played.start(&[]);
        played.reserve(length);
        played.extend(decoded);
        plain.start(&[]);
        let mut sum = Crc::new();
        sum.update(decoded);
        self.queued += length;
        self.passed = (self.decoder.bit / 8, self.passed.1 + length);
        self.queue.push_back(Item::Ready { bytes: Bytes { played, plain, sum }, length });
        match step {
            Ok(Step::Boundary) => self.place = ReadPosition::Block(self.decoder.bit),
            Ok(Step::Last) => self.trailer(self.decoder.bit.div_ceil(8)),
            Ok(Step::Full) => {}
            Err(damage) => self.fail(damage.into()),
        }
    }

    /// Whether a worker has, or may have, a chunk that begins at the decoder's position.
    fn may_join(&mut self, data: &[u8]) -> bool {
        let bit = self.decoder.bit;
        self.pass_ranges(bit);
        match self.ahead.front().map(|ahead| &ahead.found) {
            Some(Some(chunks)) => chunks.iter().any(|chunk| chunk.start == bit),
            Some(None) => find::may_begin(data, bit),
            None => false,
        }
    }

    /// Takes the next item, if it is ready.
    fn next(&mut self) -> Option<io::Result<()>> {
        if matches!(self.queue.front()?, Item::Pending { .. }) {
            return None;
        }
        self.first += 1;
        match self.queue.pop_front()? {
            Item::Ready { bytes, length } => {
                self.queued -= length;
                self.sum.combine(&bytes.sum);
                self.current = Some((bytes, 0));
            }
            Item::Trailer(stored) => {
                let here = [self.sum.sum().to_le_bytes(), self.sum.amount().to_le_bytes()];
                self.sum.reset();
                if stored != here.concat()[..] {
                    self.end();
                    return Some(Err(Damage::Wrong.into()));
                }
            }
            Item::Damaged(error) => {
                self.end();
                return Some(Err(error));
            }
            Item::Pending { .. } => {}
        }
        Some(Ok(()))
    }

    /// Stops reading.
    fn end(&mut self) {
        self.queue.clear();
        self.place = ReadPosition::End;
        self.ahead.clear();
        self.stop.store(true, Ordering::Relaxed);
        self.ranges = None;
        self.placed = None;
    }
}

impl Read for Parallel {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some((bytes, at)) = &mut self.current {
                let played = bytes.played.decoded();
                let from = match played.get(*at..) {
                    Some(rest) if !rest.is_empty() => rest,
                    _ => &bytes.plain.decoded()[*at - played.len()..],
                };
                if !from.is_empty() {
                    let count = from.len().min(into.len());
                    into[..count].copy_from_slice(&from[..count]);
                    *at += count;
                    return Ok(count);
                }
            }
            if let Some((bytes, _)) = self.current.take() {
                self.pool.give_bytes(bytes);
            }
            while let Ok(done) = self.done.try_recv() {
                self.take(done);
            }
            if self.place == ReadPosition::Head(0) {
                self.go_on();
            }
            // Waiting chunks go to the workers before anything is returned; gaps are filled only when needed.
            while self.place != ReadPosition::Gap && self.go_on() {}
            match self.next() {
                Some(next) => next?,
                None if self.place == ReadPosition::Gap && self.go_on() => {}
                None if self.place == ReadPosition::End && self.queue.is_empty() => return Ok(0),
                None => match self.done.recv() {
                    Ok(done) => self.take(done),
                    Err(_) => {
                        return Err(io::Error::other("a decompression thread has stopped unexpectedly"));
                    }
                },
            }
        }
    }
}

impl Drop for Parallel {
    fn drop(&mut self) {
        self.end();
        let (workers, pool) = (std::mem::take(&mut self.workers), std::mem::take(&mut self.pool));
        // Returning buffers to the system takes a while, so a separate thread does it.
        let end = move || {
            // A worker that panicked has already reported it.
            workers.into_iter().for_each(|worker| _ = worker.join());
            drop(pool);
        };
        let _ = std::thread::Builder::new().spawn(end);
    }
}
