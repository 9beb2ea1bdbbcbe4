//! What got slower or faster from one run to another.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::filters::Filters;
use analysis::timeline::compare::comparability::{FILES, Facts, comparability};
use analysis::timeline::compare::structure::StructuralRun;
use analysis::timeline::compare::{
    CompareOptions, Comparison, Gate, GateError, GateOptions, GateOutcome, GateStatus, MeasuredRun, compute,
    present, repeats,
};
use model::Run;
use model::classify::Classifier;
use report::{HealthCheck, HealthStatus, Note, Remedy, Report};
use trace::{Needs, Trace};

use crate::Answer;
use crate::failure::Failure;
use crate::input::{classifier, read};
use crate::lake;
use crate::observer::{Observer, watched};

pub use analysis::timeline::compare::Metric;

/// The facts of a run are a small file; a larger one of that name is something else.
const LARGEST_FACTS: u64 = 1 << 20;

/// Which runs to compare, and what counts as a change.
#[derive(Clone, Debug)]
pub struct CompareRequest {
    /// Runs before; each path is a run, or a folder of repeats.
    pub base: Vec<PathBuf>,
    /// Runs after.
    pub candidate: Vec<PathBuf>,
    /// The part of each run to look at.
    pub filters: Filters,
    /// Smaller changes do not matter, in percent.
    pub min_effect: f64,
    /// Confidence of the intervals, in percent.
    pub confidence: f64,
    /// How much two single runs may differ without a real change, in percent.
    pub single_run_floor: f64,
    /// Totals per run, or means per call.
    pub metric: Metric,
    /// Gates such as `total>+3%`.
    pub gates: Vec<String>,
    /// Whether the change itself decides a gate, instead of its lower bound.
    pub gate_on_change: bool,
    /// Whether to compare runs that were made differently or cover different things.
    pub anyway: bool,
    /// Whether gates treat runs as comparable when nothing shows that they are.
    pub assume_comparable: bool,
    /// Rules for kernel names, tried before the built-in ones.
    pub rules: Option<PathBuf>,
    /// What is matched.
    pub by: By,
    /// The scheduler of the cluster that reads lakes; `None`: this process reads them.
    pub cluster: Option<String>,
}

/// What is matched between two runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Kernels, by name, and by op where names differ.
    #[default]
    Kernels,
    /// Modules and ops, by their call trees.
    Ops,
}

/// With more kernels without a partner than this, in percent, the call trees are worth a look.
const UNPAIRED_PCT: f64 = 5.0;

impl CompareRequest {
    /// A comparison with default options.
    pub fn new(base: Vec<PathBuf>, candidate: Vec<PathBuf>) -> Self {
        let usual = CompareOptions::default();
        Self {
            base,
            candidate,
            filters: Filters::default(),
            min_effect: usual.min_effect_pct,
            confidence: usual.confidence * 100.0,
            single_run_floor: usual.single_run_floor_pct,
            metric: usual.metric,
            gates: Vec::new(),
            gate_on_change: false,
            anyway: false,
            assume_comparable: false,
            rules: None,
            by: By::default(),
            cluster: None,
        }
    }

    fn options(&self) -> CompareOptions {
        CompareOptions {
            min_effect_pct: self.min_effect,
            confidence: self.confidence / 100.0,
            single_run_floor_pct: self.single_run_floor,
            metric: self.metric,
            ..CompareOptions::default()
        }
    }

    /// Reads a run and keeps what is compared, with its call tree on request.
    fn measure(
        &self,
        run: &RunFiles,
        with_tree: bool,
        classifier: &Classifier,
        observer: &dyn Observer,
    ) -> Result<MeasuredRun, Failure> {
        // Python frames show the framework and the model.
        let needs = Needs {
            kernels: true,
            memory_copies: true,
            regions: true,
            python_frames: true,
            ..Needs::nothing()
        };
        let needs = if with_tree { analysis::ops_needs() } else { needs };
        let mut trace = read(&run.files, &self.filters.widen(&needs), observer)?;
        let tree = with_tree.then(|| self.tree(&trace, classifier)).transpose()?;
        if !self.filters.is_empty() {
            self.filters.apply(Arc::make_mut(&mut trace), &|| classifier.clone())?;
        }
        let measured = MeasuredRun::of(&trace, classifier);
        Ok(match tree {
            Some(tree) => measured.with_structure(tree),
            None => measured,
        })
    }

    /// The call tree of the selected part; the calls around it show where it comes from.
    fn tree(&self, trace: &Trace, classifier: &Classifier) -> Result<StructuralRun, Failure> {
        let mut run = Run::new(trace, None, classifier, 0.0)
            .map_err(|error| Failure::input(error.to_string()))?
            .with_stage_patterns(&self.filters.stage_patterns);
        if !self.filters.is_empty() {
            let part = self.filters.select(trace, &|| classifier.clone())?;
            run.rows.retain(|&row| part.wants_work(trace, row));
        }
        Ok(StructuralRun::of(&run))
    }
}

/// What got slower or faster, beyond noise; fails if a gate fails or cannot be judged.
pub fn compare(request: &CompareRequest, observer: &dyn Observer) -> Result<Answer, Failure> {
    let gates = request.gates.iter().map(|text| Gate::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let all: Vec<PathBuf> = request.base.iter().chain(&request.candidate).cloned().collect();
    if lake::are_lakes(&all)? {
        return compare_lakes(request, &gates);
    }
    if request.cluster.is_some() {
        return Err(Failure::input("a cluster compares lakes, and the inputs are not lakes"));
    }
    let (before, after) = (find(&request.base, observer)?, find(&request.candidate, observer)?);
    let comparable = comparability(&facts(&before)?, &facts(&after)?);
    // Call trees are meant for comparing what differs: other versions, other vendors.
    let anyway = request.anyway || request.by == By::Ops;
    if !comparable.differences.is_empty() && !anyway {
        let list = comparable.differences.join(", ");
        return Err(Failure::input(format!("the runs were made differently: {list}"))
            .with_help(Remedy::CompareAnyway));
    }
    let classifier = classifier(request.rules.as_ref())?;
    let measure = |runs: &[RunFiles], with_tree: bool| -> Result<Vec<MeasuredRun>, Failure> {
        runs.iter().map(|run| request.measure(run, with_tree, &classifier, observer)).collect()
    };
    let by_ops = request.by == By::Ops;
    let (base, candidate) = (measure(&before, by_ops)?, measure(&after, by_ops)?);
    let has_ops = base.iter().chain(&candidate).all(MeasuredRun::has_ops);
    let mut comparison = compute(base, candidate, &request.options());
    // If names leave many kernels without a partner, the ops that launched them may match.
    if !by_ops && has_ops && comparison.unpaired_pct() > UNPAIRED_PCT {
        comparison = compute(measure(&before, true)?, measure(&after, true)?, &request.options());
    }
    comparison.by_places = by_ops;
    check_ground(&comparison, anyway)?;
    let options =
        GateOptions { on_point: request.gate_on_change, assume_comparable: request.assume_comparable };
    comparison.judge(&gates, &options);
    let mut report = present(&comparison);
    let mut warn = |id: &str, message: String| {
        let (status, value) = (HealthStatus::Warn, None);
        report.health.push(HealthCheck { id: id.into(), status, value, message });
    };
    if !comparable.differences.is_empty() {
        warn("comparability", format!("made differently: {}", comparable.differences.join(", ")));
    }
    if !comparable.environment.is_empty() {
        warn("environment", format!("variables differ: {}", comparable.environment.join(", ")));
    }
    if !comparable.unknown.is_empty() {
        let list = comparable.unknown.join(", ");
        warn(
            "comparability",
            format!("unknown, as there is no {} next to the runs: {list}", FILES.join(" or ")),
        );
    }
    add_unjudged(&mut report, &comparison.gates);
    Ok(Answer { report, failure: gate_failure(&comparison.gates) })
}

/// Compares runs of lakes by the sums an engine computes; kernels are matched by name.
fn compare_lakes(request: &CompareRequest, gates: &[Gate]) -> Result<Answer, Failure> {
    if request.by == By::Ops || !request.filters.is_empty() {
        return Err(Failure::input("lakes can only be compared whole and by kernels")
            .with_help("to compare ops or parts of runs, compare the traces"));
    }
    let classifier = classifier(request.rules.as_ref())?;
    let measure = |paths: &[PathBuf]| lake::measured(paths, request.cluster.as_deref(), &classifier);
    let mut comparison = compute(measure(&request.base)?, measure(&request.candidate)?, &request.options());
    check_ground(&comparison, request.anyway)?;
    let options =
        GateOptions { on_point: request.gate_on_change, assume_comparable: request.assume_comparable };
    comparison.judge(gates, &options);
    let mut report = present(&comparison);
    add_unjudged(&mut report, &comparison.gates);
    Ok(Answer { report, failure: gate_failure(&comparison.gates) })
}

/// Refuses runs whose traces show different things, unless the user wants the comparison anyway.
fn check_ground(comparison: &Comparison, anyway: bool) -> Result<(), Failure> {
    let differences = comparison.ground.differences();
    if !differences.is_empty() && !anyway {
        let list = differences.join(", ");
        return Err(Failure::input(format!("the runs are not comparable: their traces differ in {list}"))
            .with_help(Remedy::CompareAnyway));
    }
    Ok(())
}

/// Notes for gates that cannot be judged.
fn add_unjudged(report: &mut Report, outcomes: &[GateOutcome]) {
    for outcome in outcomes {
        if let GateStatus::CannotJudge(why) = &outcome.status {
            report.notes.push(Note::new(outcome.to_string(), why.remedy()));
        }
    }
}

/// Which gates did not pass, and how to make them judgeable.
fn gate_failure(outcomes: &[GateOutcome]) -> Option<Failure> {
    let failed: Vec<String> =
        outcomes.iter().filter(|outcome| !outcome.passed()).map(ToString::to_string).collect();
    let remedy = outcomes.iter().find_map(|outcome| match &outcome.status {
        GateStatus::CannotJudge(why) => Some(why.remedy()),
        _ => None,
    });
    (!failed.is_empty()).then(|| Failure::gate(failed.join("; ")).with_remedy(remedy))
}

/// The files of one run, and the path that the user gave.
struct RunFiles {
    files: Vec<PathBuf>,
    given: PathBuf,
}

/// The runs behind paths: each path is one, or a folder of several.
fn find(paths: &[PathBuf], observer: &dyn Observer) -> Result<Vec<RunFiles>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        let inputs = ingest::find_inputs(std::slice::from_ref(path))?;
        if let [only] = &inputs[..] {
            found.push(RunFiles { files: only.files.clone(), given: path.clone() });
            continue;
        }
        let trace = watched("looking", observer, |progress| {
            ingest::read(std::slice::from_ref(path), &Needs::nothing(), progress)
        })?;
        let runs = repeats(&trace).map_err(|uneven| {
            Failure::input(format!("`{}`: {uneven}", path.display())).with_help(Remedy::Repeats)
        })?;
        for run in runs {
            let mut files = Vec::new();
            for place in run {
                let source = &trace.sources[place].path;
                let of_source = inputs.iter().find(|input| input.path.display().to_string() == *source);
                files.extend(
                    of_source.map_or_else(|| vec![PathBuf::from(source)], |input| input.files.clone()),
                );
            }
            found.push(RunFiles { files, given: path.clone() });
        }
    }
    Ok(found)
}

/// The known facts about how each run was made.
fn facts(runs: &[RunFiles]) -> Result<Vec<Facts>, Failure> {
    runs.iter().map(facts_of).collect()
}

/// From the nearest file of facts: next to the run's first file, or in a folder above it within the given
/// path.
fn facts_of(run: &RunFiles) -> Result<Facts, Failure> {
    let first = run.files.first().map_or(run.given.as_path(), PathBuf::as_path);
    let inside = |folder: &&Path| folder.starts_with(&run.given) || Some(*folder) == first.parent();
    for folder in first.ancestors().skip(1).take_while(inside) {
        for name in FILES {
            let path = folder.join(name);
            let small = path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= LARGEST_FACTS);
            if !small || run.files.contains(&path) {
                continue;
            }
            let failed = |why: String| Failure::input(format!("cannot read `{}`: {why}", path.display()));
            let text = std::fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
            return Facts::parse(&text).map_err(failed);
        }
    }
    Ok(Facts::default())
}

impl From<GateError> for Failure {
    fn from(error: GateError) -> Self {
        Failure::input(error.to_string()).with_help(
            "a gate is WHAT>+N%, such as 'total>+3%', 'kernel:gemm>+5%' or 'category:communication>+2%'",
        )
    }
}
