//! Decides what goes on which page.

use super::sheets::{BOTTOM, LEFT, RIGHT, Sheets, Stamp, TOP, Type, lines};
use super::table;
use crate::chart::canvas::Canvas;
use crate::chart::{Anchor, Chart, Ink, SvgOptions, text};
use crate::document::{Document, Figure, SectionContent};
use crate::{HealthStatus, Report, Severity, Unit, Value, evidence, number};

const BODY: f64 = 9.0;
/// Figures per row.
const FIGURES: usize = 4;
/// Charts are drawn this wide and then scaled to fit, so that their text is a little smaller than the page's.
const CHART_WIDTH: f64 = 760.0;
/// Maximum pieces of evidence per finding.
const EVIDENCE: usize = 8;

/// Lays a document out.
pub fn flow(document: &Document, rows: usize) -> Sheets {
    let mut sheets = Sheets::new();
    head(&mut sheets, document);
    if let Some(verdict) = &document.report.verdict {
        sheets.space(8.0);
        sheets.paragraph(&verdict.text, Type::new(11.0, Ink::Text).bold(), LEFT);
        sheets.paragraph(&verdict.hardware(), Type::new(BODY, Ink::Text), LEFT);
        for why in &verdict.why_not {
            sheets.paragraph(&format!("Do not trust this: {why}"), Type::new(BODY, Ink::Bad), LEFT);
        }
    }
    for (section, parts) in document.outline() {
        sheets.space(22.0);
        // A heading is never at the end of a page.
        let first = match parts.first() {
            Some(SectionContent::Chart(chart)) => Picture::of(chart).height(),
            _ => 100.0,
        };
        sheets.need(48.0 + first);
        sheets.sections.push((section.title.clone(), sheets.pages.len() - 1, sheets.y));
        sheets.words(
            (LEFT, sheets.y + 14.0),
            &section.title,
            Type::new(14.0, Ink::Text).bold(),
            Anchor::Start,
        );
        sheets.y += 21.0;
        sheets.rule(sheets.y, Ink::Grid);
        sheets.y += 8.0;
        if !section.text.is_empty() {
            sheets.paragraph(&section.text, Type::new(BODY, Ink::Muted), LEFT);
        }
        for part in parts {
            match part {
                SectionContent::Chart(chart) => draw(&mut sheets, chart),
                SectionContent::Table(table) => table::table(&mut sheets, table, rows),
                SectionContent::Findings => findings(&mut sheets, &document.report),
                SectionContent::Health => health(&mut sheets, &document.report),
                SectionContent::Notes => {
                    sheets.space(6.0);
                    for note in &document.report.notes {
                        sheets.paragraph(note, Type::new(BODY, Ink::Muted), LEFT);
                    }
                }
            }
        }
    }
    sheets
}

fn head(sheets: &mut Sheets, document: &Document) {
    sheets.y = TOP + 6.0;
    sheets.paragraph(&document.title, Type::new(22.0, Ink::Text).bold(), LEFT);
    sheets.paragraph(&document.subtitle, Type::new(BODY + 1.0, Ink::Muted), LEFT);
    sheets.y += 10.0;
    for row in document.figures.chunks(FIGURES) {
        figures(sheets, row);
    }
    for check in document.report.health.iter().filter(|check| check.status != HealthStatus::Pass).take(8) {
        sheets.y += 3.0;
        labelled(sheets, check.status.name(), status_ink(check.status), &check.message);
    }
}

fn figures(sheets: &mut Sheets, figures: &[Figure]) {
    let width = (RIGHT - LEFT) / FIGURES as f64;
    sheets.need(58.0);
    sheets.rule(sheets.y, Ink::Grid);
    for (place, figure) in figures.iter().enumerate() {
        let x = LEFT + width * place as f64;
        let room = width - 10.0;
        let mut put = |y: f64, words: &str, style: Type| {
            sheets.words((x, sheets.y + y), &text::shorten(words, style.size, room), style, Anchor::Start);
        };
        put(15.0, &figure.label, Type::new(8.0, Ink::Muted));
        put(33.0, &figure.value, Type::new(16.0, Ink::Text).bold());
        put(46.0, &figure.note, Type::new(8.0, Ink::Muted));
    }
    sheets.y += 54.0;
}

fn status_ink(status: HealthStatus) -> Ink {
    match status {
        HealthStatus::Pass => Ink::Good,
        HealthStatus::Warn => Ink::Series(1),
        HealthStatus::Fail => Ink::Bad,
    }
}

/// A coloured label, with text next to it.
fn labelled(sheets: &mut Sheets, label: &str, ink: Ink, words: &str) {
    const INDENT: f64 = 48.0;
    sheets.need(BODY * 1.4);
    sheets.words((LEFT, sheets.y + BODY), label, Type::new(BODY, ink).bold(), Anchor::Start);
    sheets.paragraph(words, Type::new(BODY, Ink::Text), LEFT + INDENT);
}

/// A chart that is ready to be placed.
struct Picture {
    canvas: Canvas,
    /// Height of its title and description.
    words: f64,
    /// Size on the page.
    size: (f64, f64),
}

impl Picture {
    /// As wide as the page allows, and never higher than a page.
    fn of(chart: &Chart) -> Self {
        let options = SvgOptions { width: CHART_WIDTH, heading: false, ..SvgOptions::default() };
        let canvas = chart.canvas(&options);
        let style = Type::new(BODY, Ink::Muted);
        let words = lines(&chart.description, style, RIGHT - LEFT).len() as f64 * style.size * 1.4 + 24.0;
        let (width, height) = (canvas.width, canvas.height);
        let most = BOTTOM - TOP - words - 60.0;
        let by = ((RIGHT - LEFT) / width).min(most / height);
        Self { canvas, words, size: (width * by, height * by) }
    }

    fn height(&self) -> f64 {
        self.words + self.size.1
    }
}

/// A chart with its title and description, never split over two pages.
fn draw(sheets: &mut Sheets, chart: &Chart) {
    let picture = Picture::of(chart);
    sheets.space(14.0);
    sheets.need(picture.height());
    sheets.words((LEFT, sheets.y + 11.0), &chart.title, Type::new(11.0, Ink::Text).bold(), Anchor::Start);
    sheets.y += 16.0;
    sheets.paragraph(&chart.description, Type::new(BODY, Ink::Muted), LEFT);
    sheets.y += 6.0;
    let (y, (width, height)) = (sheets.y, picture.size);
    sheets.push(Stamp::Drawing { x: LEFT, y, width, canvas: picture.canvas });
    sheets.y += height;
}

fn findings(sheets: &mut Sheets, report: &Report) {
    for finding in &report.findings {
        sheets.space(9.0);
        sheets.need(60.0);
        let ink = match finding.severity {
            Severity::High => Ink::Bad,
            Severity::Medium => Ink::Series(1),
            Severity::Info => Ink::Muted,
        };
        sheets.paragraph(&finding.title, Type::new(10.0, Ink::Text).bold(), LEFT);
        let mut line = finding.severity.name().to_string();
        if let Some(gain) = finding.gain() {
            line.push_str(&format!(", saves up to {gain}{}", finding.gain_parts()));
        }
        sheets.paragraph(&line, Type::new(BODY, ink).bold(), LEFT);
        sheets.paragraph(&finding.recommendation, Type::new(BODY, Ink::Text), LEFT);
        let evidence = finding.evidence.iter().take(EVIDENCE).map(|(key, value)| {
            let (label, words) = evidence::shown(key, value, report.trace_start_ns);
            let short: String = words.chars().take(160).collect();
            format!("{label}: {short}{}", if short.len() < words.len() { "…" } else { "" })
        });
        let evidence: Vec<String> = evidence.collect();
        if !evidence.is_empty() {
            sheets.paragraph(&evidence.join(" · "), Type::new(8.0, Ink::Muted), LEFT);
        }
    }
    sheets.space(4.0);
}

fn health(sheets: &mut Sheets, report: &Report) {
    let heading = |sheets: &mut Sheets, words: &str| {
        sheets.space(12.0);
        sheets.need(40.0);
        sheets.paragraph(words, Type::new(11.0, Ink::Text).bold(), LEFT);
    };
    heading(sheets, "Inputs");
    for input in &report.inputs {
        let size = number::show(&Value::Int(input.bytes as i64), Unit::Bytes);
        let rank = input.rank.map_or(String::new(), |rank| format!(", rank {rank}"));
        let words = format!("{} ({}, {size}{rank})", input.path, input.format);
        sheets.paragraph(&words, Type::new(BODY, Ink::Text), LEFT);
    }
    if !report.health.is_empty() {
        heading(sheets, "Health");
    }
    for check in &report.health {
        labelled(sheets, check.status.name(), status_ink(check.status), &check.message);
    }
}
