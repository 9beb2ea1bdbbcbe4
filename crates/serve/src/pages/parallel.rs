//! Parallel coordinates: every configuration of a search as a line across its parameters to its result.

use std::collections::BTreeMap;

use report::chart::{Anchor, Chart, Drawing, Ink, Mark, Shape};
use report::{Value, show};
use serde_json::Value as Json;

use super::parts::plain;
use super::views::ParallelOf;
use crate::documents::Rows;

const WIDTH: f64 = 1080.0;
const HEIGHT: f64 = 320.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 290.0;
const SIDE: f64 = 70.0;
/// Most lines that are drawn: the best.
const MOST_LINES: usize = 300;
/// Ticks of an axis.
const MOST_TICKS: usize = 9;

/// A configuration.
struct Line {
    parameters: BTreeMap<String, Json>,
    result: f64,
}

/// An axis: the places of its values.
struct Axis {
    name: String,
    ticks: Vec<(String, f64)>,
}

impl Axis {
    /// An axis of a parameter: numbers ascending, words sorted, evenly spaced.
    fn of(name: &str, lines: &[Line]) -> Self {
        let mut values: Vec<&Json> = lines.iter().filter_map(|line| line.parameters.get(name)).collect();
        values.sort_by(|a, b| match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => a.to_string().cmp(&b.to_string()),
        });
        values.dedup();
        let steps = values.len().saturating_sub(1).max(1) as f64;
        let place = |at: usize| BOTTOM - (BOTTOM - TOP) * at as f64 / steps;
        let ticks = values.iter().enumerate().map(|(at, value)| (words(value), place(at))).collect();
        Self { name: name.to_string(), ticks }
    }

    fn place(&self, value: &Json) -> Option<f64> {
        let words = words(value);
        self.ticks.iter().find(|(tick, _)| *tick == words).map(|(_, y)| *y)
    }
}

fn words(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// The chart, if rows have parameters and results.
pub fn chart(rows: &Rows, of: &ParallelOf) -> Option<Chart> {
    let parameters = rows.column(&of.parameters)?;
    let result = of.values.iter().find_map(|key| rows.column(key))?;
    let unit = rows.columns[result].unit;
    let line = |row: usize| {
        let Value::Json(Json::Object(object)) = rows.value(row, parameters) else { return None };
        Some(Line { parameters: object.into_iter().collect(), result: rows.number(row, result)? })
    };
    let mut lines: Vec<Line> = (0..rows.len()).filter_map(line).collect();
    lines.sort_by(|a, b| a.result.total_cmp(&b.result));
    lines.truncate(MOST_LINES);
    let names: Vec<&String> = lines.first()?.parameters.keys().collect();
    let axes: Vec<Axis> = names.iter().map(|name| Axis::of(name, &lines)).collect();
    let (low, high) = (lines.first()?.result, lines.last()?.result);
    let x = |at: usize| SIDE + (WIDTH - 2.0 * SIDE) * at as f64 / axes.len() as f64;
    let result_y =
        |value: f64| BOTTOM - (BOTTOM - TOP) * if high > low { (value - low) / (high - low) } else { 0.5 };
    let mut shapes = Vec::new();
    // The best is drawn last, above the others.
    for (at, line) in lines.iter().enumerate().rev() {
        let mut points: Vec<(f64, f64)> = axes
            .iter()
            .enumerate()
            .filter_map(|(at, axis)| Some((x(at), axis.place(line.parameters.get(&axis.name)?)?)))
            .collect();
        points.push((x(axes.len()), result_y(line.result)));
        let (ink, thickness) = match at {
            0 => (Ink::Good, 3.0),
            _ if at * 10 < lines.len() => (Ink::Series(0), 1.5),
            _ => (Ink::Grid, 1.0),
        };
        shapes.push(Shape::Line { points, ink, thickness, dashed: false, arrow: false });
    }
    let ends = [(show(&Value::Float(low), unit), BOTTOM), (show(&Value::Float(high), unit), TOP)];
    let last = Axis { name: rows.columns[result].heading(), ticks: ends.to_vec() };
    for (at, axis) in axes.iter().chain([&last]).enumerate() {
        draw_axis(&mut shapes, axis, x(at));
    }
    let drawing = Drawing { width: WIDTH, height: HEIGHT, shapes };
    let chart = Chart::new("parallel_coordinates", "Configurations", Mark::Drawing(drawing)).with_description(
        "Each line is a configuration, from its parameters to its result at the right. The best is green, the best tenth blue.",
    );
    Some(chart)
}

fn draw_axis(shapes: &mut Vec<Shape>, axis: &Axis, x: f64) {
    shapes.push(Shape::Line {
        points: vec![(x, TOP), (x, BOTTOM)],
        ink: Ink::Axis,
        thickness: 1.0,
        dashed: false,
        arrow: false,
    });
    let text = |y: f64, text: String, anchor: Anchor, bold: bool, ink: Ink, x: f64| Shape::Words {
        x,
        y,
        text: plain(&text),
        size: 12.0,
        anchor,
        bold,
        ink,
        room: 120.0,
    };
    shapes.push(text(TOP - 18.0, axis.name.replace('_', " "), Anchor::Middle, true, Ink::Text, x));
    let every = axis.ticks.len().div_ceil(MOST_TICKS).max(1);
    for (words, y) in axis.ticks.iter().step_by(every) {
        shapes.push(text(*y - 6.0, words.clone(), Anchor::Start, false, Ink::Muted, x + 6.0));
    }
}
