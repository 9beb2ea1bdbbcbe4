//! The picture: attained rate over intensity, both logarithmic, under the roofs.

use hw::{Level, Pipe};
use report::Unit;
use report::chart::{Axis, Chart, Ink, Join, Mark, Point, Reference, Series, Xy, XySeries};

use super::device::Device;
use super::tables::Row;
use crate::names;

/// Points that are drawn; those with most time.
const MOST: usize = 40;

pub(super) fn chart(rows: &[Row], device: &Device) -> Option<Chart> {
    let total: i64 = rows.iter().map(|row| row.total_ns).sum();
    let point = |row: &Row| {
        let intensity = row.work.intensity(Level::Hbm)?;
        let rate = row.work.total_flops().ok()? / (row.total_ns as f64 / 1e9) / 1e9;
        let name = names::display_name(&row.name);
        (intensity > 0.0 && rate > 0.0 && rate.is_finite()).then(|| Point {
            x: intensity,
            y: rate,
            weight: Some(row.total_ns as f64 / total.max(1) as f64),
            tip: format!("{name}: {rate:.1} GFLOP/s at {intensity:.3} FLOP per byte"),
            label: name,
        })
    };
    let points: Vec<Point> = rows.iter().filter_map(point).take(MOST).collect();
    let low = points.iter().map(|point| point.x).fold(0.01, f64::min) / 2.0;
    let high = points.iter().map(|point| point.x).fold(1000.0, f64::max) * 2.0;
    let highest =
        best(device, Pipe::Matrix).into_iter().chain(best(device, Pipe::Vector)).map(|(_, peak)| peak);
    let highest = highest.fold(0.0, f64::max);
    if points.is_empty() || highest == 0.0 {
        return None;
    }
    let slowest = points.iter().map(|point| point.y).fold(f64::INFINITY, f64::min);
    let memory = device.peaks.bandwidth(Level::Hbm).map_or(highest, |rate| low * rate / 1e9);
    let lowest = slowest.min(memory) / 2.0;
    let mut references = Vec::new();
    for level in Level::ALL {
        let Some(bandwidth) = device.peaks.bandwidth(level).map(|rate| rate / 1e9) else { continue };
        references.push(Reference {
            label: format!("{level} {bandwidth:.0} GB/s"),
            points: vec![(low, low * bandwidth), (highest / bandwidth, highest)],
            ink: Ink::Muted,
            dashed: level != Level::Hbm,
        });
    }
    for (pipe, word) in [(Pipe::Vector, "vector"), (Pipe::Matrix, "matrix")] {
        if let Some((name, peak)) = best(device, pipe) {
            references.push(Reference {
                label: format!("{name} {word} {peak:.0} GFLOP/s"),
                points: vec![(low, peak), (high, peak)],
                ink: Ink::Muted,
                dashed: false,
            });
        }
    }
    let series = vec![XySeries { series: Series::new("kernels", 0), join: Join::Points, points }];
    let chart = Chart::new("roofline", &format!("Roofline of {}", device.peaks.device), Mark::Xy(Xy { series, references }))
        .with_description("Each point is a kernel; the nearer to the line above it, the less there is to win without changing what it does.")
        .with_x(Axis::log(Unit::None).labelled("FLOP per byte of memory traffic").between(low, high))
        .with_y(Axis::log(Unit::None).labelled("GFLOP/s").between(lowest, 2.0 * highest));
    Some(chart)
}

/// The type with the highest peak of a pipe, in GFLOP/s.
fn best(device: &Device, pipe: Pipe) -> Option<(&'static str, f64)> {
    let table = if pipe == Pipe::Vector { &device.peaks.vector } else { &device.peaks.matrix };
    let peaks = table.iter().map(|(data_type, peak)| (data_type.name(), peak.per_second / 1e9));
    peaks.max_by(|a, b| a.1.total_cmp(&b.1))
}
