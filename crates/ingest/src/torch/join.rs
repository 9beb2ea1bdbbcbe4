//! From the workers' tables to one trace.

use formats::torch::key;
use rayon::prelude::*;
use trace::{
    AgentId, Args, Collective, GraphNode, Kernels, Map, MemoryAllocations, MemoryCopies, OptI64, QueueId,
    Region, Regions, RowRef, Samples, SourceId, StrId, StreamId, SymbolId, Syncs, Table, ThreadId, Trace,
};

use super::gather::{Gather, ROWS_AT_ONCE, take};
use super::lanes::{Label, Machine};
use super::metadata::Facts;
use super::pairs::{self, FlowEnd, Half, Slices};
use super::rows::{ARGS, COLLECTIVES, Device, Direction, FLOWS, LABELS, Owner};
use super::worker::{Piece, Worker};

/// Problems found while joining.
pub(super) struct JoinLosses {
    /// Distinct strings that are not UTF-8.
    pub lossy: u64,
    /// Times that overflow when the base time is added.
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
) -> JoinLosses {
    let mut from = Gather::new(workers, pieces, facts.base_ns);
    let lanes = Lanes::of(&mut from);
    let labels = labels(&mut from);
    let machine = Machine::new(from.all_lanes(), &labels, facts, guid, source, trace);
    let mut join = Join { from, lanes, machine, region_of_half: Vec::new(), alone: 0 };
    join.kernels(trace);
    join.copies(trace);
    join.allocations(trace);
    join.regions(trace);
    join.samples(trace);
    join.syncs(trace);
    join.pairs(trace);
    join.flows(trace);
    join.collectives(trace);
    join.args(trace);
    JoinLosses { lossy: join.from.lossy(), overflows: join.from.overflows, alone: join.alone }
}

struct Join<'t> {
    from: Gather<'t>,
    lanes: Lanes,
    machine: Machine<'t>,
    /// The region that each begin or end belongs to.
    region_of_half: Vec<Option<u32>>,
    alone: usize,
}

/// The lane of every row, by table. Processes can be found only when all lanes are known.
struct Lanes {
    kernels: Vec<u32>,
    copies: Vec<u32>,
    allocations: Vec<u32>,
    regions: Vec<u32>,
    samples: Vec<u32>,
    syncs: Vec<u32>,
    opens: Vec<u32>,
    collectives: Vec<u32>,
    flows: Vec<u32>,
}

impl Lanes {
    fn of(from: &mut Gather) -> Self {
        macro_rules! lanes {
            ($table:expr, $rows:ident) => {{
                let column = take!(from, $rows.lane);
                from.lanes($table, column)
            }};
        }
        Self {
            kernels: lanes!(Owner::Kernel as usize, kernels),
            copies: lanes!(Owner::Copy as usize, copies),
            allocations: lanes!(Owner::Allocation as usize, allocations),
            regions: lanes!(Owner::Region as usize, regions),
            samples: lanes!(Owner::Sample as usize, samples),
            syncs: lanes!(Owner::Sync as usize, syncs),
            opens: lanes!(Owner::Open as usize, opens),
            collectives: lanes!(COLLECTIVES, collectives),
            flows: lanes!(FLOWS, flows),
        }
    }
}

fn labels(from: &mut Gather) -> Vec<Label> {
    let [what, pid, tid, text] = [
        take!(from, labels.what),
        take!(from, labels.pid),
        take!(from, labels.tid),
        take!(from, labels.text),
    ]
    .map(|column| from.words(LABELS, column));
    (what.into_iter().zip(pid).zip(tid.into_iter().zip(text)))
        .map(|((what, pid), (tid, text))| Label { what, pid, tid, text })
        .collect()
}

/// One column of the trace out of the workers' columns.
macro_rules! column {
    ($join:ident, $owner:expr, $table:ident.$column:ident) => {{
        let column = take!($join.from, $table.$column);
        $join.from.plain($owner as usize, column)
    }};
    ($join:ident, $owner:expr, $table:ident.$column:ident as times) => {{
        let column = take!($join.from, $table.$column);
        $join.from.times($owner as usize, column)
    }};
    ($join:ident, $owner:expr, $table:ident.$column:ident in $strings:expr) => {{
        let column = take!($join.from, $table.$column);
        $join.from.texts($owner as usize, column, &mut $strings)
    }};
}

/// What each row's lane stands for; `map` is called once per lane, in row order.
fn each<T: Copy + Send + Sync>(lanes: &[u32], mut map: impl FnMut(u32) -> T) -> Vec<T> {
    let Some(&first) = lanes.first() else { return Vec::new() };
    let unset = map(first);
    let in_use: Vec<Vec<u32>> = lanes.par_chunks(ROWS_AT_ONCE).map(in_order_of_use).collect();
    let mut by_lane = vec![unset];
    for lane in in_order_of_use(&in_use.concat()) {
        if by_lane.len() <= lane as usize {
            by_lane.resize(lane as usize + 1, unset);
        }
        by_lane[lane as usize] = map(lane);
    }
    lanes.par_iter().with_min_len(ROWS_AT_ONCE).map(|&lane| by_lane[lane as usize]).collect()
}

fn in_order_of_use(lanes: &[u32]) -> Vec<u32> {
    let mut seen = vec![false; lanes.iter().max().map_or(0, |&last| last as usize + 1)];
    lanes.iter().copied().filter(|&lane| !std::mem::replace(&mut seen[lane as usize], true)).collect()
}

impl Join<'_> {
    fn kernels(&mut self, trace: &mut Trace) {
        let lanes = std::mem::take(&mut self.lanes.kernels);
        let count = lanes.len();
        let shapes = take!(self.from, kernels.shape);
        trace.kernels = Kernels {
            name: column!(self, Owner::Kernel, kernels.name in trace.strings),
            start: column!(self, Owner::Kernel, kernels.start as times),
            end: column!(self, Owner::Kernel, kernels.end as times),
            process: each(&lanes, |lane| self.machine.process(lane)),
            thread: vec![ThreadId::NONE; count],
            agent: each(&lanes, |lane| self.machine.agent(lane, trace)),
            queue: vec![QueueId::NONE; count],
            stream: each(&lanes, |lane| self.machine.stream(lane, trace)),
            correlation: column!(self, Owner::Kernel, kernels.correlation),
            external: column!(self, Owner::Kernel, kernels.external),
            dispatch: vec![OptI64::NONE; count],
            shape: self.from.shapes(Owner::Kernel as usize, shapes, &mut trace.shapes),
            symbol: vec![SymbolId::NONE; count],
            region: vec![StrId::EMPTY; count],
            graph: column!(self, Owner::Kernel, kernels.graph),
        };
    }

    fn copies(&mut self, trace: &mut Trace) {
        let lanes = std::mem::take(&mut self.lanes.copies);
        let count = lanes.len();
        let directions = column!(self, Owner::Copy, copies.direction);
        let (src, dst) = (lanes.iter().zip(directions))
            .map(|(&lane, direction)| ends(direction, lane, &mut self.machine, trace))
            .unzip();
        trace.memory_copies = MemoryCopies {
            name: column!(self, Owner::Copy, copies.name in trace.strings),
            kind: column!(self, Owner::Copy, copies.kind),
            start: column!(self, Owner::Copy, copies.start as times),
            end: column!(self, Owner::Copy, copies.end as times),
            bytes: column!(self, Owner::Copy, copies.bytes),
            process: each(&lanes, |lane| self.machine.process(lane)),
            thread: vec![ThreadId::NONE; count],
            src,
            dst,
            src_address: vec![OptI64::NONE; count],
            dst_address: vec![OptI64::NONE; count],
            queue: vec![QueueId::NONE; count],
            stream: each(&lanes, |lane| self.machine.stream(lane, trace)),
            correlation: column!(self, Owner::Copy, copies.correlation),
            external: column!(self, Owner::Copy, copies.external),
            graph: column!(self, Owner::Copy, copies.graph),
        };
    }

    fn allocations(&mut self, trace: &mut Trace) {
        let lanes = std::mem::take(&mut self.lanes.allocations);
        let count = lanes.len();
        if count == 0 {
            return;
        }
        let kinds = [trace.strings.intern("ALLOC"), trace.strings.intern("FREE")];
        let level = trace.strings.intern("REAL");
        let times = column!(self, Owner::Allocation, allocations.at as times);
        let devices = column!(self, Owner::Allocation, allocations.device);
        let agent = (lanes.iter().zip(devices))
            .map(|(&lane, device)| match device {
                Device::Unknown => AgentId::NONE,
                Device::Host => self.machine.host(self.machine.process(lane), trace),
                Device::Gpu(number) => self.machine.allocator(lane, number, trace),
            })
            .collect();
        let frees = column!(self, Owner::Allocation, allocations.free);
        trace.memory_allocations = MemoryAllocations {
            kind: frees.into_iter().map(|free| kinds[usize::from(free)]).collect(),
            level: vec![level; count],
            end: times.clone(),
            start: times,
            address: column!(self, Owner::Allocation, allocations.address),
            bytes: column!(self, Owner::Allocation, allocations.bytes),
            process: each(&lanes, |lane| self.machine.process(lane)),
            thread: each(&lanes, |lane| self.machine.thread(lane, trace)),
            agent,
            queue: vec![QueueId::NONE; count],
            stream: vec![StreamId::NONE; count],
            correlation: vec![0; count],
            flags: vec![OptI64::NONE; count],
        };
    }

    fn regions(&mut self, trace: &mut Trace) {
        trace.regions = Regions {
            name: column!(self, Owner::Region, regions.name in trace.strings),
            category: column!(self, Owner::Region, regions.category in trace.strings),
            start: column!(self, Owner::Region, regions.start as times),
            end: column!(self, Owner::Region, regions.end as times),
            process: each(&self.lanes.regions, |lane| self.machine.process(lane)),
            thread: each(&self.lanes.regions, |lane| self.machine.thread(lane, trace)),
            correlation: column!(self, Owner::Region, regions.correlation),
            parent: column!(self, Owner::Region, regions.parent),
            external: column!(self, Owner::Region, regions.external),
        };
    }

    fn samples(&mut self, trace: &mut Trace) {
        let lanes = std::mem::take(&mut self.lanes.samples);
        let count = lanes.len();
        let times = column!(self, Owner::Sample, samples.at as times);
        trace.samples = Samples {
            end: times.clone(),
            start: times,
            kind: column!(self, Owner::Sample, samples.kind in trace.strings),
            name: column!(self, Owner::Sample, samples.name in trace.strings),
            value: column!(self, Owner::Sample, samples.value),
            unit: vec![StrId::EMPTY; count],
            location: vec![StrId::EMPTY; count],
            process: each(&lanes, |lane| self.machine.process(lane)),
            thread: each(&lanes, |lane| self.machine.thread(lane, trace)),
            agent: vec![AgentId::NONE; count],
            correlation: vec![0; count],
            dispatch: vec![OptI64::NONE; count],
        };
    }

    fn syncs(&mut self, trace: &mut Trace) {
        let lanes = std::mem::take(&mut self.lanes.syncs);
        let machine = &mut self.machine;
        let thread = each(&lanes, |lane| match machine.is_host(lane) {
            true => machine.thread(lane, trace),
            false => ThreadId::NONE,
        });
        let stream = each(&lanes, |lane| match machine.is_host(lane) {
            true => StreamId::NONE,
            false => machine.stream(lane, trace),
        });
        let awaited = column!(self, Owner::Sync, syncs.waits_for);
        let waits_for = (lanes.iter().zip(awaited))
            .map(|(&lane, stream)| match stream.get() {
                Some(stream) => self.machine.stream_numbered(lane, stream, trace),
                None => StreamId::NONE,
            })
            .collect();
        trace.syncs = Syncs {
            kind: column!(self, Owner::Sync, syncs.kind in trace.strings),
            start: column!(self, Owner::Sync, syncs.start as times),
            end: column!(self, Owner::Sync, syncs.end as times),
            process: each(&lanes, |lane| self.machine.process(lane)),
            thread,
            stream,
            event: column!(self, Owner::Sync, syncs.event),
            waits_for,
            correlation: column!(self, Owner::Sync, syncs.correlation),
            awaited: column!(self, Owner::Sync, syncs.awaited),
            agent: vec![AgentId::NONE; lanes.len()],
            queue: vec![QueueId::NONE; lanes.len()],
            waits_for_queue: vec![QueueId::NONE; lanes.len()],
        };
    }

    /// Makes regions from begins and ends, after those that are single events.
    fn pairs(&mut self, trace: &mut Trace) {
        let phases = column!(self, Owner::Open, opens.phase);
        let times = column!(self, Owner::Open, opens.at as times);
        let categories = column!(self, Owner::Open, opens.category in trace.strings);
        let names = column!(self, Owner::Open, opens.name in trace.strings);
        let ids = column!(self, Owner::Open, opens.id in trace.strings);
        let halves: Vec<Half> = (self.lanes.opens.iter().enumerate())
            .map(|(i, &lane)| Half {
                phase: phases[i],
                category: categories[i],
                id: ids[i],
                process: self.machine.process(lane),
                lane,
                at: times[i],
            })
            .collect();
        let (paired, alone) = pairs::pair(&halves);
        self.alone += alone;
        self.region_of_half = vec![None; halves.len()];
        for pair in paired {
            let (begin, end) = (&halves[pair.begin], &halves[pair.end]);
            let row = Some(trace.regions.len() as u32);
            self.region_of_half[pair.begin] = row;
            self.region_of_half[pair.end] = row;
            self.lanes.regions.push(begin.lane);
            let thread = self.machine.thread(begin.lane, trace);
            trace.regions.push(Region {
                name: names[pair.begin],
                category: begin.category,
                start: begin.at,
                end: end.at,
                process: begin.process,
                thread,
                ..Region::default()
            });
        }
    }

    fn flows(&mut self, trace: &mut Trace) {
        let starts = column!(self, FLOWS, flows.start);
        let ids = column!(self, FLOWS, flows.id in trace.strings);
        let times = column!(self, FLOWS, flows.at as times);
        let flows: Vec<FlowEnd> = (self.lanes.flows.iter().enumerate())
            .map(|(i, &lane)| {
                let process = self.machine.process(lane);
                FlowEnd { start: starts[i], id: ids[i], process, lane, at: times[i] }
            })
            .collect();
        if flows.is_empty() {
            return;
        }
        let regions = &trace.regions;
        let slices = Slices { lane: &self.lanes.regions, start: &regions.start, end: &regions.end };
        let (links, alone) = pairs::link(&flows, &slices);
        self.alone += alone;
        links.into_iter().for_each(|link| trace.links.push(link));
    }

    fn collectives(&mut self, trace: &mut Trace) {
        let kernels = take!(self.from, collectives.kernel);
        let kernels = self.from.rows(COLLECTIVES, kernels, |_| Owner::Kernel as usize);
        let group = column!(self, COLLECTIVES, collectives.group in trace.strings);
        let operation = column!(self, COLLECTIVES, collectives.operation in trace.strings);
        let dtype = column!(self, COLLECTIVES, collectives.dtype in trace.strings);
        let elements = column!(self, COLLECTIVES, collectives.elements);
        let group_size = column!(self, COLLECTIVES, collectives.group_size);
        let sequence = column!(self, COLLECTIVES, collectives.sequence);
        let peer = column!(self, COLLECTIVES, collectives.peer);
        for (i, kernel) in kernels.into_iter().enumerate() {
            let width = element_bytes(trace.strings.get(dtype[i]));
            trace.collectives.push(Collective {
                group: group[i],
                group_size: group_size[i],
                sequence: sequence[i],
                operation: operation[i],
                bytes: elements[i].get().zip(width).and_then(|(n, width)| n.checked_mul(width)).into(),
                dtype: dtype[i],
                peer: peer[i],
                row: RowRef::kernel(kernel as usize),
                process: self.machine.process(self.lanes.collectives[i]),
                ..Collective::default()
            });
        }
    }

    fn args(&mut self, trace: &mut Trace) {
        let owners = column!(self, ARGS, args.owner);
        let positions = column!(self, ARGS, args.position);
        let names = column!(self, ARGS, args.name in trace.strings);
        let values = take!(self.from, args.value);
        let values = self.from.values(ARGS, values, &mut trace.strings);
        let rows = take!(self.from, args.row);
        let rows = self.from.rows(ARGS, rows, |place| owners[place] as usize);
        let owner = |(&owner, &row): (&Owner, &u32)| {
            let row = row as usize;
            match owner {
                Owner::Kernel => RowRef::kernel(row),
                Owner::Copy => RowRef::new(Table::MemoryCopies, row),
                Owner::Allocation => RowRef::new(Table::MemoryAllocations, row),
                Owner::Region => RowRef::region(row),
                Owner::Sample => RowRef::new(Table::Samples, row),
                Owner::Sync => RowRef::new(Table::Syncs, row),
                Owner::Open => match self.region_of_half[row] {
                    Some(region) => RowRef::region(region as usize),
                    None => RowRef::NONE,
                },
            }
        };
        let of_rows = owners.par_iter().zip(&rows).with_min_len(ROWS_AT_ONCE).map(owner).collect();
        let mut args = Args {
            owner: of_rows,
            position: positions,
            ty: vec![StrId::EMPTY; rows.len()],
            name: names,
            value: values,
        };
        if owners.contains(&Owner::Open) {
            let owner = args.owner.clone();
            args.retain(|i| owner[i] != RowRef::NONE);
        }
        trace.args = args;
        self.graph_nodes(trace);
    }

    /// Graph nodes, from the arguments of kernels and copies.
    fn graph_nodes(&self, trace: &mut Trace) {
        let graph_keys = [key::GRAPH_ID, key::GRAPH_NODE_ID].map(|name| trace.strings.find(name));
        let args = &trace.args;
        let tells = |&i: &usize| {
            let of_work = matches!(args.owner[i].get(), Some((Table::Kernels | Table::MemoryCopies, _)));
            of_work && graph_keys.contains(&Some(args.name[i]))
        };
        let telling: Vec<usize> =
            (0..args.len()).into_par_iter().with_min_len(ROWS_AT_ONCE).filter(tells).collect();
        let mut nodes: Map<RowRef, GraphNode> = Map::default();
        for i in telling {
            let owner = args.owner[i];
            let number = trace.strings.get(args.value[i]).parse().unwrap_or(0);
            let new = GraphNode { row: owner, ..GraphNode::default() };
            let node = nodes.entry(owner).or_insert(new);
            let field = if graph_keys[0] == Some(args.name[i]) { &mut node.exec } else { &mut node.node };
            *field = number;
        }
        let mut nodes: Vec<GraphNode> = nodes.into_values().filter(|n| n.exec != 0 || n.node != 0).collect();
        nodes.sort_by_key(|node| node.row);
        nodes.into_iter().for_each(|node| trace.graph_nodes.push(node));
    }
}

/// Both ends of a copy.
fn ends(direction: Direction, lane: u32, machine: &mut Machine, trace: &mut Trace) -> (AgentId, AgentId) {
    let process = machine.process(lane);
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

/// Bytes of one element, by torch's type names.
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
