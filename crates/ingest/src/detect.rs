//! Which format a file has, from its content.

use std::fs::File;
use std::io::{BufRead, Cursor, ErrorKind, Read};
use std::path::Path;

use crate::Error;
use crate::code;
use crate::compute;
use crate::inspector::is_inspector;
use crate::prometheus;
use crate::rocpd::{Probe, probe};
use crate::rocprofv3::csv::header;
use crate::snapshot;
use crate::sniff::{JsonKind, describe, is_perfetto, is_xplane, top_level};
use crate::unified_memory;

/// A supported format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// SQLite database of rocprofv3 or rocprof-sys.
    Rocpd,
    /// SQLite database of rocmProfileData.
    Rpd,
    /// torch/Kineto/Chrome trace.
    Torch,
    /// rocprofv3 JSON.
    Rocprofv3Json,
    /// rocprofv3 CSV set.
    Rocprofv3Csv,
    /// Workload folder of ROCm Compute Profiler.
    Compute,
    /// Analysis database of ROCm Compute Profiler.
    ComputeAnalysis,
    /// Results table of the legacy rocprof.
    Rocprof,
    /// Perfetto trace of rocprofv3 or rocprof-sys.
    Perfetto,
    /// XSpace profile of JAX or TensorFlow.
    Xplane,
    /// Memory snapshot of torch.
    Snapshot,
    /// JSON lines of RCCL's Inspector plugin.
    Inspector,
    /// Metrics of omnistat, as exported by Prometheus or VictoriaMetrics.
    Prometheus,
    /// Page faults and migrations of rocprof-sys.
    UnifiedMemory,
}

impl Format {
    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Format::Rocpd => "rocpd",
            Format::Rpd => "rpd",
            Format::Torch => "torch",
            Format::Rocprofv3Json => "rocprofv3-json",
            Format::Rocprofv3Csv => "rocprofv3-csv",
            Format::Compute => "rocprof-compute",
            Format::ComputeAnalysis => "rocprof-compute-analysis",
            Format::Rocprof => "rocprof",
            Format::Perfetto => "perfetto",
            Format::Xplane => "xplane",
            Format::Snapshot => "memory-snapshot",
            Format::Inspector => "rccl-inspector",
            Format::Prometheus => "prometheus",
            Format::UnifiedMemory => "unified-memory",
        }
    }
}

/// Enough for any magic number and the header line of the widest CSV file.
const HEAD_BYTES: usize = 16 << 10;

/// A top-level key may come late in a JSON document; after this many bytes the keys seen so far decide.
const JSON_LIMIT: u64 = 16 << 20;

const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// The format of a file, or why it has none.
pub fn detect(path: &Path) -> Result<Format, Error> {
    let unreadable = |error: std::io::Error| Error::Unreadable { path: path.into(), why: reason(&error) };
    let mut file = File::open(path).map_err(unreadable)?;
    let kind = file.metadata().map_err(unreadable)?.file_type();
    if kind.is_dir() {
        return Err(not_a_trace(path, "a folder"));
    }
    if !kind.is_file() {
        // A pipe can be read only once, and piped input is usually a torch trace.
        return Ok(Format::Torch);
    }
    let head = head_of(&mut file).map_err(unreadable)?;
    if head.is_empty() {
        return Err(Error::Empty { path: path.into() });
    }
    if head.starts_with(SQLITE_MAGIC) {
        return database(path);
    }
    if compute::has_workload_name(path) {
        let unpacked = match packing(&head) {
            Some("gzip") => head_of(&mut flate2::read::MultiGzDecoder::new(&head[..])).unwrap_or_default(),
            _ => head.clone(),
        };
        let line = unpacked.split(|&b| b == b'\n').next().unwrap_or_default();
        if line.contains(&b',') && compute::is_workload_table(path, line) {
            return Ok(Format::Compute);
        }
    }
    of_content(head, file).map_err(|what| not_a_trace(path, &what))
}

/// The format of the data on standard input, without consuming any of it.
pub(crate) fn detect_stdin() -> Result<Format, Error> {
    let path = || Path::new("-").into();
    let mut stdin = std::io::stdin().lock();
    let head = stdin.fill_buf().map_err(|error| Error::Unreadable { path: path(), why: reason(&error) })?;
    if head.is_empty() {
        return Err(Error::Empty { path: path() });
    }
    if head.starts_with(SQLITE_MAGIC) {
        let why = "a SQLite database can only be read from a file".into();
        return Err(Error::NotATrace { path: path(), why });
    }
    let text = head.trim_ascii_start();
    match of_content(head.to_vec(), std::io::empty()) {
        Ok(format) => Ok(format),
        // Only the first block is visible: a document whose deciding key comes later may be a trace.
        Err(_) if text.starts_with(b"{") || packing(head).is_some() => Ok(Format::Torch),
        Err(what) => Err(not_a_trace(Path::new("-"), &what)),
    }
}

fn not_a_trace(path: &Path, what: &str) -> Error {
    Error::NotATrace { path: path.into(), why: format!("it is {what}") }
}

/// The operating system's reason without its number.
pub(crate) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// The readable part of the beginning: damage further on is left for the reader to report.
fn head_of(from: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut head = vec![0; HEAD_BYTES];
    let mut filled = 0;
    while filled < head.len() {
        match from.read(&mut head[filled..]) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if filled == 0 => return Err(error),
            Err(_) => break,
        }
    }
    head.truncate(filled);
    Ok(head)
}

fn database(path: &Path) -> Result<Format, Error> {
    match probe(path)? {
        Probe::Rocpd => Ok(Format::Rocpd),
        Probe::Rpd => Ok(Format::Rpd),
        Probe::ComputeAnalysis => Ok(Format::ComputeAnalysis),
        other => Err(Error::NotATrace { path: path.into(), why: other.why().into() }),
    }
}

/// The compression a file starts with.
fn packing(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x1f, 0x8b, ..] => Some("gzip"),
        // zstd files may open with a skippable frame.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some("zstd"),
        _ => None,
    }
}

fn of_content(head: Vec<u8>, rest: impl Read) -> Result<Format, String> {
    let Some(packed) = packing(&head) else { return of_plain(head, rest) };
    let from = Cursor::new(head).chain(rest);
    let damaged = |_| format!("damaged {packed} data");
    let mut inner: Box<dyn Read> = match packed {
        "gzip" => Box::new(flate2::read::MultiGzDecoder::new(from)),
        _ => Box::new(zstd::stream::read::Decoder::new(from).map_err(damaged)?),
    };
    let head = head_of(&mut inner).map_err(damaged)?;
    if head.is_empty() {
        return Err(format!("an empty {packed} file"));
    }
    if head.starts_with(SQLITE_MAGIC) {
        return Err(format!("a SQLite database inside {packed}; unpack it first"));
    }
    of_plain(head, inner).map_err(|what| format!("a {packed} file with {what}"))
}

fn of_plain(head: Vec<u8>, rest: impl Read) -> Result<Format, String> {
    if is_xplane(&head) {
        return Ok(Format::Xplane);
    }
    if snapshot::is_pickle(&head) {
        return snapshot::looks_like_snapshot(&head).map(|()| Format::Snapshot);
    }
    if is_perfetto(&head) {
        return Ok(Format::Perfetto);
    }
    if let Some(known) = describe(&head) {
        return Err(known.into());
    }
    if is_inspector(&head) {
        return Ok(Format::Inspector);
    }
    if let b'{' | b'[' = first_letter(&head) {
        return match top_level(Cursor::new(head).chain(rest.take(JSON_LIMIT))) {
            JsonKind::Torch => Ok(Format::Torch),
            JsonKind::Rocprofv3 => Ok(Format::Rocprofv3Json),
            JsonKind::Other(keys) if keys.is_empty() => Err("JSON without trace events".into()),
            JsonKind::Other(keys) if unified_memory::is_unified_memory(&keys) => Ok(Format::UnifiedMemory),
            JsonKind::Other(keys) if prometheus::is_json_metrics(&keys) => Ok(Format::Prometheus),
            JsonKind::Other(keys) if code::tool_of(&keys).is_some() => Err(format!(
                "{}, which has no times; `att` reads it",
                code::tool_of(&keys).unwrap_or_default()
            )),
            JsonKind::Other(keys) => {
                Err(format!("JSON without `traceEvents`, but with `{}`", keys.join("`, `")))
            }
        };
    }
    if prometheus::is_text_metrics(&head) {
        return Ok(Format::Prometheus);
    }
    let line = head.split(|&b| b == b'\n').next().unwrap_or_default();
    if line.contains(&b',') {
        if compute::is_legacy_table(line) {
            return Ok(Format::Rocprof);
        }
        return match header::kind_of(&header::columns(line)) {
            Ok(_) => Ok(Format::Rocprofv3Csv),
            Err(Some(known)) => Err(format!("{known}, which is not supported")),
            Err(None) => Err("a CSV file, but not with rocprofv3's columns".into()),
        };
    }
    Err(if is_text(&head) { "plain text" } else { "unknown binary data" }.into())
}

fn first_letter(head: &[u8]) -> u8 {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    text.trim_ascii_start().first().copied().unwrap_or_default()
}

fn is_text(head: &[u8]) -> bool {
    let odd = head.iter().filter(|b| **b < 9 || (14..32).contains(*b)).count();
    odd * 50 < head.len()
}
