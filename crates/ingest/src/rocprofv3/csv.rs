//! rocprofv3 CSV sets: the files of one run, or of several processes that share a prefix.
//!
//! Columns are matched by name, so every release's column set reads alike; rows of `*_stats` files are totals
//! of the other files and are left out.

mod agents;
mod columns;
mod counters;
pub(crate) mod header;
mod processes;
mod rows;
mod samples;
mod split;

use std::path::Path;

use rapidhash::v3::rapidhash_v3;
use trace::{Map, Needs, ProcessId, Source, Status, StrId, Trace};

use self::agents::Agents;
use self::columns::Columns;
use self::header::CsvTable;
use self::processes::Processes;
use self::split::{Layout, Rows};
use crate::bytes::{InputBytes, read_whole};
use crate::entities::Entities;
use crate::{Error, Input, Progress};

/// A file of the set, opened.
struct OpenFile<'i> {
    path: &'i Path,
    kind: CsvTable,
    names: Vec<String>,
    doubled: bool,
    body: usize,
    bytes: InputBytes,
}

/// Reads one set of CSV files (`input.files`).
pub fn read(input: &Input, needs: &Needs, progress: &Progress) -> Result<Trace, Error> {
    let mut parts = Vec::new();
    for path in &input.files {
        let bytes = read_whole(path, progress)?;
        if let Some(part) = open(path, bytes) {
            parts.push(part);
        }
    }
    if !parts.iter().any(|part| !matches!(part.kind, CsvTable::Agents | CsvTable::Totals)) {
        let why = "it only has totals or devices, no trace rows".into();
        return Err(Error::NotATrace { path: input.path.clone(), why });
    }
    // Devices first, and kernels before the counters that refer to them.
    parts.sort_by_key(|part| part.kind);
    let identity = parts.iter().fold(0u64, |all, part| all.rotate_left(1) ^ rapidhash_v3(&part.bytes));
    let mut set = Set::new(input, needs, identity);
    for part in &parts {
        set.take(part);
        progress.advance(part.bytes.mapped_len() as u64);
    }
    Ok(set.finish())
}

fn open(path: &Path, bytes: InputBytes) -> Option<OpenFile<'_>> {
    let end = memchr::memchr(b'\n', &bytes).unwrap_or(bytes.len());
    let names = header::columns(&bytes[..end]);
    let kind = header::kind_of(&names).ok()?;
    // AMD's writer quotes every name and escapes nothing; Python's quotes only when needed and escapes.
    let doubled = !bytes[..end].contains(&b'"');
    let body = (end + 1).min(bytes.len());
    Some(OpenFile { path, kind, names, doubled, body, bytes })
}

/// The columns that hold free text.
const FREE_TEXT: &[(CsvTable, &[&str])] = &[
    (CsvTable::Kernels, &["kernel_name"]),
    (CsvTable::Counters, &["kernel_name"]),
    (CsvTable::Calls, &["function", "name"]),
];

/// The state of reading a set.
struct Set<'n> {
    trace: Trace,
    needs: &'n Needs,
    entities: Entities,
    agents: Agents,
    processes: Processes,
    /// Kernels by process and dispatch, built when counters first need them.
    dispatches: Option<Map<(ProcessId, i64), u32>>,
    /// Names with bytes that are not text.
    garbled: u64,
    /// Rows without a usable time or name.
    unusable: u64,
    /// Rows without a table in a trace.
    unread: u64,
}

impl<'n> Set<'n> {
    fn new(input: &Input, needs: &'n Needs, identity: u64) -> Self {
        let mut trace = Trace::default();
        let path = input.path.to_string_lossy();
        let source = Source { bytes: input.bytes, ..Source::named(&path, input.format.name()) };
        let source = trace.add_source(source);
        let name = input.path.file_name().unwrap_or_default().to_string_lossy();
        let pid = header::prefix(&name).and_then(|prefix| prefix.parse().ok());
        Self {
            trace,
            needs,
            entities: Entities::default(),
            agents: Agents::default(),
            processes: Processes::new(source, pid, identity),
            dispatches: None,
            garbled: 0,
            unusable: 0,
            unread: 0,
        }
    }

    fn take(&mut self, part: &OpenFile<'_>) {
        let columns = Columns::new(&part.names);
        let free = FREE_TEXT.iter().find(|(kind, _)| *kind == part.kind);
        let text = free.and_then(|(_, names)| columns.find(names).0);
        let layout = Layout { width: part.names.len(), text, doubled: part.doubled };
        let mut rows = Rows::new(&part.bytes[part.body..], layout);
        let unusable = std::mem::take(&mut self.unusable);
        match part.kind {
            CsvTable::Agents => self.take_agents(&columns, &mut rows),
            CsvTable::Kernels => self.take_kernels(&columns, &mut rows),
            CsvTable::Counters => self.take_counters(&columns, &mut rows),
            CsvTable::Calls => self.take_calls(&columns, &mut rows),
            CsvTable::Copies => self.take_copies(&columns, &mut rows),
            CsvTable::Allocations => self.take_allocations(&columns, &mut rows, false),
            CsvTable::Scratch => self.take_allocations(&columns, &mut rows, true),
            CsvTable::PcSamples => self.take_pc_samples(&columns, &mut rows),
            CsvTable::HipEvents => self.take_events(&columns, &mut rows),
            CsvTable::GraphLaunches => self.leave_out(&mut rows),
            CsvTable::Totals => return,
        }
        let lost = rows.damaged + self.unusable;
        self.unusable = unusable;
        self.report(part, lost, rows.cut);
    }

    fn report(&mut self, part: &OpenFile<'_>, lost: u64, cut: bool) {
        let file = part.path.display();
        let health = &mut self.trace.health;
        if lost > 0 {
            let message = format!("{lost} lines of `{file}` could not be read");
            health.report("damaged_rows", Status::Warn, Some(lost as f64), message);
        }
        if cut {
            let message = format!("`{file}` ends in the middle of a line");
            health.report("truncated", Status::Warn, None, message);
        }
        if let Some(damage) = &part.bytes.damage {
            health.report("truncated", Status::Warn, None, format!("`{file}` stops early: {damage}"));
        }
    }

    fn finish(mut self) -> Trace {
        let health = &mut self.trace.health;
        if self.garbled > 0 {
            let message = format!("{} names hold bytes that are not UTF-8", self.garbled);
            health.report("encoding", Status::Warn, Some(self.garbled as f64), message);
        }
        if self.unread > 0 {
            let message = format!(
                "{} graph launches were left out, because their kernels are in the trace",
                self.unread
            );
            health.report("graph_launches", Status::Pass, Some(self.unread as f64), message);
        }
        self.processes.finish(&mut self.trace);
        self.trace
    }

    /// A field as an interned string.
    fn text(&mut self, field: &[u8], doubled: bool) -> StrId {
        let (id, garbled) = if doubled && memchr::memmem::find(field, b"\"\"").is_some() {
            self.trace.strings.intern_bytes(&split::undoubled(field))
        } else {
            self.trace.strings.intern_bytes(field)
        };
        self.garbled += u64::from(garbled);
        id
    }

    fn take_agents(&mut self, columns: &Columns, rows: &mut Rows<'_>) {
        let Self { trace, agents, processes, .. } = self;
        agents.describe(trace, columns, rows, |trace, guid| processes.get(trace, guid, None));
    }

    fn leave_out(&mut self, rows: &mut Rows<'_>) {
        let mut fields = Vec::new();
        while rows.next(&mut fields) {
            self.unread += 1;
        }
    }
}
