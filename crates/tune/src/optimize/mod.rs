//! `optimize`: profile, rank, propose, guard, build, check, measure, and keep a change only if it is proven.
//!
//! ```text
//! tree ─► two copies ─► baseline: build, check, profile, noise floor
//!                            └─► each proposal: guards ─► build ─► metadata ─► checks ─► A/B pairs ─► fresh pairs
//! ```
//!
//! Everything happens in copies below the session's folder. The tree is changed only at the very end, by one
//! rename, and only on request.

mod checks;
mod dispatches;
pub mod estimate;
pub mod experiment;
mod files;
pub mod golden;
pub mod guard;
mod judge;
pub mod metadata;
pub mod propose;
mod rank;
mod runner;
pub mod session;
pub mod source;
pub mod tables;
mod trial;
pub mod workspace;

use std::path::{Path, PathBuf};
use std::time::Duration;

use formats::secrets::redact_words;
use serde_json::{Value as Json, json};

use crate::measure::Measure;
use checks::Checks;
use experiment::{Plan, Side, noise_floor};
use golden::Golden;
use metadata::Limits;
use propose::{llm, patch, rules};
use runner::Runner;
use session::{Ranked, Session};
use source::{Source, base_name};
use stats::random::Random;
use trial::{Current, Trial};
use workspace::{Workspace, WorkspaceError};

/// Where proposals come from.
#[derive(Clone, Debug)]
pub enum Proposer {
    /// The rule library.
    Rules(rules::Choice),
    /// A language model, with the number of attempts.
    Llm(llm::Endpoint, usize),
    /// Another program.
    Command(Vec<String>),
    /// A patch file.
    Patch(PathBuf),
}

/// What to optimise and how.
pub struct OptimizeRequest<'a> {
    /// The command to measure.
    pub run: Vec<String>,
    /// Builds the program.
    pub build: Vec<String>,
    /// Each one exits with 0 if the result is right.
    pub checks: Vec<Vec<String>>,
    /// Outputs that must not change, or must equal expected ones.
    pub goldens: Vec<Golden>,
    /// More sets of arguments for the program, each a run that is checked in addition to the measured one.
    pub inputs: Vec<Vec<String>>,
    /// Accept without a checker.
    pub unchecked: bool,
    /// The file with the kernel; `None`: searched for in the tree.
    pub source: Option<PathBuf>,
    /// The source tree.
    pub tree: PathBuf,
    /// The kernel; `None`: the one that matters most.
    pub kernel: Option<String>,
    /// Where proposals come from.
    pub proposer: Proposer,
    /// How hard to prove a gain.
    pub plan: Plan,
    /// Maximum candidates to try.
    pub most_candidates: usize,
    /// Maximum kernels to work on.
    pub most_kernels: usize,
    /// What a built candidate may use.
    pub limits: Limits,
    /// Patterns of files with the code objects of a build; empty: the program itself.
    pub code_objects: Vec<String>,
    /// Longest run of the program, a check, a proposer.
    pub timeout: Duration,
    /// Longest build.
    pub build_timeout: Duration,
    /// Folder of the session.
    pub out: &'a Path,
    /// Whether to change the tree if a candidate was accepted.
    pub apply: bool,
    /// Seed of the order of pairs.
    pub seed: u64,
    /// Records a whole profile; `None` without a profiler.
    pub profile: Option<&'a dyn Measure>,
    /// Measures the dispatches of one kernel, or another requested metric.
    pub measure: &'a dyn Fn(&str) -> Box<dyn Measure>,
    /// The GPU, if known.
    pub gpu: Option<String>,
    /// Our variables that commands do not get; the proposer does.
    pub hidden: Vec<String>,
    /// Build and run in a sandbox.
    pub sandbox: bool,
    /// A report with more about the kernels, for proposers: `profile --json` makes one.
    pub evidence: Option<Json>,
}

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub enum OptimizeError {
    /// Copying the tree or applying a change failed.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// There is no checker.
    #[error("nothing checks the program's results")]
    Unchecked,
    /// The original program does not build.
    #[error("the unchanged program does not build: the build {0}")]
    Build(String),
    /// The original program does not run.
    #[error("the unchanged program does not run: it {0}")]
    Run(String),
    /// A checker or a golden output refuses the original program.
    #[error("{who} rejects the unchanged program: it {why}")]
    Check {
        /// Which one.
        who: String,
        /// Its message.
        why: String,
    },
    /// The files that should hold code objects have none.
    #[error("cannot read a code object of the unchanged program: {0}")]
    CodeObject(String),
    /// The kernel is not in the source.
    #[error("`{}` has no kernel `{kernel}`; {there}", path.display())]
    NoKernel {
        /// The source.
        path: PathBuf,
        /// The kernel.
        kernel: String,
        /// The kernels that it has.
        there: String,
    },
    /// No file has the kernel.
    #[error("no source file below `{}` has kernel `{kernel}`", tree.display())]
    NoSource {
        /// The tree.
        tree: PathBuf,
        /// The kernel.
        kernel: String,
    },
    /// The source cannot be read.
    #[error("cannot read `{}`: {why}", path.display())]
    Source {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The session cannot be written.
    #[error("cannot write the session: {0}")]
    Session(#[from] std::io::Error),
}

/// Where the profiler writes, below the session's folder.
pub const PROFILES: &str = "profiles";

/// Pairs for the noise floor.
const FLOOR_PAIRS: usize = 6;

/// Optimises; calls `watch` with progress messages.
pub fn optimize(request: &OptimizeRequest, watch: &mut dyn FnMut(&str)) -> Result<Session, OptimizeError> {
    let checked = !request.checks.is_empty() || !request.goldens.is_empty();
    if !checked && !request.unchecked {
        return Err(OptimizeError::Unchecked);
    }
    let workspace = Workspace::make(&request.tree, request.out)?;
    workspace::forget(request.out)?;
    let (runner, note) = Runner::new(request, &workspace);
    let mut session = Session { request: asked(request), state: "building", ..Session::default() };
    session.notes.extend(note);
    session.save(request.out)?;
    watch("building the unchanged program");
    runner.build(Side::Base, &[]).map_err(|failed| OptimizeError::Build(failed.why))?;
    session.state = "checking";
    session.save(request.out)?;
    watch("checking the unchanged program");
    let (checks, seen) = Checks::learn(&runner).map_err(|refused| match refused.program {
        true => OptimizeError::Run(refused.why),
        false => OptimizeError::Check { who: refused.who, why: refused.why },
    })?;
    session.checks = seen;
    if !checked {
        session
            .notes
            .push("changes were accepted without a check, as requested: the results may be wrong".into());
    }
    session.state = "profiling";
    session.save(request.out)?;
    watch("profiling the unchanged program");
    session.kernels = runner.profile().map_err(OptimizeError::Run)?;
    let (path, targets) = targets(request, &mut session)?;
    let relative = workspace.relative(&path)?;
    let mut targets = targets;
    for target in &mut targets {
        let name = base_name(&target.name).to_string();
        let built = metadata::read(&runner.code_objects(Side::Base), &name);
        if let (Err(why), false) = (&built, request.code_objects.is_empty()) {
            return Err(OptimizeError::CodeObject(why.clone()));
        }
        let resources = metadata::to_json(&built, target.evidence.workgroup);
        target.evidence.add("code_object", resources);
        for (table, rows) in request.evidence.iter().flat_map(|report| propose::rows_of(report, &name)) {
            target.evidence.add(&table, rows);
        }
    }
    // The text that was built and profiled: the file itself may have changed since.
    let original = read(&workspace.root(Side::Base).join(&relative))?;
    let mut current = Current { text: original.clone(), flags: Vec::new() };
    session.state = "trying";
    let mut random = Random::new(request.seed);
    for target in &targets {
        let measure = (request.measure)(&target.name);
        if session.noise_floor.is_none() {
            watch("measuring the noise: the program against itself");
            let mut run = |side| runner.sample(side, measure.as_ref(), base_name(&target.name));
            let floor = noise_floor(FLOOR_PAIRS, &mut random, &mut run).map_err(OptimizeError::Run)?;
            session.noise_floor = Some(floor);
            session.save(request.out)?;
        }
        let trial = Trial {
            request,
            runner: &runner,
            checks: &checks,
            relative: &relative,
            kernel: base_name(&target.name).to_string(),
            target,
            measure: measure.as_ref(),
        };
        trial.all(&mut session, &mut current, &mut random, watch)?;
    }
    session.flags = current.flags;
    let fresh = session.accepted().filter_map(|one| Some(one.proof.as_ref()?.fresh.as_ref()?.effect.speedup));
    let gains: Vec<f64> = fresh.collect();
    session.speedup = (!gains.is_empty()).then(|| gains.iter().product());
    let current = current.text;
    if current != original {
        let name = relative.display().to_string();
        session::write(
            &request.out.join("accepted.diff"),
            patch::difference(&name, &original, &current).as_bytes(),
        )?;
        if request.apply {
            let backup = workspace::apply(&path, &original, &current, &request.out.join("backup"))?;
            session.applied = Some(backup);
        }
    }
    session.state = "done";
    session.save(request.out)?;
    Ok(session)
}

/// The request, for the audit.
fn asked(request: &OptimizeRequest) -> Json {
    json!({
        "run": redact_words(&request.run),
        "build": redact_words(&request.build),
        "checks": request.checks.iter().map(|words| redact_words(words)).collect::<Vec<_>>(),
        "golden": request.goldens.iter().map(Golden::name).collect::<Vec<_>>(),
        "inputs": request.inputs.iter().map(|words| redact_words(words)).collect::<Vec<_>>(),
        "code_objects": request.code_objects,
        "limits": {
            "spills": request.limits.spills, "scratch_bytes": request.limits.scratch_bytes,
            "least_occupancy_pct": request.limits.least_occupancy_pct,
        },
        "unchecked": request.unchecked,
        "source": request.source,
        "tree": request.tree,
        "kernel": request.kernel,
        "proposer": match &request.proposer {
            Proposer::Rules(choice) => json!({
                "rules": choice.names, "flags": choice.flags, "fast_math": choice.fast_math,
            }),
            Proposer::Llm(endpoint, attempts) => json!({
                "llm": endpoint.url, "model": endpoint.model, "attempts": attempts,
            }),
            Proposer::Command(words) => json!({ "command": redact_words(words) }),
            Proposer::Patch(path) => json!({ "patch": path }),
        },
        "min_improvement": request.plan.min_improvement,
        "pairs": [request.plan.least_pairs, request.plan.most_pairs],
        "apply": request.apply,
        "seed": request.seed,
        "gpu": request.gpu,
        "hidden_environment": request.hidden,
        "sandbox": request.sandbox,
    })
}

fn read(path: &Path) -> Result<String, OptimizeError> {
    let wrong = |why: String| OptimizeError::Source { path: path.into(), why };
    let bytes = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8".into()))
}

/// The source file, and the kernels in it to work on.
fn targets(
    request: &OptimizeRequest,
    session: &mut Session,
) -> Result<(PathBuf, Vec<Ranked>), OptimizeError> {
    let plain = |name: &str| Ranked { name: name.to_string(), evidence: Default::default() };
    let wanted: Vec<Ranked> = match &request.kernel {
        Some(kernel) => {
            let known = session.kernels.iter().find(|one| base_name(&one.name) == base_name(kernel));
            vec![known.cloned().unwrap_or_else(|| plain(kernel))]
        }
        None => {
            let (mut worthwhile, note) = rank::worthwhile(&session.kernels);
            session.notes.extend(note);
            worthwhile.truncate(request.most_kernels);
            worthwhile
        }
    };
    let path = match &request.source {
        Some(path) => path.clone(),
        None => {
            let kernel = wanted.first().map(|one| base_name(&one.name).to_string()).unwrap_or_default();
            rank::find_source(&request.tree, request.out, &kernel)
                .ok_or(OptimizeError::NoSource { tree: request.tree.clone(), kernel })?
        }
    };
    let text = read(&path)?;
    let names: Vec<String> = Source::parse(&text)
        .map(|source| source.kernels().into_iter().map(|kernel| kernel.name).collect())
        .unwrap_or_default();
    let (here, elsewhere): (Vec<Ranked>, Vec<Ranked>) =
        wanted.into_iter().partition(|one| names.iter().any(|name| name == base_name(&one.name)));
    // Without a profile or a name, every kernel of the file is worth a try.
    if here.is_empty() && elsewhere.is_empty() && !names.is_empty() {
        return Ok((path, names.iter().take(request.most_kernels).map(|name| plain(name)).collect()));
    }
    if here.is_empty() {
        let kernel = elsewhere.first().map(|one| base_name(&one.name).to_string()).unwrap_or_default();
        let there = match names.is_empty() {
            true => "it has no kernels".to_string(),
            false => format!("it has `{}`", names.join("`, `")),
        };
        return Err(OptimizeError::NoKernel { path, kernel, there });
    }
    for one in elsewhere {
        let name = base_name(&one.name);
        session.notes.push(format!("skipped kernel `{name}`: it is not in `{}`", path.display()));
    }
    Ok((path, here))
}
