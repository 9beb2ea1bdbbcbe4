//! Shared helpers of the torch reader's tests.
#![allow(dead_code)]

use std::io::Write;
use std::path::{Path, PathBuf};

use rocm_perf_ingest::torch::{self, Parts};
use rocm_perf_ingest::{Error, Format, Input, Progress};
use trace::{Needs, Status, Trace};

pub fn data() -> Option<PathBuf> {
    testing::data("")
}

pub fn read_file(path: &Path, needs: &Needs, parts: Parts) -> Result<Trace, Error> {
    let bytes = path.metadata().map_or(0, |meta| meta.len());
    let input = Input { format: Format::Torch, path: path.into(), files: vec![path.into()], bytes };
    torch::read_in_parts(&input, needs, &Progress::default(), parts)
}

pub fn read_with(content: &[u8], needs: &Needs, parts: Parts) -> Result<Trace, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    std::fs::write(&path, content).unwrap();
    read_file(&path, needs, parts)
}

pub fn read(content: &[u8]) -> Result<Trace, Error> {
    read_with(content, &Needs::everything(), Parts::default())
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn gunzip(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).unwrap();
    std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(file), &mut bytes).unwrap();
    bytes
}

/// Everything in a trace except the path and size of its file, ids included.
pub fn dump(trace: &Trace) -> String {
    let strings: Vec<&str> = trace.strings.iter().collect();
    let shapes: Vec<_> = trace.shapes.iter().collect();
    let sources: Vec<_> = trace.sources.iter().map(|s| (s.rank, &s.role, s.frames_skipped)).collect();
    [
        format!("{strings:?} {shapes:?} {sources:?}"),
        format!("{:?} {:?} {:?}", trace.processes, trace.threads, trace.agents),
        format!("{:?} {:?}", trace.streams, trace.metadata),
        format!("{:?}", trace.kernels),
        format!("{:?}", trace.memory_copies),
        format!("{:?}", trace.memory_allocations),
        format!("{:?}", trace.regions),
        format!("{:?} {:?} {:?}", trace.samples, trace.syncs, trace.collectives),
        format!("{:?} {:?}", trace.args, trace.links),
        format!("{:?}", trace.health),
    ]
    .join("\n")
}

/// The value of a health check that is not perfect.
pub fn problem(trace: &Trace, id: &str) -> Option<f64> {
    let check = trace.health.checks.iter().find(|check| check.id == id && check.status != Status::Pass)?;
    check.value
}

/// A trace with events of every kind.
pub fn generated(events: usize, pretty: bool) -> Vec<u8> {
    generated_with(events, pretty, r#""4", "", "[{lambda}, {\"ph\": 1}]""#)
}

/// A trace with objects inside that look like events.
pub fn misleading(events: usize, pretty: bool) -> Vec<u8> {
    generated_with(events, pretty, r#"{"name": "x"}, {"ph": "X", "dur": 1}"#)
}

fn generated_with(events: usize, pretty: bool, inputs: &str) -> Vec<u8> {
    let mut list = vec![
        r#"{"name": "process_name", "ph": "M", "ts": 1, "pid": 77, "tid": 0, "args": {"name": "python3"}}"#.to_string(),
        r#"{"name": "thread_name", "ph": "M", "ts": 1, "pid": 3, "tid": 7, "args": {"name": "stream 7 "}}"#.into(),
        r#"{"name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g", "pid": "Traces", "tid": "Trace PyTorch Profiler", "ts": 12.000}"#.into(),
    ];
    for i in 0..events {
        let (ts, id) = (1_000_000_000 + 10 * i, i + 1);
        list.push(match i % 12 {
            0 | 1 => format!(
                r#"{{"ph": "X", "cat": "cpu_op", "name": "aten::op{}", "pid": 77, "tid": 77, "ts": {ts}.250, "dur": 3.125, "args": {{"External id": {id}, "Input Dims": [[4, {i}], []], "Concrete Inputs": [{inputs}]}}}}"#,
                i % 7
            ),
            2 => format!(
                r#"{{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 77, "tid": 77, "ts": {ts}.5, "dur": 1, "args": {{"cid": 7, "correlation": {id}, "External id": {id}, "kernel": "void k{{lambda()#1}}<{{}}>", "grid": [1, 2, 3]}}}}"#
            ),
            3 => format!(
                r#"{{"ph": "X", "cat": "kernel", "name": "void k{{lambda()#{}}}::operator()(int, \"q\", {{\"ph\": 1}})", "pid": 3, "tid": 7, "ts": {ts}.001, "dur": 2.002, "args": {{"External id": {id}, "device": 3, "stream": 7, "correlation": {}, "kind": "Dispatch Kernel", "grid": [8, 2, 1], "block": [64, 2, 1]}}}}"#,
                i % 5,
                id - 1
            ),
            4 => format!(
                r#"{{"ph": "X", "cat": "python_function", "name": "a/b.py({i}): f", "pid": 77, "tid": 77, "ts": {ts}.001, "dur": 9, "args": {{"Python id": {id}, "Python parent id": null, "Ev Idx": {i}}}}}"#
            ),
            5 => format!(
                r#"{{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Host -> Device)", "pid": 3, "tid": 7, "ts": {ts}, "dur": 1.5, "args": {{"device": 3, "stream": 0, "correlation": {id}, "kind": "HtoD", "bytes": {}}}}}"#,
                64 * id
            ),
            6 => format!(
                r#"{{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 77, "tid": 77, "ts": {ts}.5, "args": {{"Bytes": {}, "Device Id": 0, "Device Type": 6, "Addr": {}}}}}"#,
                if i % 24 == 6 { 512 } else { -512 },
                140_000_000_000_000usize + i
            ),
            7 => format!(
                r#"{{"ph": "B", "cat": "own", "name": "outer", "pid": 77, "tid": 99, "ts": {ts}, "args": {{"note": "n{i}"}}}}"#
            ),
            8 => format!(r#"{{"ph": "E", "pid": 77, "tid": 99, "ts": {ts}}}"#),
            9 => format!(
                r#"{{"ph": "C", "name": "power", "pid": 77, "tid": 0, "ts": {ts}, "args": {{"gpu0": {i}.5, "gpu1": 7}}}}"#
            ),
            10 => format!(
                r#"{{"ph": "s", "id": {id}, "pid": 77, "tid": 77, "ts": {}.250, "cat": "fwdbwd", "name": "fwdbwd"}}"#,
                ts - 100
            ),
            _ => format!(
                r#"{{"ph": "f", "id": {}, "pid": 77, "tid": 77, "ts": {}.250, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"}}"#,
                id - 1,
                ts - 100
            ),
        });
    }
    let (open, between) = if pretty { ("\n  ", ",\n  ") } else { ("", ", ") };
    let list = list.join(between);
    let list = if pretty { list.replace("{\"ph\"", "{\n    \"ph\"") } else { list };
    format!(
        r#"{{"schemaVersion": 1, "deviceProperties": [{{"id": 0, "name": "AMD Instinct MI300X", "numSms": 304, "totalGlobalMem": 206141652992}}], "distributedInfo": {{"rank": 3, "world_size": 8}}, "trace_id": "ABC", "traceEvents": [{open}{list}], "traceName": "t.json", "baseTimeNanoseconds": 1700000000000000000}}"#
    )
    .into_bytes()
}

/// A small random generator, the same every time.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % sides
    }
}
