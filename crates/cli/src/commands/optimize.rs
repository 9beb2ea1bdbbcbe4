//! `optimize`

use std::path::PathBuf;
use std::time::Duration;

use app::experiment::{Watch, Watched};
use app::optimize::{OptimizeRequest, ProposerChoice};
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::output::OutputArgs;
use crate::store::{TrialArgs, attach};
use crate::values::{at_least_one, positive, share};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf optimize ./gemm --source gemm.cu --build 'hipcc -O3 gemm.cu -o gemm' --check './gemm --verify'
  rocm-perf optimize ./gemm --build 'make gemm' --run './gemm --size 4096' --check ./verify.sh --apply
  rocm-perf optimize ./gemm --build make --check ./verify.sh --proposer llm --llm-url http://localhost:8000/v1
  rocm-perf optimize ./gemm --build make --check ./verify.sh --proposer patch --patch faster.diff

Builds and runs in copies of the source tree; only `--apply` changes the
source, after writing a backup. A change is kept only if it passes the guards,
the build, the checks and the measurements; exit code 1 means that no change
was kept. The session is recorded in DIR/session.json.")]
pub struct OptimizeArgs {
    /// The program, with its arguments in the same quotes or after `--`
    #[arg(value_name = "BINARY")]
    binary: String,

    /// Its arguments
    #[arg(value_name = "ARG", last = true)]
    arguments: Vec<String>,

    /// Source file with the kernel [default: found in the tree]
    #[arg(long, value_name = "FILE")]
    source: Option<PathBuf>,

    /// Source tree to copy
    #[arg(long, value_name = "DIR", default_value = ".")]
    tree: PathBuf,

    /// Command that builds the program; split into words, no shell [default: hipcc -O3 SOURCE -o BINARY]
    #[arg(long, value_name = "COMMAND")]
    build: Option<String>,

    /// Command to measure [default: BINARY and its arguments]
    #[arg(long, value_name = "COMMAND")]
    run: Option<String>,

    /// Command that exits with 0 if the result is correct; may be repeated; ROCM_PERF_STDOUT names a file with the run's
    /// output
    #[arg(long, value_name = "COMMAND")]
    check: Vec<String>,

    /// Output that must not change, or must equal the file EXPECTED: a file the program writes, or `-` for what it prints;
    /// TYPE is text, bytes, f16, bf16, f32, f64, i8 to i64 or u8 to u64 [default: text]; may be repeated
    #[arg(long, value_name = "OUTPUT[:TYPE][=EXPECTED]", allow_hyphen_values = true)]
    golden: Vec<String>,

    /// Absolute tolerance of floating-point outputs [default: depends on the type]
    #[arg(long, value_name = "X")]
    atol: Option<f64>,

    /// Relative tolerance of floating-point outputs [default: depends on the type]
    #[arg(long, value_name = "X")]
    rtol: Option<f64>,

    /// Reject NaN in golden outputs even where it is expected
    #[arg(long)]
    refuse_nan: bool,

    /// Another set of arguments, in one pair of quotes, to also run and check the program with; may be repeated
    #[arg(long, alias = "input", value_name = "ARGS", allow_hyphen_values = true)]
    program_input: Vec<String>,

    /// Accept changes without a check; the session records it
    #[arg(long)]
    unchecked: bool,

    /// Run the commands through `sh -c`
    #[arg(long)]
    shell: bool,

    /// Kernel to change [default: those with the largest share of the critical path]
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,

    /// Where proposals come from
    #[arg(long, value_enum, default_value_t = ProposerName::Rules, value_name = "NAME")]
    proposer: ProposerName,

    /// Rule to try; may be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    rule: Vec<String>,

    /// Let rules add compiler options: at `{flags}` in the build command, after a direct compiler call, or through
    /// HIPCC_COMPILE_FLAGS_APPEND
    #[arg(long)]
    flags: bool,

    /// Let rules change the last digits of results: approximate functions, with `--flags` also -ffast-math
    #[arg(long)]
    allow_fast_math: bool,

    /// OpenAI-compatible endpoint, such as http://localhost:8000/v1; for https, SSL_CERT_FILE names the certificates to
    /// trust [default: the system's]
    #[arg(long, value_name = "URL", required_if_eq("proposer", "llm"))]
    llm_url: Option<String>,

    /// Model name
    #[arg(long, value_name = "NAME", default_value = "default")]
    llm_model: String,

    /// Environment variable with the endpoint's key
    #[arg(long, value_name = "NAME", default_value = "OPENAI_API_KEY")]
    llm_key_env: String,

    /// Time limit of a response, in seconds
    #[arg(long, value_name = "S", default_value_t = 120.0, value_parser = positive)]
    llm_timeout: f64,

    /// Number of responses to ask for
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = at_least_one)]
    llm_attempts: usize,

    /// Command that prints proposals as JSON; ROCM_PERF_CONTEXT names a file with the evidence
    #[arg(long, value_name = "COMMAND", required_if_eq("proposer", "command"))]
    proposer_cmd: Option<String>,

    /// Unified diff of the source to try
    #[arg(long, value_name = "FILE", required_if_eq("proposer", "patch"))]
    patch: Option<PathBuf>,

    /// Smallest speed-up to accept, in percent
    #[arg(long, value_name = "PCT", default_value_t = 2.0, value_parser = share)]
    min_improvement: f64,

    /// Most pairs of runs per candidate
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = at_least_one)]
    pairs: usize,

    /// Most candidates to try
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = at_least_one)]
    candidates: usize,

    /// Most kernels to work on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one)]
    kernels: usize,

    /// Additional spilled registers to allow
    #[arg(long, value_name = "N", default_value_t = 0)]
    max_spills: u32,

    /// Additional scratch bytes per lane to allow
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    max_scratch: u32,

    /// Smallest theoretical occupancy in percent, unless it was lower before
    #[arg(long, value_name = "PCT", default_value_t = 0.0, value_parser = share)]
    min_occupancy: f64,

    /// Code objects of the build, to guard ABI and registers; a pattern with `*`, `?`, `**`; may be repeated [default: the
    /// program itself]
    #[arg(long, value_name = "GLOB")]
    code_object: Vec<String>,

    /// Profile to show to proposers: the JSON of `rocm-perf profile --with-counters --json`
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,

    /// Time limit of a run or check, in seconds
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = positive)]
    timeout: f64,

    /// Time limit of a build, in seconds
    #[arg(long, value_name = "S", default_value_t = 600.0, value_parser = positive)]
    build_timeout: f64,

    /// Time the whole process, without the profiler
    #[arg(long)]
    no_rocprof: bool,

    /// Measure a number that the program prints: the first group of the last match; smaller is better
    #[arg(long, value_name = "REGEX", conflicts_with = "no_rocprof")]
    metric: Option<String>,

    /// Variable with a key or token that builds, runs and checks get; others are hidden; may be repeated
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,

    /// Build and run proposals of a model or a command without a sandbox
    #[arg(long)]
    no_sandbox: bool,

    /// Apply accepted changes to the source
    #[arg(long)]
    apply: bool,

    /// Seed of the run order
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Session folder
    #[arg(short, long, value_name = "DIR", default_value = "rocm-perf-optimize")]
    out: PathBuf,

    #[command(flatten)]
    trial: TrialArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProposerName {
    /// Built-in rules that preserve results
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
        let target = self.trial.target("optimize")?;
        let watched = Watched { observer: output, watch: Watch::begin(target.as_ref(), "optimize") };
        let answer = app::optimize(&self.request(), &watched);
        drop(watched);
        let mut answer = answer?;
        attach(target.as_ref(), &mut answer.report, &[], output)?;
        output.answer(answer)
    }

    fn request(&self) -> OptimizeRequest {
        OptimizeRequest {
            program: self.binary.clone(),
            arguments: self.arguments.clone(),
            source: self.source.clone(),
            tree: self.tree.clone(),
            build: self.build.clone(),
            run: self.run.clone(),
            checks: self.check.clone(),
            golden: self.golden.clone(),
            atol: self.atol,
            rtol: self.rtol,
            refuse_nan: self.refuse_nan,
            inputs: self.program_input.clone(),
            unchecked: self.unchecked,
            shell: self.shell,
            kernel: self.kernel.clone(),
            proposer: self.proposer(),
            rules: self.rule.clone(),
            flags: self.flags,
            allow_fast_math: self.allow_fast_math,
            min_improvement: self.min_improvement,
            pairs: self.pairs,
            candidates: self.candidates,
            kernels: self.kernels,
            max_spills: self.max_spills,
            max_scratch: self.max_scratch,
            min_occupancy: self.min_occupancy,
            code_objects: self.code_object.clone(),
            evidence: self.evidence.clone(),
            timeout: self.timeout,
            build_timeout: self.build_timeout,
            without_profiler: self.no_rocprof,
            metric: self.metric.clone(),
            pass_env: self.pass_env.clone(),
            no_sandbox: self.no_sandbox,
            apply: self.apply,
            seed: self.seed,
            out: self.out.clone(),
        }
    }

    fn proposer(&self) -> ProposerChoice {
        match self.proposer {
            ProposerName::Rules => ProposerChoice::Rules,
            ProposerName::Llm => ProposerChoice::Llm {
                url: self.llm_url.clone().unwrap_or_default(),
                model: self.llm_model.clone(),
                key: std::env::var(&self.llm_key_env).ok().filter(|key| !key.is_empty()),
                timeout: Duration::from_secs_f64(self.llm_timeout.clamp(0.001, 1e9)),
                attempts: self.llm_attempts,
            },
            ProposerName::Command => ProposerChoice::Command(self.proposer_cmd.clone().unwrap_or_default()),
            ProposerName::Patch => ProposerChoice::Patch(self.patch.clone().unwrap_or_default()),
        }
    }
}
