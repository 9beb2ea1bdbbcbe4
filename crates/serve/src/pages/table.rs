//! A whole table of a stored analysis: filter, sort, choose columns, page, save as CSV.

use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

use super::layout::{Asking, Tab, frame};
use super::parts::{self, plain};
use super::tables;
use super::views;
use crate::api::{TablePlace, csv};
use crate::documents::Rows;
use crate::error::Problem;
use crate::links;
use crate::state::Dashboard;
use crate::table::{TableQuery, TableView};

/// The page, or the table as CSV.
pub async fn page(
    State(state): State<Dashboard>,
    Asking(viewer): Asking,
    Path((name, trial)): Path<(String, String)>,
    Query(place): Query<TablePlace>,
    Query(pairs): Query<Vec<(String, String)>>,
) -> Result<Response, Problem> {
    let query = query(&pairs)?;
    let (artifact, _) = state.artifact(&name, &trial, &place.artifact).await?;
    let document = state.document(&artifact).await?;
    let rows = document.table(&place.table).ok_or_else(|| place.missing())?;
    if place.format == "csv" {
        return Ok(csv(rows, &query, &place.table));
    }
    let part = query.part(rows, &views::columns(&place.artifact, &place.table));
    let path = links::table(&name, &trial, &place.artifact, &place.table);
    let title = plain(&place.table.replace('_', " "));
    let body = html! {
        p.crumbs {
            a href="/" { "Experiments" } " / "
            a href=(links::experiment(&name)) { (plain(&name)) } " / "
            a href=(links::trial(&name, &trial)) { (plain(&trial)) } " / "
        }
        div.head {
            div {
                h1 { (title) }
                p.sub {
                    @if part.matching < rows.len() { (parts::count(part.matching)) " of " }
                    (parts::counted(rows.len(), "row")) " in " code { (plain(&place.artifact)) }
                }
            }
            a.button href=(links::with_query(&path, &state_of(&query, "", &query.sort, &query.dir, "csv"))) {
                "Save as CSV"
            }
        }
        (form(&query, &place, rows, &part))
        @if part.rows.is_empty() {
            div.empty {
                h2 { "No row matches" }
                p { a href=(path) { "Show all rows" } }
            }
        } @else {
            (shown(&part, &query, &path))
            (pager(&part, &query, &path))
        }
    };
    Ok(frame(&title, Tab::Overview, Some(&viewer), body).into_response())
}

/// The query of an address; a list of columns may come as several form fields.
fn query(pairs: &[(String, String)]) -> Result<TableQuery, Problem> {
    let mut query = TableQuery::default();
    let number = |text: &str| match text {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| Problem::bad_request(format!("`{text}` is not a number"))),
    };
    for (key, value) in pairs {
        match key.as_str() {
            "q" => query.q = value.clone(),
            "sort" => query.sort = value.clone(),
            "dir" => query.dir = value.clone(),
            "page" => query.page = number(value)?,
            "rows" => query.rows = number(value)?,
            "columns" if query.columns.is_empty() => query.columns = value.clone(),
            "columns" => query.columns = format!("{},{value}", query.columns),
            _ => {}
        }
    }
    Ok(query)
}

/// The parts of an address that keep the current view.
fn state_of<'a>(
    query: &'a TableQuery,
    page: &'a str,
    sort: &'a str,
    dir: &'a str,
    format: &'a str,
) -> [(&'static str, &'a str); 6] {
    [
        ("q", &query.q),
        ("sort", sort),
        ("dir", dir),
        ("columns", &query.columns),
        ("page", page),
        ("format", format),
    ]
}

fn form(query: &TableQuery, place: &TablePlace, rows: &Rows, part: &TableView) -> Markup {
    html! {
        form.filters method="get" role="search" {
            input type="hidden" name="artifact" value=(place.artifact);
            input type="hidden" name="table" value=(place.table);
            input type="hidden" name="sort" value=(query.sort);
            input type="hidden" name="dir" value=(query.dir);
            label.grow { "Filter" input type="search" name="q" value=(query.q) placeholder="words that a row contains"; }
            label {
                "Rows"
                select name="rows" {
                    @for size in [50, 100, 200, 500, 1000] {
                        option value=(size) selected[query.page_rows() == size] { (size) }
                    }
                }
            }
            button { "Apply" }
            details {
                summary { "Columns" }
                div.facts {
                    @for (at, column) in rows.columns.iter().enumerate() {
                        label {
                            span {
                                input type="checkbox" name="columns" value=(column.key) checked[part.columns.contains(&at)];
                                " " (tables::heading(column))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn shown(part: &TableView, query: &TableQuery, path: &str) -> Markup {
    let head = |at: usize| {
        let column = &part.table.columns[at];
        let sorted = part.sorted.filter(|(sorted, _)| *sorted == at).map(|(_, rises)| rises);
        let aria = sorted.map(|rises| if rises { "ascending" } else { "descending" });
        let dir = match sorted {
            Some(true) => "desc",
            Some(false) => "asc",
            None => "",
        };
        let rows = query.rows.map(|rows| rows.to_string()).unwrap_or_default();
        let address = links::with_query(path, &state_of(query, "", &column.key, dir, ""));
        let address = links::with_query(&address, &[("rows", &rows)]);
        html! {
            th scope="col" class=[(!column.text).then_some("n")] aria-sort=[aria] {
                a href=(address) { (tables::heading(column)) }
            }
        }
    };
    tables::stored(part.table, &part.columns, &part.rows, &head)
}

fn pager(part: &TableView, query: &TableQuery, path: &str) -> Markup {
    let size = query.page_rows();
    let first = (part.page - 1) * size + 1;
    let last = first + part.rows.len() - 1;
    let words = format!("{}–{} of {}", parts::count(first), parts::count(last), parts::count(part.matching));
    parts::pager(part.page, part.pages, &words, &|page| {
        let rows = query.rows.map(|rows| rows.to_string()).unwrap_or_default();
        let page = page.to_string();
        let address = links::with_query(path, &state_of(query, &page, &query.sort, &query.dir, ""));
        links::with_query(&address, &[("rows", &rows)])
    })
}
