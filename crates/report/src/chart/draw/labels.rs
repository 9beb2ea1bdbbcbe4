//! Places labels so that they do not cover each other.

use super::super::text;

/// A box occupied by a label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Taken {
    fn meets(&self, other: &Taken) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn inside(&self, other: &Taken) -> bool {
        self.left >= other.left
            && self.right <= other.right
            && self.top >= other.top
            && self.bottom <= other.bottom
    }
}

/// The occupied parts of a plot.
pub struct Free {
    plot: Taken,
    taken: Vec<Taken>,
}

impl Free {
    /// An empty plot.
    pub fn new(plot: Taken) -> Self {
        Self { plot, taken: Vec::new() }
    }

    /// Occupies a box unconditionally.
    pub fn take(&mut self, taken: Taken) {
        self.taken.push(taken);
    }

    /// Occupies the box if it is free.
    pub fn claim(&mut self, wanted: Taken) -> bool {
        let free = wanted.inside(&self.plot) && !self.taken.iter().any(|taken| taken.meets(&wanted));
        if free {
            self.taken.push(wanted);
        }
        free
    }

    /// Where a label fits next to a point: its start and baseline. Tries right, left, above, below.
    pub fn beside(&mut self, (x, y): (f64, f64), away: f64, words: &str, size: f64) -> Option<(f64, f64)> {
        let (width, rise, fall) = (text::width(words, size), size * 0.8, size * 0.25);
        let places = [
            (x + away + 3.0, y + size * 0.35),
            (x - away - 3.0 - width, y + size * 0.35),
            (x - width / 2.0, y - away - 4.0),
            (x - width / 2.0, y + away + size),
        ];
        places.into_iter().find(|&(left, base)| {
            self.claim(Taken { left, right: left + width, top: base - rise, bottom: base + fall })
        })
    }
}

/// Text in lines of at most this width.
pub fn wrap(words: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text::width(&format!("{line} {word}"), size) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(text::shorten(word, size, room)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_labels_meet() {
        let plot = Taken { left: 0.0, right: 300.0, top: 0.0, bottom: 200.0 };
        let mut free = Free::new(plot);
        let mut placed = 0;
        for i in 0..40 {
            let at = (f64::from(i * 37 % 300), f64::from(i * 53 % 200));
            placed += usize::from(free.beside(at, 4.0, "kernel", 11.0).is_some());
        }
        assert!(placed > 10 && placed < 40, "{placed}");
        for (i, a) in free.taken.iter().enumerate() {
            assert!(a.inside(&plot));
            assert!(free.taken[i + 1..].iter().all(|b| !a.meets(b)));
        }
    }

    #[test]
    fn lines_keep_all_words() {
        let words = "Time of each kernel, with the rest in one bar; bars have the colour of their category";
        let lines = wrap(words, 12.0, 200.0);
        assert!(lines.len() > 1 && lines.iter().all(|line| text::width(line, 12.0) <= 200.0));
        assert_eq!(lines.join(" "), words);
        assert!(wrap("", 12.0, 100.0).is_empty());
    }
}
