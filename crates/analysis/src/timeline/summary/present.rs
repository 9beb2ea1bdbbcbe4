//! The report of `summary`.

use report::{Column, Note, Remedy, Report, Table, Unit, Value};
use trace::Trace;

use super::{Summary, domains, kernels, markers, memory, regions};
use crate::base;

/// The whole report; tables without rows are left out.
pub fn present(trace: &Trace, summary: &Summary) -> Report {
    let mut report = base::report("summary", trace);
    let by_rank = summary.by_rank;
    let tables = [
        summary.kernels_table(trace),
        memory::copies_table(trace, &summary.copies, by_rank),
        memory::allocations_table(trace, &summary.allocations, by_rank),
        regions::table(trace, &summary.regions, by_rank),
        markers::table(trace, &summary.markers, by_rank),
        domains::table(&summary.domains, by_rank),
    ];
    report.tables = tables.into_iter().filter(|table| !table.rows.is_empty()).collect();
    if summary.frames_skipped > 0 {
        let text = format!("{} Python frames were not read", summary.frames_skipped);
        report.notes.push(Note::new(text, Remedy::PythonFrames));
    }
    report
}

impl Summary {
    /// The table `kernels`: the time of each kernel.
    pub fn kernels_table(&self, trace: &Trace) -> Table {
        kernels::table(trace, &self.kernels, self.by_rank)
    }
}

/// Columns of a table, starting with the rank if rows are by rank.
pub(super) fn with_rank_column(by_rank: bool, mut columns: Vec<Column>) -> Vec<Column> {
    if by_rank {
        columns.insert(0, Column { text: true, ..Column::int("rank", Unit::None).key() });
    }
    columns
}

/// A row of a table with those columns.
pub(super) fn with_rank(rank: &Option<String>, mut cells: Vec<Value>) -> Vec<Value> {
    if let Some(rank) = rank {
        cells.insert(0, Value::from(rank.as_str()));
    }
    cells
}
