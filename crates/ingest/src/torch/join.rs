//! From the workers' tables to one trace: rows in the order of the file, names and lanes made global.

use trace::{
    AgentId, Arg, Collective, Kernels, MemoryAllocations, MemoryCopies, OptI64, ProcessId, QueueId, Region,
    Regions, RowRef, Samples, ShapeId, SourceId, StrId, StreamId, SymbolId, Syncs, Table, ThreadId, Trace,
};

use super::lanes::{Label, Lane, Machine};
use super::metadata::Facts;
use super::pairs::{self, FlowEnd, Half, Slices};
use super::rows::{Device, Direction, Owner, Rows};
use super::texts::Texts;
use super::worker::{Piece, Worker};

/// Places of the tables in [`super::rows::Lens`] that have no owner of arguments in them.
const COLLECTIVES: usize = 7;
const ARGS: usize = 8;
const FLOWS: usize = 9;
const LABELS: usize = 10;

/// What joining found out besides the tables.
#[derive(Default)]
pub(super) struct Found {
    /// Distinct strings that are not UTF-8.
    pub lossy: u64,
    /// Times that do not fit behind the base time.
    pub overflows: u64,
    /// Halves of regions and flows without the other half.
    pub alone: usize,
}

/// Fills the trace's tables.
pub(super) fn join(
    workers: Vec<Worker>,
    pieces: &[Piece],
    facts: &Facts,
    guid: &str,
    source: SourceId,
    trace: &mut Trace,
) -> Found {
    let mut rows: Vec<Rows> = Vec::new();
    let mut texts = Texts::default();
    let mut values = Texts::default();
    let mut lanes = Lanes::default();
    let mut shapes: Vec<(trace::Shapes, Vec<Option<ShapeId>>)> = Vec::new();
    for worker in workers {
        rows.push(worker.rows);
        texts.add(worker.names);
        values.add(worker.values);
        lanes.add(&worker.lanes);
        let unknown = vec![None; worker.shapes.len()];
        shapes.push((worker.shapes, unknown));
    }
    let mut found = Found::default();
    let rows = &mut rows;

    macro_rules! gather {
        ($table:expr, $name:ident.$column:ident, $map:expr) => {{
            let columns: Vec<_> =
                rows.iter_mut().map(|rows| std::mem::take(&mut rows.$name.$column)).collect();
            gather(columns, pieces, $table, $map)
        }};
    }
    macro_rules! plain {
        ($owner:ident, $name:ident.$column:ident) => {
            gather!(Owner::$owner.table(), $name.$column, |_, value| value)
        };
    }
    macro_rules! text {
        ($owner:ident, $name:ident.$column:ident) => {
            gather!(Owner::$owner.table(), $name.$column, |worker, id| texts.get(
                worker,
                id,
                &mut trace.strings
            ))
        };
    }
    macro_rules! time {
        ($owner:ident, $name:ident.$column:ident) => {
            gather!(Owner::$owner.table(), $name.$column, |_, at: i64| match at.checked_add(facts.base_ns) {
                Some(at) => at,
                None => {
                    found.overflows += 1;
                    at.saturating_add(facts.base_ns)
                }
            })
        };
    }
    macro_rules! lane {
        ($owner:ident, $name:ident) => {
            gather!(Owner::$owner.table(), $name.lane, |worker, lane| lanes.get(worker, lane))
        };
    }

    let kernel_lane = lane!(Kernel, kernels);
    let copy_lane = lane!(Copy, copies);
    let allocation_lane = lane!(Allocation, allocations);
    let mut region_lane = lane!(Region, regions);
    let sample_lane = lane!(Sample, samples);
    let sync_lane = lane!(Sync, syncs);
    let open_lane = lane!(Open, opens);
    let collective_lane = gather!(COLLECTIVES, collectives.lane, |worker, lane| lanes.get(worker, lane));
    let flow_lane = gather!(FLOWS, flows.lane, |worker, lane| lanes.get(worker, lane));

    let words = |column: Vec<Vec<u32>>| gather(column, pieces, LABELS, |worker, id| texts.plain(worker, id));
    let [what, pid, tid, text] = {
        let mut take = |of: fn(&mut Rows) -> &mut Vec<u32>| {
            words(rows.iter_mut().map(|rows| std::mem::take(of(rows))).collect())
        };
        [
            take(|rows| &mut rows.labels.what),
            take(|rows| &mut rows.labels.pid),
            take(|rows| &mut rows.labels.tid),
            take(|rows| &mut rows.labels.text),
        ]
    };
    let labels: Vec<Label> = (what.into_iter().zip(pid).zip(tid.into_iter().zip(text)))
        .map(|((what, pid), (tid, text))| Label { what, pid, tid, text })
        .collect();
    let mut machine = Machine::new(lanes.finish(), &labels, facts, guid, source, trace);

    let count = kernel_lane.len();
    trace.kernels = Kernels {
        name: text!(Kernel, kernels.name),
        start: time!(Kernel, kernels.start),
        end: time!(Kernel, kernels.end),
        process: each(&kernel_lane, |lane| machine.process(lane)),
        thread: vec![ThreadId::NONE; count],
        agent: each(&kernel_lane, |lane| machine.agent(lane, trace)),
        queue: vec![QueueId::NONE; count],
        stream: each(&kernel_lane, |lane| machine.stream(lane, trace)),
        correlation: plain!(Kernel, kernels.correlation),
        external: plain!(Kernel, kernels.external),
        dispatch: vec![OptI64::NONE; count],
        shape: gather!(Owner::Kernel.table(), kernels.shape, |worker: usize, shape: ShapeId| {
            let (local, known) = &mut shapes[worker];
            *known[shape.0 as usize].get_or_insert_with(|| trace.shapes.intern(*local.get(shape)))
        }),
        symbol: vec![SymbolId::NONE; count],
        region: vec![StrId::EMPTY; count],
        graph: plain!(Kernel, kernels.graph),
    };

    let directions = plain!(Copy, copies.direction);
    let (src, dst) = copy_lane
        .iter()
        .zip(&directions)
        .map(|(&lane, direction)| ends(*direction, lane, &mut machine, trace))
        .unzip();
    let count = copy_lane.len();
    trace.memory_copies = MemoryCopies {
        name: text!(Copy, copies.name),
        kind: plain!(Copy, copies.kind),
        start: time!(Copy, copies.start),
        end: time!(Copy, copies.end),
        bytes: plain!(Copy, copies.bytes),
        process: each(&copy_lane, |lane| machine.process(lane)),
        thread: vec![ThreadId::NONE; count],
        src,
        dst,
        src_address: vec![OptI64::NONE; count],
        dst_address: vec![OptI64::NONE; count],
        queue: vec![QueueId::NONE; count],
        stream: each(&copy_lane, |lane| machine.stream(lane, trace)),
        correlation: plain!(Copy, copies.correlation),
        external: plain!(Copy, copies.external),
        graph: plain!(Copy, copies.graph),
    };

    let devices = plain!(Allocation, allocations.device);
    let kinds = [trace.strings.intern("ALLOC"), trace.strings.intern("FREE")];
    let level = trace.strings.intern("REAL");
    let times = time!(Allocation, allocations.at);
    let count = times.len();
    trace.memory_allocations = MemoryAllocations {
        kind: gather!(Owner::Allocation.table(), allocations.free, |_, free| kinds[usize::from(free)]),
        level: vec![level; count],
        end: times.clone(),
        start: times,
        address: plain!(Allocation, allocations.address),
        bytes: plain!(Allocation, allocations.bytes),
        process: each(&allocation_lane, |lane| machine.process(lane)),
        thread: each(&allocation_lane, |lane| machine.thread(lane, trace)),
        agent: allocation_lane
            .iter()
            .zip(devices)
            .map(|(&lane, device)| match device {
                Device::Unknown => AgentId::NONE,
                Device::Host => machine.host(machine.process(lane), trace),
                Device::Gpu(number) => machine.allocator(lane, number, trace),
            })
            .collect(),
        queue: vec![QueueId::NONE; count],
        stream: vec![StreamId::NONE; count],
        correlation: vec![0; count],
    };

    trace.regions = Regions {
        name: text!(Region, regions.name),
        category: text!(Region, regions.category),
        start: time!(Region, regions.start),
        end: time!(Region, regions.end),
        process: each(&region_lane, |lane| machine.process(lane)),
        thread: each(&region_lane, |lane| machine.thread(lane, trace)),
        correlation: plain!(Region, regions.correlation),
        parent: plain!(Region, regions.parent),
        external: plain!(Region, regions.external),
    };

    let times = time!(Sample, samples.at);
    let count = times.len();
    trace.samples = Samples {
        end: times.clone(),
        start: times,
        kind: text!(Sample, samples.kind),
        name: text!(Sample, samples.name),
        value: plain!(Sample, samples.value),
        unit: vec![StrId::EMPTY; count],
        location: vec![StrId::EMPTY; count],
        process: each(&sample_lane, |lane| machine.process(lane)),
        thread: each(&sample_lane, |lane| machine.thread(lane, trace)),
        agent: vec![AgentId::NONE; count],
        correlation: vec![0; count],
        dispatch: vec![OptI64::NONE; count],
    };

    let waits_for = plain!(Sync, syncs.waits_for);
    trace.syncs = Syncs {
        kind: text!(Sync, syncs.kind),
        start: time!(Sync, syncs.start),
        end: time!(Sync, syncs.end),
        process: each(&sync_lane, |lane| machine.process(lane)),
        thread: each(&sync_lane, |lane| match machine.is_host(lane) {
            true => machine.thread(lane, trace),
            false => ThreadId::NONE,
        }),
        stream: each(&sync_lane, |lane| match machine.is_host(lane) {
            true => StreamId::NONE,
            false => machine.stream(lane, trace),
        }),
        event: plain!(Sync, syncs.event),
        waits_for: (sync_lane.iter().zip(waits_for))
            .map(|(&lane, stream)| match stream.get() {
                Some(stream) => machine.stream_numbered(lane, stream, trace),
                None => StreamId::NONE,
            })
            .collect(),
        correlation: plain!(Sync, syncs.correlation),
        awaited: plain!(Sync, syncs.awaited),
    };

    let (phases, times) = (plain!(Open, opens.phase), time!(Open, opens.at));
    let [categories, names, ids] =
        [text!(Open, opens.category), text!(Open, opens.name), text!(Open, opens.id)];
    let halves: Vec<Half> = (0..phases.len())
        .map(|i| Half {
            phase: phases[i],
            category: categories[i],
            name: names[i],
            id: ids[i],
            lane: open_lane[i],
            at: times[i],
        })
        .collect();
    let (paired, alone) = pairs::pair(&halves);
    found.alone += alone;
    let mut region_of_half: Vec<Option<u32>> = vec![None; halves.len()];
    for pair in paired {
        let (begin, end) = (&halves[pair.begin], &halves[pair.end]);
        let row = trace.regions.len() as u32;
        region_of_half[pair.begin] = Some(row);
        region_of_half[pair.end] = Some(row);
        region_lane.push(begin.lane);
        let thread = machine.thread(begin.lane, trace);
        trace.regions.push(Region {
            name: begin.name,
            category: begin.category,
            start: begin.at,
            end: end.at,
            process: machine.process(begin.lane),
            thread,
            ..Region::default()
        });
    }

    let offsets = Offsets::of(pieces);
    let kernel_rows = rows.iter_mut().map(|rows| std::mem::take(&mut rows.collectives.kernel)).collect();
    let kernel_rows = offsets.gather(kernel_rows, pieces, COLLECTIVES, |piece, row| {
        offsets.row(piece, Owner::Kernel.table(), row)
    });
    let group = gather!(COLLECTIVES, collectives.group, |w, id| texts.get(w, id, &mut trace.strings));
    let operation = gather!(COLLECTIVES, collectives.operation, |w, id| texts.get(w, id, &mut trace.strings));
    let dtype = gather!(COLLECTIVES, collectives.dtype, |w, id| texts.get(w, id, &mut trace.strings));
    let elements = gather!(COLLECTIVES, collectives.elements, |_, v| v);
    let group_size = gather!(COLLECTIVES, collectives.group_size, |_, v| v);
    let sequence = gather!(COLLECTIVES, collectives.sequence, |_, v| v);
    for (i, kernel) in kernel_rows.into_iter().enumerate() {
        let width = element_bytes(trace.strings.get(dtype[i]));
        trace.collectives.push(Collective {
            group: group[i],
            group_size: group_size[i],
            sequence: sequence[i],
            operation: operation[i],
            bytes: elements[i].get().zip(width).and_then(|(n, width)| n.checked_mul(width)).into(),
            dtype: dtype[i],
            row: RowRef::kernel(kernel as usize),
            process: machine.process(collective_lane[i]),
        });
    }

    let starts = gather!(FLOWS, flows.start, |_, start| start);
    let ids = gather!(FLOWS, flows.id, |worker, id| texts.get(worker, id, &mut trace.strings));
    let times = gather!(FLOWS, flows.at, |_, at: i64| at.saturating_add(facts.base_ns));
    let flows: Vec<FlowEnd> = (0..starts.len())
        .map(|i| FlowEnd { start: starts[i], id: ids[i], lane: flow_lane[i], at: times[i] })
        .collect();
    if !flows.is_empty() {
        let slices = Slices { lane: &region_lane, start: &trace.regions.start, end: &trace.regions.end };
        let (links, alone) = pairs::link(&flows, &slices);
        found.alone += alone;
        links.into_iter().for_each(|link| trace.links.push(link));
    }

    let owners = gather!(ARGS, args.owner, |_, owner| owner);
    let positions = gather!(ARGS, args.position, |_, position| position);
    let names = gather!(ARGS, args.name, |worker, id| texts.get(worker, id, &mut trace.strings));
    let texts_of_values = gather!(ARGS, args.value, |worker, id| values.raw(worker, id, &mut trace.strings));
    let local_rows = rows.iter_mut().map(|rows| std::mem::take(&mut rows.args.row)).collect();
    let mut place = 0;
    let arg_rows = offsets.gather(local_rows, pieces, ARGS, |piece, row| {
        place += 1;
        offsets.row(piece, owners[place - 1].table(), row)
    });
    for (i, row) in arg_rows.into_iter().enumerate() {
        let (table, row) = match owners[i] {
            Owner::Kernel => (Table::Kernels, row),
            Owner::Copy => (Table::MemoryCopies, row),
            Owner::Allocation => (Table::MemoryAllocations, row),
            Owner::Region => (Table::Regions, row),
            Owner::Sample => (Table::Samples, row),
            Owner::Sync => (Table::Syncs, row),
            Owner::Open => match region_of_half[row as usize] {
                Some(region) => (Table::Regions, region),
                None => continue,
            },
        };
        trace.args.push(Arg {
            owner: RowRef::new(table, row as usize),
            position: positions[i],
            ty: StrId::EMPTY,
            name: names[i],
            value: texts_of_values[i],
        });
    }
    found.lossy = texts.lossy + values.lossy;
    found
}

/// One column of all workers in the order of the file; the workers' columns go as soon as it is there.
fn gather<T: Copy, U>(
    columns: Vec<Vec<T>>,
    pieces: &[Piece],
    table: usize,
    mut map: impl FnMut(usize, T) -> U,
) -> Vec<U> {
    let total = pieces.iter().map(|piece| (piece.to[table] - piece.from[table]) as usize).sum();
    let mut out = Vec::with_capacity(total);
    for piece in pieces {
        let part = &columns[piece.worker][piece.from[table] as usize..piece.to[table] as usize];
        out.extend(part.iter().map(|value| map(piece.worker, *value)));
    }
    out
}

fn each<T>(lanes: &[u32], map: impl FnMut(u32) -> T) -> Vec<T> {
    lanes.iter().copied().map(map).collect()
}

/// Both ends of a copy.
fn ends(direction: Direction, lane: u32, machine: &mut Machine, trace: &mut Trace) -> (AgentId, AgentId) {
    let process: ProcessId = machine.process(lane);
    let device = machine.agent(lane, trace);
    let mut host = || machine.host(process, trace);
    match direction {
        Direction::Unknown => (AgentId::NONE, AgentId::NONE),
        Direction::HostToDevice => (host(), device),
        Direction::DeviceToHost => (device, host()),
        Direction::DeviceToDevice => (device, device),
        Direction::HostToHost => (host(), host()),
        Direction::ToDevice => (AgentId::NONE, device),
    }
}

/// Where each piece's rows begin in the joined tables.
struct Offsets {
    /// Per piece and table: joined row less the worker's row.
    shift: Vec<[i64; 11]>,
}

impl Offsets {
    fn of(pieces: &[Piece]) -> Self {
        let mut next = [0i64; 11];
        let shift = pieces
            .iter()
            .map(|piece| {
                let mut shift = [0; 11];
                for table in 0..shift.len() {
                    shift[table] = next[table] - i64::from(piece.from[table]);
                    next[table] += i64::from(piece.to[table] - piece.from[table]);
                }
                shift
            })
            .collect();
        Self { shift }
    }

    /// The joined row of a worker's row.
    fn row(&self, piece: usize, table: usize, row: u32) -> u32 {
        (i64::from(row) + self.shift[piece][table]) as u32
    }

    /// Like [`gather`], telling the piece rather than the worker.
    fn gather(
        &self,
        columns: Vec<Vec<u32>>,
        pieces: &[Piece],
        table: usize,
        mut map: impl FnMut(usize, u32) -> u32,
    ) -> Vec<u32> {
        let mut out = Vec::new();
        for (number, piece) in pieces.iter().enumerate() {
            let part = &columns[piece.worker][piece.from[table] as usize..piece.to[table] as usize];
            out.extend(part.iter().map(|row| map(number, *row)));
        }
        out
    }
}

/// Bytes of one element, by torch's names of types.
fn element_bytes(dtype: &str) -> Option<i64> {
    const WIDTHS: [(&str, i64); 14] = [
        ("Float", 4),
        ("Double", 8),
        ("Half", 2),
        ("BFloat16", 2),
        ("Int", 4),
        ("Long", 8),
        ("Short", 2),
        ("Char", 1),
        ("Byte", 1),
        ("Bool", 1),
        ("ComplexFloat", 8),
        ("ComplexDouble", 16),
        ("UInt32", 4),
        ("UInt64", 8),
    ];
    if dtype.starts_with("Float8") {
        return Some(1);
    }
    WIDTHS.iter().find(|(name, _)| *name == dtype).map(|(_, width)| *width)
}

/// Lanes of the file, numbered as rows use them.
#[derive(Default)]
struct Lanes {
    keys: Vec<Vec<Vec<u8>>>,
    known: Vec<Vec<Option<u32>>>,
    numbers: trace::Map<Vec<u8>, u32>,
    lanes: Vec<Lane>,
}

impl Lanes {
    fn add(&mut self, names: &super::lanes::LaneNames) {
        let keys: Vec<_> = names.keys().map(<[u8]>::to_vec).collect();
        self.known.push(vec![None; keys.len()]);
        self.keys.push(keys);
    }

    #[inline]
    fn get(&mut self, worker: usize, local: u32) -> u32 {
        let number = match self.known[worker][local as usize] {
            Some(number) => number,
            None => {
                let number = self.number(worker, local as usize);
                self.known[worker][local as usize] = Some(number);
                number
            }
        };
        self.lanes[number as usize].rows += 1;
        number
    }

    fn number(&mut self, worker: usize, local: usize) -> u32 {
        let key = &self.keys[worker][local];
        *self.numbers.entry_ref(&key[..]).or_insert_with(|| {
            self.lanes.push(Lane::of(key));
            self.lanes.len() as u32 - 1
        })
    }

    /// All lanes, those that no row uses behind the others.
    fn finish(mut self) -> Vec<Lane> {
        let mut unused: Vec<Vec<u8>> =
            self.keys.iter().flatten().filter(|key| !key.is_empty()).cloned().collect();
        unused.retain(|key| !self.numbers.contains_key(key));
        unused.sort();
        unused.dedup();
        self.lanes.extend(unused.iter().map(|key| Lane::of(key)));
        self.lanes
    }
}
