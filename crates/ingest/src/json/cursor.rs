//! The cursor itself: a position in bytes, and the steps a typed reader takes.

use super::scan;
use super::{Damage, Text};

/// A position in JSON bytes. Steps move it past what they read; after an error its position is undefined.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    pos: usize,
}

/// The keys of an object that is being read: read or skip the value after each.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    first: bool,
}

/// The elements of an array that is being read: read or skip each one after `next` returns true.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    first: bool,
}

impl<'a> Cursor<'a> {
    /// At the start of the bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, pos: 0 }
    }

    /// Starts at a position in the bytes.
    #[inline]
    pub fn at(bytes: &'a [u8], pos: usize) -> Self {
        Self { bytes, pos: pos.min(bytes.len()) }
    }

    /// The current position.
    #[inline]
    pub fn pos(&self) -> usize {
        self.pos
    }

    /// Moves to a position in the same bytes.
    #[inline]
    pub fn seek(&mut self, pos: usize) {
        self.pos = pos.min(self.bytes.len());
    }

    /// All bytes that it moves over.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Skips whitespace.
    #[inline]
    pub fn skip_whitespace(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.bytes.get(self.pos) {
            self.pos += 1;
        }
    }

    /// The next byte that is not whitespace, without consuming it.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        self.skip_whitespace();
        self.bytes.get(self.pos).copied()
    }

    /// Consumes `byte` if it comes next after whitespace.
    #[inline]
    pub fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.pos += usize::from(there);
        there
    }

    /// Consumes `byte`, which must come next after whitespace.
    #[inline]
    pub fn expect(&mut self, byte: u8) -> Result<(), Damage> {
        match self.peek() {
            Some(found) if found == byte => {
                self.pos += 1;
                Ok(())
            }
            Some(_) => Err(Damage::Unexpected),
            None => Err(Damage::End),
        }
    }

    /// Enters an object.
    #[inline]
    pub fn object(&mut self) -> Result<Keys, Damage> {
        self.expect(b'{')?;
        Ok(Keys { first: true })
    }

    /// Enters an array.
    #[inline]
    pub fn array(&mut self) -> Result<Elements, Damage> {
        self.expect(b'[')?;
        Ok(Elements { first: true })
    }

    /// Reads a string.
    #[inline(always)]
    pub fn string(&mut self) -> Result<Text<'a>, Damage> {
        self.expect(b'"')?;
        let start = self.pos;
        let (end, escaped) = scan::string_end(self.bytes, start).ok_or(Damage::End)?;
        self.pos = end + 1;
        Ok(Text { raw: &self.bytes[start..end], escaped })
    }

    /// Reads a number, a literal or a string as its bytes (a string without its quotes).
    #[inline(always)]
    pub fn scalar(&mut self) -> Result<&'a [u8], Damage> {
        match self.peek() {
            Some(b'"') => Ok(self.string()?.raw),
            Some(b'{' | b'[') => Err(Damage::Unexpected),
            Some(_) => self.token(),
            None => Err(Damage::End),
        }
    }

    /// Reads the bytes of a number or literal; any word is accepted (`NaN`, `-Infinity`, `nan`).
    #[inline(always)]
    fn token(&mut self) -> Result<&'a [u8], Damage> {
        let rest = &self.bytes[self.pos..];
        let len = scan::token_end(rest).ok_or(Damage::End)?;
        if len == 0 {
            return Err(Damage::Unexpected);
        }
        self.pos += len;
        Ok(&rest[..len])
    }

    /// Skips any value. Brackets are matched, everything between them is ignored.
    #[inline(always)]
    pub fn skip_value(&mut self) -> Result<(), Damage> {
        match self.peek() {
            Some(b'"') => self.string().map(|_| ()),
            Some(b'{' | b'[') => {
                self.pos += 1;
                self.skip_rest()
            }
            Some(_) => self.token().map(|_| ()),
            None => Err(Damage::End),
        }
    }

    /// Skips the rest of the object or array the cursor is in, including its closing bracket.
    #[inline]
    pub fn skip_rest(&mut self) -> Result<(), Damage> {
        self.pos = scan::container_end(self.bytes, self.pos).ok_or(Damage::End)?;
        Ok(())
    }

    /// Reads any value as its JSON text.
    #[inline(always)]
    pub fn raw_value(&mut self) -> Result<&'a [u8], Damage> {
        self.skip_whitespace();
        let start = self.pos;
        self.skip_value()?;
        Ok(&self.bytes[start..self.pos])
    }
}

impl Keys {
    /// The keys of an object that was already read up to the cursor.
    pub(crate) fn resumed(first: bool) -> Self {
        Self { first }
    }

    /// The next key, the cursor before its value; `None` at the end of the object.
    // The innermost loop of every reader of JSON: a call costs a tenth of reading a trace.
    #[inline(always)]
    pub fn next<'a>(&mut self, json: &mut Cursor<'a>) -> Result<Option<Text<'a>>, Damage> {
        match json.peek().ok_or(Damage::End)? {
            b'}' => {
                json.pos += 1;
                return Ok(None);
            }
            b',' if !self.first => {
                json.pos += 1;
                // Python and C++ writers never do this, but hand-made files end lists with a comma.
                if json.peek() == Some(b'}') {
                    json.pos += 1;
                    return Ok(None);
                }
            }
            _ if self.first => {}
            _ => return Err(Damage::Unexpected),
        }
        self.first = false;
        let key = json.string()?;
        json.expect(b':')?;
        Ok(Some(key))
    }
}

impl Elements {
    /// Whether there is another element, the cursor before it; at the end the cursor is past the bracket.
    #[inline]
    pub fn next(&mut self, json: &mut Cursor<'_>) -> Result<bool, Damage> {
        match json.peek().ok_or(Damage::End)? {
            b']' => {
                json.pos += 1;
                return Ok(false);
            }
            b',' if !self.first => {
                json.pos += 1;
                if json.peek() == Some(b']') {
                    json.pos += 1;
                    return Ok(false);
                }
            }
            _ if self.first => {}
            _ => return Err(Damage::Unexpected),
        }
        self.first = false;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_objects_and_arrays() {
        let mut json = Cursor::new(br#" { "a" : [1, "x,]}", {"b":[]}], "c":NaN , "d": -1.5e3, } tail"#);
        let mut keys = json.object().unwrap();
        assert_eq!(keys.next(&mut json).unwrap().unwrap().raw, b"a");
        let mut elements = json.array().unwrap();
        assert!(elements.next(&mut json).unwrap());
        assert_eq!(json.scalar().unwrap(), b"1");
        assert!(elements.next(&mut json).unwrap());
        assert_eq!(json.string().unwrap().raw, b"x,]}");
        assert!(elements.next(&mut json).unwrap());
        assert_eq!(json.raw_value().unwrap(), br#"{"b":[]}"#);
        assert!(!elements.next(&mut json).unwrap());
        assert_eq!(keys.next(&mut json).unwrap().unwrap().raw, b"c");
        assert_eq!(json.scalar().unwrap(), b"NaN");
        assert_eq!(keys.next(&mut json).unwrap().unwrap().raw, b"d");
        assert_eq!(json.scalar().unwrap(), b"-1.5e3");
        assert!(keys.next(&mut json).unwrap().is_none());
        json.skip_whitespace();
        assert_eq!(&json.bytes()[json.pos()..], b"tail");
    }

    #[test]
    fn damage_is_told_apart_from_the_end() {
        let read = |text: &'static [u8]| {
            let mut json = Cursor::new(text);
            let mut keys = json.object()?;
            while keys.next(&mut json)?.is_some() {
                json.skip_value()?;
            }
            Ok(())
        };
        assert_eq!(read(br#"{"a":1}"#), Ok(()));
        for cut in 0..br#"{"a":[1,{"b":"c"}]}"#.len() {
            assert_eq!(read(&br#"{"a":[1,{"b":"c"}]}"#[..cut]), Err(Damage::End), "cut at {cut}");
        }
        for bad in [&br#"{a:1}"#[..], br#"{"a" 1}"#, br#"{"a":1 "b":2}"#, br#"{"a":,}"#, br#"x"#] {
            assert_eq!(read(bad), Err(Damage::Unexpected), "{}", String::from_utf8_lossy(bad));
        }
    }
}
