//! Kernels by name.

use report::{Column, Table, Unit, Value};
use trace::Trace;

use super::Ranks;
use super::group::Groups;
use stats::{Durations, percent};

/// Why there is no time of a kernel.
pub(super) const NO_DURATION: &str = "no dispatch has a duration";

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
        let mut cells = vec![Value::from(name), Value::from(d.calls)];
        if d.total == 0 {
            // No kernel takes no time: the times are lost.
            cells.extend(std::iter::repeat_n(Value::absent(NO_DURATION), 7));
        } else {
            cells.extend([d.total, d.mean(), d.median, d.min, d.max].map(Value::Int));
            cells.push(Value::int_or(d.stddev, "one call has no spread"));
            cells.push(Value::Float(percent(d.total, totals[rank as usize])));
        }
        table.push(ranks.row(rank, cells));
    }
    table
}

#[cfg(test)]
mod tests {
    use trace::{Kernel, Trace};

    use crate::{SummaryOptions, summary};

    #[test]
    fn kernels_whose_times_are_lost_have_none() {
        let mut trace = Trace::default();
        for (name, end) in [("timed", 40), ("lost", 10), ("lost", 10)] {
            let name = trace.strings.intern(name);
            trace.kernels.push(Kernel { name, start: 10, end, ..Kernel::default() });
        }
        let report = summary(&trace, &SummaryOptions::default());
        let table = report.table("kernels").expect("the kernels");
        let (calls, total, share) = (
            table.column("calls").unwrap(),
            table.column("total_ns").unwrap(),
            table.column("share_pct").unwrap(),
        );
        let row = |i: usize| {
            (table.rows[i][calls].number(), table.rows[i][total].number(), table.rows[i][share].number())
        };
        assert_eq!(row(0), (Some(1.0), Some(30.0), Some(100.0)));
        assert_eq!(row(1), (Some(2.0), None, None));
        trace.kernels.end.fill(10);
        let report = summary(&trace, &SummaryOptions::default());
        let domains = report.table("domains").expect("the domains");
        assert_eq!(domains.rows[0][domains.column("total_ns").unwrap()].number(), None);
    }
}
