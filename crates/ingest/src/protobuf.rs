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

    /// As bytes; none for numbers.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Value::Bytes(bytes) => bytes,
            _ => &[],
        }
    }
}

/// The fields of a message, one after the other, up to the first that makes no sense.
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    /// Whether the message ended where it should.
    pub whole: bool,
}

impl<'a> Fields<'a> {
    pub fn of(message: &'a [u8]) -> Self {
        Self { rest: message, whole: true }
    }

    /// Bytes that are not read yet.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    fn varint(&mut self) -> Option<u64> {
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

    #[inline]
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
        // The examples of protobuf's own documentation of its encoding.
        let mut fields = Fields::of(b"\x08\x96\x01\x12\x07testing");
        assert_eq!(fields.next(), Some((1, Value::Whole(150))));
        assert_eq!(fields.next(), Some((2, Value::Bytes(b"testing"))));
        assert_eq!((fields.next(), fields.whole), (None, true));
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
