//! Links GPU work to the calls that launched it, by (guid, correlation).

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use crate::Map;
use crate::columns::{ROWS_AT_ONCE, filled};
use crate::ids::{ProcessId, StrId};
use crate::links::{Link, LinkKind, Links, RowRef, Table};
use crate::trace::Trace;

/// The region of each correlation id of one guid.
enum CallsById {
    /// Ids are nearly consecutive: an array from the lowest.
    Dense {
        lowest: i64,
        /// Row plus one, or zero for none, so that the highest row wins whichever thread comes first.
        rows: Vec<AtomicU32>,
    },
    Sparse(Map<i64, u32>),
}

impl CallsById {
    fn get(&self, correlation: i64) -> Option<u32> {
        match self {
            CallsById::Dense { lowest, rows } => {
                let place = usize::try_from(correlation.checked_sub(*lowest)?).ok()?;
                rows.get(place)?.load(Ordering::Relaxed).checked_sub(1)
            }
            CallsById::Sparse(rows) => rows.get(&correlation).copied(),
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

impl Range {
    const NONE: Self = Self { count: 0, lowest: i64::MAX, highest: i64::MIN };

    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.lowest = self.lowest.min(other.lowest);
        self.highest = self.highest.max(other.highest);
    }
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
    for (table, correlations, processes) in tables {
        let link = |row: usize| {
            let correlation = correlations[row];
            let group = processes[row].get().filter(|_| correlation != 0).map(|process| group_of[process])?;
            let call = calls[group].as_ref()?.get(correlation)?;
            let (from, to) = (RowRef::region(call as usize), RowRef::new(table, row));
            Some(Link { kind: LinkKind::Launch, from, to })
        };
        let rows = (0..correlations.len()).into_par_iter().with_min_len(ROWS_AT_ONCE);
        let parts: Vec<Links> = rows
            .fold(Links::default, |mut part, row| {
                link(row).into_iter().for_each(|link| part.push(link));
                part
            })
            .collect();
        links.concat_all(parts);
    }
}

/// A group number for each process: processes of one guid share it.
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
            // Without a guid nothing shows that two processes share ids.
            if process.guid.is_empty() { fresh() } else { *numbers.entry(process.guid).or_insert_with(fresh) }
        })
        .collect()
}

fn calls_by_id(trace: &Trace, group_of: &[usize]) -> Option<Vec<Option<CallsById>>> {
    let groups = group_of.iter().max()? + 1;
    let group = |process: &ProcessId| process.get().map(|p| group_of[p]);
    let regions = &trace.regions;
    let rows = || (0..regions.len()).into_par_iter().with_min_len(ROWS_AT_ONCE);
    let id = |row: usize| {
        let correlation = Some(regions.correlation[row]).filter(|&correlation| correlation != 0)?;
        Some((correlation, group(&regions.process[row])?))
    };
    let ranges = rows()
        .fold(
            || vec![Range::NONE; groups],
            |mut ranges, row| {
                if let Some((id, group)) = id(row) {
                    ranges[group].add(Range { count: 1, lowest: id, highest: id });
                }
                ranges
            },
        )
        .reduce(
            || vec![Range::NONE; groups],
            |mut ranges, others| {
                ranges.iter_mut().zip(others).for_each(|(range, other)| range.add(other));
                ranges
            },
        );
    let mut calls: Vec<Option<CallsById>> = ranges.iter().map(empty_index).collect();
    // Of several calls with one id the last to start is the innermost, which did the launch.
    rows().for_each(|row| {
        if let Some((id, group)) = id(row)
            && let Some(CallsById::Dense { lowest, rows }) = &calls[group]
        {
            rows[(id - lowest) as usize].fetch_max(row as u32 + 1, Ordering::Relaxed);
        }
    });
    if calls.iter().flatten().any(|calls| matches!(calls, CallsById::Sparse(_))) {
        for (row, (id, group)) in (0..regions.len()).filter_map(|row| Some((row, id(row)?))) {
            if let Some(CallsById::Sparse(rows)) = &mut calls[group] {
                rows.insert(id, row as u32);
            }
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
        CallsById::Dense { lowest: range.lowest, rows: filled(width as usize, AtomicU32::default) }
    } else {
        CallsById::Sparse(Map::with_capacity_and_hasher(range.count, Default::default()))
    })
}
