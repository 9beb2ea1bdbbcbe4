//! Protobuf's wire format, read in place.

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    /// A whole number.
    Whole(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// Four bytes.
    Fixed32(u32),
    /// Text or a message.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// As a whole number; 0 for bytes.
    #[inline]
    pub fn whole(self) -> u64 {
        match self {
            Value::Whole(number) | Value::Fixed64(number) => number,
            Value::Fixed32(number) => u64::from(number),
            Value::Bytes(_) => 0,
        }
    }

    /// As bytes; empty for numbers.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Value::Bytes(bytes) => bytes,
            _ => &[],
        }
    }
}

/// The fields of a message, one after another, up to the first invalid one.
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    /// Whether the message ended where it should.
    pub whole: bool,
}

impl<'a> Fields<'a> {
    pub fn of(message: &'a [u8]) -> Self {
        Self { rest: message, whole: true }
    }

    /// Number of unread bytes.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// The unread fields.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    fn varint(&mut self) -> Option<u64> {
        if let [byte @ ..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            return Some(u64::from(*byte));
        }
        // Up to eight bytes at once; the first without its high bit is the last.
        if let Some(word) = self.rest.first_chunk() {
            let word = u64::from_le_bytes(*word);
            let ends = !word & 0x8080_8080_8080_8080;
            if ends != 0 {
                let bytes = ends.trailing_zeros() as usize / 8 + 1;
                self.rest = &self.rest[bytes..];
                return Some(joined(word & (ends ^ (ends - 1))));
            }
        }
        self.varint_by_bytes()
    }

    #[cold]
    fn varint_by_bytes(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for (place, &byte) in self.rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                self.rest = &self.rest[place + 1..];
                return Some(value);
            }
        }
        None
    }

    #[inline]
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }

    #[inline(always)]
    fn field(&mut self) -> Option<(u32, Value<'a>)> {
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).ok().filter(|number| *number > 0)?;
        let value = match tag & 7 {
            0 => Value::Whole(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.take(4)?.try_into().ok()?)),
            _ => return None,
        };
        Some((number, value))
    }
}

/// Joins the low seven bits of each of eight bytes.
#[inline]
fn joined(bytes: u64) -> u64 {
    let pairs = (bytes & 0x007f_007f_007f_007f) | ((bytes & 0x7f00_7f00_7f00_7f00) >> 1);
    let fours = (pairs & 0x0000_3fff_0000_3fff) | ((pairs & 0x3fff_0000_3fff_0000) >> 2);
    (fours & 0x0fff_ffff) | ((fours & 0x0fff_ffff_0000_0000) >> 4)
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.whole = false;
            self.rest = &[];
        }
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_as_the_format_says() {
        // From the examples in protobuf's encoding documentation.
        let mut fields = Fields::of(b"\x08\x96\x01\x12\x07testing");
        assert_eq!(fields.next(), Some((1, Value::Whole(150))));
        assert_eq!(fields.next(), Some((2, Value::Bytes(b"testing"))));
        assert_eq!((fields.next(), fields.whole), (None, true));
    }

    #[test]
    fn whole_numbers_of_every_length_are_read_alike_before_and_at_the_end() {
        for shift in 0..64 {
            let number = 0xa5c3_96e1_d278_b4f9_u64 >> shift;
            let mut bytes = vec![0x08];
            let mut rest = number;
            while rest >= 0x80 {
                bytes.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            bytes.push(rest as u8);
            assert_eq!(Fields::of(&bytes).next(), Some((1, Value::Whole(number))), "at the end");
            bytes.extend([0x10; 16]);
            assert_eq!(Fields::of(&bytes).next(), Some((1, Value::Whole(number))), "before more");
        }
    }

    #[test]
    fn what_is_cut_or_nonsense_ends_the_message() {
        for bytes in [
            &b"\x12\x07test"[..],
            b"\x08\x96",
            b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x0b",
            b"\x00\x01",
        ] {
            let mut fields = Fields::of(bytes);
            assert_eq!((fields.next(), fields.whole), (None, false), "{bytes:?}");
        }
    }
}
