//! An experiment: its trials side by side, how metrics changed, what got worse, which trial has what.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::{Path, Query, State};
use axum::response::Html;
use maud::{Markup, html};
use serde::Deserialize;
use store::{Metric, TrialRow};

use super::layout::{Asking, Tab, frame};
use super::parts::{self, counted, figure, metric_name, plain};
use super::{alerts, charts, trial};
use crate::access::Viewer;
use crate::data::Experiment;
use crate::error::Problem;
use crate::links;
use crate::state::Dashboard;

/// Trials per page.
const ROWS: usize = 50;
/// Metrics that have a column.
const COLUMNS: usize = 6;
/// Most charts on the page.
const CHARTS: usize = 12;

/// Which trials.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct TrialsQuery {
    /// Part of the name, the branch, the testbed or a tag.
    q: String,
    /// A metric or `name`; empty: the latest first.
    sort: String,
    /// `asc` or `desc`.
    dir: String,
    page: Option<usize>,
}

/// The page.
pub async fn page(
    State(state): State<Dashboard>,
    Asking(viewer): Asking,
    Path(name): Path<String>,
    Query(query): Query<TrialsQuery>,
) -> Result<Html<String>, Problem> {
    let found = state.experiment(&name).await?;
    let tuned = trial::tuning(&state, &found).await;
    let body = html! {
        p.crumbs { a href="/" { "Experiments" } " / " }
        div.head {
            div {
                h1 { (plain(&name)) }
                @if !found.row.description.is_empty() { p.sub { (plain(&found.row.description)) } }
                p {
                    (parts::status(found.standing.status)) " "
                    @if found.standing.running { a href="/live" { span.chip.live { "running" } } " " }
                    @for tag in &found.row.tags { span.tag { (plain(tag)) } }
                    span.muted { (counted(found.trials.len(), "trial")) ", changed " (parts::at(found.row.changed_ns)) }
                }
            }
            (compare_form(&found))
        }
        @if found.trials.is_empty() {
            (parts::empty(
                "No trials yet",
                "Attach a run: a trace, a folder of artifacts, or a metric.",
                Some(&format!("rocm-perf experiment attach '{}' first trace.json.gz --metric latency=12.1±0.4ms", plain(&name))),
            ))
        } @else {
            (alert_list(&found, &viewer))
            (trajectories(&found))
            (trial_table(&found, &query))
            @if let Some(tuned) = tuned { (tuned) }
            (artifact_matrix(&found))
        }
        (remarks(&found))
    };
    Ok(frame(&plain(&name), Tab::Overview, Some(&viewer), body))
}

fn compare_form(found: &Experiment) -> Markup {
    let trials: Vec<&TrialRow> = found.trials.iter().rev().collect();
    let choice = |label: &str, name: &str, chosen: usize| {
        html! {
            label {
                (label)
                select name=(name) {
                    @for (at, trial) in trials.iter().enumerate() {
                        option value=(trial.name) selected[at == chosen] { (plain(&trial.name)) }
                    }
                }
            }
        }
    };
    html! {
        @if trials.len() > 1 {
            // No class that submits on change: the user has to make two choices.
            form.filters.pick method="get" action={ (links::experiment(&found.row.name)) "/compare" } {
                (choice("Compare", "base", 1))
                (choice("with", "candidate", 0))
                button { "Compare" }
            }
        }
    }
}

fn alert_list(found: &Experiment, viewer: &Viewer) -> Markup {
    let back = format!("{}#alerts", links::experiment(&found.row.name));
    html! {
        @if !found.alerts.is_empty() {
            section #alerts {
                h2 { "What got worse" }
                @for alert in &found.alerts { (alerts::card(&found.row.name, alert, viewer, &back)) }
            }
        }
    }
}

fn trajectories(found: &Experiment) -> Markup {
    let left_out = found.series.len().saturating_sub(CHARTS);
    html! {
        section {
            h2 { "Metrics over trials" }
            @if found.series.is_empty() {
                p.missing { "no trial has metrics" }
            }
            div.columns {
                @for series in found.series.iter().take(CHARTS) { (charts::trajectory(series)) }
            }
            @if left_out > 0 { p.muted { (counted(left_out, "more metric")) " are in the table below." } }
        }
    }
}

/// Names of the metrics that most trials have.
fn metric_columns(trials: &[TrialRow]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for metric in trials.iter().flat_map(|trial| &trial.metrics) {
        *counts.entry(&metric.name).or_default() += 1;
    }
    let mut names: Vec<(&str, usize)> = counts.into_iter().collect();
    names.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    names.into_iter().take(COLUMNS).map(|(name, _)| name.to_string()).collect()
}

fn metric_of<'a>(trial: &'a TrialRow, name: &str) -> Option<&'a Metric> {
    trial.metrics.iter().find(|metric| metric.name == name)
}

/// The trials that hold the best value of each metric.
fn best(trials: &[TrialRow], names: &[String]) -> BTreeSet<(String, String)> {
    let mut best = BTreeSet::new();
    for name in names {
        let signed = |trial: &&TrialRow| {
            metric_of(trial, name)
                .map(|metric| if metric.higher_is_better { -metric.value } else { metric.value })
        };
        let with: Vec<&TrialRow> = trials.iter().filter(|trial| metric_of(trial, name).is_some()).collect();
        let winner = with
            .iter()
            .min_by(|a, b| signed(a).unwrap_or(f64::INFINITY).total_cmp(&signed(b).unwrap_or(f64::INFINITY)));
        if let Some(winner) = winner.filter(|_| with.len() > 1) {
            best.insert((name.clone(), winner.name.clone()));
        }
    }
    best
}

fn trial_table(found: &Experiment, query: &TrialsQuery) -> Markup {
    let names = metric_columns(&found.trials);
    let best = best(&found.trials, &names);
    let words: Vec<String> = query.q.split_whitespace().map(str::to_lowercase).collect();
    let holds = |trial: &&TrialRow| {
        let text = format!("{} {} {} {}", trial.name, trial.branch, trial.testbed, trial.tags.join(" "))
            .to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let mut trials: Vec<&TrialRow> = found.trials.iter().rev().filter(holds).collect();
    let rises = match query.dir.as_str() {
        "asc" => true,
        "desc" => false,
        _ => query.sort == "name",
    };
    if query.sort == "name" {
        trials.sort_by(|a, b| a.name.cmp(&b.name));
        if !rises {
            trials.reverse();
        }
    } else if names.contains(&query.sort) {
        // Trials without the metric come last either way.
        trials.sort_by(|a, b| match (metric_of(a, &query.sort), metric_of(b, &query.sort)) {
            (Some(a), Some(b)) if rises => a.value.total_cmp(&b.value),
            (Some(a), Some(b)) => b.value.total_cmp(&a.value),
            (a, b) => a.is_none().cmp(&b.is_none()),
        });
    }
    let matching = trials.len();
    let pages = matching.div_ceil(ROWS).max(1);
    let page = query.page.unwrap_or(1).clamp(1, pages);
    let shown: Vec<&TrialRow> = trials.into_iter().skip((page - 1) * ROWS).take(ROWS).collect();
    let path = links::experiment(&found.row.name);
    let address = |sort: &str, dir: &str, page: &str| {
        let parts = [("q", query.q.as_str()), ("sort", sort), ("dir", dir), ("page", page)];
        format!("{}#trials", links::with_query(&path, &parts))
    };
    let head = |key: &str, title: String, class: Option<&str>| {
        let here = query.sort == key;
        let sort = here.then_some(if rises { "ascending" } else { "descending" });
        let dir = if here && rises {
            "desc"
        } else if here {
            "asc"
        } else {
            ""
        };
        html! { th scope="col" class=[class] aria-sort=[sort] { a href=(address(key, dir, "")) { (title) } } }
    };
    html! {
        section #trials {
            div.bar {
                h2 { "Trials" }
                span.count { @if !query.q.is_empty() { (parts::count(matching)) " of " } (parts::count(found.trials.len())) }
            }
            form.filters method="get" action={ (path) "#trials" } role="search" {
                label.grow { "Filter" input type="search" name="q" value=(query.q) placeholder="trial, branch, testbed or tag"; }
                button { "Apply" }
            }
            @if shown.is_empty() {
                p.missing { "no trial matches" }
            } @else {
                div.scroll tabindex="0" {
                    table {
                        thead {
                            tr {
                                (head("name", "trial".into(), None))
                                th scope="col" { "branch" }
                                th scope="col" { "testbed" }
                                @for name in &names { (head(name, metric_name(name), Some("n"))) }
                                th.n scope="col" { "artifacts" }
                                th scope="col" { "made" }
                            }
                        }
                        tbody {
                            @for trial in &shown {
                                tr {
                                    td.name.trial {
                                        a href=(links::trial(&found.row.name, &trial.name)) { (plain(&trial.name)) } " "
                                        @for tag in &trial.tags { span.tag { (plain(tag)) } }
                                    }
                                    td.t { (told(&trial.branch)) }
                                    td.t { (told(&trial.testbed)) }
                                    @for name in &names {
                                        @match metric_of(trial, name) {
                                            Some(metric) => {
                                                @let is_best = best.contains(&(name.clone(), trial.name.clone()));
                                                td class=(if is_best { "n best" } else { "n" }) {
                                                    (figure(metric))
                                                    @if is_best { " " span.chip.good { "best" } }
                                                }
                                            },
                                            None => td.n { "–" },
                                        }
                                    }
                                    td.n { (trial.artifacts) }
                                    td.t { (parts::at(trial.created_ns)) }
                                }
                            }
                        }
                    }
                }
            }
            @if pages > 1 {
                (parts::pager(page, pages, &format!("page {page} of {pages}"), &|page| {
                    address(&query.sort, &query.dir, &page.to_string())
                }))
            }
        }
    }
}

fn told(text: &str) -> Markup {
    html! { @if text.is_empty() { span.missing { "unknown" } } @else { (plain(text)) } }
}

/// Which of the latest trials has which artifact.
fn artifact_matrix(found: &Experiment) -> Markup {
    let trials: Vec<&TrialRow> = found.trials.iter().rev().take(12).collect();
    let has: BTreeSet<(&str, &str)> = found
        .artifacts
        .iter()
        .map(|(trial, path)| (trial.as_str(), path.rsplit('/').next().unwrap_or(path)))
        .collect();
    let of_latest = |name: &&str| trials.iter().any(|trial| has.contains(&(trial.name.as_str(), name)));
    let names: BTreeSet<&str> = has.iter().map(|(_, name)| *name).filter(of_latest).collect();
    html! {
        @if !names.is_empty() {
            section {
                h2 { "Artifacts of the latest trials" }
                div.scroll tabindex="0" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "artifact" }
                                @for trial in &trials { th.has scope="col" { (plain(&trial.name)) } }
                            }
                        }
                        tbody {
                            @for name in &names {
                                tr {
                                    td.name { (plain(name)) }
                                    @for trial in &trials {
                                        @if has.contains(&(trial.name.as_str(), *name)) {
                                            td.has.yes { span aria-label="attached" { "●" } }
                                        } @else {
                                            td.has.no { span aria-label="missing" { "·" } }
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

fn remarks(found: &Experiment) -> Markup {
    html! {
        @if !found.notes.is_empty() || !found.links.is_empty() {
            section {
                h2 { "Notes" }
                @for note in &found.notes { p { span.muted { (parts::at(note.created_ns)) } " " (plain(&note.text)) } }
                @for link in &found.links {
                    p { a href=(link.url) rel="noopener noreferrer nofollow" { (plain(if link.text.is_empty() { &link.url } else { &link.text })) } }
                }
            }
        }
    }
}
