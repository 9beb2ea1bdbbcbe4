//! Headers of gzip members, with the same checks and errors as flate2.

use std::io::{self, BufRead, Read};

use crate::Damage;

const HAS_CHECKSUM: u8 = 1 << 1;
const HAS_EXTRA: u8 = 1 << 2;
const HAS_NAME: u8 = 1 << 3;
const HAS_COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

/// The longest name or comment.
const MOST_TEXT: usize = 65535;

/// Bytes of the checksum and length after a member.
pub(crate) const TRAILER: usize = 8;

/// Reads the header of a member; true if it is a block of BGZF, a format of many small members.
pub(crate) fn read(from: &mut impl BufRead) -> io::Result<bool> {
    let mut from = Checked { from, sum: flate2::Crc::new() };
    let mut head = [0; 10];
    from.read_exact(&mut head)?;
    let flags = head[3];
    if head[..3] != [0x1f, 0x8b, 8] || flags & RESERVED != 0 {
        return Err(Damage::Wrong.into());
    }
    let mut bgzf = false;
    if flags & HAS_EXTRA != 0 {
        let mut length = [0; 2];
        from.read_exact(&mut length)?;
        let mut extra = vec![0; usize::from(u16::from_le_bytes(length))];
        from.read_exact(&mut extra)?;
        bgzf = extra.starts_with(BGZF);
    }
    for text in [HAS_NAME, HAS_COMMENT] {
        if flags & text != 0 {
            from.skip_text()?;
        }
    }
    if flags & HAS_CHECKSUM != 0 {
        let sum = from.sum.sum() as u16;
        let mut stored = [0; 2];
        from.read_exact(&mut stored)?;
        if sum != u16::from_le_bytes(stored) {
            return Err(Damage::Wrong.into());
        }
    }
    Ok(bgzf)
}

/// Prefix of the extra field of BGZF: its name and the length of its value.
const BGZF: &[u8] = b"BC\x02\0";

/// The next position from `from` on, before `until`, where a block of BGZF may begin.
pub(crate) fn next_bgzf(data: &[u8], from: usize, until: usize) -> Option<usize> {
    let within = data.get(from..data.len().min(until + 16))?;
    within
        .windows(16)
        .position(|head| head[..4] == [0x1f, 0x8b, 8, HAS_EXTRA] && head[12..16] == *BGZF)
        .map(|at| from + at)
}

/// The deflate stream after the header at `at`.
pub(crate) fn body(data: &[u8], at: usize) -> io::Result<(usize, bool)> {
    let mut rest = &data[at..];
    let bgzf = read(&mut rest)?;
    Ok((data.len() - rest.len(), bgzf))
}

/// Computes the checksum of what it reads.
struct Checked<'a, R> {
    from: &'a mut R,
    sum: flate2::Crc,
}

impl<R: BufRead> Checked<'_, R> {
    fn skip_text(&mut self) -> io::Result<()> {
        let mut byte = [0];
        let mut length = 0;
        loop {
            self.read_exact(&mut byte)?;
            if byte == [0] {
                return Ok(());
            }
            if length == MOST_TEXT {
                return Err(Damage::Wrong.into());
            }
            length += 1;
        }
    }
}

impl<R: Read> Read for Checked<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.sum.update(&into[..count]);
        Ok(count)
    }
}
