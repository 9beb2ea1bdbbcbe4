//! Copies and fills by name, allocations by kind and level.

use report::{Column, Table, Unit, Value};
use trace::{OptI64, Trace};

use super::Ranks;
use super::group::Groups;
use stats::{Durations, rounded_mean};

/// Calls, time and bytes of one group.
#[derive(Clone, Default)]
struct Moved {
    calls: usize,
    total_ns: i64,
    sized_calls: usize,
    bytes: i64,
    min_bytes: i64,
    max_bytes: i64,
    /// Time of the calls whose size is known.
    sized_ns: i64,
}

impl Moved {
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

    /// bytes, mean, min, max: of the calls whose size is known.
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

pub(super) fn copies(trace: &Trace, ranks: &Ranks) -> Table {
    let copies = &trace.memory_copies;
    let groups = Groups::by(copies.len(), |i| (ranks.of(copies.process[i]), copies.name[i]));
    let moved = gather(&groups, |i| (copies.end[i] - copies.start[i], copies.bytes[i]));
    let (mut durations, bounds) = groups.gather(|i| copies.end[i] - copies.start[i]);
    let times: Vec<Durations> =
        (0..groups.keys.len()).map(|g| Durations::of(&mut durations[bounds[g]..bounds[g + 1]])).collect();
    let mut rows: Vec<_> = groups
        .keys
        .iter()
        .zip(moved.iter().zip(&times))
        .map(|(&(rank, name), (moved, times))| (rank, trace.strings.get(name), moved, times))
        .collect();
    rows.sort_by(|a, b| (a.0, -a.2.total_ns, a.1).cmp(&(b.0, -b.2.total_ns, b.1)));
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
    let mut table = Table::new("memory_copies", "Memory copies and fills", ranks.columns(columns));
    for (rank, name, moved, times) in rows {
        let mut cells = vec![Value::from(name), Value::from(moved.calls)];
        cells.extend([times.total, times.mean(), times.median, times.min, times.max].map(Value::Int));
        cells.extend(moved.sizes());
        cells.push(moved.rate());
        table.push(ranks.row(rank, cells));
    }
    table
}

pub(super) fn allocations(trace: &Trace, ranks: &Ranks) -> Table {
    let allocations = &trace.memory_allocations;
    let groups = Groups::by(allocations.len(), |i| {
        (ranks.of(allocations.process[i]), allocations.kind[i], allocations.level[i])
    });
    let moved = gather(&groups, |i| (allocations.end[i] - allocations.start[i], allocations.bytes[i]));
    let mut rows: Vec<_> = groups
        .keys
        .iter()
        .zip(&moved)
        .map(|(&(rank, kind, level), moved)| (rank, trace.strings.get(kind), trace.strings.get(level), moved))
        .collect();
    rows.sort_by(|a, b| (a.0, -a.3.total_ns, a.1, a.2).cmp(&(b.0, -b.3.total_ns, b.1, b.2)));
    let mut columns = vec![
        Column::text("type"),
        Column::text("level"),
        Column::int("calls", Unit::None).key(),
        Column::int("total_ns", Unit::Ns).key(),
    ];
    columns.extend(size_columns());
    let mut table = Table::new("memory_allocations", "Memory allocations", ranks.columns(columns));
    for (rank, kind, level, moved) in rows {
        let mut cells =
            vec![Value::from(kind), Value::from(level), Value::from(moved.calls), Value::Int(moved.total_ns)];
        cells.extend(moved.sizes());
        table.push(ranks.row(rank, cells));
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
