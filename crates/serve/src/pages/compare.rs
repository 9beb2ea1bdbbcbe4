//! Two trials side by side: whether they can be compared first, then how they differ.

use axum::extract::{Path, Query, State};
use axum::response::Html;
use maud::html;

use super::charts;
use super::layout::{Asking, Tab, frame};
use super::parts::{plain, prose};
use super::tables;
use crate::api::CompareQuery;
use crate::error::Problem;
use crate::links;
use crate::state::Dashboard;

/// The page.
pub async fn page(
    State(state): State<Dashboard>,
    Asking(viewer): Asking,
    Path(name): Path<String>,
    Query(query): Query<CompareQuery>,
) -> Result<Html<String>, Problem> {
    let found = state.compare(&name, &query.base, &query.candidate).await?;
    let body = html! {
        p.crumbs { a href="/" { "Experiments" } " / " a href=(links::experiment(&name)) { (plain(&name)) } " / " }
        div.head {
            div {
                h1 { "Compare" }
                p.sub {
                    a href=(links::trial(&name, &query.base)) { (plain(&query.base)) } " with "
                    a href=(links::trial(&name, &query.candidate)) { (plain(&query.candidate)) }
                }
            }
            a.button href=(links::compare(&name, &query.candidate, &query.base)) { "Swap" }
        }
        // The first note says whether the trials are comparable.
        @if let Some((first, others)) = found.notes.split_first() {
            div class=(if first.text.contains("not comparable") { "verdict-box warn" } else { "verdict-box" }) {
                p.said { (prose(&first.text)) }
                @for note in others { p.muted { (prose(&note.text)) } }
            }
        }
        @for table in &found.tables {
            section {
                h2 { (plain(&table.title)) }
                @for chart in found.charts.iter().filter(|chart| chart.name == table.name) {
                    (charts::chart(chart, false))
                }
                @if table.rows.is_empty() {
                    p.missing { "nothing to compare" }
                } @else {
                    (tables::of_report(table))
                }
            }
        }
    };
    let title = format!("{} with {}", plain(&query.base), plain(&query.candidate));
    Ok(frame(&title, Tab::Overview, Some(&viewer), body))
}
