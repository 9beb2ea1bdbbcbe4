//! Shapes at given positions, scaled to the available width.

use super::super::canvas::{Canvas, Lettering};
use super::super::{Drawing, Ink, Shape, text};
use super::Area;

/// Draws the shapes and returns where they end.
pub fn draw(canvas: &mut Canvas, drawing: &Drawing, area: Area) -> f64 {
    let by = (area.right - area.left) / drawing.width.max(1.0);
    let at = |x: f64, y: f64| (area.left + x * by, area.top + y * by);
    for shape in &drawing.shapes {
        match shape {
            Shape::Box { x, y, width, height, radius, fill, border, tip } => {
                let (place, size) = (at(*x, *y), (width * by, height * by));
                canvas.rect(place, size, radius * by, *fill, tip);
                if let Some(ink) = border {
                    canvas.border(place, size, radius * by, *ink);
                }
            }
            Shape::Line { points, ink, thickness, dashed, arrow } => {
                let places: Vec<(f64, f64)> = points.iter().map(|&(x, y)| at(x, y)).collect();
                canvas.line(&places, *ink, thickness * by, *dashed);
                if let (true, [.., before, last]) = (*arrow, &places[..]) {
                    head(canvas, *before, *last, *ink, (4.0 + 2.0 * thickness) * by);
                }
            }
            Shape::Words { x, y, text: words, size, anchor, bold, ink, room } => {
                let shown = if *room > 0.0 { text::shorten(words, *size, *room) } else { words.clone() };
                let style = Lettering { bold: *bold, ..Lettering::new(size * by, *anchor, *ink) };
                canvas.text(at(*x, *y), &shown, style);
            }
        }
    }
    area.top + drawing.height * by
}

/// The head of an arrow from `before` to `last`.
fn head(canvas: &mut Canvas, before: (f64, f64), last: (f64, f64), ink: Ink, size: f64) {
    let (dx, dy) = (last.0 - before.0, last.1 - before.1);
    let length = dx.hypot(dy);
    if length <= 0.0 {
        return;
    }
    let (ux, uy) = (dx / length * size, dy / length * size);
    let foot = (last.0 - ux, last.1 - uy);
    let sides = [(foot.0 - uy / 2.0, foot.1 + ux / 2.0), (foot.0 + uy / 2.0, foot.1 - ux / 2.0)];
    canvas.area(&[last, sides[0], sides[1]], ink, 1.0);
}
