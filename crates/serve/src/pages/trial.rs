//! A trial: its verdict first, then what it ran on, its figures, and what every attached analysis says.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Html;
use maud::{Markup, html};
use report::{Unit, Value, show};
use serde_json::Value as Json;
use store::{Artifact, Trial};

use super::layout::{Asking, Place, frame};
use super::parts::{self, figure, metric_name, plain, prose};
use super::views::{self, Part, Section, file_name};
use super::{charts, parallel, tables};
use crate::data::Experiment;
use crate::documents::{Document, Rows};
use crate::error::Problem;
use crate::links;
use crate::state::Dashboard;
use crate::table::TableQuery;

/// Rows of a table before its own page.
const ROWS: usize = 8;
/// Findings before the others are folded.
const FINDINGS: usize = 5;
/// Bars of a chart.
const BARS: usize = 12;

/// Artifacts that may hold the verdict, the preferred one first.
const VERDICTS: [&str; 8] = [
    "explain.json",
    "triage.json",
    "report.json",
    "summary.json",
    "breakdown.json",
    "efficiency.json",
    "critical_path.json",
    "profile.json",
];

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

/// Artifacts of the contract that every profile has.
const REQUIRED: [&str; 5] = [
    "profile_summary.md",
    "profile_metadata.json",
    "kernel_table.json",
    "overlap_opportunities.json",
    "fuse_opportunities.json",
];

/// Endings of files that the Perfetto UI reads.
const TRACES: [&str; 5] = [".pftrace", ".perfetto-trace", ".json.gz", ".pt.trace.json", ".trace.json"];

/// The documents of a trial that could be read, and why others could not.
struct Read {
    documents: Vec<(String, Arc<Document>)>,
    problems: Vec<String>,
}

impl Read {
    async fn all(state: &Dashboard, artifacts: &[Artifact]) -> Self {
        let wanted: BTreeSet<&str> = views::sections()
            .iter()
            .flat_map(|section| &section.part)
            .flat_map(|part| part.artifacts.iter().map(String::as_str))
            .chain(VERDICTS)
            .collect();
        let mut read = Self { documents: Vec::new(), problems: Vec::new() };
        for artifact in artifacts.iter().filter(|artifact| wanted.contains(file_name(&artifact.path))) {
            match state.document(artifact).await {
                Ok(document) => read.documents.push((artifact.path.clone(), document)),
                Err(problem) => read.problems.push(problem.message),
            }
        }
        read
    }

    fn get(&self, artifact: &Artifact) -> Option<&Document> {
        self.documents.iter().find(|(path, _)| *path == artifact.path).map(|(_, document)| &**document)
    }

    fn named(&self, name: &str) -> Option<&Document> {
        self.documents.iter().find(|(path, _)| file_name(path) == name).map(|(_, document)| &**document)
    }
}

/// The page.
pub async fn page(
    State(state): State<Dashboard>,
    Asking(viewer): Asking,
    Path((name, trial)): Path<(String, String)>,
) -> Result<Html<String>, Problem> {
    let found = state.trial(&name, &trial).await?;
    let read = Read::all(&state, &found.artifacts).await;
    let (shown, missing) = all_sections(&name, &found, &read);
    let findings = findings(&read);
    let body = html! {
        p.crumbs { a href="/" { "Experiments" } " / " a href=(links::experiment(&name)) { (plain(&name)) } " / " }
        div.head {
            div {
                h1 { (plain(&trial)) }
                p {
                    @for tag in &found.row.tags { span.tag { (plain(tag)) } }
                    span.muted {
                        @if !found.row.branch.is_empty() { (plain(&found.row.branch)) " · " }
                        @if !found.row.testbed.is_empty() { (plain(&found.row.testbed)) " · " }
                        (parts::at(found.row.created_ns))
                    }
                }
            }
        }
        (verdict(&read))
        (figures(&found))
        @if !read.problems.is_empty() {
            ul.problems {
                @for problem in &read.problems { li { span.chip.bad { "not shown" } " " (prose(problem)) } }
            }
        }
        (health(&read))
        nav.jump aria-label="Sections" {
            a href="#profile" { "Profile" }
            @if findings.is_some() { a href="#findings" { "Findings" } }
            @for (section, _) in &shown { a href={ "#" (section.id) } { (section.title) } }
            a href="#artifacts" { "Artifacts" }
        }
        (profile(&found))
        @if let Some(findings) = findings { (findings) }
        @for (section, markup) in &shown {
            section id=(section.id) {
                h2 { (section.title) }
                @if !section.text.is_empty() { p.sub { (section.text) } }
                (markup)
            }
        }
        (artifacts(&name, &found, &missing))
        (remarks(&found))
    };
    Ok(frame(&format!("{} / {}", plain(&name), plain(&trial)), Place::Overview, Some(&viewer), body))
}

/// The sections that have something to show, and those that have nothing.
fn all_sections(
    name: &str,
    trial: &Trial,
    read: &Read,
) -> (Vec<(&'static Section, Markup)>, Vec<&'static Section>) {
    let (mut shown, mut missing) = (Vec::new(), Vec::new());
    let mut tables_shown = BTreeSet::new();
    for section in views::sections() {
        let mut parts = Vec::new();
        for part in &section.part {
            if part.unless.as_ref().is_some_and(|table| tables_shown.contains(table)) {
                continue;
            }
            let found = part
                .among(&trial.artifacts)
                .find_map(|artifact| show_part(name, &trial.row.name, artifact, read.get(artifact)?, part));
            if let Some(markup) = found {
                tables_shown.extend(part.table.clone());
                parts.push(markup);
            }
        }
        match parts.is_empty() {
            true => missing.push(section),
            false => shown.push((section, html! { @for part in &parts { (part) } })),
        }
    }
    (shown, missing)
}

fn show_part(
    name: &str,
    trial: &str,
    artifact: &Artifact,
    document: &Document,
    part: &Part,
) -> Option<Markup> {
    if let Some(table) = &part.table {
        return Some(short_table(name, trial, artifact, table, document.table(table)?, &part.columns));
    }
    if let Some(bars) = &part.bars {
        let rows = document.table(&bars.table)?;
        return charts::bars(rows, &bars.title, &bars.label, &bars.value, BARS);
    }
    if let Some(of) = &part.parallel {
        return parallel::chart(document.table(&of.table)?, of).map(|chart| charts::chart(&chart, false));
    }
    let chart = document.chart(part.chart.as_ref()?)?;
    (!chart.is_empty()).then(|| charts::chart(chart, part.zoom))
}

/// The first rows of a table, and the way to all of them.
fn short_table(
    name: &str,
    trial: &str,
    artifact: &Artifact,
    table: &str,
    rows: &Rows,
    usual: &[String],
) -> Markup {
    let address = links::table(name, trial, &artifact.path, table);
    let query = TableQuery { rows: Some(ROWS), ..TableQuery::default() };
    let part = query.part(rows, usual);
    html! {
        div.bar {
            h3 { (plain(&table.replace('_', " "))) }
            span.count { (parts::counted(rows.len(), "row")) }
            @if rows.len() > 0 {
                div.tools {
                    a href=(address) { "Sort, filter, all columns" }
                    a href={ (address) "&format=csv" } { "CSV" }
                }
            }
        }
        @if rows.len() == 0 {
            p.missing { "the analysis found none" }
        } @else {
            (tables::stored(rows, &part.columns, &part.rows, &|column| tables::plain_head(rows, column)))
        }
        @if rows.len() > ROWS { p { a href=(address) { "All " (parts::count(rows.len())) " rows" } } }
    }
}

/// The verdict of the first analysis that has one.
fn verdict(read: &Read) -> Markup {
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

fn figures(trial: &Trial) -> Markup {
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

/// What is wrong with the traces, where everybody sees it.
fn health(read: &Read) -> Markup {
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

fn profile(trial: &Trial) -> Markup {
    let absent = trial.metadata.get("absent");
    let reason = |field: &str| absent.and_then(|absent| absent[field].as_str()).unwrap_or("not told");
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
fn words(value: &Json) -> String {
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

/// The findings of the first analysis that has any.
fn findings(read: &Read) -> Option<Markup> {
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
        // Points in time are too long for people as durations.
        Some(number) if key.ends_with("_ns") && !key.ends_with("start_ns") && !key.ends_with("end_ns") => {
            show(&Value::Float(number), Unit::Ns)
        }
        Some(number) if key.ends_with("_pct") => show(&Value::Float(number), Unit::Pct),
        _ => words(value),
    }
}

fn artifacts(name: &str, trial: &Trial, missing: &[&Section]) -> Markup {
    let has = |wanted: &&str| trial.artifacts.iter().any(|artifact| file_name(&artifact.path) == *wanted);
    let absent: Vec<&str> = REQUIRED.into_iter().filter(|wanted| !has(wanted)).collect();
    html! {
        section #artifacts {
            h2 { "Artifacts" }
            @if !absent.is_empty() {
                p { span.chip.warn { "missing" } " of the contract: " @for name in &absent { code { (name) } " " } }
            }
            @if !missing.is_empty() {
                p.muted {
                    "Not attached: "
                    @for (at, section) in missing.iter().enumerate() {
                        @if at > 0 { ", " }
                        (section.title) " (" code { "rocm-perf " (section.make) } ")"
                    }
                }
            }
            @if trial.artifacts.is_empty() {
                p.missing { "no files are attached" }
            } @else {
                div.scroll tabindex="0" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "file" }
                                th.n scope="col" { "size" }
                                th scope="col" { "checked against" }
                                th scope="col" { "attached" }
                                th scope="col" { span.skip { "actions" } }
                            }
                        }
                        tbody {
                            @for artifact in &trial.artifacts {
                                @let address = links::artifact(name, &trial.row.name, &artifact.path);
                                tr {
                                    td.name { a href=(address) download { (plain(&artifact.path)) } }
                                    td.n { (show(&Value::Int(artifact.bytes), Unit::Bytes)) }
                                    td {
                                        @match &artifact.schema {
                                            Some(schema) => (plain(schema)),
                                            None => span.missing { "any file" },
                                        }
                                    }
                                    td { (parts::at(artifact.attached_ns)) }
                                    td {
                                        @if is_trace(artifact) {
                                            a href=(address) data-perfetto=(plain(&artifact.path)) hidden { "Open in Perfetto" }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn is_trace(artifact: &Artifact) -> bool {
    artifact.schema.is_none() && TRACES.iter().any(|end| artifact.path.ends_with(end))
}

fn remarks(trial: &Trial) -> Markup {
    html! {
        @if !trial.notes.is_empty() || !trial.links.is_empty() {
            section {
                h2 { "Notes" }
                @for note in &trial.notes { p { span.muted { (parts::at(note.created_ns)) } " " (plain(&note.text)) } }
                @for link in &trial.links {
                    p {
                        a href=(link.url) rel="noopener noreferrer nofollow" {
                            (plain(if link.text.is_empty() { &link.url } else { &link.text }))
                        }
                    }
                }
            }
        }
    }
}

/// What the latest tuned trial of an experiment says of its parameters, where one was tuned.
pub async fn tuning(state: &Dashboard, found: &Experiment) -> Option<Markup> {
    let tuned = |(_, path): &&(String, String)| file_name(path) == "autotune.json";
    let (trial, _) = found.artifacts.iter().rev().find(tuned)?;
    let trial = state.trial(&found.row.name, trial).await.ok()?;
    let read = Read::all(state, &trial.artifacts).await;
    let section = views::sections().iter().find(|section| section.id == "tuning")?;
    let parts = section.part.iter().filter(|part| part.table.as_deref() != Some("configurations"));
    let shown: Vec<Markup> = parts
        .filter_map(|part| {
            part.among(&trial.artifacts).find_map(|artifact| {
                show_part(&found.row.name, &trial.row.name, artifact, read.get(artifact)?, part)
            })
        })
        .collect();
    (!shown.is_empty()).then(|| {
        html! {
            section #tuning {
                h2 { "Tuning in " a href=(links::trial(&found.row.name, &trial.row.name)) { (plain(&trial.row.name)) } }
                @for part in &shown { (part) }
            }
        }
    })
}
