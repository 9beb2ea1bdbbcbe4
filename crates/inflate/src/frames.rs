//! zstd files with many frames, as written by parallel compressors and loggers: each frame is independent.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use zstd::bulk::Decompressor;
use zstd::zstd_safe;

use crate::Input;

/// Largest frame that a worker unpacks; larger ones are unpacked piece by piece, in order.
const MOST: u64 = 16 << 20;

/// Unpacks the frames of a zstd file with several threads.
///
/// A frame that is damaged, too large or of unknown size, and everything after it, is unpacked in order. So
/// the readable part before damage does not depend on the number of threads.
pub struct Frames {
    input: Input,
    frames: Option<Sender<Frame>>,
    workers: Vec<JoinHandle<()>>,
    ahead: VecDeque<(Frame, Receiver<Option<Vec<u8>>>)>,
    /// Start of the next frame to hand out; `None` if the rest is unpacked in order.
    next: Option<usize>,
    current: (Vec<u8>, usize),
    rest: Option<zstd::stream::read::Decoder<'static, io::BufReader<Rest>>>,
    passed: usize,
}

/// A frame in the file.
#[derive(Clone)]
struct Frame {
    from: usize,
    until: usize,
    size: usize,
    answer: Sender<Option<Vec<u8>>>,
}

/// Whether a zstd file has more than one frame, and a worker can unpack the first.
pub fn has_many_frames(data: &[u8]) -> bool {
    whole_frame(data, 0).is_some_and(|(until, _)| until < data.len())
}

/// End of the frame at `from` and its unpacked size, if a worker can unpack it.
fn whole_frame(data: &[u8], from: usize) -> Option<(usize, usize)> {
    let rest = data.get(from..)?;
    let packed = zstd_safe::find_frame_compressed_size(rest).ok()?;
    let size = zstd_safe::get_frame_content_size(rest).ok()??;
    (size <= MOST).then_some((from + packed, size as usize))
}

impl Frames {
    /// Starts `threads` workers on a file.
    pub fn new(input: Input, threads: usize) -> Self {
        let (frames, to_unpack) = unbounded::<Frame>();
        let workers = (0..threads.max(1))
            .map(|_| {
                let (input, to_unpack) = (input.clone(), to_unpack.clone());
                std::thread::spawn(move || unpack(&input, &to_unpack))
            })
            .collect();
        let (frames, next) = (Some(frames), Some(0));
        let (ahead, current) = (VecDeque::new(), (Vec::new(), 0));
        Self { input, frames, workers, ahead, next, current, rest: None, passed: 0 }
    }

    /// Compressed bytes processed so far.
    pub fn position(&self) -> usize {
        self.rest.as_ref().map_or(self.passed, |rest| rest.get_ref().get_ref().at)
    }

    fn hand_out(&mut self) {
        let data = self.input.as_ref().as_ref();
        while let (Some(from), Some(frames)) = (self.next, &self.frames)
            && self.ahead.len() <= 2 * self.workers.len()
        {
            let Some((until, size)) = whole_frame(data, from) else {
                self.next = None;
                break;
            };
            let (answer, answered) = bounded(1);
            let frame = Frame { from, until, size, answer };
            // A worker ends only after this.
            let _ = frames.send(frame.clone());
            self.ahead.push_back((frame, answered));
            self.next = Some(until);
        }
    }

    /// Unpacks in order from here on.
    fn go_in_order(&mut self) -> io::Result<()> {
        self.next = None;
        self.ahead.clear();
        let rest = Rest { input: self.input.clone(), at: self.passed };
        self.rest = Some(zstd::stream::read::Decoder::new(rest)?);
        Ok(())
    }
}

impl Read for Frames {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            let (bytes, at) = &mut self.current;
            if *at < bytes.len() {
                let count = (bytes.len() - *at).min(into.len());
                into[..count].copy_from_slice(&bytes[*at..*at + count]);
                *at += count;
                return Ok(count);
            }
            if let Some(rest) = &mut self.rest {
                return rest.read(into);
            }
            self.hand_out();
            match self.ahead.pop_front() {
                Some((frame, answered)) => match answered.recv() {
                    Ok(Some(bytes)) => {
                        self.current = (bytes, 0);
                        self.passed = frame.until;
                    }
                    Ok(None) | Err(_) => self.go_in_order()?,
                },
                None if self.passed == self.input.as_ref().as_ref().len() => return Ok(0),
                None => self.go_in_order()?,
            }
        }
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        self.frames = None;
        self.ahead.clear();
        for worker in self.workers.drain(..) {
            // A worker that panicked has already reported it.
            let _ = worker.join();
        }
    }
}

/// Unpacks frames until the reader is dropped.
fn unpack(input: &Input, frames: &Receiver<Frame>) {
    let data = input.as_ref().as_ref();
    let mut unpacker = Decompressor::new().ok();
    for frame in frames {
        let bytes = unpacker.as_mut().and_then(|unpacker| {
            let bytes = unpacker.decompress(&data[frame.from..frame.until], frame.size).ok()?;
            (bytes.len() == frame.size).then_some(bytes)
        });
        // The reader may have hit damage and stopped waiting.
        let _ = frame.answer.send(bytes);
    }
}

/// The rest of a file.
struct Rest {
    input: Input,
    at: usize,
}

impl Read for Rest {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let rest = &self.input.as_ref().as_ref()[self.at..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}
