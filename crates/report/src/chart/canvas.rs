//! The shapes of charts at their positions, drawn by `svg.rs` and by the PDF writer.

use super::{Anchor, Ink};

/// A shape; positions and sizes are in pixels, y points down.
pub enum Shape {
    Rect {
        place: (f64, f64),
        size: (f64, f64),
        radius: f64,
        fill: Ink,
        tip: String,
    },
    /// The border of a box.
    Border {
        place: (f64, f64),
        size: (f64, f64),
        radius: f64,
        ink: Ink,
    },
    /// A slightly transparent disc, with an edge in the colour of the page.
    Circle {
        place: (f64, f64),
        radius: f64,
        fill: Ink,
        tip: String,
    },
    /// A line through points.
    Line {
        points: Vec<(f64, f64)>,
        ink: Ink,
        thickness: f64,
        dashed: bool,
    },
    /// A filled area with these corners.
    Area {
        points: Vec<(f64, f64)>,
        ink: Ink,
        opacity: f64,
    },
    Text {
        place: (f64, f64),
        text: String,
        style: Lettering,
    },
    /// Shapes that are clipped to a box.
    Clipped {
        place: (f64, f64),
        size: (f64, f64),
        shapes: Vec<Shape>,
    },
    /// Shapes that share one tooltip.
    Tipped {
        tip: String,
        shapes: Vec<Shape>,
    },
}

/// Opacity of a disc.
pub const DISC_OPACITY: f64 = 0.8;

/// Width of the halo around a text, in pixels.
pub const HALO: f64 = 3.0;

/// Lengths of the strokes and gaps of a dashed line.
pub const DASHES: (f64, f64) = (4.0, 3.0);

/// A chart under construction; finished once its size is known.
#[derive(Default)]
pub struct Canvas {
    pub shapes: Vec<Shape>,
    pub width: f64,
    pub height: f64,
}

/// How to draw a text.
#[derive(Clone, Copy)]
pub struct Lettering {
    pub size: f64,
    pub anchor: Anchor,
    pub bold: bool,
    pub ink: Ink,
    /// Rotation in degrees, around the text's position.
    pub turned: f64,
    /// Whether to draw a halo in the page's colour, for text on lines.
    pub halo: bool,
}

impl Lettering {
    pub fn new(size: f64, anchor: Anchor, ink: Ink) -> Self {
        Self { size, anchor, bold: false, ink, turned: 0.0, halo: false }
    }

    pub fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub fn haloed(self) -> Self {
        Self { halo: true, ..self }
    }
}

impl Canvas {
    pub fn rect(&mut self, place: (f64, f64), size: (f64, f64), radius: f64, fill: Ink, tip: &str) {
        self.shapes.push(Shape::Rect { place, size, radius, fill, tip: tip.into() });
    }

    pub fn border(&mut self, place: (f64, f64), size: (f64, f64), radius: f64, ink: Ink) {
        self.shapes.push(Shape::Border { place, size, radius, ink });
    }

    pub fn circle(&mut self, place: (f64, f64), radius: f64, fill: Ink, tip: &str) {
        self.shapes.push(Shape::Circle { place, radius, fill, tip: tip.into() });
    }

    pub fn line(&mut self, points: &[(f64, f64)], ink: Ink, thickness: f64, dashed: bool) {
        self.shapes.push(Shape::Line { points: points.to_vec(), ink, thickness, dashed });
    }

    pub fn area(&mut self, points: &[(f64, f64)], ink: Ink, opacity: f64) {
        self.shapes.push(Shape::Area { points: points.to_vec(), ink, opacity });
    }

    pub fn text(&mut self, place: (f64, f64), text: &str, style: Lettering) {
        self.shapes.push(Shape::Text { place, text: text.into(), style });
    }

    /// Clips everything that `inside` draws to the box.
    pub fn clipped(&mut self, place: (f64, f64), size: (f64, f64), inside: impl FnOnce(&mut Self)) {
        let shapes = Self::gathered(inside);
        self.shapes.push(Shape::Clipped { place, size, shapes });
    }

    /// Gives everything that `inside` draws one tooltip.
    pub fn tipped(&mut self, tip: &str, inside: impl FnOnce(&mut Self)) {
        let shapes = Self::gathered(inside);
        self.shapes.push(Shape::Tipped { tip: tip.into(), shapes });
    }

    fn gathered(inside: impl FnOnce(&mut Self)) -> Vec<Shape> {
        let mut canvas = Self::default();
        inside(&mut canvas);
        canvas.shapes
    }
}
