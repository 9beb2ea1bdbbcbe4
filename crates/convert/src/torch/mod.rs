//! torch/Kineto/Chrome JSON with the field set of Kineto on ROCm, written as a stream.
//!
//! `write` puts a whole trace into one file; [`Writer`] takes it block by block, so that a generator never
//! holds a large run in memory. Times are exact: nanoseconds printed as microseconds with three decimals.

mod bytes;
mod events;
mod gpu;
mod header;
mod lanes;
mod metadata;
mod numbering;
mod object;
mod places;

use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use trace::Trace;

pub(crate) use bytes::{float, int, string};
use files::OutputFile;

use bytes::Text;
use lanes::Lanes;
use numbering::Numbering;

/// How to write a trace.
#[derive(Clone, Debug)]
pub struct Options {
    /// Compress with gzip at the level of `gzip -1`.
    pub gzip: bool,
    /// Write LDS and registers of kernels, which Kineto on ROCm does not.
    pub registers: bool,
    /// Number host events with `Ev Idx`, as Kineto does.
    pub event_index: bool,
    /// Write `ac2g` flows from launches to GPU work.
    pub flows: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { gzip: false, registers: true, event_index: false, flows: true }
    }
}

/// Writes a trace to a file, atomically; returns its size.
pub fn write(trace: &Trace, target: &Path, options: &Options) -> io::Result<u64> {
    let mut file = FileWriter::create(target, options.clone())?;
    file.begin(trace)?;
    file.append(trace)?;
    file.finish()
}

/// What the trace has but the JSON cannot hold, one line each.
pub fn left_out(trace: &Trace) -> Vec<String> {
    let counters = trace.counters.len();
    let line = format!("left out {counters} values of hardware counters; pftrace can hold them");
    (counters > 0).then_some(line).into_iter().collect()
}

/// A [`Writer`] into a file, compressed or not.
pub enum FileWriter {
    /// Plain JSON.
    Plain(Box<Writer<OutputFile>>),
    /// Compressed JSON.
    Gzip(Box<Writer<GzEncoder<BufWriter<OutputFile>>>>),
}

impl FileWriter {
    /// Opens a file; it appears under its name once `finish` succeeds.
    pub fn create(target: &Path, options: Options) -> io::Result<Self> {
        let file = OutputFile::create(target)?;
        Ok(if options.gzip {
            let buffered = BufWriter::with_capacity(1 << 18, file);
            Self::Gzip(Box::new(Writer::new(GzEncoder::new(buffered, Compression::new(1)), options)))
        } else {
            Self::Plain(Box::new(Writer::new(file, options)))
        })
    }

    /// Writes everything before the events of `trace`: properties, names of processes and threads.
    pub fn begin(&mut self, trace: &Trace) -> io::Result<()> {
        match self {
            Self::Plain(writer) => writer.begin(trace),
            Self::Gzip(writer) => writer.begin(trace),
        }
    }

    /// Writes the rows of a block. All blocks share the identity tables and strings given to `begin`.
    pub fn append(&mut self, trace: &Trace) -> io::Result<()> {
        match self {
            Self::Plain(writer) => writer.append(trace),
            Self::Gzip(writer) => writer.append(trace),
        }
    }

    /// Bytes of JSON so far, before compression.
    pub fn written(&self) -> u64 {
        match self {
            Self::Plain(writer) => writer.written(),
            Self::Gzip(writer) => writer.written(),
        }
    }

    /// Closes the JSON and renames the file; returns its size on disk.
    pub fn finish(self) -> io::Result<u64> {
        let mut file = match self {
            Self::Plain(writer) => writer.finish()?,
            Self::Gzip(writer) => {
                writer.finish()?.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?
            }
        };
        let size = file.file()?.metadata()?.len();
        file.commit()?;
        Ok(size)
    }
}

/// Size at which it is flushed.
const BUFFER: usize = 1 << 20;

/// Writes blocks of a trace as events of one JSON document.
pub struct Writer<W: Write> {
    out: W,
    buffer: Vec<u8>,
    flushed: u64,
    options: Options,
    text: Text,
    numbers: Numbering,
    lanes: Lanes,
    first: bool,
}

impl<W: Write> Writer<W> {
    /// A writer that has written nothing yet.
    pub fn new(out: W, options: Options) -> Self {
        let buffer = Vec::with_capacity(BUFFER + (1 << 16));
        let (text, numbers, lanes) = (Text::default(), Numbering::default(), Lanes::default());
        Self { out, buffer, flushed: 0, options, text, numbers, lanes, first: true }
    }

    /// Writes everything before the events of `trace`: properties, names of processes and threads.
    pub fn begin(&mut self, trace: &Trace) -> io::Result<()> {
        self.lanes = Lanes::of(trace);
        header::properties(&mut self.buffer, trace);
        self.buffer.extend_from_slice(b"  \"traceEvents\": [");
        self.names(trace)
    }

    /// Writes the rows of a block. All blocks share the identity tables and strings given to `begin`.
    pub fn append(&mut self, trace: &Trace) -> io::Result<()> {
        self.numbers.prepare(trace);
        if !self.lanes.fit(trace) {
            self.lanes = Lanes::of(trace);
        }
        self.regions(trace)?;
        self.kernels(trace)?;
        self.copies(trace)?;
        self.allocations(trace)?;
        self.syncs(trace)?;
        self.samples(trace)?;
        self.forward_backward(trace)
    }

    /// Bytes so far.
    pub fn written(&self) -> u64 {
        self.flushed + self.buffer.len() as u64
    }

    /// Closes the JSON and returns the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.buffer.extend_from_slice(b"\n  ],\n  \"displayTimeUnit\": \"ms\"\n}\n");
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Starts an event: separator, flushing, opening brace.
    fn event(&mut self) -> io::Result<&mut Vec<u8>> {
        if self.buffer.len() >= BUFFER {
            self.out.write_all(&self.buffer)?;
            self.flushed += self.buffer.len() as u64;
            self.buffer.clear();
        }
        self.buffer.extend_from_slice(if self.first { b"\n  {\n    " } else { b",\n  {\n    " });
        self.first = false;
        Ok(&mut self.buffer)
    }
}
