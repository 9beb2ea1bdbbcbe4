//! Rows as events: each lane is a location, each slice an enter and a leave on it.

use std::io;
use std::path::PathBuf;

use trace::{AgentId, CounterId, Map, ProcessId, RowRef, StrId, Table, Trace};

use super::definitions::{Definitions, Paradigm, Role, value};
use super::record::{Chunks, number, record};
use crate::timeline::{Lane, Lanes, Near, category_name, in_time_order};

/// Chunk size of events. Small, because each location has a chunk in memory.
pub(super) const CHUNK_SIZE: usize = 256 << 10;

/// Kinds of records.
mod kind {
    pub const TIME: u8 = 0x05;
    pub const ATTRIBUTES: u8 = 0x06;
    pub const ENTER: u8 = 0x0c;
    pub const LEAVE: u8 = 0x0d;
    pub const METRIC: u8 = 0x1f;
}

/// The events of one location.
struct Location {
    chunks: Chunks,
    /// Time of the last event.
    now: Option<i64>,
    /// Open regions with their ends, the innermost last.
    open: Vec<(i64, u64)>,
}

impl Location {
    fn new(path: PathBuf) -> Self {
        Self { chunks: Chunks::new(path, CHUNK_SIZE), now: None, open: Vec::new() }
    }

    /// Adds an encoded event; writes the time if it changed, and once in every chunk.
    fn event(&mut self, ns: i64, bytes: &[u8]) -> io::Result<()> {
        let (chunk, fresh) = self.chunks.room(bytes.len() + 9)?;
        if fresh || self.now != Some(ns) {
            chunk.push(kind::TIME);
            chunk.extend_from_slice(&ns.to_le_bytes());
            self.now = Some(ns);
        }
        chunk.extend_from_slice(bytes);
        self.chunks.count();
        Ok(())
    }

    /// Leaves the regions that end by this time.
    fn leave_until(&mut self, ns: i64) -> io::Result<()> {
        while let Some(&(end, region)) = self.open.last().filter(|(end, _)| *end <= ns) {
            self.open.pop();
            let mut bytes = Vec::with_capacity(10);
            bytes.push(kind::LEAVE);
            number(&mut bytes, region);
            self.event(end, &bytes)?;
        }
        Ok(())
    }
}

/// Counts of what was written.
#[derive(Default)]
pub(super) struct Counts {
    /// Slices: each is an enter and a leave.
    pub slices: u64,
    /// Values of metrics.
    pub values: u64,
    pub negative: u64,
    pub backwards: u64,
    pub instants: u64,
    /// Bytes of all files of events.
    pub bytes: u64,
}

/// Writes the events of a trace into a folder.
pub(super) struct Writer<'a, 'd> {
    trace: &'a Trace,
    folder: PathBuf,
    definitions: &'d mut Definitions<'a>,
    lanes: Lanes<'a>,
    /// Locations by lane.
    locations: Vec<(Lane, Location)>,
    samples: Vec<((ProcessId, AgentId), Location)>,
    sample_places: Map<(ProcessId, AgentId), usize>,
    category: u64,
    correlation: u64,
    bytes: u64,
    /// Paradigm of each region category and the reference of its name, by string id.
    categories: Vec<Option<(Paradigm, u64)>>,
    own_categories: [u64; 4],
    counter_order: Option<Vec<u32>>,
    counters: Near,
    counts: Counts,
    event: Vec<u8>,
    list: Vec<u8>,
}

/// A row as a slice.
struct Slice {
    table: Table,
    row: usize,
    start: i64,
    end: i64,
    name: StrId,
    role: Role,
    paradigm: Paradigm,
    /// Reference of the category's text.
    category: u64,
    correlation: i64,
    bytes: Option<i64>,
}

/// Categories that the trace has no name for, as in AMD's own output.
const OWN_CATEGORIES: [(Table, &str); 4] = [
    (Table::Kernels, "kernel_dispatch"),
    (Table::MemoryCopies, "memory_copy"),
    (Table::MemoryAllocations, "memory_allocation"),
    (Table::Syncs, "synchronisation"),
];

impl<'a, 'd> Writer<'a, 'd> {
    pub fn new(trace: &'a Trace, folder: PathBuf, definitions: &'d mut Definitions<'a>) -> io::Result<Self> {
        let category = definitions.own_attribute("category", "tracing category", value::STRING)?;
        let correlation = definitions.own_attribute("corr_id", "correlation id", value::INT64)?;
        let bytes = definitions.own_attribute("bytes", "bytes copied or allocated", value::INT64)?;
        let mut own_categories = [0; 4];
        for (reference, (_, name)) in own_categories.iter_mut().zip(OWN_CATEGORIES) {
            *reference = definitions.text(name)?;
        }
        let counters = &trace.counters.kernel;
        let counter_order = (!counters.is_sorted()).then(|| {
            let mut order: Vec<u32> = (0..counters.len() as u32).collect();
            order.sort_by_key(|&i| counters[i as usize]);
            order
        });
        Ok(Self {
            trace,
            folder,
            definitions,
            lanes: Lanes::new(trace, false),
            locations: Vec::new(),
            samples: Vec::new(),
            sample_places: Map::default(),
            category,
            correlation,
            bytes,
            categories: Vec::new(),
            own_categories,
            counter_order,
            counters: Near::default(),
            counts: Counts::default(),
            event: Vec::new(),
            list: Vec::new(),
        })
    }

    /// Writes all events and the definitions of their locations.
    pub fn write(mut self) -> io::Result<Counts> {
        in_time_order(self.trace, |table, row| match table {
            Table::Samples => self.sample(row),
            _ => match self.slice(table, row)? {
                Some(slice) => self.enter(slice),
                None => Ok(()),
            },
        })?;
        let lanes = self.locations.len() as u64;
        for (i, (lane, location)) in self.locations.iter_mut().enumerate() {
            location.leave_until(i64::MAX)?;
            self.counts.bytes += location.chunks.finish()?;
            self.definitions.lane(i as u64, lane, location.chunks.events())?;
        }
        for (i, (whose, location)) in self.samples.iter_mut().enumerate() {
            let number = lanes + i as u64;
            let path = location_file(&self.folder, number);
            self.counts.bytes += location.chunks.finish()?;
            std::fs::rename(samples_file(&self.folder, i), path)?;
            self.definitions.samples(number, *whose, location.chunks.events())?;
        }
        for i in 0..lanes + self.samples.len() as u64 {
            self.counts.bytes += super::record::write_empty(&self.folder.join(format!("{i}.def")))?;
        }
        Ok(self.counts)
    }

    fn category(&mut self, category: StrId) -> io::Result<(Paradigm, u64)> {
        let slot = category.0 as usize;
        if slot >= self.categories.len() {
            self.categories.resize(slot + 1, None);
        }
        if let Some(known) = self.categories[slot] {
            return Ok(known);
        }
        let own = self.trace.strings.get(category);
        let paradigm = match own {
            _ if ["HIP_", "HSA_", "RCCL_", "cuda_"].iter().any(|api| own.starts_with(api)) => Paradigm::Hip,
            _ if own.starts_with("MARKER_") || own.ends_with("user_annotation") => Paradigm::User,
            _ => Paradigm::Unknown,
        };
        let about = (paradigm, self.definitions.text(category_name(own))?);
        self.categories[slot] = Some(about);
        Ok(about)
    }

    fn slice(&mut self, table: Table, row: usize) -> io::Result<Option<Slice>> {
        let trace = self.trace;
        let own = OWN_CATEGORIES.iter().position(|(own, _)| *own == table);
        let category = own.map_or(0, |own| self.own_categories[own]);
        let slice = Slice {
            table,
            row,
            start: 0,
            end: 0,
            name: StrId::EMPTY,
            role: Role::Function,
            paradigm: Paradigm::Hip,
            category,
            correlation: 0,
            bytes: None,
        };
        Ok(Some(match table {
            Table::Regions => {
                let r = trace.regions.get(row);
                let (paradigm, category) = self.category(r.category)?;
                let (start, end, name, correlation) = (r.start, r.end, r.name, r.correlation);
                Slice { start, end, name, correlation, category, paradigm, ..slice }
            }
            Table::Kernels => {
                let k = &trace.kernels;
                let (start, end) = (k.start[row], k.end[row]);
                Slice { start, end, name: k.name[row], correlation: k.correlation[row], ..slice }
            }
            Table::MemoryCopies => {
                let c = &trace.memory_copies;
                let (start, end, correlation) = (c.start[row], c.end[row], c.correlation[row]);
                let (name, bytes, role) = (c.name[row], c.bytes[row].get(), Role::DataTransfer);
                Slice { start, end, name, correlation, bytes, role, ..slice }
            }
            Table::MemoryAllocations => {
                let a = &trace.memory_allocations;
                let (start, end, name, bytes) = (a.start[row], a.end[row], a.kind[row], a.bytes[row].get());
                let freed = trace.strings.get(name).contains("FREE");
                let role = if freed { Role::Deallocate } else { Role::Allocate };
                Slice { start, end, name, correlation: a.correlation[row], bytes, role, ..slice }
            }
            Table::Syncs => {
                let s = &trace.syncs;
                let (start, end) = (s.start[row], s.end[row]);
                Slice { start, end, name: s.kind[row], correlation: s.correlation[row], ..slice }
            }
            Table::Samples => return Ok(None),
        }))
    }

    fn enter(&mut self, mut slice: Slice) -> io::Result<()> {
        if slice.start < 0 {
            self.counts.negative += 1;
            return Ok(());
        }
        if slice.end < slice.start {
            self.counts.backwards += 1;
            slice.end = slice.start;
        }
        let Some(place) = self.lanes.place(slice.table, slice.row) else { return Ok(()) };
        let lane = self.lanes.take(place, slice.start, slice.end);
        if lane.number == self.locations.len() {
            let path = location_file(&self.folder, lane.number as u64);
            self.locations.push((lane, Location::new(path)));
        }
        let region = self.definitions.region(slice.name, slice.role, slice.paradigm)?;
        self.attributes(&slice)?;
        self.event.push(kind::ENTER);
        number(&mut self.event, region);
        let location = &mut self.locations[lane.number].1;
        location.leave_until(slice.start)?;
        location.event(slice.start, &self.event)?;
        location.open.push((slice.end, region));
        self.counts.slices += 1;
        Ok(())
    }

    /// Starts `event` with the attributes of a slice: category, correlation, bytes, counters of the dispatch.
    fn attributes(&mut self, slice: &Slice) -> io::Result<()> {
        self.list.clear();
        let list = &mut self.list;
        let mut count = 1;
        attribute(list, self.category, value::STRING, slice.category);
        if slice.correlation != 0 {
            attribute(list, self.correlation, value::INT64, slice.correlation as u64);
            count += 1;
        }
        if let Some(bytes) = slice.bytes {
            attribute(list, self.bytes, value::INT64, bytes as u64);
            count += 1;
        }
        if slice.table == Table::Kernels && !self.trace.counters.is_empty() {
            for (counter, sum) in self.counter_values(slice.row) {
                let name = counter.get().map_or(StrId::EMPTY, |c| self.trace.counter_kinds[c].name);
                let reference = self.definitions.attribute(name, value::DOUBLE)?;
                // Floating-point attributes are not compressed, unlike those of metrics.
                number(&mut self.list, reference);
                self.list.push(value::DOUBLE);
                self.list.extend_from_slice(&sum.to_bits().to_le_bytes());
                count += 1;
            }
        }
        self.event.clear();
        let mut body = Vec::with_capacity(self.list.len() + 5);
        number(&mut body, count);
        body.extend_from_slice(&self.list);
        record(&mut self.event, kind::ATTRIBUTES, &body);
        Ok(())
    }

    /// The counters of one dispatch, each summed over its instances as rocprofv3 does.
    fn counter_values(&mut self, row: usize) -> Vec<(CounterId, f64)> {
        let rows = &self.trace.counters;
        let order = self.counter_order.as_deref();
        let at = |i: usize| order.map_or(i, |order| order[i] as usize);
        let mut sums: Vec<(CounterId, f64)> = Vec::new();
        for i in self.counters.range(rows.len(), |i| rows.kernel[at(i)], RowRef::kernel(row)) {
            let (counter, value) = (rows.counter[at(i)], rows.value[at(i)]);
            match sums.iter_mut().find(|(known, _)| *known == counter) {
                Some((_, sum)) => *sum += value,
                None => sums.push((counter, value)),
            }
        }
        sums
    }

    /// A sample with a value is a metric; the format cannot hold samples without one.
    fn sample(&mut self, row: usize) -> io::Result<()> {
        let samples = &self.trace.samples;
        if samples.start[row] < 0 {
            self.counts.negative += 1;
            return Ok(());
        }
        if samples.value[row].is_nan() {
            self.counts.instants += 1;
            return Ok(());
        }
        let metric = self.definitions.metric(samples.name[row], samples.unit[row])?;
        let whose = (samples.process[row], samples.agent[row]);
        let fresh = self.samples.len();
        let at = *self.sample_places.entry(whose).or_insert(fresh);
        if at == fresh {
            self.samples.push((whose, Location::new(samples_file(&self.folder, at))));
        }
        let mut body = Vec::with_capacity(20);
        number(&mut body, metric);
        body.extend_from_slice(&[1, value::DOUBLE]);
        number(&mut body, samples.value[row].to_bits());
        self.event.clear();
        record(&mut self.event, kind::METRIC, &body);
        self.samples[at].1.event(samples.start[row], &self.event)?;
        self.counts.values += 1;
        Ok(())
    }
}

#[inline]
fn attribute(list: &mut Vec<u8>, reference: u64, kind: u8, value: u64) {
    number(list, reference);
    list.push(kind);
    number(list, value);
}

fn location_file(folder: &std::path::Path, number: u64) -> PathBuf {
    folder.join(format!("{number}.evt"))
}

/// Locations of samples are numbered after all lanes.
fn samples_file(folder: &std::path::Path, number: usize) -> PathBuf {
    folder.join(format!("samples-{number}.evt"))
}
