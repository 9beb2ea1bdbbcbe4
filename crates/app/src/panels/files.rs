//! All tables of a report as CSV files, and its charts as pictures.

use std::path::Path;

use analysis::kernels::panels::{PanelsOptions, panels};
use report::chart::SvgOptions;
use report::{Column, Remedy, Report, Table, Unit, Value, render};
use trace::Trace;

use super::unchosen;
use crate::failure::Failure;
use crate::input::write;

/// Writes one file per table and chart, and lists them.
pub fn write_panels(folder: &Path, runs: &[Trace], options: &PanelsOptions) -> Result<Report, Failure> {
    // A workload's folder is read by file names, so nothing may be added to it.
    let target = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    for source in runs.iter().flat_map(|run| &run.sources) {
        let source = std::fs::canonicalize(&source.path).unwrap_or_else(|_| source.path.clone().into());
        if target.starts_with(&source) {
            let message = format!("`{}` is inside an input, which is only read", folder.display());
            return Err(Failure::input(message).with_help(Remedy::OtherPlace));
        }
    }
    let report = panels(runs, options).map_err(|error| unchosen(&error))?;
    let mut written =
        Table::new("files", "Written", vec![Column::text("path"), Column::int("bytes", Unit::Bytes).key()]);
    let tables = report.tables.iter().map(|table| (format!("{}.csv", table.name), render::csv(table)));
    let charts =
        report.charts.iter().map(|chart| (format!("{}.svg", chart.name), chart.svg(&SvgOptions::default())));
    for (name, text) in tables.chain(charts) {
        let path = folder.join(name);
        write(&path, text.as_bytes())?;
        written.push(vec![Value::Text(path.display().to_string()), Value::from(text.len())]);
    }
    Ok(Report { tables: vec![written], charts: Vec::new(), ..report })
}
