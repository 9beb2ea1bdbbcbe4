//! A report as Markdown. Text from the trace (names, paths, messages) is escaped: `f<float>` is shown, not
//! taken for a tag.

use crate::visible::one_line;
use std::fmt::Write;

use crate::{HealthStatus, Report, Table, layout};

/// The report as Markdown: a heading and a pipe table for each table.
pub fn markdown(report: &Report) -> String {
    let mut text = String::new();
    _ = writeln!(text, "# rocm-perf {}\n", report.command);
    if let Some(verdict) = &report.verdict {
        _ = writeln!(text, "**{}**\n\n{}\n", escaped(&verdict.text), escaped(&verdict.hardware()));
        for why in &verdict.why_not {
            _ = writeln!(text, "Do not trust this: {}\n", escaped(why));
        }
    }
    for input in &report.inputs {
        _ = writeln!(text, "- {} ({})", code(&input.path), input.format);
    }
    for check in report.health.iter().filter(|c| c.status != HealthStatus::Pass) {
        _ = writeln!(text, "- **{}**: {} ({})", check.status.name(), escaped(&check.message), check.id);
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
                escaped(&finding.title),
                finding.severity.name(),
                escaped(&finding.recommendation)
            );
        }
    }
    for note in &report.notes {
        _ = writeln!(text, "\n_{}_", escaped(note));
    }
    text
}

/// One table with its heading.
pub fn markdown_table(text: &mut String, table: &Table) {
    _ = writeln!(text, "\n## {}\n", escaped(&table.title));
    let shown = layout::for_people(table);
    let headings = table.headings();
    let headings: Vec<String> = shown.iter().map(|&c| escaped(&headings[c])).collect();
    let rules: Vec<&str> =
        shown.iter().map(|&c| if table.columns[c].text { "---" } else { "---:" }).collect();
    _ = writeln!(text, "| {} |", headings.join(" | "));
    _ = writeln!(text, "| {} |", rules.join(" | "));
    for row in layout::cells(table) {
        let cells: Vec<String> = shown.iter().map(|&c| escaped(&row[c])).collect();
        _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    if table.hidden > 0 {
        _ = writeln!(text, "\n{} more rows", table.hidden);
    }
}

/// Text on one line with all Markdown and HTML markup escaped. Code between backticks stays code.
pub(super) fn escaped(text: &str) -> String {
    let line = one_line(text);
    // Only paired backticks are code.
    let pairs = line.matches('`').count().is_multiple_of(2);
    let mut out = String::with_capacity(line.len());
    let (mut in_code, mut before) = (false, ' ');
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '`' if pairs => {
                in_code = !in_code;
                out.push(c);
            }
            // A bar ends a table cell even inside code.
            '|' => out.push_str("\\|"),
            _ if in_code => out.push(c),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '[' | ']' | '~' => out.extend(['\\', c]),
            // An underscore inside a word is literal.
            '_' if !(before.is_alphanumeric() && rest.peek().is_some_and(|c| c.is_alphanumeric())) => {
                out.extend(['\\', c]);
            }
            _ => out.push(c),
        }
        before = c;
    }
    out
}

/// Text as code, even if it contains backticks.
pub(super) fn code(text: &str) -> String {
    let line = one_line(text);
    let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if longest > 0 { " " } else { "" };
    format!("{fence}{space}{line}{space}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Unit, Value};

    #[test]
    fn template_arguments_of_a_name_were_taken_for_tags() {
        let mut table = Table::new("t", "T", vec![Column::text("name"), Column::int("n", Unit::None)]);
        table.push(vec![Value::from("void f<float>(a|b, *c_d, __x)"), Value::Int(1)]);
        let mut text = String::new();
        markdown_table(&mut text, &table);
        assert!(text.contains(r"| void f&lt;float&gt;(a\|b, \*c_d, \_\_x) | 1 |"), "{text}");
    }

    #[test]
    fn code_stays_code_and_stray_backticks_do_not_start_any() {
        assert_eq!(escaped("run `a <b>` now"), "run `a <b>` now");
        assert_eq!(escaped("it`s <b>"), r"it\`s &lt;b&gt;");
        assert_eq!(code("plain.db"), "`plain.db`");
        assert_eq!(code("odd`.db"), "`` odd`.db ``");
    }
}
