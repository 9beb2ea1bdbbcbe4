//! Scenario files: what runs, on what, and what is wrong with it. `docs/synth.md` explains the format.

mod action;
mod machine;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::Error;
use crate::recording::{Expected, Recording};

pub use action::{Action, CollectiveSpec, Copy, Direction, HostMemory, Launch, PipelineSpec, Repeat, Tokens};
pub use machine::{Links, Machine, Ranks};

/// A run to simulate.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name; part of file names.
    pub name: String,
    /// One sentence about it.
    #[serde(default)]
    pub description: String,
    /// How many steps run if no size is given.
    pub steps: u64,
    /// The machine and what calls cost on it.
    #[serde(default)]
    pub machine: Machine,
    /// How many ranks, and how they differ.
    #[serde(default)]
    pub ranks: Ranks,
    /// What connects the ranks; without it a transfer takes as long as its kernel's `mean_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<Links>,
    /// What the profiler kept of it.
    #[serde(default)]
    pub recording: Recording,
    /// What an analysis must report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// Kernels by short name.
    #[serde(default)]
    pub kernels: BTreeMap<String, KernelSpec>,
    /// Pieces of program by name, run by `repeat` and `graph`.
    #[serde(default)]
    pub sequences: BTreeMap<String, Sequence>,
    /// The steps, taken in turn until the run is long enough.
    #[serde(rename = "step")]
    pub pattern: Vec<StepSpec>,
    /// Injected faults. Actions and kernels refer to these by `truth = "id"`.
    #[serde(default, rename = "truth", skip_serializing_if = "Vec::is_empty")]
    pub truths: Vec<TruthSpec>,
}

impl Scenario {
    /// Names of the built-in scenarios.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// A built-in scenario.
    pub fn builtin(name: &str) -> Result<Self, Error> {
        match BUILTIN.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Self::from_toml(text),
            None => {
                let known: Vec<String> = Self::builtin_names().map(|n| format!("`{n}`")).collect();
                Err(Error::UnknownScenario { name: name.into(), known: known.join(", ") })
            }
        }
    }

    /// Reads a scenario and checks that it is valid.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let scenario: Scenario = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            Error::Scenario { line, why: error.message().trim().replace('\n', "; ") }
        })?;
        crate::check::check(&scenario)
            .map_err(|wrong| Error::Scenario { line: line_of(text, wrong.at), why: wrong.why })?;
        Ok(scenario)
    }

    /// The scenario as a file.
    pub fn to_toml(&self) -> Result<String, Error> {
        toml::to_string(self).map_err(|error| Error::Options(format!("cannot print the scenario: {error}")))
    }
}

/// A kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelSpec {
    /// Name in the trace.
    pub name: String,
    /// Mean duration.
    pub mean_us: f64,
    /// Relative spread (lognormal).
    #[serde(default)]
    pub cv: f64,
    /// Workgroups in x, y, z.
    #[serde(default = "one_workgroup")]
    pub grid: [u32; 3],
    /// Work-items of a workgroup in x, y, z.
    #[serde(default = "wave_groups")]
    pub workgroup: [u32; 3],
    /// Vector registers.
    #[serde(default = "default_vgpr")]
    pub vgpr: u32,
    /// Accumulation registers.
    #[serde(default)]
    pub agpr: u32,
    /// Scalar registers.
    #[serde(default = "default_sgpr")]
    pub sgpr: u32,
    /// LDS bytes.
    #[serde(default)]
    pub lds: u32,
    /// Scratch bytes.
    #[serde(default)]
    pub scratch: u32,
    /// It computes experts: its time is proportional to the tokens that the rank's experts have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expert: bool,
    /// It is memory bound: the clock does not change its time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub memory_bound: bool,
    /// `mean_us` is its time if workgroups filled every round; it takes as long as whole rounds do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole_rounds: bool,
    /// Mean values of hardware counters per dispatch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, f64>,
    /// The first call of a rank takes this many times longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_call_factor: Option<f64>,
    /// One in this many calls takes `outlier_factor` times longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outlier_every: Option<u32>,
    /// How much longer an outlier takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outlier_factor: Option<f64>,
    /// The truth that its first call or its outliers are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<Spanned<String>>,
}

fn one_workgroup() -> [u32; 3] {
    [304, 1, 1]
}
fn wave_groups() -> [u32; 3] {
    [256, 1, 1]
}
fn default_vgpr() -> u32 {
    64
}
fn default_sgpr() -> u32 {
    48
}

/// A piece of program.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sequence {
    /// `nn.Module` around it; instances are numbered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Python frames around it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<String>,
    /// What it does.
    pub program: Vec<Action>,
}

/// One step of the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepSpec {
    /// Annotations around it, outermost first; `{step}` becomes the step's number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<String>,
    /// Python frames around it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<String>,
    /// The stage its GPU work belongs to, for the truth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// How many in a row.
    #[serde(default = "once")]
    pub repeat: u32,
    /// What the main thread does.
    pub program: Vec<Action>,
    /// What other threads do meanwhile, by thread name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub background: BTreeMap<String, Vec<Action>>,
}

fn once() -> u32 {
    1
}

/// An injected fault.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TruthSpec {
    /// Name by which actions refer to it.
    pub id: String,
    /// The rule that should find it.
    pub rule: String,
    /// What is wrong, for a person.
    #[serde(default)]
    pub text: String,
    /// The kernel, op, frame or call to blame, as it is named in the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}

/// Names and texts of the built-in scenarios.
const BUILTIN: &[(&str, &str)] = &[
    ("serving", include_str!("../scenarios/serving.toml")),
    ("training", include_str!("../scenarios/training.toml")),
    ("clean", include_str!("../scenarios/clean.toml")),
    ("clean-replay", include_str!("../scenarios/clean-replay.toml")),
    ("clean-ranks", include_str!("../scenarios/clean-ranks.toml")),
    ("idle-gpu", include_str!("../scenarios/idle-gpu.toml")),
    ("launch-bound", include_str!("../scenarios/launch-bound.toml")),
    ("tiny-kernels", include_str!("../scenarios/tiny-kernels.toml")),
    ("blocking-sync", include_str!("../scenarios/blocking-sync.toml")),
    ("pageable-copies", include_str!("../scenarios/pageable-copies.toml")),
    ("small-copies", include_str!("../scenarios/small-copies.toml")),
    ("slow-copies", include_str!("../scenarios/slow-copies.toml")),
    ("serialised-streams", include_str!("../scenarios/serialised-streams.toml")),
    ("exposed-communication", include_str!("../scenarios/exposed-communication.toml")),
    ("allocation-churn", include_str!("../scenarios/allocation-churn.toml")),
    ("agent-imbalance", include_str!("../scenarios/agent-imbalance.toml")),
    ("kernel-variance", include_str!("../scenarios/kernel-variance.toml")),
    ("first-call", include_str!("../scenarios/first-call.toml")),
    ("straggler", include_str!("../scenarios/straggler.toml")),
    ("slow-kernel", include_str!("../scenarios/slow-kernel.toml")),
    ("fusable-chain", include_str!("../scenarios/fusable-chain.toml")),
    ("same-pid", include_str!("../scenarios/same-pid.toml")),
    ("two-boots", include_str!("../scenarios/two-boots.toml")),
    ("slow-launches", include_str!("../scenarios/slow-launches.toml")),
    ("one-blocking-copy", include_str!("../scenarios/one-blocking-copy.toml")),
    ("eager", include_str!("../scenarios/eager.toml")),
    ("cut-start", include_str!("../scenarios/cut-start.toml")),
    ("one-host-copy", include_str!("../scenarios/one-host-copy.toml")),
    ("profiler-span", include_str!("../scenarios/profiler-span.toml")),
    ("runtime-fills", include_str!("../scenarios/runtime-fills.toml")),
    ("unnumbered-collectives", include_str!("../scenarios/unnumbered-collectives.toml")),
    ("gpu-annotations", include_str!("../scenarios/gpu-annotations.toml")),
    ("draft-verify", include_str!("../scenarios/draft-verify.toml")),
    ("user-stages", include_str!("../scenarios/user-stages.toml")),
    ("parallel-training", include_str!("../scenarios/parallel-training.toml")),
    ("expert-training", include_str!("../scenarios/expert-training.toml")),
    ("below-peak", include_str!("../scenarios/below-peak.toml")),
];
