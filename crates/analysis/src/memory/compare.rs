//! `memory A --compare B`: what holds more or less memory.

use report::{Column, Report, Table, Unit, Value};
use trace::{Map, Trace};

use super::{DeviceFigures, Memory, Pool};
use crate::base;

/// One figure in two runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changed {
    /// The device.
    pub device: String,
    /// The figure, or the line of the program.
    pub name: String,
    /// Bytes in the first run; absent if it does not record them.
    pub base: Option<i64>,
    /// Bytes in the second run; absent if it does not record them.
    pub candidate: Option<i64>,
}

impl Changed {
    /// How many more bytes the second run has, if both record them.
    pub fn delta(&self) -> Option<i64> {
        Some(self.candidate? - self.base?)
    }
}

/// How the memory of two runs differs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryChange {
    /// Figures of each device.
    pub figures: Vec<Changed>,
    /// Lines that hold memory at the peak, largest change first.
    pub owners: Vec<Changed>,
}

type Figure = (&'static str, fn(&DeviceFigures) -> Option<i64>);

fn of_pools(device: &DeviceFigures, bytes: fn(&Pool) -> i64) -> Option<i64> {
    (!device.pools.is_empty()).then(|| device.pools.iter().map(bytes).sum())
}

const FIGURES: [Figure; 6] = [
    ("peak", |device| Some(device.peak.bytes)),
    ("held at the start", |device| Some(device.at_start)),
    ("held at the end", |device| Some(device.at_end)),
    ("reserved at the end", |device| device.reserved_at_end),
    ("unused", |device| of_pools(device, |pool| pool.unused)),
    ("fragmented", |device| of_pools(device, |pool| pool.fragmented)),
];

/// Compares two runs; devices are matched by name.
pub fn compare(base: &Memory, candidate: &Memory) -> MemoryChange {
    let mut change = MemoryChange::default();
    let find =
        |memory: &'_ Memory, label: &str| memory.devices.iter().position(|device| device.label == label);
    let mut labels: Vec<&str> = base.devices.iter().map(|device| device.label.as_str()).collect();
    labels.extend(
        candidate.devices.iter().map(|d| d.label.as_str()).filter(|label| find(base, label).is_none()),
    );
    for label in labels {
        let before = find(base, label).map(|place| &base.devices[place]);
        let after = find(candidate, label).map(|place| &candidate.devices[place]);
        for (name, figure) in FIGURES {
            let (base, candidate) = (before.and_then(figure), after.and_then(figure));
            if base.is_none() && candidate.is_none() {
                continue;
            }
            change.figures.push(Changed { device: label.into(), name: name.into(), base, candidate });
        }
        change.owners.extend(owners(label, before, after));
    }
    change.owners.sort_by_key(|changed| std::cmp::Reverse(changed.delta().map_or(0, i64::abs)));
    change
}

fn owners(label: &str, before: Option<&DeviceFigures>, after: Option<&DeviceFigures>) -> Vec<Changed> {
    let mut found: Vec<Changed> = Vec::new();
    let mut places: Map<&str, usize> = Map::default();
    let sides = [before, after].map(|device| device.map_or(&[][..], |device| &device.peak_lines));
    for (side, holders) in sides.into_iter().enumerate() {
        for holder in holders {
            let place = *places.entry(&holder.line).or_insert_with(|| {
                let (device, name) = (label.to_string(), holder.line.clone());
                // A line that is not in the peak's list holds none of it.
                found.push(Changed { device, name, base: Some(0), candidate: Some(0) });
                found.len() - 1
            });
            let changed = &mut found[place];
            *(if side == 0 { &mut changed.base } else { &mut changed.candidate }) = Some(holder.bytes);
        }
    }
    found
}

/// A comparison as a report. `traces` provide the inputs and their health.
pub fn present_change(traces: [&Trace; 2], change: &MemoryChange) -> Report {
    let mut report = Report { command: "memory".into(), ..Report::default() };
    for trace in traces {
        let one = base::report("memory", trace);
        report.inputs.extend(one.inputs);
        report
            .health
            .extend(one.health.into_iter().filter(|check| !["kernels", "coverage"].contains(&&*check.id)));
    }
    report.tables = vec![
        table("changes", "How memory changed", "figure", &change.figures),
        table("owner_changes", "What holds more or less at the peak", "line", &change.owners),
    ];
    report
}

fn table(name: &str, title: &str, what: &str, rows: &[Changed]) -> Table {
    let columns = vec![
        Column::text("device").normal(),
        Column::text(what),
        Column::int("base_bytes", Unit::Bytes).key(),
        Column::int("candidate_bytes", Unit::Bytes).key(),
        Column::int("delta_bytes", Unit::Bytes).key(),
    ];
    let mut table = Table::new(name, title, columns);
    for row in rows {
        let why = "this run does not record it";
        table.push(vec![
            Value::from(row.device.as_str()),
            Value::from(row.name.as_str()),
            Value::int_or(row.base, why),
            Value::int_or(row.candidate, why),
            Value::int_or(row.delta(), "one of the runs does not record it"),
        ]);
    }
    table
}
