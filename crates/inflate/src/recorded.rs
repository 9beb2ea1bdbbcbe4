//! A stretch of a member decoded before its window is known: literals and copies, which become bytes later.
//!
//! Recording them takes a tenth of the memory of their symbols. Only the last symbols are kept, with marks
//! for unknown bytes: later copies refer to them, and they become the window of the next chunk.

use crate::WINDOW;
use crate::chunk::TARGET;
use crate::copy::{Cursor, MARK, Out, Output, SLACK, STEP, SymbolCursor};

/// Symbols between two moves of the window: few enough to stay in the cache, many enough for moves to cost little.
const ROOM: usize = 192 << 10;

/// Literals before a copy that are counted in the copy's word.
const MOST_LITERALS: usize = 255;

/// A word that only counts literals, in all other bits. Otherwise a word is a copy: its distance minus 1 from
/// bit 0, its length minus 3 from bit 15, and the number of literals before it from bit 23.
const LITERALS: u32 = 1 << 31;

/// The literals and copies of a chunk.
#[derive(Default)]
pub(crate) struct Recorded {
    /// Literals one after another, plus [`STEP`] bytes at the end.
    literals: Vec<u8>,
    words: Vec<u32>,
    length: usize,
    /// The last symbols of the window and the record; empty if nothing was recorded.
    tail: Vec<u16>,
}

impl Recorded {
    /// Number of recorded symbols.
    pub fn len(&self) -> usize {
        self.length
    }

    /// The last symbols, as many as a match can reach back; marks are positions in the window before.
    pub fn tail(&self) -> &[u16] {
        &self.tail
    }

    /// Writes the bytes, given the window before the chunk.
    pub fn play(&self, before: &[u8], into: &mut Out<u8>) {
        // Every copy was checked against a window of this size when it was recorded.
        assert!(before.len() == WINDOW || self.length == 0);
        into.start(before);
        // Most chunks are about this size: a buffer that grew each time would get new pages each time.
        into.reserve(self.length.max(2 * TARGET));
        let mut to = into.cursor();
        let mut literal = self.literals.as_ptr();
        for &word in &self.words {
            // SAFETY: all words together represent `length` symbols, for which there is room, and all
            // literals, which are followed by a step of readable bytes. Distances are within the window and
            // the written symbols.
            unsafe {
                if word & LITERALS != 0 {
                    let count = (word & !LITERALS) as usize;
                    to.write(literal, count);
                    literal = literal.add(count);
                    continue;
                }
                let count = (word >> 23) as usize;
                to.write(literal, count);
                literal = literal.add(count);
                to.repeat((word & 0x7fff) as usize + 1, (word >> 15 & 0xff) as usize + 3);
            }
        }
        into.set(&to);
        debug_assert_eq!(into.len(), self.length);
    }
}

/// Records the output of a decoder for a stretch whose window is unknown.
#[derive(Default)]
pub(crate) struct Recorder {
    symbols: Out<u16>,
    /// Symbols that were dropped.
    passed: usize,
    recorded: Recorded,
    /// Literals up to the last word.
    counted: usize,
}

impl Recorder {
    /// Starts over, reusing the buffers of an old record.
    pub fn start(&mut self, buffers: Recorded) {
        self.symbols.start(&MARKS);
        self.symbols.reserve(ROOM);
        self.recorded = buffers;
        self.recorded.literals.clear();
        self.recorded.words.clear();
        (self.passed, self.counted) = (0, 0);
    }

    /// Symbols recorded so far.
    pub fn len(&self) -> usize {
        self.passed + self.symbols.len()
    }

    /// Makes room for more.
    pub fn make_room(&mut self) {
        self.passed += self.symbols.len();
        self.symbols.keep_last(WINDOW);
    }

    /// The bytes that a match can reach back to, once none of them is unknown.
    pub fn window(&self) -> Option<Vec<u8>> {
        let window = self.tail();
        let known = self.len() >= WINDOW && window.iter().all(|&symbol| symbol < MARK);
        known.then(|| window.iter().map(|&symbol| symbol as u8).collect())
    }

    fn tail(&self) -> &[u16] {
        let history = self.symbols.history();
        &history[history.len() - WINDOW..]
    }

    /// What was recorded.
    pub fn finish(&mut self) -> Recorded {
        let mut recorded = std::mem::take(&mut self.recorded);
        recorded.length = self.len();
        let literals = recorded.literals.len() - self.counted;
        if literals > 0 {
            recorded.words.push(LITERALS | literals as u32);
        }
        recorded.literals.extend_from_slice(&[0; STEP]);
        recorded.tail.clear();
        if recorded.length > 0 {
            recorded.tail.extend_from_slice(self.tail());
        }
        recorded
    }
}

impl Output for Recorder {
    type Cursor = RecordCursor;

    fn cursor(&mut self) -> RecordCursor {
        let most = self.symbols.room() + SLACK;
        let Recorded { literals, words, .. } = &mut self.recorded;
        literals.reserve(most);
        // A copy takes at least three symbols and at most two words.
        words.reserve(most);
        // SAFETY: the pointers stay within the vectors.
        unsafe {
            RecordCursor {
                symbols: self.symbols.cursor(),
                literal: literals.as_mut_ptr().add(literals.len()),
                counted: literals.as_mut_ptr().add(self.counted),
                word: words.as_mut_ptr().add(words.len()),
            }
        }
    }

    fn set(&mut self, cursor: &RecordCursor) {
        self.symbols.set(&cursor.symbols);
        let Recorded { literals, words, .. } = &mut self.recorded;
        // SAFETY: the cursor began in these vectors, had room, and wrote everything before its position.
        unsafe {
            self.counted = cursor.counted.offset_from(literals.as_ptr()) as usize;
            literals.set_len(cursor.literal.offset_from(literals.as_ptr()) as usize);
            words.set_len(cursor.word.offset_from(words.as_ptr()) as usize);
        }
    }

    fn room(&self) -> usize {
        self.symbols.room()
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.symbols.extend(bytes);
        self.recorded.literals.extend_from_slice(bytes);
    }
}

/// Position at which a record is written.
pub(crate) struct RecordCursor {
    symbols: SymbolCursor<u16>,
    literal: *mut u8,
    /// The first literal that no word counts yet.
    counted: *mut u8,
    word: *mut u32,
}

impl Cursor for RecordCursor {
    #[inline(always)]
    fn fits(&self) -> bool {
        self.symbols.fits()
    }

    #[inline(always)]
    fn reach(&self) -> usize {
        self.symbols.reach()
    }

    #[inline(always)]
    unsafe fn push(&mut self, byte: u8) {
        // SAFETY: there is room for as many literals as for symbols.
        unsafe {
            self.symbols.push(byte);
            self.literal.write(byte);
            self.literal = self.literal.add(1);
        }
    }

    #[inline(always)]
    unsafe fn repeat(&mut self, distance: usize, length: usize) {
        // SAFETY: there is room for two words instead of three symbols; both pointers are into one vector.
        unsafe {
            self.symbols.repeat(distance, length);
            let mut literals = self.literal.offset_from(self.counted) as usize;
            if literals > MOST_LITERALS {
                self.word.write(LITERALS | literals as u32);
                self.word = self.word.add(1);
                literals = 0;
            }
            self.word.write((literals << 23 | (length - 3) << 15 | (distance - 1)) as u32);
            self.word = self.word.add(1);
        }
        self.counted = self.literal;
    }
}

/// An unknown window.
static MARKS: [u16; WINDOW] = {
    let mut marks = [0; WINDOW];
    let mut at = 0;
    while at < WINDOW {
        marks[at] = MARK + at as u16;
        at += 1;
    }
    marks
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::byte_of;

    fn bytes_of(symbols: &[u16], before: &[u8]) -> Vec<u8> {
        symbols.iter().map(|&symbol| byte_of(symbol, before)).collect()
    }

    #[test]
    fn what_was_recorded_becomes_the_bytes_that_its_symbols_stand_for() {
        let before: Vec<u8> = (0..WINDOW).map(|at| (at * 31 / 8) as u8).collect();
        let mut random = 7u64;
        let mut dice = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize % below
        };
        let (mut recorder, mut symbols) = (Recorder::default(), Out::<u16>::default());
        recorder.start(Recorded::default());
        symbols.start(&MARKS);
        symbols.reserve(4 * ROOM);
        while recorder.len() < 3 * ROOM {
            let (mut to, mut also) = (recorder.cursor(), symbols.cursor());
            while to.fits() {
                // SAFETY: `fits` holds, and distances lie within the window.
                unsafe {
                    // Sometimes more literals than a copy can count.
                    let literals = if dice(500) == 0 { 2 * MOST_LITERALS } else { dice(4) };
                    for _ in 0..literals {
                        let byte = dice(256) as u8;
                        if to.fits() {
                            to.push(byte);
                            also.push(byte);
                        }
                    }
                    if to.fits() {
                        let far = [1, 2, 15, 16, 31, 32, 33, WINDOW][dice(8)];
                        let (distance, length) = (1 + dice(far), 3 + dice(256));
                        to.repeat(distance, length);
                        also.repeat(distance, length);
                    }
                }
            }
            recorder.set(&to);
            symbols.set(&also);
            recorder.make_room();
            recorder.extend(b"stored");
            symbols.extend(b"stored");
        }
        let recorded = recorder.finish();
        let truth = bytes_of(symbols.decoded(), &before);
        let mut played = Out::default();
        recorded.play(&before, &mut played);
        assert!(played.decoded() == truth);
        assert!(bytes_of(recorded.tail(), &before) == truth[truth.len() - WINDOW..]);
    }
}
