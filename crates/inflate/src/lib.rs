//! Unpacks gzip and zstd, on many cores if that is faster.
//!
//! ```text
//!             ┌► find a block, record its literals and copies ─┐
//! file ─ranges┤                                                ├► in order: known window ─► bytes, CRC ─► reader
//!             └► …                                             ┘
//! ```
//!
//! A gzip member is one chain: every block may copy from the 32 KiB before it. A worker that starts in the
//! middle guesses where a block begins, records literals and copies, and marks in the last 32 KiB which bytes
//! come from before its start. The reader goes through the chunks in order: a chunk that begins exactly where
//! the one before ended is right, its marks give the window of the next one, and a worker writes its bytes;
//! any other chunk is discarded and its stretch is decoded in order. So a wrong guess costs only time, and
//! damage appears at the same byte as with one thread.

mod bits;
mod chunk;
mod copy;
mod decode;
mod find;
mod frames;
mod header;
mod huffman;
mod parallel;
mod recorded;
mod sequential;
mod window;
mod worker;

pub use frames::{Frames, has_many_frames};
pub use parallel::Parallel;
pub use sequential::Sequential;

use std::io;
use std::sync::Arc;

/// Compressed bytes that all workers see, usually a mapped file.
pub type Input = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Threads needed to inflate one file in parallel: with marks for unknown bytes, inflating takes twice the
/// CPU time, and the parser needs threads as well.
const LEAST_THREADS: usize = 4;

/// Minimum bytes of a gzip file to inflate in parallel.
const LEAST_PARALLEL: u64 = 2 << 20;

/// Whether this many threads inflate a gzip file of this size faster than one.
pub fn pays(bytes: u64, threads: usize) -> bool {
    threads >= LEAST_THREADS && bytes >= LEAST_PARALLEL
}

/// How far back a match can reach, in bytes.
const WINDOW: usize = 32 << 10;

/// Why a stream ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    /// The bytes end in the middle.
    Cut,
    /// The bytes are not a deflate stream or do not match their checksum.
    Wrong,
}

impl From<Damage> for io::Error {
    fn from(damage: Damage) -> Self {
        match damage {
            Damage::Cut => io::Error::new(io::ErrorKind::UnexpectedEof, "incomplete gzip stream"),
            Damage::Wrong => io::Error::new(io::ErrorKind::InvalidInput, "corrupt gzip stream"),
        }
    }
}
