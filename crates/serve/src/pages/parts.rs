//! Small things that pages are made of.

use maud::{Markup, html};
use report::{Unit, Value, show, visible};
use store::{Metric, Status};

use crate::time;

/// Foreign text: deceptive characters are made visible. It is escaped when it is put into a page.
pub fn plain(text: &str) -> String {
    visible(text).into_owned()
}

/// Words with code between backticks.
pub fn prose(text: &str) -> Markup {
    let text = plain(text);
    let pieces: Vec<&str> = text.split('`').collect();
    html! {
        @if pieces.len() % 2 == 1 {
            @for (at, piece) in pieces.iter().enumerate() {
                @if at % 2 == 1 { code { (piece) } } @else { (piece) }
            }
        } @else {
            (text)
        }
    }
}

/// A point in time.
pub fn at(ns: i64) -> Markup {
    html! { time datetime=(time::iso(ns)) { (time::short(ns)) } }
}

/// The status of an experiment.
pub fn status(status: Status) -> Markup {
    let (class, words) = match status {
        Status::Regressed => ("chip bad", "regressed"),
        Status::Passing => ("chip good", "passing"),
        Status::Unjudged => ("chip", "not judged"),
        Status::Empty => ("chip", "no trials"),
    };
    html! { span class=(class) { (words) } }
}

/// Whether a trace was taken on the architecture that the answer is for.
pub fn arch_match(word: &str, reason: Option<&str>) -> Markup {
    let class = match word {
        "exact" => "chip good",
        "compatible" => "chip warn",
        "mismatch" => "chip bad",
        _ => "chip",
    };
    html! { span class=(class) data-tip=[reason] title=[reason] { "architecture: " (plain(word)) } }
}

/// A figure with its unit.
pub fn figure(metric: &Metric) -> String {
    number(metric.value, &metric.unit)
}

/// A number with its unit.
pub fn number(value: f64, unit: &str) -> String {
    match unit {
        "ns" => show(&Value::Float(value), Unit::Ns),
        "%" => show(&Value::Float(value), Unit::Pct),
        "bytes" | "B" => show(&Value::Float(value), Unit::Bytes),
        "" => show(&Value::Float(value), Unit::None),
        other => format!("{} {}", show(&Value::Float(value), Unit::None), plain(other)),
    }
}

/// A metric's name for people.
pub fn metric_name(name: &str) -> String {
    plain(&name.replace('_', " "))
}

/// How a change in percent is written.
pub fn change(percent: Option<f64>) -> String {
    percent.map_or_else(|| "from zero".into(), |percent| format!("{percent:+.1} %"))
}

/// A line of the latest values, without axes.
pub fn sparkline(values: &[f64], label: &str) -> Markup {
    const WIDTH: f64 = 120.0;
    const HEIGHT: f64 = 24.0;
    const EDGE: f64 = 3.0;
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    let span = if high > low { high - low } else { 1.0 };
    let place = |at: usize, value: f64| {
        let steps = values.len().saturating_sub(1).max(1) as f64;
        let x =
            if values.len() == 1 { WIDTH - EDGE } else { EDGE + (WIDTH - 2.0 * EDGE) * at as f64 / steps };
        let y = if high > low {
            HEIGHT - EDGE - (HEIGHT - 2.0 * EDGE) * (value - low) / span
        } else {
            HEIGHT / 2.0
        };
        (x, y)
    };
    let mut path = String::new();
    for (at, value) in values.iter().enumerate() {
        let (x, y) = place(at, *value);
        path.push_str(&format!("{}{x:.1} {y:.1}", if at == 0 { "M" } else { "L" }));
    }
    let last = values.last().map(|value| place(values.len() - 1, *value));
    html! {
        svg.spark viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(label) {
            @if values.len() > 1 { path d=(path) {} }
            @if let Some((x, y)) = last { circle cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r="2.6" {} }
        }
    }
}

/// An empty state, and what to do about it.
pub fn empty(title: &str, words: &str, command: Option<&str>) -> Markup {
    html! {
        div.empty {
            h2 { (title) }
            p { (prose(words)) }
            @if let Some(command) = command { pre { (command) } }
        }
    }
}

/// Links to other pages of a list; `address` makes the address of a page.
pub fn pager(page: usize, pages: usize, words: &str, address: &dyn Fn(usize) -> String) -> Markup {
    html! {
        nav.pages aria-label="Pages of the list" {
            span { (words) }
            @if page > 1 { a.button rel="prev" href=(address(page - 1)) { "‹ Previous" } }
            @if page < pages { a.button rel="next" href=(address(page + 1)) { "Next ›" } }
        }
    }
}

/// A number with separated thousands.
pub fn count(number: usize) -> String {
    show(&Value::from(number), Unit::None)
}

/// `1 trial`, `2 trials`
pub fn counted(number: usize, what: &str) -> String {
    format!("{} {what}{}", count(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_strangers_stays_text() {
        assert_eq!(prose("<b> `<i>`").into_string(), "&lt;b&gt; <code>&lt;i&gt;</code>");
        assert_eq!(prose("a ` alone").into_string(), "a ` alone");
        assert!(plain("a\u{202e}b").contains("u{202e}"));
    }

    #[test]
    fn numbers_have_their_unit() {
        assert_eq!(number(11_048_761.0, "ns"), "11.05 ms");
        assert_eq!(number(812.5, "tok/s"), "812.5 tok/s");
        assert_eq!(change(Some(5.04)), "+5.0 %");
    }

    #[test]
    fn a_flat_line_is_drawn_in_the_middle() {
        assert!(sparkline(&[1.0, 1.0], "x").into_string().contains("M3.0 12.0L117.0 12.0"));
        assert!(sparkline(&[], "x").into_string().contains("<svg"));
    }
}
