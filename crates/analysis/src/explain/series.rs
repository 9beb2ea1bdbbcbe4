//! Kernel calls that should take the same time: one name, launch shape, problem size and stage on one GPU.

use trace::{Map, RowRef, ShapeId, StrId, Table};

use super::facts::Facts;
use model::lanes::Bucket;
use model::stages::Stage;

/// Calls in time order.
pub(super) struct Series {
    pub gpu: usize,
    pub name: StrId,
    /// (start, end) of each call.
    pub calls: Vec<(i64, i64)>,
    /// The rows of those calls.
    pub rows: Vec<RowRef>,
}

impl Series {
    /// Durations, shortest first.
    pub fn sorted_durations(&self) -> Vec<i64> {
        let mut durations: Vec<i64> = self.calls.iter().map(|call| call.1 - call.0).collect();
        durations.sort_unstable();
        durations
    }
}

/// All series with at least this many calls. Communication is left out: its duration depends on other ranks.
pub(super) fn series(facts: &Facts, min_calls: usize) -> Vec<Series> {
    let kernels = &facts.trace().kernels;
    let mut numbers: Map<(usize, StrId, ShapeId, StrId, Stage), usize> = Map::default();
    let mut found: Vec<Series> = Vec::new();
    for (gpu, lane) in facts.gpus.iter().enumerate() {
        for row in lane.rows.iter().filter(|row| row.work.bucket == Bucket::Compute) {
            let Some(kernel) = row.row.row_of(Table::Kernels) else { continue };
            let name = kernels.name[kernel];
            // One kernel may run with one launch shape on several problem sizes.
            let size = facts.context.site(row.row).input_dims;
            let key = (gpu, name, kernels.shape[kernel], size, facts.context.stage(row.row));
            let number = *numbers.entry(key).or_insert_with(|| {
                found.push(Series { gpu, name, calls: Vec::new(), rows: Vec::new() });
                found.len() - 1
            });
            found[number].calls.push((row.work.start, row.work.end));
            found[number].rows.push(row.row);
        }
    }
    found.retain(|series| series.calls.len() >= min_calls);
    found
}
