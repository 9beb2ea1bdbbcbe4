//! `optimize`

use std::path::PathBuf;
use std::time::Duration;

use app::optimize::{OptimizeRequest, ProposerChoice};
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::output::OutputArgs;
use crate::values::{at_least_one, positive, share};

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

    /// Makes the program; split into words, no shell [default: hipcc -O3 SOURCE -o BINARY]
    #[arg(long, value_name = "COMMAND")]
    build: Option<String>,

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
    #[arg(long, alias = "input", value_name = "ARGS", allow_hyphen_values = true)]
    program_input: Vec<String>,

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
    #[arg(long, value_name = "S", default_value_t = 120.0, value_parser = positive)]
    llm_timeout: f64,

    /// Answers to ask for
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = at_least_one)]
    llm_attempts: usize,

    /// Prints proposals as JSON; ROCM_PERF_CONTEXT names a file with the evidence
    #[arg(long, value_name = "COMMAND", required_if_eq("proposer", "command"))]
    proposer_cmd: Option<String>,

    /// A unified diff of the source
    #[arg(long, value_name = "FILE", required_if_eq("proposer", "patch"))]
    patch: Option<PathBuf>,

    /// Least speed-up to accept, in percent
    #[arg(long, value_name = "PCT", default_value_t = 2.0, value_parser = share)]
    min_improvement: f64,

    /// Pairs of runs at most, for each candidate
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = at_least_one)]
    pairs: usize,

    /// Candidates to try at most
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = at_least_one)]
    candidates: usize,

    /// Kernels to look at, at most
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one)]
    kernels: usize,

    /// More spilled registers than before that are allowed
    #[arg(long, value_name = "N", default_value_t = 0)]
    max_spills: u32,

    /// Bytes of scratch for each lane more than before that are allowed
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    max_scratch: u32,

    /// Least theoretical occupancy, unless it was lower before, in percent
    #[arg(long, value_name = "PCT", default_value_t = 0.0, value_parser = share)]
    min_occupancy: f64,

    /// Code objects that the build leaves, for guards on ABI and registers: `*`, `?`, `**`; may be repeated [default: the
    /// program itself]
    #[arg(long, value_name = "GLOB")]
    code_object: Vec<String>,

    /// What is known of the kernels, for proposers: the JSON of `rocm-perf profile --with-counters --json`
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,

    /// Longest run or check, in seconds
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = positive)]
    timeout: f64,

    /// Longest build, in seconds
    #[arg(long, value_name = "S", default_value_t = 600.0, value_parser = positive)]
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
        output.answer(app::optimize(&self.request(), output)?)
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
