//! Changes to JSON: values are replaced, repeated, removed, cut and nested.

use std::ops::Range;

use super::{Random, replaced};

/// Values of a document at any depth, also of one that is cut off.
fn values(bytes: &[u8]) -> Vec<Range<usize>> {
    let (mut found, mut open, mut at) = (Vec::new(), Vec::new(), 0);
    while at < bytes.len() && found.len() < 100_000 {
        let from = at;
        match bytes[at] {
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += 1 + usize::from(bytes[at] == b'\\');
                }
                at = (at + 1).min(bytes.len());
                found.push(from..at);
            }
            b'{' | b'[' => {
                open.push(at);
                at += 1;
            }
            b'}' | b']' => {
                at += 1;
                found.extend(open.pop().map(|from| from..at));
            }
            b'-' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                while at < bytes.len()
                    && matches!(bytes[at], b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z')
                {
                    at += 1;
                }
                found.push(from..at);
            }
            _ => at += 1,
        }
    }
    found
}

pub fn change(bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    const TEXTS: [&str; 8] =
        ["\"\"", "\"\\ud800\"", "\"\\u0000x\"", "\"\\\"", "\"\u{202e}\"", "{}", "[]", "null"];
    let values = values(bytes);
    // In some targets, a byte before the document says what it is.
    let value = random.pick(&values)?.clone();
    let other = random.pick(&values)?.clone();
    let inside = &bytes[value.clone()];
    Some(match random.below(12) {
        0..=2 => replaced(bytes, value, random.edge().as_bytes()),
        3 | 4 => replaced(bytes, value, &bytes[other]),
        5 => replaced(bytes, value.clone(), &[inside, b",", inside].concat()),
        6 => {
            let comma = usize::from(bytes.get(value.end) == Some(&b','));
            replaced(bytes, value.start..value.end + comma, b"")
        }
        7 => {
            let cut = value.start + random.below(value.len());
            replaced(bytes, cut..value.end, b"")
        }
        8 => replaced(bytes, value, random.pick(&TEXTS)?.as_bytes()),
        9 => bytes[..value.start + random.below(value.len() + 1)].to_vec(),
        10 => {
            let depth = 1 << random.below(8);
            replaced(bytes, value, &[b"[".repeat(depth).as_slice(), inside, &b"]".repeat(depth)].concat())
        }
        _ => {
            let quoted = [b"\"", inside, b"\""].concat();
            replaced(bytes, value, &quoted)
        }
    })
}
