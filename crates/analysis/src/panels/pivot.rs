//! Counter rows of rocpd databases and rocprofv3 files as columns over the kernels.

use std::borrow::Cow;

use trace::{Map, Table, Trace};

/// Columns by counter; instances are summed.
pub(super) fn pivot(trace: &Trace) -> Map<&str, Cow<'_, [f64]>> {
    let counters = &trace.counters;
    let kernels = trace.kernels.len();
    let mut sums: Map<&str, Vec<f64>> = Map::default();
    for row in 0..counters.len() {
        let Some(kernel) = counters.kernel[row].row_of(Table::Kernels) else { continue };
        let Some(kind) = counters.counter[row].get() else { continue };
        let name = trace.strings.get(trace.counter_kinds[kind].name);
        let column = sums.entry(name).or_insert_with(|| vec![f64::NAN; kernels]);
        let value = &mut column[kernel];
        *value = if value.is_nan() { counters.value[row] } else { *value + counters.value[row] };
    }
    sums.into_iter().map(|(name, values)| (name, Cow::Owned(values))).collect()
}
