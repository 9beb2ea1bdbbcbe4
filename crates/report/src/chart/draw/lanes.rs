//! Rows of intervals along a common axis.

use super::super::canvas::{Canvas, Lettering};
use super::super::scale::Scaled;
use super::super::{Anchor, Chart, Ink, Lane, Lanes, text};
use super::{Area, Plot, SIZE, SMALL, axes};

const LABELS: f64 = 0.22;
/// Narrower intervals are drawn this wide, so that they stay visible.
const THINNEST: f64 = 0.6;

/// Draws the lanes and returns where they end.
pub fn draw(canvas: &mut Canvas, chart: &Chart, lanes: &Lanes, area: Area) -> f64 {
    let row = match lanes.lanes.len() {
        0..=1 => 72.0,
        2..=4 => 48.0,
        5..=8 => 36.0,
        _ => 26.0,
    };
    let widest = lanes.lanes.iter().map(|lane| text::width(&lane.label, SIZE)).fold(0.0, f64::max);
    let labels = widest.min((area.right - area.left) * LABELS);
    let plot = Plot {
        left: area.left + labels + 10.0,
        right: area.right,
        top: area.top,
        bottom: area.top + row * lanes.lanes.len() as f64,
    };
    let ends = lanes.lanes.iter().flat_map(|lane| &lane.spans).flat_map(|span| [span.start, span.end]);
    let scaled = Scaled::new(&chart.x, ends, plot.left, plot.right);
    let bottom = axes::horizontal(canvas, &chart.x, &scaled, plot, true);
    for (number, lane) in lanes.lanes.iter().enumerate() {
        let top = plot.top + row * number as f64 + 3.0;
        let label = text::shorten(&lane.label, SIZE, labels);
        let style = Lettering::new(SIZE, Anchor::End, Ink::Text);
        canvas.text((plot.left - 10.0, top + row / 2.0 + 1.0), &label, style);
        canvas.rect((plot.left, top), (plot.right - plot.left, row - 6.0), 0.0, Ink::Raised, "");
        spans(canvas, lanes, lane, &scaled, (top, row - 6.0));
    }
    bottom
}

fn spans(canvas: &mut Canvas, lanes: &Lanes, lane: &Lane, scaled: &Scaled, (top, height): (f64, f64)) {
    for span in &lane.spans {
        let Some(series) = lanes.series.get(span.series) else { continue };
        let (from, to) = (scaled.place(span.start), scaled.place(span.end));
        let width = (to - from).max(THINNEST);
        let high = height * span.height.clamp(0.0, 1.0);
        let y = top + height * (1.0 - span.base.clamp(0.0, 1.0)) - high;
        canvas.rect((from, y), (width, high), 0.0, series.ink, &span.tip);
        if !span.label.is_empty() && width > 30.0 && high > 14.0 {
            let label = text::shorten(&span.label, SMALL, width - 8.0);
            if label.chars().count() > 3 {
                let style = Lettering::new(SMALL, Anchor::Start, Ink::Surface);
                canvas.text((from + 4.0, y + high / 2.0 + 4.0), &label, style);
            }
        }
    }
}
