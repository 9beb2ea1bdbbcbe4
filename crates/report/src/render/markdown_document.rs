//! A document as Markdown, in reading order.

use std::fmt::Write;

use super::markdown::{code, escaped, markdown_table};
use crate::document::{Document, SectionContent};
use crate::{Finding, HealthStatus, Report};

/// Headings, figures, findings and tables of at most `rows` rows (0 for all); `picture` names the file of a chart.
pub fn markdown_document(
    document: &Document,
    rows: usize,
    picture: &dyn Fn(&str) -> Option<String>,
) -> String {
    let mut text = format!("# {}\n\n{}\n", escaped(&document.title), escaped(&document.subtitle));
    if let Some(verdict) = &document.report.verdict {
        _ = write!(text, "\n**{}**\n\n{}\n", escaped(&verdict.text), escaped(&verdict.hardware()));
        for why in &verdict.why_not {
            _ = write!(text, "\nDo not trust this: {}\n", escaped(why));
        }
    }
    if !document.figures.is_empty() {
        text.push_str("\n| figure | value | |\n| --- | ---: | --- |\n");
        for figure in &document.figures {
            _ = writeln!(
                text,
                "| {} | {} | {} |",
                escaped(&figure.label),
                escaped(&figure.value),
                escaped(&figure.note)
            );
        }
    }
    for (section, parts) in document.outline() {
        _ = write!(text, "\n## {}\n", escaped(&section.title));
        if !section.text.is_empty() {
            _ = write!(text, "\n{}\n", escaped(&section.text));
        }
        for part in parts {
            match part {
                SectionContent::Chart(chart) => {
                    if let Some(file) = picture(&chart.name) {
                        _ = write!(
                            text,
                            "\n![{}]({})\n\n{}\n",
                            escaped(&chart.title),
                            file.replace(' ', "%20"),
                            escaped(&chart.description)
                        );
                    }
                }
                SectionContent::Table(table) => {
                    let mut table = table.clone();
                    table.limit(rows);
                    let mut one = String::new();
                    markdown_table(&mut one, &table);
                    // One level below the section's heading.
                    text.push_str(&one.replacen("\n## ", "\n### ", 1));
                }
                SectionContent::Findings => {
                    document.report.findings.iter().for_each(|found| finding(&mut text, found))
                }
                SectionContent::Health => health(&mut text, &document.report),
                SectionContent::Notes => {
                    for note in &document.report.notes {
                        _ = write!(text, "\n_{}_\n", escaped(note));
                    }
                }
            }
        }
    }
    _ = write!(text, "\nrocm-perf {}\n", document.version);
    text
}

fn finding(text: &mut String, finding: &Finding) {
    let gain =
        finding.gain().map_or(String::new(), |gain| format!(", saves up to {gain}{}", finding.gain_parts()));
    _ = write!(text, "\n- **{}** ({}){gain}", escaped(&finding.title), finding.severity.name());
    if !finding.recommendation.is_empty() {
        _ = write!(text, "  \n  {}", escaped(&finding.recommendation));
    }
    if !finding.next.is_empty() {
        _ = write!(text, "  \n  {}", code(&finding.next));
    }
    text.push('\n');
}

fn health(text: &mut String, report: &Report) {
    text.push('\n');
    for input in &report.inputs {
        _ = writeln!(text, "- {} ({})", code(&input.path), input.format);
    }
    for check in report.health.iter().filter(|check| check.status != HealthStatus::Pass) {
        _ = writeln!(text, "- **{}**: {} ({})", check.status.name(), escaped(&check.message), check.id);
    }
}
