//! A page of characters to draw on.

/// Characters by line and column.
pub(super) struct Canvas {
    lines: Vec<Vec<char>>,
}

impl Canvas {
    pub fn new(width: usize, height: usize) -> Self {
        Self { lines: vec![vec![' '; width]; height] }
    }

    /// Writes text to the right of a position; anything that does not fit is cut.
    pub fn write(&mut self, x: usize, y: usize, text: &str) {
        let Some(line) = self.lines.get_mut(y) else { return };
        for (cell, letter) in line.iter_mut().skip(x).zip(text.chars()) {
            *cell = letter;
        }
    }

    /// Writes text that ends before a column.
    pub fn write_before(&mut self, x: usize, y: usize, text: &str) {
        self.write(x.saturating_sub(text.chars().count()), y, text);
    }

    /// A frame with a title in its top edge.
    pub fn frame(&mut self, x: usize, y: usize, width: usize, height: usize, title: &str) {
        let inner = "─".repeat(width - 2);
        self.write(x, y, &format!("┌{inner}┐"));
        self.write(x + 1, y, &format!(" {title} "));
        for line in y + 1..y + height - 1 {
            self.write(x, line, "│");
            self.write(x + width - 1, line, "│");
        }
        self.write(x, y + height - 1, &format!("└{inner}┘"));
    }

    /// A label, its number and an arrow that fills the columns from `x` to `end`.
    pub fn arrow(&mut self, x: usize, end: usize, y: usize, label: &str, number: &str, head: Head) {
        let text = format!(" {label} {number} ");
        let room = end - x;
        let line: String = std::iter::repeat_n('─', room).collect();
        self.write(x, y, &line);
        let start = x + (room.saturating_sub(text.chars().count())) / 2;
        self.write(start, y, &text);
        match head {
            Head::Right => self.write(end - 1, y, "►"),
            Head::Left => self.write(x, y, "◄"),
        }
    }

    /// The page without trailing blanks.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let line: String = line.iter().collect();
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Where an arrow points.
#[derive(Clone, Copy)]
pub(super) enum Head {
    Right,
    Left,
}
