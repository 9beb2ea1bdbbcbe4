//! Tables and charts of the analyses, in the order of `views.toml`.

use std::collections::BTreeSet;

use maud::{Markup, html};
use store::{Artifact, Trial};

use super::read::Read;
use crate::data::Experiment;
use crate::documents::{Document, Rows};
use crate::links;
use crate::pages::parts::{self, plain};
use crate::pages::views::{self, Section, ViewItem, file_name};
use crate::pages::{charts, parallel, tables};
use crate::state::Dashboard;
use crate::table::TableQuery;

/// Rows of a table that are shown here; the rest is on its own page.
const ROWS: usize = 8;
/// Bars of a chart.
const BARS: usize = 12;

/// The sections with something to show, and the empty ones.
pub fn all(
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
    part: &ViewItem,
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

/// The first rows of a table, and a link to all of them.
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

/// The parameters of the latest tuned trial of an experiment, if one was tuned.
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
