//! Counters as columns: one value per kernel, for sources with hundreds of counters per dispatch.

use crate::columns::{Permute, Remap, Remapping};
use crate::ids::StrId;

/// One counter of one pass; its values are in the order of the `kernels` table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterColumn {
    /// `SQ_WAVES`, `TCC_HIT_sum`, `TCC_HIT[3]` …
    pub counter: StrId,
    /// The level pass it was collected in (`SQ_LEVEL_WAVES`), if counters of several passes share a name.
    pub pass: StrId,
    /// One value per kernel; NaN if there is none.
    pub values: Vec<f64>,
}

/// The wide form of `counters`: a reader fills one or the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterColumns {
    /// Nanoseconds of each kernel if passes were averaged, which gives fractions; else empty.
    pub duration: Vec<f64>,
    /// All columns.
    pub columns: Vec<CounterColumn>,
}

impl CounterColumns {
    /// Whether there are no columns.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty() && self.duration.is_empty()
    }

    /// Adds the columns of another trace, whose kernels come after `kernels` others.
    pub(crate) fn append(&mut self, other: Self, kernels: usize, more: usize, by: &Remapping) {
        if self.is_empty() && other.is_empty() {
            return;
        }
        self.pad(kernels);
        if !self.duration.is_empty() || !other.duration.is_empty() {
            self.duration.resize(kernels, f64::NAN);
            self.duration.extend(other.duration);
        }
        for column in other.columns {
            let (counter, pass) = (column.counter.remap(by), column.pass.remap(by));
            let known = self.columns.iter_mut().find(|c| c.counter == counter && c.pass == pass);
            match known {
                Some(known) => known.values.extend(column.values),
                None => {
                    let mut values = vec![f64::NAN; kernels];
                    values.extend(column.values);
                    self.columns.push(CounterColumn { counter, pass, values });
                }
            }
        }
        self.pad(kernels + more);
    }

    /// Pads every column to `kernels` values.
    fn pad(&mut self, kernels: usize) {
        for column in &mut self.columns {
            column.values.resize(kernels, f64::NAN);
        }
        if !self.duration.is_empty() {
            self.duration.resize(kernels, f64::NAN);
        }
    }

    /// Row `i` becomes the old row `order[i]`.
    pub(crate) fn reorder(&mut self, order: &[u32]) {
        for column in &mut self.columns {
            column.values.permute(order);
        }
        if !self.duration.is_empty() {
            self.duration.permute(order);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{CounterColumn, Kernel, Process, Source, Trace};

    fn trace(counter: &str, rows: &[(i64, f64)]) -> Trace {
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named(counter, "test"));
        let process = trace.add_process(Process::new(source, 1));
        for &(start, _) in rows {
            trace.kernels.push(Kernel { start, end: start + 1, process, ..Default::default() });
        }
        let values = rows.iter().map(|(_, value)| *value).collect();
        let counter = trace.strings.intern(counter);
        trace.counter_columns.columns.push(CounterColumn { counter, values, ..Default::default() });
        trace
    }

    #[test]
    fn values_follow_their_kernels_through_append_and_sort() {
        let mut one = trace("A", &[(50, 5.0), (10, 1.0)]);
        one.append(trace("B", &[(20, 2.0)]));
        one.append(trace("A", &[(30, 3.0)]));
        one.finish();
        let column = |name: &str| {
            let columns = &one.counter_columns.columns;
            columns.iter().find(|c| one.strings.get(c.counter) == name).unwrap().values.clone()
        };
        assert_eq!(one.kernels.start, [10, 20, 30, 50]);
        let a = column("A");
        assert!(a[1].is_nan() && a[0] == 1.0 && a[2] == 3.0 && a[3] == 5.0);
        assert_eq!(column("B").iter().filter(|v| !v.is_nan()).collect::<Vec<_>>(), [&2.0]);
    }
}
