//! Changes to pickles: whole instructions are removed, repeated, moved and changed.

use std::ops::Range;

use super::{Random, replaced};

/// Where each instruction is.
fn instructions(bytes: &[u8]) -> Vec<Range<usize>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let rest = &bytes[at + 1..];
        let number = |length: usize| {
            let mut wide = [0; 8];
            wide[..length].copy_from_slice(rest.get(..length)?);
            usize::try_from(u64::from_le_bytes(wide)).ok()
        };
        let counted = |length: usize| number(length).and_then(|count| count.checked_add(length));
        let line = || rest.iter().position(|&byte| byte == b'\n').map(|end| end + 1);
        let argument = match bytes[at] {
            0x80 | b'K' | b'q' | b'h' | 0x82 => Some(1),
            b'M' | 0x83 => Some(2),
            b'J' | b'r' | b'j' | 0x84 => Some(4),
            b'G' | 0x95 => Some(8),
            b'U' | b'C' | 0x8c | 0x8a => counted(1),
            b'X' | b'B' | b'T' | 0x8b => counted(4),
            0x8d | 0x8e | 0x96 => counted(8),
            b'I' | b'L' | b'F' | b'S' | b'V' | b'p' | b'g' | b'P' => line(),
            b'c' | b'i' => line().and_then(|first| {
                let second = rest[first..].iter().position(|&byte| byte == b'\n')?;
                Some(first + second + 1)
            }),
            _ => Some(0),
        };
        let Some(end) =
            argument.and_then(|length| (at + 1).checked_add(length)).filter(|&end| end <= bytes.len())
        else {
            break;
        };
        found.push(at..end);
        at = end;
    }
    found
}

pub fn change(bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    const NEW: [&[u8]; 16] = [
        b"(",
        b"}",
        b"]",
        b"N",
        b"\x85",
        b"\x86",
        b"a",
        b"e",
        b"s",
        b"u",
        b"0",
        b"1",
        b"K\xff",
        b"J\xff\xff\xff\x7f",
        b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"q\x00h\x00",
    ];
    let all = instructions(bytes);
    let (one, other) = (random.pick(&all)?.clone(), random.pick(&all)?.clone());
    Some(match random.below(6) {
        0 => replaced(bytes, one, b""),
        1 => replaced(bytes, one.start..one.start, &bytes[other]),
        2 => replaced(bytes, one, &bytes[other]),
        3 => replaced(bytes, one.start..one.start, random.pick(&NEW)?),
        4 => {
            let mut out = bytes.to_vec();
            out[one.start + random.below(one.len())] = random.next() as u8;
            out
        }
        _ => {
            let (from, to) = (one.start.min(other.start), one.start.max(other.start));
            let piece = bytes[from..to].to_vec();
            if piece.len() > 4096 {
                return None;
            }
            replaced(bytes, to..to, &piece)
        }
    })
}
