//! From the simulator's log to rows of a trace, in the words of torch or of rocprofv3.

mod annotations;
mod gpu;
mod messages;

use std::collections::BTreeMap;

use annotations::{ExtraLanes, GpuAnnotation};
use trace::{Arg, OptI64, Region, RowRef, StrId, Sync, Trace};

use crate::clock::Clock;
use crate::frames;
use crate::identity::{Dialect, Identity, RankIdentity, introduce};
use crate::program::{Frame, FrameKind, Program};
use crate::ranks::GroupKind;
use crate::record::{Detail, Record};
use crate::scenario::{Direction, HostMemory};

/// Where a thread is: the frames it is in.
#[derive(Default)]
struct Stack {
    /// Row of the frame, when it is shown, and its Python id, when it has one.
    open: Vec<(Option<usize>, i64)>,
    /// Annotations it is in that GPU lanes show; each is also in `open`, with [`ON_GPU`] for an id.
    on_gpu: Vec<GpuAnnotation>,
}

/// Stands for the Python id of an annotation on GPU lanes.
const ON_GPU: i64 = -1;

impl Stack {
    /// The Python frame around what comes next; zero at the root.
    fn python(&self) -> i64 {
        self.open.iter().rev().map(|(_, id)| *id).find(|id| *id > 0).unwrap_or(0)
    }
}

/// Strings that rows use repeatedly.
struct Words {
    categories: [StrId; 4],
    runtime: StrId,
    apis: Vec<(StrId, StrId)>,
    frames: Vec<StrId>,
    leaves: Vec<StrId>,
    copies: Vec<StrId>,
    keys: BTreeMap<&'static str, StrId>,
    /// JSON of name, grid and block of each kernel, for the arguments of its launch.
    kernels: Vec<[StrId; 3]>,
    zero: StrId,
    alloc: StrId,
    free: StrId,
    real: StrId,
    smi: StrId,
    power: StrId,
    vram: StrId,
    clock: StrId,
    mhz: StrId,
    watts: StrId,
    bytes: StrId,
    /// Names of the rank's groups, by kind.
    groups: [StrId; 5],
}

/// Turns the log of one rank into rows.
pub(crate) struct Emitter<'a> {
    program: &'a Program,
    pub(crate) trace: Trace,
    dialect: Dialect,
    stacks: bool,
    clock: Clock,
    place: RankIdentity,
    ids: Identity,
    words: Words,
    threads: Vec<Stack>,
    python_id: i64,
    leaf: usize,
    dispatch: i64,
    /// Collectives so far by kind of group, sends and receives last.
    collectives: [u64; 6],
    /// What is the same in every record of a collective.
    messages: BTreeMap<u32, Vec<(&'static str, StrId)>>,
    /// Correlation of the call behind each recording of an event.
    recordings: Vec<i64>,
    /// Busy nanoseconds and memory in use per (GPU, sampling window).
    windows: BTreeMap<(u32, i64), (i64, Option<i64>)>,
    in_use: Vec<i64>,
    /// First moment of anything.
    first: i64,
    /// Last moment of anything so far: nothing is sampled after the end.
    last: i64,
    lanes: ExtraLanes,
}

const KEYS: [&str; 30] = [
    "Record function id",
    "Input Dims",
    "Input type",
    "cid",
    "kernel",
    "grid",
    "block",
    "shared memory",
    "bytes",
    "kind",
    "stream",
    "event",
    "Collective name",
    "In msg nelems",
    "Out msg nelems",
    "Group size",
    "dtype",
    "Process Group Name",
    "Process Group Description",
    "Process Group Ranks",
    "Seq",
    "In split size",
    "Out split size",
    "Global rank start",
    "Global rank stride",
    "Src Rank",
    "Dst Rank",
    "ptr",
    "graph",
    "src",
];

impl<'a> Emitter<'a> {
    /// An emitter with the identity tables filled and no rows.
    pub(crate) fn new(
        program: &'a Program,
        place: RankIdentity,
        clock: Clock,
        dialect: Dialect,
        stacks: bool,
    ) -> Self {
        let mut trace = Trace::default();
        let ids = introduce(&mut trace, program, &place, dialect);
        let words = Words::new(&mut trace, program, &place, dialect);
        let lanes = ExtraLanes::of(&mut trace, program, ids.process, dialect);
        Self {
            program,
            trace,
            dialect,
            stacks: stacks && dialect == Dialect::Torch,
            clock,
            place,
            ids,
            words,
            threads: program.threads.iter().map(|_| Stack::default()).collect(),
            python_id: 0,
            leaf: 0,
            dispatch: 0,
            collectives: [0; 6],
            messages: BTreeMap::new(),
            recordings: Vec::new(),
            windows: BTreeMap::new(),
            in_use: vec![0; program.machine.gpus as usize],
            first: i64::MAX,
            last: i64::MIN,
            lanes,
        }
    }

    /// Adds the rows of a block of the log.
    pub(crate) fn emit(&mut self, records: &[Record]) {
        for record in records {
            self.record(record);
        }
    }

    /// Forgets the rows, keeps strings and identity: the next block continues from here.
    pub(crate) fn clear(&mut self) {
        let trace = &mut self.trace;
        trace.kernels = Default::default();
        trace.memory_copies = Default::default();
        trace.memory_allocations = Default::default();
        trace.regions = Default::default();
        trace.counters = Default::default();
        trace.syncs = Default::default();
        trace.collectives = Default::default();
        trace.samples = Default::default();
        trace.args = Default::default();
    }

    fn record(&mut self, record: &Record) {
        match *record {
            Record::Enter { thread, frame, at, external, step } => {
                self.enter(thread, frame, at, external, step);
            }
            Record::Leave { thread, at } => {
                self.last = self.last.max(self.clock.show(at));
                match self.threads[thread as usize].open.pop() {
                    Some((Some(row), _)) => self.trace.regions.end[row] = self.clock.show(at),
                    Some((None, ON_GPU)) => self.close_gpu_annotation(thread),
                    _ => {}
                }
            }
            Record::Chatter { thread, start, end, frames } => {
                if self.stacks {
                    self.chatter(thread, start, end, frames);
                }
            }
            Record::Host { thread, frame, start, end } => {
                if self.stacks {
                    let name = self.words.frames[frame as usize];
                    self.python(thread, name, self.clock.show(start), self.clock.show(end));
                }
            }
            Record::Call { thread, api, start, end, correlation, external, detail } => {
                self.call(thread, api, start, end, correlation, external, detail);
            }
            Record::Kernel { .. } => self.kernel(record),
            Record::Copy { .. } => self.copy(record),
            Record::Memory { thread, gpu, at, end, address, bytes, correlation, in_use } => {
                self.memory(thread, gpu, (at, end), address, bytes, correlation, in_use);
            }
        }
    }

    fn enter(&mut self, thread: u32, frame: u32, at: i64, external: i64, step: u64) {
        let facts = &self.program.frames[frame as usize];
        self.first = self.first.min(self.clock.show(at));
        let shown = match (self.dialect, facts.kind) {
            (Dialect::Torch, FrameKind::Python | FrameKind::Module) => self.stacks,
            (Dialect::Torch, _) | (Dialect::Rocprof, FrameKind::Annotation) => true,
            (Dialect::Rocprof, _) => false,
        };
        if !shown {
            self.threads[thread as usize].open.push((None, 0));
            return;
        }
        let mut name = self.words.frames[frame as usize];
        if facts.name.contains("{step}") {
            name = self.trace.strings.intern(&facts.name.replace("{step}", &step.to_string()));
        }
        if self.annotates_gpu_lanes(facts.kind) {
            self.open_gpu_annotation(thread, name);
            self.threads[thread as usize].open.push((None, ON_GPU));
            return;
        }
        let row = self.trace.regions.len();
        let at = self.clock.show(at);
        match facts.kind {
            FrameKind::Python | FrameKind::Module => {
                let id = self.python(thread, name, at, at);
                self.threads[thread as usize].open.push((Some(row), id));
            }
            FrameKind::Op | FrameKind::Annotation => {
                self.trace.regions.push(Region {
                    name,
                    category: self.words.categories[facts.kind as usize],
                    start: at,
                    end: at,
                    process: self.ids.process,
                    thread: self.ids.threads[thread as usize],
                    correlation: 0,
                    parent: 0,
                    external: OptI64::some(external),
                });
                self.threads[thread as usize].open.push((Some(row), 0));
                if self.dialect == Dialect::Torch {
                    self.op_args(row, facts);
                }
            }
        }
    }

    fn op_args(&mut self, row: usize, facts: &Frame) {
        let mut args: Vec<(&'static str, StrId)> = vec![("Record function id", self.words.zero)];
        if let Some(dims) = &facts.dims {
            args.push(("Input Dims", self.trace.strings.intern(dims)));
        }
        if let Some(types) = &facts.types {
            args.push(("Input type", self.trace.strings.intern(types)));
        }
        if let Some(collective) = facts.collective {
            let facts = &self.program.collectives[collective as usize];
            let turn = &mut self.collectives[if facts.peer.is_some() { 5 } else { facts.group as usize }];
            *turn += 1;
            let sequence = *turn - 1;
            args.extend(self.message(collective, sequence));
        }
        self.args(RowRef::region(row), &args);
    }

    fn args(&mut self, owner: RowRef, args: &[(&'static str, StrId)]) {
        for (position, (key, value)) in args.iter().enumerate() {
            let name = self.words.keys[key];
            self.trace.args.push(Arg {
                owner,
                position: position as u32,
                ty: StrId::EMPTY,
                name,
                value: *value,
            });
        }
    }

    /// A Python frame inside the frames that its thread is in; returns its id.
    fn python(&mut self, thread: u32, name: StrId, start: i64, end: i64) -> i64 {
        self.python_id += 1;
        let parent = self.threads[thread as usize].python();
        self.push_frame(thread, name, start, end, parent)
    }

    fn push_frame(&mut self, thread: u32, name: StrId, start: i64, end: i64, parent: i64) -> i64 {
        self.trace.regions.push(Region {
            name,
            category: self.words.categories[FrameKind::Python as usize],
            start,
            end,
            process: self.ids.process,
            thread: self.ids.threads[thread as usize],
            correlation: 0,
            parent,
            external: OptI64::some(self.python_id),
        });
        self.python_id
    }

    /// Leaf frames in groups of four: one that calls three.
    fn chatter(&mut self, thread: u32, start: i64, end: i64, count: u32) {
        let outer = self.threads[thread as usize].python();
        let groups = i64::from(count.div_ceil(4));
        let mut left = count;
        for group in 0..groups {
            let at = |part: i64| start + (end - start) * (group * 8 + part) / (groups * 8);
            let name = self.next_leaf();
            self.python_id += 1;
            let (first, last) = (self.clock.show(at(0)), self.clock.show(at(8)));
            let parent = self.push_frame(thread, name, first, last, outer);
            for child in 0..(left - 1).min(3) as i64 {
                let name = self.next_leaf();
                self.python_id += 1;
                let (first, last) = (at(2 * child + 1), at(2 * child + 2));
                self.push_frame(thread, name, self.clock.show(first), self.clock.show(last), parent);
            }
            left -= left.min(4);
        }
    }

    fn next_leaf(&mut self) -> StrId {
        self.leaf += 1;
        self.words.leaves[self.leaf % self.words.leaves.len()]
    }

    #[allow(clippy::too_many_arguments)]
    fn call(
        &mut self,
        thread: u32,
        api: u32,
        start: i64,
        end: i64,
        correlation: i64,
        external: i64,
        detail: Detail,
    ) {
        let row = self.trace.regions.len();
        let (name, cid) = self.words.apis[api as usize];
        let torch = self.dialect == Dialect::Torch;
        let external = if torch && external != 0 { OptI64::some(external) } else { OptI64::NONE };
        self.trace.regions.push(Region {
            name,
            category: self.words.runtime,
            start: self.clock.show(start),
            end: self.clock.show(end),
            process: self.ids.process,
            thread: self.ids.threads[thread as usize],
            correlation,
            parent: 0,
            external,
        });
        let owner = RowRef::region(row);
        let number = |trace: &mut Trace, value: u64| trace.strings.intern(&value.to_string());
        let mut args: Vec<(&'static str, StrId)> = Vec::new();
        if torch {
            args.push(("cid", cid));
        }
        match detail {
            Detail::None => {}
            Detail::Launch { kernel } if torch => {
                let [name, grid, block] = self.words.kernels[kernel as usize];
                args.extend([("kernel", name), ("grid", grid), ("block", block)]);
                let lds = number(&mut self.trace, u64::from(self.program.kernels[kernel as usize].lds));
                args.push(("shared memory", lds));
            }
            Detail::Copy { copy } if torch => {
                let facts = &self.program.copies[copy as usize];
                args.push(("bytes", number(&mut self.trace, facts.bytes)));
                args.push(("kind", self.trace.strings.intern(hip_copy_kind(facts.direction))));
            }
            Detail::Alloc { bytes } => args.push(("bytes", number(&mut self.trace, bytes))),
            Detail::Stream { stream } => {
                let id = self.trace.streams[self.ids.streams[stream as usize].0 as usize].id;
                args.push(("stream", number(&mut self.trace, id as u64)));
                self.sync(name, thread, (start, end), Some(stream), None, None, correlation);
            }
            Detail::Event { event, stream, recording } => {
                let id = self.trace.streams[self.ids.streams[stream as usize].0 as usize].id;
                args.push(("stream", number(&mut self.trace, id as u64)));
                args.push(("event", number(&mut self.trace, u64::from(event) + 1)));
                let records = self.trace.strings.get(name) == "hipEventRecord";
                if records {
                    self.recordings.resize(self.recordings.len().max(recording as usize + 1), 0);
                    self.recordings[recording as usize] = correlation;
                }
                let awaited = (!records).then_some(recording);
                self.sync(name, thread, (start, end), Some(stream), Some(event), awaited, correlation);
            }
            Detail::EventSync { event, recording } => {
                args.push(("event", number(&mut self.trace, u64::from(event) + 1)));
                self.sync(name, thread, (start, end), None, Some(event), Some(recording), correlation);
            }
            Detail::Graph { graph } => args.push(("graph", number(&mut self.trace, u64::from(graph) + 1))),
            Detail::Launch { .. } | Detail::Copy { .. } => {}
        }
        self.args(owner, &args);
    }

    #[allow(clippy::too_many_arguments)]
    fn sync(
        &mut self,
        kind: StrId,
        thread: u32,
        (start, end): (i64, i64),
        stream: Option<u32>,
        event: Option<u32>,
        awaited: Option<u32>,
        correlation: i64,
    ) {
        let recorded = awaited.and_then(|recording| self.recordings.get(recording as usize)).copied();
        self.trace.syncs.push(Sync {
            kind,
            start: self.clock.show(start),
            end: self.clock.show(end),
            process: self.ids.process,
            thread: self.ids.threads[thread as usize],
            stream: stream.map(|s| self.ids.streams[s as usize]).unwrap_or_default(),
            event: OptI64::from(event.map(|e| i64::from(e) + 1)),
            waits_for: Default::default(),
            correlation,
            awaited: OptI64::from(recorded.filter(|correlation| *correlation != 0)),
            ..Sync::default()
        });
    }
}

impl Words {
    fn new(trace: &mut Trace, program: &Program, place: &RankIdentity, dialect: Dialect) -> Self {
        let torch = dialect == Dialect::Torch;
        let strings = &mut trace.strings;
        let annotation = if torch { "user_annotation" } else { "MARKER_CORE_RANGE_API" };
        let kernels = program
            .kernels
            .iter()
            .map(|kernel| {
                let name = serde_json::to_string(&kernel.name).unwrap_or_default();
                let triple = |v: [u32; 3]| format!("[{}, {}, {}]", v[0], v[1], v[2]);
                [name, triple(place.grid(kernel)), triple(kernel.workgroup)].map(|text| strings.intern(&text))
            })
            .collect();
        Self {
            categories: ["python_function", "python_function", "cpu_op", annotation]
                .map(|c| strings.intern(c)),
            runtime: strings.intern(if torch { "cuda_runtime" } else { "HIP_RUNTIME_API_EXT" }),
            apis: program
                .apis
                .iter()
                .enumerate()
                .map(|(i, name)| (strings.intern(name), strings.intern(&(200 + i).to_string())))
                .collect(),
            frames: program.frames.iter().map(|frame| strings.intern(&frame.name)).collect(),
            leaves: frames::LEAVES.iter().map(|name| strings.intern(name)).collect(),
            copies: program.copies.iter().map(|c| strings.intern(copy_name(c, torch))).collect(),
            keys: KEYS.iter().map(|key| (*key, strings.intern(key))).collect(),
            kernels,
            zero: strings.intern("0"),
            alloc: strings.intern("ALLOC"),
            free: strings.intern("FREE"),
            real: strings.intern("REAL"),
            smi: strings.intern("amd_smi"),
            power: strings.intern("power"),
            vram: strings.intern("vram"),
            clock: strings.intern("GPU clock"),
            mhz: strings.intern("MHz"),
            watts: strings.intern("W"),
            bytes: strings.intern("bytes"),
            groups: GroupKind::ALL.map(|kind| {
                let number = if program.layout.split { program.layout.group(kind, place.rank) } else { 0 };
                strings.intern(&number.to_string())
            }),
        }
    }
}

fn copy_name(copy: &crate::program::CopyWork, torch: bool) -> &'static str {
    let pageable = copy.memory == HostMemory::Pageable;
    match (copy.direction, torch) {
        (Some(Direction::H2d), true) if pageable => "Memcpy HtoD (Pageable -> Device)",
        (Some(Direction::D2h), true) if pageable => "Memcpy DtoH (Device -> Pageable)",
        (Some(Direction::H2d), true) => "Memcpy HtoD (Host -> Device)",
        (Some(Direction::D2h), true) => "Memcpy DtoH (Device -> Host)",
        (Some(Direction::D2d), true) => "Memcpy DtoD (Device -> Device)",
        (None, true) => "Memset (Device)",
        (Some(Direction::H2d), false) => "MEMORY_COPY_HOST_TO_DEVICE",
        (Some(Direction::D2h), false) => "MEMORY_COPY_DEVICE_TO_HOST",
        (Some(Direction::D2d), false) => "MEMORY_COPY_DEVICE_TO_DEVICE",
        (None, false) => "MEMORY_COPY_NONE",
    }
}

fn hip_copy_kind(direction: Option<Direction>) -> &'static str {
    match direction {
        Some(Direction::H2d) => "\"HtoD\"",
        Some(Direction::D2h) => "\"DtoH\"",
        Some(Direction::D2d) => "\"DtoD\"",
        None => "\"Device\"",
    }
}
