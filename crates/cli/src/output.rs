//! The output options of every command, and printing a report accordingly.

use std::io::{IsTerminal, Write};

use app::Answer;
use clap::{Args, ValueEnum};
use report::{Document, HealthStatus, Report, render, visible};

use crate::failure::Failure;
use crate::remedies;
use crate::values::bytes;

/// Rows of a table shown to people, unless `--limit` is given.
const DEFAULT_LIMIT: usize = 20;
/// Width when the output is not a terminal.
const DEFAULT_WIDTH: usize = 120;

/// What goes to standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    #[value(alias = "console")]
    Table,
    Json,
    Csv,
    #[value(alias = "markdown")]
    Md,
    #[value(alias = "dashboard")]
    Html,
    #[cfg(feature = "pdf")]
    Pdf,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// Options that mean the same for every command.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", global = true)]
    pub format: Format,

    /// The same as `--format json`
    #[arg(long, global = true, conflicts_with = "format")]
    pub json: bool,

    /// Rows per table, 0 for all [default: 20 in table and md, else all]
    #[arg(long, value_name = "N", global = true)]
    pub limit: Option<usize>,

    /// Sort tables by this column, named as in JSON: `total_ns`
    #[arg(long, value_name = "COLUMN", global = true)]
    pub sort: Option<String>,

    /// Show this table only (csv shows the first by default)
    #[arg(long, value_name = "NAME", global = true)]
    pub table: Option<String>,

    /// Exit with 1 if a health check of the trace fails
    #[arg(long, global = true)]
    pub strict: bool,

    /// No progress and no notes
    #[arg(short, long, global = true)]
    pub quiet: bool,

    /// Show detail tables; log inputs and health checks to standard error
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub verbose: bool,

    /// No progress bars
    #[arg(long, global = true)]
    pub no_progress: bool,

    /// Memory to use at most, such as 16G [default: 90 % of the machine's]
    #[arg(long, value_name = "SIZE", global = true, value_parser = bytes)]
    pub memory: Option<u64>,

    /// When to use colours
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", global = true)]
    pub color: Color,

    /// Threads to use [default: all that this process may use]
    #[arg(long, value_name = "N", global = true, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub threads: Option<u16>,
}

impl OutputArgs {
    /// The format, including `--json`.
    pub fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    /// Rows of a table to show; 0 for all.
    pub fn row_limit(&self) -> usize {
        self.limit.unwrap_or(match self.format() {
            Format::Table | Format::Md => DEFAULT_LIMIT,
            Format::Json | Format::Csv | Format::Html => 0,
            #[cfg(feature = "pdf")]
            Format::Pdf => DEFAULT_LIMIT,
        })
    }

    /// How many rows of a table suffice, if they are in the order in which they are shown; 0 for all.
    pub fn first_rows(&self) -> usize {
        if self.sort.is_some() { 0 } else { self.row_limit() }
    }

    /// Options for the terminal, or for writing as if to one.
    pub fn terminal(&self) -> render::TerminalOptions {
        let on_terminal = std::io::stdout().is_terminal();
        let width = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).filter(|c| *c >= 40);
        let seen = terminal_size::terminal_size().filter(|_| on_terminal).map(|(w, _)| w.0 as usize);
        let color = match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => on_terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        };
        render::TerminalOptions {
            width: seen.or(width).unwrap_or(DEFAULT_WIDTH),
            color,
            all_rows: "--limit 0 shows all",
            all_checks: "--format json lists all",
            details: self.verbose,
        }
    }

    /// Shows a report; fails with `--strict` if its health checks failed.
    pub fn show(&self, mut report: Report) -> Result<(), Failure> {
        // If only a part of the trace was read, say so first.
        let part = report.health.iter().filter(|check| check.id == "selection");
        report.notes.splice(0..0, part.map(|check| check.message.as_str().into()).collect::<Vec<_>>());
        report = self.spoken(report);
        self.choose_rows(&mut report)?;
        if self.verbose {
            for check in &report.health {
                eprintln!("{} {}: {}", check.status.name(), check.id, visible(&check.message));
            }
        }
        let text = match self.format() {
            Format::Table => render::terminal(&report, &self.terminal()),
            Format::Json => render::json(&report, env!("CARGO_PKG_VERSION")),
            Format::Csv => shown(report.tables.first().map(render::csv).unwrap_or_default()),
            Format::Md => render::markdown(&report),
            Format::Html => render::html(&document(&report)),
            #[cfg(feature = "pdf")]
            Format::Pdf => {
                self.print_pdf(&report)?;
                return self.gate(&report);
            }
        };
        print(&text)?;
        let passed = self.gate(&report);
        app::free_beside(report);
        passed
    }

    #[cfg(feature = "pdf")]
    fn print_pdf(&self, report: &Report) -> Result<(), Failure> {
        if std::io::stdout().is_terminal() {
            return Err(Failure::input("cannot show a PDF in the terminal")
                .with_help("write it to a file: `--format pdf > result.pdf`"));
        }
        let pdf = render::pdf(&document(report), self.row_limit());
        print_bytes(&pdf.map_err(|error| Failure::input(format!("cannot make a PDF: {error}")))?)
    }

    /// Shows an answer's report, then fails if the answer did.
    pub fn answer(&self, answer: Answer) -> Result<(), Failure> {
        self.show(answer.report)?;
        answer.failure.map_or(Ok(()), Err)
    }

    /// A report whose notes name the options to type.
    pub fn spoken(&self, mut report: Report) -> Report {
        report.speak(&|remedy| Some(remedies::words(remedy)));
        report
    }

    /// Fails with `--strict` if the report's health checks failed.
    pub fn gate(&self, report: &Report) -> Result<(), Failure> {
        if self.strict && report.health_status() == HealthStatus::Fail {
            let failed = report.health.iter().find(|check| check.status == HealthStatus::Fail);
            let message = failed.map_or(String::new(), |check| check.message.clone());
            return Err(Failure::gate(format!("the trace is not healthy: {message}")));
        }
        Ok(())
    }

    fn choose_rows(&self, report: &mut Report) -> Result<(), Failure> {
        if let Some(name) = &self.table {
            let names: Vec<String> = report.tables.iter().map(|table| table.name.clone()).collect();
            report.tables.retain(|table| table.name == *name);
            if report.tables.is_empty() {
                return Err(Failure::input(format!("this report has no table `{name}`"))
                    .with_help(format!("choose one of {}", names.join(", "))));
            }
            // A table that is named with `--table` is shown, detail or not.
            report.tables.iter_mut().for_each(|table| table.is_detail = false);
        }
        let limit = self.row_limit();
        let mut sorted = self.sort.is_none();
        for table in &mut report.tables {
            if let Some(column) = &self.sort {
                sorted |= table.sort_by(column);
            }
            app::free_beside(table.take_beyond(limit));
        }
        if !sorted && !report.tables.is_empty() {
            let keys = report.tables[0].columns.iter().map(|column| column.key.as_str());
            return Err(Failure::input(format!(
                "no table has a column `{}`",
                self.sort.as_deref().unwrap_or("")
            ))
            .with_help(format!(
                "table `{}` has the columns {}",
                report.tables[0].name,
                keys.collect::<Vec<_>>().join(", ")
            )));
        }
        if self.quiet {
            report.notes.clear();
        }
        Ok(())
    }
}

/// A report as a page.
fn document(report: &Report) -> Document {
    Document::of(&format!("rocm-perf {}", report.command), env!("CARGO_PKG_VERSION"), report.clone())
}

/// Text with foreign names for standard output: escaped for a terminal, unchanged for a file.
pub fn shown(text: String) -> String {
    if std::io::stdout().is_terminal() { visible(&text).into_owned() } else { text }
}

/// Writes to standard output. A reader that went away (`| head`) is not a failure.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::input(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
