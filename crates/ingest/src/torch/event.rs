//! One trace event: its fields into the worker's tables.

use trace::{ArgNeeds, CopyKind, Graph, LaunchShape, OptI64, ShapeId};

use super::arguments::{Arguments, Want};
use super::category::{CallKind, Category};
use super::rows::{
    AllocationRow, CollectiveRow, CopyRow, Device, Direction, FlowRow, KernelRow, LabelRow, OpenRow, Owner,
    RegionRow, SampleRow, SyncRow,
};
use super::worker::Worker;
use crate::json::{self, Cursor, Damage};

/// The fields of an event besides its arguments, as they stand in the file.
#[derive(Clone, Copy, Default)]
pub(super) struct Fields<'a> {
    phase: u8,
    kind: Category,
    category: &'a [u8],
    name: &'a [u8],
    pid: &'a [u8],
    tid: &'a [u8],
    ts: &'a [u8],
    dur: &'a [u8],
    id: &'a [u8],
}

impl<'n> Worker<'n> {
    /// Reads the event the cursor is at and files it.
    pub fn event<'a>(&mut self, json: &mut Cursor<'a>) -> Result<(), Damage> {
        let mut fields = Fields::default();
        let mut arguments = Arguments::default();
        let mut put_off = None;
        let mut keys = json.object()?;
        while let Some(key) = keys.next(json)? {
            match key.raw {
                b"ph" => fields.phase = json.scalar()?.first().copied().unwrap_or(0),
                b"cat" => {
                    fields.category = json.scalar()?;
                    fields.kind = Category::of(fields.category);
                    if fields.kind == Category::Frame && !self.needs.python_frames {
                        json.skip_rest()?;
                        self.tally.events += 1;
                        self.tally.frames_skipped += 1;
                        return Ok(());
                    }
                }
                b"name" => fields.name = json.scalar()?,
                b"pid" => fields.pid = json.scalar()?,
                b"tid" => fields.tid = json.scalar()?,
                b"ts" => fields.ts = json.scalar()?,
                b"dur" => fields.dur = json.scalar()?,
                b"id" => fields.id = json.scalar()?,
                b"args" if json.peek() == Some(b'{') => {
                    if fields.phase == b'X' && !fields.category.is_empty() {
                        let want = self.wanted(&fields);
                        arguments.read(json, want, self)?;
                    } else {
                        put_off = Some(json.pos());
                        json.skip_value()?;
                    }
                }
                _ => json.skip_value()?,
            }
        }
        if let Some(at) = put_off {
            let want = self.wanted(&fields);
            arguments.read(&mut Cursor::at(json.bytes(), at), want, self)?;
        }
        self.tally.events += 1;
        self.file(&fields, &arguments);
        Ok(())
    }

    /// The arguments that this event's row is made from.
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
        let lane = self.lanes.gpu(fields.pid, arguments.device, fields.tid, arguments.stream);
        let shape = self.shape(arguments);
        self.rows.kernels.push(KernelRow {
            name: self.names.intern(fields.name),
            start,
            end,
            lane,
            correlation: number(arguments.correlation).unwrap_or(0),
            external: number(arguments.external).into(),
            shape,
            graph: graph(arguments),
        });
        self.keep(Owner::Kernel, row, arguments);
        if self.needs.collectives && !arguments.collective.is_empty() {
            self.rows.collectives.push(CollectiveRow {
                kernel: row,
                group: self.names.intern(arguments.group),
                group_size: number(arguments.group_size).into(),
                sequence: number(arguments.sequence).into(),
                operation: self.names.intern(arguments.collective),
                elements: number(arguments.elements).into(),
                dtype: self.names.intern(arguments.dtype),
                peer: number(arguments.peer).into(),
                lane,
            });
        }
    }

    fn shape(&mut self, arguments: &Arguments) -> ShapeId {
        if !self.needs.shapes {
            return ShapeId::default();
        }
        let workgroup = triple(arguments.block);
        // torch counts workgroups, the model work-items.
        let grid = triple(arguments.grid)
            .zip(workgroup)
            .map(|(grid, block)| [0, 1, 2].map(|axis| grid[axis].saturating_mul(block[axis])));
        self.shapes.intern(LaunchShape {
            grid,
            workgroup,
            lds_bytes: number(arguments.shared_memory).into(),
            vgpr: number(arguments.registers).into(),
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
            bytes: number(arguments.bytes).into(),
            lane: self.lanes.gpu(fields.pid, arguments.device, fields.tid, arguments.stream),
            direction: direction(fill, arguments.kind, fields.name),
            correlation: number(arguments.correlation).unwrap_or(0),
            external: number(arguments.external).into(),
            graph: graph(arguments),
        });
        self.keep(Owner::Copy, row, arguments);
    }

    fn sync(&mut self, fields: &Fields, arguments: &Arguments, start: i64, end: i64) {
        if !self.needs.syncs {
            return;
        }
        let row = self.rows.syncs.len() as u32;
        let kind = if arguments.sync_kind.is_empty() { fields.name } else { arguments.sync_kind };
        self.rows.syncs.push(SyncRow {
            kind: self.names.intern(kind),
            start,
            end,
            lane: self.lanes.gpu(fields.pid, arguments.device, fields.tid, arguments.stream),
            event: number(arguments.event).into(),
            waits_for: number(arguments.waits_for).into(),
            correlation: number(arguments.correlation).unwrap_or(0),
            awaited: number(arguments.awaited).into(),
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
        let correlation = if is_call { number(arguments.correlation).unwrap_or(0) } else { 0 };
        if is_call {
            match self.call_kind(name) {
                CallKind::Launch => self.tally.launches += 1,
                CallKind::BeginCapture => self.tally.captures += 1,
                CallKind::Sync if self.needs.syncs => self.rows.syncs.push(SyncRow {
                    kind: name,
                    start,
                    end,
                    lane,
                    event: handle(arguments.event).into(),
                    waits_for: OptI64::NONE,
                    correlation,
                    awaited: OptI64::NONE,
                }),
                _ => {}
            }
        }
        // Frames come this far only when they are wanted; launches are what links are made from.
        let wanted = self.needs.regions || fields.kind == Category::Frame || self.needs.links && is_call;
        if !wanted {
            // Somebody must be the process of the GPU work.
            if !fields.kind.on_gpu() {
                self.witness.get_or_insert(lane);
            }
            return;
        }
        let row = self.rows.regions.len() as u32;
        let external = if fields.kind == Category::Frame { arguments.python_id } else { arguments.external };
        self.rows.regions.push(RegionRow {
            name,
            category: self.names.intern(fields.category),
            start,
            end,
            lane,
            correlation,
            parent: number(arguments.python_parent).unwrap_or(0),
            external: number(external).into(),
        });
        self.keep(Owner::Region, row, arguments);
    }

    fn flow(&mut self, fields: &Fields) {
        if fields.category != formats::torch::category::bytes::FWDBWD {
            // `ac2g` says again what the correlation says, less reliably.
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
        let Some(bytes) = number(arguments.bytes) else {
            self.tally.bad += 1;
            return;
        };
        let row = self.rows.allocations.len() as u32;
        self.rows.allocations.push(AllocationRow {
            free: bytes < 0,
            at,
            address: handle(arguments.address).into(),
            bytes: OptI64::some(bytes.saturating_abs()),
            lane,
            device: match (number(arguments.device_type), number(arguments.device)) {
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
        if arguments.label.is_empty() {
            return;
        }
        let [what, pid, tid, text] =
            [fields.name, fields.pid, fields.tid, arguments.label].map(|raw| self.names.intern(raw));
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

    /// Stores the arguments that were asked for.
    fn keep(&mut self, owner: Owner, row: u32, arguments: &Arguments) {
        if matches!(self.needs.args, ArgNeeds::None) {
            return;
        }
        for &(position, name, value) in &arguments.kept {
            self.rows.args.push(super::rows::ArgRow { owner, row, position, name, value });
        }
    }
}

/// Whether a call may have an event among its arguments; most calls are launches, whose arguments are long.
fn names_an_event(call: &[u8]) -> bool {
    memchr::memmem::find(call, b"Event").is_some()
}

fn number(raw: &[u8]) -> Option<i64> {
    if raw.is_empty() { None } else { json::integer(raw) }
}

/// A number, or an address in hexadecimal.
fn handle(raw: &[u8]) -> Option<i64> {
    match raw.strip_prefix(b"0x") {
        Some(hex) => u64::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok().map(|v| v as i64),
        None => number(raw).or_else(|| std::str::from_utf8(raw).ok()?.parse::<u64>().ok().map(|v| v as i64)),
    }
}

fn graph(arguments: &Arguments) -> Graph {
    match arguments.kind {
        b"Dispatch Task" => Graph::Replayed,
        b"Dispatch Kernel" => Graph::Direct,
        _ => match number(arguments.graph_node) {
            Some(0) => Graph::Direct,
            Some(_) => Graph::Replayed,
            None => Graph::Unknown,
        },
    }
}

/// ROCm says the direction in `kind`, CUDA in the name: `Memcpy HtoD (Pinned -> Device)`.
fn direction(fill: bool, kind: &[u8], name: &[u8]) -> Direction {
    if fill {
        return Direction::ToDevice;
    }
    let says = |word: &[u8]| kind == word || memchr::memmem::find(name, word).is_some();
    const WORDS: [(&[u8], Direction); 5] = [
        (b"HtoD", Direction::HostToDevice),
        (b"DtoH", Direction::DeviceToHost),
        (b"DtoD", Direction::DeviceToDevice),
        (b"PtoP", Direction::DeviceToDevice),
        (b"HtoH", Direction::HostToHost),
    ];
    WORDS.iter().find(|(word, _)| says(word)).map_or(Direction::Unknown, |(_, direction)| *direction)
}

fn triple(raw: &[u8]) -> Option<[u32; 3]> {
    let mut json = Cursor::new(raw);
    let mut elements = json.array().ok()?;
    let mut values = [1u32; 3];
    for value in &mut values {
        if !elements.next(&mut json).ok()? {
            return None;
        }
        *value = u32::try_from(json::integer(json.scalar().ok()?)?).ok()?;
    }
    Some(values)
}
