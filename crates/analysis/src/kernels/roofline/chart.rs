//! The roofline plot: attained rate over arithmetic intensity, log-log, under the roofs.

use std::collections::BTreeMap;

use hw::peaks::Peaks;
use hw::{DataType, Level, Pipe};
use report::Unit;
use report::chart::{Axis, Chart, Ink, Join, Mark, Point, Reference, Series, Xy, XySeries};

use super::place::PlacedWork;
use model::names;

/// Most points to draw; those with the most time come first.
const MOST: usize = 40;

/// Measured kernels and modelled ops.
pub(super) fn chart(kernels: &[PlacedWork], ops: &[PlacedWork], peaks: &Peaks) -> Option<Chart> {
    let kinds = [("kernels", kernels), ("ops, modelled", ops)];
    let drawn = kinds.map(|(name, rows)| (name, points(rows)));
    let points: Vec<&Point> = drawn.iter().flat_map(|(_, points)| points).collect();
    let low = points.iter().map(|point| point.x).fold(0.01, f64::min) / 2.0;
    let high = points.iter().map(|point| point.x).fold(1000.0, f64::max) * 2.0;
    let roofs = roofs(kernels.iter().chain(ops), peaks);
    let highest = roofs.iter().map(|(_, peak)| *peak).fold(0.0, f64::max);
    if points.is_empty() || highest == 0.0 {
        return None;
    }
    let slowest = points.iter().map(|point| point.y).fold(f64::INFINITY, f64::min);
    let memory = peaks.bandwidth(Level::Hbm).map_or(highest, |rate| low * rate / 1e9);
    let lowest = slowest.min(memory) / 2.0;
    let mut references = Vec::new();
    // No counter measures Infinity Cache traffic, so nothing is plotted under its line.
    for level in Level::ALL.into_iter().filter(|level| *level != Level::Mall) {
        let Some(bandwidth) = peaks.bandwidth(level).map(|rate| rate / 1e9) else { continue };
        references.push(Reference {
            label: format!("{level} {bandwidth:.0} GB/s"),
            points: vec![(low, low * bandwidth), (highest / bandwidth, highest)],
            ink: Ink::Muted,
            dashed: level != Level::Hbm,
        });
    }
    for (name, peak) in roofs {
        references.push(Reference {
            label: format!("{name} {peak:.0} GFLOP/s"),
            points: vec![(low, peak), (high, peak)],
            ink: Ink::Muted,
            dashed: false,
        });
    }
    let series = drawn.into_iter().enumerate().filter(|(_, (_, points))| !points.is_empty());
    let series = series
        .map(|(at, (name, points))| XySeries { series: Series::new(name, at), join: Join::Points, points })
        .collect();
    let chart = Chart::new("roofline", &format!("Roofline of {}", peaks.device), Mark::Xy(Xy { series, references }))
        .with_description("Each point is a kernel, or an op as its shapes have it; the nearer to the line above it, the less there is to win without changing what it does.")
        .with_x(Axis::log(Unit::None).labelled("FLOP per byte of memory traffic").between(low, high))
        .with_y(Axis::log(Unit::None).labelled("GFLOP/s").between(lowest, 2.0 * highest));
    Some(chart)
}

/// The points with the most time that fit on logarithmic axes.
fn points(rows: &[PlacedWork]) -> Vec<Point> {
    let total: i64 = rows.iter().map(|row| row.total_ns).sum();
    let point = |row: &PlacedWork| {
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
    rows.iter().filter_map(point).take(MOST).collect()
}

/// Most compute roofs to draw: the types with the most operations.
const MOST_ROOFS: usize = 3;

/// The peaks of the data types in use, by name, in GFLOP/s.
fn roofs<'r>(rows: impl Iterator<Item = &'r PlacedWork>, peaks: &Peaks) -> Vec<(String, f64)> {
    let mut used: BTreeMap<(DataType, Pipe), f64> = BTreeMap::new();
    for (of, flops) in rows.flat_map(|row| &row.work.flops) {
        *used.entry(*of).or_default() += flops;
    }
    let mut used: Vec<((DataType, Pipe), f64)> = used.into_iter().filter(|(_, flops)| *flops > 0.0).collect();
    used.sort_by(|a, b| b.1.total_cmp(&a.1));
    let roof = |((data_type, pipe), _): ((DataType, Pipe), f64)| {
        let word = if pipe == Pipe::Vector { "vector" } else { "matrix" };
        Some((format!("{data_type} {word}"), peaks.flops(pipe, data_type)? / 1e9))
    };
    used.into_iter().filter_map(roof).take(MOST_ROOFS).collect()
}
