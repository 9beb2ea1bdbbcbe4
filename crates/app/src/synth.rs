//! Simulated runs with known truth, and the example for newcomers.

use std::path::{Path, PathBuf};

use analysis::SummaryOptions;
use analysis::causes::verdict::VerdictOptions;
use analysis::profile::{Profiled, profile_report, timing_needs, typical_run};
use analysis::timeline::stability::RunTimes;
use report::{Column, Note, Remedy, Report, Table, Unit, Value};
use synth::{Generated, GeneratedFile};
use trace::Needs;

use crate::failure::Failure;
use crate::observer::Observer;
use crate::triage::{TriageRequest, triage};

pub use synth::{
    Disaggregated, DisaggregatedOptions, Faults, GenerateOptions, GraphMode, Loss, Options, OutputFormat,
    Parallelism, Scenario, SlowLink, Straggler,
};

/// Simulates a run and writes it; lists the files.
pub fn synth(options: &GenerateOptions) -> Result<Report, Failure> {
    Ok(files(&generate(options)?.files, &options.out))
}

/// Simulates a prefill and a decode server and writes their traces; lists the files.
pub fn synth_disaggregated(
    scenario: &Disaggregated,
    options: DisaggregatedOptions,
    out: &Path,
    format: OutputFormat,
    replace: bool,
) -> Result<Report, Failure> {
    let written = synth::generate_disaggregated(scenario, options, out, format, replace).map_err(failed)?;
    Ok(files(&written, out))
}

/// The scenario of two servers with this name or in this file; `None` if it is a scenario of ranks.
pub fn disaggregated(name: &str) -> Result<Option<Disaggregated>, Failure> {
    let path = Path::new(name);
    let read = match path.is_file() {
        true => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| Failure::input(format!("cannot read `{name}`: {error}")))?;
            Disaggregated::is_one(&text).then(|| Disaggregated::from_toml(&text))
        }
        false => Disaggregated::builtin(name),
    };
    read.transpose().map_err(|error| Failure::input(format!("`{name}`: {error}")))
}

/// Names of the built-in scenarios.
pub fn scenario_names() -> impl Iterator<Item = &'static str> {
    Scenario::builtin_names().chain(Disaggregated::builtin_names())
}

/// An example run, and the output of two commands on it.
pub struct Demo {
    /// The trace of the run.
    pub run: PathBuf,
    /// Its summary.
    pub summary: Report,
    /// Its triage.
    pub triage: Report,
}

/// Creates an example run in a folder and looks at it.
pub fn demo(folder: &Path, observer: &dyn Observer) -> Result<Demo, Failure> {
    let run = example(folder)?;
    let trace = crate::input::read(std::slice::from_ref(&run), &Needs::summary(), observer)?;
    let summary = analysis::summary(&trace, &SummaryOptions::default());
    // The folder, not the file: the capture trace next to it locates the replayed kernels.
    let triage = triage(&TriageRequest::new(vec![folder.to_path_buf()]), observer)?;
    Ok(Demo { run, summary, triage })
}

/// Runs of the simulated program.
const RUNS: u64 = 5;

/// The report of a profile on several simulated runs of one program.
pub fn demo_profile(folder: &Path, observer: &dyn Observer) -> Result<Report, Failure> {
    let mut runs = Vec::new();
    let mut places = Vec::new();
    for number in 1..=RUNS {
        let scenario = Scenario::builtin("slow-kernel").map_err(|error| Failure::input(error.to_string()))?;
        let folder = folder.join(format!("run-{number}"));
        let options = GenerateOptions {
            options: Options { seed: number, ..Options::default() },
            force: is_run(&folder),
            ..GenerateOptions::new(scenario, &folder, OutputFormat::Rocpd)
        };
        let file = trace_of(&generate(&options)?)?;
        let trace = crate::input::read(std::slice::from_ref(&file), &timing_needs(), observer)?;
        let times = RunTimes::of(&trace, &format!("simulated run {number}"));
        runs.push(times.ok_or_else(|| Failure::input("the simulated run has no kernels"))?);
        places.push(file);
    }
    let typical = typical_run(&runs).unwrap_or_default();
    let trace = crate::input::read(std::slice::from_ref(&places[typical]), &timing_needs(), observer)?;
    let profiled = Profiled {
        runs: &runs,
        timing: &trace,
        counters: None,
        thread_traces: &[],
        traced: false,
        code: None,
    };
    let mut report = profile_report(&profiled, &VerdictOptions::default());
    let simulated = format!(
        "SIMULATED: these are {RUNS} runs of a made-up program on a made-up MI300X, not measurements; the traces are in `{}`",
        folder.display()
    );
    report.notes.insert(0, simulated.into());
    Ok(report)
}

/// The trace of a simulated run.
fn trace_of(generated: &Generated) -> Result<PathBuf, Failure> {
    let run = generated.files.iter().find(|file| file.format.is_some() && file.role.is_none());
    run.map(|file| file.path.clone()).ok_or_else(|| Failure::input("the simulator wrote no trace"))
}

/// Creates the example unless it exists; returns the trace of its run.
fn example(folder: &Path) -> Result<PathBuf, Failure> {
    let scenario = Scenario::builtin("serving").map_err(|error| Failure::input(error.to_string()))?;
    let options = GenerateOptions {
        options: Options { seed: 1, ..Options::default() },
        force: is_demo(folder),
        ..GenerateOptions::new(scenario, folder, OutputFormat::Torch)
    };
    trace_of(&generate(&options)?)
}

/// Whether a folder holds an earlier demo and nothing worth keeping.
fn is_demo(folder: &Path) -> bool {
    std::fs::read_to_string(folder.join("scenario.toml"))
        .is_ok_and(|text| text.contains("name = \"serving\""))
}

/// Whether a folder holds a simulated run of an earlier demo.
fn is_run(folder: &Path) -> bool {
    std::fs::read_to_string(folder.join("scenario.toml"))
        .is_ok_and(|text| text.contains("name = \"slow-kernel\""))
}

fn generate(options: &GenerateOptions) -> Result<Generated, Failure> {
    synth::generate(options).map_err(failed)
}

fn failed(error: synth::Error) -> Failure {
    let exists = matches!(&error, synth::Error::Write { why, .. } if why.contains("already"));
    let failure = Failure::input(error.to_string());
    if exists { failure.with_help(Remedy::OtherPlaceOrReplace) } else { failure }
}

/// A built-in scenario, or one from a file.
pub fn scenario(name: &str) -> Result<Scenario, Failure> {
    let path = Path::new(name);
    if !path.is_file() {
        return Scenario::builtin(name).map_err(|error| {
            Failure::input(error.to_string())
                .with_help("a scenario file is given by its path; docs/synth.md describes it")
        });
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::input(format!("cannot read `{name}`: {error}")))?;
    Scenario::from_toml(&text).map_err(|error| Failure::input(format!("`{name}`: {error}")))
}

fn files(written: &[GeneratedFile], out: &Path) -> Report {
    let columns = vec![
        Column::text("path"),
        Column::text("format"),
        Column::int("rank", Unit::None).key(),
        Column::text("role"),
        Column::int("bytes", Unit::Bytes).key(),
    ];
    let mut table = Table::new("files", "Written", columns);
    for file in written {
        table.push(vec![
            Value::Text(file.path.display().to_string()),
            Value::from(file.format.map_or("", |format| format.name())),
            Value::int_or(file.rank.map(i64::from), "belongs to no rank"),
            Value::from(file.role.unwrap_or("")),
            Value::Int(file.bytes as i64),
        ]);
    }
    let text = format!("the run is in `{}`", out.display());
    let notes = vec![Note::new(text, Remedy::ReadFolder(out.display().to_string()))];
    Report { command: "synth".into(), tables: vec![table], notes, ..Report::default() }
}
