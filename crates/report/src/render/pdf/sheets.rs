//! Pages before they become a PDF: text, lines, boxes and drawings at their positions.

use crate::chart::canvas::Canvas;
use crate::chart::{Anchor, Ink, text};

/// A4 in points.
pub const PAGE: (f64, f64) = (595.28, 841.89);
/// Left and right edge of the content.
pub const LEFT: f64 = 44.0;
pub const RIGHT: f64 = PAGE.0 - LEFT;
/// Upper and lower edge.
pub const TOP: f64 = 50.0;
pub const BOTTOM: f64 = PAGE.1 - 56.0;

/// Something at a position.
pub enum Stamp {
    Words {
        x: f64,
        y: f64,
        text: String,
        size: f64,
        bold: bool,
        ink: Ink,
        anchor: Anchor,
    },
    Box {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        ink: Ink,
    },
    /// A chart, scaled to this width.
    Drawing {
        x: f64,
        y: f64,
        width: f64,
        canvas: Canvas,
    },
}

/// Text size and weight.
#[derive(Clone, Copy)]
pub struct Type {
    pub size: f64,
    pub bold: bool,
    pub ink: Ink,
}

impl Type {
    pub fn new(size: f64, ink: Ink) -> Self {
        Self { size, bold: false, ink }
    }

    pub fn bold(self) -> Self {
        Self { bold: true, ..self }
    }
}

/// The pages, and the current position.
pub struct Sheets {
    pub pages: Vec<Vec<Stamp>>,
    /// (title, page, position) of each section.
    pub sections: Vec<(String, usize, f64)>,
    pub y: f64,
}

impl Sheets {
    pub fn new() -> Self {
        Self { pages: vec![Vec::new()], sections: Vec::new(), y: TOP }
    }

    /// Space left on this page.
    pub fn room(&self) -> f64 {
        BOTTOM - self.y
    }

    /// Starts a new page if there is less space than this, unless the page is still empty.
    pub fn need(&mut self, height: f64) {
        if self.room() < height && self.y > TOP {
            self.next_page();
        }
    }

    pub fn next_page(&mut self) {
        self.pages.push(Vec::new());
        self.y = TOP;
    }

    /// Adds space, except at the top of a page.
    pub fn space(&mut self, height: f64) {
        if self.y > TOP {
            self.y += height;
        }
    }

    pub fn words(&mut self, (x, y): (f64, f64), words: &str, style: Type, anchor: Anchor) {
        let Type { size, bold, ink } = style;
        self.push(Stamp::Words { x, y, text: words.into(), size, bold, ink, anchor });
    }

    pub fn fill(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), ink: Ink) {
        self.push(Stamp::Box { x, y, width, height, ink });
    }

    /// A thin line across.
    pub fn rule(&mut self, y: f64, ink: Ink) {
        self.fill((LEFT, y), (RIGHT - LEFT, 0.5), ink);
    }

    /// A paragraph in as many lines as needed, across pages if necessary.
    pub fn paragraph(&mut self, words: &str, style: Type, left: f64) {
        let line = style.size * 1.4;
        for words in lines(words, style, RIGHT - left) {
            self.need(line);
            self.words((left, self.y + style.size), &words, style, Anchor::Start);
            self.y += line;
        }
    }

    pub fn push(&mut self, stamp: Stamp) {
        if let Some(page) = self.pages.last_mut() {
            page.push(stamp);
        }
    }
}

/// Text in lines of at most this width; longer words are broken.
pub fn lines(words: &str, style: Type, room: f64) -> Vec<String> {
    let wide = |text: &str| text::width(text, style.size) > room;
    let mut lines: Vec<String> = vec![String::new()];
    let mut put = |word: &str| {
        let last = lines.len() - 1;
        let joined =
            if lines[last].is_empty() { word.to_string() } else { format!("{} {word}", lines[last]) };
        if !wide(&joined) || lines[last].is_empty() {
            lines[last] = joined;
        } else {
            lines.push(word.to_string());
        }
    };
    for word in words.split_whitespace() {
        if !wide(word) {
            put(word);
            continue;
        }
        let mut piece = String::new();
        for c in word.chars() {
            piece.push(c);
            if wide(&piece) {
                piece.pop();
                put(&piece);
                piece = c.to_string();
            }
        }
        put(&piece);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_hold_all_letters_and_fit() {
        let style = Type::new(9.0, Ink::Text);
        let words = format!("the kernel {} takes most of the time of this run", "x".repeat(90));
        let found = lines(&words, style, 150.0);
        assert!(found.len() > 3);
        assert!(found.iter().all(|line| text::width(line, 9.0) <= 150.0), "{found:?}");
        let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        assert_eq!(letters(&found.join("")), letters(&words));
    }

    #[test]
    fn a_long_paragraph_goes_on_over_pages() {
        let mut sheets = Sheets::new();
        sheets.paragraph(&"word ".repeat(20_000), Type::new(9.0, Ink::Text), LEFT);
        assert!(sheets.pages.len() > 5);
    }
}
