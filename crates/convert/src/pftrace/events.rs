//! Rows as track events.
//!
//! ```text
//! rows in time order ─► plan: tracks, names, counters ─► batches of slices ─► encoded on all cores ─► written in order
//! ```
//!
//! Tracks, new names and counter values depend on what came before, so one thread plans them. The annotations
//! of a slice depend only on its row: other threads encode them, a batch each, while the next batches are
//! planned.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

use trace::{CounterId, Map, RowRef, StrId, Table, Trace, ahead};

use super::annotations::{self, id};
use super::names::Interned;
use super::slices::{Encoder, EncoderTables, Head, Slice, arguments_of, packet};
use super::tracks::{Series, Tracks};
use super::wire::{self, event};
use super::{Options, Written};
use crate::timeline::{InTimeOrder, InUse, LaneKey, Lanes, Near};

/// Slices per batch.
const BATCH: usize = 1024;
/// Maximum batches per thread that are planned but not yet written.
const AHEAD: usize = 8;

/// A slice that is encoded later, after what was planned before it.
struct Planned {
    slice: Slice,
    /// Bytes of the batch before it.
    before: u32,
    /// Bytes of the batch after those: names that are new with it.
    fresh: u32,
    /// Whether it is the very first packet.
    first: bool,
}

/// Some slices in order, and the bytes between them.
#[derive(Default)]
struct Batch {
    slices: Vec<Planned>,
    bytes: Vec<u8>,
}

impl Batch {
    fn encode(&self, shared: &EncoderTables) -> Vec<u8> {
        let mut encoder = Encoder::new(shared);
        let mut out = Vec::with_capacity(self.bytes.len() + 128 * self.slices.len());
        let mut rest = &self.bytes[..];
        for planned in &self.slices {
            let (before, behind) = rest.split_at(planned.before as usize);
            let (fresh, behind) = behind.split_at(planned.fresh as usize);
            out.extend_from_slice(before);
            encoder.slice(&mut out, Head { first: planned.first, fresh }, &planned.slice, &[]);
            rest = behind;
        }
        out.extend_from_slice(rest);
        out
    }
}

/// Writes a trace.
pub(super) fn write<W: Write>(trace: &Trace, mut out: W, options: &Options) -> io::Result<(W, Written)> {
    let shared = EncoderTables::of(trace);
    let mut plan = Plan::new(trace, &shared, options);
    let mut written = 0;
    let mut put = |bytes: &[u8]| {
        written += bytes.len() as u64;
        out.write_all(bytes)
    };
    let batches = std::iter::from_fn(|| plan.next_batch());
    ahead::in_order(batches, AHEAD, |batch| batch.encode(&shared), |encoded| put(&encoded))?;
    out.flush()?;
    let remarks = plan.remarks();
    Ok((out, Written { bytes: written, slices: plan.slices, remarks }))
}

/// State that depends on earlier rows.
struct Plan<'a> {
    trace: &'a Trace,
    rows: InTimeOrder<'a>,
    /// What is planned but not yet in a batch.
    batch: Batch,
    /// Bytes of the batch up to and including its last slice.
    used: usize,
    lanes: Lanes<'a>,
    tracks: Tracks<'a>,
    known: Interned<'a>,
    begun: bool,
    ended: bool,
    body: Vec<u8>,
    /// Encodes what is written immediately.
    encoder: Encoder<'a>,
    arguments: [Option<Near>; Table::COUNT],
    /// Counter rows sorted by dispatch, if they are not already.
    counter_order: Option<Vec<u32>>,
    counters: Near,
    /// Running dispatches with counters, by track.
    running: Map<Series, Running>,
    in_use: InUse,
    slices: u64,
    negative: u64,
    backwards: u64,
}

impl<'a> Plan<'a> {
    fn new(trace: &'a Trace, shared: &'a EncoderTables<'a>, options: &Options) -> Self {
        let counters = &trace.counters.kernel;
        let counter_order = (!counters.is_sorted()).then(|| {
            let mut order: Vec<u32> = (0..counters.len() as u32).collect();
            order.sort_by_key(|&i| counters[i as usize]);
            order
        });
        Self {
            trace,
            rows: InTimeOrder::of(trace),
            batch: Batch::default(),
            used: 0,
            lanes: Lanes::new(trace, options.by_queue),
            tracks: Tracks::new(trace),
            known: Interned::new(trace),
            begun: false,
            ended: false,
            body: Vec::new(),
            encoder: Encoder::new(shared),
            arguments: Default::default(),
            counter_order,
            counters: Near::default(),
            running: Map::default(),
            in_use: InUse::default(),
            slices: 0,
            negative: 0,
            backwards: 0,
        }
    }

    /// The next slices; `None` if everything is planned.
    fn next_batch(&mut self) -> Option<Batch> {
        while self.batch.slices.len() < BATCH && self.batch.bytes.len() < 64 * BATCH {
            let Some((table, row)) = self.rows.next() else {
                if !std::mem::replace(&mut self.ended, true) {
                    self.end_all();
                }
                break;
            };
            match table {
                Table::Regions => self.region(row),
                Table::Kernels => self.kernel(row),
                Table::MemoryCopies => self.copy(row),
                Table::MemoryAllocations => self.allocation(row),
                Table::Syncs => self.sync(row),
                Table::Samples => self.sample(row),
            }
        }
        self.used = 0;
        let batch = std::mem::take(&mut self.batch);
        (!batch.slices.is_empty() || !batch.bytes.is_empty()).then_some(batch)
    }

    fn remarks(&self) -> Vec<String> {
        let counts = [
            (self.negative, "rows before time zero, which the format cannot hold, were left out"),
            (self.backwards, "rows end before they start and are shown without a length"),
            (self.in_use.unmatched, "frees without a recorded allocation are not counted in the totals"),
        ];
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
    }

    /// Writes the packet of the event in `body`, with new names.
    fn packet(&mut self, ns: i64) {
        let first = !std::mem::replace(&mut self.begun, true);
        let head = Head { first, fresh: &self.known.fresh };
        packet(&mut self.batch.bytes, head, ns, &self.body);
        self.known.fresh.clear();
        self.body.clear();
    }

    /// Gives a slice its track; `None` if it is not shown.
    fn open(&mut self, slice: &mut Slice) -> Option<()> {
        if slice.start < 0 {
            self.negative += 1;
            return None;
        }
        if slice.end < slice.start {
            self.backwards += 1;
            slice.end = slice.start;
        }
        let place = self.lanes.place(slice.table, slice.row)?;
        let lane = self.lanes.take(place, slice.start, slice.end);
        slice.track = self.tracks.lane(&mut self.batch.bytes, &lane);
        self.known.name(slice.name);
        Some(())
    }

    /// Plans a slice that has a track.
    fn close(&mut self, slice: Slice) {
        self.know_arguments(slice.table, slice.row);
        let first = !std::mem::replace(&mut self.begun, true);
        let before = (self.batch.bytes.len() - self.used) as u32;
        let fresh = self.known.fresh.len() as u32;
        self.batch.bytes.append(&mut self.known.fresh);
        self.used = self.batch.bytes.len();
        self.batch.slices.push(Planned { slice, before, fresh, first });
        self.slices += 1;
    }

    /// Registers names of the source's arguments.
    fn know_arguments(&mut self, table: Table, row: usize) {
        let near = &mut self.arguments[table as usize];
        for i in arguments_of(self.trace, near, RowRef::new(table, row)) {
            self.known.argument(self.trace.args.name[i]);
        }
    }

    fn region(&mut self, row: usize) {
        let regions = &self.trace.regions;
        let (start, end, name) = (regions.start[row], regions.end[row], regions.name[row]);
        let category = self.known.category_of(regions.category[row]);
        let mut slice = Slice { table: Table::Regions, row, start, end, category, name, track: 0 };
        if self.open(&mut slice).is_some() {
            self.close(slice);
        }
    }

    fn kernel(&mut self, row: usize) {
        let (trace, kernels) = (self.trace, &self.trace.kernels);
        let (start, end, name) = (kernels.start[row], kernels.end[row], kernels.name[row]);
        let category = self.known.category("kernel_dispatch");
        let mut slice = Slice { table: Table::Kernels, row, start, end, category, name, track: 0 };
        if self.open(&mut slice).is_none() {
            return;
        }
        let values = self.counter_values(row);
        if values.is_empty() {
            self.close(slice);
            return;
        }
        let kind = |counter: &CounterId| counter.get().map(|c| &trace.counter_kinds[c]);
        let named: Vec<(StrId, f64)> = (values.iter())
            .map(|(counter, value)| (kind(counter).map_or(StrId::EMPTY, |kind| kind.name), *value))
            .collect();
        for (name, _) in &named {
            self.known.argument(*name);
        }
        self.know_arguments(Table::Kernels, row);
        let first = !std::mem::replace(&mut self.begun, true);
        let head = Head { first, fresh: &self.known.fresh };
        self.encoder.slice(&mut self.batch.bytes, head, &slice, &named);
        self.known.fresh.clear();
        self.slices += 1;
        for (counter, value) in values {
            let (name, unit) = kind(&counter).map_or_else(Default::default, |kind| (kind.name, kind.unit));
            let series = Series::Counter(kernels.process[row], kernels.agent[row], name, unit);
            self.counted(series, (slice.start, slice.end), value);
        }
    }

    /// Shows the value of a dispatch while it runs. Dispatches overlap: the track has the sum of those
    /// running, and only falls to zero when the last one ends.
    fn counted(&mut self, series: Series, (start, end): (i64, i64), value: f64) {
        self.ended(series, start);
        let running = self.running.entry(series).or_default();
        running.ends.push(Reverse((end, value.to_bits())));
        running.sum += value;
        let sum = running.sum;
        self.point(series, start, Number::Float(sum));
    }

    /// Writes the points where dispatches of a series ended, up to a time.
    fn ended(&mut self, series: Series, until: i64) {
        while let Some(running) = self.running.get_mut(&series)
            && running.ends.peek().is_some_and(|Reverse((end, _))| *end <= until)
            && let Some(Reverse((end, value))) = running.ends.pop()
        {
            running.sum -= f64::from_bits(value);
            if running.ends.is_empty() {
                // Rounding errors of adding and subtracting.
                running.sum = 0.0;
            }
            let sum = running.sum;
            self.point(series, end, Number::Float(sum));
        }
    }

    /// Writes the ends of all dispatches that are still running.
    fn end_all(&mut self) {
        let mut series: Vec<Series> = self.running.keys().copied().collect();
        series.sort_unstable();
        for series in series {
            self.ended(series, i64::MAX);
        }
    }

    /// The counters of one dispatch, each summed over its instances as rocprofv3 does.
    fn counter_values(&mut self, row: usize) -> Vec<(CounterId, f64)> {
        let rows = &self.trace.counters;
        if rows.is_empty() {
            return Vec::new();
        }
        let order = self.counter_order.as_deref();
        let at = |i: usize| order.map_or(i, |order| order[i] as usize);
        let found = self.counters.range(rows.len(), |i| rows.kernel[at(i)], RowRef::kernel(row));
        let mut values: Vec<(CounterId, f64)> =
            found.map(|i| (rows.counter[at(i)], rows.value[at(i)])).collect();
        values.sort_by_key(|(counter, _)| *counter);
        values.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        values
    }

    fn copy(&mut self, row: usize) {
        let copies = &self.trace.memory_copies;
        let (start, end, name) = (copies.start[row], copies.end[row], copies.name[row]);
        let category = self.known.category("memory_copy");
        let mut slice = Slice { table: Table::MemoryCopies, row, start, end, category, name, track: 0 };
        if self.open(&mut slice).is_some() {
            self.close(slice);
        }
    }

    fn allocation(&mut self, row: usize) {
        let (trace, rows) = (self.trace, &self.trace.memory_allocations);
        let (start, end, name) = (rows.start[row], rows.end[row], rows.kind[row]);
        let category = self.known.category("memory_allocation");
        let mut slice = Slice { table: Table::MemoryAllocations, row, start, end, category, name, track: 0 };
        if self.open(&mut slice).is_some() {
            self.close(slice);
        }
        if let Some(level) = self.in_use.after(trace, row).filter(|_| slice.start >= 0) {
            // Only after the call is the memory surely there, or gone.
            self.point(Series::Memory(level.process, level.agent), slice.end, Number::Whole(level.bytes));
        }
    }

    fn sync(&mut self, row: usize) {
        let syncs = &self.trace.syncs;
        let (start, end, name) = (syncs.start[row], syncs.end[row], syncs.kind[row]);
        let category = self.known.category("synchronisation");
        let mut slice = Slice { table: Table::Syncs, row, start, end, category, name, track: 0 };
        if self.open(&mut slice).is_some() {
            self.close(slice);
        }
    }

    /// A sample with a value is a point of a counter track, one without is an instant.
    fn sample(&mut self, row: usize) {
        let (trace, samples) = (self.trace, &self.trace.samples);
        let (ns, process, agent) = (samples.start[row], samples.process[row], samples.agent[row]);
        if ns < 0 {
            self.negative += 1;
            return;
        }
        if !samples.value[row].is_nan() {
            let series = Series::Sample(process, agent, samples.name[row], samples.unit[row]);
            self.point(series, ns, Number::Float(samples.value[row]));
            return;
        }
        let track = match samples.thread[row] {
            thread if thread.is_some() => {
                self.tracks.thread(&mut self.batch.bytes, LaneKey::Thread(process, thread))
            }
            _ => self.tracks.holder(&mut self.batch.bytes, process, agent),
        };
        let category = self.known.category_of(samples.kind[row]);
        let name = self.known.name(samples.name[row]);
        self.body.clear();
        wire::uint(&mut self.body, event::TYPE, event::INSTANT);
        wire::uint(&mut self.body, event::TRACK, track);
        wire::uint(&mut self.body, event::CATEGORY, category);
        wire::uint(&mut self.body, event::NAME, name);
        if !samples.location[row].is_empty() {
            annotations::text(&mut self.body, id!("message"), trace.strings.get(samples.location[row]));
        }
        if samples.correlation[row] != 0 {
            annotations::int(&mut self.body, id!("corr_id"), samples.correlation[row]);
        }
        annotations::some(&mut self.body, id!("dispatch_id"), samples.dispatch[row]);
        let near = &mut self.arguments[Table::Samples as usize];
        for i in arguments_of(trace, near, RowRef::new(Table::Samples, row)) {
            let name = self.known.argument(trace.args.name[i]);
            annotations::argument(&mut self.body, name, trace.strings.get(trace.args.value[i]));
        }
        self.packet(ns);
    }

    fn point(&mut self, series: Series, ns: i64, value: Number) {
        let track = self.tracks.series(&mut self.batch.bytes, series);
        self.body.clear();
        wire::uint(&mut self.body, event::TYPE, event::COUNTER);
        wire::uint(&mut self.body, event::TRACK, track);
        match value {
            Number::Whole(value) => wire::int(&mut self.body, event::INT_VALUE, value),
            Number::Float(value) => wire::double(&mut self.body, event::DOUBLE_VALUE, value),
        }
        self.packet(ns);
    }
}

/// Dispatches with one counter that run at the same time.
#[derive(Default)]
struct Running {
    sum: f64,
    /// The end of each, and the bits of its value.
    ends: BinaryHeap<Reverse<(i64, u64)>>,
}

/// A value of a counter track.
enum Number {
    Whole(i64),
    Float(f64),
}
