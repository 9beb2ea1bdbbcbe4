//! A trial as a stream that a server unpacks: a tar archive of its facts and its files, made while it is read.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::PathBuf;

const BLOCK: u64 = 512;
/// Longest name in a plain header; longer ones have a separate entry.
const MOST_NAME: usize = 100;

/// A file of the archive.
#[derive(Clone, Debug)]
pub enum Entry {
    /// Bytes.
    Bytes(String, Vec<u8>),
    /// A file, and how long it is.
    File(String, PathBuf, u64),
}

/// The archive, from its beginning.
pub struct Archive {
    entries: std::vec::IntoIter<Entry>,
    part: Box<dyn Read + Send>,
    /// Bytes that the file being read still has to give.
    left: u64,
    ended: bool,
}

impl Archive {
    /// An archive of these files.
    pub fn of(entries: Vec<Entry>) -> Self {
        Self { entries: entries.into_iter(), part: Box::new(io::empty()), left: 0, ended: false }
    }

    /// Begins the next file, or the end.
    fn next(&mut self) -> io::Result<bool> {
        let (head, content, bytes): (_, Box<dyn Read + Send>, _) = match self.entries.next() {
            None if self.ended => return Ok(false),
            None => {
                self.ended = true;
                self.part = Box::new(io::repeat(0).take(2 * BLOCK));
                self.left = 2 * BLOCK;
                return Ok(true);
            }
            Some(Entry::Bytes(name, bytes)) => {
                let length = bytes.len() as u64;
                (headers(&name, length), Box::new(Cursor::new(bytes)), length)
            }
            Some(Entry::File(name, path, length)) => {
                (headers(&name, length), Box::new(File::open(path)?.take(length)), length)
            }
        };
        let padding = bytes.next_multiple_of(BLOCK) - bytes;
        self.left = head.len() as u64 + bytes + padding;
        self.part = Box::new(Cursor::new(head).chain(content).chain(io::repeat(0).take(padding)));
        Ok(true)
    }
}

impl Read for Archive {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.part.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                self.left = self.left.saturating_sub(read as u64);
                return Ok(read);
            }
            if self.left > 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a stored file was truncated"));
            }
            if !self.next()? {
                return Ok(0);
            }
        }
    }
}

/// The header of a file, preceded by an entry with its name if that is long.
fn headers(name: &str, bytes: u64) -> Vec<u8> {
    if name.len() <= MOST_NAME {
        return header(name.as_bytes(), bytes, b'0');
    }
    let mut long = header(b"././@LongLink", name.len() as u64 + 1, b'L');
    long.extend_from_slice(name.as_bytes());
    long.resize((long.len() as u64 + 1).next_multiple_of(BLOCK) as usize, 0);
    long.extend(header(&name.as_bytes()[..MOST_NAME], bytes, b'0'));
    long
}

fn header(name: &[u8], bytes: u64, kind: u8) -> Vec<u8> {
    let mut block = vec![0; BLOCK as usize];
    let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
    put(0, name);
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    if bytes < 1 << 33 {
        put(124, format!("{bytes:011o}\0").as_bytes());
    } else {
        put(124, &[0x80, 0, 0, 0]);
        put(128, &bytes.to_be_bytes());
    }
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar  \0");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checked with the system's `tar`.
    #[test]
    fn tar_unpacks_what_was_packed() {
        let folder = tempfile::tempdir().expect("a folder");
        let stored = folder.path().join("stored");
        std::fs::write(&stored, vec![7; 1500]).expect("written");
        let long = format!("logs/{}/{}.txt", "x".repeat(90), "y".repeat(90));
        let entries = vec![
            Entry::Bytes("trial.json".into(), b"{}".to_vec()),
            Entry::Bytes("empty".into(), Vec::new()),
            Entry::Bytes(long.clone(), b"long".to_vec()),
            Entry::File("deep/trace.bin".into(), stored.clone(), 1500),
        ];
        let mut bytes = Vec::new();
        Archive::of(entries).read_to_end(&mut bytes).expect("packed");
        let (archive, out) = (folder.path().join("a.tar"), folder.path().join("out"));
        std::fs::write(&archive, &bytes).expect("written");
        std::fs::create_dir(&out).expect("a folder");
        let made = std::process::Command::new("tar").arg("xf").arg(&archive).arg("-C").arg(&out).output();
        let made = made.expect("tar runs");
        assert!(made.status.success() && made.stderr.is_empty(), "{made:?}");
        let read = |name: &str| std::fs::read(out.join(name)).expect("unpacked");
        assert_eq!(read("trial.json"), b"{}");
        assert_eq!(read("empty"), b"");
        assert_eq!(read(&long), b"long");
        assert_eq!(read("deep/trace.bin"), vec![7; 1500]);
        let short = Entry::File("x".into(), stored, 2000);
        assert!(Archive::of(vec![short]).read_to_end(&mut Vec::new()).is_err(), "a file that shrank");
    }
}
