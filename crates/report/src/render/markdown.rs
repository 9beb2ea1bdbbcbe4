//! A report as Markdown.

use std::fmt::Write;

use crate::{HealthStatus, Report, Table, layout};

/// The report as Markdown: a heading and a pipe table for each table.
pub fn markdown(report: &Report) -> String {
    let mut text = String::new();
    _ = writeln!(text, "# rocm-perf {}\n", report.command);
    if let Some(verdict) = &report.verdict {
        _ = writeln!(text, "**{}**\n", verdict.text);
    }
    for input in &report.inputs {
        _ = writeln!(text, "- `{}` ({})", input.path, input.format);
    }
    for check in report.health.iter().filter(|c| c.status != HealthStatus::Pass) {
        _ = writeln!(text, "- **{}**: {} ({})", check.status.name(), check.message, check.id);
    }
    for table in &report.tables {
        markdown_table(&mut text, table);
    }
    if !report.findings.is_empty() {
        text.push_str("\n## Findings\n\n");
        for finding in &report.findings {
            _ = writeln!(
                text,
                "- **{}** ({}): {}",
                finding.title,
                finding.severity.name(),
                finding.recommendation
            );
        }
    }
    for note in &report.notes {
        _ = writeln!(text, "\n_{note}_");
    }
    text
}

/// One table with its heading.
pub fn markdown_table(text: &mut String, table: &Table) {
    _ = writeln!(text, "\n## {}\n", table.title);
    let shown = layout::for_people(table);
    let headings: Vec<String> = shown.iter().map(|&c| table.columns[c].heading()).collect();
    let rules: Vec<&str> =
        shown.iter().map(|&c| if table.columns[c].text { "---" } else { "---:" }).collect();
    _ = writeln!(text, "| {} |", headings.join(" | "));
    _ = writeln!(text, "| {} |", rules.join(" | "));
    for row in layout::cells(table) {
        let cells: Vec<String> = shown.iter().map(|&c| row[c].replace('|', "\\|")).collect();
        _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    if table.hidden > 0 {
        _ = writeln!(text, "\n{} more rows", table.hidden);
    }
}
