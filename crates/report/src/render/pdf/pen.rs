//! Text and shapes as the operators of a PDF page.

use std::collections::{BTreeMap, BTreeSet};

use pdf_writer::types::{LineJoinStyle, TextRenderingMode};
use pdf_writer::{Content, Name, Str};

use super::sheets::{PAGE, Stamp};
use crate::chart::canvas::{Canvas, DASHES, DISC_OPACITY, HALO, Lettering, Shape};
use crate::chart::{Anchor, Ink, Theme};
use crate::fonts;

/// Names of the two fonts in a page's resources.
pub const FONTS: [Name<'static>; 2] = [Name(b"F0"), Name(b"F1")];

/// Distance of the control points of a curve, for a quarter of a circle of radius 1.
const QUARTER: f64 = 0.552_284_75;

/// Resources that pages need besides their operators.
#[derive(Default)]
pub struct Used {
    /// Glyphs of the regular and of the medium font, each with its character.
    pub glyphs: [BTreeMap<u16, char>; 2],
    /// Opacities in hundredths.
    pub opacities: BTreeSet<u8>,
}

/// Name of an opacity in a page's resources.
pub fn opacity_name(hundredths: u8) -> String {
    format!("O{hundredths}")
}

/// The operators of a page.
pub fn page(stamps: impl Iterator<Item = Stamp>, used: &mut Used) -> Vec<u8> {
    let mut content = Content::new();
    // From here on y points down, as on a canvas.
    content.transform([1.0, 0.0, 0.0, -1.0, 0.0, PAGE.1 as f32]);
    let mut pen = Pen { content, used };
    stamps.for_each(|stamp| pen.stamp(&stamp));
    pen.content.finish().to_vec()
}

struct Pen<'u> {
    content: Content,
    used: &'u mut Used,
}

impl Pen<'_> {
    fn stamp(&mut self, stamp: &Stamp) {
        match stamp {
            Stamp::Words { x, y, text, size, bold, ink, anchor } => {
                let style = Lettering { bold: *bold, ..Lettering::new(*size, *anchor, *ink) };
                self.text((*x, *y), text, style);
            }
            Stamp::Box { x, y, width, height, ink } => {
                self.fill(*ink);
                self.content.rect(*x as f32, *y as f32, *width as f32, *height as f32).fill_nonzero();
            }
            Stamp::Drawing { x, y, width, canvas } => self.drawing((*x, *y), *width, canvas),
        }
    }

    fn drawing(&mut self, (x, y): (f64, f64), width: f64, canvas: &Canvas) {
        let by = (width / canvas.width) as f32;
        self.content.save_state();
        self.content.transform([by, 0.0, 0.0, by, x as f32, y as f32]);
        self.box_path((0.0, 0.0), (canvas.width, canvas.height), 0.0);
        self.content.clip_nonzero().end_path();
        canvas.shapes.iter().for_each(|shape| self.shape(shape));
        self.content.restore_state();
    }

    fn shape(&mut self, shape: &Shape) {
        match shape {
            Shape::Rect { place, size, radius, fill, .. } => {
                self.fill(*fill);
                self.box_path(*place, *size, *radius);
                self.content.fill_nonzero();
            }
            Shape::Border { place, size, radius, ink } => {
                self.stroke(*ink, 1.0);
                self.box_path(*place, *size, *radius);
                self.content.stroke();
            }
            Shape::Circle { place: (x, y), radius, fill, .. } => {
                self.content.save_state();
                self.opacity(DISC_OPACITY);
                self.fill(*fill);
                self.stroke(Ink::Surface, 1.0);
                self.box_path((x - radius, y - radius), (2.0 * radius, 2.0 * radius), *radius);
                self.content.fill_nonzero_and_stroke().restore_state();
            }
            Shape::Line { points, ink, thickness, dashed } => {
                self.content.save_state();
                self.stroke(*ink, *thickness);
                self.content.set_line_join(LineJoinStyle::RoundJoin);
                if *dashed {
                    self.content.set_dash_pattern([DASHES.0 as f32, DASHES.1 as f32], 0.0);
                }
                self.path(points);
                self.content.stroke().restore_state();
            }
            Shape::Area { points, ink, opacity } => {
                self.content.save_state();
                self.opacity(*opacity);
                self.fill(*ink);
                self.path(points);
                self.content.fill_nonzero().restore_state();
            }
            Shape::Text { place, text, style } => self.text(*place, text, *style),
            Shape::Clipped { place, size, shapes } => {
                self.content.save_state();
                self.box_path(*place, *size, 0.0);
                self.content.clip_nonzero().end_path();
                shapes.iter().for_each(|shape| self.shape(shape));
                self.content.restore_state();
            }
            Shape::Tipped { shapes, .. } => shapes.iter().for_each(|shape| self.shape(shape)),
        }
    }

    fn text(&mut self, (x, y): (f64, f64), text: &str, style: Lettering) {
        let text = fonts::printable(text);
        let (sin, cos) = style.turned.to_radians().sin_cos();
        let width = fonts::width(&text, style.bold) * style.size;
        let before = match style.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        let (x, y) = (x - before * cos, y - before * sin);
        let font = usize::from(style.bold);
        let mut glyphs = Vec::new();
        for (glyph, character) in fonts::glyphs(&text, style.bold) {
            self.used.glyphs[font].insert(glyph, character);
            glyphs.extend(glyph.to_be_bytes());
        }
        // Letters are upright although y points down.
        let matrix = [cos, sin, sin, -cos, x, y].map(|number| number as f32);
        if style.halo {
            self.content.save_state();
            self.stroke(Ink::Surface, HALO);
            self.content.set_line_join(LineJoinStyle::RoundJoin);
            self.letters(font, style.size, matrix, &glyphs, TextRenderingMode::Stroke);
            self.content.restore_state();
        }
        self.fill(style.ink);
        self.letters(font, style.size, matrix, &glyphs, TextRenderingMode::Fill);
    }

    fn letters(&mut self, font: usize, size: f64, matrix: [f32; 6], glyphs: &[u8], mode: TextRenderingMode) {
        self.content.begin_text().set_font(FONTS[font], size as f32);
        self.content.set_text_rendering_mode(mode).set_text_matrix(matrix).show(Str(glyphs)).end_text();
    }

    fn path(&mut self, points: &[(f64, f64)]) {
        // A path without a start is an error in a PDF.
        if points.is_empty() {
            self.content.move_to(0.0, 0.0);
        }
        for (i, (x, y)) in points.iter().enumerate() {
            let (x, y) = (finite(*x), finite(*y));
            if i == 0 {
                self.content.move_to(x, y)
            } else {
                self.content.line_to(x, y)
            };
        }
    }

    /// A box, with rounded corners if the radius is positive.
    fn box_path(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), radius: f64) {
        let radius = radius.min(width / 2.0).min(height / 2.0);
        if radius <= 0.0 {
            self.content.rect(finite(x), finite(y), finite(width), finite(height));
            return;
        }
        let (right, bottom, handle) = (x + width, y + height, radius * (1.0 - QUARTER));
        let corners = [
            ((right - radius, y), (right - handle, y), (right, y + handle), (right, y + radius)),
            (
                (right, bottom - radius),
                (right, bottom - handle),
                (right - handle, bottom),
                (right - radius, bottom),
            ),
            ((x + radius, bottom), (x + handle, bottom), (x, bottom - handle), (x, bottom - radius)),
            ((x, y + radius), (x, y + handle), (x + handle, y), (x + radius, y)),
        ];
        self.content.move_to(finite(x + radius), finite(y));
        for (from, a, b, to) in corners {
            self.content.line_to(finite(from.0), finite(from.1));
            let [x1, y1, x2, y2, x3, y3] = [a.0, a.1, b.0, b.1, to.0, to.1].map(finite);
            self.content.cubic_to(x1, y1, x2, y2, x3, y3);
        }
        self.content.close_path();
    }

    fn fill(&mut self, ink: Ink) {
        let [r, g, b] = color(ink);
        self.content.set_fill_rgb(r, g, b);
    }

    fn stroke(&mut self, ink: Ink, thickness: f64) {
        let [r, g, b] = color(ink);
        self.content.set_stroke_rgb(r, g, b).set_line_width(thickness as f32);
    }

    fn opacity(&mut self, opacity: f64) {
        let hundredths = (opacity * 100.0).round().clamp(0.0, 100.0) as u8;
        self.used.opacities.insert(hundredths);
        self.content.set_parameters(Name(opacity_name(hundredths).as_bytes()));
    }
}

fn finite(number: f64) -> f32 {
    if number.is_finite() { number as f32 } else { 0.0 }
}

fn color(ink: Ink) -> [f32; 3] {
    let color = Theme::Light.color(ink);
    let channel = |at: usize| color.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
    [1, 3, 5].map(|at| f32::from(channel(at).unwrap_or(0)) / 255.0)
}
