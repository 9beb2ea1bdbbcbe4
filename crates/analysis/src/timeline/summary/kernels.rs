//! Kernels by name.

use crate::base::kernel_column;
use report::{Column, Table, Unit, Value};
use trace::{StrId, Trace};

use super::Ranks;
use super::group::Groups;
use super::present::{with_rank, with_rank_column};
use stats::{Durations, percent};

/// Why a kernel has no time.
pub(super) const NO_DURATION: &str = "no dispatch has a duration";

/// All dispatches of one kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelTime {
    /// The rank, if rows are by rank.
    pub rank: Option<String>,
    /// Its name.
    pub name: StrId,
    /// Dispatches.
    pub calls: usize,
    /// Their times; absent if no dispatch has a duration.
    pub times: Option<Durations>,
    /// Share of the time of all kernels of the rank; absent if the times are.
    pub share_pct: Option<f64>,
}

/// All kernels, sorted by rank, then by time.
pub(super) fn kernels(trace: &Trace, ranks: &Ranks) -> Vec<KernelTime> {
    let kernels = &trace.kernels;
    let groups = Groups::by(kernels.len(), |i| (ranks.of(kernels.process[i]), kernels.name[i]));
    let (mut durations, bounds) = groups.gather(|i| kernels.end[i] - kernels.start[i]);
    let mut rows: Vec<(u32, StrId, Durations)> = groups
        .keys
        .iter()
        .enumerate()
        .map(|(g, &(rank, name))| (rank, name, Durations::of(&mut durations[bounds[g]..bounds[g + 1]])))
        .collect();
    let mut totals = vec![0i64; ranks.labels.len()];
    for (rank, _, d) in &rows {
        totals[*rank as usize] += d.total;
    }
    let text = |name: StrId| trace.strings.get(name);
    rows.sort_by(|a, b| (a.0, -a.2.total, text(a.1)).cmp(&(b.0, -b.2.total, text(b.1))));
    let kernel_time = |(rank, name, times): (u32, StrId, Durations)| {
        let (rank, calls, whole) = (ranks.label(rank), times.calls, totals[rank as usize]);
        // No kernel takes zero time, so the times are lost.
        let times = Some(times).filter(|times| times.total != 0);
        let share_pct = times.as_ref().map(|times| percent(times.total, whole));
        KernelTime { rank, name, calls, times, share_pct }
    };
    rows.into_iter().map(kernel_time).collect()
}

/// The table `kernels`.
pub(super) fn table(trace: &Trace, kernels: &[KernelTime], by_rank: bool) -> Table {
    let columns = vec![
        kernel_column("name"),
        Column::int("calls", Unit::None).key(),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("mean_ns", Unit::Ns),
        Column::int("median_ns", Unit::Ns).detail(),
        Column::int("min_ns", Unit::Ns).detail(),
        Column::int("max_ns", Unit::Ns).detail(),
        Column::int("stddev_ns", Unit::Ns).detail(),
        Column::int("share_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("kernels", "Kernels", with_rank_column(by_rank, columns));
    for kernel in kernels {
        let mut cells = vec![Value::from(trace.strings.get(kernel.name)), Value::from(kernel.calls)];
        match kernel.times.as_ref().zip(kernel.share_pct) {
            None => cells.extend(std::iter::repeat_n(Value::absent(NO_DURATION), 7)),
            Some((times, share)) => {
                cells.extend([times.total, times.mean(), times.median, times.min, times.max].map(Value::Int));
                cells.push(Value::int_or(times.stddev, "one call has no spread"));
                cells.push(Value::Float(share));
            }
        }
        table.push(with_rank(&kernel.rank, cells));
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
