//! Counter rows of rocpd databases and rocprofv3 files as columns by kernel.

use std::borrow::Cow;

use trace::{Map, Table, Trace};

/// Columns by counter.
pub(super) type Columns<'t> = Map<Cow<'t, str>, Cow<'t, [f64]>>;

/// Columns of the counter rows: instances are summed, and L2 channels are also kept as `NAME[channel]`.
pub(super) fn pivot(trace: &Trace) -> Columns<'_> {
    let counters = &trace.counters;
    let mut columns: Columns<'_> = Map::default();
    let per_xcc = channels_per_xcc(trace);
    for row in 0..counters.len() {
        let (Some(kernel), Some(kind)) =
            (counters.kernel[row].row_of(Table::Kernels), counters.counter[row].get())
        else {
            continue;
        };
        let name = trace.strings.get(trace.counter_kinds[kind].name);
        let value = counters.value[row];
        add(&mut columns, Cow::Borrowed(name), kernel, value, trace.kernels.len());
        if let Some(instance) = counters.instance[row].get()
            && is_channel_counter(name)
        {
            let channel = counters.xcc[row].get().unwrap_or(0) * per_xcc + instance;
            add(&mut columns, Cow::Owned(format!("{name}[{channel}]")), kernel, value, trace.kernels.len());
        }
    }
    columns
}

fn is_channel_counter(name: &str) -> bool {
    name.starts_with("TCC_") && !name.ends_with("_sum") && !name.ends_with(']')
}

/// L2 channels per XCC: one more than the highest recorded.
fn channels_per_xcc(trace: &Trace) -> i64 {
    let counters = &trace.counters;
    let of_channel = |row: &usize| {
        let name = counters.counter[*row].get().map(|kind| trace.strings.get(trace.counter_kinds[kind].name));
        name.is_some_and(is_channel_counter)
    };
    let channels = (0..counters.len()).filter(of_channel).filter_map(|row| counters.instance[row].get());
    channels.max().map_or(0, |highest| highest + 1)
}

fn add<'t>(columns: &mut Columns<'t>, name: Cow<'t, str>, kernel: usize, value: f64, kernels: usize) {
    let column = columns.entry(name).or_insert_with(|| Cow::Owned(vec![f64::NAN; kernels]));
    let sum = &mut column.to_mut()[kernel];
    *sum = if sum.is_nan() { value } else { *sum + value };
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Counter, CounterKind, Kernel, OptI64, RowRef};

    #[test]
    fn instances_are_summed_and_channels_kept() {
        let mut trace = Trace::default();
        for start in [0, 10] {
            trace.kernels.push(Kernel { start, end: start + 5, ..Kernel::default() });
        }
        let name = trace.strings.intern("TCC_HIT");
        let counter = trace.add_counter_kind(CounterKind { name, ..CounterKind::default() });
        for (kernel, xcc, instance, value) in [(0, 0, 0, 1.0), (0, 0, 1, 2.0), (0, 1, 0, 4.0), (1, 1, 1, 8.0)]
        {
            trace.counters.push(Counter {
                kernel: RowRef::kernel(kernel),
                counter,
                value,
                xcc: OptI64::some(xcc),
                instance: OptI64::some(instance),
                ..Counter::default()
            });
        }
        let columns = pivot(&trace);
        assert_eq!(columns["TCC_HIT"].as_ref(), [7.0, 8.0]);
        assert_eq!(columns["TCC_HIT[2]"][0], 4.0);
        assert_eq!(columns["TCC_HIT[3]"][1], 8.0);
        assert!(columns["TCC_HIT[3]"][0].is_nan());
    }
}
