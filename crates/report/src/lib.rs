//! Reports: the result of an analysis as typed tables, findings and charts, and how to show them.
//!
//! ```text
//! analysis ──► Report ──► render::{terminal, json, csv, markdown, html, …}
//! ```
//!
//! A [`Report`] knows nothing about traces or files, a renderer nothing about analyses. Numbers keep their
//! unit until the last moment; an absent number carries its reason.
//!
//! ```
//! use rocm_perf_report::{Column, Report, Table, Unit, Value, render};
//!
//! let mut table = Table::new("kernels", "Kernels", vec![Column::text("name"), Column::int("total_ns", Unit::Ns)]);
//! table.push(vec![Value::from("gemm"), Value::Int(1_500_000)]);
//! let report = Report { command: "summary".into(), tables: vec![table], ..Report::default() };
//! let text = render::terminal(&report, &render::TerminalOptions { width: 80, ..Default::default() });
//! assert!(text.contains("1.500 ms"));
//! ```

pub mod chart;
mod document;
mod evidence;
mod finding;
mod fonts;
mod layout;
mod note;
mod number;
pub mod render;
mod table;
mod verdict;
mod visible;

pub use chart::Chart;
pub use document::{Document, Figure, Section, SectionContent, SectionItem};
pub use finding::{Finding, NextStep, Severity};
pub use fonts::{MEDIUM as MEDIUM_FONT, REGULAR as REGULAR_FONT};
pub use note::{Note, Remedy};
pub use number::show;
pub use table::{Column, Importance, ShortForm, Table, Unit, Value};
pub use verdict::{ArchMatch, BoundBy, Cost, Verdict};
pub use visible::visible;

/// One input, as named in the report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputFact {
    /// Path as the user gave it.
    pub path: String,
    /// Format name.
    pub format: String,
    /// Size on disk.
    pub bytes: u64,
    /// Rank, if known.
    pub rank: Option<u32>,
}

/// One check of the trace's health.
#[derive(Clone, Debug, PartialEq)]
pub struct HealthCheck {
    /// Stable name.
    pub id: String,
    /// `pass`, `warn` or `fail`.
    pub status: HealthStatus,
    /// The measured number.
    pub value: Option<f64>,
    /// One line for a person.
    pub message: String,
}

/// The health of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HealthStatus {
    /// No problem.
    #[default]
    Pass,
    /// Usable, with a caveat.
    Warn,
    /// Results may be wrong.
    Fail,
}

impl HealthStatus {
    /// `pass`, `warn`, `fail`.
    pub fn name(self) -> &'static str {
        match self {
            HealthStatus::Pass => "pass",
            HealthStatus::Warn => "warn",
            HealthStatus::Fail => "fail",
        }
    }
}

/// The result of an analysis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The command that made it.
    pub command: String,
    /// Inputs that were read.
    pub inputs: Vec<InputFact>,
    /// Health checks of the inputs.
    pub health: Vec<HealthCheck>,
    /// The answer, before all tables.
    pub verdict: Option<Verdict>,
    /// Tables in the order to show them.
    pub tables: Vec<Table>,
    /// First timestamp of the trace, on its own clock: findings show times relative to it.
    pub trace_start_ns: Option<i64>,
    /// Findings, most important first.
    pub findings: Vec<Finding>,
    /// Whether the findings are the answer and the tables their evidence, so that they come first.
    pub findings_first: bool,
    /// Charts, in the order to show them.
    pub charts: Vec<chart::Chart>,
    /// Notes for a person, such as what was left out and how to see it.
    pub notes: Vec<Note>,
    /// Fields with stable names for programs, in JSON only.
    pub result: Option<serde_json::Value>,
}

/// The path for all inputs: that of the only one, or their common folder.
fn common_path(inputs: &[InputFact]) -> String {
    let Some((first, others)) = inputs.split_first() else { return String::new() };
    let mut common = std::path::Path::new(&first.path);
    while let Some(other) = others.iter().find(|other| !std::path::Path::new(&other.path).starts_with(common))
    {
        match common.parent() {
            Some(parent) => common = parent,
            None => return other.path.clone(),
        }
    }
    // Files of the current folder have no common prefix.
    if common.as_os_str().is_empty() { ".".into() } else { common.display().to_string() }
}

impl Report {
    /// The worst of all checks.
    pub fn health_status(&self) -> HealthStatus {
        self.health.iter().map(|check| check.status).max().unwrap_or_default()
    }

    /// Puts each note's remedy and each finding's next step into the words of a front end.
    pub fn speak(&mut self, words: &dyn Fn(&Remedy) -> Option<String>) {
        for note in &mut self.notes {
            *note = std::mem::take(note).spoken(words);
        }
        let trace = common_path(&self.inputs);
        for finding in self.findings.iter_mut().filter(|finding| finding.next.is_empty()) {
            if let Some(step) = &finding.next_step {
                let step = Remedy::LookCloser(Box::new((step.clone(), trace.clone())));
                finding.next = words(&step).unwrap_or_default();
            }
        }
    }

    /// The table with this name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
}
