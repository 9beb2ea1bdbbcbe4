//! What the analyses say about attached traces, as the JSON that they print.

use std::path::PathBuf;

use report::{Report, render};
use trace::{ArgNeeds, Needs, Trace};

use crate::causes::CriticalPathRequest;
use crate::efficiency::EfficiencyRequest;
use crate::explain::ExplainRequest;
use crate::failure::{Failure, FailureKind};
use crate::input::Input;
use crate::memory::MemoryRequest;
use crate::observer::Observer;
use crate::once;
use crate::ops::OpsRequest;
use crate::panels::{self, PanelsOptions};
use crate::roofline::RooflineRequest;
use crate::timeline::{BreakdownRequest, SummaryRequest};
use crate::triage::TriageRequest;

/// A file's name and its bytes.
type NamedFile = (String, Vec<u8>);

type Analysis = fn(Vec<PathBuf>, &dyn Observer) -> Result<Report, Failure>;

/// The file of each analysis, and how to run it.
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
    ("panels.json", |paths, observer| {
        let runs = panels::read_panels(&[Input::of(paths)], None, observer)?;
        let has_counters = |run: &Trace| !run.counters.is_empty() || !run.counter_columns.columns.is_empty();
        match runs.iter().any(has_counters) {
            true => panels::panels(&runs, &PanelsOptions::default()),
            false => Err(Failure::input("the trace has no counters")),
        }
    }),
    // What a trial's page draws and no other analysis provides.
    ("report.json", |paths, observer| crate::report::charts(&Input::of(paths), observer)),
];

/// Analyses whose findings depend on which arguments and links a trace has: on a trace that was read with
/// more, they find more than their command does.
const ANEW: [&str; 2] = ["explain.json", "triage.json"];

/// A report as a command prints it.
pub fn json(mut report: Report, observer: &dyn Observer) -> Vec<u8> {
    report.speak(&|remedy| observer.remedy(remedy));
    render::json(&report, env!("CARGO_PKG_VERSION")).into_bytes()
}

/// The files of all analyses that the traces allow, and why the others are missing. Skips those in `there`.
pub fn of_traces(
    traces: &[PathBuf],
    there: &[String],
    observer: &dyn Observer,
) -> Result<(Vec<NamedFile>, Vec<String>), Failure> {
    let all = || made_of(traces, there, observer);
    once::reading_once(traces, needs(), all).0
}

/// What all analyses together need from a trace.
fn needs() -> Needs {
    let keys = |needs: Needs| match needs.args {
        ArgNeeds::Keys(keys) => keys,
        ArgNeeds::None | ArgNeeds::All => Vec::new(),
    };
    let mut args = keys(analysis::roofline_needs());
    args.extend(keys(analysis::memory::needs()));
    args.extend(keys(analysis::explain::explain_needs()));
    args.sort_unstable();
    args.dedup();
    Needs { counter_columns: true, graph_nodes: false, args: ArgNeeds::Keys(args), ..Needs::everything() }
}

fn made_of(
    traces: &[PathBuf],
    there: &[String],
    observer: &dyn Observer,
) -> Result<(Vec<NamedFile>, Vec<String>), Failure> {
    let (mut files, mut missing) = (Vec::new(), Vec::new());
    for (file, analysis) in ANALYSES.iter().filter(|(file, _)| !there.iter().any(|path| path == file)) {
        let made = match ANEW.contains(file) {
            true => once::reading_anew(|| analysis(traces.to_vec(), observer)),
            false => analysis(traces.to_vec(), observer),
        };
        match made {
            Ok(report) => files.push((file.to_string(), json(report, observer))),
            Err(failure) if failure.kind() == FailureKind::Cancelled => return Err(failure),
            Err(failure) => missing.push(format!("no {file}: {failure}")),
        }
    }
    Ok((files, missing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;

    /// The files of one reading equal what each command prints alone.
    #[test]
    fn one_reading_says_what_each_command_says() {
        let traces = [
            "traces/hta_mi250_minitoy_train.json.gz",
            "traces/rocprofv3_908_results.json.gz",
            "traces/torch_compile_triton.json.gz",
            "traces/hta_cp_cuda_event_sync.json.gz",
        ];
        for name in traces {
            let Some(path) = testing::data(name) else { continue };
            let paths = vec![path];
            let ((files, missing), reads) =
                once::reading_once(&paths, needs(), || made_of(&paths, &[], &Silent).expect("analysed"));
            assert!((1..=2).contains(&reads), "{name} is read {reads} times");
            assert_eq!(files.len() + missing.len(), ANALYSES.len());
            for (file, analysis) in ANALYSES {
                let alone = analysis(paths.clone(), &Silent).map(|report| json(report, &Silent));
                let together = files.iter().find(|(there, _)| there == file);
                match (alone, together) {
                    (Ok(alone), Some((_, together))) => {
                        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                        assert_eq!(text(&alone), text(together), "{file} of {name}");
                    }
                    (Err(_), None) => {}
                    (alone, together) => {
                        panic!("{file} of {name}: {:?} {:?}", alone.err(), together.is_some())
                    }
                }
            }
        }
    }
}
