//! All rows of a trace in one order: by start, the longest first, so that parents come before children.

use std::cmp::Reverse;

use trace::{Table, Trace};

/// Rows of one table in that order; tables are sorted by (start, end), so only equal starts move.
struct Cursor<'a> {
    table: Table,
    start: &'a [i64],
    end: &'a [i64],
    next: usize,
    /// Rows with the same start, the next one last.
    run: Vec<usize>,
}

impl Cursor<'_> {
    fn peek(&mut self) -> Option<(i64, Reverse<i64>)> {
        if self.run.is_empty() {
            let first = self.next;
            let start = *self.start.get(first)?;
            while self.start.get(self.next) == Some(&start) {
                self.next += 1;
            }
            self.run.extend((first..self.next).rev());
            if self.run.len() > 1 {
                // Equal rows keep their order; the run is stored backwards.
                self.run.sort_by_key(|&row| self.end[row]);
            }
        }
        let row = *self.run.last()?;
        Some((self.start[row], Reverse(self.end[row])))
    }
}

/// Every row with a time, in order; at equal times host rows come first.
pub(crate) struct InTimeOrder<'a> {
    cursors: [Cursor<'a>; 6],
    heads: [Option<(i64, Reverse<i64>)>; 6],
}

impl<'a> InTimeOrder<'a> {
    pub fn of(trace: &'a Trace) -> Self {
        let cursor = |table, start, end| Cursor { table, start, end, next: 0, run: Vec::new() };
        let mut cursors = [
            cursor(Table::Regions, &trace.regions.start, &trace.regions.end),
            cursor(Table::Kernels, &trace.kernels.start, &trace.kernels.end),
            cursor(Table::MemoryCopies, &trace.memory_copies.start, &trace.memory_copies.end),
            cursor(Table::MemoryAllocations, &trace.memory_allocations.start, &trace.memory_allocations.end),
            cursor(Table::Syncs, &trace.syncs.start, &trace.syncs.end),
            cursor(Table::Samples, &trace.samples.start, &trace.samples.end),
        ];
        let heads = cursors.each_mut().map(Cursor::peek);
        Self { cursors, heads }
    }
}

impl Iterator for InTimeOrder<'_> {
    type Item = (Table, usize);

    fn next(&mut self) -> Option<(Table, usize)> {
        let heads = &self.heads;
        let first = (0..heads.len()).filter(|&c| heads[c].is_some()).min_by_key(|&c| heads[c])?;
        let cursor = &mut self.cursors[first];
        let row = cursor.run.pop()?;
        self.heads[first] = cursor.peek();
        Some((cursor.table, row))
    }
}

/// Calls `visit` with every row that has a time, in order.
pub(crate) fn in_time_order<E>(
    trace: &Trace,
    mut visit: impl FnMut(Table, usize) -> Result<(), E>,
) -> Result<(), E> {
    InTimeOrder::of(trace).try_for_each(|(table, row)| visit(table, row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Kernel, Region};

    #[test]
    fn parents_come_first_and_equal_rows_keep_their_order() {
        let mut trace = Trace::default();
        for (start, end) in [(0, 5), (0, 9), (0, 9), (2, 3), (9, 9)] {
            trace.regions.push(Region { start, end, ..Default::default() });
        }
        for (start, end) in [(0, 20), (2, 2), (9, 30)] {
            trace.kernels.push(Kernel { start, end, ..Default::default() });
        }
        let mut seen = Vec::new();
        let done: Result<(), ()> = in_time_order(&trace, |table, row| {
            seen.push((table, row));
            Ok(())
        });
        done.unwrap();
        use Table::{Kernels as K, Regions as R};
        assert_eq!(seen, [(K, 0), (R, 1), (R, 2), (R, 0), (R, 3), (K, 1), (K, 2), (R, 4)]);
    }
}
