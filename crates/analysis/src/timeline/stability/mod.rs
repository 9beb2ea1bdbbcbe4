//! `stability`: how much repeated runs of one program differ, and how.
//!
//! A run is measured by the sum of its dispatch times, the time its GPUs were busy, and its span; a kernel by
//! the sum over its dispatches. Warm-up runs are separated, and drift, two modes and outliers are named; the
//! thresholds are in `rules/stability.toml`. Cost: one pass over each run's rows.

mod present;
mod rules;
mod sample;

use report::{Report, Table};
use trace::{Map, Needs, Trace};

pub use present::{present, process_spread};
pub use sample::{Drifting, Modes, Stability};

/// The times of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTimes {
    /// The run's name for people.
    pub label: String,
    /// Dispatches.
    pub dispatches: usize,
    /// Sum of all dispatch times.
    pub kernels_ns: i64,
    /// Time with at least one dispatch running, summed over GPUs.
    pub busy_ns: i64,
    /// From the start of the first dispatch to the end of the last.
    pub span_ns: i64,
    /// By kernel name: dispatches and the sum of their times.
    pub by_kernel: Vec<(String, usize, i64)>,
}

/// What to read from a run.
pub fn run_needs() -> Needs {
    Needs { kernels: true, ..Needs::nothing() }
}

impl RunTimes {
    /// The times of a run; `None` if it has no dispatch.
    pub fn of(trace: &Trace, label: &str) -> Option<Self> {
        let kernels = &trace.kernels;
        if kernels.is_empty() {
            return None;
        }
        let mut by_name: Map<trace::StrId, (usize, i64)> = Map::default();
        let mut until: Map<(u32, u32), i64> = Map::default();
        let mut times = Self { label: label.into(), dispatches: kernels.len(), ..Self::default() };
        for i in 0..kernels.len() {
            let (start, end) = (kernels.start[i], kernels.end[i].max(kernels.start[i]));
            times.kernels_ns += end - start;
            let row = by_name.entry(kernels.name[i]).or_default();
            *row = (row.0 + 1, row.1 + end - start);
            let until = until.entry((kernels.process[i].0, kernels.agent[i].0)).or_insert(i64::MIN);
            times.busy_ns += (end - start.max(*until)).max(0);
            *until = (*until).max(end);
        }
        let last = kernels.end.iter().copied().max().unwrap_or(0);
        times.span_ns = last - kernels.start[0];
        let rows = by_name.into_iter().map(|(name, (n, ns))| (trace.strings.get(name).to_string(), n, ns));
        times.by_kernel = rows.collect();
        times.by_kernel.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
        Some(times)
    }
}

/// How repeated runs of one program differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RepeatedRuns {
    /// The runs in the order given.
    pub runs: Vec<RunTimes>,
    /// Figures of whole runs.
    pub totals: Vec<Spread>,
    /// Kernels, most time first.
    pub kernels: Vec<Spread>,
}

/// How one figure varies from run to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// The figure, or the kernel.
    pub name: String,
    /// Its statistics in nanoseconds; absent if no run has a value.
    pub stability: Option<Stability>,
}

impl Spread {
    /// The spread of values of all runs.
    fn of(name: &str, values: &[f64]) -> Self {
        Self { name: name.into(), stability: Stability::of(values) }
    }

    /// The spread of values that some runs lack.
    fn of_some(name: &str, values: &[Option<f64>]) -> Self {
        // A kernel that a run did not launch has no time, not zero time.
        let present = values.iter().enumerate().filter_map(|(run, value)| Some((run, (*value)?)));
        let (runs, present): (Vec<usize>, Vec<f64>) = present.unzip();
        let mut spread = Self::of(name, &present);
        for outlier in spread.stability.iter_mut().flat_map(|found| &mut found.outliers) {
            *outlier = runs.get(*outlier).copied().unwrap_or(*outlier);
        }
        spread
    }
}

/// A figure of a whole run.
type Figure = fn(&RunTimes) -> i64;

const TOTALS: [(&str, Figure); 3] = [
    ("sum of kernel times", |run| run.kernels_ns),
    ("GPU busy", |run| run.busy_ns),
    ("span", |run| run.span_ns),
];

/// How repeated runs differ.
pub fn compute(runs: &[RunTimes]) -> RepeatedRuns {
    let total = |(name, figure): &(&str, Figure)| {
        Spread::of(name, &runs.iter().map(|run| figure(run) as f64).collect::<Vec<f64>>())
    };
    let totals = TOTALS.iter().map(total).collect();
    RepeatedRuns { runs: runs.to_vec(), totals, kernels: kernels(runs) }
}

/// The tables of repeated runs: `totals`, `kernels` and `runs`.
pub fn stability_tables(runs: &[RunTimes]) -> Vec<Table> {
    compute(runs).tables()
}

/// [`compute`] and [`present`] in one. `traces` provide the inputs and their health.
pub fn stability_report(traces: &[Trace], runs: &[RunTimes]) -> Report {
    present(traces, &compute(runs))
}

fn kernels(runs: &[RunTimes]) -> Vec<Spread> {
    let mut values: Map<&str, Vec<Option<f64>>> = Map::default();
    for (number, run) in runs.iter().enumerate() {
        for (name, _, ns) in &run.by_kernel {
            values.entry(name).or_insert_with(|| vec![None; runs.len()])[number] = Some(*ns as f64);
        }
    }
    let mut rows: Vec<(&str, Vec<Option<f64>>)> = values.into_iter().collect();
    let total = |values: &[Option<f64>]| values.iter().flatten().sum::<f64>();
    rows.sort_by(|a, b| total(&b.1).total_cmp(&total(&a.1)).then_with(|| a.0.cmp(b.0)));
    rows.into_iter().map(|(name, values)| Spread::of_some(name, &values)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outlier_is_called_by_its_run_where_a_kernel_is_not_in_all() {
        let run = |ns: Option<i64>| RunTimes {
            by_kernel: ns.map(|ns| ("k".to_owned(), 1, ns)).into_iter().collect(),
            ..RunTimes::default()
        };
        let times = [None, Some(100), Some(101), Some(102), Some(101), Some(400), Some(100)];
        let found = compute(&times.map(run)).kernels[0].stability.clone().expect("six values");
        assert_eq!(found.runs, 6);
        assert_eq!(found.remarks(), ["outlier run 6"]);
    }
}
