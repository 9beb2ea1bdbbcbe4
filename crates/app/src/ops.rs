//! GPU and host time by op, module and Python frame.

use std::path::PathBuf;

use analysis::OpsOptions;
use analysis::ops::{self, Ops};
use model::Run;
use report::Report;

use crate::causes::verdict_of;
use crate::failure::Failure;
use crate::input::{Input, classifier, mark, one_run, processes_and_rest, read_mapping, write};
use crate::observer::Observer;
use crate::threads::give_back;

/// Which ops to show.
#[derive(Clone, Debug, Default)]
pub struct OpsRequest {
    /// The trace.
    pub input: Input,
    /// The trace that shows where replayed kernels come from.
    pub mapping: Option<PathBuf>,
    /// Only work whose launch was recorded, and only ops that launch it themselves.
    pub linked: bool,
    /// Where to write the stacks, one per line, for flame graph tools.
    pub stacks: Option<PathBuf>,
    /// The architecture that the answer is for.
    pub target_arch: Option<String>,
}

/// Ops, modules and Python frames with the GPU work below them.
pub fn ops(request: &OpsRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    let verdict = |run: &Run| verdict_of(run, &[], &request.target_arch);
    let (ops, mut report) = compute(request, observer, verdict, |run, ops, verdict| {
        let mut report = ops::present(run, ops);
        report.verdict = Some(verdict);
        report
    })?;
    if let Some(target) = &request.stacks {
        let stacks = ops::folded_stacks(&ops.tree);
        write(target, stacks.as_bytes())?;
        let lines = stacks.lines().count();
        report
            .notes
            .push(format!("`{}` holds {lines} stacks with their GPU time in ns", target.display()).into());
    }
    Ok(report)
}

/// Reads the run and groups its work. `beside` runs on the run in parallel; `with` gets the results of both.
pub(crate) fn compute<B: Send, T>(
    request: &OpsRequest,
    observer: &dyn Observer,
    beside: impl FnOnce(&Run) -> B + Send,
    with: impl FnOnce(&Run, &Ops, B) -> T,
) -> Result<(Ops, T), Failure> {
    let classifier = classifier(None)?;
    let needs = analysis::ops_needs();
    let (processes, rest) = processes_and_rest(&request.input.filters);
    let input = Input { filters: processes, ..request.input.clone() };
    let mut trace = input.read(&rest.widen(&needs), observer)?;
    one_run(&trace.sources, "ops")?;
    let part = mark(&rest, &mut trace, &|| classifier.clone())?;
    let mapping = read_mapping(request.mapping.as_ref(), &needs, observer)?;
    let mut run = Run::new(&trace, mapping.as_deref(), &classifier, 0.0)
        .map_err(|error| Failure::input(error.to_string()))?
        .with_stage_patterns(&request.input.filters.stage_patterns);
    // The calls around the part still show where its work comes from.
    if let Some(part) = &part {
        run.rows.retain(|&row| part.wants_work(&trace, row));
    }
    let options = OpsOptions { mapping: mapping.as_deref(), linked: request.linked, is_part: part.is_some() };
    let (ops, beside) = rayon::join(|| ops::compute(&run, &options), || beside(&run));
    let more = with(&run, &ops, beside);
    give_back(run);
    give_back((trace, mapping));
    Ok((ops, more))
}
