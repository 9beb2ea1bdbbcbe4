//! `optimize`

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use tune::measure::{DispatchTime, Measure, Printed, ProcessTime};
use tune::optimize::experiment::Plan;
use tune::optimize::golden::{Golden, Tolerance};
use tune::optimize::metadata::Limits;
use tune::optimize::propose::llm::Endpoint;
use tune::optimize::propose::rules::{Choice, Permission, RULES};
use tune::optimize::session::Session;
use tune::optimize::{OptimizeError, OptimizeRequest, Proposer, optimize, source, tables};
use tune::template;

use crate::failure::Failure;
use crate::output::OutputArgs;
use app::tuning::{found_profiler, gpu};

/// What a run records: kernels, and what else the program does from its first to its last step.
const TRACES: [&str; 3] = ["kernel", "hip", "memory-copy"];

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf optimize ./gemm --source gemm.cu --build 'hipcc -O3 gemm.cu -o gemm' --check './gemm --verify'
  rocm-perf optimize ./gemm --build 'make gemm' --run './gemm --size 4096' --check ./verify.sh --apply
  rocm-perf optimize ./gemm --build make --check ./verify.sh --proposer llm --llm-url http://localhost:8000/v1
  rocm-perf optimize ./gemm --build make --check ./verify.sh --proposer patch --patch faster.diff

Everything is built and run in copies of the source tree; only `--apply` changes it, at once and with a backup. A
change is kept when guards, build, checks and measurements all agree; exit code 1 says that none was. The whole
session is in DIR/session.json.")]
pub struct OptimizeArgs {
    /// The program, with its arguments in the same word or after `--`
    #[arg(value_name = "BINARY")]
    binary: String,

    /// Its arguments
    #[arg(value_name = "ARG", last = true)]
    arguments: Vec<String>,

    /// The file with the kernel [default: the one below the tree that has it]
    #[arg(long, value_name = "FILE")]
    source: Option<PathBuf>,

    /// The source tree to copy [default: the current folder]
    #[arg(long, value_name = "DIR", default_value = ".")]
    tree: PathBuf,

    /// Makes the program; split into words, no shell
    #[arg(long, value_name = "COMMAND")]
    build: String,

    /// The command to measure [default: BINARY and its arguments]
    #[arg(long, value_name = "COMMAND")]
    run: Option<String>,

    /// Exits with 0 when the result is right; may be repeated for several inputs; ROCM_PERF_STDOUT names a file with
    /// the run's output
    #[arg(long, value_name = "COMMAND")]
    check: Vec<String>,

    /// An output that must stay as it is, or be as EXPECTED is: a file the program writes, or `-` for what it prints; TYPE
    /// is text, bytes, f16, bf16, f32, f64, i8 to i64 or u8 to u64 [default: text]; may be repeated
    #[arg(long, value_name = "OUTPUT[:TYPE][=EXPECTED]", allow_hyphen_values = true)]
    golden: Vec<String>,

    /// How much floating-point numbers may differ [default: by their type]
    #[arg(long, value_name = "X")]
    atol: Option<f64>,

    /// How much they may differ for their size [default: by their type]
    #[arg(long, value_name = "X")]
    rtol: Option<f64>,

    /// Refuse NaN in golden outputs even where it is expected
    #[arg(long)]
    refuse_nan: bool,

    /// More arguments for the program, as one word; it is run and checked with each besides; may be repeated
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    input: Vec<String>,

    /// Accept changes without a checker; recorded
    #[arg(long)]
    unchecked: bool,

    /// Run the commands through `sh -c`
    #[arg(long)]
    shell: bool,

    /// The kernel [default: those with most of the critical path]
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,

    /// Where proposals come from
    #[arg(long, value_enum, default_value_t = ProposerName::Rules, value_name = "NAME")]
    proposer: ProposerName,

    /// Rules to try, of the library; may be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    rule: Vec<String>,

    /// Let rules build with other compiler options: at the end of a compiler's own command, where the build command says
    /// `{flags}`, or through HIPCC_COMPILE_FLAGS_APPEND
    #[arg(long)]
    flags: bool,

    /// Let rules change results in the last digits: approximate functions, with `--flags` also -ffast-math
    #[arg(long)]
    allow_fast_math: bool,

    /// OpenAI-compatible endpoint, such as http://localhost:8000/v1; for https, SSL_CERT_FILE names authorities to trust
    /// [default: the system's]
    #[arg(long, value_name = "URL", required_if_eq("proposer", "llm"))]
    llm_url: Option<String>,

    /// The model's name
    #[arg(long, value_name = "NAME", default_value = "default")]
    llm_model: String,

    /// Environment variable with the endpoint's key
    #[arg(long, value_name = "NAME", default_value = "OPENAI_API_KEY")]
    llm_key_env: String,

    /// Longest wait for an answer, in seconds
    #[arg(long, value_name = "S", default_value_t = 120.0)]
    llm_timeout: f64,

    /// Answers to ask for
    #[arg(long, value_name = "N", default_value_t = 3)]
    llm_attempts: usize,

    /// Prints proposals as JSON; ROCM_PERF_CONTEXT names a file with the evidence
    #[arg(long, value_name = "COMMAND", required_if_eq("proposer", "command"))]
    proposer_cmd: Option<String>,

    /// A unified diff of the source
    #[arg(long, value_name = "FILE", required_if_eq("proposer", "patch"))]
    patch: Option<PathBuf>,

    /// Least speed-up to accept, in percent
    #[arg(long, value_name = "PCT", default_value_t = 2.0)]
    min_improvement: f64,

    /// Pairs of runs at most, for each candidate
    #[arg(long, value_name = "N", default_value_t = 40)]
    pairs: usize,

    /// Candidates to try at most
    #[arg(long, value_name = "N", default_value_t = 12)]
    candidates: usize,

    /// Kernels to look at, at most
    #[arg(long, value_name = "N", default_value_t = 1)]
    kernels: usize,

    /// More spilled registers than before that are allowed
    #[arg(long, value_name = "N", default_value_t = 0)]
    max_spills: u32,

    /// Bytes of scratch for each lane more than before that are allowed
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    max_scratch: u32,

    /// Least theoretical occupancy, unless it was lower before, in percent
    #[arg(long, value_name = "PCT", default_value_t = 0.0)]
    min_occupancy: f64,

    /// Code objects that the build leaves, for guards on ABI and registers: `*`, `?`, `**`; may be repeated [default: the
    /// program itself]
    #[arg(long, value_name = "GLOB")]
    code_object: Vec<String>,

    /// What is known of the kernels, for proposers: the JSON of `rocm-perf profile --counters --json`
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,

    /// Longest run or check, in seconds
    #[arg(long, value_name = "S", default_value_t = 60.0)]
    timeout: f64,

    /// Longest build, in seconds
    #[arg(long, value_name = "S", default_value_t = 600.0)]
    build_timeout: f64,

    /// Measure the process from start to end, without the profiler
    #[arg(long)]
    no_rocprof: bool,

    /// Measure a number that the program prints: the expression's first group, in its last match; less is better
    #[arg(long, value_name = "REGEX", conflicts_with = "no_rocprof")]
    metric: Option<String>,

    /// Change the source when something was accepted
    #[arg(long)]
    apply: bool,

    /// Seed of the order of runs
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Folder of the session
    #[arg(short, long, value_name = "DIR", default_value = "rocm-perf-optimize")]
    out: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProposerName {
    /// The library of safe rules
    Rules,
    /// A language model
    Llm,
    /// Another program
    Command,
    /// A patch file
    Patch,
}

impl OptimizeArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let run = match &self.run {
            Some(line) => self.words("--run", line)?,
            None => self
                .words("BINARY", &self.binary)?
                .into_iter()
                .chain(self.arguments.iter().cloned())
                .collect(),
        };
        let profiler = if self.no_rocprof || self.metric.is_some() { None } else { Some(found_profiler()?) };
        let printed = self.metric.as_deref().map(Printed::new).transpose();
        let printed = printed.map_err(|error| Failure::input(error.to_string()))?;
        std::fs::create_dir_all(&self.out)
            .map_err(|error| Failure::input(format!("cannot use `{}`: {error}", self.out.display())))?;
        let out = self.out.canonicalize().map_err(|error| Failure::input(error.to_string()))?;
        let scratch = out.join("profiles");
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
        let request = OptimizeRequest {
            run,
            build: self.words("--build", &self.build)?,
            checks: self.check.iter().map(|line| self.words("--check", line)).collect::<Result<_, _>>()?,
            goldens: self.goldens()?,
            inputs: self.input.iter().map(|line| self.input_words(line)).collect::<Result<_, _>>()?,
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
            code_objects: self.code_object.clone(),
            timeout: seconds(self.timeout),
            build_timeout: seconds(self.build_timeout),
            out: &out,
            apply: self.apply,
            seed: self.seed,
            profile: profile.as_ref().map(|profile| profile as &dyn Measure),
            measure: &measure,
            gpu: gpu(),
            evidence: self.evidence.as_deref().map(read_evidence).transpose()?,
        };
        let told = !output.quiet && !output.no_progress && std::io::stderr().is_terminal();
        let session = optimize(&request, &mut |step| {
            if told {
                eprintln!("{step}");
            }
        })
        .map_err(failure)?;
        let mut report = tables::optimize_report(&session);
        report
            .notes
            .push(format!("the whole session is in `{}`", self.out.join("session.json").display()).into());
        if session.accepted().count() > 0 && session.applied.is_none() {
            let patch = self.out.join("accepted.diff").display().to_string();
            report.notes.push(format!("`patch -p1 < {patch}` applies it, and so does `--apply`").into());
        }
        output.show(report)?;
        gate(&session)
    }

    fn words(&self, option: &str, line: &str) -> Result<Vec<String>, Failure> {
        if self.shell {
            return Ok(vec!["sh".into(), "-c".into(), line.into()]);
        }
        match template::split(line) {
            None => Err(Failure::input(format!("`{option}` has a quote that is never closed: `{line}`"))),
            Some(words) if words.is_empty() => Err(Failure::input(format!("`{option}` is empty"))),
            Some(words) => Ok(words),
        }
    }

    fn goldens(&self) -> Result<Vec<Golden>, Failure> {
        let tolerance = Tolerance { absolute: self.atol, relative: self.rtol, refuse_nan: self.refuse_nan };
        let read = |text: &String| {
            let wrong = |why| Failure::input(format!("`--golden {text}` cannot be understood: {why}"));
            let mut golden = Golden::parse(text, tolerance).map_err(wrong)?;
            // Programs run elsewhere; what is expected is where the user says.
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
            return Err(Failure::input("`--input` cannot be used with `--shell`")
                .with_help("write the arguments into commands of their own with `--check`"));
        }
        let words = template::split(line);
        words.ok_or_else(|| Failure::input(format!("`--input` has a quote that is never closed: `{line}`")))
    }

    fn proposer(&self) -> Result<Proposer, Failure> {
        let known: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
        let choice = Choice { names: self.rule.clone(), flags: self.flags, fast_math: self.allow_fast_math };
        if let Some(unknown) = self.rule.iter().find(|rule| !known.contains(&rule.as_str())) {
            return Err(Failure::input(format!("there is no rule `{unknown}`"))
                .with_help(format!("there are {}", known.join(", "))));
        }
        let mut named = RULES.iter().filter(|rule| self.rule.iter().any(|name| name == rule.name));
        if let Some(rule) = named.find(|rule| !choice.allows(rule.needs)) {
            let option = if rule.needs == Permission::Flags { "--flags" } else { "--allow-fast-math" };
            return Err(Failure::input(format!("rule `{}` may not be used", rule.name))
                .with_help(format!("`{option}` allows it: it {}", rule.does)));
        }
        Ok(match self.proposer {
            ProposerName::Rules => Proposer::Rules(choice),
            ProposerName::Llm => {
                let url = self.llm_url.clone().unwrap_or_default();
                if !url.starts_with("http://") && !url.starts_with("https://") {
                    return Err(Failure::input(format!("`--llm-url {url}` is not an http address"))
                        .with_help("such as https://host/v1 or http://localhost:8000/v1"));
                }
                let endpoint = Endpoint {
                    url,
                    model: self.llm_model.clone(),
                    key: std::env::var(&self.llm_key_env).ok().filter(|key| !key.is_empty()),
                    timeout: Duration::from_secs_f64(self.llm_timeout.clamp(0.001, 1e9)),
                    temperature: 0.2,
                    certificates: std::env::var_os("SSL_CERT_FILE").map(PathBuf::from),
                };
                Proposer::Llm(endpoint, self.llm_attempts)
            }
            ProposerName::Command => Proposer::Command(
                self.words("--proposer-cmd", self.proposer_cmd.as_deref().unwrap_or_default())?,
            ),
            ProposerName::Patch => Proposer::Patch(self.patch.clone().unwrap_or_default()),
        })
    }
}

fn read_evidence(path: &Path) -> Result<serde_json::Value, Failure> {
    let wrong = |why: String| Failure::input(format!("cannot read `{}`: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let report: serde_json::Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if report["tables"].is_object() { Ok(report) } else { Err(wrong("it is no report of rocm-perf".into())) }
}

/// Exit code 1 when nothing was accepted.
fn gate(session: &Session) -> Result<(), Failure> {
    if session.accepted().count() > 0 {
        return Ok(());
    }
    Err(Failure::gate(match session.candidates.len() {
        0 => "there was nothing to try".to_string(),
        1 => "the candidate was not accepted".to_string(),
        n => format!("none of {n} candidates was accepted"),
    }))
}

fn failure(error: OptimizeError) -> Failure {
    let message = error.to_string();
    match error {
        OptimizeError::Unchecked => Failure::input(message).with_help(
            "give `--check COMMAND` or `--golden OUTPUT`, or `--unchecked` to do without, which is recorded",
        ),
        OptimizeError::Build(_) => Failure::tool(message).with_help(
            "the build runs in a copy of the tree: paths in it must be relative, or inside `--tree`",
        ),
        OptimizeError::Run(_) => Failure::tool(message),
        OptimizeError::NoSource { .. } => Failure::input(message).with_help("name it with `--source FILE`"),
        OptimizeError::Workspace(tune::optimize::workspace::WorkspaceError::Large { .. }) => {
            Failure::input(message).with_help("name a smaller folder with `--tree DIR`")
        }
        _ => Failure::input(message),
    }
}
