//! Possible gains, as the analyses report them.

use maud::{Markup, html};
use report::{Unit, Value, show};
use serde_json::Value as Json;

use super::read::Read;
use super::summary::words;
use crate::pages::parts::{self, plain, prose};

/// Findings before the others are folded.
const FINDINGS: usize = 5;
/// The findings of the first analysis that has any.
pub fn list(read: &Read) -> Option<Markup> {
    let found = ["explain.json", "report.json", "triage.json"]
        .iter()
        .find_map(|name| read.named(name)?.parts["findings"].as_array().filter(|list| !list.is_empty()))?;
    let (first, rest) = found.split_at(found.len().min(FINDINGS));
    Some(html! {
        section #findings {
            h2 { "Findings" }
            p.sub { "What could be won, most first. Ceilings may be about the same time." }
            ol.findings { @for one in first { (finding(one)) } }
            @if !rest.is_empty() {
                details {
                    summary { (parts::counted(rest.len(), "more finding")) }
                    ol.findings { @for one in rest { (finding(one)) } }
                }
            }
        }
    })
}

fn finding(finding: &Json) -> Markup {
    let severity = finding["severity"].as_str().unwrap_or("info");
    let class = match severity {
        "high" => "chip bad",
        "medium" => "chip warn",
        _ => "chip",
    };
    let text = |key: &str| finding[key].as_str().filter(|text| !text.is_empty());
    let evidence = finding["evidence"].as_object();
    html! {
        li {
            h3 { span class=(class) { (plain(severity)) } " " (prose(text("title").unwrap_or_default())) }
            @if let Some(gain) = finding["gain_ceiling_ns"].as_i64() {
                p { "saves up to " b { (show(&Value::Int(gain), Unit::Ns)) } }
            }
            @if let Some(advice) = text("recommendation") { p { (prose(advice)) } }
            @if let Some(next) = text("next") { p { code { (plain(next)) } } }
            @if let Some(evidence) = evidence.filter(|evidence| !evidence.is_empty()) {
                details {
                    summary { "evidence" }
                    dl {
                        @for (key, value) in evidence {
                            dt { (plain(&key.replace('_', " "))) }
                            dd { (plain(&evidence_words(key, value))) }
                        }
                    }
                }
            }
        }
    }
}

fn evidence_words(key: &str, value: &Json) -> String {
    match value.as_f64() {
        // Points in time are too long to read as durations.
        Some(number) if key.ends_with("_ns") && !key.ends_with("start_ns") && !key.ends_with("end_ns") => {
            show(&Value::Float(number), Unit::Ns)
        }
        Some(number) if key.ends_with("_pct") => show(&Value::Float(number), Unit::Pct),
        _ => words(value),
    }
}
