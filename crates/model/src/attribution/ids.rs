//! Rows by the ids a profiler gave them, per input file: ids are unique within one recording only.

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;
use trace::{Map, Trace};

use crate::ROWS_AT_ONCE;

/// The row of each (source, id); an id that several rows share matches none of them.
pub struct IdIndex {
    by_source: Vec<Ids>,
}

enum Ids {
    /// Nearly consecutive ids, as profilers number: an array that starts at the lowest.
    Dense {
        lowest: i64,
        rows: Vec<AtomicU32>,
    },
    Sparse(Map<i64, u32>),
}

const NONE: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;

/// How many ids one source has, the lowest and the highest.
type Range = (usize, i64, i64);

impl IdIndex {
    /// An index of the regions' `external` ids, over the `wanted` rows.
    pub fn of(trace: &Trace, wanted: impl Fn(usize) -> bool + Sync) -> Self {
        let regions = &trace.regions;
        let source_of: Vec<usize> = (0..trace.processes.len()).map(|p| source_of(trace, Some(p))).collect();
        let nowhere = trace.sources.len();
        // The wanted rows that have an id, with their source.
        let found = |row: usize| {
            let id = regions.external[row].get().filter(|_| wanted(row))?;
            Some((row as u32, regions.process[row].get().map_or(nowhere, |p| source_of[p]), id))
        };
        let each_row = || (0..regions.len()).into_par_iter().with_min_len(ROWS_AT_ONCE).filter_map(found);
        let none = || vec![(0, i64::MAX, i64::MIN); nowhere + 1];
        let take_in = |mut ranges: Vec<Range>, (_, source, id): (u32, usize, i64)| {
            let (count, lowest, highest) = &mut ranges[source];
            *count += 1;
            (*lowest, *highest) = ((*lowest).min(id), (*highest).max(id));
            ranges
        };
        let join = |one: Vec<Range>, other: Vec<Range>| {
            let both = one.into_iter().zip(other);
            both.map(|(a, b)| (a.0 + b.0, a.1.min(b.1), a.2.max(b.2))).collect()
        };
        let ranges = each_row().fold(none, take_in).reduce(none, join);
        let mut by_source: Vec<Ids> = ranges.iter().map(|&range| Ids::empty(range)).collect();
        // Each row is stored at its id. A row that is not found there afterwards shares its id with another.
        each_row().for_each(|(row, source, id)| {
            if let Some(place) = by_source[source].place(id) {
                place.store(row, Ordering::Relaxed);
            }
        });
        each_row().for_each(|(row, source, id)| {
            if let Some(place) = by_source[source].place(id).filter(|p| p.load(Ordering::Relaxed) != row) {
                place.store(SEVERAL, Ordering::Relaxed);
            }
        });
        if by_source.iter().zip(&ranges).any(|(ids, range)| range.0 > 0 && matches!(ids, Ids::Sparse(_))) {
            for (row, source, id) in (0..regions.len()).filter_map(found) {
                if let Ids::Sparse(rows) = &mut by_source[source] {
                    rows.entry(id).and_modify(|known| *known = SEVERAL).or_insert(row);
                }
            }
        }
        Self { by_source }
    }

    /// The one row that has this id in the file that `process` was read from.
    pub fn get(&self, trace: &Trace, process: trace::ProcessId, id: i64) -> Option<usize> {
        let ids = &self.by_source[source_of(trace, process.get())];
        let row = match ids {
            Ids::Dense { .. } => ids.place(id)?.load(Ordering::Relaxed),
            Ids::Sparse(rows) => *rows.get(&id)?,
        };
        (row < SEVERAL).then_some(row as usize)
    }
}

fn source_of(trace: &Trace, process: Option<usize>) -> usize {
    process.and_then(|p| trace.processes[p].source.get()).unwrap_or(trace.sources.len())
}

impl Ids {
    fn empty((count, lowest, highest): Range) -> Self {
        match highest.checked_sub(lowest).and_then(|span| usize::try_from(span).ok()) {
            Some(span) if count > 0 && span / 8 <= count => {
                let places = (0..span + 1).into_par_iter().with_min_len(ROWS_AT_ONCE);
                Ids::Dense { lowest, rows: places.map(|_| AtomicU32::new(NONE)).collect() }
            }
            _ => Ids::Sparse(Map::default()),
        }
    }

    /// Where the row of an id is, in an array.
    fn place(&self, id: i64) -> Option<&AtomicU32> {
        match self {
            Ids::Dense { lowest, rows } => {
                usize::try_from(id.checked_sub(*lowest)?).ok().and_then(|place| rows.get(place))
            }
            Ids::Sparse(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trace::{OptI64, Process, ProcessId, Region, Source};

    use super::*;

    proptest! {
        /// Dense or sparse, an id that several rows of one file share matches none of them.
        #[test]
        fn an_id_names_the_only_row_that_has_it(
            rows in prop::collection::vec((0usize..2, prop::option::of(-3i64..30)), 0..60),
            far in any::<bool>(),
        ) {
            let mut trace = Trace::default();
            for name in ["a", "b"] {
                let source = trace.add_source(Source::named(name, "torch"));
                trace.processes.push(Process { source, ..Default::default() });
            }
            let id = |id: i64| if far { id * 1_000_000_000_000 } else { id };
            for &(process, external) in &rows {
                let external = OptI64::from(external.map(id));
                let process = ProcessId(process as u32);
                trace.regions.push(Region { process, external, ..Default::default() });
            }
            let index = IdIndex::of(&trace, |_| true);
            for process in 0..2 {
                for external in -5..32 {
                    let mut own = (0..rows.len()).filter(|&row| rows[row] == (process, Some(external)));
                    let only = own.next().filter(|_| own.next().is_none());
                    prop_assert_eq!(index.get(&trace, ProcessId(process as u32), id(external)), only);
                }
            }
        }
    }
}
