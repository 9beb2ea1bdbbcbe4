//! Disaggregated serving: requests that are prefilled on one server and decoded on another, with known times.
//!
//! ```text
//! scenario ─► servers (two loops, one link) ─┬─► spans, calls, kernels ─► Trace of each server ─► torch files
//!                                            └─► the life of each request ─► truth.json
//! ```
//!
//! The parts of a request's time are added up while it lives, not taken from the spans that are written.

mod emit;
mod servers;

use std::io::Write;

use convert::torch;
use files::OutputFile;
use serde::{Deserialize, Serialize};
use trace::Trace;

use crate::Error;
use crate::generate::{GeneratedFile, OutputFormat};

/// Names and texts of the built-in scenarios.
const BUILTIN: &[(&str, &str)] = &[
    ("disaggregated", include_str!("../../scenarios/disaggregated.toml")),
    ("disaggregated-clocks", include_str!("../../scenarios/disaggregated-clocks.toml")),
];

/// Two servers and the requests that they serve.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disaggregated {
    /// Its name; part of file names.
    pub name: String,
    /// One sentence about it.
    #[serde(default)]
    pub description: String,
    /// The requests that the servers get.
    pub requests: Requests,
    /// The server that reads prompts.
    pub prefill: Server,
    /// The server that generates tokens.
    pub decode: Server,
    /// The transfer of the KV cache from one to the other.
    pub transfer: Transfer,
}

/// The requests that the servers get.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// How many.
    pub count: u64,
    /// Mean time between two.
    pub gap_us: f64,
    /// Least and most tokens of a prompt.
    pub prompt_tokens: [u64; 2],
    /// Least and most tokens of an answer.
    pub output_tokens: [u64; 2],
}

/// One server with one GPU.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Its process id.
    pub pid: i64,
    /// How far its clock is ahead.
    #[serde(default)]
    pub clock_offset_us: f64,
    /// Layers of the model; each launches a few kernels.
    pub layers: u32,
    /// Most requests in a batch.
    pub max_batch: usize,
    /// Most tokens in a batch; longer prompts are read in chunks.
    pub max_tokens: u64,
    /// Host time of a launch.
    pub launch_us: f64,
    /// Time of a kernel of a small batch.
    pub base_us: f64,
    /// Further time of a kernel for each 1000 tokens.
    pub us_per_1k_tokens: f64,
}

/// The transfer of the KV cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Size of the KV cache of a token.
    pub bytes_per_token: u64,
    /// Bandwidth of the link, which sends one cache after the other.
    pub gbps: f64,
    /// Fixed time of a transfer.
    pub latency_us: f64,
    /// Requests that the decode server has memory for, running ones included.
    pub reserved: usize,
}

/// Where time went. The parts add up to the time.
#[derive(Clone, Copy, Debug, Default, Serialize, PartialEq, Eq)]
pub struct PartsTruth {
    /// GPU work of the request's batch.
    pub gpu_ns: i64,
    /// The KV cache is being sent.
    pub transfer_ns: i64,
    /// The request waits for its turn.
    pub queue_ns: i64,
    /// The host works, or nothing does.
    pub host_ns: i64,
}

impl PartsTruth {
    /// The sum of all parts.
    pub fn total(&self) -> i64 {
        self.gpu_ns + self.transfer_ns + self.queue_ns + self.host_ns
    }
}

/// The truth about one request.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct RequestTruth {
    /// The number that both servers know it by.
    pub room: String,
    /// Tokens of its prompt.
    pub prompt_tokens: u64,
    /// Tokens of its answer.
    pub output_tokens: u64,
    /// When it came, on the prefill server's clock.
    pub arrival_ns: i64,
    /// From then to the first token.
    pub first_token_ns: i64,
    /// The parts of that time.
    pub first_token: PartsTruth,
    /// From the first token to the last.
    pub generation_ns: i64,
    /// The parts of that time.
    pub generation: PartsTruth,
}

/// The truth about a run.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct DisaggregatedTruth {
    /// Version of this layout.
    pub schema: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// How far the decode server's clock is ahead of the prefill server's.
    pub clock_offset_ns: i64,
    /// Requests in the order of arrival.
    pub requests: Vec<RequestTruth>,
}

/// The traces of both servers, and the truth about the run.
#[derive(Clone, Debug)]
pub struct DisaggregatedRun {
    /// The prefill server's trace, finished.
    pub prefill: Trace,
    /// The decode server's trace, finished.
    pub decode: Trace,
    /// The truth.
    pub truth: DisaggregatedTruth,
}

impl Disaggregated {
    /// Names of the built-in scenarios.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// A built-in scenario; `None` if no scenario of this kind has the name.
    pub fn builtin(name: &str) -> Option<Result<Self, Error>> {
        BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, text)| Self::from_toml(text))
    }

    /// Whether the text of a scenario file describes one of this kind.
    pub fn is_one(text: &str) -> bool {
        toml::from_str::<toml::Table>(text).is_ok_and(|table| table.contains_key("requests"))
    }

    /// Reads a scenario and checks that it is valid.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let wrong = |line: usize, why: String| Error::Scenario { line, why };
        let scenario: Self = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let line = 1 + text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
            wrong(line, error.message().trim().replace('\n', "; "))
        })?;
        scenario.check().map_err(|why| wrong(1, why))?;
        Ok(scenario)
    }

    fn check(&self) -> Result<(), String> {
        let at_least_one = [
            ("requests.count", self.requests.count),
            ("requests.prompt_tokens", self.requests.prompt_tokens[0]),
            ("requests.output_tokens", self.requests.output_tokens[0]),
            ("prefill.max_tokens", self.prefill.max_tokens),
            ("decode.max_tokens", self.decode.max_tokens),
            ("prefill.max_batch", self.prefill.max_batch as u64),
            ("decode.max_batch", self.decode.max_batch as u64),
            ("transfer.reserved", self.transfer.reserved as u64),
            ("prefill.layers", u64::from(self.prefill.layers)),
            ("decode.layers", u64::from(self.decode.layers)),
        ];
        if let Some((name, _)) = at_least_one.iter().find(|(_, value)| *value == 0) {
            return Err(format!("`{name}` must be at least 1"));
        }
        let times = [
            ("requests.gap_us", self.requests.gap_us),
            ("prefill.launch_us", self.prefill.launch_us),
            ("prefill.base_us", self.prefill.base_us),
            ("prefill.us_per_1k_tokens", self.prefill.us_per_1k_tokens),
            ("decode.launch_us", self.decode.launch_us),
            ("decode.base_us", self.decode.base_us),
            ("decode.us_per_1k_tokens", self.decode.us_per_1k_tokens),
            ("transfer.latency_us", self.transfer.latency_us),
            ("transfer.gbps", self.transfer.gbps),
        ];
        if let Some((name, _)) = times.iter().find(|(_, value)| !(*value > 0.0 && *value < 1e9)) {
            return Err(format!("`{name}` must be above 0"));
        }
        let ranges = [&self.requests.prompt_tokens, &self.requests.output_tokens];
        if ranges.iter().any(|range| range[0] > range[1]) {
            return Err("the least number of tokens is above the most".into());
        }
        Ok(())
    }
}

/// How a scenario is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct DisaggregatedOptions {
    /// Determines everything random.
    pub seed: u64,
    /// Number of requests, if not the scenario's.
    pub requests: Option<u64>,
}

/// Simulates both servers.
pub fn simulate_disaggregated(
    scenario: &Disaggregated,
    options: DisaggregatedOptions,
) -> Result<DisaggregatedRun, Error> {
    let count = options.requests.unwrap_or(scenario.requests.count);
    if count == 0 {
        return Err(Error::Options("a run needs at least one request".into()));
    }
    let lived = servers::serve(scenario, options.seed, count);
    Ok(DisaggregatedRun {
        prefill: emit::trace(scenario, options.seed, emit::Role::Prefill, &lived),
        decode: emit::trace(scenario, options.seed, emit::Role::Decode, &lived),
        truth: DisaggregatedTruth {
            schema: 1,
            scenario: scenario.name.clone(),
            seed: options.seed,
            clock_offset_ns: emit::offset(&scenario.decode) - emit::offset(&scenario.prefill),
            requests: lived
                .requests
                .iter()
                .map(|request| request.truth(emit::offset(&scenario.prefill)))
                .collect(),
        },
    })
}

/// Simulates both servers and writes a torch file for each, with the truth next to them.
pub fn generate_disaggregated(
    scenario: &Disaggregated,
    options: DisaggregatedOptions,
    out: &std::path::Path,
    format: OutputFormat,
    force: bool,
) -> Result<Vec<GeneratedFile>, Error> {
    let gzip = match format {
        OutputFormat::Torch => false,
        OutputFormat::TorchGz => true,
        _ => {
            let why = format!("`{}` is written as torch or torch-gz only", scenario.name);
            return Err(Error::Options(why));
        }
    };
    let truth_path = out.join("truth.json");
    if !force && truth_path.exists() {
        return Err(Error::Write { path: out.into(), why: "it already holds a generated run".into() });
    }
    let run = simulate_disaggregated(scenario, options)?;
    let mut files = Vec::new();
    for (role, trace) in [("prefill", &run.prefill), ("decode", &run.decode)] {
        let ending = if gzip { "json.gz" } else { "json" };
        let path = out.join(format!("{}.{role}.{ending}", scenario.name));
        let options = torch::Options { gzip, registers: false, event_index: true, flows: true };
        let bytes = torch::write(trace, &path, &options)
            .map_err(|error| Error::Write { path: path.clone(), why: error.to_string() })?;
        files.push(GeneratedFile { path, format: Some(format), rank: None, role: Some(role), bytes });
    }
    let text = toml::to_string(scenario)
        .map_err(|error| Error::Options(format!("cannot print the scenario: {error}")))?;
    let truth = serde_json::to_string_pretty(&run.truth)
        .map_err(|error| Error::Write { path: truth_path.clone(), why: error.to_string() })?;
    for (path, text) in [(out.join("scenario.toml"), text), (truth_path, truth + "\n")] {
        let write = || -> std::io::Result<()> {
            let mut file = OutputFile::create(&path)?;
            file.write_all(text.as_bytes())?;
            file.commit()
        };
        write().map_err(|error| Error::Write { path: path.clone(), why: error.to_string() })?;
        files.push(GeneratedFile { path, format: None, rank: None, role: None, bytes: text.len() as u64 });
    }
    Ok(files)
}
