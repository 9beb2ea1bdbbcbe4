//! What a run waits for: overlap and critical path.

use std::path::PathBuf;
use std::sync::Arc;

use analysis::causes::critical_path;
pub use analysis::causes::critical_path::PathRows;
use analysis::causes::idle::IdleAccounts;
use analysis::causes::verdict::VerdictOptions;
use analysis::kernels::efficiency::efficiency_needs;
use analysis::kernels::roofline::clocked_kernels;
use analysis::{CriticalPathError, CriticalPathOptions, WhatIf, WhatIfError, critical_path_needs};
use model::Run;
use report::{Finding, Remedy, Report, Verdict};
use trace::Needs;

use crate::failure::Failure;
use crate::input::{Input, classifier, mark, one_run, processes_and_rest, read_mapping};
use crate::observer::Observer;
use crate::threads::give_back;

/// The verdict on a run, with its known findings.
pub(crate) fn verdict_of(run: &Run, findings: &[Finding], target_arch: &Option<String>) -> Verdict {
    let accounts = analysis::causes::idle::compute(run);
    analysis::causes::verdict::compute(run, &accounts, findings, &for_target(target_arch))
}

/// Options of a verdict for this architecture.
pub(crate) fn for_target(target_arch: &Option<String>) -> VerdictOptions {
    VerdictOptions { target_arch: target_arch.clone() }
}

/// Where to look for overlap.
#[derive(Clone, Debug, Default)]
pub struct OverlapRequest {
    /// The trace.
    pub input: Input,
    /// The trace that shows where replayed kernels come from.
    pub mapping: Option<PathBuf>,
    /// Least share of a row of its stage's GPU time, in percent.
    pub min_share: f64,
    /// Rules for kernel names, tried before the built-in ones.
    pub rules: Option<PathBuf>,
    /// The architecture that the answer is for.
    pub target_arch: Option<String>,
}

/// What runs alone that could overlap, and what that could win.
pub fn overlap(request: &OverlapRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    let classifier = classifier(request.rules.as_ref())?;
    let needs = analysis::overlap_needs();
    let (processes, rest) = processes_and_rest(&request.input.filters);
    let input = Input { filters: processes, ..request.input.clone() };
    let mut trace = input.read(&rest.widen(&needs), observer)?;
    one_run(&trace.sources, "overlap")?;
    let part = mark(&rest, &mut trace, &|| classifier.clone())?;
    let mapping = read_mapping(request.mapping.as_ref(), &needs, observer)?;
    let mut context = Run::new(&trace, mapping.as_deref(), &classifier, request.min_share)
        .map_err(|error| Failure::input(error.to_string()))?
        .with_stage_patterns(&request.input.filters.stage_patterns);
    let verdict = verdict_of(&context, &[], &request.target_arch);
    // The rest of the trace still shows where the part comes from.
    if let Some(part) = &part {
        context.rows.retain(|&row| part.wants_work(&trace, row));
    }
    let mut report = analysis::overlap_report(&context);
    report.verdict = Some(verdict);
    Ok(report)
}

/// Whose critical path to find, and what to predict from it.
#[derive(Clone, Debug, Default)]
pub struct CriticalPathRequest {
    /// The trace.
    pub input: Input,
    /// Predictions, each as `gemm=0.5`.
    pub what_if: Vec<String>,
    /// Whether to use dependencies that only times suggest.
    pub infer: bool,
    /// Which rows of the path the report has.
    pub rows: PathRows,
    /// Where to write the trace with the path as an extra track.
    pub out: Option<PathBuf>,
    /// Rules for kernel names, tried before the built-in ones.
    pub rules: Option<PathBuf>,
    /// The architecture that the answer is for.
    pub target_arch: Option<String>,
}

/// Adds what questions about modules and the clock need.
fn widened(needs: Needs, what_if: &[WhatIf]) -> Needs {
    let (modules, clock) =
        (what_if.iter().any(WhatIf::is_about_a_module), what_if.iter().any(WhatIf::is_about_the_clock));
    let needs = match clock {
        true => {
            let more = efficiency_needs();
            Needs { args: more.args, counters: true, counter_columns: true, shapes: true, ..needs }
        }
        false => needs,
    };
    Needs { python_frames: needs.python_frames || modules, ..needs }
}

/// What determines the run time, and what it would save to make something faster.
pub fn critical_path(request: &CriticalPathRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    let what_if: Result<Vec<WhatIf>, _> = request.what_if.iter().map(|text| text.parse()).collect();
    let mut what_if = what_if.map_err(|error: WhatIfError| failed(error.into()))?;
    let classifier = classifier(request.rules.as_ref())?;
    let asks_findings = what_if.iter().any(WhatIf::is_about_a_finding);
    let needs = match (asks_findings, &request.out) {
        (true, _) => Needs { collectives: true, ..analysis::explain::explain_needs() },
        (false, Some(_)) => Needs { shapes: true, ..critical_path_needs() },
        (false, None) => critical_path_needs(),
    };
    let needs = widened(needs, &what_if);
    let trace = request.input.read_classified(&needs, observer, || classifier.clone())?;
    one_run(&trace.sources, "critical-path")?;
    let infer = request.infer;
    let of_run = || {
        Run::new(&trace, None, &classifier, 0.0)
            .map(|run| run.with_stage_patterns(&request.input.filters.stage_patterns))
            .map_err(|error| Failure::input(error.to_string()))
    };
    let target = for_target(&request.target_arch);
    let judged =
        |run: &Run, accounts: &IdleAccounts| analysis::causes::verdict::compute(run, accounts, &[], &target);
    let (path, verdict) = if what_if.iter().all(WhatIf::is_about_the_trace_alone) {
        let options = CriticalPathOptions { what_if, infer, ..Default::default() };
        let run = of_run()?;
        let prepared = critical_path::prepare(&run);
        // The verdict is found in parallel with the part of the path that keeps one thread busy.
        let verdict = || judged(&run, &analysis::causes::idle::compute(&run));
        let (path, verdict) = rayon::join(|| prepared.compute(&options), verdict);
        let path = path.map(|(path, graph)| {
            give_back(graph);
            path
        });
        give_back(run);
        (path, verdict)
    } else {
        let run = of_run()?;
        for question in &mut what_if {
            question.look_up(&run, clocked_kernels).map_err(|error| failed(error.into()))?;
        }
        // Findings come with idle accounts and the graph of the run; neither is made twice.
        let (accounts, findings, graph) = if asks_findings {
            let (explained, graph) = analysis::explain::compute_with_graph(&run, &[]);
            (explained.accounts, explained.scenarios, graph.filter(|_| !infer))
        } else {
            (analysis::causes::idle::compute(&run), Vec::new(), None)
        };
        let options = CriticalPathOptions { what_if, infer, findings };
        let path = match &graph {
            Some(graph) => critical_path::compute_on_graph(graph, &run.classes, &options),
            None => critical_path::prepare(&run).compute(&options).map(|(path, _)| path),
        };
        (path, judged(&run, &accounts))
    };
    let path = path.map_err(failed)?;
    let mut report = critical_path::present(&trace, &path, request.rows);
    report.verdict = Some(verdict);
    if let Some(target) = &request.out {
        let drawn = critical_path::draw(Arc::unwrap_or_clone(trace), &path.steps);
        let gzip = target.extension().is_some_and(|extension| extension == "gz");
        let options = convert::pftrace::Options { gzip, ..Default::default() };
        let written = convert::pftrace::write(&drawn, target, &options)
            .map_err(|error| Failure::input(format!("cannot write `{}`: {error}", target.display())))?;
        let note = format!(
            "`{}` holds {} slices; the process `critical path` is the path",
            target.display(),
            written.slices
        );
        report.notes.push(note.into());
    } else {
        give_back(trace);
    }
    give_back(path);
    Ok(report)
}

fn failed(error: CriticalPathError) -> Failure {
    use WhatIfError::{Factor, Pattern, Shape, Unmatched};
    let failure = Failure::input(error.to_string());
    match error {
        CriticalPathError::WhatIf(Shape(_) | Factor(_)) => failure.with_help(Remedy::WhatIf),
        CriticalPathError::WhatIf(Unmatched(_) | WhatIfError::Finding(_) | WhatIfError::Op { .. }) => {
            failure.with_help(Remedy::SeeNames)
        }
        CriticalPathError::WhatIf(WhatIfError::Module { .. }) => failure
            .with_help("record a torch trace with stacks and modules (with_stack=True, with_modules=True)"),
        CriticalPathError::WhatIf(WhatIfError::Stage { .. }) => failure.with_help(Remedy::SeeContents),
        CriticalPathError::WhatIf(WhatIfError::Clock) => {
            failure.with_help("record shapes (torch: record_shapes=True) or the counters of a roofline")
        }
        CriticalPathError::WhatIf(Pattern { .. }) => {
            failure.with_help("escape special characters with `\\`: `gemm\\(`")
        }
        CriticalPathError::SeveralClocks { .. } => failure.with_help(Remedy::OneHost),
        CriticalPathError::Empty => failure.with_help(Remedy::SeeContents),
    }
}
