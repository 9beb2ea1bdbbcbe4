//! `stability`: how much repeated runs of one program differ, and in which way.
//!
//! A run's time is the sum of its dispatch times, the time its GPUs were busy and its span; a kernel's is the sum
//! over its dispatches. Warm-up runs are told apart, and drift, two modes and outliers are named; the thresholds are in
//! `rules/stability.toml`. Cost: one pass over each run's rows.

mod rules;
mod sample;

use report::{Column, Report, Table, Unit, Value};
use trace::{Map, Needs, Trace};

use crate::base;

pub use sample::{Drifting, Modes, Stability};

/// What the times of one run are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTimes {
    /// As a person calls the run.
    pub label: String,
    /// Dispatches.
    pub dispatches: usize,
    /// Sum of all dispatch times.
    pub kernels_ns: i64,
    /// Time in which at least one dispatch ran, GPU by GPU.
    pub busy_ns: i64,
    /// From the first dispatch to the end of the last.
    pub span_ns: i64,
    /// By kernel name: dispatches and the sum of their times.
    pub by_kernel: Vec<(String, usize, i64)>,
}

/// What a run must be read with.
pub fn run_needs() -> Needs {
    Needs { kernels: true, ..Needs::nothing() }
}

impl RunTimes {
    /// The times of a run; none when it has no dispatch.
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

/// The tables of repeated runs: `runs`, `totals` and `kernels`.
pub fn stability_tables(runs: &[RunTimes]) -> Vec<Table> {
    vec![totals(runs), kernels(runs), list(runs)]
}

/// How repeated runs differ. `traces` give the inputs and their health.
pub fn stability_report(traces: &[Trace], runs: &[RunTimes]) -> Report {
    let mut report = Report { command: "stability".into(), ..Report::default() };
    for trace in traces {
        let one = base::report("stability", trace);
        report.inputs.extend(one.inputs);
        // Host calls were not read, so nothing is missing.
        report.health.extend(one.health.into_iter().filter(|check| check.id != "coverage"));
    }
    report.tables = stability_tables(runs);
    if runs.len() == 1 {
        report.notes.push("one run tells nothing of stability; give several".into());
    }
    report
}

type Measure = fn(&RunTimes) -> i64;

const METRICS: [(&str, Measure); 3] = [
    ("sum of kernel times", |run| run.kernels_ns),
    ("GPU busy", |run| run.busy_ns),
    ("span", |run| run.span_ns),
];

fn columns(first: &str) -> Vec<Column> {
    vec![
        Column::text(first),
        Column::int("runs", Unit::None),
        Column::int("median_ns", Unit::Ns).key(),
        Column::int("ci_low_ns", Unit::Ns).detail(),
        Column::int("ci_high_ns", Unit::Ns).detail(),
        Column::int("mean_ns", Unit::Ns).detail(),
        Column::int("stddev_ns", Unit::Ns).detail(),
        Column::int("min_ns", Unit::Ns).detail(),
        Column::int("max_ns", Unit::Ns).detail(),
        Column::int("cv_pct", Unit::Pct).key(),
        Column::text("label"),
        Column::text("remarks").normal(),
    ]
}

/// A row of values of all runs.
fn row(name: &str, values: &[f64]) -> Vec<Value> {
    row_of(name, values, &(0..values.len()).collect::<Vec<_>>())
}

/// A row of values of some runs, given by their places.
fn row_of(name: &str, values: &[f64], runs: &[usize]) -> Vec<Value> {
    const ONE: &str = "one run tells no spread";
    let whole = |value: f64| Value::Int(value.round() as i64);
    let Some(mut found) = Stability::of(values) else {
        let mut row = vec![Value::from(name), Value::from(0usize)];
        row.extend((0..10).map(|_| Value::absent("no run has a value")));
        return row;
    };
    found.outliers.iter_mut().for_each(|place| *place = runs.get(*place).copied().unwrap_or(*place));
    let (low, high) = found.median_ci.map_or((None, None), |(low, high)| (Some(low), Some(high)));
    let optional = |value: Option<f64>, why: &str| value.map_or_else(|| Value::absent(why), whole);
    vec![
        Value::from(name),
        Value::from(found.runs),
        whole(found.median),
        optional(low, "an interval needs three runs"),
        optional(high, "an interval needs three runs"),
        whole(found.mean),
        optional(found.stddev, ONE),
        whole(found.min),
        whole(found.max),
        found.cv.map_or_else(|| Value::absent(ONE), |cv| Value::Float(100.0 * cv)),
        found.label.map_or_else(|| Value::absent(ONE), Value::from),
        Value::Text(found.remarks().join(", ")),
    ]
}

/// How runs of a process differ of which only the time on the clock is known.
pub fn process_spread(seconds: &[f64]) -> Table {
    let mut table = Table::new("totals", "How the runs differ", columns("metric"));
    let values: Vec<f64> = seconds.iter().map(|seconds| seconds * 1e9).collect();
    table.push(row("time of the process", &values));
    table
}

fn totals(runs: &[RunTimes]) -> Table {
    let mut table = Table::new("totals", "How the runs differ", columns("metric"));
    for (name, metric) in METRICS {
        let values: Vec<f64> = runs.iter().map(|run| metric(run) as f64).collect();
        table.push(row(name, &values));
    }
    table
}

fn kernels(runs: &[RunTimes]) -> Table {
    let mut table = Table::new("kernels", "How kernels differ from run to run", columns("name"));
    let mut values: Map<&str, Vec<Option<f64>>> = Map::default();
    for (number, run) in runs.iter().enumerate() {
        for (name, _, ns) in &run.by_kernel {
            values.entry(name).or_insert_with(|| vec![None; runs.len()])[number] = Some(*ns as f64);
        }
    }
    let mut rows: Vec<(&str, Vec<Option<f64>>)> = values.into_iter().collect();
    let total = |values: &[Option<f64>]| values.iter().flatten().sum::<f64>();
    rows.sort_by(|a, b| total(&b.1).total_cmp(&total(&a.1)).then_with(|| a.0.cmp(b.0)));
    for (name, values) in rows {
        // A kernel that a run did not launch has no time there, not zero.
        let present = values.iter().enumerate().filter_map(|(run, value)| Some((run, (*value)?)));
        let (runs, present): (Vec<usize>, Vec<f64>) = present.unzip();
        table.push(row_of(name, &present, &runs));
    }
    table
}

fn list(runs: &[RunTimes]) -> Table {
    let columns = vec![
        Column::text("run"),
        Column::int("dispatches", Unit::None).key(),
        Column::int("kernels_ns", Unit::Ns).key(),
        Column::int("busy_ns", Unit::Ns).key(),
        Column::int("span_ns", Unit::Ns).key(),
    ];
    let mut table = Table::new("runs", "Runs in the order given", columns);
    for run in runs {
        table.push(vec![
            Value::from(run.label.as_str()),
            Value::from(run.dispatches),
            Value::Int(run.kernels_ns),
            Value::Int(run.busy_ns),
            Value::Int(run.span_ns),
        ]);
    }
    table
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
        let table = kernels(&times.map(run));
        let cell = |key: &str| table.rows[0][table.column(key).unwrap()].clone();
        assert_eq!(cell("runs"), Value::Int(6));
        assert_eq!(cell("remarks"), Value::Text("outlier run 6".into()));
    }
}
