//! The top of a trial's page: verdict, figures, what is wrong with its traces, what it ran on.

use std::collections::BTreeSet;

use maud::{Markup, html};
use serde_json::Value as Json;
use store::Trial;

use super::read::{Read, VERDICTS};
use crate::pages::parts::{self, figure, metric_name, plain, prose};

/// Facts of the profile that are always shown, missing or not: (field, name for people).
const FACTS: [(&str, &str); 12] = [
    ("gpu_device_ids", "GPUs"),
    ("observed_arch", "architecture"),
    ("target_arch", "target"),
    ("arch_match", "match"),
    ("base_image", "base image"),
    ("resource_class", "resource class"),
    ("server_flags", "server flags"),
    ("preflight_passed", "preflight"),
    ("model_name", "model"),
    ("framework", "framework"),
    ("rocm_version", "ROCm"),
    ("benchmark_config_hash", "benchmark hash"),
];

/// The verdict of the first analysis that has one.
pub fn verdict(read: &Read) -> Markup {
    let found = VERDICTS.iter().find_map(|name| {
        let verdict = &read.named(name)?.parts["verdict"];
        verdict["text"].as_str().map(|text| (text, verdict))
    });
    let Some((text, verdict)) = found else {
        return html! {
            div.verdict-box.warn { p.missing { "no verdict: no analysis is attached to this trial" } }
        };
    };
    let why_not: Vec<&str> =
        verdict["why_not"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let trusted = verdict["trusted"] != Json::Bool(false);
    html! {
        div class=(if trusted { "verdict-box" } else { "verdict-box warn" }) {
            p.said { (prose(text)) }
            @if let Some(word) = verdict["arch_match"].as_str() {
                p {
                    (parts::arch_match(word, None)) " "
                    @if let Some(reason) = verdict["hardware_relevance_reason"].as_str() {
                        span.muted { (prose(reason)) }
                    }
                }
            }
            @for why in why_not { p { span.chip.warn { "do not trust this" } " " (prose(why)) } }
        }
    }
}

/// The metrics of the trial.
pub fn figures(trial: &Trial) -> Markup {
    html! {
        @if trial.row.metrics.is_empty() {
            p.missing { "no metrics" }
        } @else {
            dl.figures {
                @for metric in &trial.row.metrics {
                    div {
                        dt { (metric_name(&metric.name)) }
                        dd { (figure(metric)) }
                        dd.note {
                            @match (metric.low, metric.high) {
                                (Some(low), Some(high)) => {
                                    (parts::number(low, &metric.unit)) " to " (parts::number(high, &metric.unit))
                                },
                                _ => "no interval",
                            }
                            " · " (if metric.higher_is_better { "higher is better" } else { "lower is better" })
                        }
                    }
                }
            }
        }
    }
}

/// What is wrong with the traces, shown prominently.
pub fn health(read: &Read) -> Markup {
    let mut seen = BTreeSet::new();
    let checks =
        read.documents.iter().flat_map(|(_, document)| document.parts["health"]["checks"].as_array());
    let wrong: Vec<(&str, &str)> = checks
        .flatten()
        .filter_map(|check| Some((check["status"].as_str()?, check["message"].as_str()?)))
        .filter(|(status, message)| *status != "pass" && seen.insert(*message))
        .collect();
    html! {
        @if !wrong.is_empty() {
            ul.problems {
                @for (status, message) in wrong {
                    li {
                        span class=(if status == "fail" { "chip bad" } else { "chip warn" }) { (plain(status)) }
                        " " (prose(message))
                    }
                }
            }
        }
    }
}

/// What it ran on; unknown facts are shown as such.
pub fn profile(trial: &Trial) -> Markup {
    let absent = trial.metadata.get("absent");
    let reason = |field: &str| absent.and_then(|absent| absent[field].as_str()).unwrap_or("unknown");
    html! {
        section #profile {
            h2 { "Profile" }
            @if trial.metadata.is_empty() {
                p.missing { "no profile_metadata.json is attached" }
            } @else {
                dl.facts {
                    @for (field, name) in FACTS {
                        div {
                            dt { (name) }
                            @match trial.metadata.get(field).filter(|value| !value.is_null()) {
                                Some(value) => dd { (plain(&words(value))) },
                                None => dd.missing { (plain(reason(field))) },
                            }
                        }
                    }
                    @if let Some(reason) = trial.metadata.get("hardware_relevance_reason").and_then(Json::as_str) {
                        div { dt { "why it matches" } dd { (prose(reason)) } }
                    }
                }
            }
        }
    }
}

/// A fact in words.
pub fn words(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Bool(true) => "passed".into(),
        Json::Bool(false) => "failed".into(),
        Json::Array(list) => list.iter().map(words).collect::<Vec<_>>().join(", "),
        Json::Object(object) => {
            object.iter().map(|(key, value)| format!("{key}={}", words(value))).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}
