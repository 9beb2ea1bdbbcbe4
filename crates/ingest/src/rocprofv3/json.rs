//! rocprofv3 JSON (`rocprofiler-sdk-tool`): one object per process, whose records refer to names, kernels
//! and devices by number.
//!
//! ```text
//! bytes ─► sections of each process (where they are) ─► facts (names, symbols, devices) ─► records ─► tables
//! ```
//!
//! Sections are located first, so their order in the file does not matter; records are then read in one pass,
//! without a tree.

mod counters;
mod facts;
mod identity;
mod record;
mod rows;
mod samples;
mod sections;
mod symbols;

use trace::{Map, Needs, ProcessId, Source, SourceId, Status, Trace};

use self::facts::Names;
use self::identity::Devices;
use self::record::records;
use self::sections::Sections;
use self::symbols::Symbols;
use crate::bytes::read_whole;
use crate::entities::Entities;
use crate::{Error, Input, Progress};

/// Reads one JSON result (plain, gzip or zstd).
pub fn read(input: &Input, needs: &Needs, progress: &Progress) -> Result<Trace, Error> {
    let bytes = read_whole(&input.path, progress)?;
    let processes = sections::processes(&bytes);
    if processes.is_empty() {
        let why =
            "no process found: the file ends before the first record, or its beginning is damaged".into();
        return Err(Error::Damaged { path: input.path.clone(), format: input.format.name(), why });
    }
    let mut trace = Trace::default();
    let path = input.path.to_string_lossy();
    let source = Source { bytes: input.bytes, ..Source::named(&path, input.format.name()) };
    let source = trace.add_source(source);
    let mut lost = Lost { cut: bytes.damage.is_some(), ..Lost::default() };
    for sections in &processes {
        lost.structure(sections);
        Reader::new(&mut trace, source, sections, needs, &mut lost).read();
    }
    progress.advance(bytes.mapped_len() as u64);
    lost.report(&mut trace, &path);
    Ok(trace)
}

/// Counts of what could not be read.
#[derive(Default)]
struct Lost {
    /// Records that did not parse.
    records: u64,
    /// Records without times.
    unusable: u64,
    /// Sections with unbalanced brackets.
    sections: u64,
    /// Whether the file ends too early.
    cut: bool,
    /// Kernels without a symbol.
    nameless: u64,
}

impl Lost {
    fn structure(&mut self, sections: &Sections<'_>) {
        self.sections += sections.damaged;
        self.cut |= sections.cut;
    }

    fn report(&self, trace: &mut Trace, path: &str) {
        let health = &mut trace.health;
        if self.cut {
            let message = format!("`{path}` is cut off; everything before the cut was read");
            health.report("truncated", Status::Warn, None, message);
        }
        let counts = [
            ("damaged_rows", self.records + self.unusable, "records could not be read"),
            (
                "damaged_sections",
                self.sections,
                "parts of the file are damaged, their records may be incomplete",
            ),
            ("kernel_names", self.nameless, "kernels have no symbol and are named by their id"),
        ];
        for (id, count, what) in counts {
            if count > 0 {
                let message = format!("`{path}`: {count} {what}");
                health.report(id, Status::Warn, Some(count as f64), message);
            }
        }
    }
}

/// The state of reading one process.
struct Reader<'a, 'r> {
    trace: &'r mut Trace,
    needs: &'r Needs,
    lost: &'r mut Lost,
    sections: &'r Sections<'a>,
    process: ProcessId,
    entities: Entities,
    devices: Devices,
    names: Names<'a>,
    symbols: Symbols<'a>,
    /// Kernel rows by dispatch, built when counters first need them.
    dispatches: Map<i64, u32>,
}

impl<'a, 'r> Reader<'a, 'r> {
    fn new(
        trace: &'r mut Trace,
        source: SourceId,
        sections: &'r Sections<'a>,
        needs: &'r Needs,
        lost: &'r mut Lost,
    ) -> Self {
        let process = identity::process(trace, source, sections.get("metadata"));
        let devices = Devices::read(trace, process, sections.get("agents"), &mut lost.records);
        let names = Names::read(sections.get("strings"));
        let symbols = Symbols::read(sections.get("kernel_symbols"), &mut lost.records);
        let (entities, dispatches) = (Entities::default(), Map::default());
        Self { trace, needs, lost, sections, process, entities, devices, names, symbols, dispatches }
    }

    fn read(mut self) {
        let buffers = sections::lists(self.sections.get("buffer_records"));
        self.lost.structure(&buffers);
        for (list, bytes) in buffers.parts {
            self.buffer(list, bytes);
        }
        let callbacks = sections::lists(self.sections.get("callback_records"));
        self.lost.structure(&callbacks);
        for (list, bytes) in callbacks.parts {
            if list == b"counter_collection" {
                self.counter_collection(bytes);
            } else {
                self.buffer(list, bytes);
            }
        }
        if self.needs.shapes {
            self.all_symbols();
        }
    }

    /// Reads a list of records into the table it belongs to.
    fn buffer(&mut self, list: &[u8], bytes: &'a [u8]) {
        let needs = self.needs;
        let (wanted, take): (bool, fn(&mut Self, &record::Record<'a>)) = match list {
            b"kernel_dispatch" => (needs.kernels || needs.counters, Self::kernel),
            b"memory_copy" => (needs.memory_copies, Self::copy),
            b"memory_allocation" => (needs.memory_allocations, Self::allocation),
            b"scratch_memory" => (needs.memory_allocations, Self::scratch),
            b"pc_sample_host_trap" => (needs.samples, Self::host_trap_sample),
            b"pc_sample_stochastic" => (needs.samples, Self::stochastic_sample),
            _ => (needs.regions || needs.links || needs.samples, Self::call),
        };
        if wanted {
            let damaged = records(bytes, |record| take(self, record));
            self.lost.records += damaged;
        }
    }
}
