//! Files to inflate, and ways to read them.
#![allow(dead_code)] // Not every test file uses all of them.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use rocm_perf_inflate::{Parallel, Sequential};

/// Random numbers that are the same in every run.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % bound
    }
}

/// Lines like those of a trace: words that repeat, numbers that do not.
pub fn trace_text(bytes: usize, dice: &mut Dice) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes + 200);
    while text.len() < bytes {
        let (ts, dur, name) = (dice.below(1 << 30), dice.below(1 << 20), dice.below(40));
        let line = format!(
            "{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm_{name}\", \"ts\": {ts}.{}, \"dur\": {dur}}},\n",
            dice.below(1000)
        );
        text.extend_from_slice(line.as_bytes());
    }
    text.truncate(bytes);
    text
}

pub fn gzip(bytes: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Like programs that write as they go: the encoder is flushed at intervals.
pub fn gzip_flushed(bytes: &[u8], every: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
    for piece in bytes.chunks(every) {
        encoder.write_all(piece).unwrap();
        encoder.flush().unwrap();
    }
    encoder.finish().unwrap()
}

/// BGZF blocks: small members with their length in the header.
pub fn bgzf(bytes: &[u8], block: usize) -> Vec<u8> {
    let mut packed = Vec::new();
    for piece in bytes.chunks(block).chain([&[][..]]) {
        let member = gzip(piece, 6);
        let size = (member.len() + 8 - 1) as u16;
        packed.extend_from_slice(&[0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255, 6, 0, b'B', b'C', 2, 0]);
        packed.extend_from_slice(&size.to_le_bytes());
        packed.extend_from_slice(&member[10..]);
    }
    packed
}

/// The bytes from a reader, and the kind of error at its end.
pub type Read2 = (Vec<u8>, Option<ErrorKind>);

pub fn drain(mut reader: impl Read, at_once: usize) -> Read2 {
    let mut bytes = Vec::new();
    let mut block = vec![0; at_once];
    loop {
        match reader.read(&mut block) {
            Ok(0) => return (bytes, None),
            Ok(count) => bytes.extend_from_slice(&block[..count]),
            Err(error) => return (bytes, Some(error.kind())),
        }
    }
}

/// flate2, read one byte at a time: so it loses at most one byte before damage.
pub fn reference(packed: &[u8]) -> Read2 {
    drain(flate2::bufread::MultiGzDecoder::new(packed), 1)
}

pub fn sequential(packed: &[u8]) -> Read2 {
    drain(Sequential::new(std::io::BufReader::with_capacity(1000, packed)), 70_000)
}

pub fn parallel(packed: &[u8], threads: usize, range: usize) -> Read2 {
    let input = Arc::new(packed.to_vec());
    drain(Parallel::with_ranges(input, threads, range..=range), 50_000)
}

/// Compares without printing megabytes on a difference.
pub fn assert_same(left: &Read2, right: &Read2, what: &str) {
    let same = left.0.iter().zip(&right.0).take_while(|(a, b)| a == b).count();
    let sizes = (left.0.len(), right.0.len());
    assert!(left == right, "{what}: {sizes:?} bytes, the first {same} equal, {:?} and {:?}", left.1, right.1);
}
