//! Perfetto's protobuf format: track events written as a stream; memory holds only which names and tracks
//! were already written.
//!
//! ```text
//! process ─┬─ thread (calls nest)
//!          ├─ GPU ─┬─ stream or queue ─ lanes beside it where work overlaps
//!          │       └─ counters: power, memory in use, one per hardware counter
//!          └─ counters of no device
//! ```
//!
//! Each slice is a begin and an end with exact nanoseconds; Perfetto sorts by time and keeps the order of
//! equal times, so parents are written before children. Every launched row has its own flow from its call.

mod annotations;
mod events;
mod names;
mod slices;
mod tracks;
mod wire;

use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use trace::Trace;

use files::OutputFile;

/// How to write a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Compress with gzip, which the Perfetto UI reads as well.
    pub gzip: bool,
    /// Tracks per HSA queue instead of per HIP stream.
    pub by_queue: bool,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Bytes of the file.
    pub bytes: u64,
    /// Slices: each has a begin and an end.
    pub slices: u64,
    /// What could not be represented exactly, one line each.
    pub remarks: Vec<String>,
}

/// Writes a finished trace to a file, atomically.
pub fn write(trace: &Trace, target: &Path, options: &Options) -> io::Result<Written> {
    let file = OutputFile::create(target)?;
    let (mut file, written) = if options.gzip {
        let buffered = BufWriter::with_capacity(1 << 18, file);
        let (gzip, written) = stream(trace, GzEncoder::new(buffered, Compression::new(1)), options)?;
        (gzip.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?, written)
    } else {
        stream(trace, file, options)?
    };
    let bytes = file.file()?.metadata()?.len();
    file.commit()?;
    Ok(Written { bytes, ..written })
}

/// Writes a finished trace as a stream; `bytes` are those of the stream.
pub fn stream<W: Write>(trace: &Trace, out: W, options: &Options) -> io::Result<(W, Written)> {
    events::write(trace, out, options)
}
