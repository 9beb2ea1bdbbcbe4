//! Rows by the ids a profiler gave them, per input file: ids are unique within one recording only.

use rayon::prelude::*;
use trace::{Map, Trace};

use crate::ROWS_AT_ONCE;

/// The row of each (source, id); ids given twice name nothing.
pub struct IdIndex {
    by_source: Vec<Ids>,
}

enum Ids {
    /// Nearly consecutive, as profilers count: an array from the lowest.
    Dense {
        lowest: i64,
        rows: Vec<u32>,
    },
    Sparse(Map<i64, u32>),
}

const NONE: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;

impl IdIndex {
    /// An index of the regions' `external` ids, over the rows given.
    pub fn of(trace: &Trace, rows: &[u32]) -> Self {
        let regions = &trace.regions;
        let source_of: Vec<usize> = (0..trace.processes.len()).map(|p| source_of(trace, Some(p))).collect();
        let nowhere = trace.sources.len();
        let source = |row: u32| regions.process[row as usize].get().map_or(nowhere, |p| source_of[p]);
        let none = || vec![(0usize, i64::MAX, i64::MIN); nowhere + 1];
        let take_in = |mut ranges: Vec<(usize, i64, i64)>, &row: &u32| {
            if let Some(id) = regions.external[row as usize].get() {
                let (count, lowest, highest) = &mut ranges[source(row)];
                *count += 1;
                (*lowest, *highest) = ((*lowest).min(id), (*highest).max(id));
            }
            ranges
        };
        let join = |one: Vec<(usize, i64, i64)>, other: Vec<(usize, i64, i64)>| {
            let both = one.into_iter().zip(other);
            both.map(|(a, b)| (a.0 + b.0, a.1.min(b.1), a.2.max(b.2))).collect()
        };
        let ranges = rows.par_iter().with_min_len(ROWS_AT_ONCE).fold(none, take_in).reduce(none, join);
        let mut by_source: Vec<Ids> = ranges.iter().map(|&range| Ids::new(range)).collect();
        for &row in rows {
            if let Some(id) = regions.external[row as usize].get() {
                by_source[source(row)].set(id, row);
            }
        }
        Self { by_source }
    }

    /// The one row that has this id in the file that `process` was read from.
    pub fn get(&self, trace: &Trace, process: trace::ProcessId, id: i64) -> Option<usize> {
        let row = match &self.by_source[source_of(trace, process.get())] {
            Ids::Dense { lowest, rows } => {
                *usize::try_from(id.checked_sub(*lowest)?).ok().and_then(|place| rows.get(place))?
            }
            Ids::Sparse(rows) => *rows.get(&id)?,
        };
        (row < SEVERAL).then_some(row as usize)
    }
}

fn source_of(trace: &Trace, process: Option<usize>) -> usize {
    process.and_then(|p| trace.processes[p].source.get()).unwrap_or(trace.sources.len())
}

impl Ids {
    fn new((count, lowest, highest): (usize, i64, i64)) -> Self {
        match highest.checked_sub(lowest).and_then(|span| usize::try_from(span).ok()) {
            Some(span) if count > 0 && span / 8 <= count => Ids::Dense { lowest, rows: vec![NONE; span + 1] },
            _ => Ids::Sparse(Map::default()),
        }
    }

    fn set(&mut self, id: i64, row: u32) {
        let slot = match self {
            Ids::Dense { lowest, rows } => &mut rows[(id - *lowest) as usize],
            Ids::Sparse(rows) => rows.entry(id).or_insert(NONE),
        };
        *slot = if *slot == NONE { row } else { SEVERAL };
    }
}
