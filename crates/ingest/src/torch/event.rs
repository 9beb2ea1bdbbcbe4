//! Reads one trace event into the worker's tables.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use trace::{ArgNeeds, CopyKind, LaunchShape, OptI64, ShapeId};

use super::arguments::{Argument, Arguments, Want};
use super::category::{CallKind, Category};
use super::layout::{self, Code, Spelling};
use super::rows::{
    AllocationRow, CollectiveRow, CopyRow, Device, FlowRow, KernelRow, LabelRow, OpenRow, Owner, RegionRow,
    SampleRow, SyncRow,
};
use super::says::{direction, graph, handle, names_an_event, number, triple};
use super::worker::Worker;
use crate::json::{self, Cursor, Damage};

/// The fields of an event except its arguments, as written in the file.
#[derive(Clone, Copy, Default)]
pub(super) struct Fields<'a> {
    phase: u8,
    kind: Category,
    category: &'a [u8],
    /// The layout step that read the category, if there was one.
    category_step: Option<u16>,
    name: &'a [u8],
    pid: &'a [u8],
    tid: &'a [u8],
    ts: &'a [u8],
    dur: &'a [u8],
    id: &'a [u8],
}

/// Keys of events.
mod key {
    use super::Code;

    pub const PHASE: Code = 0;
    pub const CATEGORY: Code = 1;
    pub const NAME: Code = 2;
    pub const PID: Code = 3;
    pub const TID: Code = 4;
    pub const START: Code = 5;
    pub const DURATION: Code = 6;
    pub const ID: Code = 7;
    pub const ARGUMENTS: Code = 8;
    pub const OTHER: Code = 9;
}

/// How flows from calls to GPU work identify themselves: the correlation shows the same, more reliably.
/// Quotes inside strings are escaped, so this can only be a key and its value.
static SAYS_AGAIN: LazyLock<[Finder; 2]> =
    LazyLock::new(|| [Finder::new(br#""cat": "ac2g""#), Finder::new(br#""cat":"ac2g""#)]);

const SPELLING: Spelling = Spelling {
    code: |name| match name {
        b"ph" => key::PHASE,
        b"cat" => key::CATEGORY,
        b"name" => key::NAME,
        b"pid" => key::PID,
        b"tid" => key::TID,
        b"ts" => key::START,
        b"dur" => key::DURATION,
        b"id" => key::ID,
        b"args" => key::ARGUMENTS,
        _ => key::OTHER,
    },
    has_few_values: |code| matches!(code, key::PHASE | key::CATEGORY),
};

impl<'n> Worker<'n> {
    /// Reads the event the cursor is at and stores it.
    pub fn event<'a>(&mut self, json: &mut Cursor<'a>) -> Result<(), Damage> {
        let mut fields = Fields::default();
        let mut arguments = Arguments::of(&json.bytes()[json.pos()..]);
        let mut put_off = None;
        let mut at = layout::EVENT;
        json.object()?;
        loop {
            let met = self.layout.next(json, &mut at, &SPELLING)?;
            match met.code {
                key::PHASE => {
                    fields.phase = met.value.first().copied().unwrap_or(0);
                    if matches!(fields.phase, b's' | b't' | b'f') && self.passes_flow(json)? {
                        return Ok(());
                    }
                }
                key::CATEGORY => {
                    (fields.category, fields.kind) = (met.value, met.category);
                    fields.category_step = met.step;
                    if fields.kind == Category::Frame && !self.needs.python_frames {
                        json.skip_rest()?;
                        self.tally.events += 1;
                        self.tally.frames_skipped += 1;
                        return Ok(());
                    }
                }
                key::PID => fields.pid = json.scalar()?,
                key::TID => fields.tid = json.scalar()?,
                key::NAME => fields.name = json.scalar()?,
                key::START => fields.ts = json.scalar()?,
                key::DURATION => fields.dur = json.scalar()?,
                key::ID => fields.id = json.scalar()?,
                key::ARGUMENTS if json.peek() == Some(b'{') => {
                    if fields.phase == b'X' && !fields.category.is_empty() {
                        let want = self.wanted(&fields);
                        arguments.read(json, want, fields.kind, self)?;
                    } else {
                        put_off = Some(json.pos());
                        json.skip_value()?;
                    }
                }
                layout::END => break,
                _ => json.skip_value()?,
            }
        }
        if let Some(at) = put_off {
            let want = self.wanted(&fields);
            arguments.read(&mut Cursor::at(json.bytes(), at), want, fields.kind, self)?;
        }
        self.tally.events += 1;
        self.file(&fields, &arguments);
        Ok(())
    }

    /// Skips the rest of a flow that repeats a correlation, as nearly all do; returns whether it did.
    fn passes_flow(&mut self, json: &mut Cursor) -> Result<bool, Damage> {
        if self.needs.forward_backward {
            return Ok(false);
        }
        let start = json.pos();
        json.skip_rest()?;
        let rest = &json.bytes()[start..json.pos()];
        let passes =
            SAYS_AGAIN.iter().any(|says| says.find(rest).is_some()) && memchr::memchr(b'{', rest).is_none();
        if passes {
            self.tally.events += 1;
        } else {
            json.seek(start);
        }
        Ok(passes)
    }

    /// The arguments needed for this event's row.
    fn wanted(&self, fields: &Fields) -> Want {
        let needs = self.needs;
        let base = match (fields.phase, fields.kind) {
            (b'X', Category::Kernel) => {
                let mut want = Want::GPU;
                if needs.shapes {
                    want = want | Want::SHAPE;
                }
                if needs.collectives {
                    want = want | Want::COLLECTIVE;
                }
                want
            }
            (b'X', Category::Copy | Category::Fill) => Want::GPU | Want::BYTES,
            (b'X', Category::Call) if needs.syncs && names_an_event(fields.name) => Want::CALL | Want::EVENT,
            (b'X', Category::Call) => Want::CALL,
            (b'X', Category::Frame) => Want::FRAME,
            (b'X', Category::Sync) => Want::GPU | Want::SYNC,
            (b'X', _) => Want::EXTERNAL,
            (b'M', _) => Want::LABEL,
            (b'i' | b'I', _) if fields.name == b"[memory]" => Want::MEMORY,
            (b'C', _) => Want::SERIES,
            _ => Want::NONE,
        };
        let keeps = self.keep_args && (!needs.only_kernel_args || fields.kind == Category::Kernel);
        if keeps { base | Want::KEEP } else { base }
    }

    fn file(&mut self, fields: &Fields, arguments: &Arguments) {
        match fields.phase {
            b'X' => self.complete(fields, arguments),
            b's' | b't' | b'f' => self.flow(fields),
            b'i' | b'I' | b'R' => self.instant(fields, arguments),
            b'M' => self.label(fields, arguments),
            b'C' => self.counter(fields, arguments),
            b'B' | b'E' | b'b' | b'e' | b'S' | b'F' => self.open(fields, arguments),
            0 => self.tally.bad += 1,
            _ => self.tally.untabled += 1,
        }
    }

    fn complete(&mut self, fields: &Fields, arguments: &Arguments) {
        let (Some(start), Some(duration)) = (json::micros(fields.ts), json::micros(fields.dur)) else {
            self.tally.bad += 1;
            return;
        };
        let Some(end) = start.checked_add(duration) else {
            self.tally.bad += 1;
            return;
        };
        match fields.kind {
            Category::Kernel => self.kernel(fields, arguments, start, end),
            Category::Copy | Category::Fill => self.copy(fields, arguments, start, end),
            Category::Sync => self.sync(fields, arguments, start, end),
            _ => self.region(fields, arguments, start, end),
        }
    }

    fn kernel(&mut self, fields: &Fields, arguments: &Arguments, start: i64, end: i64) {
        self.tally.kernels += 1;
        if !self.needs.kernels {
            return;
        }
        let row = self.rows.kernels.len() as u32;
        let lane = self.lanes.gpu(
            fields.pid,
            arguments.get(Argument::Device),
            fields.tid,
            arguments.get(Argument::Stream),
        );
        let shape = self.shape(arguments);
        self.rows.kernels.push(KernelRow {
            name: self.names.intern(fields.name),
            start,
            end,
            lane,
            correlation: number(arguments.get(Argument::Correlation)).unwrap_or(0),
            external: number(arguments.get(Argument::External)).into(),
            shape,
            graph: graph(arguments),
        });
        self.keep(Owner::Kernel, row, arguments);
        if self.needs.collectives && !arguments.get(Argument::Collective).is_empty() {
            self.rows.collectives.push(CollectiveRow {
                kernel: row,
                group: self.names.intern(arguments.get(Argument::Group)),
                group_size: number(arguments.get(Argument::GroupSize)).into(),
                sequence: number(arguments.get(Argument::Sequence)).into(),
                operation: self.names.intern(arguments.get(Argument::Collective)),
                elements: number(arguments.get(Argument::Elements)).into(),
                dtype: self.names.intern(arguments.get(Argument::Dtype)),
                peer: number(arguments.get(Argument::Peer)).into(),
                lane,
            });
        }
    }

    fn shape(&mut self, arguments: &Arguments) -> ShapeId {
        if !self.needs.shapes {
            return ShapeId::default();
        }
        let workgroup = triple(arguments.get(Argument::Block));
        // torch counts workgroups, the model counts work-items.
        let grid = triple(arguments.get(Argument::Grid))
            .zip(workgroup)
            .map(|(grid, block)| [0, 1, 2].map(|axis| grid[axis].saturating_mul(block[axis])));
        self.shapes.intern(LaunchShape {
            grid,
            workgroup,
            lds_bytes: number(arguments.get(Argument::SharedMemory)).into(),
            vgpr: number(arguments.get(Argument::Registers)).into(),
            ..LaunchShape::default()
        })
    }

    fn copy(&mut self, fields: &Fields, arguments: &Arguments, start: i64, end: i64) {
        if !self.needs.memory_copies {
            return;
        }
        let fill = fields.kind == Category::Fill;
        let row = self.rows.copies.len() as u32;
        self.rows.copies.push(CopyRow {
            name: self.names.intern(fields.name),
            kind: if fill { CopyKind::Fill } else { CopyKind::Copy },
            start,
            end,
            bytes: number(arguments.get(Argument::Bytes)).into(),
            lane: self.lanes.gpu(
                fields.pid,
                arguments.get(Argument::Device),
                fields.tid,
                arguments.get(Argument::Stream),
            ),
            direction: direction(fill, arguments.get(Argument::Kind), fields.name),
            correlation: number(arguments.get(Argument::Correlation)).unwrap_or(0),
            external: number(arguments.get(Argument::External)).into(),
            graph: graph(arguments),
        });
        self.keep(Owner::Copy, row, arguments);
    }

    fn sync(&mut self, fields: &Fields, arguments: &Arguments, start: i64, end: i64) {
        if !self.needs.syncs {
            return;
        }
        let row = self.rows.syncs.len() as u32;
        let kind = if arguments.get(Argument::SyncKind).is_empty() {
            fields.name
        } else {
            arguments.get(Argument::SyncKind)
        };
        self.rows.syncs.push(SyncRow {
            kind: self.names.intern(kind),
            start,
            end,
            lane: self.lanes.gpu(
                fields.pid,
                arguments.get(Argument::Device),
                fields.tid,
                arguments.get(Argument::Stream),
            ),
            event: number(arguments.get(Argument::Event)).into(),
            waits_for: number(arguments.get(Argument::WaitsFor)).into(),
            correlation: number(arguments.get(Argument::Correlation)).unwrap_or(0),
            awaited: number(arguments.get(Argument::Awaited)).into(),
        });
        self.keep(Owner::Sync, row, arguments);
    }

    fn region(&mut self, fields: &Fields, arguments: &Arguments, start: i64, end: i64) {
        let is_call = fields.kind == Category::Call;
        let name = self.names.intern(fields.name);
        let lane = if fields.kind.on_gpu() {
            self.lanes.gpu(fields.pid, b"", fields.tid, b"")
        } else {
            self.lanes.host(fields.pid, fields.tid)
        };
        let correlation = if is_call { number(arguments.get(Argument::Correlation)).unwrap_or(0) } else { 0 };
        if is_call {
            match self.call_kind(name) {
                CallKind::Launch => self.tally.launches += 1,
                CallKind::BeginCapture => self.tally.captures += 1,
                CallKind::Sync if self.needs.syncs => self.rows.syncs.push(SyncRow {
                    kind: name,
                    start,
                    end,
                    lane,
                    event: handle(arguments.get(Argument::Event)).into(),
                    waits_for: OptI64::NONE,
                    correlation,
                    awaited: OptI64::NONE,
                }),
                _ => {}
            }
        }
        // Frames are read only if they are wanted; links are made from launches.
        let wanted = self.needs.regions || fields.kind == Category::Frame || self.needs.links && is_call;
        if !wanted {
            // The GPU work needs a process.
            if !fields.kind.on_gpu() {
                self.witness.get_or_insert(lane);
            }
            return;
        }
        let row = self.rows.regions.len() as u32;
        let external = if fields.kind == Category::Frame {
            arguments.get(Argument::PythonId)
        } else {
            arguments.get(Argument::External)
        };
        let category = self.category_name(fields);
        self.rows.regions.push(RegionRow {
            name,
            category,
            start,
            end,
            lane,
            correlation,
            parent: number(arguments.get(Argument::PythonParent)).unwrap_or(0),
            external: number(external).into(),
        });
        self.keep(Owner::Region, row, arguments);
    }

    /// The name of an event's category, looked up once per spelling.
    fn category_name(&mut self, fields: &Fields) -> u32 {
        let Some(step) = fields.category_step.map(usize::from) else {
            return self.names.intern(fields.category);
        };
        if step >= self.category_names.len() {
            self.category_names.resize(step + 1, None);
        }
        *self.category_names[step].get_or_insert_with(|| self.names.intern(fields.category))
    }

    fn flow(&mut self, fields: &Fields) {
        if fields.category != formats::torch::category::bytes::FWDBWD {
            if fields.category != b"ac2g" {
                self.tally.untabled += 1;
            }
            return;
        }
        if !self.needs.forward_backward {
            return;
        }
        let Some(at) = json::micros(fields.ts) else {
            self.tally.bad += 1;
            return;
        };
        let (id, lane) = (self.names.intern(fields.id), self.lanes.host(fields.pid, fields.tid));
        self.rows.flows.push(FlowRow { start: fields.phase == b's', id, lane, at });
    }

    fn instant(&mut self, fields: &Fields, arguments: &Arguments) {
        let memory = fields.name == b"[memory]";
        if !(if memory { self.needs.memory_allocations } else { self.needs.samples }) {
            return;
        }
        let Some(at) = json::micros(fields.ts) else {
            self.tally.bad += 1;
            return;
        };
        let lane = self.lanes.host(fields.pid, fields.tid);
        if !memory {
            let row = self.rows.samples.len() as u32;
            let kind = if fields.category.is_empty() { b"instant" } else { fields.category };
            let (kind, name) = (self.names.intern(kind), self.names.intern(fields.name));
            self.rows.samples.push(SampleRow { at, kind, name, value: f64::NAN, lane });
            self.keep(Owner::Sample, row, arguments);
            return;
        }
        let Some(bytes) = number(arguments.get(Argument::Bytes)) else {
            self.tally.bad += 1;
            return;
        };
        let row = self.rows.allocations.len() as u32;
        self.rows.allocations.push(AllocationRow {
            free: bytes < 0,
            at,
            address: handle(arguments.get(Argument::Address)).into(),
            bytes: OptI64::some(bytes.saturating_abs()),
            lane,
            device: match (
                number(arguments.get(Argument::DeviceType)),
                number(arguments.get(Argument::Device)),
            ) {
                (Some(0), _) => Device::Host,
                (_, Some(device)) if device >= 0 => Device::Gpu(device),
                _ => Device::Unknown,
            },
        });
        self.keep(Owner::Allocation, row, arguments);
    }

    fn counter(&mut self, fields: &Fields, arguments: &Arguments) {
        if !self.needs.samples {
            return;
        }
        let Some(at) = json::micros(fields.ts) else {
            self.tally.bad += 1;
            return;
        };
        let lane = self.lanes.host(fields.pid, fields.tid);
        let kind = self.names.intern(b"counter");
        for (series, value) in &arguments.series {
            let Some(value) = json::float(value) else { continue };
            let name = match &arguments.series[..] {
                [_] => self.names.intern(fields.name),
                _ => self.names.intern(&[fields.name, b": ", series].concat()),
            };
            self.rows.samples.push(SampleRow { at, kind, name, value, lane });
        }
    }

    fn label(&mut self, fields: &Fields, arguments: &Arguments) {
        if arguments.get(Argument::Label).is_empty() {
            return;
        }
        let [what, pid, tid, text] = [fields.name, fields.pid, fields.tid, arguments.get(Argument::Label)]
            .map(|raw| self.names.intern(raw));
        self.rows.labels.push(LabelRow { what, pid, tid, text });
    }

    fn open(&mut self, fields: &Fields, arguments: &Arguments) {
        if !self.needs.regions {
            return;
        }
        let Some(at) = json::micros(fields.ts) else {
            self.tally.bad += 1;
            return;
        };
        let row = self.rows.opens.len() as u32;
        let [category, name, id] =
            [fields.category, fields.name, fields.id].map(|raw| self.names.intern(raw));
        let phase = fields.phase;
        let lane = self.lanes.host(fields.pid, fields.tid);
        self.rows.opens.push(OpenRow { phase, category, name, id, lane, at });
        self.keep(Owner::Open, row, arguments);
    }

    /// Stores the requested arguments.
    fn keep(&mut self, owner: Owner, row: u32, arguments: &Arguments) {
        if matches!(self.needs.args, ArgNeeds::None) {
            return;
        }
        for &(position, name, value) in &arguments.kept {
            self.rows.args.push(super::rows::ArgRow { owner, row, position, name, value });
        }
    }
}
