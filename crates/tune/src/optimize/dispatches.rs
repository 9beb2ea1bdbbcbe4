//! The time of a kernel in a run, robust against interrupted dispatches and slow first ones.

use std::collections::BTreeMap;

use trace::Trace;

use super::source::base_name;

/// The median dispatch of each launch shape, times their number; `None` if the kernel was not recorded.
pub(super) fn usual_total(trace: &Trace, kernel: &str) -> Option<f64> {
    let mut ours: BTreeMap<&str, bool> = BTreeMap::new();
    let mut shapes: BTreeMap<_, Vec<i64>> = BTreeMap::new();
    for row in 0..trace.kernels.len() {
        let name = trace.strings.get(trace.kernels.name[row]);
        if *ours.entry(name).or_insert_with(|| base_name(&model::names::demangle(name)) == kernel) {
            let shape = trace.shapes.get(trace.kernels.shape[row]);
            let time = trace.kernels.end[row] - trace.kernels.start[row];
            shapes.entry((shape.grid, shape.workgroup)).or_default().push(time);
        }
    }
    let total = |mut times: Vec<i64>| {
        times.sort_unstable();
        let n = times.len();
        n as f64 * (times[(n - 1) / 2] + times[n / 2]) as f64 / 2.0
    };
    (!shapes.is_empty()).then(|| shapes.into_values().map(total).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_dispatch_changes_nothing() {
        let run = |times: &[(&str, u32, i64)]| {
            let mut trace = Trace::default();
            for (at, (name, threads, time)) in times.iter().enumerate() {
                let name = trace.strings.intern(name);
                let shape = trace::LaunchShape { workgroup: Some([*threads, 1, 1]), ..Default::default() };
                let shape = trace.shapes.intern(shape);
                let start = 1000 * at as i64;
                let end = start + time;
                trace.kernels.push(trace::Kernel { name, start, end, shape, ..trace::Kernel::default() });
            }
            usual_total(&trace, "k")
        };
        let calm = run(&[("k", 64, 10), ("k", 64, 10), ("k", 64, 11), ("k", 256, 100), ("other", 64, 999)]);
        assert_eq!(calm, Some(130.0));
        let busy = run(&[("k", 64, 10), ("k", 64, 900), ("k", 64, 10), ("k", 256, 100)]);
        assert_eq!(busy, Some(130.0));
        assert_eq!(run(&[("other", 64, 1)]), None);
    }
}
