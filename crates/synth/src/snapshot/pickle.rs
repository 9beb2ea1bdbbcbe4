//! A pickle writer for plain data: protocol 4, with the memo that Python's own writer keeps.

use std::io::{self, Write};

use trace::Map;

/// Writes one pickle.
pub(super) struct Pickle<W: Write> {
    to: W,
    /// The memo number of each text.
    texts: Map<String, u32>,
    remembered: u32,
    written: u64,
    /// While a repeated value is written: its bytes so far.
    copy: Option<Vec<u8>>,
    /// Values that are repeated, by the caller's number: their bytes and how many memo entries they add.
    repeated: Map<u32, (Vec<u8>, u32)>,
}

impl<W: Write> Pickle<W> {
    pub fn begin(to: W) -> io::Result<Self> {
        let mut pickle = Self {
            to,
            texts: Map::default(),
            remembered: 0,
            written: 0,
            copy: None,
            repeated: Map::default(),
        };
        pickle.bytes(&[0x80, 4])?;
        Ok(pickle)
    }

    /// Ends the pickle; returns the writer and the size in bytes.
    pub fn end(mut self) -> io::Result<(W, u64)> {
        self.bytes(b".")?;
        Ok((self.to, self.written))
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        if let Some(copy) = &mut self.copy {
            copy.extend_from_slice(bytes);
        }
        self.to.write_all(bytes)
    }

    /// A value that is written many times. Once all its texts are known its bytes never change.
    pub fn again(&mut self, number: u32, write: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        if let Some((bytes, remembered)) = self.repeated.get(&number) {
            self.written += bytes.len() as u64;
            self.remembered += remembered;
            return self.to.write_all(bytes);
        }
        let (texts, remembered) = (self.texts.len(), self.remembered);
        self.copy = Some(Vec::new());
        write(self)?;
        let copy = self.copy.take().unwrap_or_default();
        if self.texts.len() == texts {
            self.repeated.insert(number, (copy, self.remembered - remembered));
        }
        Ok(())
    }

    fn memoize(&mut self) -> io::Result<()> {
        self.remembered += 1;
        self.bytes(&[0x94])
    }

    /// A text: in full the first time, then by its number.
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        if let Some(&number) = self.texts.get(text) {
            return match u8::try_from(number) {
                Ok(number) => self.bytes(&[b'h', number]),
                Err(_) => {
                    let [a, b, c, d] = number.to_le_bytes();
                    self.bytes(&[b'j', a, b, c, d])
                }
            };
        }
        match u8::try_from(text.len()) {
            Ok(length) => self.bytes(&[0x8c, length])?,
            Err(_) => {
                self.bytes(b"X")?;
                self.bytes(&(text.len() as u32).to_le_bytes())?;
            }
        }
        self.bytes(text.as_bytes())?;
        self.texts.insert(text.into(), self.remembered);
        self.memoize()
    }

    /// A whole number in the fewest bytes.
    pub fn int(&mut self, number: i64) -> io::Result<()> {
        if let Ok(number) = u8::try_from(number) {
            return self.bytes(&[b'K', number]);
        }
        if let Ok(number) = u16::try_from(number) {
            let [a, b] = number.to_le_bytes();
            return self.bytes(&[b'M', a, b]);
        }
        if let Ok(number) = i32::try_from(number) {
            let [a, b, c, d] = number.to_le_bytes();
            return self.bytes(&[b'J', a, b, c, d]);
        }
        let bytes = number.to_le_bytes();
        let sign = if number < 0 { 0xff } else { 0 };
        let mut length = 8;
        while length > 1 && bytes[length - 1] == sign && (bytes[length - 2] ^ sign) & 0x80 == 0 {
            length -= 1;
        }
        self.bytes(&[0x8a, length as u8])?;
        self.bytes(&bytes[..length])
    }

    pub fn bool(&mut self, value: bool) -> io::Result<()> {
        self.bytes(&[if value { 0x88 } else { 0x89 }])
    }

    /// A dictionary; `entries` writes keys and values in turn.
    pub fn dict(&mut self, entries: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        self.bytes(b"}")?;
        self.memoize()?;
        self.bytes(b"(")?;
        entries(self)?;
        self.bytes(b"u")
    }

    /// A list, in batches of 1,000 as Python writes them.
    pub fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut item: impl FnMut(&mut Self, T) -> io::Result<()>,
    ) -> io::Result<()> {
        self.bytes(b"]")?;
        self.memoize()?;
        let mut open = 0;
        for value in items {
            if open == 0 {
                self.bytes(b"(")?;
            }
            item(self, value)?;
            open += 1;
            if open == 1000 {
                self.bytes(b"e")?;
                open = 0;
            }
        }
        if open > 0 { self.bytes(b"e") } else { Ok(()) }
    }
}
