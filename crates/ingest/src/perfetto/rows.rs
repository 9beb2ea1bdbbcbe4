//! Slices and instants as rows of a trace, by their category.

use trace::{
    AgentId, AgentKind, Arg, Collective, CopyKind, Counter, CounterId, CounterKind, Graph, GraphNode, Kernel,
    KernelSymbol, LaunchShape, Link, LinkKind, Map, MemoryAllocation, MemoryCopy, Needs, Ns, OptI64,
    ProcessId, QueueId, Region, RowRef, Sample, StrId, StreamId, Sync, Table, ThreadId, Trace,
};

use super::annotations::{FIELDS, Field, Note, OF_CALLS, OF_ROCPROFV3, OF_SAMPLES};
use super::tracks::{TrackOwner, Tracks};
use crate::entities::Entities;
use crate::rocprofv3::words;
use crate::torch::CallKind;

/// Which rows the slices of a category become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Kernel,
    Copy,
    Allocation,
    Scratch,
    Wait,
}

/// Categories that are not host calls: rocprofv3's, rocprof-sys's, and those of our own files.
const CATEGORIES: &[(&str, Of)] = &[
    ("kernel_dispatch", Of::Kernel),
    ("rocm_kernel_dispatch", Of::Kernel),
    ("memory_copy", Of::Copy),
    ("rocm_memory_copy", Of::Copy),
    ("memory_allocation", Of::Allocation),
    ("rocm_memory_allocation", Of::Allocation),
    ("rocm_memory_allocate", Of::Allocation),
    ("scratch_memory", Of::Scratch),
    ("rocm_scratch_memory", Of::Scratch),
    ("synchronisation", Of::Wait),
];

/// Categories of host calls, and rocpd's names for them.
const CALLS: &[(&str, &str)] = &[
    ("hip_api", "HIP_RUNTIME_API"),
    ("hsa_api", "HSA_CORE_API"),
    ("marker_api", "MARKER_CORE_API"),
    ("rccl_api", "RCCL_API"),
    ("rocdecode_api", "ROCDECODE_API"),
    ("rocjpeg_api", "ROCJPEG_API"),
    ("none", ""),
];

/// A slice or instant with all its details.
#[derive(Debug, Default)]
pub(super) struct Slice {
    pub start: Ns,
    pub name: StrId,
    pub category: StrId,
    pub notes: Vec<(StrId, Note)>,
    /// Flows from forward ops, and whether they end here.
    pub flows: Vec<(u64, bool)>,
}

/// Sorts slices into tables.
pub(super) struct Rows<'n> {
    needs: &'n Needs,
    kinds: Map<StrId, Of>,
    calls: Map<StrId, StrId>,
    fields: Map<StrId, Field>,
    entities: Entities,
    /// Annotations of dispatches that are counters, and their units.
    counters: Map<StrId, StrId>,
    counter_kinds: Map<(ProcessId, AgentId, StrId), CounterId>,
    /// `python_function`
    frame: StrId,
    /// Python frames that were not requested.
    pub frames: u64,
    /// Forward ops by their flow.
    forward: Map<u64, RowRef>,
    /// Dispatches with counters of the whole process.
    pub totals: u64,
}

impl<'n> Rows<'n> {
    pub fn new(needs: &'n Needs, trace: &mut Trace) -> Self {
        let mut intern = |text: &str| trace.strings.intern(text);
        Self {
            needs,
            kinds: CATEGORIES.iter().map(|(name, of)| (intern(name), *of)).collect(),
            calls: CALLS.iter().map(|(name, word)| (intern(name), intern(word))).collect(),
            fields: FIELDS
                .iter()
                .flat_map(|(field, names)| names.iter().map(move |name| (name, *field)))
                .map(|(name, field)| (intern(name), field))
                .collect(),
            entities: Entities::default(),
            counters: Map::default(),
            counter_kinds: Map::default(),
            frame: intern("python_function"),
            frames: 0,
            forward: Map::default(),
            totals: 0,
        }
    }

    /// Takes the counters that dispatches have.
    pub fn know_counters<'t>(&mut self, all: impl Iterator<Item = (&'t str, &'t str)>, trace: &mut Trace) {
        for (name, unit) in all {
            self.counters.insert(trace.strings.intern(name), trace.strings.intern(unit));
        }
    }

    /// The last annotation for a field.
    fn note(&self, slice: &Slice, field: Field) -> Option<Note> {
        slice.notes.iter().rev().find(|(key, _)| self.fields.get(key) == Some(&field)).map(|(_, note)| *note)
    }

    fn whole(&self, slice: &Slice, field: Field) -> Option<i64> {
        match self.note(slice, field)? {
            Note::Whole(number) => Some(number),
            _ => None,
        }
    }

    fn optional(&self, slice: &Slice, field: Field) -> OptI64 {
        self.whole(slice, field).into()
    }

    fn text(&self, slice: &Slice, field: Field) -> StrId {
        match self.note(slice, field) {
            Some(Note::Text(text)) => text,
            _ => StrId::EMPTY,
        }
    }

    /// Files a finished slice.
    pub fn take(
        &mut self,
        slice: &Slice,
        end: Ns,
        place: &TrackOwner,
        tracks: &mut Tracks,
        trace: &mut Trace,
    ) {
        match self.kinds.get(&slice.category) {
            Some(Of::Kernel) if self.needs.kernels || self.needs.counters => {
                self.kernel(slice, end, place, tracks, trace);
            }
            Some(Of::Copy) if self.needs.memory_copies => self.copy(slice, end, place, tracks, trace),
            Some(of @ (Of::Allocation | Of::Scratch)) if self.needs.memory_allocations => {
                self.allocation(*of, slice, end, place, tracks, trace);
            }
            Some(Of::Wait) if self.needs.syncs => self.wait(slice, end, place, trace),
            Some(_) => {}
            None if slice.category == self.frame && !self.needs.python_frames => self.frames += 1,
            None if self.needs.regions || self.needs.links || slice.category == self.frame => {
                self.region(slice, end, place, tracks, trace);
            }
            None => {}
        }
    }

    fn agent(
        &self,
        slice: &Slice,
        field: Field,
        process: ProcessId,
        tracks: &mut Tracks,
        trace: &mut Trace,
    ) -> AgentId {
        // Copies also go from and to hosts.
        let kind = if field == Field::Agent { AgentKind::Gpu } else { AgentKind::Unknown };
        match self.note(slice, field) {
            Some(Note::Whole(index)) => tracks.agent(process, index, kind, trace),
            Some(Note::Text(text)) => {
                let text = trace.strings.get(text).to_owned();
                match text.parse() {
                    Ok(index) => tracks.agent(process, index, kind, trace),
                    Err(_) => tracks.labelled(process, &text, "", trace),
                }
            }
            _ => AgentId::NONE,
        }
    }

    fn agent_or(&self, slice: &Slice, place: &TrackOwner, tracks: &mut Tracks, trace: &mut Trace) -> AgentId {
        match place.agent.is_some() {
            true => place.agent,
            false => self.agent(slice, Field::Agent, place.process, tracks, trace),
        }
    }

    /// The stream that a row names, or its track.
    fn stream(&mut self, slice: &Slice, place: &TrackOwner, trace: &mut Trace) -> StreamId {
        let id = self.whole(slice, Field::Stream).or(place.stream);
        self.entities.stream(trace, place.process, id)
    }

    /// The queue that a row names, or its track.
    fn queue(&mut self, slice: &Slice, place: &TrackOwner, trace: &mut Trace) -> QueueId {
        let id = self.whole(slice, Field::Queue).or(place.queue);
        self.entities.queue(trace, place.process, id)
    }

    fn kernel(&mut self, slice: &Slice, end: Ns, place: &TrackOwner, tracks: &mut Tracks, trace: &mut Trace) {
        let process = place.process;
        let shape = LaunchShape {
            grid: self.size(slice, Field::Grid, trace),
            workgroup: self.size(slice, Field::Workgroup, trace),
            lds_bytes: self.optional(slice, Field::Lds),
            scratch_bytes: self.optional(slice, Field::Scratch),
            vgpr: self.optional(slice, Field::Vgpr),
            agpr: self.optional(slice, Field::Agpr),
            sgpr: self.optional(slice, Field::Sgpr),
        };
        let facts = || KernelSymbol { display_name: slice.name, ..KernelSymbol::default() };
        let symbol = self.entities.symbol(trace, process, self.whole(slice, Field::Symbol), facts);
        let replayed = self.text(slice, Field::Graph);
        let kernel = Kernel {
            name: slice.name,
            start: slice.start,
            end,
            process,
            thread: self.thread(slice, place, tracks, trace),
            agent: self.agent_or(slice, place, tracks, trace),
            queue: self.queue(slice, place, trace),
            stream: self.stream(slice, place, trace),
            correlation: self.whole(slice, Field::Correlation).unwrap_or(0),
            external: self.optional(slice, Field::External),
            dispatch: self.optional(slice, Field::Dispatch),
            shape: trace.shapes.intern(shape),
            symbol,
            region: self.text(slice, Field::Region),
            graph: if trace.strings.get(replayed) == "replayed" { Graph::Replayed } else { Graph::Unknown },
        };
        let (agent, owner) = (kernel.agent, RowRef::kernel(trace.kernels.len()));
        trace.kernels.push(kernel);
        self.graph_node(slice, owner, trace);
        self.collective(slice, process, owner, trace);
        if self.is_rocprofv3(slice) {
            // Its counter annotations are sums over the whole process, the same at every dispatch.
            let known = |key: &StrId| self.fields.contains_key(key);
            self.totals += u64::from(slice.notes.iter().any(|(key, _)| !known(key)));
            return;
        }
        for (name, note) in &slice.notes {
            let Some(&unit) = self.counters.get(name).filter(|_| self.needs.counters) else { continue };
            let value = match note {
                Note::Whole(number) => *number as f64,
                Note::Number(number) => *number,
                Note::Text(_) => continue,
            };
            let new = || {
                trace.add_counter_kind(CounterKind {
                    name: *name,
                    unit,
                    process,
                    agent,
                    ..Default::default()
                })
            };
            let counter = *self.counter_kinds.entry((process, agent, *name)).or_insert_with(new);
            trace.counters.push(Counter { kernel: owner, counter, value, ..Counter::default() });
        }
        let columns = |field: &Field| *field != Field::Words;
        self.arguments(slice, owner, columns, trace);
    }

    fn is_rocprofv3(&self, slice: &Slice) -> bool {
        self.note(slice, Field::Times).is_some()
    }

    fn collective(&self, slice: &Slice, process: ProcessId, row: RowRef, trace: &mut Trace) {
        let operation = self.text(slice, Field::Collective);
        let group = self.text(slice, Field::Group);
        if !self.needs.collectives || operation.is_empty() && group.is_empty() {
            return;
        }
        trace.collectives.push(Collective {
            group,
            group_size: self.optional(slice, Field::GroupSize),
            sequence: self.optional(slice, Field::Sequence),
            operation,
            bytes: self.optional(slice, Field::MessageBytes),
            dtype: self.text(slice, Field::DataType),
            row,
            process,
            ..Collective::default()
        });
    }

    fn thread(
        &self,
        slice: &Slice,
        place: &TrackOwner,
        tracks: &mut Tracks,
        trace: &mut Trace,
    ) -> trace::ThreadId {
        match self.whole(slice, Field::Thread) {
            Some(tid) => tracks.thread(place.process, tid, None, trace),
            None => place.thread,
        }
    }

    /// `64 (x=64, y=1, z=1)`, or a number.
    fn size(&self, slice: &Slice, field: Field, trace: &Trace) -> Option<[u32; 3]> {
        match self.note(slice, field)? {
            Note::Whole(all) => Some([u32::try_from(all).ok()?, 1, 1]),
            Note::Text(text) => {
                let text = trace.strings.get(text);
                let axis = |name: &str| {
                    let (_, rest) = text.split_once(name)?;
                    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
                    rest[..digits].parse().ok()
                };
                match [axis("x="), axis("y="), axis("z=")] {
                    [Some(x), Some(y), Some(z)] => Some([x, y, z]),
                    _ => Some([text.split_whitespace().next()?.parse().ok()?, 1, 1]),
                }
            }
            Note::Number(_) => None,
        }
    }

    fn copy(&mut self, slice: &Slice, end: Ns, place: &TrackOwner, tracks: &mut Tracks, trace: &mut Trace) {
        let process = place.process;
        let name = trace.strings.get(slice.name).to_ascii_lowercase();
        let fills = ["fill", "memset"].iter().any(|word| name.contains(word));
        let copy = MemoryCopy {
            name: slice.name,
            kind: if fills { CopyKind::Fill } else { CopyKind::Copy },
            start: slice.start,
            end,
            bytes: self.optional(slice, Field::Bytes),
            process,
            thread: self.thread(slice, place, tracks, trace),
            src: self.agent(slice, Field::Source, process, tracks, trace),
            dst: self.agent(slice, Field::Target, process, tracks, trace),
            queue: self.queue(slice, place, trace),
            stream: self.stream(slice, place, trace),
            correlation: self.whole(slice, Field::Correlation).unwrap_or(0),
            external: self.optional(slice, Field::External),
            ..MemoryCopy::default()
        };
        trace.memory_copies.push(copy);
        self.graph_node(slice, RowRef::new(Table::MemoryCopies, trace.memory_copies.len() - 1), trace);
    }

    /// Stores the graph node that a row ran as.
    fn graph_node(&self, slice: &Slice, row: RowRef, trace: &mut Trace) {
        if let Some(exec) = self.whole(slice, Field::GraphExec).filter(|exec| *exec != 0) {
            let node = self.whole(slice, Field::GraphNode).unwrap_or(0);
            trace.graph_nodes.push(GraphNode { row, exec, node });
        }
    }

    fn allocation(
        &mut self,
        of: Of,
        slice: &Slice,
        end: Ns,
        place: &TrackOwner,
        tracks: &mut Tracks,
        trace: &mut Trace,
    ) {
        let name = trace.strings.get(slice.name).to_owned();
        let (kind, level) = if of == Of::Scratch { words::scratch(&name) } else { words::allocation(&name) };
        let told = self.text(slice, Field::Level);
        let address = match self.note(slice, Field::Address) {
            Some(Note::Whole(address)) => Some(address),
            Some(Note::Text(text)) => {
                let digits = trace.strings.get(text).trim_start_matches("0x");
                u64::from_str_radix(digits, 16).ok().map(|address| address as i64)
            }
            _ => None,
        };
        let row = MemoryAllocation {
            kind: trace.strings.intern(kind),
            level: if told.is_empty() { trace.strings.intern(level) } else { told },
            start: slice.start,
            end,
            address: address.into(),
            bytes: self.optional(slice, Field::Bytes),
            process: place.process,
            thread: self.thread(slice, place, tracks, trace),
            agent: self.agent_or(slice, place, tracks, trace),
            correlation: self.whole(slice, Field::Correlation).unwrap_or(0),
            ..MemoryAllocation::default()
        };
        trace.memory_allocations.push(row);
    }

    fn wait(&mut self, slice: &Slice, end: Ns, place: &TrackOwner, trace: &mut Trace) {
        let process = place.process;
        let row = Sync {
            kind: slice.name,
            start: slice.start,
            end,
            process,
            thread: place.thread,
            // The track decides; an argument of this name may be a number for all streams.
            stream: self.entities.stream(trace, process, place.stream),
            event: self.optional(slice, Field::Event),
            waits_for: self.entities.stream(trace, process, self.whole(slice, Field::WaitsFor)),
            ..Sync::default()
        };
        trace.syncs.push(row);
    }

    fn region(&mut self, slice: &Slice, end: Ns, place: &TrackOwner, tracks: &mut Tracks, trace: &mut Trace) {
        let row = RowRef::region(trace.regions.len());
        let region = Region {
            name: slice.name,
            category: self.category(slice),
            start: slice.start,
            end,
            process: place.process,
            thread: host_thread(place, tracks, trace),
            correlation: self.whole(slice, Field::Correlation).unwrap_or(0),
            parent: self.whole(slice, Field::Parent).unwrap_or(0),
            external: self.optional(slice, Field::External),
        };
        if self.needs.syncs && CallKind::of(trace.strings.get(region.name).as_bytes()) == CallKind::Sync {
            let sync = Sync {
                kind: region.name,
                start: region.start,
                end,
                process: region.process,
                thread: region.thread,
                stream: self.entities.stream(trace, region.process, self.whole(slice, Field::SyncStream)),
                event: self.optional(slice, Field::SyncEvent),
                waits_for: self.entities.stream(trace, region.process, self.whole(slice, Field::WaitsFor)),
                correlation: region.correlation,
                awaited: self.optional(slice, Field::Awaited),
                ..Sync::default()
            };
            trace.syncs.push(sync);
        }
        trace.regions.push(region);
        for (flow, ends) in slice.flows.iter().filter(|_| self.needs.forward_backward) {
            if !ends {
                self.forward.insert(*flow, row);
            } else if let Some(&from) = self.forward.get(flow) {
                trace.links.push(Link { kind: LinkKind::ForwardBackward, from, to: row });
            }
        }
        let rocprofv3 = self.is_rocprofv3(slice);
        let columns = |field: &Field| OF_CALLS.contains(field) || rocprofv3 && OF_ROCPROFV3.contains(field);
        self.arguments(slice, row, columns, trace);
    }

    fn category(&self, slice: &Slice) -> StrId {
        self.calls.get(&slice.category).copied().unwrap_or(slice.category)
    }

    /// Annotations that are neither a column of the row nor a counter.
    fn arguments(&self, slice: &Slice, owner: RowRef, is_column: impl Fn(&Field) -> bool, trace: &mut Trace) {
        let mut position = 0;
        for (key, note) in &slice.notes {
            let is_column = self.fields.get(key).is_some_and(&is_column) || self.counters.contains_key(key);
            if is_column || !self.needs.args.wants(trace.strings.get(*key)) {
                continue;
            }
            let value = match note {
                Note::Whole(number) => trace.strings.intern(&number.to_string()),
                Note::Number(number) => trace.strings.intern(&number.to_string()),
                Note::Text(text) => *text,
            };
            trace.args.push(Arg { owner, position, ty: StrId::EMPTY, name: *key, value });
            position += 1;
        }
    }

    /// A point in time.
    pub fn instant(&mut self, slice: &Slice, place: &TrackOwner, tracks: &mut Tracks, trace: &mut Trace) {
        if !self.needs.samples {
            return;
        }
        let thread = host_thread(place, tracks, trace);
        trace.samples.push(Sample {
            start: slice.start,
            end: slice.start,
            kind: self.category(slice),
            name: slice.name,
            value: f64::NAN,
            location: self.text(slice, Field::Message),
            process: place.process,
            thread,
            agent: place.agent,
            correlation: self.whole(slice, Field::Correlation).unwrap_or(0),
            dispatch: self.optional(slice, Field::Dispatch),
            ..Sample::default()
        });
        let rocprofv3 = self.is_rocprofv3(slice);
        let columns = |field: &Field| OF_SAMPLES.contains(field) || rocprofv3 && OF_ROCPROFV3.contains(field);
        self.arguments(slice, RowRef::new(Table::Samples, trace.samples.len() - 1), columns, trace);
    }
}

/// The thread of a call: its track's, or the track itself if its number is too large for Perfetto.
fn host_thread(place: &TrackOwner, tracks: &mut Tracks, trace: &mut Trace) -> ThreadId {
    match place.lane {
        Some((tid, name)) if !place.thread.is_some() => {
            let name = trace.strings.get(name).to_owned();
            tracks.thread(place.process, tid, Some(&name), trace)
        }
        _ => place.thread,
    }
}
