//! Scenario files: what runs, on what, and what is wrong with it. `docs/synth.md` explains the format.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::Error;
use crate::ranks::GroupKind;
use crate::recording::{Expected, Recording};

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

/// The machine and the costs of its calls.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Machine {
    /// Host name; ranks of one node share it, further nodes get a number.
    pub host: String,
    /// Ranks per node.
    pub ranks_per_node: u32,
    /// GPUs that each rank uses.
    pub gpus: u32,
    /// Product name of the GPU.
    pub product: String,
    /// `gfx942`
    pub arch: String,
    /// Compute units of a GPU.
    pub compute_units: u32,
    /// Memory of a GPU in bytes.
    pub memory_bytes: u64,
    /// Host time of a kernel launch.
    pub launch_us: f64,
    /// From the end of a launch call to the earliest start of its work.
    pub latency_us: f64,
    /// Least time between two pieces of work of a stream.
    pub gap_us: f64,
    /// Host time of a graph launch.
    pub graph_launch_us: f64,
    /// Least time between two kernels of a replayed graph.
    pub graph_gap_us: f64,
    /// Host time of every other call.
    pub call_us: f64,
    /// Bandwidth of copies from or to pinned memory.
    pub pinned_gbps: f64,
    /// Bandwidth of copies from or to pageable memory.
    pub pageable_gbps: f64,
    /// Bandwidth of copies on the device.
    pub device_gbps: f64,
    /// Fixed time of a copy.
    pub copy_us: f64,
    /// Relative spread of host times.
    pub host_cv: f64,
    /// Python leaf frames around each op; they take `frame_us` each.
    pub frames_per_op: u32,
    /// Host time of a Python leaf frame.
    pub frame_us: f64,
    /// Time between power and memory samples; none when zero.
    pub sample_ms: f64,
    /// Power of an idle and of a busy GPU, in watts.
    pub power_w: [f64; 2],
    /// Engine clock at which kernels take the times that they are given.
    pub peak_clock_mhz: f64,
    /// Engine clock that the GPU runs at, and that is sampled; zero: at its peak, and not sampled.
    pub clock_mhz: f64,
}

impl Machine {
    /// The share of its peak that the clock is.
    pub(crate) fn clock_share(&self) -> f64 {
        if self.clock_mhz > 0.0 { self.clock_mhz / self.peak_clock_mhz } else { 1.0 }
    }
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            host: "mi300x-01".into(),
            ranks_per_node: 8,
            gpus: 1,
            product: "AMD Instinct MI300X".into(),
            arch: "gfx942".into(),
            compute_units: 304,
            memory_bytes: 206_141_652_992,
            launch_us: 4.0,
            latency_us: 2.5,
            gap_us: 0.8,
            graph_launch_us: 60.0,
            graph_gap_us: 0.6,
            call_us: 0.6,
            pinned_gbps: 52.0,
            pageable_gbps: 9.0,
            device_gbps: 1900.0,
            copy_us: 4.0,
            host_cv: 0.08,
            frames_per_op: 24,
            frame_us: 0.35,
            sample_ms: 10.0,
            power_w: [140.0, 700.0],
            peak_clock_mhz: 2100.0,
            clock_mhz: 0.0,
        }
    }
}

/// How many ranks there are, and how they differ.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ranks {
    /// How many, by default.
    pub count: u32,
    /// Clock offset of each rank; the list repeats.
    pub clock_offset_us: Vec<f64>,
    /// Clock drift of each rank in parts per million; the list repeats.
    pub clock_drift_ppm: Vec<f64>,
    /// Ranks whose kernels take longer.
    pub slow: Vec<SlowRank>,
    /// Ranks that split each layer.
    #[serde(skip_serializing_if = "is_one")]
    pub tensor: u32,
    /// Pipeline stages.
    #[serde(skip_serializing_if = "is_one")]
    pub pipeline: u32,
    /// Ranks that share the experts.
    #[serde(skip_serializing_if = "is_one")]
    pub expert: u32,
}

fn is_one(size: &u32) -> bool {
    *size == 1
}

impl Default for Ranks {
    fn default() -> Self {
        Self {
            count: 1,
            clock_offset_us: Vec::new(),
            clock_drift_ppm: Vec::new(),
            slow: Vec::new(),
            tensor: 1,
            pipeline: 1,
            expert: 1,
        }
    }
}

/// What connects the ranks. A transfer takes the latency and its bytes on the wire at the bandwidth.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Links {
    /// Bandwidth within a node.
    pub node_gbps: f64,
    /// Bandwidth between nodes.
    pub network_gbps: f64,
    /// Fixed time of a transfer.
    pub latency_us: f64,
    /// How far apart the ranks of a collective end.
    pub end_jitter_us: f64,
}

impl Default for Links {
    fn default() -> Self {
        Self { node_gbps: 320.0, network_gbps: 45.0, latency_us: 14.0, end_jitter_us: 1.5 }
    }
}

/// A rank whose kernels take longer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowRank {
    /// Which rank.
    pub rank: u32,
    /// How many times longer.
    pub factor: f64,
    /// Only this kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Spanned<String>>,
    /// The truth this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<Spanned<String>>,
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

/// Where copied bytes come from and go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Host to device.
    H2d,
    /// Device to host.
    D2h,
    /// On the device.
    D2d,
}

/// What kind of host memory a copy uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostMemory {
    /// Page-locked.
    #[default]
    Pinned,
    /// Ordinary.
    Pageable,
}

/// One thing a thread does.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Runs an op that launches kernels.
    Launch(Launch),
    /// Works on the host.
    Host(Host),
    /// Makes a runtime call that does not affect the GPU.
    Api(Api),
    /// Copies memory.
    Copy(Copy),
    /// Fills memory on the device.
    Fill(Fill),
    /// Waits until work is done; for the whole device when neither stream nor event is named.
    Sync(Sync),
    /// Records an event on a stream.
    Record(Event),
    /// Makes a stream wait for an event.
    Wait(Event),
    /// Allocates device memory.
    Alloc(Alloc),
    /// Frees it.
    Free(Free),
    /// Takes part in a collective of the rank's group.
    Collective(CollectiveSpec),
    /// Runs micro-batches through the pipeline stages.
    Pipeline(PipelineSpec),
    /// Runs a sequence.
    Repeat(Repeat),
    /// Replays a sequence captured as a graph.
    Graph(Repeat),
    /// Annotates a piece of program.
    Annotate(Annotate),
    /// Puts a token into a queue between threads.
    Post(QueueUse),
    /// Takes a token, waiting for it.
    Take(QueueUse),
}

macro_rules! action {
    ($(#[$doc:meta])* $name:ident { $($(#[$field:meta])* $key:ident : $ty:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$field])* pub $key: $ty,)* }
    };
}

action! {
    /// An op that launches a kernel.
    Launch {
        /// Short name of the kernel.
        kernel: Spanned<String>,
        /// The op around it.
        #[serde(default, skip_serializing_if = "Option::is_none")] op: Option<String>,
        /// `nn.Module` around it; instances are numbered.
        #[serde(default, skip_serializing_if = "Option::is_none")] module: Option<String>,
        /// Python frames around it, outermost first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")] frames: Vec<String>,
        /// `Input Dims` of the op, as JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")] dims: Option<String>,
        /// Type of all inputs, as torch writes it; not recorded if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")] dtype: Option<String>,
        /// The launching call.
        #[serde(default, skip_serializing_if = "Option::is_none")] api: Option<String>,
        /// Stream.
        #[serde(default)] stream: u32,
        /// GPU of the rank.
        #[serde(default)] gpu: u32,
        /// How many in a row.
        #[serde(default = "once")] times: u32,
        /// Host time before the launch, in addition to Python frames.
        #[serde(default)] host_us: f64,
        /// The truth this is.
        #[serde(default, skip_serializing_if = "Option::is_none")] truth: Option<Spanned<String>>,
    }
}
action! {
    /// Work on the host.
    Host {
        /// The Python frame.
        frame: String,
        /// How long.
        us: f64,
        /// The truth this is.
        #[serde(default, skip_serializing_if = "Option::is_none")] truth: Option<Spanned<String>>,
    }
}
action! {
    /// A runtime call.
    Api {
        /// Its name.
        name: String,
        /// How long it takes.
        #[serde(default, skip_serializing_if = "Option::is_none")] us: Option<f64>,
        /// How many in a row.
        #[serde(default = "once")] times: u32,
        /// The truth this is.
        #[serde(default, skip_serializing_if = "Option::is_none")] truth: Option<Spanned<String>>,
    }
}
action! {
    /// A copy.
    Copy {
        /// From where to where.
        direction: Direction,
        /// How much.
        bytes: u64,
        /// What kind of host memory.
        #[serde(default)] memory: HostMemory,
        /// Bandwidth, if not the machine's.
        #[serde(default, skip_serializing_if = "Option::is_none")] gbps: Option<f64>,
        /// Stream.
        #[serde(default)] stream: u32,
        /// GPU of the rank.
        #[serde(default)] gpu: u32,
        /// Whether the call returns only when the copy is done.
        #[serde(default)] blocking: bool,
        /// Host time in the call before the copy starts: staging of pageable memory.
        #[serde(default)] host_us: f64,
        /// The call.
        #[serde(default, skip_serializing_if = "Option::is_none")] api: Option<String>,
        /// How many in a row.
        #[serde(default = "once")] times: u32,
        /// The truth this is.
        #[serde(default, skip_serializing_if = "Option::is_none")] truth: Option<Spanned<String>>,
    }
}
action! {
    /// A fill.
    Fill {
        /// How much.
        bytes: u64,
        /// Stream.
        #[serde(default)] stream: u32,
        /// GPU of the rank.
        #[serde(default)] gpu: u32,
    }
}
action! {
    /// A blocking wait.
    Sync {
        /// For a stream.
        #[serde(default, skip_serializing_if = "Option::is_none")] stream: Option<u32>,
        /// For an event.
        #[serde(default, skip_serializing_if = "Option::is_none")] event: Option<Spanned<String>>,
        /// GPU of the rank.
        #[serde(default)] gpu: u32,
        /// The truth this is.
        #[serde(default, skip_serializing_if = "Option::is_none")] truth: Option<Spanned<String>>,
    }
}
action! {
    /// An event on a stream.
    Event {
        /// The event.
        event: Spanned<String>,
        /// Stream.
        #[serde(default)] stream: u32,
        /// GPU of the rank.
        #[serde(default)] gpu: u32,
        /// The truth this is.
        #[serde(default, skip_serializing_if = "Option::is_none")] truth: Option<Spanned<String>>,
    }
}
action! {
    /// An allocation.
    Alloc {
        /// Name, for the free.
        name: Spanned<String>,
        /// How much.
        bytes: u64,
        /// GPU of the rank.
        #[serde(default)] gpu: u32,
        /// Host time.
        #[serde(default, skip_serializing_if = "Option::is_none")] us: Option<f64>,
        /// The truth this is.
        #[serde(default, skip_serializing_if = "Option::is_none")] truth: Option<Spanned<String>>,
    }
}
action! {
    /// A free.
    Free {
        /// Name of the allocation.
        name: Spanned<String>,
        /// Host time.
        #[serde(default, skip_serializing_if = "Option::is_none")] us: Option<f64>,
        /// The truth this is.
        #[serde(default, skip_serializing_if = "Option::is_none")] truth: Option<Spanned<String>>,
    }
}
action! {
    /// A collective of a group.
    CollectiveSpec {
        /// `allreduce`, `allgather` …
        operation: String,
        /// Short name of its kernel.
        kernel: Spanned<String>,
        /// Bytes sent by each rank.
        bytes: u64,
        /// Data type.
        #[serde(default = "bfloat16")] dtype: String,
        /// The group.
        #[serde(default)] group: GroupKind,
        /// Whether it carries tokens to experts or back: sizes follow what each expert gets.
        #[serde(default, skip_serializing_if = "Option::is_none")] tokens: Option<Tokens>,
        /// Stream.
        #[serde(default)] stream: u32,
        /// GPU of the rank.
        #[serde(default)] gpu: u32,
        /// The truth this is.
        #[serde(default, skip_serializing_if = "Option::is_none")] truth: Option<Spanned<String>>,
    }
}

action! {
    /// Micro-batches through pipeline stages, one forward and one backward in turn (1F1B).
    PipelineSpec {
        /// Sequence of a forward pass.
        forward: Spanned<String>,
        /// Sequence of a backward pass.
        backward: Spanned<String>,
        /// How many micro-batches.
        micro_batches: u32,
        /// Short name of the kernel that sends and receives.
        kernel: Spanned<String>,
        /// Bytes between stages for each micro-batch.
        bytes: u64,
        /// Data type.
        #[serde(default = "bfloat16")] dtype: String,
        /// The stream that computes.
        #[serde(default)] stream: u32,
        /// First of the four streams that send and receive.
        peers: u32,
        /// GPU of the rank.
        #[serde(default)] gpu: u32,
    }
}

/// Which way tokens go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tokens {
    /// To the experts.
    Dispatch,
    /// Back from them.
    Combine,
}

fn bfloat16() -> String {
    "BFloat16".into()
}

action! {
    /// A sequence, several times.
    Repeat {
        /// Its name.
        sequence: Spanned<String>,
        /// How many times.
        #[serde(default = "once")] times: u32,
        /// Stream of the graph launch.
        #[serde(default)] stream: u32,
        /// GPU of the graph launch.
        #[serde(default)] gpu: u32,
        /// Name of the capture: `capture_32_DECODE`.
        #[serde(default, skip_serializing_if = "Option::is_none")] capture: Option<String>,
    }
}
action! {
    /// An annotated piece of program.
    Annotate {
        /// Its text.
        name: String,
        /// What is annotated.
        program: Vec<Action>,
    }
}
action! {
    /// Use of a queue between threads.
    QueueUse {
        /// The queue.
        queue: String,
    }
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

fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}
