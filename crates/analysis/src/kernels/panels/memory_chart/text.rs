//! The memory chart for an 80-column terminal.

use super::super::options::NormalUnit;
use super::super::values::TableValues;
use super::canvas::{Canvas, Head};
use super::model::*;

const WIDTH: usize = 79;
/// Columns: wires from Exec, first-level caches, wires to L2, and L2.
const CACHES: usize = 16;
const CACHE_WIDTH: usize = 24;
const L2_AT: usize = 57;
const L2_WIDTH: usize = WIDTH - L2_AT;

/// Draws the chart; requests are normalised by `unit`.
pub fn text(values: &TableValues, unit: NormalUnit) -> String {
    let figures = Figures(values);
    let mut canvas = Canvas::new(WIDTH, 38);
    front(&mut canvas, &figures);
    let mut y = 7;
    let mut wires_in = Vec::new();
    for (part, from_exec, to_l2, height) in [
        (&LDS, &EXEC_LDS, None, 4),
        (&VECTOR, &EXEC_VECTOR, Some(&VECTOR_L2), 6),
        (&SCALAR, &EXEC_SCALAR, Some(&SCALAR_L2), 5),
        (&INSTRUCTION, &INSTRUCTION_BUFFER, Some(&INSTRUCTION_L2), 4),
    ] {
        canvas.frame(CACHES, y, CACHE_WIDTH, height, part.title);
        lines(&mut canvas, &figures, part.figures, CACHES + 2, CACHES + CACHE_WIDTH - 2, y + 1);
        let head = if part.title == INSTRUCTION.title { Head::Left } else { Head::Right };
        wire(&mut canvas, &figures, from_exec, 0, CACHES, y + 1, head);
        wires_in.extend(to_l2.map(|wire| (wire, y + 1)));
        y += height;
    }
    let l2_from = 11;
    canvas.frame(L2_AT, l2_from, L2_WIDTH, y - l2_from, L2.title);
    lines(&mut canvas, &figures, L2.figures, L2_AT + 2, WIDTH - 2, l2_from + 2);
    for (to_l2, at) in wires_in {
        wire(&mut canvas, &figures, to_l2, CACHES + CACHE_WIDTH, L2_AT, at, Head::Right);
    }
    // L2 is above the fabric, the fabric next to the memory.
    for (place, (label, metric, _)) in L2_FABRIC.figures.iter().enumerate() {
        canvas.write(L2_AT + 2, y + place, &format!("│ {label} {}", figures.show(metric)));
    }
    canvas.write(L2_AT + 2, y + 3, "▼");
    canvas.frame(L2_AT, y + 4, L2_WIDTH, 5, FABRIC.title);
    lines(&mut canvas, &figures, FABRIC.figures, L2_AT + 2, WIDTH - 2, y + 5);
    canvas.frame(CACHES, y + 4, CACHE_WIDTH, 5, HBM.title);
    canvas.write(CACHES + 2, y + 6, "memory");
    for (place, (label, metric, _)) in FABRIC_HBM.figures.iter().enumerate() {
        let number = figures.show(metric);
        let head = if *label == "rd" { Head::Right } else { Head::Left };
        canvas.arrow(CACHES + CACHE_WIDTH, L2_AT, y + 5 + place, label, &number, head);
    }
    let drawn = canvas.text();
    let title = format!("3.1 Memory Chart (requests per {})\n", unit.word());
    title + drawn.trim_end() + "\n"
}

/// Instruction buffer, dispatch and execution, side by side.
fn front(canvas: &mut Canvas, figures: &Figures<'_>) {
    canvas.frame(0, 0, 24, 6, BUFFER.title);
    lines(canvas, figures, BUFFER.figures, 2, 22, 1);
    canvas.write(24, 2, "►");
    canvas.frame(25, 0, 26, 6, DISPATCH.title);
    pairs(canvas, figures, DISPATCH.figures, 27, 49, 1);
    canvas.write(51, 2, "►");
    canvas.frame(52, 0, WIDTH - 52, 6, EXEC.title);
    pairs(canvas, figures, EXEC.figures, 54, WIDTH - 2, 1);
}

fn lines(canvas: &mut Canvas, figures: &Figures<'_>, of: &[Figure], from: usize, to: usize, y: usize) {
    for (place, (label, metric, unit)) in of.iter().enumerate() {
        canvas.write(from, y + place, label);
        canvas.write_before(to, y + place, &figures.with_unit(metric, unit));
    }
}

/// Figures in pairs, two per line.
fn pairs(canvas: &mut Canvas, figures: &Figures<'_>, of: &[Figure], from: usize, to: usize, y: usize) {
    let middle = (from + to) / 2;
    for (place, pair) in of.chunks(2).enumerate() {
        for ((label, metric, _), (from, to)) in pair.iter().zip([(from, middle), (middle + 1, to)]) {
            let number = figures.show(metric);
            let room = (to - from).saturating_sub(number.chars().count() + 1);
            let label: String = label.chars().take(room).collect();
            canvas.write(from, y + place, &label);
            canvas.write_before(to, y + place, &number);
        }
    }
}

fn wire(
    canvas: &mut Canvas,
    figures: &Figures<'_>,
    wire: &Wire,
    from: usize,
    to: usize,
    y: usize,
    head: Head,
) {
    for (place, (label, metric, _)) in wire.figures.iter().enumerate() {
        canvas.arrow(from, to, y + place, label, &figures.show(metric), head);
    }
}
