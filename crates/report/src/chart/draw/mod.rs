//! Drawing: one file per mark; titles, legends and axes are shared.

mod axes;
mod bars;
mod columns;
mod drawing;
mod heat;
mod histogram;
mod labels;
mod lanes;
mod waterfall;
mod xy;

use super::canvas::{Canvas, Lettering};
use super::{Anchor, Chart, Ink, Mark, Series, Theme, text};

/// How to draw.
#[derive(Clone, Copy, Debug)]
pub struct SvgOptions {
    /// The page to draw for.
    pub theme: Theme,
    /// Width of the picture; its height follows from the data.
    pub width: f64,
    /// Whether to include the title and the description, for standalone files.
    pub heading: bool,
}

impl Default for SvgOptions {
    fn default() -> Self {
        Self { theme: Theme::Light, width: 880.0, heading: true }
    }
}

const MARGIN: f64 = 16.0;
/// Text sizes of labels, ticks and legends.
const SIZE: f64 = 12.0;
const SMALL: f64 = 11.0;
/// Minimum width of a chart.
const NARROWEST: f64 = 320.0;

/// The part of the canvas for a mark: between these edges, from `top` down.
#[derive(Clone, Copy, Debug)]
struct Area {
    left: f64,
    right: f64,
    top: f64,
}

/// A box on the canvas in which data is drawn.
#[derive(Clone, Copy, Debug)]
struct Plot {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// The chart as one SVG element.
pub fn svg(chart: &Chart, options: &SvgOptions) -> String {
    let canvas = canvas(chart, options);
    super::svg::svg(&canvas, options.theme, &chart.name, &chart.title, &chart.description)
}

/// The chart as shapes.
pub fn canvas(chart: &Chart, options: &SvgOptions) -> Canvas {
    let width = options.width.max(NARROWEST);
    let mut canvas = Canvas::default();
    let edge = if options.heading { MARGIN } else { 1.0 };
    let mut area = Area { left: edge, right: width - edge, top: edge };
    if options.heading {
        area.top = heading(&mut canvas, chart, area);
    }
    let series: Vec<&Series> = legend_of(&chart.mark);
    if !series.is_empty() {
        area.top = legend(&mut canvas, &series, area);
    }
    let bottom = match &chart.mark {
        _ if chart.is_empty() => empty(&mut canvas, area),
        Mark::Bars(bars) if bars.upwards => columns::draw(&mut canvas, chart, bars, area),
        Mark::Bars(bars) => bars::draw(&mut canvas, chart, bars, area),
        Mark::Lanes(lanes) => lanes::draw(&mut canvas, chart, lanes, area),
        Mark::Histogram(histogram) => histogram::draw(&mut canvas, chart, histogram, area),
        Mark::Xy(xy) => xy::draw(&mut canvas, chart, xy, area),
        Mark::Waterfall(steps) => waterfall::draw(&mut canvas, chart, steps, area),
        Mark::Drawing(drawing) => drawing::draw(&mut canvas, drawing, area),
        Mark::Heat(heat) => heat::draw(&mut canvas, chart, heat, area),
    };
    canvas.width = width;
    canvas.height = bottom + edge;
    canvas
}

/// Draws title and description; returns where they end.
fn heading(canvas: &mut Canvas, chart: &Chart, area: Area) -> f64 {
    let mut y = area.top + 14.0;
    let room = area.right - area.left;
    let title = text::shorten(&chart.title, 16.0, room);
    canvas.text((area.left, y), &title, Lettering::new(16.0, Anchor::Start, Ink::Text).bold());
    for line in labels::wrap(&chart.description, SIZE, room) {
        y += 18.0;
        canvas.text((area.left, y), &line, Lettering::new(SIZE, Anchor::Start, Ink::Muted));
    }
    y + 18.0
}

/// The series of a mark that need a legend.
fn legend_of(mark: &Mark) -> Vec<&Series> {
    let series: Vec<&Series> = match mark {
        Mark::Bars(bars) => bars.series.iter().collect(),
        Mark::Lanes(lanes) => return lanes.series.iter().collect(),
        Mark::Histogram(histogram) => histogram.series.iter().collect(),
        Mark::Xy(xy) => xy.series.iter().map(|xy| &xy.series).collect(),
        Mark::Waterfall(_) | Mark::Drawing(_) | Mark::Heat(_) => Vec::new(),
    };
    if series.len() > 1 { series } else { Vec::new() }
}

/// Draws swatches with names, in as many lines as needed; returns where they end.
fn legend(canvas: &mut Canvas, series: &[&Series], area: Area) -> f64 {
    let (mut x, mut y) = (area.left, area.top);
    for series in series {
        let name = text::shorten(&series.name, SIZE, 220.0);
        let width = 16.0 + text::width(&name, SIZE);
        if x + width > area.right && x > area.left {
            (x, y) = (area.left, y + 20.0);
        }
        canvas.rect((x, y + 1.0), (10.0, 10.0), 2.0, series.ink, "");
        canvas.text((x + 16.0, y + 10.5), &name, Lettering::new(SIZE, Anchor::Start, Ink::Text));
        x += width + 20.0;
    }
    y + 26.0
}

fn empty(canvas: &mut Canvas, area: Area) -> f64 {
    canvas.text(
        (area.left, area.top + 14.0),
        "nothing to show",
        Lettering::new(SIZE, Anchor::Start, Ink::Muted),
    );
    area.top + 24.0
}
