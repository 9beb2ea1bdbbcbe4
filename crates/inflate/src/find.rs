//! Finds where a deflate block with its own codes may begin. Such a header is long and has few valid forms,
//! so that one in a thousand million places matches by chance; a wrong match is detected later.

use crate::bits::Bits;
use crate::decode::dynamic;
use crate::huffman::Table;

/// The first three bits of a block with its own codes that is not the last.
const HEAD: u64 = 0b100;

/// Whether such a block may begin here, by its first three bits.
pub(crate) fn may_begin(data: &[u8], bit: usize) -> bool {
    Bits::at(data, bit).take(3) == Some(HEAD as u32)
}

/// The next place from `from` on, before `until` (in bits), where a block may begin.
pub(crate) fn next(data: &[u8], from: usize, until: usize, tables: &mut (Table, Table)) -> Option<usize> {
    let until = until.min(data.len() * 8);
    let word = |byte: usize| {
        data.get(byte..byte + 8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")))
    };
    let mut byte = from / 8;
    let mut skip = from % 8;
    // The header of a block does not fit into the last bytes anyway.
    while byte * 8 < until {
        let mut places = candidates(word(byte)?) >> skip << skip;
        while places != 0 {
            let place = places.trailing_zeros() as usize;
            places &= places - 1;
            let at = byte * 8 + place;
            let lengths = word((at + 17) / 8)? >> ((at + 17) % 8);
            let count = (word((at + 13) / 8)? >> ((at + 13) % 8) & 15) as u32 + 4;
            if at < until
                && is_complete(lengths, count)
                && dynamic(&mut Bits::at(data, at + 3), &mut tables.0, &mut tables.1).is_ok()
            {
                return Some(at);
            }
        }
        byte += PLACES / 8;
        skip = 0;
    }
    None
}

/// Positions checked per word; the 13 bits after each are in the word too.
const PLACES: usize = 48;

/// A bit for each position where the first three bits are right and the code counts are not too large.
#[inline]
fn candidates(word: u64) -> u64 {
    let head = !word & !(word >> 1) & (word >> 2);
    // Counts of 30 and 31 are invalid: all of their five bits except the lowest are set.
    let most = word & (word >> 1) & (word >> 2) & (word >> 3);
    head & !(most >> 4) & !(most >> 9) & ((1 << PLACES) - 1)
}

/// Whether the lengths, three bits each, make a complete code.
#[inline]
fn is_complete(lengths: u64, count: u32) -> bool {
    let lengths = lengths & ((1 << (3 * count)) - 1);
    // Always five times four lengths: ending early is slower, since the branch is unpredictable.
    let share = |at: u32| SHARES[(lengths >> (12 * at) & 0xfff) as usize];
    share(0) + share(1) + share(2) + share(3) + share(4) == 128
}

/// The share of a complete code taken by four lengths of three bits each, in 128ths.
static SHARES: [u16; 4096] = {
    let mut shares = [0; 4096];
    let mut four = 0;
    while four < 4096 {
        let mut rest = four;
        while rest > 0 {
            if rest & 7 > 0 {
                shares[four] += 128 >> (rest & 7);
            }
            rest >>= 3;
        }
        four += 1;
    }
    shares
};
