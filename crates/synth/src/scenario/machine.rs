//! The machine that a scenario runs on: what its calls cost, how its ranks differ, what connects them.

use serde::{Deserialize, Serialize};
use toml::Spanned;

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

fn is_one(size: &u32) -> bool {
    *size == 1
}
