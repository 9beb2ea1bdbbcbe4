//! A document as one page that works from disk: charts with tooltips, tables to sort and filter, light and
//! dark.
//!
//! Nothing is loaded from anywhere: styles, script, fonts and data are in the page. A table shows its first
//! rows without any script; the others are compact data that the script reads when someone sorts, filters or
//! turns a page.

mod fragment;
mod parts;
mod table;

pub use fragment::html_fragment;

use std::fmt::Write;

use base64::Engine;

use crate::chart::{SvgOptions, Theme, escape, page_variables};
use crate::document::{Document, SectionContent};
use crate::{HealthStatus, Verdict, fonts};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Width to draw charts for; the page scales them.
const CHART_WIDTH: f64 = 1080.0;

/// The page.
pub fn html(document: &Document) -> String {
    let mut page = String::new();
    head(&mut page, document);
    page.push_str("<body>\n");
    header(&mut page, document);
    let outline = document.outline();
    page.push_str("<nav><div>");
    for (section, _) in &outline {
        _ = write!(page, "<a href=\"#{}\">{}</a>", escape(&section.id), escape(&section.title));
    }
    page.push_str("<span></span><button id=\"theme\" type=\"button\" title=\"light or dark\">◐</button></div></nav>\n<main>\n");
    if let Some(verdict) = &document.report.verdict {
        parts::verdict(&mut page, verdict);
    }
    parts::figures(&mut page, &document.figures);
    parts::problems(&mut page, &document.report.health);
    for (section, found) in &outline {
        _ = write!(page, "<section id=\"{}\">\n<h2>{}</h2>\n", escape(&section.id), escape(&section.title));
        if !section.text.is_empty() {
            _ = writeln!(page, "<p class=\"lead\">{}</p>", parts::prose(&section.text));
        }
        for part in found {
            match part {
                SectionContent::Chart(chart) => {
                    let options = SvgOptions { theme: Theme::Page, width: CHART_WIDTH, heading: false };
                    _ = writeln!(
                        page,
                        "<figure id=\"chart-{}\"><figcaption><h3>{}</h3><p>{}</p></figcaption>{}</figure>",
                        escape(&chart.name),
                        escape(&chart.title),
                        escape(&chart.description),
                        chart.svg(&options)
                    );
                }
                SectionContent::Table(table) => table::table(&mut page, table),
                SectionContent::Findings => parts::findings(&mut page, &document.report),
                SectionContent::Health => parts::health(&mut page, &document.report),
                SectionContent::Notes => parts::notes(&mut page, &document.report.notes),
            }
        }
        page.push_str("</section>\n");
    }
    _ = write!(page, "</main>\n<footer>rocm-perf {}</footer>\n", escape(&document.version));
    _ = write!(
        page,
        "<div id=\"tip\" role=\"tooltip\" hidden></div>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    );
    page
}

fn head(page: &mut String, document: &Document) {
    // The policy makes the browser refuse anything that is not part of the page.
    const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; font-src data:; img-src data: blob:";
    _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"rocm-perf {}\">\n<title>{}</title>\n<style>\n",
        escape(&document.version),
        escape(&document.title)
    );
    for (weight, font) in [(400, fonts::REGULAR), (500, fonts::MEDIUM)] {
        let data = base64::engine::general_purpose::STANDARD.encode(font);
        _ = writeln!(
            page,
            "@font-face{{font-family:Roboto;font-weight:{weight};src:url(data:font/ttf;base64,{data})}}"
        );
    }
    let (light, dark) = (page_variables(false), page_variables(true));
    _ = write!(
        page,
        ":root{{color-scheme:light;{light}}}\n\
         @media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n\
         :root[data-theme=dark]{{color-scheme:dark;{dark}}}\n\
         @media print{{:root,:root[data-theme=dark]{{color-scheme:light;{light}}}}}\n{STYLE}</style>\n</head>\n"
    );
}

fn header(page: &mut String, document: &Document) {
    let trusted = document.report.verdict.as_ref().is_none_or(Verdict::trusted);
    let (class, words) = match document.report.health_status() {
        HealthStatus::Fail => ("fail", "not healthy"),
        _ if !trusted => ("warn", "not to be trusted"),
        HealthStatus::Warn => ("warn", "with warnings"),
        HealthStatus::Pass => ("pass", "healthy"),
    };
    _ = write!(page, "<header><div><h1>{}</h1>", escape(&document.title));
    if !document.subtitle.is_empty() {
        _ = write!(page, "<p>{}</p>", escape(&document.subtitle));
    }
    _ = writeln!(page, "</div><span class=\"chip {class}\" title=\"trace health\">{words}</span></header>");
}
