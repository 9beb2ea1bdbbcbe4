//! GPU rows and their launches, and the replays of graphs among them.

use rayon::prelude::*;
use trace::{CopyKind, Graph, Map, RowRef, Table, Trace};

use crate::calls::{Calls, Launches};
use crate::launches::launch_rows;

/// The launch of every kernel and copy.
pub struct GpuRows {
    /// Distinct launches as rows of `regions`, rising.
    pub launches: Vec<u32>,
    kernels: Vec<u32>,
    copies: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl GpuRows {
    /// One pass over the links of a finished trace.
    pub fn of(trace: &Trace) -> Self {
        let (mut kernels, mut copies) = launch_rows(trace);
        // One bit per region: sorting the launches and searching them costs several times as much.
        let mut is_launch = vec![0u64; trace.regions.len().div_ceil(64)];
        for &launch in kernels.iter().chain(&copies).filter(|l| **l != NONE) {
            is_launch[launch as usize / 64] |= 1 << (launch % 64);
        }
        let (mut launches, mut before) = (Vec::new(), Vec::with_capacity(is_launch.len()));
        for (word, &bits) in is_launch.iter().enumerate() {
            before.push(launches.len() as u32);
            let mut left = bits;
            while left != 0 {
                launches.push(word as u32 * 64 + left.trailing_zeros());
                left &= left - 1;
            }
        }
        for launch in kernels.iter_mut().chain(&mut copies).filter(|l| **l != NONE) {
            let (word, bit) = (*launch as usize / 64, *launch % 64);
            *launch = before[word] + (is_launch[word] & ((1 << bit) - 1)).count_ones();
        }
        Self { launches, kernels, copies }
    }

    /// The launch of a kernel, as a place in `launches`.
    pub fn of_kernel(&self, row: usize) -> Option<usize> {
        Some(self.kernels[row]).filter(|l| *l != NONE).map(|l| l as usize)
    }

    /// The launch of a copy, as a place in `launches`.
    pub fn of_copy(&self, row: usize) -> Option<usize> {
        Some(self.copies[row]).filter(|l| *l != NONE).map(|l| l as usize)
    }

    /// The launch of a row as a row of `regions`.
    pub(super) fn call_of(&self, row: RowRef) -> Option<usize> {
        let place = match row.get()? {
            (Table::Kernels, row) => self.of_kernel(row)?,
            (Table::MemoryCopies, row) => self.of_copy(row)?,
            _ => return None,
        };
        Some(self.launches[place] as usize)
    }
}

/// One replay of a graph: the GPU work of one launch.
pub(super) struct ReplayedRows {
    /// The launch as a row of `regions`, if it is in the trace.
    pub launch: Option<usize>,
    /// In time order.
    pub rows: Vec<RowRef>,
}

/// The facts of a GPU row, whichever table it is in.
#[derive(Clone, Copy)]
pub(super) struct GpuRow {
    pub name: trace::StrId,
    pub start: i64,
    pub end: i64,
    pub process: trace::ProcessId,
    pub stream: trace::StreamId,
    pub correlation: i64,
    pub external: trace::OptI64,
    pub graph: Graph,
    /// Copy or fill; `None` for a kernel.
    pub copy: Option<CopyKind>,
}

/// The facts of a kernel or copy.
pub(super) fn gpu_row(trace: &Trace, row: RowRef) -> Option<GpuRow> {
    Some(match row.get()? {
        (Table::Kernels, i) => {
            let k = &trace.kernels;
            GpuRow {
                name: k.name[i],
                start: k.start[i],
                end: k.end[i],
                process: k.process[i],
                stream: k.stream[i],
                correlation: k.correlation[i],
                external: k.external[i],
                graph: k.graph[i],
                copy: None,
            }
        }
        (Table::MemoryCopies, i) => {
            let c = &trace.memory_copies;
            GpuRow {
                name: c.name[i],
                start: c.start[i],
                end: c.end[i],
                process: c.process[i],
                stream: c.stream[i],
                correlation: c.correlation[i],
                external: c.external[i],
                graph: c.graph[i],
                copy: Some(c.kind[i]),
            }
        }
        _ => return None,
    })
}

/// All kernels and copies.
pub(super) fn all_rows(trace: &Trace) -> impl Iterator<Item = RowRef> + '_ {
    let kernels = (0..trace.kernels.len()).map(RowRef::kernel);
    kernels.chain((0..trace.memory_copies.len()).map(|row| RowRef::new(Table::MemoryCopies, row)))
}

/// The replays of a trace, by launch or, if that is not in the trace, by correlation; in time order.
pub(super) fn replays_of(trace: &Trace, rows: &GpuRows, calls: &Calls) -> Vec<ReplayedRows> {
    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    enum Key {
        Launch(usize),
        Correlation(trace::ProcessId, i64),
    }
    let is_replayed = |row: &RowRef| {
        let launch = rows.call_of(*row);
        let call = launch.and_then(|launch| calls.of_region(trace, launch));
        call.is_some_and(|call| call.launches == Some(Launches::Graph))
            || gpu_row(trace, *row).is_some_and(|facts| facts.graph == Graph::Replayed)
    };
    let kernels = (0..trace.kernels.len()).into_par_iter().map(RowRef::kernel);
    let copies = (0..trace.memory_copies.len()).into_par_iter();
    let all = kernels.chain(copies.map(|row| RowRef::new(Table::MemoryCopies, row)));
    let replayed: Vec<RowRef> = all.filter(is_replayed).collect();
    let mut places: Map<Key, usize> = Map::default();
    let mut found: Vec<(i64, ReplayedRows)> = Vec::new();
    let mut last: Option<(Key, usize)> = None;
    for row in replayed {
        let Some(facts) = gpu_row(trace, row) else { continue };
        let launch = rows.call_of(row);
        let key = match launch {
            Some(launch) => Key::Launch(launch),
            None => Key::Correlation(facts.process, facts.correlation),
        };
        // Neighbours mostly belong to one replay.
        let place = match last {
            Some((last, place)) if last == key => place,
            _ => *places.entry(key).or_insert_with(|| {
                found.push((facts.start, ReplayedRows { launch, rows: Vec::new() }));
                found.len() - 1
            }),
        };
        last = Some((key, place));
        let (start, replay) = &mut found[place];
        *start = (*start).min(facts.start);
        replay.rows.push(row);
    }
    found.par_iter_mut().for_each(|(_, replay)| {
        replay.rows.sort_by_key(|&row| gpu_row(trace, row).map(|facts| (facts.start, facts.end)));
    });
    found.sort_by_key(|(start, _)| *start);
    found.into_iter().map(|(_, replay)| replay).collect()
}
