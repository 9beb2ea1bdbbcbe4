//! Reports: what an analysis found, as typed tables, findings and charts, and how they are shown.
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
pub use document::{Document, Figure, Found, Section, SectionItem};
pub use finding::{Finding, NextStep, Severity};
pub use fonts::{MEDIUM as MEDIUM_FONT, REGULAR as REGULAR_FONT};
pub use note::{Note, Remedy};
pub use number::show;
pub use table::{Column, Importance, Table, Unit, Value};
pub use verdict::{ArchMatch, BoundBy, Cost, Verdict};
pub use visible::visible;

/// One input as the report names it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputFact {
    /// Path as the user gave it.
    pub path: String,
    /// Format name.
    pub format: String,
    /// Size on disk.
    pub bytes: u64,
    /// Rank, when known.
    pub rank: Option<u32>,
}

/// One check of the trace's health.
#[derive(Clone, Debug, PartialEq)]
pub struct HealthCheck {
    /// Stable name.
    pub id: String,
    /// `pass`, `warn` or `fail`.
    pub status: HealthStatus,
    /// The number behind it.
    pub value: Option<f64>,
    /// One line for a person.
    pub message: String,
}

/// How healthy the input is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HealthStatus {
    /// As it should be.
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

/// What an analysis found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The command that made it.
    pub command: String,
    /// What was read.
    pub inputs: Vec<InputFact>,
    /// How healthy it was.
    pub health: Vec<HealthCheck>,
    /// The answer, before all tables.
    pub verdict: Option<Verdict>,
    /// Tables in the order to show them.
    pub tables: Vec<Table>,
    /// First nanosecond of the trace, on its own clock: moments that findings name count from it.
    pub trace_start_ns: Option<i64>,
    /// Findings, most important first.
    pub findings: Vec<Finding>,
    /// Whether the findings are the answer and the tables their evidence, so that they come first.
    pub findings_first: bool,
    /// Pictures, in the order to show them.
    pub charts: Vec<chart::Chart>,
    /// Remarks for a person, such as what was left out and how to see it.
    pub notes: Vec<Note>,
    /// Fields under stable names that programs look for, in JSON only.
    pub result: Option<serde_json::Value>,
}

/// The path that stands for all inputs: that of the only one, or the folder that holds them all.
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
    // Files of this folder have no common beginning.
    if common.as_os_str().is_empty() { ".".into() } else { common.display().to_string() }
}

impl Report {
    /// The worst of all checks.
    pub fn health_status(&self) -> HealthStatus {
        self.health.iter().map(|check| check.status).max().unwrap_or_default()
    }

    /// Puts each note's remedy and each finding's next step into words, as a door says it.
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

    /// The table of that name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
}
