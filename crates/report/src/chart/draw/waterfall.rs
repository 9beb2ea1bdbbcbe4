//! From one total to another, step by step: rows with floating bars.

use super::super::canvas::{Canvas, Lettering};
use super::super::scale::Scaled;
use super::super::{Anchor, Chart, Ink, Step, text};
use super::{Area, Plot, SIZE, SMALL};
use crate::{Value, number};

const ROW: f64 = 26.0;
const THICKNESS: f64 = 16.0;
const LABELS: f64 = 0.42;
/// If totals differ little, the axis starts near the lower one, so that the steps are visible.
const CLOSE: f64 = 0.35;

/// Draws the waterfall and returns where it ends.
pub fn draw(canvas: &mut Canvas, chart: &Chart, steps: &[Step], area: Area) -> f64 {
    let spans = spans(steps);
    let widest = steps.iter().map(|step| text::width(&step.label, SIZE)).fold(0.0, f64::max);
    let labels = widest.min((area.right - area.left) * LABELS);
    let ends: Vec<String> = steps.iter().map(|step| end_of(chart, step)).collect();
    let end_room = ends.iter().map(|end| text::width(end, SMALL)).fold(0.0, f64::max) + 10.0;
    let plot = Plot {
        left: area.left + labels + 10.0,
        right: area.right - end_room,
        top: area.top,
        bottom: area.top + ROW * steps.len() as f64,
    };
    let edges = || spans.iter().flat_map(|&(from, to)| [from, to]).filter(|edge| *edge != 0.0);
    let (low, high) = (edges().fold(f64::INFINITY, f64::min), edges().fold(f64::NEG_INFINITY, f64::max));
    let broken = low > 0.0 && (high - low) < CLOSE * high;
    let start = if broken { (low - (high - low) * 0.25).max(0.0) } else { low.min(0.0) };
    let axis = super::super::Axis { min: chart.x.min.or(Some(start)), ..chart.x.clone() };
    let scaled = Scaled::new(&axis, edges(), plot.left, plot.right);
    for (row, ((step, &(from, to)), end)) in steps.iter().zip(&spans).zip(&ends).enumerate() {
        let top = plot.top + ROW * row as f64 + 5.0;
        let label = text::shorten(&step.label, SIZE, labels);
        let style = Lettering::new(SIZE, Anchor::End, Ink::Text);
        let style = if step.total { style.bold() } else { style };
        canvas.text((plot.left - 10.0, top + 12.0), &label, style);
        let ink = match step.total {
            true => Ink::Rest,
            false if step.value > 0.0 => Ink::Bad,
            false => Ink::Good,
        };
        let (left, right) = (scaled.place(from.min(to)), scaled.place(from.max(to)));
        let tip = if step.tip.is_empty() { format!("{}: {end}", step.label) } else { step.tip.clone() };
        canvas.rect((left, top), ((right - left).max(1.0), THICKNESS), 0.0, ink, &tip);
        if row + 1 < steps.len() {
            let x = scaled.place(to);
            canvas.line(&[(x, top + THICKNESS), (x, top + ROW)], Ink::Axis, 1.0, false);
        }
        canvas.text((right + 7.0, top + 12.0), end, Lettering::new(SMALL, Anchor::Start, Ink::Muted));
    }
    if !broken {
        canvas.line(&[(plot.left, plot.top), (plot.left, plot.bottom)], Ink::Axis, 1.0, false);
        return plot.bottom + 4.0;
    }
    let note = format!("bars begin at {}", number::show(&Value::Float(scaled.low), chart.x.unit));
    let style = Lettering::new(SMALL, Anchor::Start, Ink::Muted);
    canvas.text((plot.left, plot.bottom + 14.0), &note, style);
    plot.bottom + 18.0
}

/// (from, to) of each step: totals start at zero, changes at the previous level.
fn spans(steps: &[Step]) -> Vec<(f64, f64)> {
    let mut level = 0.0;
    let mut spans = Vec::with_capacity(steps.len());
    for step in steps {
        let from = if step.total { 0.0 } else { level };
        level = from + if step.value.is_finite() { step.value } else { 0.0 };
        spans.push((from, level));
    }
    spans
}

fn end_of(chart: &Chart, step: &Step) -> String {
    let shown = number::show(&Value::Float(step.value), chart.x.unit);
    if !step.total && step.value > 0.0 { format!("+{shown}") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_stand_on_each_other() {
        let step = |value, total| Step { label: String::new(), value, total, tip: String::new() };
        let steps = [step(100.0, true), step(20.0, false), step(-50.0, false), step(70.0, true)];
        assert_eq!(spans(&steps), [(0.0, 100.0), (100.0, 120.0), (120.0, 70.0), (0.0, 70.0)]);
    }
}
