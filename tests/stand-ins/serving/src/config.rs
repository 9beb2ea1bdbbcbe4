//! Which server the stand-in simulates, and its faults.

use std::path::PathBuf;
use std::time::Duration;

/// The framework to simulate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framework {
    /// SGLang.
    #[default]
    Sglang,
    /// vLLM.
    Vllm,
}

/// The configuration of the stand-in.
#[derive(Clone, Debug)]
pub struct Config {
    /// The framework to simulate.
    pub framework: Framework,
    /// Port on the loopback interface; 0 for any.
    pub port: u16,
    /// Whether a profiler is configured (vLLM has no profile routes otherwise).
    pub profiling: bool,
    /// vLLM's `torch_profiler_dir`, SGLang's folder if a request names none.
    pub trace_dir: PathBuf,
    /// Ranks, each of which writes a trace.
    pub tp_size: u32,
    /// Release it claims to be.
    pub version: String,
    /// Model it claims to serve.
    pub model: String,
    /// Key that every route except `/health` requires.
    pub api_key: Option<String>,
    /// How long a forward step takes.
    pub step: Duration,
    /// How long it takes before a file appears.
    pub export_delay: Duration,
    /// How long a file is half written.
    pub half_written: Duration,
    /// vLLM: whether the frontend writes a separate trace, without GPU events.
    pub frontend_trace: bool,
    /// Its faults.
    pub faults: Faults,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            framework: Framework::Sglang,
            port: 0,
            profiling: true,
            trace_dir: std::env::temp_dir(),
            tp_size: 1,
            version: "0.17.0".into(),
            model: "stand-in/tiny".into(),
            api_key: None,
            step: Duration::ZERO,
            export_delay: Duration::from_millis(30),
            half_written: Duration::from_millis(30),
            frontend_trace: true,
            faults: Faults::default(),
        }
    }
}

/// Faults, all off by default.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// `/start_profile` fails inside the scheduler.
    pub start_fails: bool,
    /// Another profile is running from the beginning.
    pub already_profiling: bool,
    /// `/stop_profile` does not answer for this long.
    pub stop_hangs: Option<Duration>,
    /// No file is ever written.
    pub no_file: bool,
    /// Files go to this folder whatever was requested.
    pub wrong_dir: Option<PathBuf>,
    /// Only this rank writes a trace.
    pub only_rank: Option<u32>,
    /// Files stay half written.
    pub truncated: bool,
    /// The server dies at this request for tokens, counted from 1.
    pub dies_at_request: Option<u64>,
    /// The server dies while it writes the files.
    pub dies_in_export: bool,
    /// Chat requests are refused (a model without a chat template).
    pub no_chat: bool,
    /// This many requests are answered with 503 first.
    pub busy_for: u64,
    /// Longer prompts, in words, are refused.
    pub longest_prompt: Option<usize>,
}
