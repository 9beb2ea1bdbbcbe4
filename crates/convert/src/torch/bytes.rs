//! JSON pieces written straight into a byte buffer, with each distinct string escaped once.

use trace::{StrId, Strings};

/// Appends an integer.
#[inline]
pub(crate) fn int(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends nanoseconds as microseconds with exactly three decimals.
#[inline]
pub(crate) fn micros(out: &mut Vec<u8>, ns: i64) {
    if ns < 0 {
        out.push(b'-');
    }
    let ns = ns.unsigned_abs();
    out.extend_from_slice(itoa::Buffer::new().format(ns / 1000).as_bytes());
    let rest = (ns % 1000) as u16;
    let digit = |value: u16| b'0' + (value % 10) as u8;
    out.extend_from_slice(&[b'.', digit(rest / 100), digit(rest / 10), digit(rest)]);
}

/// Appends a number; values that JSON does not support (NaN, infinities) become `null`.
pub(crate) fn float(out: &mut Vec<u8>, value: f64) {
    use std::io::Write;
    if !value.is_finite() {
        out.extend_from_slice(b"null");
    } else if value == value.trunc() && value.abs() < 1e15 {
        int(out, value as i64);
    } else {
        write!(out, "{value}").expect("a vector takes all bytes");
    }
}

/// Appends text as a JSON string, quotes included.
pub(crate) fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut plain_from = 0;
    for (i, &byte) in bytes.iter().enumerate() {
        let short: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0..0x20 => b"",
            _ => continue,
        };
        out.extend_from_slice(&bytes[plain_from..i]);
        plain_from = i + 1;
        if short.is_empty() {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            let hex = [b'\\', b'u', b'0', b'0', HEX[(byte >> 4) as usize], HEX[(byte & 15) as usize]];
            out.extend_from_slice(&hex);
        } else {
            out.extend_from_slice(short);
        }
    }
    out.extend_from_slice(&bytes[plain_from..]);
    out.push(b'"');
}

/// Strings of a trace as JSON, each made once.
#[derive(Default)]
pub(crate) struct Text {
    names: Cache,
    values: Cache,
}

#[derive(Default)]
struct Cache {
    arena: Vec<u8>,
    spans: Vec<Option<(usize, usize)>>,
}

impl Cache {
    #[inline]
    fn get(&mut self, id: StrId, make: impl FnOnce(&mut Vec<u8>)) -> &[u8] {
        let place = id.0 as usize;
        if place >= self.spans.len() {
            self.spans.resize(place + 1, None);
        }
        let (from, to) = match self.spans[place] {
            Some(span) => span,
            None => {
                let from = self.arena.len();
                make(&mut self.arena);
                *self.spans[place].insert((from, self.arena.len()))
            }
        };
        &self.arena[from..to]
    }
}

impl Text {
    /// Appends a name as a JSON string.
    #[inline]
    pub(crate) fn name(&mut self, out: &mut Vec<u8>, strings: &Strings, id: StrId) {
        out.extend_from_slice(self.names.get(id, |arena| string(arena, strings.get(id))));
    }

    /// Appends an argument's value: unchanged if it is JSON, otherwise as a string.
    #[inline]
    pub(crate) fn value(&mut self, out: &mut Vec<u8>, strings: &Strings, id: StrId) {
        let json = self.values.get(id, |arena| {
            let text = strings.get(id);
            match serde_json::from_str::<serde::de::IgnoredAny>(text) {
                // A line break inside would be legal, but one event per line is easier to read.
                Ok(_) => arena.extend_from_slice(text.trim().as_bytes()),
                Err(_) => string(arena, text),
            }
        });
        out.extend_from_slice(json);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_exact() {
        for (ns, text) in [(0, "0.000"), (1, "0.001"), (-1, "-0.001"), (1_234_567, "1234.567")] {
            let mut out = Vec::new();
            micros(&mut out, ns);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
        let mut out = Vec::new();
        micros(&mut out, i64::MAX);
        assert_eq!(out, b"9223372036854775.807");
    }

    #[test]
    fn any_text_survives() {
        for text in ["plain", "q\"b\\s/", "\u{1}\u{1f}\n\t\r", "µ😀", ""] {
            let mut out = Vec::new();
            string(&mut out, text);
            assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }

    #[test]
    fn values_that_are_json_stay_json() {
        let mut strings = Strings::default();
        let mut text = Text::default();
        for (value, written) in
            [("[1, 2]", "[1, 2]"), ("0x7f", "\"0x7f\""), ("12", "12"), ("", "\"\""), ("\"a\"", "\"a\"")]
        {
            let id = strings.intern(value);
            for _ in 0..2 {
                let mut out = Vec::new();
                text.value(&mut out, &strings, id);
                assert_eq!(String::from_utf8(out).unwrap(), written);
            }
        }
    }
}
