//! Tables that turn bits into symbols of a Huffman code; codes are valid by zlib's rules.

use std::sync::LazyLock;

/// A literal; its value is in bits 16 and up.
pub(crate) const LITERAL: u32 = 1 << 31;
/// A table for longer codes: it begins at the value, and bits 8 to 12 hold its number of index bits.
pub(crate) const LONGER: u32 = 1 << 13;
/// The end of the block.
pub(crate) const END: u32 = 1 << 14;
/// An unused code.
pub(crate) const INVALID: u32 = 1 << 15;
/// Neither a literal nor a length.
pub(crate) const SPECIAL: u32 = LONGER | END | INVALID;

/// Index bits of the first table of literals and lengths.
pub(crate) const LITERAL_BITS: u32 = 11;
/// Index bits of the first table of distances.
pub(crate) const DISTANCE_BITS: u32 = 9;

const MOST: usize = 15;

/// Entries: value in bits 16 and up, length of the code from bit 8, length of code and extra bits from bit 0.
#[derive(Clone, Default)]
pub(crate) struct Table {
    pub entries: Vec<u32>,
}

/// What a code is for; incomplete codes are allowed only with one code word of one bit, or none.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Use {
    Lengths,
    Literals,
    Distances,
}

impl Table {
    /// Builds the table of a code from the lengths of its words; false if they are not a valid code.
    pub fn build(&mut self, lengths: &[u8], first: u32, what: Use) -> bool {
        let mut count = [0u16; MOST + 1];
        lengths.iter().for_each(|&length| count[usize::from(length)] += 1);
        count[0] = 0;
        let longest = (1..=MOST).rev().find(|&length| count[length] > 0).unwrap_or(0);
        let mut left = 1i32;
        for &words in &count[1..] {
            left = left * 2 - i32::from(words);
            if left < 0 {
                return false;
            }
        }
        if left > 0 && longest > 0 && (what == Use::Lengths || longest != 1) {
            return false;
        }
        self.entries.clear();
        self.entries.resize(1 << first, INVALID | 1 << 8 | 1);
        let mut offsets = [0u16; MOST + 2];
        for length in 1..=MOST {
            offsets[length + 1] = offsets[length] + count[length];
        }
        let mut sorted = [0u16; 288];
        for (symbol, &length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
            sorted[usize::from(offsets[usize::from(length)])] = symbol as u16;
            offsets[usize::from(length)] += 1;
        }
        let symbols = usize::from(offsets[MOST]);
        self.fill(&sorted[..symbols], lengths, first, what, &mut count);
        true
    }

    fn fill(&mut self, sorted: &[u16], lengths: &[u8], first: u32, what: Use, left: &mut [u16; MOST + 1]) {
        let mut code = 0u32;
        let mut before = 0u32;
        let mut longer: Option<(u32, usize, u32)> = None;
        for &symbol in sorted {
            let length = u32::from(lengths[usize::from(symbol)]);
            code <<= length - before;
            before = length;
            let reversed = code.reverse_bits() >> (32 - length);
            code += 1;
            if length <= first {
                let entry = entry(symbol, length, what);
                let mut at = reversed as usize;
                while at < 1 << first {
                    self.entries[at] = entry;
                    at += 1 << length;
                }
                left[length as usize] -= 1;
                continue;
            }
            let root = reversed & ((1 << first) - 1);
            let (_, begin, bits) = match longer {
                Some(table) if table.0 == root => table,
                _ => {
                    // As many bits as the words with this prefix need.
                    let mut bits = length - first;
                    let mut room = 1i32 << bits;
                    while bits + first < MOST as u32 {
                        room -= i32::from(left[(bits + first) as usize]);
                        if room <= 0 {
                            break;
                        }
                        bits += 1;
                        room <<= 1;
                    }
                    let begin = self.entries.len();
                    self.entries.resize(begin + (1 << bits), INVALID | 1 << 8 | 1);
                    self.entries[root as usize] = LONGER | (begin as u32) << 16 | bits << 8 | first;
                    *longer.insert((root, begin, bits))
                }
            };
            let entry = entry(symbol, length - first, what);
            let mut at = (reversed >> first) as usize;
            while at < 1 << bits {
                self.entries[begin + at] = entry;
                at += 1 << (length - first);
            }
            left[length as usize] -= 1;
        }
    }
}

/// Lowest length of each length symbol from 257, and its extra bits.
const LENGTHS: [(u16, u8); 29] = {
    let mut table = [(0, 0); 29];
    let (mut at, mut base) = (0, 3u16);
    while at < 28 {
        let extra = if at < 8 { 0 } else { (at as u8 - 4) / 4 };
        table[at] = (base, extra);
        base += 1 << extra;
        at += 1;
    }
    table[28] = (258, 0);
    table
};

/// Lowest distance of each distance symbol, and its extra bits.
const DISTANCES: [(u16, u8); 30] = {
    let mut table = [(0, 0); 30];
    let (mut at, mut base) = (0, 1u16);
    while at < 30 {
        let extra = if at < 4 { 0 } else { (at as u8 - 2) / 2 };
        table[at] = (base, extra);
        base = base.wrapping_add(1 << extra);
        at += 1;
    }
    table
};

fn entry(symbol: u16, length: u32, what: Use) -> u32 {
    let with_extra =
        |(base, extra): (u16, u8)| u32::from(base) << 16 | length << 8 | (length + u32::from(extra));
    let plain = length << 8 | length;
    match what {
        Use::Lengths => u32::from(symbol) << 16 | plain,
        Use::Literals if symbol < 256 => LITERAL | u32::from(symbol) << 16 | plain,
        Use::Literals if symbol == 256 => END | plain,
        Use::Literals => LENGTHS.get(usize::from(symbol) - 257).map_or(INVALID | plain, |l| with_extra(*l)),
        Use::Distances => DISTANCES.get(usize::from(symbol)).map_or(INVALID | plain, |d| with_extra(*d)),
    }
}

/// The codes for blocks without their own.
pub(crate) static FIXED: LazyLock<(Table, Table)> = LazyLock::new(|| {
    let mut lengths = [8u8; 288];
    lengths[144..256].fill(9);
    lengths[256..280].fill(7);
    let (mut literals, mut distances) = (Table::default(), Table::default());
    literals.build(&lengths, LITERAL_BITS, Use::Literals);
    distances.build(&[5; 32], DISTANCE_BITS, Use::Distances);
    (literals, distances)
});
