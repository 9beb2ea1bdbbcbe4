//! The memory chart for a report page: boxes from left to right, every arrow with its numbers.

use report::chart::{Anchor, Chart, Drawing, Ink, Mark, Shape};

use super::super::options::NormalUnit;
use super::super::values::TableValues;
use super::model::*;

const WIDTH: f64 = 1210.0;
const HEIGHT: f64 = 520.0;
const LETTERS: f64 = 12.0;
const LINE: f64 = 17.0;

/// Draws the chart; requests are normalised by `unit`.
pub fn chart(values: &TableValues, unit: NormalUnit) -> Chart {
    let mut picture = Picture { figures: Figures(values), shapes: Vec::new() };
    picture.draw();
    let drawing = Drawing { width: WIDTH, height: HEIGHT, shapes: picture.shapes };
    let title = format!("Memory chart, requests per {}", unit.word());
    Chart::new("memory_chart", &title, Mark::Drawing(drawing)).with_description(
        "What flows between the parts of the GPU: numbers on arrows are requests, N/A is what was not collected.",
    )
}

struct Picture<'v> {
    figures: Figures<'v>,
    shapes: Vec<Shape>,
}

/// Position and size of a box.
#[derive(Clone, Copy)]
struct Rect {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Rect {
    fn right(&self) -> f64 {
        self.x + self.width
    }
}

impl Picture<'_> {
    fn draw(&mut self) {
        let place = |x, y, width, height| Rect { x, y, width, height };
        let buffer = place(10.0, 40.0, 150.0, 330.0);
        let dispatch = place(196.0, 40.0, 120.0, 330.0);
        let exec = place(352.0, 40.0, 130.0, 330.0);
        let lds = place(592.0, 10.0, 160.0, 72.0);
        let vector = place(592.0, 110.0, 160.0, 106.0);
        let scalar = place(592.0, 250.0, 160.0, 72.0);
        let instruction = place(592.0, 400.0, 160.0, 72.0);
        let l2 = place(862.0, 110.0, 146.0, 362.0);
        let fabric = place(1068.0, 110.0, 132.0, 180.0);
        let memory = place(1068.0, 392.0, 132.0, 80.0);
        let parts: [(&ChartBlock, Rect, usize); 10] = [
            (&BUFFER, buffer, 0),
            (&DISPATCH, dispatch, 0),
            (&EXEC, exec, 0),
            (&LDS, lds, 1),
            (&VECTOR, vector, 2),
            (&SCALAR, scalar, 2),
            (&INSTRUCTION, instruction, 2),
            (&L2, l2, 3),
            (&FABRIC, fabric, 4),
            (&HBM, memory, 5),
        ];
        for (part, place, color) in parts {
            self.part(part, place, color);
        }
        self.arrow((buffer.right(), 205.0), (dispatch.x, 205.0));
        for at in 0..DISPATCH.figures.len() {
            let y = dispatch.y + 46.0 + at as f64 * 38.0 - 4.0;
            self.arrow((dispatch.right(), y), (exec.x, y));
        }
        self.wires(&EXEC_LDS, exec.right(), lds.x, lds.y + 48.0);
        self.wires(&EXEC_VECTOR, exec.right(), vector.x, vector.y + 34.0);
        self.wires(&EXEC_SCALAR, exec.right(), scalar.x, scalar.y + 48.0);
        self.wires(&VECTOR_L2, vector.right(), l2.x, vector.y + 34.0);
        self.wires(&SCALAR_L2, scalar.right(), l2.x, scalar.y + 22.0);
        self.wires(&INSTRUCTION_L2, instruction.right(), l2.x, instruction.y + 48.0);
        self.wires_short(&L2_FABRIC, l2.right(), fabric.x, fabric.y + 50.0);
        self.down(&FABRIC_HBM, fabric, memory);
        // Instructions go back to their buffer, below everything else.
        let y = instruction.y + 48.0;
        let middle = buffer.x + buffer.width / 2.0;
        let back = vec![(instruction.x, y), (middle, y), (middle, buffer.y + buffer.height)];
        self.line(back, true);
        self.label(&INSTRUCTION_BUFFER.figures[0], (instruction.x + middle) / 2.0, y - 6.0, Anchor::Middle);
    }

    fn part(&mut self, part: &ChartBlock, place: Rect, color: usize) {
        let Rect { x, y, width, height } = place;
        self.shapes.push(Shape::Box {
            x,
            y,
            width,
            height,
            radius: 6.0,
            fill: Ink::Raised,
            border: Some(Ink::Series(color)),
            tip: self.missing(part),
        });
        self.words(x + width / 2.0, y + 18.0, part.title, 13.0, Anchor::Middle, true, Ink::Text);
        // Figures with arrows are as far apart as the arrows.
        let step = if part.title == DISPATCH.title { 38.0 } else { LINE };
        for (at, (label, metric, unit)) in part.figures.iter().enumerate() {
            let line = y + 46.0 + at as f64 * step - if step == LINE { 8.0 } else { 0.0 };
            self.words(x + 10.0, line, label, LETTERS, Anchor::Start, false, Ink::Muted);
            let text = self.figures.with_unit(metric, unit);
            let ink = if text == "N/A" { Ink::Muted } else { Ink::Text };
            self.words(x + width - 10.0, line, &text, LETTERS, Anchor::End, true, ink);
        }
    }

    /// Why numbers of a part are missing, for its tooltip.
    fn missing(&self, part: &ChartBlock) -> String {
        let reasons = part
            .figures
            .iter()
            .filter_map(|(label, metric, _)| Some(format!("{label}: {}", self.figures.why(metric)?)));
        std::iter::once(part.title.to_string()).chain(reasons).collect::<Vec<_>>().join("\n")
    }

    /// Arrows to the right, each with its number above.
    fn wires(&mut self, wire: &Wire, from: f64, to: f64, y: f64) {
        for (at, figure) in wire.figures.iter().enumerate() {
            let y = y + at as f64 * 24.0;
            self.arrow((from, y), (to, y));
            self.label(figure, (from + to) / 2.0 - 4.0, y - 4.0, Anchor::Middle);
        }
    }

    /// Like [`Self::wires`], with label and number on two lines for tight spots.
    fn wires_short(&mut self, wire: &Wire, from: f64, to: f64, y: f64) {
        for (at, (label, metric, _)) in wire.figures.iter().enumerate() {
            let y = y + at as f64 * 46.0;
            self.arrow((from, y), (to, y));
            let middle = (from + to) / 2.0;
            self.words(middle, y - 5.0, label, LETTERS, Anchor::Middle, false, Ink::Muted);
            let text = self.figures.show(metric);
            self.words(middle, y + 14.0, &text, LETTERS, Anchor::Middle, true, Ink::Text);
        }
    }

    /// Arrows between the fabric and the memory below it.
    fn down(&mut self, wire: &Wire, above: Rect, below: Rect) {
        let top = above.y + above.height;
        for (at, figure) in wire.figures.iter().enumerate() {
            let x = above.x + 16.0 + at as f64 * 64.0;
            let ends = [(x, below.y), (x, top)];
            let points = if figure.0 == "rd" { ends.to_vec() } else { ends.iter().rev().copied().collect() };
            self.line(points, true);
            let middle = (top + below.y) / 2.0;
            self.words(x + 5.0, middle - 6.0, figure.0, LETTERS, Anchor::Start, false, Ink::Muted);
            let text = self.figures.show(figure.1);
            self.words(x + 5.0, middle + 10.0, &text, LETTERS, Anchor::Start, true, Ink::Text);
        }
    }

    fn label(&mut self, (label, metric, _): &Figure, x: f64, y: f64, anchor: Anchor) {
        let text = format!("{label} {}", self.figures.show(metric));
        self.words(x, y, &text, LETTERS, anchor, false, Ink::Text);
    }

    fn arrow(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.line(vec![from, to], true);
    }

    fn line(&mut self, points: Vec<(f64, f64)>, arrow: bool) {
        self.shapes.push(Shape::Line { points, ink: Ink::Axis, thickness: 1.5, dashed: false, arrow });
    }

    #[allow(clippy::too_many_arguments, reason = "a text has that many properties")]
    fn words(&mut self, x: f64, y: f64, text: &str, size: f64, anchor: Anchor, bold: bool, ink: Ink) {
        let text = text.to_string();
        self.shapes.push(Shape::Words { x, y, text, size, anchor, bold, ink, room: 0.0 });
    }
}
