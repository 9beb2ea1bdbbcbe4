//! The options of a capture.

use std::path::PathBuf;
use std::time::Duration;

use super::Error;
use super::workload::Scope;

/// Serving framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framework {
    /// SGLang.
    Sglang,
    /// vLLM.
    Vllm,
}

impl Framework {
    /// Its usual spelling.
    pub fn name(self) -> &'static str {
        match self {
            Framework::Sglang => "SGLang",
            Framework::Vllm => "vLLM",
        }
    }
}

/// Which one of a pair of servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The server as it is normally used.
    #[default]
    Formal,
    /// The same server with graphs off: its trace shows where kernels come from.
    Mapping,
}

impl Role {
    /// `formal`, `mapping`.
    pub fn name(self) -> &'static str {
        match self {
            Role::Formal => "formal",
            Role::Mapping => "mapping",
        }
    }
}

/// What the server was doing in a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Reading prompts.
    Prefill,
    /// Generating tokens.
    Decode,
    /// Whatever arrived.
    #[default]
    All,
}

impl Stage {
    /// `prefill`, `decode`, `all`.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Prefill => "prefill",
            Stage::Decode => "decode",
            Stage::All => "all",
        }
    }
}

/// The requests to send to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workload {
    /// One profile of a few ordinary requests.
    Legacy,
    /// Long prompts, one token each.
    Prefill,
    /// A short prompt, many tokens.
    Decode,
    /// Prefill, then decode, in a profile each.
    #[default]
    Both,
}

impl Workload {
    /// The profiles to take.
    pub(super) fn scopes(self) -> &'static [Scope] {
        match self {
            Workload::Legacy => &[Scope::Legacy],
            Workload::Prefill => &[Scope::Prefill],
            Workload::Decode => &[Scope::Decode],
            Workload::Both => &[Scope::Prefill, Scope::Decode],
        }
    }
}

/// A server, and the folder of its traces.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// Which of a pair.
    pub role: Role,
    /// `http://host:port` or `https://host:port`.
    pub url: String,
    /// Folder for the captured traces.
    pub output_dir: PathBuf,
    /// Folder where the server's files appear on this machine; the output folder otherwise.
    pub trace_dir: Option<PathBuf>,
    /// The same folder as the server sees it, if it differs (a container).
    pub server_dir: Option<String>,
    /// Prefix of the trace file names.
    pub profile_prefix: String,
}

impl Site {
    /// Where to look for new files.
    pub fn watched(&self) -> &std::path::Path {
        self.trace_dir.as_deref().unwrap_or(&self.output_dir)
    }
}

/// Tokens of the requests of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Words of the prompt.
    pub input: u32,
    /// Tokens to generate.
    pub output: Option<u32>,
}

/// All options of a capture.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server to profile.
    pub formal: Site,
    /// The same server with graphs off.
    pub mapping: Option<Site>,
    /// The framework; `None`: detect it.
    pub framework: Option<Framework>,
    /// Sent as a bearer token.
    pub api_key: Option<String>,
    /// CA certificates to trust for https [default: the system's].
    pub certificates: Option<PathBuf>,
    /// Forward steps in a profile.
    pub num_steps: u32,
    /// Steps before a profile.
    pub warmup_steps: u32,
    /// First forward step to profile (SGLang).
    pub start_step: Option<u32>,
    /// Separate traces for prefill and decode in the legacy workload (SGLang) [default: on].
    pub profile_by_stage: Option<bool>,
    /// Whether rank 0 also writes a merged trace (SGLang).
    pub merge_profiles: bool,
    /// The requests to send while profiling.
    pub workload: Workload,
    /// Requests per profile.
    pub probe_requests: u32,
    /// Prompt of the legacy workload.
    pub probe_prompt: Option<String>,
    /// Tokens of the legacy workload [default: max(64, 8 × steps)].
    pub probe_max_new_tokens: Option<u32>,
    /// Pause between start and the first request.
    pub probe_delay: Duration,
    /// Prefill requests.
    pub prefill: Lengths,
    /// Decode requests.
    pub decode: Lengths,
    /// Before the first start, stop a profile that is already running.
    pub stop_first: bool,
    /// How long to wait for a response, and for files.
    pub timeout: Duration,
    /// Retries if a server cannot be reached or is busy.
    pub retries: u32,
    /// Pause before a retry.
    pub retry_pause: Duration,
    /// Pause between two checks for files.
    pub poll: Duration,
    /// If no file changes for this long, the complete ones are all there are.
    pub settle: Duration,
}

impl Options {
    /// Default options for a server.
    pub fn new(formal: Site) -> Self {
        Self {
            formal,
            mapping: None,
            framework: None,
            api_key: None,
            certificates: None,
            num_steps: 5,
            warmup_steps: 10,
            start_step: None,
            profile_by_stage: None,
            merge_profiles: false,
            workload: Workload::Both,
            probe_requests: 1,
            probe_prompt: None,
            probe_max_new_tokens: None,
            probe_delay: Duration::from_millis(500),
            prefill: Lengths { input: 4090, output: Some(1) },
            decode: Lengths { input: 1, output: None },
            stop_first: false,
            timeout: Duration::from_secs(180),
            retries: 2,
            retry_pause: Duration::from_secs(1),
            poll: Duration::from_millis(500),
            settle: Duration::from_secs(10),
        }
    }

    /// The servers, the formal one first.
    pub(super) fn sites(&self) -> Vec<&Site> {
        std::iter::once(&self.formal).chain(&self.mapping).collect()
    }

    /// Refuses combinations that make no sense.
    pub(super) fn check(&self) -> Result<(), Error> {
        let usage = |message: &str| Err(Error::Usage(message.into()));
        if self.num_steps == 0 {
            return usage("a profile needs at least one step");
        }
        if self.probe_requests == 0 {
            return usage("a profile needs at least one request, otherwise the server does nothing");
        }
        if let Some(mapping) = &self.mapping
            && mapping.url.trim_end_matches('/') == self.formal.url.trim_end_matches('/')
        {
            return usage("the mapping server and the formal server are the same");
        }
        Ok(())
    }

    /// Options that only SGLang has, if given.
    pub(super) fn sglang_only(&self) -> Option<&'static str> {
        let given = [
            (self.start_step.is_some(), "a first step to profile"),
            (self.profile_by_stage == Some(true), "a trace for each stage"),
            (self.merge_profiles, "a merged trace"),
        ];
        given.into_iter().find(|(given, _)| *given).map(|(_, name)| name)
    }
}
