//! Finding the end of strings and containers, 16 and 64 bytes at a time.

/// The position of the quote that ends a string begun before `start`, and whether a backslash came first.
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
        let found = block16::either(block, b'"', b'\\');
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize);
        }
        at += 16;
    }
    let rest = bytes.get(at..)?;
    Some(at + rest.iter().position(|b| matches!(b, b'"' | b'\\'))?)
}

/// Bytes that numbers and literals consist of.
const IN_TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(byte as u8, b'0'..=b'9' | b'.' | b'-' | b'+' | b'a'..=b'z' | b'A'..=b'Z');
        byte += 1;
    }
    table
};

/// The length of a number or literal, if it ends in the text.
#[inline]
pub(super) fn token_end(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(block) = text.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
        let others = !block16::in_token(block);
        if others != 0 {
            return Some(at + others.trailing_zeros() as usize);
        }
        at += 16;
    }
    let rest = text.get(at..)?;
    Some(at + rest.iter().position(|b| !IN_TOKEN[usize::from(*b)])?)
}

/// A bit for each byte that is the same in both.
#[inline(always)]
pub(crate) fn equal_bytes(one: &[u8; 32], other: &[u8; 32]) -> u32 {
    let ([one, more], [other, rest]) = (one.as_chunks::<16>().0, other.as_chunks::<16>().0) else { return 0 };
    u32::from(block16::same(one, other)) | u32::from(block16::same(more, rest)) << 16
}

/// The position after the bracket that closes the container `start` is in (outside of any string).
pub(super) fn container_end(bytes: &[u8], start: usize) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if block64::is_there() {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { block64::container_end(bytes, start) };
    }
    end_by(bytes, start, Masks::of)
}

#[inline(always)]
fn end_by(bytes: &[u8], start: usize, masks: impl Fn(&[u8; 64]) -> Masks) -> Option<usize> {
    let mut state = Nesting { depth: 1, in_string: 0, escape_next: 0 };
    let mut at = start;
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<64>()) {
        if let Some(end) = state.advance(masks(block)) {
            return Some(at + end);
        }
        at += 64;
    }
    let rest = bytes.get(at..)?;
    let mut block = [b' '; 64];
    block[..rest.len()].copy_from_slice(rest);
    state.advance(masks(&block)).map(|end| at + end)
}

struct Nesting {
    depth: u32,
    /// All ones inside a string.
    in_string: u64,
    /// One when the last byte was a backslash that escapes the next.
    escape_next: u64,
}

impl Nesting {
    /// Processes a block; the position after the byte that brings the depth to zero.
    #[inline(always)]
    fn advance(&mut self, masks: Masks) -> Option<usize> {
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
    #[inline(always)]
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
#[inline(always)]
fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

/// Faster code for processors since 2013: 32 bytes at a time, and counting bits in one step.
#[cfg(target_arch = "x86_64")]
mod block64 {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256,
        _mm256_set1_epi8,
    };

    use super::Masks;

    /// Whether this processor supports it.
    #[inline(always)]
    pub(super) fn is_there() -> bool {
        std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("popcnt")
            && std::arch::is_x86_feature_detected!("bmi1")
    }

    #[target_feature(enable = "avx2,popcnt,bmi1")]
    pub(super) fn container_end(bytes: &[u8], start: usize) -> Option<usize> {
        super::end_by(bytes, start, |block| {
            let halves = block.as_chunks::<32>().0;
            let equal = |byte: u8, folded: u8| {
                halves.iter().rev().fold(0u64, |bits, half| {
                    // SAFETY: the reference gives 32 readable bytes, and the load needs no alignment.
                    let half: __m256i = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
                    let half = _mm256_or_si256(half, _mm256_set1_epi8(folded as i8));
                    let same = _mm256_cmpeq_epi8(half, _mm256_set1_epi8(byte as i8));
                    bits << 32 | u64::from(_mm256_movemask_epi8(same) as u32)
                })
            };
            Masks {
                quotes: equal(b'"', 0),
                backslashes: equal(b'\\', 0),
                // With bit 5 set `[` and `{` are equal, and so are `]` and `}`.
                opens: equal(b'{', 0x20),
                closes: equal(b'}', 0x20),
            }
        })
    }
}

/// SSE2 is part of every x86-64.
#[cfg(target_arch = "x86_64")]
mod block16 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128,
        _mm_set1_epi8, _mm_sub_epi8,
    };

    #[inline(always)]
    fn load(block: &[u8; 16]) -> __m128i {
        // SAFETY: the reference gives 16 readable bytes, and the load needs no alignment.
        unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
    }

    /// A bit for each byte that is the same in both.
    #[inline(always)]
    pub(super) fn same(one: &[u8; 16], other: &[u8; 16]) -> u16 {
        // SAFETY: SSE2 is part of the x86-64 baseline.
        unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(load(one), load(other))) as u16 }
    }

    /// A bit for each byte that is a letter, a digit, `.`, `-` or `+`.
    #[inline(always)]
    pub(super) fn in_token(block: &[u8; 16]) -> u16 {
        // SAFETY: SSE2 is part of the x86-64 baseline.
        unsafe {
            let block = load(block);
            let is = |byte: u8| _mm_cmpeq_epi8(block, _mm_set1_epi8(byte as i8));
            // Bytes minus `from` are below `count` exactly if they are the smaller of both.
            let within = |block, from: u8, count: u8| {
                let moved = _mm_sub_epi8(block, _mm_set1_epi8(from as i8));
                _mm_cmpeq_epi8(_mm_min_epu8(moved, _mm_set1_epi8(count as i8 - 1)), moved)
            };
            let letters = within(_mm_or_si128(block, _mm_set1_epi8(0x20)), b'a', 26);
            let digits = within(block, b'0', 10);
            let signs = _mm_or_si128(is(b'+'), within(block, b'-', 2));
            _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(letters, digits), signs)) as u16
        }
    }

    /// A bit for each byte that equals one of two.
    #[inline(always)]
    pub(super) fn either(block: &[u8; 16], one: u8, other: u8) -> u16 {
        // SAFETY: SSE2 is part of the x86-64 baseline.
        unsafe {
            let block = load(block);
            let one = _mm_cmpeq_epi8(block, _mm_set1_epi8(one as i8));
            let other = _mm_cmpeq_epi8(block, _mm_set1_epi8(other as i8));
            _mm_movemask_epi8(_mm_or_si128(one, other)) as u16
        }
    }

    /// A bit for each byte that equals `byte`.
    #[inline(always)]
    pub(super) fn equal(block: &[u8; 16], byte: u8) -> u16 {
        // SAFETY: SSE2 is part of the x86-64 baseline.
        unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(load(block), _mm_set1_epi8(byte as i8))) as u16 }
    }

    /// Like `equal` with bit 5 ignored, which makes `[` and `{`, `]` and `}` alike.
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
    /// A bit for each byte that is a letter, a digit, `.`, `-` or `+`.
    #[inline(always)]
    pub(super) fn in_token(block: &[u8; 16]) -> u16 {
        block
            .iter()
            .enumerate()
            .fold(0, |bits, (i, b)| bits | u16::from(super::IN_TOKEN[usize::from(*b)]) << i)
    }

    /// A bit for each byte that is the same in both.
    #[inline(always)]
    pub(super) fn same(one: &[u8; 16], other: &[u8; 16]) -> u16 {
        one.iter().zip(other).enumerate().fold(0, |bits, (i, (a, b))| bits | u16::from(a == b) << i)
    }

    /// A bit for each byte that equals one of two.
    #[inline(always)]
    pub(super) fn either(block: &[u8; 16], one: u8, other: u8) -> u16 {
        equal(block, one) | equal(block, other)
    }

    /// A bit for each byte that equals `byte`.
    #[inline(always)]
    pub(super) fn equal(block: &[u8; 16], byte: u8) -> u16 {
        block.iter().enumerate().fold(0, |bits, (i, b)| bits | u16::from(*b == byte) << i)
    }

    /// Like `equal` with bit 5 ignored, which makes `[` and `{`, `]` and `}` alike.
    #[inline(always)]
    pub(super) fn equal_folded(block: &[u8; 16], byte: u8) -> u16 {
        block.iter().enumerate().fold(0, |bits, (i, b)| bits | u16::from(b | 0x20 == byte) << i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Byte by byte, for comparison.
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

    #[test]
    fn every_byte_is_part_of_a_token_or_not() {
        for byte in 0..=255u8 {
            for place in 0..20 {
                let mut text = [b'7'; 24];
                text[place] = byte;
                text[22] = b',';
                let expected = if IN_TOKEN[usize::from(byte)] { 22 } else { place };
                assert_eq!(token_end(&text), Some(expected), "byte {byte} at {place}");
            }
        }
        assert_eq!(token_end(&[b'1'; 40]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn container_ends_equal_a_byte_loop(text in r#"[{}\[\]"\\a ]{0,300}"#, start in 0usize..70) {
            let expected = slow_end(text.as_bytes(), start);
            prop_assert_eq!(container_end(text.as_bytes(), start), expected);
            prop_assert_eq!(end_by(text.as_bytes(), start, Masks::of), expected);
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
