//! Memory held over time, stacked by owner.

use model::memory::{DeviceMemory, MemoryHistory};
use report::chart::{Axis, Chart, Lane, Lanes, Mark, Series, Span};
use report::{Unit, Value, show};

use super::Memory;

/// Owners with their own colour; the others share one.
const OWNERS: usize = 7;
/// Slices of the time axis.
const SLICES: usize = 240;
/// Most devices to draw.
const DEVICES: usize = 8;

/// The memory held over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// The owners that hold most at the peak; each slice ends with what the others hold.
    pub owners: Vec<String>,
    /// Equal slices of time.
    pub slices: Vec<Slice>,
}

/// The fullest moment in a slice of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slice {
    /// Start, relative to the start of the record.
    pub from_ns: i64,
    /// End, relative to the start of the record.
    pub to_ns: i64,
    /// Bytes of each owner, then of all others.
    pub bytes: Vec<i64>,
}

impl Slice {
    /// All memory held.
    pub fn total(&self) -> i64 {
        self.bytes.iter().sum()
    }
}

pub(super) fn timeline(history: &MemoryHistory, device: &DeviceMemory, at_peak: &[u32]) -> Timeline {
    let (Some(first), Some(last)) = (device.changes.first(), device.changes.last()) else {
        return Timeline::default();
    };
    let (start, span) = (first.at, (last.at - first.at).max(1));
    let owners: Vec<String> = super::holders::by_line(history, device, at_peak)
        .into_iter()
        .take(OWNERS)
        .map(|holder| holder.line)
        .collect();
    let place_of: Vec<usize> = history
        .owners
        .iter()
        .map(|owner| owners.iter().position(|name| name == owner.name()).unwrap_or(owners.len()))
        .collect();
    let mut held = vec![0i64; owners.len() + 1];
    let mut total = 0;
    for block in device.blocks.iter().filter(|block| block.from.is_none()) {
        held[place_of[block.owner as usize]] += block.bytes;
        total += block.bytes;
    }
    let edge = |slice: usize| (span as i128 * slice as i128 / SLICES as i128) as i64;
    let mut slices = Vec::with_capacity(SLICES);
    let mut changes = device.changes.iter().peekable();
    for slice in 0..SLICES {
        let (from, to) = (edge(slice), edge(slice + 1));
        let (mut most, mut fullest) = (total, held.clone());
        let is_last = slice + 1 == SLICES;
        while let Some(change) = changes.next_if(|change| change.at - start < to || is_last) {
            let bytes = device.bytes_of(change);
            held[place_of[device.blocks[change.block as usize].owner as usize]] += bytes;
            total += bytes;
            if total > most {
                most = total;
                fullest.copy_from_slice(&held);
            }
        }
        slices.push(Slice { from_ns: from, to_ns: to, bytes: fullest });
    }
    Timeline { owners, slices }
}

/// The chart; `None` if nothing changes.
pub(super) fn chart(memory: &Memory) -> Option<Chart> {
    let devices: Vec<_> = memory.devices.iter().filter(|device| !device.timeline.slices.is_empty()).collect();
    let shown = &devices[..devices.len().min(DEVICES)];
    let peak = shown.iter().map(|device| device.peak.bytes).max().filter(|peak| *peak > 0)?;
    let mut series: Vec<Series> = Vec::new();
    let mut lanes = Vec::new();
    let bytes = |bytes: i64| show(&Value::Int(bytes), Unit::Bytes);
    let time = |ns: i64| show(&Value::Int(ns), Unit::Ns);
    for device in shown {
        let names = device.timeline.owners.iter().map(String::as_str).chain(["others"]);
        let numbers: Vec<usize> = names
            .map(|name| {
                series.iter().position(|known| known.name == name).unwrap_or_else(|| {
                    let rest = name == "others";
                    series.push(if rest { Series::rest(name) } else { Series::new(name, series.len()) });
                    series.len() - 1
                })
            })
            .collect();
        let mut spans = Vec::new();
        for slice in &device.timeline.slices {
            let tip = format!(
                "{} held at most, {} to {}",
                bytes(slice.total()),
                time(slice.from_ns),
                time(slice.to_ns)
            );
            let mut base = 0.0;
            for (&held, &number) in slice.bytes.iter().zip(&numbers).filter(|(held, _)| **held > 0) {
                let height = held as f64 / peak as f64;
                let span = Span::new(slice.from_ns as f64, slice.to_ns as f64, number);
                spans.push(Span {
                    base,
                    height,
                    tip: format!("{}: {}\n{tip}", series[number].name, bytes(held)),
                    ..span
                });
                base += height;
            }
        }
        lanes.push(Lane { label: device.label.clone(), spans });
    }
    let longest = shown.iter().map(|device| device.span_ns).max().unwrap_or(1).max(1);
    let mut description = format!(
        "Memory held over time, by the line that allocated it. A full strip is {}, the highest peak.",
        bytes(peak)
    );
    if devices.len() > DEVICES {
        description.push_str(&format!(" The first {DEVICES} of {} devices.", devices.len()));
    }
    let x = Axis::of(Unit::Ns).labelled("time since the first event").between(0.0, longest as f64);
    let chart = Chart::new("memory_timeline", "Memory over time", Mark::Lanes(Lanes { series, lanes }));
    Some(chart.with_description(description).with_x(x))
}
