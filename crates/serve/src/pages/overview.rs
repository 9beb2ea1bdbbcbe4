//! The overview: experiments with their status, verdict, last results, trends and alerts.

use axum::extract::{Query, State};
use axum::response::Html;
use maud::{Markup, html};
use serde::Deserialize;
use store::{Choices, OverviewRow, PageRequest, Trend};

use super::layout::{Asking, Tab, frame};
use super::parts::{self, arch_match, counted, figure, metric_name, plain, prose, sparkline};
use crate::api::ListQuery;
use crate::error::Problem;
use crate::links;
use crate::state::Dashboard;

/// Experiments per page.
const ROWS: usize = 25;
/// Most metrics shown for an experiment.
const TRENDS: usize = 3;

/// (status in the address, its label)
const TABS: [(&str, &str); 5] = [
    ("", "All"),
    ("regressed", "Regressed"),
    ("passing", "Passing"),
    ("unjudged", "Not judged"),
    ("empty", "No trials"),
];

const ORDERS: [(&str, &str); 4] =
    [("", "changed last"), ("name", "name"), ("alerts", "open alerts"), ("trials", "most trials")];

/// Which page.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct PageQuery {
    page: Option<usize>,
}

/// The page.
pub async fn page(
    State(state): State<Dashboard>,
    Asking(viewer): Asking,
    Query(query): Query<ListQuery>,
    Query(PageQuery { page }): Query<PageQuery>,
) -> Result<Html<String>, Problem> {
    let mut page = page.unwrap_or(1).max(1);
    let part = |page: usize| PageRequest {
        offset: (page - 1).saturating_mul(ROWS),
        limit: ROWS,
        order: query.order(),
    };
    let filter = query.filter()?;
    let (mut found, choices) = state.overview_with_choices(filter.clone(), part(page)).await?;
    let pages = found.total.div_ceil(ROWS).max(1);
    if page > pages {
        // The list has become shorter since the link was made.
        page = pages;
        found = state.overview(filter, part(page)).await?;
    }
    let first = (found.offset + 1).min(found.total);
    let words = format!("{}–{} of {}", first, found.offset + found.rows.len(), parts::count(found.total));
    let is_filtered = !address(&query, |_| {}).eq("/");
    let body = html! {
        div.head {
            div {
                h1 { "Experiments" }
                p.sub { (counted(found.total, "experiment")) @if is_filtered { " match" } }
            }
        }
        nav.tabs aria-label="Status" {
            @for (status, name) in TABS {
                @let here = query.status == status && query.running.is_empty();
                a href=(address(&query, |query| { query.status = status.into(); query.running.clear(); }))
                    aria-current=[here.then_some("true")] { (name) }
            }
            a href=(address(&query, |query| { query.status.clear(); query.running = "1".into(); }))
                aria-current=[(!query.running.is_empty()).then_some("true")] { "Running" }
        }
        (filters(&query, &choices))
        @if found.rows.is_empty() && is_filtered {
            div.empty {
                h2 { "No experiment matches" }
                p { "Change the search or " a href="/" { "show all experiments" } "." }
            }
        } @else if found.rows.is_empty() {
            (parts::empty(
                "No experiments yet",
                "Make one and attach a run to it. It shows up here at once.",
                Some("rocm-perf experiment new decode\nrocm-perf triage trace.json.gz --experiment decode --trial first"),
            ))
        } @else {
            div.list { @for row in &found.rows { (entry(row)) } }
            (parts::pager(page, pages, &words, &|page| links::with_query(
                &address(&query, |_| {}),
                &[("page", &page.to_string())],
            )))
        }
    };
    Ok(frame("Experiments", Tab::Overview, Some(&viewer), body))
}

/// The address of the overview with a changed filter.
fn address(query: &ListQuery, change: impl FnOnce(&mut ListQuery)) -> String {
    let mut query = query.clone();
    change(&mut query);
    links::with_query(
        "/",
        &[
            ("q", &query.q),
            ("status", &query.status),
            ("running", &query.running),
            ("tag", &query.tag),
            ("branch", &query.branch),
            ("testbed", &query.testbed),
            ("sort", &query.sort),
        ],
    )
}

fn filters(query: &ListQuery, choices: &Choices) -> Markup {
    let choice = |label: &str, key: &str, chosen: &str, names: &[String]| {
        html! {
            @if !names.is_empty() {
                label {
                    (label)
                    select name=(key) {
                        option value="" { "all" }
                        @for name in names { option value=(name) selected[name == chosen] { (plain(name)) } }
                    }
                }
            }
        }
    };
    html! {
        form.filters method="get" action="/" role="search" {
            @if !query.status.is_empty() { input type="hidden" name="status" value=(query.status); }
            @if !query.running.is_empty() { input type="hidden" name="running" value="1"; }
            label.grow { "Search" input type="search" name="q" value=(query.q) placeholder="name or description"; }
            (choice("Tag", "tag", &query.tag, &choices.tags))
            (choice("Branch", "branch", &query.branch, &choices.branches))
            (choice("Testbed", "testbed", &query.testbed, &choices.testbeds))
            label {
                "Sort by"
                select name="sort" {
                    @for (key, name) in ORDERS { option value=(key) selected[query.sort == key] { (name) } }
                }
            }
            button { "Apply" }
        }
    }
}

fn entry(row: &OverviewRow) -> Markup {
    let (experiment, summary) = (&row.experiment, &row.summary);
    let conclusion = summary.conclusion.as_ref();
    let verdict = conclusion.and_then(|conclusion| conclusion.verdict.as_deref());
    let arch = conclusion.and_then(|conclusion| conclusion.arch_match.as_deref());
    let reason = conclusion.and_then(|conclusion| conclusion.arch_reason.as_deref());
    html! {
        article.row {
            div {
                h2 { a href=(links::experiment(&experiment.name)) { (plain(&experiment.name)) } }
                p {
                    (parts::status(row.status)) " "
                    @if row.running { span.chip.live { "running" } " " }
                    @if row.open_alerts > 0 {
                        a href={ (links::experiment(&experiment.name)) "#alerts" } {
                            span.chip.bad { (counted(row.open_alerts, "open alert")) }
                        }
                    }
                }
                @if !experiment.description.is_empty() { p.muted { (plain(&experiment.description)) } }
                @if !experiment.tags.is_empty() {
                    p { @for tag in &experiment.tags { span.tag { (plain(tag)) } } }
                }
            }
            div {
                @if let Some(verdict) = verdict {
                    p.verdict { (prose(verdict)) }
                } @else if experiment.trials > 0 {
                    p.missing { "no verdict: no analysis is attached" }
                }
                @if let Some(arch) = arch { p { (arch_match(arch, reason)) } }
            }
            div.trends {
                @for trend in summary.trends.iter().take(TRENDS) { (trend_line(trend)) }
                @let more = summary.more_metrics + summary.trends.len().saturating_sub(TRENDS);
                @if more > 0 { p.muted { "and " (counted(more, "more metric")) } }
                @if summary.trends.is_empty() && experiment.trials > 0 { p.missing { "no metrics" } }
            }
            div.when {
                @if let Some(last) = &experiment.last_trial {
                    a href=(links::trial(&experiment.name, last)) { (plain(last)) }
                    br;
                }
                (counted(experiment.trials.max(0) as usize, "trial"))
                br;
                (parts::at(experiment.changed_ns))
            }
        }
    }
}

/// A metric: its last value and its trend line.
fn trend_line(trend: &Trend) -> Markup {
    let name = metric_name(&trend.last.name);
    let label = format!("{name}: the latest {}", counted(trend.points.len(), "value"));
    html! {
        div class={ "trend " (trend.verdict) } {
            span.what title=(plain(&trend.reason)) { (name) }
            span.value { (figure(&trend.last)) }
            (sparkline(&trend.points, &label))
        }
    }
}
