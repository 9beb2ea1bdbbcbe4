//! The few SVG elements that charts are made of.

use std::fmt::Write;

use super::text::FAMILIES;
use super::{Anchor, Ink, Theme};

/// An SVG element under construction.
pub struct Canvas {
    body: String,
    theme: Theme,
    clips: usize,
    scope: String,
}

/// How a text stands.
#[derive(Clone, Copy)]
pub struct Lettering {
    pub size: f64,
    pub anchor: Anchor,
    pub bold: bool,
    pub ink: Ink,
    /// Degrees, around the text's place.
    pub turned: f64,
    /// Whether the page shows around the letters, where they stand on lines.
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
    /// `scope` makes ids unique where several charts share a page.
    pub fn new(theme: Theme, scope: &str) -> Self {
        Self { body: String::new(), theme, clips: 0, scope: scope.into() }
    }

    /// The whole element, with words for who cannot see it.
    pub fn finish(self, width: f64, height: f64, title: &str, description: &str) -> String {
        let mut text = String::new();
        _ = write!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{0}\" height=\"{1}\" \
             role=\"img\" font-family=\"{FAMILIES}\">",
            short(width),
            short(height)
        );
        if self.theme == Theme::Page {
            // An element called title would show as a tip of the whole chart.
            text.truncate(text.len() - 1);
            _ = write!(text, " aria-label=\"{}\">", escape(&format!("{title}. {description}")));
        } else {
            _ = write!(text, "<title>{}</title><desc>{}</desc>", escape(title), escape(description));
            _ = write!(
                text,
                "<rect width=\"100%\" height=\"100%\" fill=\"{}\"/>",
                self.theme.color(Ink::Surface)
            );
        }
        text.push_str(&self.body);
        text.push_str("</svg>");
        text
    }

    pub fn rect(
        &mut self,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        radius: f64,
        fill: Ink,
        tip: &str,
    ) {
        let round = if radius > 0.0 { format!(" rx=\"{}\"", short(radius)) } else { String::new() };
        self.open("rect", tip);
        _ = write!(
            self.body,
            " x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{round} fill=\"{}\"",
            short(x),
            short(y),
            short(width),
            short(height),
            self.theme.color(fill)
        );
        self.close("rect", tip);
    }

    /// The border of a box.
    pub fn border(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), radius: f64, ink: Ink) {
        _ = write!(
            self.body,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\" fill=\"none\" stroke=\"{}\"/>",
            short(x),
            short(y),
            short(width),
            short(height),
            short(radius),
            self.theme.color(ink)
        );
    }

    pub fn circle(&mut self, (x, y): (f64, f64), radius: f64, fill: Ink, tip: &str) {
        self.open("circle", tip);
        _ = write!(
            self.body,
            " cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\" fill-opacity=\"0.8\" stroke=\"{}\"",
            short(x),
            short(y),
            short(radius),
            self.theme.color(fill),
            self.theme.color(Ink::Surface)
        );
        self.close("circle", tip);
    }

    /// A line through points.
    pub fn line(&mut self, points: &[(f64, f64)], ink: Ink, thickness: f64, dashed: bool) {
        let mut path = String::new();
        for (i, (x, y)) in points.iter().enumerate() {
            _ = write!(path, "{}{} {}", if i == 0 { 'M' } else { 'L' }, short(*x), short(*y));
        }
        let dash = if dashed { " stroke-dasharray=\"4 3\"" } else { "" };
        _ = write!(
            self.body,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dash}/>",
            self.theme.color(ink),
            short(thickness)
        );
    }

    /// A filled area with these corners.
    pub fn area(&mut self, points: &[(f64, f64)], ink: Ink, opacity: f64) {
        let corners: Vec<String> =
            points.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y))).collect();
        _ = write!(
            self.body,
            "<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"{}\"/>",
            corners.join(" "),
            self.theme.color(ink),
            short(opacity)
        );
    }

    pub fn text(&mut self, (x, y): (f64, f64), text: &str, style: Lettering) {
        let anchor = match style.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if style.bold { " font-weight=\"500\"" } else { "" };
        let turn = if style.turned != 0.0 {
            format!(" transform=\"rotate({} {} {})\"", short(style.turned), short(x), short(y))
        } else {
            String::new()
        };
        let halo = if style.halo {
            let page = self.theme.color(Ink::Surface);
            format!(" stroke=\"{page}\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"")
        } else {
            String::new()
        };
        _ = write!(
            self.body,
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{anchor}{weight}{turn}{halo}>{}</text>",
            short(x),
            short(y),
            short(style.size),
            self.theme.color(style.ink),
            escape(text)
        );
    }

    /// What is drawn by `inside` shows only within the box.
    pub fn clipped(
        &mut self,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        inside: impl FnOnce(&mut Self),
    ) {
        self.clips += 1;
        let id = format!("{}-clip-{}", self.scope, self.clips);
        _ = write!(
            self.body,
            "<clipPath id=\"{id}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath><g clip-path=\"url(#{id})\">",
            short(x),
            short(y),
            short(width),
            short(height)
        );
        inside(self);
        self.body.push_str("</g>");
    }

    /// What is drawn by `inside` shares one tip.
    pub fn tipped(&mut self, tip: &str, inside: impl FnOnce(&mut Self)) {
        self.open("g", tip);
        self.body.push('>');
        self.title(tip);
        inside(self);
        self.body.push_str("</g>");
    }

    fn open(&mut self, element: &str, tip: &str) {
        _ = write!(self.body, "<{element}");
        if self.theme == Theme::Page && !tip.is_empty() {
            _ = write!(self.body, " data-tip=\"{}\"", escape(tip));
        }
    }

    fn close(&mut self, element: &str, tip: &str) {
        if self.theme == Theme::Page || tip.is_empty() {
            self.body.push_str("/>");
            return;
        }
        self.body.push('>');
        self.title(tip);
        _ = write!(self.body, "</{element}>");
    }

    fn title(&mut self, tip: &str) {
        if self.theme != Theme::Page && !tip.is_empty() {
            _ = write!(self.body, "<title>{}</title>", escape(tip));
        }
    }
}

/// Two digits after the point at most: a hundredth of a pixel is enough.
fn short(number: f64) -> String {
    let text = format!("{:.2}", if number.is_finite() { number } else { 0.0 });
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// Text as XML has it; characters that XML cannot hold become spaces.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\u{FFFE}' | '\u{FFFF}' => escaped.push(' '),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_text_is_safe() {
        assert_eq!([short(1.0), short(0.126), short(-0.001), short(f64::NAN)], ["1", "0.13", "0", "0"]);
        assert_eq!(escape("a<b> & \"c\"\u{1}\n"), "a&lt;b&gt; &amp; &quot;c&quot; &#10;");
    }
}
