//! Just enough MessagePack to walk the metadata of a code object without building a tree.

/// A value; the elements of arrays and maps follow it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Nil,
    Bool(bool),
    Int(i64),
    Other,
    Str(&'a str),
    Array(u32),
    Map(u32),
}

/// Why the rest of a document cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// A position in a document.
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(document: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: document }
    }

    /// The next value.
    pub fn next(&mut self) -> Result<Value<'a>, Broken> {
        let tag = self.byte()?;
        Ok(match tag {
            0x00..=0x7f => Value::Int(tag.into()),
            0x80..=0x8f => Value::Map((tag & 0xf).into()),
            0x90..=0x9f => Value::Array((tag & 0xf).into()),
            0xa0..=0xbf => self.text((tag & 0x1f).into())?,
            0xc0 => Value::Nil,
            0xc2 | 0xc3 => Value::Bool(tag == 0xc3),
            0xc4..=0xc6 => {
                let length = self.length(tag - 0xc4)?;
                self.skipped(length)?
            }
            0xc7..=0xc9 => {
                let length = self.length(tag - 0xc7)?;
                self.skipped(length.saturating_add(1))?
            }
            0xca => self.skipped(4)?,
            0xcb => self.skipped(8)?,
            // A length that does not fit is not a valid number anyway: wrapping is as good as any answer.
            0xcc..=0xcf => Value::Int(self.unsigned(1 << (tag - 0xcc))? as i64),
            0xd0..=0xd3 => {
                let width = 1u32 << (tag - 0xd0);
                let shift = 64 - 8 * width;
                Value::Int((self.unsigned(width)? << shift) as i64 >> shift)
            }
            0xd4..=0xd8 => self.skipped((1 << (tag - 0xd4)) + 1)?,
            0xd9..=0xdb => {
                let length = self.length(tag - 0xd9)?;
                self.text(length)?
            }
            0xdc | 0xdd => Value::Array(self.length(tag - 0xdc + 1)?),
            0xde | 0xdf => Value::Map(self.length(tag - 0xde + 1)?),
            0xe0..=0xff => Value::Int((tag as i8).into()),
            0xc1 => return Err(Broken),
        })
    }

    /// Skips the next value with everything in it.
    pub fn skip(&mut self) -> Result<(), Broken> {
        let mut pending = 1u64;
        while pending > 0 {
            pending -= 1;
            pending += match self.next()? {
                Value::Array(length) => u64::from(length),
                Value::Map(length) => 2 * u64::from(length),
                _ => 0,
            };
        }
        Ok(())
    }

    /// The next value as a map: its number of entries; 0 for anything else, which is skipped.
    pub fn map(&mut self) -> Result<u32, Broken> {
        self.of_kind(|value| if let Value::Map(length) = value { Some(length) } else { None })
    }

    /// The next value as an array: its length; 0 for anything else, which is skipped.
    pub fn array(&mut self) -> Result<u32, Broken> {
        self.of_kind(|value| if let Value::Array(length) = value { Some(length) } else { None })
    }

    fn of_kind(&mut self, wanted: impl Fn(Value<'a>) -> Option<u32>) -> Result<u32, Broken> {
        let here = self.rest;
        match wanted(self.next()?) {
            Some(length) => Ok(length),
            None => {
                self.rest = here;
                self.skip()?;
                Ok(0)
            }
        }
    }

    /// The next value as text, empty if it was something else.
    pub fn string(&mut self) -> Result<&'a str, Broken> {
        let here = self.rest;
        if let Value::Str(text) = self.next()? {
            return Ok(text);
        }
        self.rest = here;
        self.skip()?;
        Ok("")
    }

    /// The next value as a number, if it is one.
    pub fn number(&mut self) -> Result<Option<u32>, Broken> {
        let here = self.rest;
        if let Value::Int(number) = self.next()? {
            return Ok(u32::try_from(number).ok());
        }
        self.rest = here;
        self.skip()?;
        Ok(None)
    }

    fn byte(&mut self) -> Result<u8, Broken> {
        let (&first, rest) = self.rest.split_first().ok_or(Broken)?;
        self.rest = rest;
        Ok(first)
    }

    fn take(&mut self, length: u32) -> Result<&'a [u8], Broken> {
        let (taken, rest) = self.rest.split_at_checked(length as usize).ok_or(Broken)?;
        self.rest = rest;
        Ok(taken)
    }

    /// A big-endian number of 1, 2, 4 or 8 bytes.
    fn unsigned(&mut self, width: u32) -> Result<u64, Broken> {
        Ok(self.take(width)?.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// A length of 1, 2 or 4 bytes.
    fn length(&mut self, size: u8) -> Result<u32, Broken> {
        Ok(self.unsigned(1 << size)? as u32)
    }

    fn text(&mut self, length: u32) -> Result<Value<'a>, Broken> {
        Ok(str::from_utf8(self.take(length)?).map_or(Value::Other, Value::Str))
    }

    fn skipped(&mut self, length: u32) -> Result<Value<'a>, Broken> {
        self.take(length)?;
        Ok(Value::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_width_are_read() {
        let document = [
            0x05, 0xff, 0xcc, 200, 0xcd, 1, 0, 0xd1, 0xff, 0xfe, 0xc3, 0xc0, 0xa2, b'h', b'i', 0xd9, 1, b'x',
            0x92, 0x81, 0xca, 0, 0, 0, 0, 0xd6, 0, 0, 0, 0, 0, 0xdd, 0, 0, 0, 7,
        ];
        let mut cursor = Cursor::new(&document);
        let expected = [
            Value::Int(5),
            Value::Int(-1),
            Value::Int(200),
            Value::Int(256),
            Value::Int(-2),
            Value::Bool(true),
            Value::Nil,
            Value::Str("hi"),
            Value::Str("x"),
            Value::Array(2),
            Value::Map(1),
            Value::Other,
            Value::Other,
            Value::Array(7),
        ];
        for value in expected {
            assert_eq!(cursor.next(), Ok(value));
        }
        assert_eq!(cursor.next(), Err(Broken));
    }

    #[test]
    fn skipping_ends_even_if_lengths_lie() {
        assert_eq!(Cursor::new(&[0xdf, 0xff, 0xff, 0xff, 0xff]).skip(), Err(Broken));
        assert_eq!(Cursor::new(&[0x91; 10_000]).skip(), Err(Broken));
        let mut cursor = Cursor::new(&[0x82, 0x01, 0x91, 0x02, 0x03, 0xc0, 0x2a]);
        assert_eq!(cursor.skip(), Ok(()));
        assert_eq!(cursor.number(), Ok(Some(42)));
    }
}
