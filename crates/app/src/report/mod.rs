//! A report to read and pass on.

mod files;
mod memory;
mod outline;
mod panels;
mod roofline;

use std::path::PathBuf;

use report::{Column, Report, Table, Unit, Value};

use self::files::Destination;
use self::outline::Run;
use crate::failure::Failure;
use crate::input::{Input, only_rank, only_stage, without_rank_and_stage};
use crate::observer::Observer;
use crate::triage::{ProfileFacts, TriageRequest};

pub use self::files::{Look, Target, Theme};

/// What to write, of which run.
#[derive(Clone, Debug)]
pub struct ReportRequest {
    /// The run.
    pub input: Input,
    /// Formats; empty: what the output's name ends in, else an HTML page.
    pub to: Vec<Target>,
    /// File for one format, or folder for all of them.
    pub out: Option<PathBuf>,
    /// Title [default: the input's name].
    pub title: Option<String>,
    /// How things look.
    pub look: Look,
    /// The trace that shows where replayed kernels come from.
    pub mapping: Option<PathBuf>,
    /// The architecture that the answer is for.
    pub target_arch: Option<String>,
    /// Whether to replace existing files.
    pub replace: bool,
}

/// The report that was written, and the list of its files.
pub struct WrittenReport {
    /// Everything in it.
    pub report: Report,
    /// The files, as a report.
    pub files: Report,
}

/// Writes a report of a run.
pub fn report(request: &ReportRequest, observer: &dyn Observer) -> Result<WrittenReport, Failure> {
    let input = &request.input;
    let place = Destination::new(&request.to, request.out.as_deref(), &input.paths, request.replace)?;
    place.check()?;
    let run = read(request, observer)?;
    let title = request.title.clone().unwrap_or_else(|| place.name.clone());
    let document = run.document(&title, observer);
    let written = place.write(&document, &request.look)?;
    let columns = vec![Column::text("path"), Column::text("format"), Column::int("bytes", Unit::Bytes).key()];
    let mut table = Table::new("files", "Written", columns);
    for (path, target, bytes) in written {
        let path = Value::Text(path.display().to_string());
        table.push(vec![path, Value::from(target.name()), Value::from(bytes)]);
    }
    let full = document.report;
    let files = Report {
        command: "report".into(),
        inputs: full.inputs.clone(),
        health: full.health.clone(),
        tables: vec![table],
        ..Report::default()
    };
    Ok(WrittenReport { report: full, files })
}

/// Everything in a report: the results of every analysis on a run, with its charts. Nothing is written.
pub fn overview(request: &ReportRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    Ok(read(request, observer)?.document("", observer).report)
}

/// The charts of a report that no other analysis has: timeline, share of each kernel, categories, durations, copies.
pub fn charts(input: &Input, observer: &dyn Observer) -> Result<Report, Failure> {
    outline::charts(input, observer)
}

fn read(request: &ReportRequest, observer: &dyn Observer) -> Result<Run, Failure> {
    let triage = triage_request(request);
    Run::read(&request.input, request.mapping.as_ref(), &request.target_arch, &triage, observer)
}

/// The request for triage, if the run has serving stages.
fn triage_request(request: &ReportRequest) -> Result<TriageRequest, Failure> {
    let input = &request.input;
    Ok(TriageRequest {
        mapping: request.mapping.iter().cloned().collect(),
        rank: only_rank(&input.filters)?,
        stage: only_stage(&input.filters)?,
        part: without_rank_and_stage(&input.filters),
        profile: ProfileFacts { target_arch: request.target_arch.clone(), ..ProfileFacts::default() },
        ..TriageRequest::new(input.paths.clone())
    })
}
