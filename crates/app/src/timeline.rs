//! Where a run spent its time: contents, totals, timeline, stability.

use std::path::PathBuf;

use analysis::timeline::stability::{RunTimes, run_needs, stability_report};
use analysis::{BreakdownOptions, SummaryOptions};
use model::Run;
use model::classify::Classes;
use model::completeness::Completeness;
use model::stages::Stage;
use report::Report;
use trace::{ArgNeeds, Needs, RowRef, Trace};

use crate::causes::for_target;
use crate::failure::Failure;
use crate::input::{Input, classifier, one_run};
use crate::lake::LakeSource;
use crate::observer::Observer;
use crate::threads::give_back;

/// What is in a trace: inputs, tables, GPUs, health.
pub fn info(input: &Input, observer: &dyn Observer) -> Result<Report, Failure> {
    let needs = Needs { python_frames: false, args: ArgNeeds::None, ..Needs::everything() };
    let trace = input.read(&needs, observer)?;
    let mut report = analysis::info(&trace);
    // A part of a trace does not have the rest.
    if input.filters.is_empty() {
        let missing = analysis::timeline::info::missing_table(&trace, &Completeness::of(&trace));
        report.tables.extend((!missing.rows.is_empty()).then_some(missing));
    }
    Ok(report)
}

/// What to summarise.
#[derive(Clone, Debug, Default)]
pub struct SummaryRequest {
    /// The trace.
    pub input: Input,
    /// One row per rank and name.
    pub by_rank: bool,
    /// Host regions of these categories only; `NONE` leaves the regions out.
    pub region_categories: Option<Vec<String>>,
    /// Whether to read Python frames.
    pub python: bool,
    /// The architecture that the answer is for.
    pub target_arch: Option<String>,
    /// The scheduler of the cluster that reads a lake; `None`: this process reads it.
    pub cluster: Option<String>,
}

/// Kernels, copies, allocations, host regions and domains with their times.
pub fn summary(request: &SummaryRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    let options =
        SummaryOptions { by_rank: request.by_rank, region_categories: request.region_categories.clone() };
    if let Some(lake) = LakeSource::of(&request.input, request.cluster.as_deref())? {
        return crate::lake::summary(&lake, &options, request.python);
    }
    let needs = Needs { python_frames: request.python, ..Needs::summary() };
    let classifier = classifier(None)?;
    let trace = request.input.read_run(&needs, observer)?;
    let target = for_target(&request.target_arch);
    let (mut report, verdict) = rayon::join(
        || analysis::summary(&trace, &options),
        || analysis::causes::verdict::of_tables(&trace, &Classes::of(&trace, &classifier), &target),
    );
    report.verdict = Some(verdict);
    give_back(trace);
    Ok(report)
}

/// What to break down.
#[derive(Clone, Debug, Default)]
pub struct BreakdownRequest {
    /// The trace.
    pub input: Input,
    /// Only GPU work whose launch was recorded.
    pub linked: bool,
    /// Categories of each rank.
    pub by_rank: bool,
    /// Rules for kernel names, tried before the built-in ones.
    pub rules: Option<PathBuf>,
    /// The architecture that the answer is for.
    pub target_arch: Option<String>,
}

/// What drawing a timeline needs: idle time is charged to the function that caused it.
pub(crate) fn needs() -> Needs {
    Needs { python_frames: true, links: true, syncs: true, memory_allocations: false, ..Needs::summary() }
}

/// How the GPUs spent their time: timeline, categories, overlap.
pub fn breakdown(request: &BreakdownRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    let classifier = classifier(request.rules.as_ref())?;
    let trace = request.input.read_classified(&needs(), observer, || classifier.clone())?;
    one_run(&trace.sources, "breakdown")?;
    let run = Run::new(&trace, None, &classifier, 0.0)
        .map_err(|error| Failure::input(error.to_string()))?
        .with_stage_patterns(&request.input.filters.stage_patterns);
    let stage_of = |row: RowRef| run.stage(row).name();
    let staged = run.stages.present().iter().any(|&stage| stage != Stage::Other);
    let options = BreakdownOptions {
        linked: request.linked,
        by_rank: request.by_rank,
        stage_of: staged.then_some(&stage_of as &dyn Fn(RowRef) -> &'static str),
    };
    let mut report = analysis::breakdown(&trace, &run.classes, &options);
    let accounts = analysis::causes::idle::compute(&run);
    report.verdict =
        Some(analysis::causes::verdict::compute(&run, &accounts, &[], &for_target(&request.target_arch)));
    report.tables.push(analysis::causes::idle::table(&trace, &accounts));
    Ok(report)
}

/// How much repeated runs differ; each path is one run, in the order they were made.
pub fn stability(input: &Input, observer: &dyn Observer) -> Result<Report, Failure> {
    let mut traces = Vec::new();
    let mut runs = Vec::new();
    for path in &input.paths {
        let label = path.display().to_string();
        let trace = input.with_path(path.clone()).read_run(&run_needs(), observer)?;
        let Some(times) = RunTimes::of(&trace, &label) else {
            let message = format!("`{label}` has no dispatch, so it has no time to compare");
            return Err(Failure::input(message));
        };
        runs.push(times);
        // Only what the report needs is kept of a run.
        let (sources, health) = (trace.sources.clone(), trace.health.clone());
        traces.push(Trace { sources, health, ..Default::default() });
    }
    Ok(stability_report(&traces, &runs))
}
