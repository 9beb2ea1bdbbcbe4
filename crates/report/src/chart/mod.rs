//! Charts: data plus a mark, drawn as shapes once for pages, PDF and images.
//!
//! ```text
//! analysis ──► Chart { title, axes, mark } ──► shapes ─┬► svg(&SvgOptions) ──► html · svg · png · jpeg
//!                                                        └► pdf
//! ```
//!
//! A chart holds numbers in the units of its axes and words; where things go on the canvas, which ticks there are and
//! which labels have room is decided when it is drawn. Colours are [`Ink`]s, so that the same chart is drawn for
//! light and dark pages.
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

/// A picture of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Stable name; the file name of its image.
    pub name: String,
    /// Heading.
    pub title: String,
    /// One sentence on what is seen and how to read it.
    pub description: String,
    /// The horizontal axis; with bars across, that of the values.
    pub x: Axis,
    /// The vertical axis; with bars upwards, that of the values.
    pub y: Axis,
    /// What is drawn.
    pub mark: Mark,
}

impl Chart {
    /// A chart with plain axes.
    pub fn new(name: &str, title: &str, mark: Mark) -> Self {
        let (x, y) = (Axis::default(), Axis::default());
        Self { name: name.into(), title: title.into(), description: String::new(), x, y, mark }
    }

    /// The same with a sentence on what is seen.
    pub fn with_description(self, description: impl Into<String>) -> Self {
        Self { description: description.into(), ..self }
    }

    /// The same with that horizontal axis.
    pub fn with_x(self, x: Axis) -> Self {
        Self { x, ..self }
    }

    /// The same with that vertical axis.
    pub fn with_y(self, y: Axis) -> Self {
        Self { y, ..self }
    }

    /// The chart that the JSON contract holds; none where it is not one.
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

    /// Whether there is nothing to see.
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

/// How an axis runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps.
    #[default]
    Linear,
    /// Equal factors; numbers must be above zero, others are left out.
    Log,
}

/// An axis: what it counts, how it runs, and its ends where data should not decide them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What it shows; empty for none.
    pub label: String,
    /// Unit of its numbers, which decides the words at its ticks.
    pub unit: Unit,
    /// How it runs.
    pub scale: Scale,
    /// Lower end.
    pub min: Option<f64>,
    /// Upper end.
    pub max: Option<f64>,
}

impl Axis {
    /// A linear axis of that unit.
    pub fn of(unit: Unit) -> Self {
        Self { unit, ..Self::default() }
    }

    /// A logarithmic axis of that unit.
    pub fn log(unit: Unit) -> Self {
        Self { unit, scale: Scale::Log, ..Self::default() }
    }

    /// The same with a label.
    pub fn labelled(self, label: &str) -> Self {
        Self { label: label.into(), ..self }
    }

    /// The same between these ends.
    pub fn between(self, min: f64, max: f64) -> Self {
        Self { min: Some(min), max: Some(max), ..self }
    }
}

/// A kind of thing that has one colour in a chart and an entry in its legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its colour.
    pub ink: Ink,
}

impl Series {
    /// A series in the colour of that number.
    pub fn new(name: &str, color: usize) -> Self {
        Self { name: name.into(), ink: Ink::Series(color) }
    }

    /// A series in grey, for what is left.
    pub fn rest(name: &str) -> Self {
        Self { name: name.into(), ink: Ink::Rest }
    }
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// Bars of one or more parts, across or upwards.
    Bars(Bars),
    /// Rows of intervals along a common axis.
    Lanes(Lanes),
    /// Counts of intervals along an axis.
    Histogram(Histogram),
    /// Points and lines.
    Xy(Xy),
    /// From one total to another, step by step.
    Waterfall(Vec<Step>),
    /// Shapes at given places.
    Drawing(Drawing),
    /// A field of cells whose colours are numbers.
    Heat(Heat),
}

/// A field of cells: the darker, the higher its number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heat {
    /// What the rows are, from the top.
    pub rows: Vec<String>,
    /// What the columns are, from the left.
    pub columns: Vec<String>,
    /// Numbers by row and column; absent cells stay blank.
    pub values: Vec<Vec<Option<f64>>>,
    /// Unit of the numbers.
    pub unit: Unit,
    /// What counts as nothing.
    pub low: f64,
    /// What counts as most.
    pub high: f64,
}

/// Bars of one or more parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// What the parts of a bar are; one entry makes plain bars, and no legend.
    pub series: Vec<Series>,
    /// The bars, first on top or at the left.
    pub bars: Vec<Bar>,
    /// Whether bars grow upwards instead of to the right.
    pub upwards: bool,
    /// Whether the parts of a bar stand side by side instead of on each other.
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
    /// What it stands for; shortened when there is no room.
    pub label: String,
    /// A value for each series; absent ones leave a gap.
    pub values: Vec<Option<f64>>,
    /// Words at its end instead of the number.
    pub end: String,
    /// Words for who points at it.
    pub tip: String,
    /// Its colour, where that is not its series'.
    pub ink: Option<Ink>,
}

impl Bar {
    /// A bar with a value for each series.
    pub fn new(label: &str, values: Vec<f64>) -> Self {
        let values = values.into_iter().map(Some).collect();
        Self { label: label.into(), values, ..Self::default() }
    }

    /// The same with words at its end.
    pub fn with_end(self, end: impl Into<String>) -> Self {
        Self { end: end.into(), ..self }
    }

    /// The same with words for who points at it.
    pub fn with_tip(self, tip: impl Into<String>) -> Self {
        Self { tip: tip.into(), ..self }
    }

    /// The same in that colour.
    pub fn with_ink(self, ink: Ink) -> Self {
        Self { ink: Some(ink), ..self }
    }
}

/// Rows of intervals along a common axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lanes {
    /// What the intervals are.
    pub series: Vec<Series>,
    /// The rows, first on top.
    pub lanes: Vec<Lane>,
}

/// One row of intervals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lane {
    /// What the row is of.
    pub label: String,
    /// Its intervals.
    pub spans: Vec<Span>,
}

/// One interval; where many are summed up, part of the row's height.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Start on the axis.
    pub start: f64,
    /// End on the axis.
    pub end: f64,
    /// Number of its series.
    pub series: usize,
    /// Where it begins above the row's foot, as part of the row's height.
    pub base: f64,
    /// How high it is, as part of the row's height.
    pub height: f64,
    /// Words inside it, where there is room.
    pub label: String,
    /// Words for who points at it.
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
    /// What the parts of a column are.
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
    /// A count for each series, on each other.
    pub values: Vec<f64>,
    /// Words for who points at it.
    pub tip: String,
}

/// Points and lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Xy {
    /// The data.
    pub series: Vec<XySeries>,
    /// Lines to compare with, such as roofs.
    pub references: Vec<Reference>,
}

/// How the points of a series are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Join {
    /// Not at all.
    #[default]
    Points,
    /// By straight lines.
    Line,
    /// By steps: a value holds until the next.
    Steps,
    /// By steps, with the area below filled.
    Area,
}

/// Points of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct XySeries {
    /// Name and colour.
    pub series: Series,
    /// How its points are joined.
    pub join: Join,
    /// The points, in order of x where they are joined.
    pub points: Vec<Point>,
}

/// One point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Place on the horizontal axis.
    pub x: f64,
    /// Place on the vertical axis.
    pub y: f64,
    /// Its area relative to others, 0 to 1; all alike when absent.
    pub weight: Option<f64>,
    /// Words beside it, where there is room.
    pub label: String,
    /// Words for who points at it.
    pub tip: String,
}

/// A line to compare with.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Words along it.
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
    /// What it stands for.
    pub label: String,
    /// The change, or the total it comes to.
    pub value: f64,
    /// Whether it is a total, which stands on the axis.
    pub total: bool,
    /// Words for who points at it.
    pub tip: String,
}

/// Shapes at given places, for pictures that are no chart of axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// Width of the canvas that places refer to.
    pub width: f64,
    /// Its height.
    pub height: f64,
    /// What is on it, first at the back.
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
        /// Words for who points at it.
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
    /// Words.
    Words {
        /// Where they start, end or have their middle.
        x: f64,
        /// Their base line.
        y: f64,
        /// The words; shortened to `room` when that is not zero.
        text: String,
        /// Size of the letters.
        size: f64,
        /// Which point of the words stands at `x`.
        anchor: Anchor,
        /// Whether they are heavier.
        bold: bool,
        /// Colour.
        ink: Ink,
        /// Most that they may be wide; 0 for no limit.
        room: f64,
    },
}

/// Which point of a text stands at its place.
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
