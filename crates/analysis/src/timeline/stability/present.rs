//! The tables of `stability`.

use report::{Column, Report, Table, Unit, Value};
use trace::Trace;

use super::{RepeatedRuns, RunTimes, Spread};
use crate::base;

/// Why one run has no spread.
const ONE: &str = "one run shows no spread";

/// The whole report. `traces` provide the inputs and their health.
pub fn present(traces: &[Trace], repeated: &RepeatedRuns) -> Report {
    let mut report = Report { command: "stability".into(), ..Report::default() };
    for trace in traces {
        let one = base::report("stability", trace);
        report.inputs.extend(one.inputs);
        // Host calls were not read, so they are not missing.
        report.health.extend(one.health.into_iter().filter(|check| check.id != "coverage"));
    }
    report.tables = repeated.tables();
    if repeated.runs.len() == 1 {
        report.notes.push("one run says nothing about stability; pass several".into());
    }
    report
}

/// The spread of runs of a process for which only wall-clock times are known.
pub fn process_spread(seconds: &[f64]) -> Table {
    let values: Vec<f64> = seconds.iter().map(|seconds| seconds * 1e9).collect();
    totals(&[Spread::of("time of the process", &values)])
}

impl RepeatedRuns {
    /// The tables `totals`, `kernels` and `runs`.
    pub fn tables(&self) -> Vec<Table> {
        let title = "How kernels differ from run to run";
        vec![totals(&self.totals), spreads("kernels", title, "name", &self.kernels), list(&self.runs)]
    }
}

fn totals(rows: &[Spread]) -> Table {
    spreads("totals", "How the runs differ", "metric", rows)
}

fn spreads(name: &str, title: &str, first: &str, rows: &[Spread]) -> Table {
    let columns = vec![
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
    ];
    let mut table = Table::new(name, title, columns);
    rows.iter().for_each(|row| table.push(cells(row)));
    table
}

fn cells(spread: &Spread) -> Vec<Value> {
    let whole = |value: f64| Value::Int(value.round() as i64);
    let Some(found) = &spread.stability else {
        let mut row = vec![Value::from(spread.name.as_str()), Value::from(0usize)];
        row.extend((0..10).map(|_| Value::absent("no run has a value")));
        return row;
    };
    let (low, high) = found.median_ci.map_or((None, None), |(low, high)| (Some(low), Some(high)));
    let optional = |value: Option<f64>, why: &str| value.map_or_else(|| Value::absent(why), whole);
    vec![
        Value::from(spread.name.as_str()),
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
