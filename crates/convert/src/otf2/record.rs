//! OTF2's bytes: compressed numbers, records and chunks.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A number as its length and its bytes, lowest first; zero is a single zero.
#[inline]
pub(super) fn number(out: &mut Vec<u8>, value: u64) {
    let length = 8 - value.leading_zeros() as usize / 8;
    out.push(length as u8);
    out.extend_from_slice(&value.to_le_bytes()[..length]);
}

/// Means "none" in place of a number.
pub(super) const UNDEFINED: u8 = 0xff;

/// Zero-terminated text.
pub(super) fn text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().map(|byte| if byte == 0 { b' ' } else { byte }));
    out.push(0);
}

/// A record with its length and its body.
pub(super) fn record(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    out.push(kind);
    match u8::try_from(body.len()) {
        Ok(length) if length != u8::MAX => out.push(length),
        _ => {
            out.push(u8::MAX);
            out.extend_from_slice(&(body.len() as u64).to_le_bytes());
        }
    }
    out.extend_from_slice(body);
}

/// Begins every file and every chunk: the kind of record, then the byte order (little).
pub(super) const CHUNK: [u8; 2] = [0x03, 0x42];
/// Ends every file.
pub(super) const END: [u8; 2] = [0x02, 0x01];
/// Chunk kind, byte order, numbers of the first and the last event.
const HEADER: usize = 18;

/// A file of chunks of one size; only the current chunk is in memory, and the file is open only while a chunk
/// is written, so that there can be thousands.
pub(super) struct Chunks {
    path: PathBuf,
    size: usize,
    chunk: Vec<u8>,
    written: u64,
    /// Number of the last event before this chunk, and of the last one in it.
    before: u64,
    events: u64,
}

impl Chunks {
    /// A file without records yet.
    pub fn new(path: PathBuf, size: usize) -> Self {
        let mut chunks = Self { path, size, chunk: Vec::new(), written: 0, before: 0, events: 0 };
        chunks.begin();
        chunks
    }

    fn begin(&mut self) {
        self.chunk.clear();
        self.chunk.extend_from_slice(&CHUNK);
        self.chunk.resize(HEADER, 0);
        self.before = self.events;
    }

    /// The chunk, with room for `bytes` more; `true` if it is a new, empty one.
    pub fn room(&mut self, bytes: usize) -> io::Result<(&mut Vec<u8>, bool)> {
        if self.chunk.len() + bytes + END.len() > self.size {
            self.chunk.resize(self.size, 0);
            self.write()?;
            self.begin();
        }
        let fresh = self.chunk.len() == HEADER;
        Ok((&mut self.chunk, fresh))
    }

    /// Counts an event of this chunk.
    pub fn count(&mut self) {
        self.events += 1;
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    fn write(&mut self) -> io::Result<()> {
        self.chunk[2..10].copy_from_slice(&(self.before + 1).to_le_bytes());
        self.chunk[10..18].copy_from_slice(&self.events.to_le_bytes());
        let mut file = match self.written {
            0 => File::create(&self.path)?,
            _ => OpenOptions::new().append(true).open(&self.path)?,
        };
        file.write_all(&self.chunk)?;
        self.written += self.chunk.len() as u64;
        Ok(())
    }

    /// Writes the last chunk and returns the size of the file, which becomes durable with its folder.
    pub fn finish(&mut self) -> io::Result<u64> {
        self.chunk.extend_from_slice(&END);
        self.write()?;
        self.chunk = Vec::new();
        Ok(self.written)
    }
}

/// Writes an empty definition file.
pub(super) fn write_empty(path: &Path) -> io::Result<u64> {
    Chunks::new(path.to_path_buf(), 1 << 16).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_as_many_bytes_as_they_need() {
        for (value, bytes) in [
            (0, &[0u8][..]),
            (7, &[1, 7]),
            (0x1_02, &[2, 2, 1]),
            (1_000_000_000, &[4, 0, 0xca, 0x9a, 0x3b]),
            (u64::MAX, &[8, 255, 255, 255, 255, 255, 255, 255, 255]),
        ] {
            let mut out = Vec::new();
            number(&mut out, value);
            assert_eq!(out, bytes);
        }
    }

    #[test]
    fn long_records_have_long_lengths() {
        for (length, head) in [(254, &[10, 254][..]), (255, &[10, 255, 255, 0, 0, 0, 0, 0, 0, 0])] {
            let mut out = Vec::new();
            record(&mut out, 10, &vec![1; length]);
            assert_eq!(&out[..head.len()], head);
            assert_eq!(out.len(), head.len() + length);
        }
    }
}
