//! Axes: grid lines, ticks with labels, and axis labels.

use super::super::canvas::{Canvas, Lettering};
use super::super::scale::{Scaled, Tick};
use super::super::{Anchor, Axis, Ink, text};
use super::{Plot, SMALL};

/// Least distance between the ticks of a vertical axis.
pub const ROOM_UP: f64 = 44.0;
/// Least distance along a horizontal axis, before the label widths are known.
pub const ROOM_ALONG: f64 = 84.0;

/// Width of a vertical axis, left of its plot.
pub fn width_of(axis: &Axis, ticks: &[Tick]) -> f64 {
    let words = ticks.iter().map(|tick| text::width(&tick.label, SMALL)).fold(0.0, f64::max);
    words + 10.0 + if axis.label.is_empty() { 0.0 } else { 18.0 }
}

/// Draws the grid and the labels of a vertical axis.
pub fn vertical(canvas: &mut Canvas, axis: &Axis, scaled: &Scaled, plot: Plot) {
    for tick in scaled.ticks(ROOM_UP) {
        let y = scaled.place(tick.value);
        canvas.line(&[(plot.left, y), (plot.right, y)], Ink::Grid, 1.0, false);
        let style = Lettering::new(SMALL, Anchor::End, Ink::Muted);
        canvas.text((plot.left - 8.0, y + 4.0), &tick.label, style);
    }
    if !axis.label.is_empty() {
        let words = scaled.ticks(ROOM_UP);
        let x = plot.left - width_of(axis, &words) + 10.0;
        let style = Lettering { turned: -90.0, ..Lettering::new(SMALL, Anchor::Middle, Ink::Muted) };
        let label = text::shorten(&axis.label, SMALL, plot.bottom - plot.top);
        canvas.text((x, (plot.top + plot.bottom) / 2.0), &label, style);
    }
}

/// The ticks of a horizontal axis, spaced so that their labels do not touch.
pub fn ticks_along(scaled: &Scaled) -> Vec<Tick> {
    let ticks = scaled.ticks(ROOM_ALONG);
    let widest = ticks.iter().map(|tick| text::width(&tick.label, SMALL)).fold(0.0, f64::max);
    if widest + 14.0 > ROOM_ALONG { scaled.ticks(widest + 14.0) } else { ticks }
}

/// Draws the grid and the labels of a horizontal axis; returns where they end.
pub fn horizontal(canvas: &mut Canvas, axis: &Axis, scaled: &Scaled, plot: Plot, grid: bool) -> f64 {
    let mut free_from = f64::NEG_INFINITY;
    for tick in ticks_along(scaled) {
        let x = scaled.place(tick.value);
        if grid {
            canvas.line(&[(x, plot.top), (x, plot.bottom)], Ink::Grid, 1.0, false);
        } else {
            canvas.line(&[(x, plot.bottom), (x, plot.bottom + 4.0)], Ink::Axis, 1.0, false);
        }
        let width = text::width(&tick.label, SMALL);
        // The last label must stay inside the picture, and labels must not touch.
        let middle = x.min(plot.right - width / 2.0 + 6.0).max(plot.left + width / 2.0 - 6.0);
        if middle - width / 2.0 > free_from {
            let style = Lettering::new(SMALL, Anchor::Middle, Ink::Muted);
            canvas.text((middle, plot.bottom + 17.0), &tick.label, style);
            free_from = middle + width / 2.0 + 4.0;
        }
    }
    canvas.line(&[(plot.left, plot.bottom), (plot.right, plot.bottom)], Ink::Axis, 1.0, false);
    if axis.label.is_empty() {
        return plot.bottom + 22.0;
    }
    let label = text::shorten(&axis.label, SMALL, plot.right - plot.left);
    let style = Lettering::new(SMALL, Anchor::Middle, Ink::Muted);
    canvas.text(((plot.left + plot.right) / 2.0, plot.bottom + 35.0), &label, style);
    plot.bottom + 40.0
}
