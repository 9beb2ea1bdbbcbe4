//! Changes a kernel and proves that it is faster and still right.

use std::path::{Path, PathBuf};
use std::time::Duration;

use report::{Note, Remedy};
use tune::measure::{DispatchTime, Measure, Printed, ProcessTime};
use tune::optimize::experiment::Plan;
use tune::optimize::golden::{Golden, Tolerance};
use tune::optimize::metadata::Limits;
use tune::optimize::propose::llm::Endpoint;
use tune::optimize::propose::rules::{Choice, Permission, RULES};
use tune::optimize::session::Session;
use tune::optimize::{OptimizeError, Proposer, source, tables};
use tune::template;

use crate::Answer;
use crate::failure::Failure;
use crate::observer::Observer;
use crate::tuning::{found_profiler, gpu, hidden_note, hidden_variables};

/// What a run records: kernels, and what else the program does from start to end.
const TRACES: [&str; 3] = ["kernel", "hip", "memory-copy"];

/// Where proposals come from.
#[derive(Clone, Debug)]
pub enum ProposerChoice {
    /// The library of safe rules.
    Rules,
    /// A language model.
    Llm {
        /// OpenAI-compatible endpoint.
        url: String,
        /// The model's name.
        model: String,
        /// The endpoint's key.
        key: Option<String>,
        /// Longest wait for an answer.
        timeout: Duration,
        /// Number of answers to request.
        attempts: usize,
    },
    /// Another program.
    Command(String),
    /// A patch file.
    Patch(PathBuf),
}

/// What to optimize, how to check it, and what to accept.
#[derive(Clone, Debug)]
pub struct OptimizeRequest {
    /// The program, possibly with arguments in the same string.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The file with the kernel.
    pub source: Option<PathBuf>,
    /// The source tree to copy.
    pub tree: PathBuf,
    /// Builds the program [default: hipcc on the only source file].
    pub build: Option<String>,
    /// The command to measure [default: the program and its arguments].
    pub run: Option<String>,
    /// Commands that exit with 0 when the result is right.
    pub checks: Vec<String>,
    /// Outputs that must stay as they are: `OUTPUT[:TYPE][=EXPECTED]`.
    pub golden: Vec<String>,
    /// Largest absolute difference of floating-point numbers.
    pub atol: Option<f64>,
    /// Largest relative difference.
    pub rtol: Option<f64>,
    /// Refuse NaN in golden outputs even if it is expected.
    pub refuse_nan: bool,
    /// More sets of arguments for the program, each as one string.
    pub inputs: Vec<String>,
    /// Accept changes without a checker.
    pub unchecked: bool,
    /// Whether the commands go through a shell.
    pub shell: bool,
    /// The kernel.
    pub kernel: Option<String>,
    /// Where proposals come from.
    pub proposer: ProposerChoice,
    /// Rules to try; empty: all.
    pub rules: Vec<String>,
    /// Whether rules may change compiler options.
    pub flags: bool,
    /// Whether rules may change results in the last digits.
    pub allow_fast_math: bool,
    /// Least speed-up to accept, in percent.
    pub min_improvement: f64,
    /// Maximum pairs of runs per candidate.
    pub pairs: usize,
    /// Maximum candidates.
    pub candidates: usize,
    /// Maximum kernels.
    pub kernels: usize,
    /// How many more spilled registers are allowed.
    pub max_spills: u32,
    /// How many more bytes of scratch are allowed.
    pub max_scratch: u32,
    /// Least theoretical occupancy, in percent.
    pub min_occupancy: f64,
    /// Patterns of the code objects that the build produces.
    pub code_objects: Vec<String>,
    /// What is known about the kernels: a report as JSON.
    pub evidence: Option<PathBuf>,
    /// Longest run or check, in seconds.
    pub timeout: f64,
    /// Longest build, in seconds.
    pub build_timeout: f64,
    /// Measure the process from start to end.
    pub without_profiler: bool,
    /// Measure a number that the program prints: a regular expression.
    pub metric: Option<String>,
    /// Variables that may hold keys but are passed to commands anyway.
    pub pass_env: Vec<String>,
    /// Whether proposals from elsewhere are built and run without a sandbox.
    pub no_sandbox: bool,
    /// Whether to change the source if a candidate was accepted.
    pub apply: bool,
    /// Seed of the order of runs.
    pub seed: u64,
    /// Folder of the session.
    pub out: PathBuf,
}

/// Changes a kernel and proves the change; fails if none was accepted.
pub fn optimize(request: &OptimizeRequest, observer: &dyn Observer) -> Result<Answer, Failure> {
    request.answer(observer)
}

impl OptimizeRequest {
    fn answer(&self, observer: &dyn Observer) -> Result<Answer, Failure> {
        let run = match &self.run {
            Some(line) => self.words("the command to measure", line)?,
            None => self
                .words("the program", &self.program)?
                .into_iter()
                .chain(self.arguments.iter().cloned())
                .collect(),
        };
        let profiler =
            if self.without_profiler || self.metric.is_some() { None } else { Some(found_profiler()?) };
        let printed = self.metric.as_deref().map(Printed::new).transpose();
        let printed = printed.map_err(|error| Failure::input(error.to_string()))?;
        std::fs::create_dir_all(&self.out)
            .map_err(|error| Failure::input(format!("cannot use `{}`: {error}", self.out.display())))?;
        let out = self.out.canonicalize().map_err(|error| Failure::input(error.to_string()))?;
        let scratch = out.join(tune::optimize::PROFILES);
        let profile = profiler.clone().map(|profiler| {
            let mut whole = DispatchTime::new(profiler, &TRACES, None, &scratch);
            whole.keep_traces = true;
            whole
        });
        let measure = |kernel: &str| -> Box<dyn Measure> {
            match (&printed, &profiler) {
                (Some(printed), _) => Box::new(printed.clone()),
                (None, Some(profiler)) => {
                    let name = regex::escape(source::base_name(kernel));
                    let wanted = regex::Regex::new(&format!(r"\b{name}\b")).ok();
                    let mut timed = DispatchTime::new(profiler.clone(), &TRACES, wanted, &scratch);
                    timed.keep_traces = true;
                    Box::new(timed)
                }
                (None, None) => Box::new(ProcessTime),
            }
        };
        let seconds = |seconds: f64| Duration::from_secs_f64(seconds.clamp(0.001, 1e9));
        let request = tune::optimize::OptimizeRequest {
            run: run.clone(),
            build: match &self.build {
                Some(line) => self.words("the build command", line)?,
                None => self.default_build(&run)?,
            },
            checks: self
                .checks
                .iter()
                .map(|line| self.words("the check command", line))
                .collect::<Result<_, _>>()?,
            goldens: self.goldens()?,
            inputs: self.inputs.iter().map(|line| self.input_words(line)).collect::<Result<_, _>>()?,
            unchecked: self.unchecked,
            source: self.source.clone(),
            tree: self.tree.clone(),
            kernel: self.kernel.clone(),
            proposer: self.proposer()?,
            plan: Plan {
                min_improvement: self.min_improvement.max(0.0) / 100.0,
                most_pairs: self.pairs.max(3),
                least_pairs: Plan::default().least_pairs.min(self.pairs.max(3)),
                ..Plan::default()
            },
            most_candidates: self.candidates,
            most_kernels: self.kernels,
            limits: Limits {
                spills: self.max_spills,
                scratch_bytes: self.max_scratch,
                least_occupancy_pct: self.min_occupancy,
            },
            code_objects: self.code_objects.clone(),
            timeout: seconds(self.timeout),
            build_timeout: seconds(self.build_timeout),
            out: &out,
            apply: self.apply,
            seed: self.seed,
            profile: profile.as_ref().map(|profile| profile as &dyn Measure),
            measure: &measure,
            gpu: gpu(),
            evidence: self.evidence.as_deref().map(read_evidence).transpose()?,
            hidden: hidden_variables(&self.pass_env),
            sandbox: !self.no_sandbox
                && matches!(self.proposer, ProposerChoice::Llm { .. } | ProposerChoice::Command(_)),
        };
        let session = tune::optimize::optimize(&request, &mut |step| observer.progress(step))
            .map_err(|error| failure(error, request.sandbox))?;
        let mut report = tables::optimize_report(&session);
        if self.build.is_none() {
            let built = format!("built with `{}`, since no build command was given", request.build.join(" "));
            report.notes.push(built.into());
        }
        report.notes.extend(hidden_note(&request.hidden));
        report
            .notes
            .push(format!("the whole session is in `{}`", self.out.join("session.json").display()).into());
        if session.accepted().count() > 0 && session.applied.is_none() {
            let patch = self.out.join("accepted.diff").display().to_string();
            report.notes.push(Note::new("the source was not changed", Remedy::Apply(patch)));
        }
        Ok(Answer { report, failure: gate(&session) })
    }

    fn words(&self, what: &str, line: &str) -> Result<Vec<String>, Failure> {
        if self.shell {
            return Ok(vec!["sh".into(), "-c".into(), line.into()]);
        }
        match template::split(line) {
            None => Err(Failure::input(format!("{what} has a quote that is never closed: `{line}`"))),
            Some(words) if words.is_empty() => Err(Failure::input(format!("{what} is empty"))),
            Some(words) => Ok(words),
        }
    }

    /// hipcc on the only source file, if no build is given.
    fn default_build(&self, run: &[String]) -> Result<Vec<String>, Failure> {
        let source = match &self.source {
            Some(source) => source.clone(),
            None => {
                let mut found = kernel_sources(&self.tree);
                match (found.pop(), found.is_empty()) {
                    (Some(only), true) => only,
                    (None, _) => {
                        let message = format!("no file in `{}` has a kernel to compile", self.tree.display());
                        return Err(Failure::input(message).with_help(Remedy::BuildOrSource));
                    }
                    _ => {
                        let message = format!("several files in `{}` have kernels", self.tree.display());
                        return Err(Failure::input(message).with_help(Remedy::BuildOrSource));
                    }
                }
            }
        };
        let program = self.program.split_whitespace().next().or(run.first().map(String::as_str));
        let program = Path::new(program.unwrap_or_default());
        // The build runs in a copy of the tree: files in the tree are named relative to it.
        let in_tree = |path: &Path| {
            let inside = path.canonicalize().ok().zip(self.tree.canonicalize().ok());
            let inside = inside.and_then(|(path, tree)| path.strip_prefix(tree).ok().map(Path::to_path_buf));
            inside.unwrap_or_else(|| path.to_path_buf()).display().to_string()
        };
        Ok(["hipcc".into(), "-O3".into(), in_tree(&source), "-o".into(), in_tree(program)].to_vec())
    }

    fn goldens(&self) -> Result<Vec<Golden>, Failure> {
        let tolerance = Tolerance { absolute: self.atol, relative: self.rtol, refuse_nan: self.refuse_nan };
        let read = |text: &String| {
            let wrong =
                |why| Failure::input(format!("the golden output `{text}` cannot be understood: {why}"));
            let mut golden = Golden::parse(text, tolerance).map_err(wrong)?;
            // Programs run elsewhere; the expected file is where the user says.
            if let Some(path) = &mut golden.expected {
                *path = path
                    .canonicalize()
                    .map_err(|error| Failure::input(format!("cannot read `{}`: {error}", path.display())))?;
            }
            Ok(golden)
        };
        self.golden.iter().map(read).collect()
    }

    fn input_words(&self, line: &str) -> Result<Vec<String>, Failure> {
        if self.shell {
            return Err(Failure::input("more arguments cannot be given to commands that go through a shell")
                .with_help("put the arguments into separate check commands"));
        }
        let words = template::split(line);
        words.ok_or_else(|| {
            Failure::input(format!("the arguments have a quote that is never closed: `{line}`"))
        })
    }

    fn proposer(&self) -> Result<Proposer, Failure> {
        let known: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
        let choice = Choice { names: self.rules.clone(), flags: self.flags, fast_math: self.allow_fast_math };
        if let Some(unknown) = self.rules.iter().find(|rule| !known.contains(&rule.as_str())) {
            return Err(Failure::input(format!("there is no rule `{unknown}`"))
                .with_help(format!("there are {}", known.join(", "))));
        }
        let mut named = RULES.iter().filter(|rule| self.rules.iter().any(|name| name == rule.name));
        if let Some(rule) = named.find(|rule| !choice.allows(rule.needs)) {
            let remedy = match rule.needs {
                Permission::Flags => Remedy::AllowFlags(rule.does.into()),
                _ => Remedy::AllowFastMath(rule.does.into()),
            };
            return Err(Failure::input(format!("rule `{}` may not be used", rule.name)).with_help(remedy));
        }
        Ok(match &self.proposer {
            ProposerChoice::Rules => Proposer::Rules(choice),
            ProposerChoice::Llm { url, .. }
                if !url.starts_with("http://") && !url.starts_with("https://") =>
            {
                return Err(Failure::input(format!("`{url}` is not an http address"))
                    .with_help("such as https://host/v1 or http://localhost:8000/v1"));
            }
            ProposerChoice::Llm { url, model, key, timeout, attempts } => {
                let endpoint = Endpoint {
                    url: url.clone(),
                    model: model.clone(),
                    key: key.clone(),
                    timeout: *timeout,
                    temperature: 0.2,
                    certificates: std::env::var_os("SSL_CERT_FILE").map(PathBuf::from),
                };
                Proposer::Llm(endpoint, *attempts)
            }
            ProposerChoice::Command(line) => Proposer::Command(self.words("the proposer", line)?),
            ProposerChoice::Patch(path) => Proposer::Patch(path.clone()),
        })
    }
}

/// Files of a folder that hold kernels.
fn kernel_sources(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_source = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        ["hip", "cu", "cpp", "cc", "cxx"].contains(&ending)
            && std::fs::read_to_string(path).is_ok_and(|text| text.contains("__global__"))
    };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_source).collect();
    found.sort();
    found
}

fn read_evidence(path: &Path) -> Result<serde_json::Value, Failure> {
    let wrong = |why: String| Failure::input(format!("cannot read `{}`: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let report: serde_json::Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if report["tables"].is_object() {
        Ok(report)
    } else {
        Err(wrong("it is not a report of rocm-perf".into()))
    }
}

/// Fails if nothing was accepted.
fn gate(session: &Session) -> Option<Failure> {
    if session.accepted().count() > 0 {
        return None;
    }
    Some(Failure::gate(match session.candidates.len() {
        0 => "there was nothing to try".to_string(),
        1 => "the candidate was not accepted".to_string(),
        n => format!("none of {n} candidates was accepted"),
    }))
}

fn failure(error: OptimizeError, sandbox: bool) -> Failure {
    let message = error.to_string();
    match error {
        OptimizeError::Unchecked => Failure::input(message).with_help(Remedy::Checker),
        OptimizeError::Build(_) | OptimizeError::Run(_) | OptimizeError::Check { .. } if sandbox => {
            Failure::tool(message).with_help(Remedy::NoSandbox)
        }
        OptimizeError::Build(_) => Failure::tool(message).with_help(Remedy::BuildInTree),
        OptimizeError::Run(_) => Failure::tool(message),
        OptimizeError::NoSource { .. } => Failure::input(message).with_help(Remedy::KernelSource),
        OptimizeError::Workspace(tune::optimize::workspace::WorkspaceError::Large { .. }) => {
            Failure::input(message).with_help(Remedy::SmallerTree)
        }
        _ => Failure::input(message),
    }
}
