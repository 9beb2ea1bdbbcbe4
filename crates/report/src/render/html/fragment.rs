//! A report as a part of another page, such as a notebook: no script, nothing loaded, styles that do not
//! affect anything outside of it, light or dark like the page.

use std::fmt::Write;

use super::{parts, table};
use crate::Report;
use crate::chart::{SvgOptions, Theme, escape, page_variables};

const STYLE: &str = include_str!("fragment.css");
/// Width to draw charts for; the page scales them.
const CHART_WIDTH: f64 = 880.0;

/// The verdict, charts, findings and the first `rows` rows of each table as one element.
pub fn html_fragment(report: &Report, rows: usize) -> String {
    let mut page = String::new();
    open(&mut page);
    if let Some(verdict) = &report.verdict {
        parts::verdict(&mut page, verdict);
    }
    parts::problems(&mut page, &report.health);
    let findings = |page: &mut String| {
        if !report.findings.is_empty() {
            parts::findings(page, report);
        }
    };
    if report.findings_first {
        findings(&mut page);
    }
    for chart in &report.charts {
        let options = SvgOptions { theme: Theme::Page, width: CHART_WIDTH, heading: false };
        _ = writeln!(
            page,
            "<figure><figcaption><h3>{}</h3><p>{}</p></figcaption>{}</figure>",
            escape(&chart.title),
            escape(&chart.description),
            chart.svg(&options)
        );
    }
    for shown in report.tables.iter().filter(|table| !table.is_detail && !table.rows.is_empty()) {
        table::first_rows(&mut page, shown, rows);
    }
    if !report.findings_first {
        findings(&mut page);
    }
    if !report.notes.is_empty() {
        parts::notes(&mut page, &report.notes);
    }
    page.push_str("</div>\n");
    page
}

/// Opens the element: a notebook's theme takes precedence over the system's.
fn open(page: &mut String) {
    let (light, dark) = (page_variables(false), page_variables(true));
    _ = write!(
        page,
        "<div class=\"rocm-perf\">\n<style>\n.rocm-perf{{{light}}}\n\
         @media (prefers-color-scheme:dark){{.rocm-perf{{{dark}}}}}\n\
         [data-jp-theme-light=true] .rocm-perf,.vscode-light .rocm-perf{{{light}}}\n\
         [data-jp-theme-light=false] .rocm-perf,.vscode-dark .rocm-perf{{{dark}}}\n{STYLE}</style>\n"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Table, Unit, Value};

    #[test]
    fn names_of_others_stay_text_and_rows_are_counted() {
        let columns = vec![Column::text("name"), Column::int("total_ns", Unit::Ns)];
        let mut kernels = Table::new("kernels", "Kernels", columns);
        for number in 0..30 {
            kernels.push(vec![Value::from("<script>alert(1)</script>"), Value::Int(number)]);
        }
        let report = Report { command: "summary".into(), tables: vec![kernels], ..Report::default() };
        let page = html_fragment(&report, 5);
        assert!(!page.contains("<script"), "{page}");
        assert_eq!(page.matches("&lt;script&gt;").count(), 5);
        assert!(page.contains("30 rows") && page.contains("25 more"), "{page}");
    }
}
