//! Charts: data plus a mark, drawn as shapes once for pages, PDF and images.
//!
//! ```text
//! analysis ──► Chart { title, axes, mark } ──► shapes ─┬► svg(&SvgOptions) ──► html · svg · png · jpeg
//!                                                        └► pdf
//! ```
//!
//! A chart holds numbers in the units of its axes, and texts; positions, ticks and visible labels are decided
//! when it is drawn. Colours are [`Ink`]s, so that the same chart can be drawn for light and dark pages.
//!
//! ```
//! use rocm_perf_report::chart::{Axis, Bar, Bars, Chart, Mark, Series, SvgOptions};
//! use rocm_perf_report::Unit;
//!
//! let bars = Bars {
//!     series: vec![Series::new("gemm", 0)],
//!     bars: vec![Bar::new("Cijk_MT128x128", vec![1_500_000.0]).with_tip("1.5 ms in 12 calls")],
//!     ..Bars::across()
//! };
//! let chart = Chart::new("kernel_share", "Kernels by time", Mark::Bars(bars)).with_x(Axis::of(Unit::Ns));
//! assert!(chart.svg(&SvgOptions::default()).starts_with("<svg"));
//! ```

pub(crate) mod canvas;
mod draw;
mod json;
mod read;
mod scale;
mod svg;
pub(crate) mod text;
mod theme;

use crate::Unit;

pub use draw::SvgOptions;
pub(crate) use json::json;
pub(crate) use svg::escape;
pub use theme::{Ink, Theme, page_variables};

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Stable name; the file name of its image.
    pub name: String,
    /// Heading.
    pub title: String,
    /// One sentence on what it shows and how to read it.
    pub description: String,
    /// The horizontal axis; for horizontal bars, that of the values.
    pub x: Axis,
    /// The vertical axis; for vertical bars, that of the values.
    pub y: Axis,
    /// The kind of chart, with its data.
    pub mark: Mark,
}

impl Chart {
    /// A chart with plain axes.
    pub fn new(name: &str, title: &str, mark: Mark) -> Self {
        let (x, y) = (Axis::default(), Axis::default());
        Self { name: name.into(), title: title.into(), description: String::new(), x, y, mark }
    }

    /// Sets the description.
    pub fn with_description(self, description: impl Into<String>) -> Self {
        Self { description: description.into(), ..self }
    }

    /// Sets the horizontal axis.
    pub fn with_x(self, x: Axis) -> Self {
        Self { x, ..self }
    }

    /// Sets the vertical axis.
    pub fn with_y(self, y: Axis) -> Self {
        Self { y, ..self }
    }

    /// The chart in the JSON of the contract; `None` if it is not one.
    pub fn of_json(json: &serde_json::Value) -> Option<Self> {
        read::chart(json)
    }

    /// The chart as one SVG element.
    pub fn svg(&self, options: &SvgOptions) -> String {
        draw::svg(self, options)
    }

    /// The chart as shapes, for writers other than SVG.
    #[cfg(feature = "pdf")]
    pub(crate) fn canvas(&self, options: &SvgOptions) -> canvas::Canvas {
        draw::canvas(self, options)
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        match &self.mark {
            Mark::Bars(bars) => bars.bars.is_empty(),
            Mark::Lanes(lanes) => lanes.lanes.iter().all(|lane| lane.spans.is_empty()),
            Mark::Histogram(histogram) => histogram.bins.is_empty(),
            Mark::Xy(xy) => xy.series.iter().all(|series| series.points.is_empty()),
            Mark::Waterfall(steps) => steps.is_empty(),
            Mark::Drawing(drawing) => drawing.shapes.is_empty(),
            Mark::Heat(heat) => heat.values.iter().flatten().all(Option::is_none),
        }
    }
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Linear.
    #[default]
    Linear,
    /// Logarithmic; numbers must be positive, others are left out.
    Log,
}

/// An axis: its label, unit and scale, and its ends if the data should not decide them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// Its label; may be empty.
    pub label: String,
    /// Unit of its numbers, which decides the tick labels.
    pub unit: Unit,
    /// Its scale.
    pub scale: Scale,
    /// Lower end.
    pub min: Option<f64>,
    /// Upper end.
    pub max: Option<f64>,
}

impl Axis {
    /// A linear axis with this unit.
    pub fn of(unit: Unit) -> Self {
        Self { unit, ..Self::default() }
    }

    /// A logarithmic axis with this unit.
    pub fn log(unit: Unit) -> Self {
        Self { unit, scale: Scale::Log, ..Self::default() }
    }

    /// Sets the label.
    pub fn labelled(self, label: &str) -> Self {
        Self { label: label.into(), ..self }
    }

    /// Sets the ends.
    pub fn between(self, min: f64, max: f64) -> Self {
        Self { min: Some(min), max: Some(max), ..self }
    }
}

/// A category with one colour in a chart and an entry in its legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its colour.
    pub ink: Ink,
}

impl Series {
    /// A series with the colour of this number.
    pub fn new(name: &str, color: usize) -> Self {
        Self { name: name.into(), ink: Ink::Series(color) }
    }

    /// A series in grey, for the rest.
    pub fn rest(name: &str) -> Self {
        Self { name: name.into(), ink: Ink::Rest }
    }
}

/// The kind of chart, with its data.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// Bars of one or more parts, horizontal or vertical.
    Bars(Bars),
    /// Rows of intervals along a common axis.
    Lanes(Lanes),
    /// Counts of intervals along an axis.
    Histogram(Histogram),
    /// Points and lines.
    Xy(Xy),
    /// A waterfall from one total to another, step by step.
    Waterfall(Vec<Step>),
    /// Shapes at given positions.
    Drawing(Drawing),
    /// A grid of cells whose colours show numbers.
    Heat(Heat),
}

/// A grid of cells: the higher the number, the darker the cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heat {
    /// Labels of the rows, from the top.
    pub rows: Vec<String>,
    /// Labels of the columns, from the left.
    pub columns: Vec<String>,
    /// Numbers by row and column; absent cells stay blank.
    pub values: Vec<Vec<Option<f64>>>,
    /// Unit of the numbers.
    pub unit: Unit,
    /// Low end of the colour scale.
    pub low: f64,
    /// High end of the colour scale.
    pub high: f64,
}

/// Bars of one or more parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// The parts of a bar; a single one makes plain bars without a legend.
    pub series: Vec<Series>,
    /// The bars, first on top or at the left.
    pub bars: Vec<Bar>,
    /// Whether bars are vertical.
    pub upwards: bool,
    /// Whether the parts of a bar are side by side instead of stacked.
    pub grouped: bool,
}

impl Bars {
    /// Horizontal bars with room for long labels.
    pub fn across() -> Self {
        Self::default()
    }

    /// Vertical bars.
    pub fn upwards() -> Self {
        Self { upwards: true, ..Self::default() }
    }
}

/// One bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bar {
    /// Its label; shortened if there is no room.
    pub label: String,
    /// A value for each series; absent ones leave a gap.
    pub values: Vec<Option<f64>>,
    /// Text at its end instead of the number.
    pub end: String,
    /// Tooltip.
    pub tip: String,
    /// Its colour, if it is not that of its series.
    pub ink: Option<Ink>,
}

impl Bar {
    /// A bar with a value for each series.
    pub fn new(label: &str, values: Vec<f64>) -> Self {
        let values = values.into_iter().map(Some).collect();
        Self { label: label.into(), values, ..Self::default() }
    }

    /// Sets the text at its end.
    pub fn with_end(self, end: impl Into<String>) -> Self {
        Self { end: end.into(), ..self }
    }

    /// Sets the tooltip.
    pub fn with_tip(self, tip: impl Into<String>) -> Self {
        Self { tip: tip.into(), ..self }
    }

    /// Sets the colour.
    pub fn with_ink(self, ink: Ink) -> Self {
        Self { ink: Some(ink), ..self }
    }
}

/// Rows of intervals along a common axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lanes {
    /// Categories of the intervals.
    pub series: Vec<Series>,
    /// The rows, first on top.
    pub lanes: Vec<Lane>,
}

/// One row of intervals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lane {
    /// Label of the row.
    pub label: String,
    /// Its intervals.
    pub spans: Vec<Span>,
}

/// One interval; in an aggregated row it fills a part of the row's height.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Start on the axis.
    pub start: f64,
    /// End on the axis.
    pub end: f64,
    /// Number of its series.
    pub series: usize,
    /// Its lower edge, as a share of the row's height.
    pub base: f64,
    /// Its height, as a share of the row's height.
    pub height: f64,
    /// Text inside it, if there is room.
    pub label: String,
    /// Tooltip.
    pub tip: String,
}

impl Span {
    /// An interval of the row's full height.
    pub fn new(start: f64, end: f64, series: usize) -> Self {
        Self { start, end, series, base: 0.0, height: 1.0, label: String::new(), tip: String::new() }
    }
}

/// Counts of intervals along an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// The parts of a column.
    pub series: Vec<Series>,
    /// Intervals with their counts, in order.
    pub bins: Vec<Bin>,
}

/// One interval of a histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bin {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// A count for each series, stacked.
    pub values: Vec<f64>,
    /// Tooltip.
    pub tip: String,
}

/// Points and lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Xy {
    /// The data.
    pub series: Vec<XySeries>,
    /// Reference lines, such as roofs.
    pub references: Vec<Reference>,
}

/// How to connect the points of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Join {
    /// Not connected.
    #[default]
    Points,
    /// With straight lines.
    Line,
    /// With steps: a value holds until the next one.
    Steps,
    /// With steps, with the area below filled.
    Area,
}

/// Points of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct XySeries {
    /// Name and colour.
    pub series: Series,
    /// How to connect its points.
    pub join: Join,
    /// The points, in x order if they are connected.
    pub points: Vec<Point>,
}

/// One point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Position on the horizontal axis.
    pub x: f64,
    /// Position on the vertical axis.
    pub y: f64,
    /// Its relative area, 0 to 1; if `None`, all points have the same size.
    pub weight: Option<f64>,
    /// Text next to it, if there is room.
    pub label: String,
    /// Tooltip.
    pub tip: String,
}

/// A reference line.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Text along it.
    pub label: String,
    /// Its corners; parts outside the axes are cut.
    pub points: Vec<(f64, f64)>,
    /// Its colour.
    pub ink: Ink,
    /// Whether it is dashed.
    pub dashed: bool,
}

/// One step of a waterfall.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its label.
    pub label: String,
    /// The change, or the total.
    pub value: f64,
    /// Whether it is a total, which starts at the axis.
    pub total: bool,
    /// Tooltip.
    pub tip: String,
}

/// Shapes at given positions, for pictures without axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// Width of the coordinate system.
    pub width: f64,
    /// Its height.
    pub height: f64,
    /// Its shapes, back to front.
    pub shapes: Vec<Shape>,
}

/// One shape of a drawing.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A filled box.
    Box {
        /// Left edge.
        x: f64,
        /// Upper edge.
        y: f64,
        /// Width.
        width: f64,
        /// Height.
        height: f64,
        /// Radius of its corners.
        radius: f64,
        /// Colour of its area.
        fill: Ink,
        /// Colour of its border.
        border: Option<Ink>,
        /// Tooltip.
        tip: String,
    },
    /// A line through points.
    Line {
        /// Its corners.
        points: Vec<(f64, f64)>,
        /// Colour.
        ink: Ink,
        /// Thickness.
        thickness: f64,
        /// Whether it is dashed.
        dashed: bool,
        /// Whether it ends in an arrow head.
        arrow: bool,
    },
    /// Text.
    Words {
        /// Position of the anchor.
        x: f64,
        /// The baseline.
        y: f64,
        /// The text; shortened to `room` unless that is zero.
        text: String,
        /// Size of the letters.
        size: f64,
        /// Which point of the text is at `x`.
        anchor: Anchor,
        /// Whether it is bold.
        bold: bool,
        /// Colour.
        ink: Ink,
        /// Maximum width; 0 for no limit.
        room: f64,
    },
}

/// Which point of a text is at its position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anchor {
    /// Its start.
    #[default]
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}
