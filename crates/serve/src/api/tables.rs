//! Tables of stored analyses: sorted, filtered and paged, as JSON or CSV.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use report::Value;
use serde::{Deserialize, Serialize};
use serde_json::Map;
use utoipa::{IntoParams, ToSchema};

use super::downloads::disposition;
use crate::documents::{Cell, Rows};
use crate::error::Problem;
use crate::state::Dashboard;
use crate::table::{TableQuery, csv_field};

/// Which table.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct TablePlace {
    /// The artifact: `summary.json`.
    pub artifact: String,
    /// Its table: `kernels`; the name of the file where it is a plain list.
    pub table: String,
    /// `json` (default) or `csv`, which has all rows that pass the filter.
    pub format: String,
}

/// A part of a table.
#[derive(Serialize, ToSchema)]
pub struct TablePart {
    /// Keys of the columns.
    columns: Vec<String>,
    /// Rows of this page.
    #[schema(value_type = Vec<Object>)]
    rows: Vec<Map<String, serde_json::Value>>,
    /// Rows of the whole table.
    total: usize,
    /// Rows that pass the filter.
    matching: usize,
    /// This page, from 1.
    page: usize,
    /// All pages.
    pages: usize,
}

/// Show a part of a table of a stored analysis
#[utoipa::path(get, path = "/api/v1/experiments/{name}/trials/{trial}/tables", params(("name" = String, Path), ("trial" = String, Path), TablePlace, TableQuery), responses((status = 200, body = TablePart)), security(("token" = [])))]
pub async fn table(
    State(state): State<Dashboard>,
    Path((name, trial)): Path<(String, String)>,
    Query(place): Query<TablePlace>,
    Query(query): Query<TableQuery>,
) -> Result<Response, Problem> {
    let (artifact, _) = state.artifact(&name, &trial, &place.artifact).await?;
    let document = state.document(&artifact).await?;
    let rows = document.table(&place.table).ok_or_else(|| place.missing())?;
    if place.format == "csv" {
        return Ok(csv(rows, &query, &place.table));
    }
    let part = query.part(rows, &[]);
    let columns = if query.columns.is_empty() { (0..rows.columns.len()).collect() } else { part.columns };
    let row = |row: &u32| {
        let cell = |column: &usize| (rows.columns[*column].key.clone(), json(rows, *row as usize, *column));
        columns.iter().map(cell).collect()
    };
    Ok(Json(TablePart {
        columns: columns.iter().map(|column| rows.columns[*column].key.clone()).collect(),
        rows: part.rows.iter().map(row).collect(),
        total: rows.len(),
        matching: part.matching,
        page: part.page,
        pages: part.pages,
    })
    .into_response())
}

impl TablePlace {
    /// The artifact has no such table.
    pub fn missing(&self) -> Problem {
        Problem::not_found(format!("`{}` has no table `{}`", self.artifact, self.table))
    }
}

fn json(rows: &Rows, row: usize, column: usize) -> serde_json::Value {
    match rows.value(row, column) {
        Value::Int(number) => number.into(),
        Value::Float(number) => number.into(),
        Value::Text(text) => text.into(),
        Value::Json(json) => json,
        Value::Absent(_) => serde_json::Value::Null,
    }
}

/// All rows that pass the filter, as CSV to be saved.
pub fn csv(rows: &Rows, query: &TableQuery, name: &str) -> Response {
    let columns: Vec<usize> = match query.columns.is_empty() {
        true => (0..rows.columns.len()).collect(),
        false => query.columns(rows, &[]),
    };
    let mut text = String::new();
    let mut line = |fields: &mut dyn Iterator<Item = String>| {
        text.push_str(&fields.map(|field| csv_field(&field)).collect::<Vec<_>>().join(","));
        text.push('\n');
    };
    line(&mut columns.iter().map(|column| rows.columns[*column].key.clone()));
    for row in query.all(rows) {
        line(&mut columns.iter().map(|column| match rows.cell(row as usize, *column) {
            Cell::Absent => String::new(),
            Cell::Int(number) => number.to_string(),
            Cell::Float(number) => number.to_string(),
            Cell::Text(number) | Cell::Json(number) => rows.text(number).to_string(),
        }));
    }
    let mut response = text.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
    headers.insert(header::CONTENT_DISPOSITION, disposition(&format!("{name}.csv")));
    response
}
