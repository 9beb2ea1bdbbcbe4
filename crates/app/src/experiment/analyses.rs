//! What the analyses say of attached traces, as the JSON that they print.

use std::path::PathBuf;

use report::{Report, render};

use crate::causes::CriticalPathRequest;
use crate::efficiency::EfficiencyRequest;
use crate::explain::ExplainRequest;
use crate::failure::{Failure, FailureKind};
use crate::input::Input;
use crate::memory::MemoryRequest;
use crate::observer::Observer;
use crate::ops::OpsRequest;
use crate::roofline::RooflineRequest;
use crate::timeline::{BreakdownRequest, SummaryRequest};
use crate::triage::TriageRequest;

/// A file's name and its bytes.
type NamedFile = (String, Vec<u8>);

type Analysis = fn(Vec<PathBuf>, &dyn Observer) -> Result<Report, Failure>;

/// The file of each analysis, and how it is asked.
const ANALYSES: &[(&str, Analysis)] = &[
    ("summary.json", |paths, observer| {
        crate::summary(&SummaryRequest { input: Input::of(paths), ..Default::default() }, observer)
    }),
    ("explain.json", |paths, observer| {
        crate::explain(&ExplainRequest { input: Input::of(paths), ..Default::default() }, observer)
    }),
    ("triage.json", |paths, observer| crate::triage(&TriageRequest::new(paths), observer)),
    ("breakdown.json", |paths, observer| {
        crate::breakdown(&BreakdownRequest { input: Input::of(paths), ..Default::default() }, observer)
    }),
    ("critical_path.json", |paths, observer| {
        crate::critical_path(&CriticalPathRequest { input: Input::of(paths), ..Default::default() }, observer)
    }),
    ("efficiency.json", |paths, observer| {
        crate::efficiency(&EfficiencyRequest { input: Input::of(paths), ..Default::default() }, observer)
    }),
    ("ops.json", |paths, observer| {
        crate::ops(&OpsRequest { input: Input::of(paths), ..Default::default() }, observer)
    }),
    ("roofline.json", |paths, observer| {
        crate::roofline(&RooflineRequest { input: Input::of(paths), ..Default::default() }, observer)
    }),
    ("memory.json", |paths, observer| {
        crate::memory(&MemoryRequest { input: Input::of(paths), ..Default::default() }, observer)
    }),
];

/// A report as a command prints it.
pub fn json(mut report: Report, observer: &dyn Observer) -> Vec<u8> {
    report.speak(&|remedy| observer.remedy(remedy));
    render::json(&report, env!("CARGO_PKG_VERSION")).into_bytes()
}

/// The files of all analyses that the traces allow, and why the others are missing. Those in `there` are not made.
pub fn of_traces(
    traces: &[PathBuf],
    there: &[String],
    observer: &dyn Observer,
) -> Result<(Vec<NamedFile>, Vec<String>), Failure> {
    let (mut files, mut missing) = (Vec::new(), Vec::new());
    for (file, analysis) in ANALYSES.iter().filter(|(file, _)| !there.iter().any(|path| path == file)) {
        match analysis(traces.to_vec(), observer) {
            Ok(report) => files.push((file.to_string(), json(report, observer))),
            Err(failure) if failure.kind() == FailureKind::Cancelled => return Err(failure),
            Err(failure) => missing.push(format!("no {file}: {failure}")),
        }
    }
    Ok((files, missing))
}
