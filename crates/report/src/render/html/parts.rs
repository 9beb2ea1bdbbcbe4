//! Figures, findings, health and notes of a page.

use std::fmt::Write;

use crate::chart::escape;
use crate::document::Figure;
use crate::{HealthCheck, HealthStatus, Note, Report, Unit, Value, Verdict, evidence, number};

/// Text for people: text in backticks was typed or is meant to be typed.
pub fn prose(text: &str) -> String {
    let mut shown = String::new();
    for (place, part) in text.split('`').enumerate() {
        // An unpaired backtick is just a backtick.
        match (place % 2, text.matches('`').count() % 2) {
            (1, 0) => _ = write!(shown, "<code>{}</code>", escape(part)),
            (_, 0) => shown.push_str(&escape(part)),
            (_, _) => return escape(text),
        }
    }
    shown
}

/// More problems of one kind than this are only counted.
const ALIKE: usize = 3;

pub fn figures(page: &mut String, figures: &[Figure]) {
    if figures.is_empty() {
        return;
    }
    page.push_str("<dl class=\"figures\">");
    for figure in figures {
        _ = write!(
            page,
            "<div><dt>{}</dt><dd>{}</dd><dd class=\"note\">{}</dd></div>",
            escape(&figure.label),
            escape(&figure.value),
            escape(&figure.note)
        );
    }
    page.push_str("</dl>\n");
}

/// The problems of the input, at a prominent place.
pub fn problems(page: &mut String, checks: &[HealthCheck]) {
    let problems: Vec<&HealthCheck> =
        checks.iter().filter(|check| check.status != HealthStatus::Pass).collect();
    if problems.is_empty() {
        return;
    }
    page.push_str("<ul class=\"problems\">");
    for (place, check) in problems.iter().enumerate() {
        let alike = |other: &&&HealthCheck| other.id == check.id;
        let before = problems[..place].iter().filter(alike).count();
        if before < ALIKE {
            _ = write!(
                page,
                "<li><span class=\"chip {0}\">{0}</span> {1}</li>",
                check.status.name(),
                prose(&check.message)
            );
        } else if before == ALIKE {
            let more = problems[place..].iter().filter(alike).count();
            _ = write!(
                page,
                "<li><span class=\"chip {0}\">{0}</span> {more} more like this, listed under health</li>",
                check.status.name()
            );
        }
    }
    page.push_str("</ul>\n");
}

pub fn verdict(page: &mut String, verdict: &Verdict) {
    _ = writeln!(page, "<p class=\"verdict\">{}</p>", prose(&verdict.text));
    _ = writeln!(page, "<p class=\"lead\">{}</p>", prose(&verdict.hardware()));
    for why in &verdict.why_not {
        _ = writeln!(page, "<p class=\"lead\">Do not trust this: {}</p>", prose(why));
    }
}

pub fn findings(page: &mut String, report: &Report) {
    page.push_str("<ol class=\"findings\">\n");
    for finding in &report.findings {
        _ = write!(
            page,
            "<li><h3><span class=\"chip {0}\">{0}</span> {1}</h3>",
            finding.severity.name(),
            escape(&finding.title)
        );
        if let Some(gain) = finding.gain() {
            let parts = finding.gain_parts();
            _ = write!(page, "<p class=\"gain\">saves up to <b>{}</b>{}</p>", escape(&gain), escape(&parts));
        }
        if !finding.recommendation.is_empty() {
            _ = write!(page, "<p>{}</p>", prose(&finding.recommendation));
        }
        if !finding.next.is_empty() {
            _ = write!(page, "<p><code>{}</code></p>", escape(&finding.next));
        }
        if !finding.evidence.is_empty() {
            page.push_str("<details><summary>evidence</summary><dl>");
            for (key, value) in &finding.evidence {
                let (label, text) = evidence::shown(key, value, report.trace_start_ns);
                _ = write!(page, "<dt>{}</dt><dd>{}</dd>", escape(&label), escape(&text));
            }
            page.push_str("</dl></details>");
        }
        page.push_str("</li>\n");
    }
    page.push_str("</ol>\n");
}

pub fn health(page: &mut String, report: &Report) {
    page.push_str("<h3>Inputs</h3>\n<div class=\"scroll\"><table class=\"plain\"><thead><tr><th>path</th><th>format</th><th class=\"n\">size</th><th class=\"n\">rank</th></tr></thead><tbody>");
    for input in &report.inputs {
        let rank = input.rank.map_or("–".to_string(), |rank| rank.to_string());
        let size = number::show(&Value::Int(input.bytes as i64), Unit::Bytes);
        _ = write!(
            page,
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{rank}</td></tr>",
            escape(&input.path),
            escape(&input.format),
            escape(&size)
        );
    }
    page.push_str("</tbody></table></div>\n");
    if report.health.is_empty() {
        return;
    }
    page.push_str("<h3>Health</h3>\n<div class=\"scroll\"><table class=\"plain\"><thead><tr><th>status</th><th>check</th><th>what</th></tr></thead><tbody>");
    for check in &report.health {
        _ = write!(
            page,
            "<tr><td><span class=\"chip {0}\">{0}</span></td><td>{1}</td><td>{2}</td></tr>",
            check.status.name(),
            escape(&check.id),
            prose(&check.message)
        );
    }
    page.push_str("</tbody></table></div>\n");
}

pub fn notes(page: &mut String, notes: &[Note]) {
    page.push_str("<ul class=\"notes\">");
    for note in notes {
        _ = write!(page, "<li>{}</li>", prose(note));
    }
    page.push_str("</ul>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_stands_out() {
        assert_eq!(prose("give `--mapping <F>`"), "give <code>--mapping &lt;F&gt;</code>");
        assert_eq!(prose("a ` alone"), "a ` alone");
        assert_eq!(prose(""), "");
    }
}
