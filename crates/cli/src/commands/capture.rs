//! `capture`

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use app::capture::{CapturedTriage, Framework, Lengths, Options, Role, Site, Workload};
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::input::MinShareArgs;
use crate::output::OutputArgs;
use crate::profile_facts::ProfileFactsArgs;
use crate::store::attach;
use crate::values::seconds;

/// Environment variables that may hold the key; the first one that is set is used.
const KEY_VARIABLES: [&str; 3] = ["ROCM_PERF_API_KEY", "SGLANG_API_KEY", "VLLM_API_KEY"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum FrameworkArg {
    #[default]
    Auto,
    Sglang,
    Vllm,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum WorkloadArg {
    /// One profile of ordinary requests
    Legacy,
    /// Long prompts, one token each
    Prefill,
    /// A short prompt, many tokens
    Decode,
    /// Prefill, then decode, in a profile each
    #[default]
    Both,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf capture --url http://localhost:30000
  rocm-perf capture --url http://localhost:8000 --trace-dir /data/vllm_traces --out run1
  rocm-perf capture --url http://localhost:30000 --mapping-url http://localhost:30001 --num-steps 10
  rocm-perf capture --url http://localhost:30000 --trace-dir /mnt/prof --server-dir /workspace/prof

The server writes the traces: SGLang to `--out` (or `--server-dir`, if it runs
in a container), vLLM to the torch_profiler_dir it was started with.
`--trace-dir` is that folder on this machine. Complete traces move to
OUT/prefill and OUT/decode; then they are triaged, and OUT gets the artifacts
of `rocm-perf triage --out`. The key comes from `--api-key`,
ROCM_PERF_API_KEY, SGLANG_API_KEY or VLLM_API_KEY.")]
pub struct CaptureArgs {
    /// The server to profile
    #[arg(long, visible_alias = "formal-url", value_name = "URL")]
    url: String,

    /// The same model with graphs off: its traces locate the kernels
    #[arg(long, value_name = "URL")]
    mapping_url: Option<String>,

    /// Serving framework
    #[arg(long, value_enum, default_value_t, value_name = "NAME")]
    framework: FrameworkArg,

    /// Folder for the traces [default: rocm-perf-capture-TIME]
    #[arg(
        short,
        long,
        visible_alias = "output-dir",
        alias = "formal-output-dir",
        value_name = "DIR",
        help_heading = "Folders"
    )]
    out: Option<PathBuf>,

    /// The server's trace folder on this machine [default: the output folder]
    #[arg(long, value_name = "DIR", help_heading = "Folders")]
    trace_dir: Option<PathBuf>,

    /// The same folder inside the server's container (SGLang)
    #[arg(long, value_name = "PATH", help_heading = "Folders")]
    server_dir: Option<String>,

    /// `--out` of the mapping server [default: OUT/mapping]
    #[arg(long, value_name = "DIR", help_heading = "Folders")]
    mapping_output_dir: Option<PathBuf>,

    /// `--trace-dir` of the mapping server
    #[arg(long, value_name = "DIR", help_heading = "Folders")]
    mapping_trace_dir: Option<PathBuf>,

    /// `--server-dir` of the mapping server
    #[arg(long, value_name = "PATH", help_heading = "Folders")]
    mapping_server_dir: Option<String>,

    /// Prefix of the trace file names (SGLang)
    #[arg(
        long,
        alias = "formal-profile-prefix",
        value_name = "TEXT",
        default_value = "triage-trace",
        help_heading = "Folders"
    )]
    profile_prefix: String,

    /// The same for the mapping server
    #[arg(long, value_name = "TEXT", default_value = "mapping-trace", help_heading = "Folders")]
    mapping_profile_prefix: String,

    /// Requests to send while profiling
    #[arg(long, value_enum, default_value_t, value_name = "NAME", help_heading = "Workload")]
    profile_workload: WorkloadArg,

    /// Forward steps per profile
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "Workload")]
    num_steps: u32,

    /// Warm-up steps before a profile
    #[arg(long, alias = "warmup-steps", value_name = "N", default_value_t = 10, help_heading = "Workload")]
    warm_up: u32,

    /// First forward step to profile (SGLang)
    #[arg(long, value_name = "N", help_heading = "Workload")]
    start_step: Option<u32>,

    /// Separate traces for prefill and decode in the legacy workload (SGLang) [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true, help_heading = "Workload")]
    profile_by_stage: Option<bool>,

    /// Also let rank 0 write a merged trace (SGLang)
    #[arg(long, help_heading = "Workload")]
    merge_profiles: bool,

    /// Requests per profile; prefill sends at least one per step
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Workload")]
    probe_requests: u32,

    /// Prompt of the legacy workload
    #[arg(long, value_name = "TEXT", help_heading = "Workload")]
    probe_prompt: Option<String>,

    /// Tokens of the legacy workload [default: 64, or 8 per step]
    #[arg(long, value_name = "N", help_heading = "Workload")]
    probe_max_new_tokens: Option<u32>,

    /// Seconds between the start of the profile and the first request
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds, help_heading = "Workload")]
    probe_delay: Duration,

    /// Words of a prefill prompt
    #[arg(long, value_name = "N", default_value_t = 4090, help_heading = "Workload")]
    prefill_input_len: u32,

    /// Tokens of a prefill request
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Workload")]
    prefill_output_len: u32,

    /// Words of a decode prompt
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Workload")]
    decode_input_len: u32,

    /// Tokens of a decode request [default: 2048 for SGLang, which stops by itself; one per step for vLLM]
    #[arg(long, value_name = "N", help_heading = "Workload")]
    decode_output_len: Option<u32>,

    /// Key of the server, sent as a bearer token
    #[arg(long, value_name = "KEY", help_heading = "Server")]
    api_key: Option<String>,

    /// First stop a profile that is already running on the server
    #[arg(long, help_heading = "Server")]
    stop_first: bool,

    /// Seconds to wait for a response, and for files
    #[arg(long, value_name = "SECONDS", default_value = "180", value_parser = seconds, help_heading = "Server")]
    timeout: Duration,

    /// Retries when the server cannot be reached or is busy
    #[arg(long, value_name = "N", default_value_t = 2, help_heading = "Server")]
    retries: u32,

    /// Seconds between two checks for files
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds, help_heading = "Server")]
    poll: Duration,

    /// Only capture: no triage, no artifacts
    #[arg(long)]
    no_triage: bool,

    #[command(flatten)]
    min_share: MinShareArgs,

    #[command(flatten)]
    profile: ProfileFactsArgs,

    /// The traces are complete when no file changes for this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, help_heading = "Server")]
    settle: Duration,
}

impl CaptureArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let target = self.profile.trial.target("capture")?;
        let triage = CapturedTriage { min_share: self.min_share.percent, profile: self.profile.facts() };
        let triage = Some(&triage).filter(|_| !self.no_triage);
        let mut report = app::capture(&self.options(), triage, output)?;
        attach(target.as_ref(), &mut report, &[], output)?;
        output.show(report)
    }

    fn options(&self) -> Options {
        let output_dir = self.out.clone().unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            PathBuf::from(format!("rocm-perf-capture-{}", now.as_secs()))
        });
        let mapping = self.mapping_url.as_ref().map(|url| Site {
            role: Role::Mapping,
            url: url.clone(),
            output_dir: self.mapping_output_dir.clone().unwrap_or_else(|| output_dir.join("mapping")),
            trace_dir: self.mapping_trace_dir.clone(),
            server_dir: self.mapping_server_dir.clone(),
            profile_prefix: self.mapping_profile_prefix.clone(),
        });
        let formal = Site {
            role: Role::Formal,
            url: self.url.clone(),
            output_dir,
            trace_dir: self.trace_dir.clone(),
            server_dir: self.server_dir.clone(),
            profile_prefix: self.profile_prefix.clone(),
        };
        Options {
            mapping,
            framework: match self.framework {
                FrameworkArg::Auto => None,
                FrameworkArg::Sglang => Some(Framework::Sglang),
                FrameworkArg::Vllm => Some(Framework::Vllm),
            },
            api_key: self.api_key.clone().or_else(key_from_environment),
            certificates: std::env::var_os("SSL_CERT_FILE").map(PathBuf::from),
            num_steps: self.num_steps,
            warmup_steps: self.warm_up,
            start_step: self.start_step,
            profile_by_stage: self.profile_by_stage,
            merge_profiles: self.merge_profiles,
            workload: match self.profile_workload {
                WorkloadArg::Legacy => Workload::Legacy,
                WorkloadArg::Prefill => Workload::Prefill,
                WorkloadArg::Decode => Workload::Decode,
                WorkloadArg::Both => Workload::Both,
            },
            probe_requests: self.probe_requests,
            probe_prompt: self.probe_prompt.clone(),
            probe_max_new_tokens: self.probe_max_new_tokens,
            probe_delay: self.probe_delay,
            prefill: Lengths { input: self.prefill_input_len, output: Some(self.prefill_output_len) },
            decode: Lengths { input: self.decode_input_len, output: self.decode_output_len },
            stop_first: self.stop_first,
            timeout: self.timeout,
            retries: self.retries,
            poll: self.poll,
            settle: self.settle,
            ..Options::new(formal)
        }
    }
}

fn key_from_environment() -> Option<String> {
    KEY_VARIABLES.iter().find_map(|name| std::env::var(name).ok().filter(|key| !key.is_empty()))
}
