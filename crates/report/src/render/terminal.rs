//! A report for a terminal: tables that fit its width, with health and notes below.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use crate::{Finding, HealthCheck, HealthStatus, Report, Table, Verdict, layout};

/// The width of the terminal, whether it supports colours, and how to get what does not fit on a screen.
#[derive(Clone, Copy, Debug)]
pub struct TerminalOptions {
    /// Characters per line.
    pub width: usize,
    /// Whether to use colours.
    pub color: bool,
    /// How to see all rows of a table, such as `limit=0 shows all`; empty if that is impossible.
    pub all_rows: &'static str,
    /// How to see all health checks.
    pub all_checks: &'static str,
    /// Whether to show detail tables.
    pub details: bool,
}

impl Default for TerminalOptions {
    fn default() -> Self {
        Self { width: 120, color: false, all_rows: "", all_checks: "", details: false }
    }
}

/// Text in parentheses; empty if there is none.
fn aside(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(" ({words})") }
}

const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "31";
const YELLOW: &str = "33";

/// The report as text.
pub fn terminal(report: &Report, options: &TerminalOptions) -> String {
    let mut text = String::new();
    if let Some(verdict) = &report.verdict {
        draw_verdict(&mut text, verdict, options);
    }
    let findings =
        |text: &mut String| report.findings.iter().for_each(|one| draw_finding(text, one, options));
    if report.findings_first {
        findings(&mut text);
    }
    for table in report.tables.iter().filter(|table| options.details || !table.is_detail) {
        draw(&mut text, table, options);
    }
    if !report.findings_first {
        findings(&mut text);
    }
    draw_health(&mut text, &report.health, options);
    for note in &report.notes {
        for line in wrapped(note, options.width) {
            _ = writeln!(text, "{}", paint(&line, DIM, options.color));
        }
    }
    text
}

fn draw_verdict(text: &mut String, verdict: &Verdict, options: &TerminalOptions) {
    for line in layout::wrap(&verdict.text, options.width) {
        _ = writeln!(text, "{}", paint(&line, BOLD, options.color));
    }
    _ = writeln!(text, "{}", paint(&verdict.hardware(), DIM, options.color));
    for why in &verdict.why_not {
        for line in layout::wrap(&format!("do not trust this: {why}"), options.width) {
            _ = writeln!(text, "{}", paint(&line, YELLOW, options.color));
        }
    }
    text.push('\n');
}

fn draw(text: &mut String, table: &Table, options: &TerminalOptions) {
    if table.rows.is_empty() && table.hidden == 0 {
        _ = writeln!(text, "{}: none\n", paint(&table.title, BOLD, options.color));
        return;
    }
    let cells = layout::cells(table);
    let layout = layout::fit(table, &cells, options.width);
    let total = table.rows.len() + table.hidden;
    let count = if table.hidden > 0 { format!("{} of {total}", table.rows.len()) } else { total.to_string() };
    _ = writeln!(
        text,
        "{} {}",
        paint(&table.title, BOLD, options.color),
        paint(&format!("({count})"), DIM, options.color)
    );
    let headings = table.headings();
    let mut shown = cells.clone();
    for &(column, width) in layout.columns.iter().filter(|(column, _)| table.columns[*column].text) {
        let texts: Vec<&str> = cells.iter().map(|row| row[column].as_str()).collect();
        for (row, text) in
            layout::shorten_column(&table.columns[column], &texts, width).into_iter().enumerate()
        {
            shown[row][column] = text;
        }
    }
    let line = |cells: &[String]| {
        let mut line = String::new();
        for (place, &(column, width)) in layout.columns.iter().enumerate() {
            if place > 0 {
                line.push_str("  ");
            }
            let cell = layout::shorten(&cells[column], width);
            let pad = " ".repeat(width.saturating_sub(cell.width()));
            let left = table.columns[column].text;
            _ = if left { write!(line, "{cell}{pad}") } else { write!(line, "{pad}{cell}") };
        }
        line.trim_end().to_string()
    };
    _ = writeln!(text, "{}", paint(&line(&headings), DIM, options.color));
    for row in &shown {
        _ = writeln!(text, "{}", line(row));
    }
    if table.hidden > 0 {
        let hint = format!("… {} more rows{}", table.hidden, aside(options.all_rows));
        _ = writeln!(text, "{}", paint(&hint, DIM, options.color));
    }
    if !layout.left_out.is_empty() {
        for line in layout::wrap(&not_shown(&layout.left_out), options.width) {
            _ = writeln!(text, "{}", paint(&line, DIM, options.color));
        }
    }
    text.push('\n');
}

/// The columns that did not fit, the first few by name.
fn not_shown(columns: &[String]) -> String {
    const NAMED: usize = 8;
    let named = columns[..columns.len().min(NAMED)].join(", ");
    match columns.len().saturating_sub(NAMED) {
        0 => format!("not shown at this width: {named}"),
        more => format!("not shown at this width: {named} and {more} more"),
    }
}

/// Checks that did not pass; a thousand inputs with one fault take a few lines, not a thousand.
fn draw_health(text: &mut String, checks: &[HealthCheck], options: &TerminalOptions) {
    const SHOWN: usize = 3;
    let problems: Vec<&HealthCheck> = checks.iter().filter(|c| c.status != HealthStatus::Pass).collect();
    for (place, check) in problems.iter().enumerate() {
        let alike = |c: &&&HealthCheck| c.id == check.id;
        let before = problems[..place].iter().filter(alike).count();
        let color = if check.status == HealthStatus::Fail { RED } else { YELLOW };
        let label = paint(check.status.name(), color, options.color);
        if before < SHOWN {
            let words = check.status.name().len() + 1;
            let lines = layout::wrap(
                &format!("{}: {}", check.id, check.message),
                options.width.saturating_sub(words),
            );
            _ = writeln!(text, "{label} {}", lines.join(&format!("\n{}", " ".repeat(words))));
        } else if before == SHOWN {
            let more = problems[place..].iter().filter(alike).count();
            let how = aside(options.all_checks);
            _ = writeln!(text, "{label} {}: {more} more like this{how}", check.id);
        }
    }
}

fn draw_finding(text: &mut String, finding: &Finding, options: &TerminalOptions) {
    let title = paint(&finding.title, BOLD, options.color);
    _ = writeln!(text, "[{}] {title}", finding.severity.name());
    if let Some(gain) = finding.gain() {
        _ = writeln!(text, "    saves up to {gain}{}", finding.gain_parts());
    }
    for line in finding.recommendation.lines().map(str::trim).filter(|line| !line.is_empty()) {
        // A command is kept on one line.
        if line.starts_with('$') {
            _ = writeln!(text, "    {line}");
            continue;
        }
        for line in layout::wrap(line, options.width.saturating_sub(4)) {
            _ = writeln!(text, "    {line}");
        }
    }
    if !finding.next.is_empty() {
        _ = writeln!(text, "    {}", paint(&format!("$ {}", finding.next), DIM, options.color));
    }
    text.push('\n');
}

/// A note in lines; a line that starts with spaces or is a command is kept whole.
fn wrapped(note: &str, width: usize) -> Vec<String> {
    let is_whole = |line: &str| line.starts_with(' ') || line.trim_start().starts_with('$');
    let lines = note.lines().flat_map(|line| match is_whole(line) {
        true => vec![line.to_string()],
        false => layout::wrap(line, width),
    });
    lines.collect()
}

fn paint(text: &str, code: &str, color: bool) -> String {
    if color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Unit, Value};

    #[test]
    fn notes_and_checks_are_no_longer_wider_than_the_screen() {
        let long = "some words that go on ".repeat(10);
        let report = Report {
            notes: vec![
                long.as_str().into(),
                "  $ rocm-perf kept whole".into(),
                "counters are missing (`rocm-perf collect --counters A -- ./app` collects them)".into(),
            ],
            health: vec![HealthCheck {
                id: "coverage".into(),
                status: HealthStatus::Warn,
                value: None,
                message: long.clone(),
            }],
            ..Report::default()
        };
        let text = terminal(&report, &TerminalOptions { width: 60, ..TerminalOptions::default() });
        assert!(text.lines().all(|line| line.width() <= 60), "{text}");
        assert!(text.contains("\n  $ rocm-perf kept whole\n"), "{text}");
        assert!(text.contains("\n(`rocm-perf collect --counters A -- ./app` collects them)\n"), "{text}");
    }

    #[test]
    fn an_empty_table_no_longer_takes_headings_and_a_list_of_hidden_columns() {
        let columns = vec![Column::text("kernel"), Column::text("note").detail()];
        let table = Table::new("overlap", "What could overlap", columns);
        let report = Report { tables: vec![table], ..Report::default() };
        assert_eq!(terminal(&report, &TerminalOptions::default()), "What could overlap: none\n\n");
    }

    #[test]
    fn columns_that_do_not_fit_no_longer_run_over_the_edge_of_the_screen() {
        let hidden = (0..12).map(|n| Column::int(&format!("long_counter_name_{n}"), Unit::None).detail());
        let columns: Vec<Column> = [Column::text("kernel")].into_iter().chain(hidden).collect();
        let mut table = Table::new("t", "T", columns);
        let cells = [Value::from("k")].into_iter().chain((0..12).map(Value::Int));
        table.push(cells.collect());
        let report = Report { tables: vec![table], ..Report::default() };
        let text = terminal(&report, &TerminalOptions { width: 60, ..TerminalOptions::default() });
        assert!(text.lines().all(|line| line.width() <= 60), "{text}");
        assert!(text.contains("and 2 more\n") || text.contains("\nmore\n"), "{text}");
    }

    #[test]
    fn a_finding_no_longer_ends_without_the_command_that_looks_closer() {
        let next = "rocm-perf critical-path trace.json.gz --what-if finding:launch-bound=0";
        let finding = Finding {
            title: "the host launches too slowly".into(),
            recommendation: "use graphs".into(),
            next: next.into(),
            ..Finding::default()
        };
        let report = Report { findings: vec![finding], ..Report::default() };
        let text = terminal(&report, &TerminalOptions { width: 80, ..TerminalOptions::default() });
        assert!(text.contains(&format!("    use graphs\n    $ {next}\n")), "{text}");
    }
}
