//! Decodes deflate blocks. It can stop in the middle of a block, so that no block needs memory of its size.

use crate::Damage;
use crate::bits::Bits;
use crate::copy::{Cursor, Output};
use crate::huffman::{
    DISTANCE_BITS, END, FIXED, INVALID, LITERAL, LITERAL_BITS, LONGER, SPECIAL, Table, Use,
};

/// Why a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A block ended, and another follows.
    Boundary,
    /// The last block ended.
    Last,
    /// There is no room for more.
    Full,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Boundary,
    Stored { left: usize },
    Coded { fixed: bool },
}

/// A decoder at a position in a deflate stream.
pub(crate) struct Decoder {
    /// The position of the next bit in the data.
    pub bit: usize,
    state: State,
    last: bool,
    literals: Table,
    distances: Table,
}

impl Decoder {
    /// A decoder that has not started.
    pub fn new() -> Self {
        let (literals, distances) = (Table::default(), Table::default());
        Self { bit: 0, state: State::Boundary, last: false, literals, distances }
    }

    /// Moves to the beginning of a block.
    pub fn start(&mut self, bit: usize) {
        self.bit = bit;
        self.state = State::Boundary;
        self.last = false;
    }

    /// Continues until a block ends or there is no room. After damage, everything decoded before it is kept.
    pub fn step(&mut self, data: &[u8], out: &mut impl Output) -> Result<Step, Damage> {
        if self.state == State::Boundary {
            self.open(data)?;
        }
        let ended = match self.state {
            State::Stored { left } => self.stored(data, left, out)?,
            State::Coded { fixed } => {
                let (literals, distances) = match fixed {
                    true => (&FIXED.0, &FIXED.1),
                    false => (&self.literals, &self.distances),
                };
                let mut bits = Bits::at(data, self.bit);
                let mut to = out.cursor();
                let ended = coded_here(&mut bits, literals, distances, &mut to);
                out.set(&to);
                self.bit = bits.position();
                ended?
            }
            State::Boundary => true,
        };
        if !ended {
            return Ok(Step::Full);
        }
        self.state = State::Boundary;
        Ok(if self.last { Step::Last } else { Step::Boundary })
    }

    /// Reads the header of a block.
    fn open(&mut self, data: &[u8]) -> Result<(), Damage> {
        let mut bits = Bits::at(data, self.bit);
        self.last = bits.take(1).ok_or(Damage::Cut)? == 1;
        // Like zlib: without all three bits there is no block.
        match bits.take(2).ok_or(Damage::Cut)? {
            0 => {
                let aligned = bits.position().div_ceil(8);
                let head = data.get(aligned..aligned + 4).ok_or(Damage::Cut)?;
                let length = u16::from_le_bytes([head[0], head[1]]);
                if length != !u16::from_le_bytes([head[2], head[3]]) {
                    return Err(Damage::Wrong);
                }
                self.bit = (aligned + 4) * 8;
                self.state = State::Stored { left: usize::from(length) };
                return Ok(());
            }
            1 => self.state = State::Coded { fixed: true },
            2 => {
                dynamic(&mut bits, &mut self.literals, &mut self.distances)?;
                self.state = State::Coded { fixed: false };
            }
            _ => return Err(Damage::Wrong),
        }
        self.bit = bits.position();
        Ok(())
    }

    fn stored(&mut self, data: &[u8], left: usize, out: &mut impl Output) -> Result<bool, Damage> {
        let from = self.bit / 8;
        let there = left.min(data.len() - from);
        let count = there.min(out.room());
        out.extend(&data[from..from + count]);
        self.bit += count * 8;
        self.state = State::Stored { left: left - count };
        if count == there && there < left { Err(Damage::Cut) } else { Ok(count == left) }
    }
}

/// Order in which the code lengths of the length code are stored.
pub(crate) const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// Index bits of the table for the length code.
const LENGTH_BITS: u32 = 7;

/// Reads the codes of a block.
pub(crate) fn dynamic(
    bits: &mut Bits<'_>,
    literals: &mut Table,
    distances: &mut Table,
) -> Result<(), Damage> {
    let head = bits.take(14).ok_or(Damage::Cut)?;
    let literal_count = (head & 31) as usize + 257;
    let distance_count = (head >> 5 & 31) as usize + 1;
    if literal_count > 286 || distance_count > 30 {
        return Err(Damage::Wrong);
    }
    let mut lengths = [0u8; 19];
    for &place in &ORDER[..(head >> 10) as usize + 4] {
        lengths[place] = bits.take(3).ok_or(Damage::Cut)? as u8;
    }
    // The table of distances is built last, so its memory can hold this code first.
    if !distances.build(&lengths, LENGTH_BITS, Use::Lengths) {
        return Err(Damage::Wrong);
    }
    let total = literal_count + distance_count;
    let mut lengths = [0u8; 286 + 30];
    let mut have = 0;
    while have < total {
        bits.fill();
        let entry = distances.entries[(bits.peek() & ((1 << LENGTH_BITS) - 1)) as usize];
        let size = entry & 0xff;
        if size > bits.count() {
            return Err(Damage::Cut);
        }
        let symbol = entry >> 16;
        let (extra, least) = match symbol {
            0..16 => {
                bits.drop(size);
                lengths[have] = symbol as u8;
                have += 1;
                continue;
            }
            16 => (2, 3),
            17 => (3, 3),
            _ => (7, 11),
        };
        if size + extra > bits.count() {
            return Err(Damage::Cut);
        }
        bits.drop(size);
        let times = bits.take(extra).ok_or(Damage::Cut)? as usize + least;
        let length = match symbol {
            16 if have == 0 => return Err(Damage::Wrong),
            16 => lengths[have - 1],
            _ => 0,
        };
        if have + times > total {
            return Err(Damage::Wrong);
        }
        lengths[have..have + times].fill(length);
        have += times;
    }
    // A block must be able to end.
    let valid = lengths[256] > 0
        && literals.build(&lengths[..literal_count], LITERAL_BITS, Use::Literals)
        && distances.build(&lengths[literal_count..total], DISTANCE_BITS, Use::Distances);
    if valid { Ok(()) } else { Err(Damage::Wrong) }
}

/// [`coded`], using the processor's features.
fn coded_here(
    bits: &mut Bits<'_>,
    literals: &Table,
    distances: &Table,
    to: &mut impl Cursor,
) -> Result<bool, Damage> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
        // SAFETY: the processor has both.
        return unsafe { coded_avx2(bits, literals, distances, to) };
    }
    coded(bits, literals, distances, to)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi2")]
fn coded_avx2(
    bits: &mut Bits<'_>,
    literals: &Table,
    distances: &Table,
    to: &mut impl Cursor,
) -> Result<bool, Damage> {
    coded(bits, literals, distances, to)
}

/// Decodes symbols until the block ends (true) or there is no room (false).
#[inline(always)]
fn coded(
    bits: &mut Bits<'_>,
    literals: &Table,
    distances: &Table,
    to: &mut impl Cursor,
) -> Result<bool, Damage> {
    const LITERAL_MASK: u64 = (1 << LITERAL_BITS) - 1;
    const DISTANCE_MASK: u64 = (1 << DISTANCE_BITS) - 1;
    let (short, long) = (literals.entries.as_slice(), distances.entries.as_slice());
    assert!(short.len() > LITERAL_MASK as usize && long.len() > DISTANCE_MASK as usize);
    // SAFETY: for all blocks here: masks keep lookups in the first tables, whose entries point to whole
    // second tables; `plenty` allows two fills; `fits` allows three literals and a match; distances are
    // checked.
    let literal_at = |held: u64| unsafe { *short.get_unchecked((held & LITERAL_MASK) as usize) };
    let longer_in = |table: &[u32], entry: u32, held: u64| unsafe {
        let choose = held & ((1 << (entry >> 8 & 31)) - 1);
        *table.get_unchecked((entry >> 16) as usize + choose as usize)
    };
    while bits.plenty() && to.fits() {
        unsafe { bits.fill_fast() };
        let mut entry = literal_at(bits.peek());
        if entry & LITERAL != 0 {
            bits.drop(entry & 0xff);
            unsafe { to.push((entry >> 16) as u8) };
            entry = literal_at(bits.peek());
            if entry & LITERAL != 0 {
                bits.drop(entry & 0xff);
                unsafe { to.push((entry >> 16) as u8) };
                entry = literal_at(bits.peek());
                if entry & LITERAL != 0 {
                    bits.drop(entry & 0xff);
                    unsafe { to.push((entry >> 16) as u8) };
                    continue;
                }
            }
        }
        if entry & SPECIAL != 0 {
            if entry & LONGER != 0 {
                bits.drop(LITERAL_BITS);
                entry = longer_in(short, entry, bits.peek());
                if entry & LITERAL != 0 {
                    bits.drop(entry & 0xff);
                    unsafe { to.push((entry >> 16) as u8) };
                    continue;
                }
            }
            if entry & END != 0 {
                bits.drop(entry & 0xff);
                return Ok(true);
            }
            if entry & INVALID != 0 {
                return Err(Damage::Wrong);
            }
        }
        let length = value(entry, bits.peek());
        bits.drop(entry & 0xff);
        unsafe { bits.fill_fast() };
        let mut entry = unsafe { *long.get_unchecked((bits.peek() & DISTANCE_MASK) as usize) };
        if entry & SPECIAL != 0 {
            if entry & LONGER != 0 {
                bits.drop(DISTANCE_BITS);
                entry = longer_in(long, entry, bits.peek());
            }
            if entry & INVALID != 0 {
                return Err(Damage::Wrong);
            }
        }
        let distance = value(entry, bits.peek());
        bits.drop(entry & 0xff);
        if distance > to.reach() {
            return Err(Damage::Wrong);
        }
        unsafe { to.repeat(distance, length) };
    }
    while to.fits() {
        if let Some(ended) = careful(bits, short, long, to)? {
            return Ok(ended);
        }
    }
    Ok(false)
}

/// Base and extra bits of a length or distance.
#[inline(always)]
fn value(entry: u32, held: u64) -> usize {
    (entry >> 16) as usize + ((held & ((1 << (entry & 0xff)) - 1)) >> (entry >> 8 & 31)) as usize
}

/// Decodes one symbol near the end of the data.
fn careful(
    bits: &mut Bits<'_>,
    literals: &[u32],
    distances: &[u32],
    to: &mut impl Cursor,
) -> Result<Option<bool>, Damage> {
    let entry = lookup(bits, literals, LITERAL_BITS)?;
    if entry & LITERAL != 0 {
        // SAFETY: the caller checked `fits`.
        unsafe { to.push((entry >> 16) as u8) };
        return Ok(None);
    }
    if entry & END != 0 {
        return Ok(Some(true));
    }
    let length = (entry >> 16) as usize + extra(bits, entry)?;
    let entry = lookup(bits, distances, DISTANCE_BITS)?;
    let distance = (entry >> 16) as usize + extra(bits, entry)?;
    if distance > to.reach() {
        return Err(Damage::Wrong);
    }
    // SAFETY: the caller checked `fits`, and the distance is within the written symbols.
    unsafe { to.repeat(distance, length) };
    Ok(None)
}

/// Finds the entry of the next code word and skips the word, but not its extra bits.
fn lookup(bits: &mut Bits<'_>, table: &[u32], first: u32) -> Result<u32, Damage> {
    bits.fill();
    let mut entry = table[(bits.peek() & ((1 << first) - 1)) as usize];
    if entry & LONGER != 0 {
        if bits.count() <= first {
            return Err(Damage::Cut);
        }
        let choose = bits.peek() >> first & ((1 << (entry >> 8 & 31)) - 1);
        entry = table[(entry >> 16) as usize + choose as usize];
        if (entry >> 8 & 31) + first > bits.count() {
            return Err(Damage::Cut);
        }
        bits.drop(first);
    }
    let size = entry >> 8 & 31;
    if size > bits.count() {
        return Err(Damage::Cut);
    }
    if entry & INVALID != 0 {
        return Err(Damage::Wrong);
    }
    bits.drop(size);
    Ok(entry)
}

fn extra(bits: &mut Bits<'_>, entry: u32) -> Result<usize, Damage> {
    let count = (entry & 0xff) - (entry >> 8 & 31);
    Ok(bits.take(count).ok_or(Damage::Cut)? as usize)
}
