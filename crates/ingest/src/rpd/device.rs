//! GPU work and its measurements: `rocpd_op` with `rocpd_kernelapi` and `rocpd_copyapi`, `rocpd_counter`,
//! `rocpd_monitor`.

use formats::rpd::table;
use trace::{
    AgentId, CopyKind, Counter, CounterId, CounterKind, Kernel, LaunchShape, Map, MemoryCopy, OptI64,
    ProcessId, RowRef, Sample, ShapeId, StrId, StreamId, ThreadId,
};

use super::Reader;
use crate::by_id::ById;
use crate::times::usable;

/// A row of `rocpd_kernelapi`.
struct Launch {
    call: i64,
    stream: Option<i64>,
    grid: [Option<i64>; 3],
    workgroup: [Option<i64>; 3],
    lds: Option<i64>,
    scratch: Option<i64>,
}

/// A row of `rocpd_copyapi`.
struct Transfer {
    stream: Option<i64>,
    bytes: Option<i64>,
    dst: Option<i64>,
    src: Option<i64>,
}

/// A row of `rocpd_op`.
struct Op {
    id: Option<i64>,
    gpu: Option<i64>,
    queue: Option<i64>,
    time: Option<(i64, i64)>,
    description: Option<i64>,
    kind: Option<i64>,
}

/// The unit of grid sizes, which the file does not record.
#[derive(Clone, Copy, PartialEq)]
enum GridUnit {
    WorkItems,
    Workgroups,
    Unknown,
}

/// The kind of work that an op type names.
#[derive(Clone, Copy)]
enum Work {
    Kernel,
    Copy(CopyKind),
}

/// Units of monitors.
const UNITS: [(&str, &str); 4] = [("sclk", "MHz"), ("mclk", "MHz"), ("power", "W"), ("temp", "°C")];

/// Rows by their call.
struct ByCall<T> {
    by_id: ById,
    rows: Vec<T>,
}

impl<T> ByCall<T> {
    fn get(&self, call: Option<i64>) -> Option<&T> {
        self.by_id.get(call?).map(|place| &self.rows[place as usize])
    }
}

impl Reader<'_> {
    /// Reads kernels, copies and fills, and the counters of kernels.
    pub(super) fn work(&mut self) {
        if !(self.needs.kernels || self.needs.memory_copies || self.needs.counters || self.needs.links) {
            return;
        }
        let call_of = self.links();
        let launches = self.launches();
        let transfers = self.transfers();
        let unit = self.grid_unit(&launches);
        let mut kinds: Map<StrId, Work> = Map::default();
        let mut kernels: Vec<(i64, u32)> = Vec::new();
        self.each(
            table::OP,
            ["id", "gpuId", "queueId", "start", "end", "description_id", "opType_id"],
            |row, [id, gpu, queue, start, end, description, kind]| {
                Some(Op {
                    id: row.int(id),
                    gpu: row.int(gpu),
                    queue: row.int(queue),
                    time: usable(row.int(start), row.int(end)),
                    description: row.int(description),
                    kind: row.int(kind),
                })
            },
            |reader, op| {
                let Some((start, end)) = op.time else {
                    reader.lost += 1;
                    return;
                };
                let kind = reader.string(op.kind);
                let work = *kinds.entry(kind).or_insert_with(|| work_of(reader.trace.strings.get(kind)));
                let call = op.id.and_then(|id| call_of.get(id)).map(|call| call as i64 + call_of.first);
                let caller = call.and_then(|call| reader.calls.caller(call));
                let (process, thread) =
                    caller.unwrap_or_else(|| (reader.lanes.some_process(&mut reader.trace), ThreadId::NONE));
                let description = reader.string(op.description);
                let name = if description.is_empty() { kind } else { description };
                let place = Placed { start, end, process, thread, name, correlation: call.unwrap_or(0) };
                match work {
                    Work::Kernel => {
                        kernels.extend(op.id.map(|id| (id, reader.trace.kernels.len() as u32)));
                        reader.kernel(&op, &place, launches.get(call), unit);
                    }
                    Work::Copy(kind) => reader.copy(&op, &place, kind, transfers.get(call)),
                }
            },
        );
        if self.needs.counters {
            self.counters(&ById::new(&kernels));
        }
    }

    fn kernel(&mut self, op: &Op, at: &Placed, launch: Option<&Launch>, unit: GridUnit) {
        let shape = match launch {
            Some(launch) if self.needs.shapes => {
                let own = if self.counts_work_items(launch) { GridUnit::WorkItems } else { unit };
                self.trace.shapes.intern(launch.shape(own))
            }
            _ => ShapeId::default(),
        };
        let stream = self.stream(at.process, launch.and_then(|launch| launch.stream));
        let gpu = op.gpu.unwrap_or(0);
        let agent = self.lanes.gpu(&mut self.trace, at.process, gpu);
        let queue = self.lanes.queue(&mut self.trace, at.process, gpu, op.queue.unwrap_or(0));
        self.trace.kernels.push(Kernel {
            name: at.name,
            start: at.start,
            end: at.end,
            process: at.process,
            thread: at.thread,
            agent,
            queue,
            stream,
            correlation: at.correlation,
            shape,
            ..Kernel::default()
        });
    }

    fn copy(&mut self, op: &Op, at: &Placed, kind: CopyKind, transfer: Option<&Transfer>) {
        let stream = self.stream(at.process, transfer.and_then(|transfer| transfer.stream));
        let gpu = op.gpu.unwrap_or(0);
        let address = |address: Option<i64>| OptI64::from(address.filter(|address| *address != 0));
        // Copies and ops number devices differently, so only the direction shows which end is the GPU.
        let words = self.trace.strings.get(at.name).to_ascii_lowercase().replace('_', "");
        let own = self.lanes.gpu(&mut self.trace, at.process, gpu);
        let queue = self.lanes.queue(&mut self.trace, at.process, gpu, op.queue.unwrap_or(0));
        let end = |gpu: bool| if gpu { own } else { AgentId::NONE };
        self.trace.memory_copies.push(MemoryCopy {
            name: at.name,
            kind,
            start: at.start,
            end: at.end,
            bytes: transfer.and_then(|transfer| transfer.bytes).filter(|bytes| *bytes > 0).into(),
            process: at.process,
            thread: at.thread,
            src: end(words.contains("devicetohost")),
            dst: end(words.contains("hosttodevice") || kind == CopyKind::Fill),
            src_address: address(transfer.and_then(|transfer| transfer.src)),
            dst_address: address(transfer.and_then(|transfer| transfer.dst)),
            queue,
            stream,
            correlation: at.correlation,
            ..MemoryCopy::default()
        });
    }

    fn stream(&mut self, process: ProcessId, id: Option<i64>) -> StreamId {
        id.map_or(StreamId::NONE, |id| self.lanes.stream(&mut self.trace, process, id))
    }

    /// Which call each op belongs to.
    fn links(&mut self) -> Links {
        let mut pairs: Vec<(i64, i64)> = Vec::new();
        self.each(
            table::API_OPS,
            ["op_id", "api_id"],
            |row, [op, api]| row.int(op).zip(row.int(api)),
            |_, pair| pairs.push(pair),
        );
        let first = pairs.iter().map(|(_, api)| *api).min().unwrap_or(0);
        let numbered = pairs.iter().filter_map(|(op, api)| Some((*op, u32::try_from(api - first).ok()?)));
        Links { first, calls: ById::new(&numbered.collect::<Vec<_>>()) }
    }

    fn launches(&mut self) -> ByCall<Launch> {
        let columns = [
            "api_ptr_id",
            "stream",
            "gridX",
            "gridY",
            "gridZ",
            "workgroupX",
            "workgroupY",
            "workgroupZ",
            "groupSegmentSize",
            "privateSegmentSize",
        ];
        let (mut pairs, mut rows) = (Vec::new(), Vec::new());
        self.each(
            table::KERNEL_API,
            columns,
            |row, [call, stream, gx, gy, gz, wx, wy, wz, lds, scratch]| {
                let call = row.int(call)?;
                let launch = Launch {
                    call,
                    stream: row.text(stream).and_then(|text| handle(&text)),
                    grid: [gx, gy, gz].map(|column| row.int(column)),
                    workgroup: [wx, wy, wz].map(|column| row.int(column)),
                    lds: row.int(lds),
                    scratch: row.int(scratch),
                };
                Some((call, launch))
            },
            |_, (call, launch)| {
                pairs.push((call, rows.len() as u32));
                rows.push(launch);
            },
        );
        ByCall { by_id: ById::new(&pairs), rows }
    }

    fn transfers(&mut self) -> ByCall<Transfer> {
        let (mut pairs, mut rows) = (Vec::new(), Vec::new());
        self.each(
            table::COPY_API,
            ["api_ptr_id", "stream", "size", "dst", "src"],
            |row, [call, stream, bytes, dst, src]| {
                let text = |column| row.text(column).and_then(|text| handle(&text));
                let transfer =
                    Transfer { stream: text(stream), bytes: row.int(bytes), dst: text(dst), src: text(src) };
                Some((row.int(call)?, transfer))
            },
            |_, (call, transfer)| {
                pairs.push((call, rows.len() as u32));
                rows.push(transfer);
            },
        );
        ByCall { by_id: ById::new(&pairs), rows }
    }

    /// rocprofiler's data counts work-items, roctracer's the call's arguments: workgroups. A grid that is not
    /// a multiple of its workgroup, or the names of copies, show which one it was.
    fn grid_unit(&self, launches: &ByCall<Launch>) -> GridUnit {
        let work_items = |launch: &Launch| self.counts_work_items(launch);
        let odd = |launch: &Launch| {
            !work_items(launch)
                && launch.grid.iter().zip(launch.workgroup).any(|(grid, workgroup)| match (grid, workgroup) {
                    (Some(grid), Some(workgroup)) if workgroup > 0 => grid % workgroup != 0,
                    _ => false,
                })
        };
        let has = |start: &str| self.trace.strings.iter().any(|text| text.starts_with(start));
        if has("MEMORY_COPY_") || has("Memcpy") {
            GridUnit::WorkItems
        } else if launches.rows.iter().any(odd) || has("CopyHostToDevice") || has("CopyDeviceToHost") {
            GridUnit::Workgroups
        } else {
            GridUnit::Unknown
        }
    }

    fn counts_work_items(&self, launch: &Launch) -> bool {
        self.calls.counts_work_items(launch.call, &self.trace.strings)
    }

    fn counters(&mut self, kernels: &ById) {
        let mut ids: Map<(StrId, AgentId), CounterId> = Map::default();
        self.each(
            table::COUNTER,
            ["op_id", "name_id", "value"],
            |row, [op, name, value]| Some((row.int(op)?, row.int(name), row.real(value)?)),
            |reader, (op, name, value)| {
                let Some(kernel) = kernels.get(op) else { return };
                let name = reader.string(name);
                let (process, agent) = {
                    let kernels = &reader.trace.kernels;
                    (kernels.process[kernel as usize], kernels.agent[kernel as usize])
                };
                let trace = &mut reader.trace;
                let counter = *ids.entry((name, agent)).or_insert_with(|| {
                    trace.add_counter_kind(CounterKind { name, process, agent, ..CounterKind::default() })
                });
                let kernel = RowRef::kernel(kernel as usize);
                trace.counters.push(Counter { kernel, counter, value, ..Counter::default() });
            },
        );
    }

    /// Reads samples of the devices.
    pub(super) fn monitors(&mut self) {
        self.each(
            table::MONITOR,
            ["deviceType", "deviceId", "monitorType", "start", "value"],
            |row, [device, id, metric, start, value]| {
                Some((
                    row.text(device)?.into_owned(),
                    row.int(id),
                    row.text(metric)?.into_owned(),
                    usable(row.int(start), row.int(start))?.0,
                    row.real(value)?,
                ))
            },
            |reader, (device, id, metric, start, value)| {
                let process = reader.lanes.some_process(&mut reader.trace);
                let agent = match id.filter(|_| device.eq_ignore_ascii_case("gpu")) {
                    Some(gpu) => reader.lanes.gpu(&mut reader.trace, process, gpu),
                    None => AgentId::NONE,
                };
                let unit = UNITS.iter().find(|(name, _)| *name == metric).map_or("", |(_, unit)| unit);
                let [kind, name, unit] =
                    ["amd_smi", metric.as_str(), unit].map(|text| reader.trace.strings.intern(text));
                let sample = Sample {
                    start,
                    end: start,
                    kind,
                    name,
                    value,
                    unit,
                    process,
                    agent,
                    ..Sample::default()
                };
                reader.trace.samples.push(sample);
            },
        );
    }
}

/// Where and when GPU work ran.
struct Placed {
    start: i64,
    end: i64,
    process: ProcessId,
    thread: ThreadId,
    name: StrId,
    correlation: i64,
}

/// Calls of ops, counted from the first.
struct Links {
    first: i64,
    calls: ById,
}

impl Links {
    fn get(&self, op: i64) -> Option<u32> {
        self.calls.get(op)
    }
}

impl Launch {
    fn shape(&self, unit: GridUnit) -> LaunchShape {
        let sizes = |sizes: [Option<i64>; 3]| -> Option<[u32; 3]> {
            let mut out = [0; 3];
            for (out, size) in out.iter_mut().zip(sizes) {
                *out = u32::try_from(size?).ok()?;
            }
            (out != [0; 3]).then_some(out)
        };
        let workgroup = sizes(self.workgroup);
        let grid = match (unit, sizes(self.grid), workgroup) {
            (GridUnit::WorkItems, grid, _) => grid,
            (GridUnit::Workgroups, Some(grid), Some(workgroup)) => {
                Some([0, 1, 2].map(|i| grid[i].saturating_mul(workgroup[i])))
            }
            _ => None,
        };
        LaunchShape {
            grid,
            workgroup,
            lds_bytes: self.lds.into(),
            scratch_bytes: self.scratch.into(),
            ..LaunchShape::default()
        }
    }
}

/// An address as text: `0x7f…`, `(nil)` or a plain number.
fn handle(text: &str) -> Option<i64> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|bits| bits as i64),
        None if text == "(nil)" => Some(0),
        None => text.parse().ok(),
    }
}

fn work_of(kind: &str) -> Work {
    let words = kind.to_ascii_lowercase();
    if words.contains("fill") || words.contains("memset") {
        Work::Copy(CopyKind::Fill)
    } else if words.contains("copy") || words.contains("memcpy") {
        Work::Copy(CopyKind::Copy)
    } else {
        Work::Kernel
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_known_by_their_address() {
        assert_eq!(handle("0x7f0010"), Some(0x7f0010));
        assert_eq!(handle("0xffffffffffffffff"), Some(-1));
        assert_eq!(handle("(nil)"), Some(0));
        assert_eq!(handle("3"), Some(3));
        assert_eq!(handle("default"), None);
    }
}
