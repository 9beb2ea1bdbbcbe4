//! Finds where a deflate block with codes of its own may begin. Such a head is long and has few valid
//! forms, so that chance gives one in a thousand million places; a wrong one is found out later.

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
    let mut bit = from;
    // In the last bytes the head of a block does not fit anyway.
    while bit < until && bit / 8 + 16 <= data.len() {
        let byte = bit / 8;
        let bytes: [u8; 16] = data[byte..byte + 16].try_into().expect("16 bytes are left");
        let bits = u128::from_le_bytes(bytes);
        // 8 places a round: a head of 74 bits fits behind each.
        for place in bit % 8..8 {
            let head = (bits >> place) as u64;
            if head & 7 == HEAD && is_plausible(head, (bits >> (place + 64)) as u64) {
                let at = byte * 8 + place;
                if at < until && dynamic(&mut Bits::at(data, at + 3), &mut tables.0, &mut tables.1).is_ok() {
                    return Some(at);
                }
            }
        }
        bit = (byte + 1) * 8;
    }
    None
}

/// Whether the counts are within bounds and the code for lengths is complete.
#[inline]
fn is_plausible(head: u64, more: u64) -> bool {
    if head >> 3 & 31 > 29 || head >> 8 & 31 > 29 {
        return false;
    }
    let count = (head >> 13 & 15) as usize + 4;
    let lengths = head >> 17 | more << 47;
    let mut lengths = lengths & ((1 << (3 * count)) - 1);
    let mut sum = 0u32;
    while lengths != 0 {
        sum += u32::from(SHARES[(lengths & 0xfff) as usize]);
        lengths >>= 12;
    }
    sum == 128
}

/// What four lengths of three bits each take of a complete code, in 128ths.
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
