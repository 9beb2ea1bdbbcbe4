//! Kernels by name.

use report::{Column, Table, Unit, Value};
use trace::Trace;

use super::Ranks;
use super::group::Groups;
use crate::statistics::{Durations, percent};

pub(super) fn table(trace: &Trace, ranks: &Ranks) -> Table {
    let kernels = &trace.kernels;
    let groups = Groups::by(kernels.len(), |i| (ranks.of(kernels.process[i]), kernels.name[i]));
    let (mut durations, bounds) = groups.gather(|i| kernels.end[i] - kernels.start[i]);
    let mut rows: Vec<(u32, &str, Durations)> = groups
        .keys
        .iter()
        .enumerate()
        .map(|(g, &(rank, name))| {
            (rank, trace.strings.get(name), Durations::of(&mut durations[bounds[g]..bounds[g + 1]]))
        })
        .collect();
    let mut totals = vec![0i64; ranks.labels.len()];
    for (rank, _, d) in &rows {
        totals[*rank as usize] += d.total;
    }
    rows.sort_by(|a, b| (a.0, -a.2.total, a.1).cmp(&(b.0, -b.2.total, b.1)));
    let columns = vec![
        Column::text("name"),
        Column::int("calls", Unit::None).key(),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("mean_ns", Unit::Ns),
        Column::int("median_ns", Unit::Ns).detail(),
        Column::int("min_ns", Unit::Ns).detail(),
        Column::int("max_ns", Unit::Ns).detail(),
        Column::int("stddev_ns", Unit::Ns).detail(),
        Column::int("share_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("kernels", "Kernels", ranks.columns(columns));
    for (rank, name, d) in rows {
        let share = percent(d.total, totals[rank as usize]);
        let cells = vec![
            Value::from(name),
            Value::from(d.calls),
            Value::Int(d.total),
            Value::Int(d.mean()),
            Value::Int(d.median),
            Value::Int(d.min),
            Value::Int(d.max),
            Value::int_or(d.stddev, "one call has no spread"),
            Value::Float(share),
        ];
        table.push(ranks.row(rank, cells));
    }
    table
}
