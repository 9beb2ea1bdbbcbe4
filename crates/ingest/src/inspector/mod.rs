//! JSON lines of RCCL's (and NCCL's) Inspector plugin: one object for each collective of a rank.
//!
//! ```text
//! {"header": {id, rank, n_ranks}, "metadata": {hostname, pid, …}, "coll_perf": {coll, coll_sn, …}} ─► a row of `collectives`
//! ```
//!
//! The communicator's id is the group and `coll_sn` the number of the operation in it, so rows of several
//! ranks are matched by both. Only verbose files record when an operation ran; the others record how long it
//! took. Unknown keys are skipped; an invalid object is counted, and reading continues with the next line.

mod operation;

use rapidhash::v3::rapidhash_v3;
use rayon::prelude::*;
use trace::{
    Collective, Map, Needs, OptI64, Process, ProcessId, RowRef, Source, SourceId, Status, StrId, Trace,
};

use self::operation::Operation;
use crate::bytes::read_whole;
use crate::json::Cursor;
use crate::{Error, Format, Input, Progress};

/// Bytes that one thread reads at a time.
const CHUNK: usize = 4 << 20;

/// The version of the format that this reader knows.
const KNOWN_VERSION: &[u8] = b"v4.";

/// Reads a file.
pub fn read(input: &Input, _: &Needs, progress: &Progress) -> Result<Trace, Error> {
    let bytes = read_whole(&input.path, progress)?;
    if bytes.mapped_len() > 0 {
        progress.advance(bytes.len() as u64);
    }
    let parts: Vec<ParsedChunk> = chunks(&bytes).into_par_iter().map(part).collect();
    let damaged: u64 = parts.iter().map(|part| part.damaged).sum();
    if parts.iter().all(|part| part.operations.is_empty()) {
        let why = "it has no valid collective".into();
        return Err(Error::Damaged { path: input.path.clone(), format: "output of RCCL's Inspector", why });
    }
    let mut trace = Trace::default();
    let source = Source {
        bytes: input.bytes,
        // It has facts about a rank, but is not a timeline of one.
        role: Some("collectives".into()),
        ..Source::named(&input.path.to_string_lossy(), input.format.name())
    };
    let source = trace.add_source(source);
    let mut rows = Rows {
        trace,
        source,
        identity: rapidhash_v3(&bytes),
        processes: Map::default(),
        texts: Map::default(),
    };
    for operation in parts.iter().flat_map(|part| &part.operations) {
        rows.add(operation);
    }
    let Rows { mut trace, .. } = rows;
    if damaged > 0 {
        let message = format!("{damaged} objects of `{}` are invalid", input.path.display());
        trace.health.report("damaged_rows", Status::Warn, Some(damaged as f64), message);
    }
    if let Some(damage) = &bytes.damage {
        let message = format!("`{}` stops early: {damage}", input.path.display());
        trace.health.report("truncated", Status::Warn, None, message);
    }
    let version = parts.iter().flat_map(|part| &part.operations).map(|operation| operation.version);
    if let Some(version) =
        version.into_iter().find(|version| !(version.is_empty() || version.starts_with(KNOWN_VERSION)))
    {
        let version = String::from_utf8_lossy(version);
        let message = format!("format version {version} is not supported; unknown keys are ignored");
        trace.health.report("format_version", Status::Warn, None, message);
    }
    Ok(trace)
}

/// Whether a file starts like the Inspector's.
pub(crate) fn is_inspector(head: &[u8]) -> bool {
    let has = |name: &str| memchr::memmem::find(head, name.as_bytes()).is_some();
    head.trim_ascii_start().starts_with(b"{")
        && has("\"header\"")
        && (has("\"coll_perf\"") || has("\"p2p_perf\"") || has("\"inspector_output_format_version\""))
}

/// The bytes in parts that start with an object.
fn chunks(bytes: &[u8]) -> Vec<&[u8]> {
    let mut chunks = Vec::new();
    let mut rest = bytes;
    while rest.len() > CHUNK {
        let Some(end) = memchr::memmem::find(&rest[CHUNK..], b"\n{").map(|place| CHUNK + place + 1) else {
            break;
        };
        let (chunk, after) = rest.split_at(end);
        chunks.push(chunk);
        rest = after;
    }
    chunks.push(rest);
    chunks
}

/// The contents of one chunk.
#[derive(Default)]
struct ParsedChunk<'a> {
    operations: Vec<Operation<'a>>,
    damaged: u64,
}

fn part(bytes: &[u8]) -> ParsedChunk<'_> {
    let mut part = ParsedChunk::default();
    let mut json = Cursor::new(bytes);
    while json.peek().is_some() {
        let start = json.pos();
        match Operation::read(&mut json) {
            Ok(Some(operation)) => part.operations.push(operation),
            Ok(None) => part.damaged += 1,
            Err(_) => {
                part.damaged += 1;
                match memchr::memmem::find(&bytes[start + 1..], b"\n{") {
                    Some(place) => json.seek(start + 1 + place + 1),
                    None => break,
                }
            }
        }
    }
    part
}

/// The trace under construction.
struct Rows<'a> {
    trace: Trace,
    source: SourceId,
    identity: u64,
    /// Process by host and pid, with the largest group that named its rank.
    processes: Map<(&'a [u8], i64), (ProcessId, i64)>,
    /// Texts that repeat often.
    texts: Map<&'a [u8], StrId>,
}

impl<'a> Rows<'a> {
    fn text(&mut self, text: &'a [u8]) -> StrId {
        let strings = &mut self.trace.strings;
        *self.texts.entry(text).or_insert_with(|| strings.intern_bytes(text).0)
    }

    fn add(&mut self, operation: &Operation<'a>) {
        let process = self.process(operation);
        let row = Collective {
            group: self.text(operation.group),
            group_size: operation.ranks.into(),
            sequence: operation.sequence.into(),
            operation: self.text(operation.name),
            bytes: operation.bytes.into(),
            dtype: StrId::EMPTY,
            row: RowRef::default(),
            process,
            peer: operation.peer.into(),
            start: operation.start.into(),
            time_ns: operation.time_ns.into(),
        };
        self.trace.collectives.push(row);
    }

    fn process(&mut self, operation: &Operation<'a>) -> ProcessId {
        let pid = operation.pid.unwrap_or(0);
        let ranks = operation.ranks.unwrap_or(0);
        if let Some((process, largest)) = self.processes.get_mut(&(operation.host, pid)) {
            // The rank in the largest group is the rank in the job.
            if ranks > *largest {
                *largest = ranks;
                let place = process.get().unwrap_or_default();
                self.trace.processes[place].rank = operation.rank;
            }
            return *process;
        }
        let hostname = self.text(operation.host);
        let number = self.processes.len();
        let guid = self.trace.strings.intern(&format!("inspector-{:016x}-{number}", self.identity));
        let process = Process {
            guid,
            hostname,
            rank: operation.rank,
            ppid: OptI64::NONE,
            ..Process::new(self.source, pid)
        };
        let process = self.trace.add_process(process);
        self.processes.insert((operation.host, pid), (process, ranks));
        process
    }
}

/// Reports files that share no communicator with the others: they are from another job.
pub(crate) fn name_strangers(trace: &mut Trace) {
    let format = Format::Inspector.name();
    let sources: Vec<usize> =
        (0..trace.sources.len()).filter(|&source| trace.sources[source].format == format).collect();
    if sources.len() < 2 {
        return;
    }
    // Files that share a group are one job.
    let mut job: Vec<usize> = (0..trace.sources.len()).collect();
    let mut first: Map<StrId, usize> = Map::default();
    for row in 0..trace.collectives.len() {
        let process = trace.collectives.process[row].get().map(|process| &trace.processes[process]);
        let Some(source) = process.and_then(|process| process.source.get()) else { continue };
        let known = *first.entry(trace.collectives.group[row]).or_insert(source);
        if job[known] != job[source] {
            let (from, to) = (job[source], job[known]);
            job.iter_mut().filter(|job| **job == from).for_each(|job| *job = to);
        }
    }
    let files_of = |of: usize| sources.iter().filter(|&&source| job[source] == of).count();
    let Some(largest) =
        sources.iter().map(|&source| (files_of(job[source]), std::cmp::Reverse(job[source]))).max()
    else {
        return;
    };
    // If each job has one file this proves nothing: they may be jobs of one rank.
    if largest.0 < 2 {
        return;
    }
    let strangers: Vec<String> = sources
        .iter()
        .filter(|&&source| job[source] != largest.1.0)
        .map(|&source| trace.sources[source].path.clone())
        .collect();
    if !strangers.is_empty() {
        let message = format!(
            "`{}` shares no communicator with the {} other files: it is from another job, or ranks are missing",
            strangers.join("`, `"),
            largest.0
        );
        trace.health.report("other_job", Status::Warn, Some(strangers.len() as f64), message);
    }
}
