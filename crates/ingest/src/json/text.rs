//! Strings in the file's bytes, unescaped on demand.

use std::borrow::Cow;

/// The bytes between two quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    /// As in the file, escapes included.
    pub raw: &'a [u8],
    /// Whether there is a backslash in it.
    pub escaped: bool,
}

impl<'a> Text<'a> {
    /// Bytes that may hold escapes.
    pub fn of(raw: &'a [u8]) -> Self {
        Self { raw, escaped: memchr::memchr(b'\\', raw).is_some() }
    }

    /// The bytes without escapes; may still not be UTF-8.
    pub fn unescape(&self) -> Cow<'a, [u8]> {
        if self.escaped { Cow::Owned(unescape(self.raw)) } else { Cow::Borrowed(self.raw) }
    }

    /// The text without escapes; bytes that are not UTF-8 become U+FFFD.
    pub fn text(&self) -> Cow<'a, str> {
        match self.unescape() {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }
}

fn unescape(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let Some((&letter, after)) = rest.split_first() else { break };
        rest = after;
        match letter {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'u' => rest = unicode(rest, &mut out),
            // Quote, backslash and slash are themselves; invalid escapes are kept too, rather than lost.
            other => out.push(other),
        }
    }
    out.extend_from_slice(rest);
    out
}

/// Adds the character after `\u`, pairing surrogates; returns the rest.
fn unicode<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let Some(first) = hex(rest) else {
        out.push(b'u');
        return rest;
    };
    let mut rest = &rest[4..];
    let mut code = first;
    if (0xd800..0xdc00).contains(&first)
        && let Some(second) = rest.strip_prefix(b"\\u").and_then(hex)
        && (0xdc00..0xe000).contains(&second)
    {
        code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        rest = &rest[6..];
    }
    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    rest
}

fn hex(bytes: &[u8]) -> Option<u32> {
    bytes.get(..4)?.iter().try_fold(0, |code, &b| Some(code << 4 | char::from(b).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        let text = |raw: &'static [u8]| Text::of(raw).text().into_owned();
        assert_eq!(text(br#"plain"#), "plain");
        assert_eq!(text(br#"a\"b\\c\/d\n\t\u0041\u00e9"#), "a\"b\\c/d\n\tA\u{e9}");
        assert_eq!(text(br#"\ud83d\ude00!"#), "\u{1f600}!");
        assert_eq!(text(br#"\ud83d!"#), "\u{fffd}!");
        assert_eq!(text(br#"\q\u12"#), "qu12");
        assert_eq!(text(b"a\xffb\\n"), "a\u{fffd}b\n");
        assert_eq!(text(b"tab\there"), "tab\there");
    }

    #[test]
    fn agrees_with_a_strict_parser_on_valid_strings() {
        for s in ["", "\u{0}\u{1f}", "日本 \u{10ffff} \"\\", "a/b\\u0041"] {
            let quoted = serde_json::to_string(s).unwrap();
            assert_eq!(Text::of(&quoted.as_bytes()[1..quoted.len() - 1]).text(), s);
        }
    }
}
