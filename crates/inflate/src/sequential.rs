//! One thread inflates. The output does not depend on the size of the reads.

use std::io::{self, BufRead, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::{Damage, header};

/// Inflates all members of a gzip stream, front to back. Errors come after every byte before the damage.
pub struct Sequential<R> {
    from: R,
    inflate: Decompress,
    state: State,
    sum: Crc,
}

enum State {
    Head,
    Body,
    Trailer,
    /// The bytes before the damage were returned; the error comes next.
    Damaged(io::Error),
    Done,
}

impl<R: BufRead> Sequential<R> {
    /// Reads from the header of the first member.
    pub fn new(from: R) -> Self {
        Self { from, inflate: Decompress::new(false), state: State::Head, sum: Crc::new() }
    }

    fn body(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let input = self.from.fill_buf()?;
            let at_end = input.is_empty();
            let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
            let flush = if at_end { FlushDecompress::Finish } else { FlushDecompress::None };
            let status = self.inflate.decompress(input, into, flush);
            self.from.consume((self.inflate.total_in() - before_in) as usize);
            let count = (self.inflate.total_out() - before_out) as usize;
            self.sum.update(&into[..count]);
            match status {
                Ok(Status::StreamEnd) => self.state = State::Trailer,
                Ok(_) if count == 0 && at_end => return Err(Damage::Cut.into()),
                Ok(_) if count == 0 => continue,
                Ok(_) => {}
                Err(_) => self.state = State::Damaged(Damage::Wrong.into()),
            }
            return Ok(count);
        }
    }

    fn has_more(&mut self) -> io::Result<bool> {
        loop {
            match self.from.fill_buf() {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                rest => return rest.map(|rest| !rest.is_empty()),
            }
        }
    }

    fn trailer(&mut self) -> io::Result<()> {
        let mut stored = [0; header::TRAILER];
        self.from.read_exact(&mut stored)?;
        let here = [self.sum.sum().to_le_bytes(), self.sum.amount().to_le_bytes()];
        if stored != here.concat()[..] {
            return Err(Damage::Wrong.into());
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Sequential<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            match std::mem::replace(&mut self.state, State::Done) {
                State::Head => {
                    header::read(&mut self.from)?;
                    self.inflate.reset(false);
                    self.sum.reset();
                    self.state = State::Body;
                }
                State::Body => {
                    self.state = State::Body;
                    match self.body(into) {
                        Ok(0) => {}
                        Ok(count) => return Ok(count),
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => return Err(e),
                        Err(e) => self.state = State::Damaged(e),
                    }
                }
                State::Trailer => {
                    self.trailer()?;
                    if self.has_more()? {
                        self.state = State::Head;
                    }
                }
                State::Damaged(error) => return Err(error),
                State::Done => return Ok(0),
            }
        }
    }
}
