//! Links GPU work to the calls that launched it, by (guid, correlation).

use crate::Map;
use crate::ids::{ProcessId, StrId};
use crate::links::{Link, LinkKind, RowRef, Table};
use crate::trace::Trace;

/// The region of each correlation id of one guid.
enum CallsById {
    /// Ids are nearly consecutive: an array from the lowest.
    Dense {
        lowest: i64,
        rows: Vec<u32>,
    },
    Sparse(Map<i64, u32>),
}

const NO_ROW: u32 = u32::MAX;

impl CallsById {
    fn get(&self, correlation: i64) -> Option<u32> {
        match self {
            CallsById::Dense { lowest, rows } => {
                let place = usize::try_from(correlation.checked_sub(*lowest)?).ok()?;
                rows.get(place).copied().filter(|&row| row != NO_ROW)
            }
            CallsById::Sparse(rows) => rows.get(&correlation).copied(),
        }
    }

    /// Of several calls with one id the last to start is the innermost, which did the launch.
    fn set(&mut self, correlation: i64, row: u32) {
        match self {
            CallsById::Dense { lowest, rows } => rows[(correlation - *lowest) as usize] = row,
            CallsById::Sparse(rows) => {
                rows.insert(correlation, row);
            }
        }
    }
}

/// Ids of one guid seen so far: how many, lowest, highest.
#[derive(Clone, Copy)]
struct Range {
    count: usize,
    lowest: i64,
    highest: i64,
}

/// Adds launch links for kernels, copies and allocations. Tables are sorted already.
pub(crate) fn link(trace: &mut Trace) {
    let group_of = groups(trace);
    let Some(calls) = calls_by_id(trace, &group_of) else { return };
    let Trace { kernels, memory_copies, memory_allocations, links, .. } = trace;
    let tables = [
        (Table::Kernels, &kernels.correlation, &kernels.process),
        (Table::MemoryCopies, &memory_copies.correlation, &memory_copies.process),
        (Table::MemoryAllocations, &memory_allocations.correlation, &memory_allocations.process),
    ];
    links.reserve(kernels.len());
    for (table, correlations, processes) in tables {
        for (row, (&correlation, process)) in correlations.iter().zip(processes).enumerate() {
            if correlation == 0 {
                continue;
            }
            let Some(group) = process.get().map(|p| group_of[p]) else { continue };
            if let Some(call) = calls[group].as_ref().and_then(|calls| calls.get(correlation)) {
                let (from, to) = (RowRef::region(call as usize), RowRef::new(table, row));
                links.push(Link { kind: LinkKind::Launch, from, to });
            }
        }
    }
}

/// A small number for each process: processes of one guid share it.
fn groups(trace: &Trace) -> Vec<usize> {
    let mut numbers: Map<StrId, usize> = Map::default();
    let mut next = 0;
    trace
        .processes
        .iter()
        .map(|process| {
            let mut fresh = || {
                next += 1;
                next - 1
            };
            // Without a guid nothing says that two processes share ids.
            if process.guid.is_empty() { fresh() } else { *numbers.entry(process.guid).or_insert_with(fresh) }
        })
        .collect()
}

fn calls_by_id(trace: &Trace, group_of: &[usize]) -> Option<Vec<Option<CallsById>>> {
    let groups = group_of.iter().max()? + 1;
    let group = |process: &ProcessId| process.get().map(|p| group_of[p]);
    let regions = &trace.regions;
    let mut ranges = vec![Range { count: 0, lowest: i64::MAX, highest: i64::MIN }; groups];
    for (&correlation, process) in regions.correlation.iter().zip(&regions.process) {
        if let (true, Some(group)) = (correlation != 0, group(process)) {
            let range = &mut ranges[group];
            range.count += 1;
            range.lowest = range.lowest.min(correlation);
            range.highest = range.highest.max(correlation);
        }
    }
    let mut calls: Vec<Option<CallsById>> = ranges.iter().map(empty_index).collect();
    for (row, (&correlation, process)) in regions.correlation.iter().zip(&regions.process).enumerate() {
        if let (true, Some(group)) = (correlation != 0, group(process))
            && let Some(calls) = &mut calls[group]
        {
            calls.set(correlation, row as u32);
        }
    }
    Some(calls)
}

fn empty_index(range: &Range) -> Option<CallsById> {
    if range.count == 0 {
        return None;
    }
    let width = i128::from(range.highest) - i128::from(range.lowest) + 1;
    Some(if width <= 4 * range.count as i128 + 1024 {
        CallsById::Dense { lowest: range.lowest, rows: vec![NO_ROW; width as usize] }
    } else {
        CallsById::Sparse(Map::with_capacity_and_hasher(range.count, Default::default()))
    })
}
