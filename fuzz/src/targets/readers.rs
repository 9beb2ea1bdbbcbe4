//! Readers of single files: whatever the bytes, they return a trace or an error, and never panic.

use std::path::PathBuf;
use std::sync::OnceLock;

use ingest::torch::{Parts, read_text};
use ingest::{Error, Format, Input, Progress};
use trace::{Needs, Trace};

/// A folder of this process in memory.
pub fn folder() -> &'static PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = PathBuf::from(format!("/dev/shm/rocm-perf-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("/dev/shm can be written to");
        folder
    })
}

/// Writes bytes to a file of the folder.
pub fn write(name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name);
    std::fs::write(&path, bytes).expect("/dev/shm has room");
    path
}

type Reader = fn(&Input, &Needs, &Progress) -> Result<Trace, Error>;

fn read(format: Format, name: &str, reader: Reader, bytes: &[u8]) {
    let path = write(name, bytes);
    let input = Input { format, path: path.clone(), files: vec![path], bytes: bytes.len() as u64 };
    if let Ok(mut trace) = reader(&input, &Needs::everything(), &Progress::default()) {
        trace.finish();
    }
}

pub fn torch_in_parts(bytes: &[u8], part: usize) -> Result<Trace, Error> {
    let input = Input { format: Format::Torch, path: "-".into(), files: Vec::new(), bytes: 1 };
    read_text(bytes, &input, &Needs::everything(), &Progress::default(), Parts { stretch: part, block: part })
}

/// The result does not depend on how the bytes are split.
pub fn torch(bytes: &[u8]) {
    let (whole, split) = (torch_in_parts(bytes, 1 << 30), torch_in_parts(bytes, 64));
    assert_eq!(whole.is_ok(), split.is_ok());
    if let (Ok(mut whole), Ok(split)) = (whole, split) {
        assert_eq!(format!("{:?}", whole.kernels), format!("{:?}", split.kernels));
        assert_eq!(format!("{:?}", whole.regions), format!("{:?}", split.regions));
        assert_eq!(whole.health, split.health);
        whole.finish();
    }
}

pub fn torch_gzip(bytes: &[u8]) {
    read(Format::Torch, "t.json.gz", ingest::torch::read, bytes);
}

pub fn rocpd(bytes: &[u8]) {
    read(Format::Rocpd, "t.db", ingest::rocpd::read, bytes);
}

pub fn rpd(bytes: &[u8]) {
    read(Format::Rpd, "t.rpd", ingest::rpd::read, bytes);
}

/// Through detection, as its reader is not public.
pub fn compute_analysis(bytes: &[u8]) {
    detected("analysis.db", bytes);
}

pub fn rocprofv3_json(bytes: &[u8]) {
    read(Format::Rocprofv3Json, "t_results.json", ingest::rocprofv3::json::read, bytes);
}

/// The first byte selects the file of a set.
pub fn rocprofv3_csv(bytes: &[u8]) {
    const NAMES: [&str; 6] = [
        "kernel_trace",
        "hip_api_trace",
        "memory_copy_trace",
        "counter_collection",
        "agent_info",
        "marker_api_trace",
    ];
    let Some((&first, rest)) = bytes.split_first() else { return };
    let name = format!("1_{}.csv", NAMES[usize::from(first) % NAMES.len()]);
    read(Format::Rocprofv3Csv, &name, ingest::rocprofv3::csv::read, rest);
}

/// Through detection, which distinguishes tables of the old tool from others.
pub fn rocprof(bytes: &[u8]) {
    detected("results.csv", bytes);
}

pub fn perfetto(bytes: &[u8]) {
    read(Format::Perfetto, "t.pftrace", ingest::perfetto::read, bytes);
}

pub fn xplane(bytes: &[u8]) {
    read(Format::Xplane, "t.xplane.pb", ingest::xplane::read, bytes);
}

/// Nothing in a pickle is ever executed: the reader cannot execute anything.
pub fn snapshot(bytes: &[u8]) {
    read(Format::Snapshot, "t.pickle", ingest::snapshot::read, bytes);
}

pub fn inspector(bytes: &[u8]) {
    read(Format::Inspector, "t.jsonl", ingest::inspector::read, bytes);
}

pub fn prometheus(bytes: &[u8]) {
    read(Format::Prometheus, "t.txt", ingest::prometheus::read, bytes);
}

pub fn unified_memory(bytes: &[u8]) {
    read(Format::UnifiedMemory, "t.json", ingest::unified_memory::read, bytes);
}

fn detected(name: &str, bytes: &[u8]) {
    let path = write(name, bytes);
    let _ = ingest::read(&[path], &Needs::everything(), &Progress::default());
}

/// Any bytes as a user passes them: the format is detected, then read.
pub fn detect(bytes: &[u8]) {
    detected("file", bytes);
}
