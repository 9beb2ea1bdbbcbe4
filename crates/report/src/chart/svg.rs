//! Shapes as the few SVG elements they need.

use std::fmt::Write;

use super::canvas::{Canvas, DASHES, DISC_OPACITY, HALO, Lettering, Shape};
use super::text::FAMILIES;
use super::{Anchor, Ink, Theme};

/// A finished canvas as one SVG element, with text for screen readers; `scope` makes ids unique if several
/// charts share a page.
pub fn svg(canvas: &Canvas, theme: Theme, scope: &str, title: &str, description: &str) -> String {
    let mut text = String::new();
    _ = write!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{0}\" height=\"{1}\" \
         role=\"img\" font-family=\"{FAMILIES}\">",
        short(canvas.width),
        short(canvas.height)
    );
    if theme == Theme::Page {
        // A `title` element would show as a tooltip of the whole chart.
        text.truncate(text.len() - 1);
        _ = write!(text, " aria-label=\"{}\">", escape(&format!("{title}. {description}")));
    } else {
        _ = write!(text, "<title>{}</title><desc>{}</desc>", escape(title), escape(description));
        _ = write!(text, "<rect width=\"100%\" height=\"100%\" fill=\"{}\"/>", theme.color(Ink::Surface));
    }
    let mut writer = Writer { body: text, theme, clips: 0, scope };
    canvas.shapes.iter().for_each(|shape| writer.shape(shape));
    writer.body.push_str("</svg>");
    writer.body
}

/// An SVG element under construction.
struct Writer<'s> {
    body: String,
    theme: Theme,
    clips: usize,
    scope: &'s str,
}

impl Writer<'_> {
    fn shape(&mut self, shape: &Shape) {
        match shape {
            Shape::Rect { place, size, radius, fill, tip } => {
                let round = if *radius > 0.0 { format!(" rx=\"{}\"", short(*radius)) } else { String::new() };
                self.open("rect", tip);
                let color = self.theme.color(*fill);
                _ = write!(self.body, " {}{round} fill=\"{color}\"", placed(*place, *size));
                self.close("rect", tip);
            }
            Shape::Border { place, size, radius, ink } => {
                _ = write!(
                    self.body,
                    "<rect {} rx=\"{}\" fill=\"none\" stroke=\"{}\"/>",
                    placed(*place, *size),
                    short(*radius),
                    self.theme.color(*ink)
                );
            }
            Shape::Circle { place: (x, y), radius, fill, tip } => {
                self.open("circle", tip);
                _ = write!(
                    self.body,
                    " cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\" fill-opacity=\"{}\" stroke=\"{}\"",
                    short(*x),
                    short(*y),
                    short(*radius),
                    self.theme.color(*fill),
                    short(DISC_OPACITY),
                    self.theme.color(Ink::Surface)
                );
                self.close("circle", tip);
            }
            Shape::Line { points, ink, thickness, dashed } => self.line(points, *ink, *thickness, *dashed),
            Shape::Area { points, ink, opacity } => {
                let corners: Vec<String> =
                    points.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y))).collect();
                _ = write!(
                    self.body,
                    "<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"{}\"/>",
                    corners.join(" "),
                    self.theme.color(*ink),
                    short(*opacity)
                );
            }
            Shape::Text { place, text, style } => self.text(*place, text, *style),
            Shape::Clipped { place, size, shapes } => {
                self.clips += 1;
                let id = format!("{}-clip-{}", self.scope, self.clips);
                _ = write!(
                    self.body,
                    "<clipPath id=\"{id}\"><rect {}/></clipPath><g clip-path=\"url(#{id})\">",
                    placed(*place, *size)
                );
                shapes.iter().for_each(|shape| self.shape(shape));
                self.body.push_str("</g>");
            }
            Shape::Tipped { tip, shapes } => {
                self.open("g", tip);
                self.body.push('>');
                self.title(tip);
                shapes.iter().for_each(|shape| self.shape(shape));
                self.body.push_str("</g>");
            }
        }
    }

    fn line(&mut self, points: &[(f64, f64)], ink: Ink, thickness: f64, dashed: bool) {
        let mut path = String::new();
        for (i, (x, y)) in points.iter().enumerate() {
            _ = write!(path, "{}{} {}", if i == 0 { 'M' } else { 'L' }, short(*x), short(*y));
        }
        let dash = if dashed {
            format!(" stroke-dasharray=\"{} {}\"", short(DASHES.0), short(DASHES.1))
        } else {
            String::new()
        };
        _ = write!(
            self.body,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dash}/>",
            self.theme.color(ink),
            short(thickness)
        );
    }

    fn text(&mut self, (x, y): (f64, f64), text: &str, style: Lettering) {
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
            format!(
                " stroke=\"{page}\" stroke-width=\"{}\" stroke-linejoin=\"round\" paint-order=\"stroke\"",
                short(HALO)
            )
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

/// Position and size of a box as attributes.
fn placed((x, y): (f64, f64), (width, height): (f64, f64)) -> String {
    format!("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", short(x), short(y), short(width), short(height))
}

/// At most two decimals: a hundredth of a pixel is enough.
fn short(number: f64) -> String {
    let text = format!("{:.2}", if number.is_finite() { number } else { 0.0 });
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// Text escaped for XML; characters that XML cannot hold become spaces.
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
