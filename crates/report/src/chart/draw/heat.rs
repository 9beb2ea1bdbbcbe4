//! A grid of cells whose colours show numbers.

use super::super::canvas::{Canvas, Lettering};
use super::super::{Anchor, Chart, Heat, Ink, text};
use super::{Area, SIZE, SMALL};
use crate::{Value, show};

/// Share of the width for row labels.
const LABELS: f64 = 0.2;
/// Height of the whole grid, unless rows need less.
const HEIGHT: f64 = 560.0;
const TALLEST_ROW: f64 = 22.0;
/// Rows below this height have no label.
const LABELLED_ROW: f64 = 12.0;

/// Draws the grid and returns where it ends.
pub fn draw(canvas: &mut Canvas, chart: &Chart, heat: &Heat, area: Area) -> f64 {
    let top = scale(canvas, heat, area);
    let widest = heat.rows.iter().map(|row| text::width(row, SIZE)).fold(0.0, f64::max);
    let labels = widest.min((area.right - area.left) * LABELS);
    let left = area.left + labels + 10.0;
    let row_height = (HEIGHT / heat.rows.len().max(1) as f64).min(TALLEST_ROW);
    let width = (area.right - left) / heat.columns.len().max(1) as f64;
    let every = (LABELLED_ROW / row_height).ceil().max(1.0) as usize;
    for (row, values) in heat.values.iter().enumerate() {
        let y = top + row_height * row as f64;
        let name = heat.rows.get(row).map_or("", String::as_str);
        if row % every == 0 {
            let label = text::shorten(name, SIZE, labels);
            let style = Lettering::new(SIZE.min(row_height * every as f64), Anchor::End, Ink::Text);
            canvas.text((left - 10.0, y + row_height / 2.0 + 4.0), &label, style);
        }
        let gap = if row_height > 6.0 { 1.0 } else { 0.0 };
        for (column, value) in values.iter().enumerate() {
            let Some(value) = value else { continue };
            let shown = show(&Value::Float(*value), heat.unit);
            let of = heat.columns.get(column).map_or("", String::as_str);
            let place = (left + width * column as f64, y);
            let size = ((width - gap).max(0.4), (row_height - gap).max(0.4));
            canvas.rect(place, size, 0.0, Ink::Heat(level(heat, *value)), &format!("{name}, {of}: {shown}"));
        }
    }
    let bottom = top + row_height * heat.values.len() as f64 + 16.0;
    column_labels(canvas, heat, left, width, bottom);
    let words = Lettering::new(SMALL, Anchor::Middle, Ink::Muted);
    canvas.text(((left + area.right) / 2.0, bottom + 16.0), &chart.x.label, words);
    bottom + 22.0
}

/// Draws as many column labels as fit.
fn column_labels(canvas: &mut Canvas, heat: &Heat, left: f64, width: f64, y: f64) {
    let widest = heat.columns.iter().map(|column| text::width(column, SMALL)).fold(8.0, f64::max) + 8.0;
    let every = (widest / width.max(0.1)).ceil().max(1.0) as usize;
    for (column, label) in heat.columns.iter().enumerate().step_by(every) {
        let x = left + width * (column as f64 + 0.5);
        canvas.text((x, y), label, Lettering::new(SMALL, Anchor::Middle, Ink::Muted));
    }
}

/// Draws the colour scale with its ends; returns where the grid begins.
fn scale(canvas: &mut Canvas, heat: &Heat, area: Area) -> f64 {
    let style = Lettering::new(SMALL, Anchor::Start, Ink::Muted);
    let low = show(&Value::Float(heat.low), heat.unit);
    canvas.text((area.left, area.top + 10.0), &low, style);
    let mut x = area.left + text::width(&low, SMALL) + 6.0;
    for level in 0..Ink::HEAT {
        canvas.rect((x, area.top + 1.0), (18.0, 10.0), 0.0, Ink::Heat(level), "");
        x += 18.0;
    }
    canvas.text((x + 6.0, area.top + 10.0), &show(&Value::Float(heat.high), heat.unit), style);
    area.top + 22.0
}

fn level(heat: &Heat, value: f64) -> usize {
    let share = (value - heat.low) / (heat.high - heat.low);
    if share.is_nan() { 0 } else { (share.clamp(0.0, 0.999) * Ink::HEAT as f64) as usize }
}
