//! Finds where JSON values end.

use std::ops::Range;

/// The position after the value that starts at `at`; `None` if the bytes end first.
pub(super) fn value_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0u32;
    loop {
        match *bytes.get(at)? {
            b'"' => {
                at = string_end(bytes, at + 1)?;
                if depth == 0 {
                    return Some(at);
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ if depth == 0 => {
                let rest = &bytes[at..];
                let ends = |b: &u8| matches!(b, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
                return Some(at + rest.iter().position(ends)?);
            }
            _ => {}
        }
        at += 1;
    }
}

/// The position after the quote that ends a string begun before `at`.
fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let found = at + memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[found] == b'"' {
            return Some(found + 1);
        }
        at = found + 2;
    }
}

/// The members of an object: positions of the key (without quotes) and of the value.
pub(super) struct Members<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Members<'a> {
    /// The members of an object that spans all of `bytes`.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 1 }
    }

    fn skip(&mut self, also: u8) {
        while self.bytes.get(self.at).is_some_and(|b| b.is_ascii_whitespace() || *b == also) {
            self.at += 1;
        }
    }
}

impl Iterator for Members<'_> {
    type Item = (Range<usize>, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        self.skip(b',');
        if self.bytes.get(self.at) != Some(&b'"') {
            return None;
        }
        let key_end = string_end(self.bytes, self.at + 1)?;
        let key = self.at + 1..key_end - 1;
        self.at = key_end;
        self.skip(b':');
        let value = self.at..value_end(self.bytes, self.at)?;
        self.at = value.end;
        Some((key, value))
    }
}

/// A value without the quotes of a string.
pub(super) fn unquoted(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|v| v.strip_suffix(b"\"")).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_whatever_they_hold() {
        let object = br#"{ "a" : 1.5,"b":"x\"}" , "c\\": {"d": [1, "]"]},"e":null}"#;
        let found: Vec<(&[u8], &[u8])> = Members::of(object).map(|(k, v)| (&object[k], &object[v])).collect();
        let expected: [(&[u8], &[u8]); 4] =
            [(b"a", b"1.5"), (b"b", br#""x\"}""#), (br"c\\", br#"{"d": [1, "]"]}"#), (b"e", b"null")];
        assert_eq!(found, expected);
        assert_eq!(Members::of(b"{}").count(), 0);
        assert_eq!(Members::of(b"{\"a\" 1").count(), 0);
    }
}
