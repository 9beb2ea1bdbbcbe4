//! Reports as Python shows and saves them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use app::{Failure, Report};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use pyo3::prelude::*;
use report::{Document, HealthStatus, Table, Unit, Value, render};

use crate::failure::Failed;
use crate::table::ArrowTable;
use crate::words;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Rows of a table that people see.
const ROWS: usize = 20;

/// What an analysis found.
#[pyclass(frozen, module = "rocm_perf._rocm_perf")]
pub struct NativeReport(Report);

#[pymethods]
impl NativeReport {
    /// The command that answers the same.
    #[getter]
    fn command(&self) -> &str {
        &self.0.command
    }

    /// What `--format json` prints.
    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| render::json(&self.0, VERSION))
    }

    /// What the terminal shows.
    #[pyo3(signature = (width = 120, rows = ROWS, color = false, details = false))]
    fn text(&self, py: Python<'_>, width: usize, rows: usize, color: bool, details: bool) -> String {
        let options = render::TerminalOptions {
            width,
            color,
            all_rows: "to_dict() has all",
            all_checks: "health has all",
            details,
        };
        py.detach(|| render::terminal(&limited(&self.0, rows), &options))
    }

    /// What a notebook shows.
    #[pyo3(signature = (rows = ROWS))]
    fn html(&self, py: Python<'_>, rows: usize) -> String {
        py.detach(|| render::html_fragment(&self.0, rows))
    }

    /// Names and titles of charts.
    fn charts(&self) -> Vec<(String, String)> {
        self.0.charts.iter().map(|chart| (chart.name.clone(), chart.title.clone())).collect()
    }

    /// A chart as SVG.
    fn svg(&self, name: &str) -> Option<String> {
        let chart = self.0.charts.iter().find(|chart| chart.name == name)?;
        Some(chart.svg(&report::chart::SvgOptions::default()))
    }

    /// Names of tables, each with its title, the keys of its columns and its number of rows.
    fn tables(&self) -> Vec<(String, String, Vec<String>, usize)> {
        let columns = |table: &Table| table.columns.iter().map(|column| column.key.clone()).collect();
        let each =
            |table: &Table| (table.name.clone(), table.title.clone(), columns(table), table.rows.len());
        self.0.tables.iter().map(each).collect()
    }

    /// A table as Arrow.
    fn table(&self, py: Python<'_>, name: &str) -> Option<ArrowTable> {
        let table = self.0.table(name)?;
        Some(ArrowTable::of(py.detach(|| batch(table))))
    }

    /// A table alone, as the terminal shows it.
    #[pyo3(signature = (name, width = 120, rows = ROWS))]
    fn table_text(&self, name: &str, width: usize, rows: usize) -> Option<String> {
        let options = render::TerminalOptions { width, all_rows: "to_dict() has all", ..Default::default() };
        Some(render::terminal(&limited(&self.only(name)?, rows), &options))
    }

    /// A table alone, as a notebook shows it.
    #[pyo3(signature = (name, rows = ROWS))]
    fn table_html(&self, name: &str, rows: usize) -> Option<String> {
        Some(render::html_fragment(&self.only(name)?, rows))
    }

    /// Writes the report to a file; the extension selects the format.
    fn save(&self, py: Python<'_>, path: PathBuf) -> Result<(), Failed> {
        py.detach(|| save(&self.0, &path)).map_err(Failed::from)
    }

    /// Whether a check of the trace's health failed.
    #[getter]
    fn is_healthy(&self) -> bool {
        self.0.health_status() != HealthStatus::Fail
    }
}

impl NativeReport {
    /// A report whose remedies are given as Python calls.
    pub fn of(mut report: Report) -> Self {
        // When only a part of the trace was read, say so first.
        let part = report.health.iter().filter(|check| check.id == "selection");
        report.notes.splice(0..0, part.map(|check| check.message.as_str().into()).collect::<Vec<_>>());
        report.speak(&words::words);
        Self(report)
    }

    fn only(&self, name: &str) -> Option<Report> {
        let table = Table { is_detail: false, ..self.0.table(name)?.clone() };
        Some(Report { command: self.0.command.clone(), tables: vec![table], ..Report::default() })
    }
}

fn limited(report: &Report, rows: usize) -> Report {
    let mut report = report.clone();
    report.tables.iter_mut().for_each(|table| table.limit(rows));
    report
}

/// A table as Arrow: integers, floats or text, like its cells; absent cells are null.
fn batch(table: &Table) -> RecordBatch {
    let column = |at: usize| -> ArrayRef {
        let cells = || table.rows.iter().map(move |row| &row[at]);
        if cells().all(|cell| matches!(cell, Value::Int(_) | Value::Absent(_)))
            && cells().any(|cell| matches!(cell, Value::Int(_)))
        {
            return Arc::new(cells().map(whole).collect::<Int64Array>());
        }
        if cells().any(|cell| cell.number().is_some())
            && cells().all(|cell| matches!(cell, Value::Int(_) | Value::Float(_) | Value::Absent(_)))
        {
            return Arc::new(cells().map(Value::number).collect::<Float64Array>());
        }
        match table.columns[at].text || cells().any(|cell| matches!(cell, Value::Text(_) | Value::Json(_))) {
            true => Arc::new(cells().map(text).collect::<StringArray>()),
            false => Arc::new(Float64Array::new_null(table.rows.len())),
        }
    };
    let arrays: Vec<ArrayRef> = (0..table.columns.len()).map(column).collect();
    let fields = table.columns.iter().zip(&arrays);
    let fields: Vec<Field> =
        fields.map(|(column, array)| Field::new(&column.key, array.data_type().clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(table.rows.len()));
    RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options)
        .unwrap_or_else(|_| RecordBatch::new_empty(schema))
}

fn whole(cell: &Value) -> Option<i64> {
    match cell {
        Value::Int(number) => Some(*number),
        _ => None,
    }
}

fn text(cell: &Value) -> Option<String> {
    match cell {
        Value::Absent(_) => None,
        Value::Text(text) => Some(text.clone()),
        Value::Json(json) => Some(json.to_string()),
        number => Some(report::show(number, Unit::Exact)),
    }
}

/// Endings of files that a report can be saved to.
const ENDINGS: &str = ".json, .csv, .md, .html, .pdf, .xlsx, .svg, .png or .txt";

fn save(report: &Report, path: &Path) -> Result<(), Failure> {
    let failed =
        |error: render::RenderError| Failure::input(format!("cannot write `{}`: {error}", path.display()));
    let document = || Document::of(&format!("rocm-perf {}", report.command), VERSION, report.clone());
    let chart = || {
        let chart = report
            .charts
            .first()
            .ok_or_else(|| Failure::input(format!("there is no chart to save in `{}`", path.display())))?;
        Ok::<_, Failure>(chart.svg(&report::chart::SvgOptions::default()))
    };
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_lowercase();
    let bytes = match ending.as_str() {
        "json" => render::json(report, VERSION).into_bytes(),
        "csv" => match report.tables.first() {
            Some(table) => render::csv(table).into_bytes(),
            None => return Err(Failure::input(format!("there is no table to save in `{}`", path.display()))),
        },
        "md" => render::markdown(report).into_bytes(),
        "html" => render::html(&document()).into_bytes(),
        "pdf" => render::pdf(&document(), ROWS).map_err(failed)?,
        "xlsx" => render::xlsx(&document()).map_err(failed)?,
        "svg" => chart()?.into_bytes(),
        "png" => render::png(&chart()?, 2.0).map_err(failed)?,
        "txt" => render::terminal(report, &render::TerminalOptions::default()).into_bytes(),
        _ => {
            let message = format!("the ending of `{}` names no format", path.display());
            return Err(Failure::input(message).with_help(format!("end it with {ENDINGS}")));
        }
    };
    app::input::write(path, &bytes)
}
