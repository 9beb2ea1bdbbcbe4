//! Counts of intervals along an axis.

use super::super::canvas::Canvas;
use super::super::scale::Scaled;
use super::super::{Chart, Histogram};
use super::{Area, Plot, axes};

const HEIGHT: f64 = 240.0;

/// Draws the histogram and returns where it ends.
pub fn draw(canvas: &mut Canvas, chart: &Chart, histogram: &Histogram, area: Area) -> f64 {
    let (top, bottom) = (area.top + 6.0, area.top + 6.0 + HEIGHT);
    let sums = histogram.bins.iter().map(|bin| bin.values.iter().sum::<f64>());
    let up = Scaled::new(&chart.y, sums.chain([0.0]), bottom, top).rounded(axes::ROOM_UP);
    let left = area.left + axes::width_of(&chart.y, &up.ticks(axes::ROOM_UP));
    let plot = Plot { left, right: area.right, top, bottom };
    axes::vertical(canvas, &chart.y, &up, plot);
    let ends = histogram.bins.iter().flat_map(|bin| [bin.low, bin.high]);
    let along = Scaled::new(&chart.x, ends, plot.left, plot.right);
    for bin in &histogram.bins {
        let (from, to) = (along.place(bin.low), along.place(bin.high));
        let width = (to - from - 1.0).max(0.6);
        canvas.tipped(&bin.tip, |canvas| {
            let mut base = 0.0;
            for (value, series) in bin.values.iter().zip(&histogram.series).filter(|(value, _)| **value > 0.0)
            {
                let (low, high) = (up.place(base), up.place(base + value));
                base += value;
                // One call among a million must still be visible.
                let height = (low - high).max(if base > *value { 0.0 } else { 0.8 });
                canvas.rect((from, low - height), (width, height), 0.0, series.ink, "");
            }
        });
    }
    axes::horizontal(canvas, &chart.x, &along, plot, false)
}
