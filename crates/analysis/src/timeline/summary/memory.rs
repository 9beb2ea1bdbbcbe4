//! Copies and fills by name, allocations by kind and level.

use report::{Column, Table, Unit, Value};
use trace::{OptI64, StrId, Trace};

use super::Ranks;
use super::group::Groups;
use super::present::{with_rank, with_rank_column};
use stats::{Durations, rounded_mean};

/// Calls, time and bytes of one group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Calls.
    pub calls: usize,
    /// Their total time.
    pub total_ns: i64,
    /// Calls whose size is known.
    sized_calls: usize,
    bytes: i64,
    min_bytes: i64,
    max_bytes: i64,
    /// Time of the calls whose size is known.
    sized_ns: i64,
}

/// All copies or fills with one name.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyTime {
    /// The rank, if rows are by rank.
    pub rank: Option<String>,
    /// Its name.
    pub name: StrId,
    /// Calls and bytes.
    pub moved: Moved,
    /// Times of the calls.
    pub times: Durations,
}

/// All allocations of one kind at one memory level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocationTime {
    /// The rank, if rows are by rank.
    pub rank: Option<String>,
    /// The kind of operation.
    pub kind: StrId,
    /// The memory level.
    pub level: StrId,
    /// Calls and bytes.
    pub moved: Moved,
}

impl Moved {
    /// From existing totals; `sized` has calls, bytes, smallest, largest and time for calls of known size.
    pub(super) fn of_totals(calls: usize, total_ns: i64, sized: (usize, i64, i64, i64, i64)) -> Self {
        let (sized_calls, bytes, min_bytes, max_bytes, sized_ns) = sized;
        Self { calls, total_ns, sized_calls, bytes, min_bytes, max_bytes, sized_ns }
    }

    fn add(&mut self, duration: i64, bytes: OptI64) {
        self.calls += 1;
        self.total_ns += duration;
        if let Some(bytes) = bytes.get() {
            self.min_bytes = if self.sized_calls == 0 { bytes } else { self.min_bytes.min(bytes) };
            self.max_bytes = self.max_bytes.max(bytes);
            self.sized_calls += 1;
            self.bytes = self.bytes.saturating_add(bytes);
            self.sized_ns += duration;
        }
    }

    /// Bytes of the calls whose size is known; absent if there are none.
    pub fn bytes(&self) -> Option<i64> {
        (self.sized_calls > 0).then_some(self.bytes)
    }

    /// Total, mean, minimum and maximum bytes of the calls whose size is known.
    fn sizes(&self) -> [Value; 4] {
        if self.sized_calls == 0 {
            return std::array::from_fn(|_| Value::absent("the source records no byte count"));
        }
        let mean = rounded_mean(self.bytes, self.sized_calls);
        [self.bytes, mean, self.min_bytes, self.max_bytes].map(Value::Int)
    }

    fn rate(&self) -> Value {
        match (self.sized_calls, self.sized_ns) {
            (0, _) => Value::absent("the source records no byte count"),
            (_, ..=0) => Value::absent("the calls take no time"),
            _ => Value::Float(self.bytes as f64 / self.sized_ns as f64),
        }
    }
}

fn gather<K>(groups: &Groups<K>, row: impl Fn(usize) -> (i64, OptI64)) -> Vec<Moved> {
    let mut moved = vec![Moved::default(); groups.keys.len()];
    for (i, &group) in groups.of_row.iter().enumerate() {
        let (duration, bytes) = row(i);
        moved[group as usize].add(duration, bytes);
    }
    moved
}

fn size_columns() -> [Column; 4] {
    [
        Column::int("bytes", Unit::Bytes),
        Column::int("mean_bytes", Unit::Bytes),
        Column::int("min_bytes", Unit::Bytes).detail(),
        Column::int("max_bytes", Unit::Bytes).detail(),
    ]
}

/// All copies and fills, sorted by rank, then by time.
pub(super) fn copies(trace: &Trace, ranks: &Ranks) -> Vec<CopyTime> {
    let copies = &trace.memory_copies;
    let groups = Groups::by(copies.len(), |i| (ranks.of(copies.process[i]), copies.name[i]));
    let moved = gather(&groups, |i| (copies.end[i] - copies.start[i], copies.bytes[i]));
    let (mut durations, bounds) = groups.gather(|i| copies.end[i] - copies.start[i]);
    let mut rows: Vec<_> = groups
        .keys
        .iter()
        .zip(moved)
        .enumerate()
        .map(|(g, (&(rank, name), moved))| {
            (rank, name, moved, Durations::of(&mut durations[bounds[g]..bounds[g + 1]]))
        })
        .collect();
    let text = |id: StrId| trace.strings.get(id);
    rows.sort_by(|a, b| (a.0, -a.2.total_ns, text(a.1)).cmp(&(b.0, -b.2.total_ns, text(b.1))));
    rows.into_iter()
        .map(|(rank, name, moved, times)| CopyTime { rank: ranks.label(rank), name, moved, times })
        .collect()
}

/// The table `memory_copies`.
pub(super) fn copies_table(trace: &Trace, copies: &[CopyTime], by_rank: bool) -> Table {
    let mut columns = vec![
        Column::text("name"),
        Column::int("calls", Unit::None).key(),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("mean_ns", Unit::Ns),
        Column::int("median_ns", Unit::Ns).detail(),
        Column::int("min_ns", Unit::Ns).detail(),
        Column::int("max_ns", Unit::Ns).detail(),
    ];
    columns.extend(size_columns());
    columns.push(Column::int("mean_gbps", Unit::Gbps).key());
    let columns = with_rank_column(by_rank, columns);
    let mut table = Table::new("memory_copies", "Memory copies and fills", columns);
    for copy in copies {
        let (moved, times) = (&copy.moved, &copy.times);
        let mut cells = vec![Value::from(trace.strings.get(copy.name)), Value::from(moved.calls)];
        cells.extend([times.total, times.mean(), times.median, times.min, times.max].map(Value::Int));
        cells.extend(moved.sizes());
        cells.push(moved.rate());
        table.push(with_rank(&copy.rank, cells));
    }
    table
}

/// All allocations, sorted by rank, then by time.
pub(super) fn allocations(trace: &Trace, ranks: &Ranks) -> Vec<AllocationTime> {
    let allocations = &trace.memory_allocations;
    let groups = Groups::by(allocations.len(), |i| {
        (ranks.of(allocations.process[i]), allocations.kind[i], allocations.level[i])
    });
    let moved = gather(&groups, |i| (allocations.end[i] - allocations.start[i], allocations.bytes[i]));
    let mut rows: Vec<_> = groups.keys.iter().zip(moved).collect();
    let text = |id: StrId| trace.strings.get(id);
    rows.sort_by(|(a, x), (b, y)| {
        (a.0, -x.total_ns, text(a.1), text(a.2)).cmp(&(b.0, -y.total_ns, text(b.1), text(b.2)))
    });
    rows.into_iter()
        .map(|(&(rank, kind, level), moved)| AllocationTime { rank: ranks.label(rank), kind, level, moved })
        .collect()
}

/// The table `memory_allocations`.
pub(super) fn allocations_table(trace: &Trace, allocations: &[AllocationTime], by_rank: bool) -> Table {
    let mut columns = vec![
        Column::text("type"),
        Column::text("level"),
        Column::int("calls", Unit::None).key(),
        Column::int("total_ns", Unit::Ns).key(),
    ];
    columns.extend(size_columns());
    let columns = with_rank_column(by_rank, columns);
    let mut table = Table::new("memory_allocations", "Memory allocations", columns);
    for one in allocations {
        let text = |id: StrId| Value::from(trace.strings.get(id));
        let (calls, total) = (Value::from(one.moved.calls), Value::Int(one.moved.total_ns));
        let mut cells = vec![text(one.kind), text(one.level), calls, total];
        cells.extend(one.moved.sizes());
        table.push(with_rank(&one.rank, cells));
    }
    table
}

#[cfg(test)]
mod tests {
    use trace::{MemoryCopy, Trace};

    use crate::{SummaryOptions, summary};

    #[test]
    fn copies_had_bytes_and_no_durations() {
        let mut trace = Trace::default();
        let name = trace.strings.intern("MEMORY_COPY_HOST_TO_DEVICE");
        for duration in [10, 40, 30] {
            trace.memory_copies.push(MemoryCopy {
                name,
                start: 5,
                end: 5 + duration,
                ..MemoryCopy::default()
            });
        }
        let report = summary(&trace, &SummaryOptions::default());
        let table = report.table("memory_copies").expect("copies");
        let cell = |key: &str| table.rows[0][table.column(key).expect(key)].number();
        let times = ["total_ns", "mean_ns", "median_ns", "min_ns", "max_ns"].map(cell);
        assert_eq!(times, [80.0, 27.0, 30.0, 10.0, 40.0].map(Some));
    }
}
