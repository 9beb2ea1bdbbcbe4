//! Changes to tables of text: lines and fields are replaced, repeated, removed and moved.

use std::ops::Range;

use super::{Random, replaced};

fn parts(bytes: &[u8], is_end: impl Fn(u8) -> bool) -> Vec<Range<usize>> {
    let mut from = 0;
    let mut found = Vec::new();
    for (at, &byte) in bytes.iter().enumerate() {
        if is_end(byte) {
            found.push(from..at);
            from = at + 1;
        }
    }
    found.push(from..bytes.len());
    found
}

pub fn change(bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    const TEXTS: [&str; 7] = ["\"", "\"a\"\"b,\"", "", "0x10", "\u{feff}", "(nil)", "1700000000000"];
    let is_field = |byte| matches!(byte, b',' | b'\n' | b' ' | b'{' | b'}' | b'=');
    if random.below(3) == 0 {
        let lines = parts(bytes, |byte| byte == b'\n');
        let (line, other) = (random.pick(&lines)?.clone(), random.pick(&lines)?.clone());
        let whole = line.start..(line.end + 1).min(bytes.len());
        return Some(match random.below(3) {
            0 => replaced(bytes, whole.start..whole.start, &[&bytes[other], b"\n"].concat()),
            1 => replaced(bytes, whole, b""),
            _ => replaced(bytes, line, &bytes[other]),
        });
    }
    let fields = parts(bytes, is_field);
    let (field, other) = (random.pick(&fields)?.clone(), random.pick(&fields)?.clone());
    Some(match random.below(6) {
        0 | 1 => replaced(bytes, field, random.edge().as_bytes()),
        2 => replaced(bytes, field, &bytes[other]),
        3 => replaced(bytes, field, random.pick(&TEXTS)?.as_bytes()),
        4 => replaced(bytes, field.start..(field.end + 1).min(bytes.len()), b""),
        _ => bytes[..field.end].to_vec(),
    })
}
