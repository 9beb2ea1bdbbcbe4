//! Symbols that a decoder writes: bytes, or marks for bytes that are not known yet.

/// The destination of a decoder.
pub(crate) trait Output {
    type Cursor: Cursor;

    /// The position to write at, for the inner loop.
    fn cursor(&mut self) -> Self::Cursor;

    /// Takes over the position after the inner loop.
    fn set(&mut self, cursor: &Self::Cursor);

    /// Symbols that can be written before the limit.
    fn room(&self) -> usize;

    /// Adds bytes; there is room for them.
    fn extend(&mut self, bytes: &[u8]);
}

/// Writes symbols without checking each one: callers must check `fits` first.
pub(crate) trait Cursor {
    /// Whether three literals and a match can be written.
    fn fits(&self) -> bool;

    /// How many symbols back a match may reach.
    fn reach(&self) -> usize;

    /// Writes a literal.
    ///
    /// # Safety
    /// `fits` held at most three symbols ago.
    unsafe fn push(&mut self, byte: u8);

    /// Repeats `length` symbols from `distance` back.
    ///
    /// # Safety
    /// `fits` held at most three symbols ago, `1 <= distance <= reach()` and `3 <= length <= 258`.
    unsafe fn repeat(&mut self, distance: usize, length: usize);
}

/// A decoded symbol.
pub(crate) trait Symbol: Copy + Default + 'static {
    /// A byte as a symbol.
    fn of(byte: u8) -> Self;
}

impl Symbol for u8 {
    #[inline(always)]
    fn of(byte: u8) -> Self {
        byte
    }
}

/// Below 256 a byte; from [`MARK`] on a position in the unknown window.
impl Symbol for u16 {
    #[inline(always)]
    fn of(byte: u8) -> Self {
        u16::from(byte)
    }
}

/// The lowest mark.
pub(crate) const MARK: u16 = 0x8000;

/// Symbols beyond the limit that a step may write.
pub(crate) const SLACK: usize = 258 + 64;

/// Bytes copied at a time.
pub(crate) const STEP: usize = 32;

/// Decoded symbols, after the window they may copy from.
#[derive(Default)]
pub(crate) struct Out<T> {
    symbols: Vec<T>,
    /// Symbols of the window.
    begin: usize,
    end: usize,
}

impl<T: Symbol> Out<T> {
    /// Starts over after a window.
    pub fn start(&mut self, window: &[T]) {
        self.begin = window.len();
        self.end = 0;
        self.reserve(0);
        self.end = window.len();
        self.symbols[..window.len()].copy_from_slice(window);
    }

    /// Makes room for this many symbols in total; a step stops at this limit.
    pub fn reserve(&mut self, symbols: usize) {
        let size = self.begin + symbols + SLACK;
        if self.symbols.len() < size {
            // New pages are zero and cost nothing until they are used; growing would clear and move them.
            let mut symbols = vec![T::default(); size];
            symbols[..self.end].copy_from_slice(&self.symbols[..self.end]);
            self.symbols = symbols;
        }
    }

    /// The decoded symbols.
    pub fn decoded(&self) -> &[T] {
        &self.symbols[self.begin..self.end]
    }

    /// Symbols decoded so far.
    pub fn len(&self) -> usize {
        self.end - self.begin
    }

    /// Removes the last decoded symbols.
    pub fn truncate(&mut self, symbols: usize) {
        self.end = self.end.min(self.begin + symbols);
    }

    /// The window and the decoded symbols.
    pub fn history(&self) -> &[T] {
        &self.symbols[..self.end]
    }

    /// Moves the last symbols to the front, as the window for the next step.
    pub fn keep_last(&mut self, symbols: usize) {
        self.symbols.copy_within(self.end - symbols..self.end, 0);
        (self.begin, self.end) = (symbols, symbols);
    }
}

impl<T: Symbol> Output for Out<T> {
    type Cursor = SymbolCursor<T>;

    fn cursor(&mut self) -> SymbolCursor<T> {
        let base = self.symbols.as_mut_ptr();
        SymbolCursor { base, at: self.end, limit: self.symbols.len() - SLACK }
    }

    fn set(&mut self, cursor: &SymbolCursor<T>) {
        self.end = cursor.at;
    }

    fn room(&self) -> usize {
        (self.symbols.len() - SLACK).saturating_sub(self.end)
    }

    fn extend(&mut self, bytes: &[u8]) {
        for (to, &byte) in self.symbols[self.end..].iter_mut().zip(bytes) {
            *to = T::of(byte);
        }
        self.end += bytes.len();
    }
}

/// Where symbols are written.
pub(crate) struct SymbolCursor<T> {
    base: *mut T,
    at: usize,
    limit: usize,
}

impl<T: Symbol> SymbolCursor<T> {
    /// Writes symbols, several at a time.
    ///
    /// # Safety
    /// Below the limit there is room for `count` symbols, and after the last of `from` there are [`STEP`] bytes to read.
    #[inline(always)]
    pub unsafe fn write(&mut self, from: *const T, count: usize) {
        let step = STEP / size_of::<T>();
        let mut done = 0;
        while done < count {
            // SAFETY: as the caller promises; what is written beyond the symbols is within the slack.
            unsafe { self.base.add(self.at + done).copy_from_nonoverlapping(from.add(done), step) };
            done += step;
        }
        self.at += count;
    }
}

impl<T: Symbol> Cursor for SymbolCursor<T> {
    #[inline(always)]
    fn fits(&self) -> bool {
        self.at < self.limit
    }

    #[inline(always)]
    fn reach(&self) -> usize {
        self.at
    }

    #[inline(always)]
    unsafe fn push(&mut self, byte: u8) {
        // SAFETY: the slack behind the limit has room for it.
        unsafe { self.base.add(self.at).write(T::of(byte)) };
        self.at += 1;
    }

    #[inline(always)]
    unsafe fn repeat(&mut self, distance: usize, length: usize) {
        let step = STEP / size_of::<T>();
        // SAFETY: reads begin at or after `base` and end before what is written; writes end less than a step
        // behind the match, which is within the slack. With a distance of a step or more, a step does not overlap.
        unsafe {
            let mut to = self.base.add(self.at);
            let mut from = to.sub(distance).cast_const();
            let end = to.add(length);
            if distance >= step {
                loop {
                    to.copy_from_nonoverlapping(from, step);
                    to = to.add(step);
                    from = from.add(step);
                    if to >= end {
                        break;
                    }
                }
            } else if distance == 1 {
                let symbol = *from;
                while to < end {
                    to.write(symbol);
                    to = to.add(1);
                }
            } else {
                while to < end {
                    to.write(*from);
                    to = to.add(1);
                    from = from.add(1);
                }
            }
        }
        self.at += length;
    }
}
