//! Finding the end of strings and containers, 16 and 64 bytes at a time.

/// The place of the quote that ends a string begun before `start`, and whether a backslash came first.
#[inline]
pub(super) fn string_end(bytes: &[u8], start: usize) -> Option<(usize, bool)> {
    let mut at = quote_or_backslash(bytes, start)?;
    if bytes[at] == b'"' {
        return Some((at, false));
    }
    while bytes[at] == b'\\' {
        at = quote_or_backslash(bytes, at + 2)?;
    }
    Some((at, true))
}

#[inline]
fn quote_or_backslash(bytes: &[u8], mut at: usize) -> Option<usize> {
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
        let found = block16::equal(block, b'"') | block16::equal(block, b'\\');
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize);
        }
        at += 16;
    }
    let rest = bytes.get(at..)?;
    Some(at + rest.iter().position(|b| matches!(b, b'"' | b'\\'))?)
}

/// The place after the bracket that closes the container `start` is in (outside of any string).
pub(super) fn container_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut state = Nesting { depth: 1, in_string: 0, escape_next: 0 };
    let mut at = start;
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<64>()) {
        if let Some(end) = state.advance(block) {
            return Some(at + end);
        }
        at += 64;
    }
    let rest = bytes.get(at..)?;
    let mut block = [b' '; 64];
    block[..rest.len()].copy_from_slice(rest);
    state.advance(&block).map(|end| at + end)
}

struct Nesting {
    depth: u32,
    /// All ones inside a string.
    in_string: u64,
    /// One when the last byte was a backslash that escapes the next.
    escape_next: u64,
}

impl Nesting {
    /// Passes a block; the place after the byte that brings the depth to zero.
    #[inline]
    fn advance(&mut self, block: &[u8; 64]) -> Option<usize> {
        let masks = Masks::of(block);
        let mut quotes = masks.quotes;
        if masks.backslashes | self.escape_next != 0 {
            quotes &= !self.escaped(masks.backslashes);
        }
        let inside = prefix_xor(quotes) ^ self.in_string;
        self.in_string = ((inside as i64) >> 63) as u64;
        let opens = masks.opens & !inside;
        let mut closes = masks.closes & !inside;
        if closes.count_ones() >= self.depth {
            let mut left = self.depth;
            let mut passed = 0;
            while closes != 0 {
                let close = closes.trailing_zeros();
                let before = (opens & ((1u64 << close) - 1)).count_ones();
                if left + before == passed + 1 {
                    return Some(close as usize + 1);
                }
                passed += 1;
                closes &= closes - 1;
            }
            left += opens.count_ones();
            self.depth = left - passed;
        } else {
            self.depth = self.depth + opens.count_ones() - closes.count_ones();
        }
        None
    }

    /// Which bytes are escaped: those after an odd run of backslashes.
    #[inline]
    fn escaped(&mut self, backslashes: u64) -> u64 {
        let mut escaped = self.escape_next;
        let mut left = backslashes & !escaped;
        self.escape_next = 0;
        while left != 0 {
            let at = left.trailing_zeros();
            if at == 63 {
                self.escape_next = 1;
                break;
            }
            let next = 1u64 << (at + 1);
            escaped |= next;
            left &= !next & (left - 1);
        }
        escaped
    }
}

struct Masks {
    quotes: u64,
    backslashes: u64,
    opens: u64,
    closes: u64,
}

impl Masks {
    #[inline]
    fn of(block: &[u8; 64]) -> Self {
        let mut masks = Self { quotes: 0, backslashes: 0, opens: 0, closes: 0 };
        for (i, part) in block.as_chunks::<16>().0.iter().enumerate() {
            let shift = 16 * i;
            masks.quotes |= u64::from(block16::equal(part, b'"')) << shift;
            masks.backslashes |= u64::from(block16::equal(part, b'\\')) << shift;
            masks.opens |= u64::from(block16::equal_folded(part, b'{')) << shift;
            masks.closes |= u64::from(block16::equal_folded(part, b'}')) << shift;
        }
        masks
    }
}

/// Bit i of the answer is the exclusive or of bits 0 to i.
#[inline]
fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

/// SSE2 is part of every x86-64.
#[cfg(target_arch = "x86_64")]
mod block16 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };

    #[inline(always)]
    fn load(block: &[u8; 16]) -> __m128i {
        // SAFETY: the reference gives 16 readable bytes, and the load needs no alignment.
        unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
    }

    /// A bit for each byte that equals `byte`.
    #[inline(always)]
    pub(super) fn equal(block: &[u8; 16], byte: u8) -> u16 {
        // SAFETY: SSE2 is part of the x86-64 baseline.
        unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(load(block), _mm_set1_epi8(byte as i8))) as u16 }
    }

    /// The same with bit 5 ignored, which makes `[` and `{`, `]` and `}` alike.
    #[inline(always)]
    pub(super) fn equal_folded(block: &[u8; 16], byte: u8) -> u16 {
        // SAFETY: SSE2 is part of the x86-64 baseline.
        unsafe {
            let folded = _mm_or_si128(load(block), _mm_set1_epi8(0x20));
            _mm_movemask_epi8(_mm_cmpeq_epi8(folded, _mm_set1_epi8(byte as i8))) as u16
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod block16 {
    /// A bit for each byte that equals `byte`.
    #[inline(always)]
    pub(super) fn equal(block: &[u8; 16], byte: u8) -> u16 {
        block.iter().enumerate().fold(0, |bits, (i, b)| bits | u16::from(*b == byte) << i)
    }

    /// The same with bit 5 ignored, which makes `[` and `{`, `]` and `}` alike.
    #[inline(always)]
    pub(super) fn equal_folded(block: &[u8; 16], byte: u8) -> u16 {
        block.iter().enumerate().fold(0, |bits, (i, b)| bits | u16::from(b | 0x20 == byte) << i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Byte by byte, as a person would.
    fn slow_end(bytes: &[u8], start: usize) -> Option<usize> {
        let (mut depth, mut in_string, mut escaped) = (1, false, false);
        for (i, &b) in bytes.iter().enumerate().skip(start) {
            if escaped && matches!(b, b'"' | b'\\') {
                escaped = false;
                continue;
            }
            escaped = false;
            if b == b'\\' {
                escaped = true;
            } else if b == b'"' {
                in_string = !in_string;
            } else if !in_string && matches!(b, b'{' | b'[') {
                depth += 1;
            } else if !in_string && matches!(b, b'}' | b']') {
                depth -= 1;
                if depth == 0 {
                    return Some(i + 1);
                }
            }
        }
        None
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn container_ends_equal_a_byte_loop(text in r#"[{}\[\]"\\a ]{0,300}"#, start in 0usize..70) {
            prop_assert_eq!(container_end(text.as_bytes(), start), slow_end(text.as_bytes(), start));
        }

        #[test]
        fn string_ends_equal_a_byte_loop(text in r#"[a-e\\"]{0,8}[a-z]{0,40}[\\"]{0,3}[a-z"]{0,9}"#) {
            let bytes = text.as_bytes();
            let mut at = 0;
            let expected = loop {
                match bytes.get(at) {
                    None => break None,
                    Some(b'"') => break Some(at),
                    Some(b'\\') => at += 2,
                    Some(_) => at += 1,
                }
            };
            prop_assert_eq!(string_end(bytes, 0).map(|(end, _)| end), expected);
            if let Some((end, escaped)) = string_end(bytes, 0) {
                prop_assert_eq!(escaped, bytes[..end].contains(&b'\\'));
            }
        }
    }
}
