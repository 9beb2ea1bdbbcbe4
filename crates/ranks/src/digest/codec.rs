//! Numbers and texts as bytes: variable-length integers, texts by number, columns of differences.

/// Why bytes could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it ends early or holds an impossible value")]
pub(super) struct Malformed;

#[derive(Default)]
pub(super) struct Writer {
    pub bytes: Vec<u8>,
}

impl Writer {
    pub fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Small numbers of either sign are short.
    pub fn signed(&mut self, value: i64) {
        self.number(((value << 1) ^ (value >> 63)) as u64);
    }

    /// Zero stands for `None`.
    pub fn optional(&mut self, value: Option<i64>) {
        match value {
            None => self.number(0),
            Some(value) => {
                self.number(1);
                self.signed(value);
            }
        }
    }

    pub fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    pub fn list<T>(&mut self, list: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.number(list.len() as u64);
        for item in list {
            each(self, item);
        }
    }

    /// Numbers that rise or change slowly, as differences.
    pub fn column(&mut self, values: impl Iterator<Item = i64>) {
        let mut last = 0i64;
        for value in values {
            self.signed(value.wrapping_sub(last));
            last = value;
        }
    }
}

pub(super) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub fn is_done(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn number(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for place in 0..10 {
            let (&byte, rest) = self.bytes.split_first().ok_or(Malformed)?;
            self.bytes = rest;
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    pub fn signed(&mut self) -> Result<i64, Malformed> {
        let value = self.number()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Malformed> {
        T::try_from(self.number()?).map_err(|_| Malformed)
    }

    pub fn optional(&mut self) -> Result<Option<i64>, Malformed> {
        match self.number()? {
            0 => Ok(None),
            1 => self.signed().map(Some),
            _ => Err(Malformed),
        }
    }

    pub fn text(&mut self) -> Result<String, Malformed> {
        let length: usize = self.small()?;
        if length > self.bytes.len() {
            return Err(Malformed);
        }
        let (text, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        String::from_utf8(text.to_vec()).map_err(|_| Malformed)
    }

    /// The length of a list, of which each entry takes at least a byte.
    pub fn length(&mut self) -> Result<usize, Malformed> {
        let length: usize = self.small()?;
        if length > self.bytes.len() { Err(Malformed) } else { Ok(length) }
    }

    pub fn list<T>(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let length = self.length()?;
        (0..length).map(|_| each(self)).collect()
    }

    /// Reads a column into the rows that it belongs to.
    pub fn column<T>(&mut self, rows: &mut [T], mut put: impl FnMut(&mut T, i64)) -> Result<(), Malformed> {
        let mut last = 0i64;
        for row in rows {
            last = last.wrapping_add(self.signed()?);
            put(row, last);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_a_cut_is_noticed() {
        let mut writer = Writer::default();
        let columns = [5i64, -3, i64::MAX, i64::MIN, 0];
        writer.text("node·7");
        writer.optional(None);
        writer.optional(Some(-9));
        writer.list(&columns, |writer, &value| writer.signed(value));
        writer.column(columns.into_iter());
        let read = |bytes: &[u8]| -> Result<(), Malformed> {
            let mut reader = Reader::new(bytes);
            assert_eq!(reader.text()?, "node·7");
            assert_eq!((reader.optional()?, reader.optional()?), (None, Some(-9)));
            assert_eq!(reader.list(Reader::signed)?, columns);
            let mut rows = [0i64; 5];
            reader.column(&mut rows, |row, value| *row = value)?;
            assert_eq!(rows, columns);
            assert!(reader.is_done());
            Ok(())
        };
        read(&writer.bytes).expect("whole");
        for end in 0..writer.bytes.len() {
            assert!(read(&writer.bytes[..end]).is_err(), "cut at {end}");
        }
    }
}
