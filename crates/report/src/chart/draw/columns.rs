//! Vertical bars.

use super::super::canvas::{Canvas, Lettering};
use super::super::scale::Scaled;
use super::super::{Anchor, Bars, Chart, Ink, text};
use super::{Area, Plot, SMALL, axes, bars::extent, bars::tip_of};

const HEIGHT: f64 = 260.0;
/// Labels wider than their column are rotated by this many degrees.
const TURN: f64 = -35.0;

/// Draws the columns and returns where they end.
pub fn draw(canvas: &mut Canvas, chart: &Chart, bars: &Bars, area: Area) -> f64 {
    let (top, bottom) = (area.top + 6.0, area.top + 6.0 + HEIGHT);
    let values = bars.bars.iter().flat_map(|bar| extent(bars, bar)).chain([0.0]);
    let scaled = Scaled::new(&chart.y, values, bottom, top).rounded(axes::ROOM_UP);
    let left = area.left + axes::width_of(&chart.y, &scaled.ticks(axes::ROOM_UP));
    let plot = Plot { left, right: area.right, top, bottom };
    axes::vertical(canvas, &chart.y, &scaled, plot);
    let band = (plot.right - plot.left) / bars.bars.len() as f64;
    let zero = scaled.place(0.0);
    for (place, bar) in bars.bars.iter().enumerate() {
        let thickness = (band * 0.7).min(48.0);
        let start = plot.left + band * (place as f64 + 0.5) - thickness / 2.0;
        let (mut above, mut below) = (0.0, 0.0);
        for (number, (value, series)) in bar.values.iter().zip(&bars.series).enumerate() {
            let Some(value) = value.filter(|v| v.is_finite()) else { continue };
            let sum = if value < 0.0 { &mut below } else { &mut above };
            let base = if bars.grouped { 0.0 } else { *sum };
            *sum = base + value;
            let (from, to) = (scaled.place(base), scaled.place(base + value));
            let share = if bars.grouped { thickness / bars.series.len() as f64 } else { thickness };
            let x = if bars.grouped { start + share * number as f64 } else { start };
            let ink = bar.ink.unwrap_or(series.ink);
            let height = (to - from).abs();
            if height > 0.0 {
                canvas.rect((x, from.min(to)), (share, height), 0.0, ink, &tip_of(bars, bar, number));
            }
        }
    }
    canvas.line(&[(plot.left, zero), (plot.right, zero)], Ink::Axis, 1.0, false);
    let bottom = names(canvas, bars, plot, band);
    if chart.x.label.is_empty() {
        return bottom;
    }
    let style = Lettering::new(SMALL, Anchor::Middle, Ink::Muted);
    canvas.text(((plot.left + plot.right) / 2.0, bottom + 14.0), &chart.x.label, style);
    bottom + 20.0
}

/// The labels below; rotated if they are wider than their column, left out if even that is too narrow.
fn names(canvas: &mut Canvas, bars: &Bars, plot: Plot, band: f64) -> f64 {
    let widest = bars.bars.iter().map(|bar| text::width(&bar.label, SMALL)).fold(0.0, f64::max);
    let every = (16.0 / band).ceil().max(1.0) as usize;
    let mut bottom = plot.bottom + 22.0;
    for (place, bar) in bars.bars.iter().enumerate().filter(|(place, _)| place % every == 0) {
        let x = plot.left + band * (place as f64 + 0.5);
        if widest <= band - 6.0 {
            let style = Lettering::new(SMALL, Anchor::Middle, Ink::Text);
            canvas.text((x, plot.bottom + 16.0), &bar.label, style);
            continue;
        }
        let room = (x - plot.left + 60.0).min(150.0);
        let label = text::shorten(&bar.label, SMALL, room);
        let style = Lettering { turned: TURN, ..Lettering::new(SMALL, Anchor::End, Ink::Text) };
        canvas.text((x + 4.0, plot.bottom + 14.0), &label, style);
        let depth = text::width(&label, SMALL) * (-TURN).to_radians().sin();
        bottom = bottom.max(plot.bottom + 20.0 + depth);
    }
    bottom
}
