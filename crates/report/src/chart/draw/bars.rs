//! Horizontal bars: labels at the left, numbers at the end.

use super::super::canvas::{Canvas, Lettering};
use super::super::scale::Scaled;
use super::super::{Anchor, Bar, Bars, Chart, Ink, text};
use super::{Area, Plot, SIZE, SMALL, axes};
use crate::{Value, number};

const ROW: f64 = 24.0;
const THICKNESS: f64 = 14.0;
/// Maximum share of the width for labels.
const LABELS: f64 = 0.42;

/// Draws the bars and returns where they end.
pub fn draw(canvas: &mut Canvas, chart: &Chart, bars: &Bars, area: Area) -> f64 {
    let widest = |texts: &mut dyn Iterator<Item = f64>| texts.fold(0.0, f64::max);
    let labels = widest(&mut bars.bars.iter().map(|bar| text::width(&bar.label, SIZE)));
    let labels = labels.min((area.right - area.left) * LABELS);
    let ends: Vec<String> = bars.bars.iter().map(|bar| end_of(chart, bars, bar)).collect();
    let end_room = widest(&mut ends.iter().map(|end| text::width(end, SMALL)));
    let end_room = if end_room > 0.0 { end_room + 8.0 } else { 6.0 };
    let rows = if bars.grouped { bars.series.len().max(1) as f64 * (THICKNESS + 2.0) + 10.0 } else { ROW };
    let plot = Plot {
        left: area.left + labels + 10.0,
        right: area.right - end_room,
        top: area.top,
        bottom: area.top + rows * bars.bars.len() as f64,
    };
    let values = bars.bars.iter().flat_map(|bar| extent(bars, bar)).chain([0.0]);
    let scaled = Scaled::new(&chart.x, values, plot.left, plot.right);
    // Plain bars have their number at the end; only stacked bars need an axis for reading their parts.
    let with_axis = bars.series.len() > 1;
    let scaled = if with_axis { scaled.rounded(axes::ROOM_ALONG) } else { scaled };
    let bottom = if with_axis {
        axes::horizontal(canvas, &chart.x, &scaled, plot, true)
    } else {
        let zero = scaled.place(0.0);
        canvas.line(&[(zero, plot.top), (zero, plot.bottom)], Ink::Axis, 1.0, false);
        plot.bottom + 4.0
    };
    for (row, (bar, end)) in bars.bars.iter().zip(&ends).enumerate() {
        let top = plot.top + rows * row as f64;
        let middle = top + rows / 2.0;
        let label = text::shorten(&bar.label, SIZE, labels);
        canvas.text((plot.left - 10.0, middle + 4.0), &label, Lettering::new(SIZE, Anchor::End, Ink::Text));
        let reached = parts(canvas, bars, bar, &scaled, top + 5.0);
        canvas.text((reached + 7.0, middle + 4.0), end, Lettering::new(SMALL, Anchor::Start, Ink::Muted));
    }
    bottom
}

/// Draws the parts of a bar and returns its right end.
fn parts(canvas: &mut Canvas, bars: &Bars, bar: &Bar, scaled: &Scaled, top: f64) -> f64 {
    let zero = scaled.place(0.0);
    let mut reached = zero;
    let (mut above, mut below) = (0.0, 0.0);
    for (number, (value, series)) in bar.values.iter().zip(&bars.series).enumerate() {
        let Some(value) = value.filter(|v| v.is_finite()) else { continue };
        let sum = if value < 0.0 { &mut below } else { &mut above };
        let base = if bars.grouped { 0.0 } else { *sum };
        *sum = base + value;
        let (from, to) = (scaled.place(base), scaled.place(base + value));
        let y = if bars.grouped { top + number as f64 * (THICKNESS + 2.0) } else { top };
        let (left, width) = (from.min(to), (to - from).abs());
        if width <= 0.0 {
            continue;
        }
        let ink = bar.ink.unwrap_or(series.ink);
        canvas.rect((left, y), (width.max(0.6), THICKNESS), 0.0, ink, &tip_of(bars, bar, number));
        reached = reached.max(left + width);
    }
    reached
}

/// The tooltip of a part.
pub fn tip_of(bars: &Bars, bar: &Bar, series: usize) -> String {
    match bars.series.get(series) {
        _ if !bar.tip.is_empty() && bars.series.len() < 2 => bar.tip.clone(),
        Some(series) if bars.series.len() > 1 && bar.tip.is_empty() => {
            format!("{}\n{}", bar.label, series.name)
        }
        Some(series) if bars.series.len() > 1 => format!("{}: {}", series.name, bar.tip),
        _ => bar.label.clone(),
    }
}

/// Sums of the parts of a bar in both directions, or the parts if they are side by side.
pub fn extent(bars: &Bars, bar: &Bar) -> Vec<f64> {
    let values = bar.values.iter().flatten().copied().filter(|v| v.is_finite());
    if bars.grouped {
        return values.collect();
    }
    let (below, above): (Vec<f64>, Vec<f64>) = values.partition(|v| *v < 0.0);
    vec![above.iter().sum(), below.iter().sum()]
}

fn end_of(chart: &Chart, bars: &Bars, bar: &Bar) -> String {
    match (&bar.values[..], bar.end.is_empty()) {
        (_, false) => bar.end.clone(),
        ([Some(value)], true) if bars.series.len() < 2 => number::show(&Value::Float(*value), chart.x.unit),
        _ => String::new(),
    }
}
