//! Replays the allocations of a trace: torch's `[memory]` events, rocpd's and rocprofv3's allocations.

use trace::{Map, RowRef, StrId, Table, Trace};

use super::owners::Owners;
use super::{Devices, Held};

/// Address space reserved without memory behind it.
const VIRTUAL: &str = "VIRTUAL";

/// Arguments of torch's events: bytes held and reserved after each.
pub const COUNTED: [&str; 2] = ["Total Allocated", "Total Reserved"];

pub(super) fn replay(trace: &Trace, devices: &mut Devices, owners: &mut Owners) {
    let rows = &trace.memory_allocations;
    if rows.is_empty() {
        return;
    }
    let is_virtual = trace.strings.find(VIRTUAL);
    let mut calls = OpenCalls::new(trace);
    let [held, reserved] = COUNTED.map(|name| trace.strings.find(name));
    let counted = |row: usize, name: Option<StrId>| -> Option<i64> {
        let value = trace.args.value(RowRef::new(Table::MemoryAllocations, row), name?)?;
        trace.strings.get(value).parse().ok()
    };
    for row in 0..rows.len() {
        if Some(rows.level[row]) == is_virtual {
            continue;
        }
        let at = rows.start[row];
        let is_alloc = !matches!(trace.strings.get(rows.kind[row]), "FREE" | "RECLAIM");
        let process = rows.process[row];
        // rocprofv3 records the device of an allocation, but not that of a free.
        let home = || devices.holder(process, rows.address[row].get()?);
        let agent = match rows.agent[row].is_some() || is_alloc {
            true => rows.agent[row],
            false => home().unwrap_or_default(),
        };
        let device = devices.of(process, agent);
        if device.base.is_none()
            && let Some((held, bytes)) = counted(row, held).zip(rows.bytes[row].get())
        {
            let before = if is_alloc { held - bytes } else { held + bytes };
            device.base = Some((before, owners.before_the_record()));
        }
        if let Some(bytes) = counted(row, reserved) {
            let last = device.device.reserved_at_end.replace(bytes);
            device
                .device
                .reserved_changes
                .extend(last.map(|last| (at, bytes - last)).filter(|(_, more)| *more != 0));
        }
        let block = Held { address: rows.address[row], stream: rows.stream[row], ..Held::default() };
        if !is_alloc {
            let block = Held { owner: owners.before_the_record(), ..block };
            device.free(at, block, rows.bytes[row].get().filter(|bytes| *bytes > 0));
            continue;
        }
        let Some(bytes) = rows.bytes[row].get() else { continue };
        let owner = calls.owner(row, owners);
        device.alloc(at, Held { bytes, owner, ..block });
    }
}

/// The open calls of each thread at a moment; moments come in time order.
struct OpenCalls<'t> {
    trace: &'t Trace,
    /// Regions by start, the longest first.
    order: Vec<u32>,
    next: usize,
    open: Map<(u32, u32), Vec<u32>>,
    /// Owner of the allocations directly in a region.
    known: Map<u32, u32>,
}

impl<'t> OpenCalls<'t> {
    fn new(trace: &'t Trace) -> Self {
        let regions = &trace.regions;
        let mut order: Vec<u32> = (0..regions.len() as u32).collect();
        order.sort_by_key(|&row| (regions.start[row as usize], std::cmp::Reverse(regions.end[row as usize])));
        Self { trace, order, next: 0, open: Map::default(), known: Map::default() }
    }

    fn owner(&mut self, allocation: usize, owners: &mut Owners) -> u32 {
        let (regions, rows) = (&self.trace.regions, &self.trace.memory_allocations);
        let at = rows.start[allocation];
        while let Some(&row) = self.order.get(self.next).filter(|&&row| regions.start[row as usize] <= at) {
            let thread = (regions.process[row as usize].0, regions.thread[row as usize].0);
            let open = self.open.entry(thread).or_default();
            let start = regions.start[row as usize];
            while open.last().is_some_and(|&top| regions.end[top as usize] < start) {
                open.pop();
            }
            open.push(row);
            self.next += 1;
        }
        let thread = (rows.process[allocation].0, rows.thread[allocation].0);
        let Some(open) = self.open.get_mut(&thread) else { return owners.not_recorded() };
        while open.last().is_some_and(|&top| regions.end[top as usize] < at) {
            open.pop();
        }
        let Some(&innermost) = open.last() else { return owners.not_recorded() };
        *self.known.entry(innermost).or_insert_with(|| owners.of_calls(self.trace, open))
    }
}
