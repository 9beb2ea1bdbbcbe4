//! All tables of a report as CSV files, and its charts as pictures.

use std::io::Write;
use std::path::Path;

use analysis::panels::{PanelsOptions, panels};
use files::OutputFile;
use report::chart::SvgOptions;
use report::{Column, Report, Table, Unit, Value, render};
use trace::Trace;

use super::unchosen;
use crate::failure::Failure;
use crate::output::OutputArgs;

/// Writes one file per table and chart, and lists them.
pub fn write(
    folder: &Path,
    runs: &[Trace],
    options: &PanelsOptions,
    output: &OutputArgs,
) -> Result<(), Failure> {
    // A workload's folder is read by its files' names, and stays as it is.
    let target = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    for source in runs.iter().flat_map(|run| &run.sources) {
        let source = std::fs::canonicalize(&source.path).unwrap_or_else(|_| source.path.clone().into());
        if target.starts_with(&source) {
            let message = format!("`{}` is inside an input, which is only read", folder.display());
            return Err(Failure::input(message).with_help("give another folder with `--out`"));
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
        let save = || -> std::io::Result<()> {
            let mut file = OutputFile::create(&path)?;
            file.file()?.write_all(text.as_bytes())?;
            file.commit()
        };
        save().map_err(|error| Failure::input(format!("cannot write `{}`: {error}", path.display())))?;
        written.push(vec![Value::Text(path.display().to_string()), Value::from(text.len())]);
    }
    let OutputArgs { limit, .. } = output;
    let output = OutputArgs { limit: limit.or(Some(0)), ..output.clone() };
    output.show(Report { tables: vec![written], charts: Vec::new(), ..report })
}
