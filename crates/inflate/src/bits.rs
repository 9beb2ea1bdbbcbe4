//! Bits of a deflate stream, lowest first.

/// Reads bits from a position in the data. Past the end it returns zeros and counts no bits.
pub(crate) struct Bits<'a> {
    data: &'a [u8],
    /// The next byte to read.
    next: usize,
    held: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    pub fn at(data: &'a [u8], bit: usize) -> Self {
        let mut bits = Self { data, next: bit / 8, held: 0, count: 0 };
        bits.fill();
        let skip = (bit % 8) as u32;
        if bits.count >= skip {
            bits.drop(skip);
        }
        bits
    }

    /// Position of the next bit.
    pub fn position(&self) -> usize {
        self.next * 8 - self.count as usize
    }

    /// Whether at least 16 bytes are left, so that two [`Bits::fill_fast`] are allowed.
    #[inline(always)]
    pub fn plenty(&self) -> bool {
        self.next + 16 <= self.data.len()
    }

    /// Makes at least 56 bits available.
    ///
    /// # Safety
    /// At least 8 bytes are left.
    #[inline(always)]
    pub unsafe fn fill_fast(&mut self) {
        // SAFETY: the caller guarantees 8 readable bytes at `next`.
        let word = unsafe { self.data.as_ptr().add(self.next).cast::<u64>().read_unaligned() };
        self.held |= u64::from_le(word) << self.count;
        self.next += ((63 - self.count) >> 3) as usize;
        self.count |= 56;
    }

    /// Makes at least 56 bits available, or all that are left.
    #[inline]
    pub fn fill(&mut self) {
        if self.next + 8 <= self.data.len() {
            // SAFETY: 8 bytes are left.
            unsafe { self.fill_fast() };
            // Bits above the count belong to unread bytes; the slow path below must not see them.
            if self.next + 8 > self.data.len() {
                self.held &= (1u64 << self.count) - 1;
            }
            return;
        }
        self.held &= (1u64 << self.count) - 1;
        while self.count < 56 && self.next < self.data.len() {
            self.held |= u64::from(self.data[self.next]) << self.count;
            self.next += 1;
            self.count += 8;
        }
    }

    /// Number of available bits.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The available bits; those beyond the count are undefined.
    #[inline(always)]
    pub fn peek(&self) -> u64 {
        self.held
    }

    /// Skips available bits.
    #[inline(always)]
    pub fn drop(&mut self, count: u32) {
        self.held >>= count;
        self.count -= count;
    }

    /// The next bits as a number (at most 32), or `None` if the data end.
    pub fn take(&mut self, count: u32) -> Option<u32> {
        if self.count < count {
            self.fill();
            if self.count < count {
                return None;
            }
        }
        let value = self.held & ((1u64 << count) - 1);
        self.drop(count);
        Some(value as u32)
    }
}
