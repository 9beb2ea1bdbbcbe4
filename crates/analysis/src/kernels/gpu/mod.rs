//! What a trace records about a GPU: everything that peaks and figures per compute unit depend on.

mod measured;
mod specs;

pub(crate) use measured::{NamedPeak, take_measured};
pub use specs::Specs;

use hw::peaks::Setup;
use trace::{Agent, Trace};

/// A GPU, or a partition of one, as recorded in its trace.
pub(crate) struct RecordedGpu {
    product: String,
    compute_partition: Option<String>,
    memory_partition: Option<String>,
    cus: Option<u32>,
    memory_bytes: Option<u64>,
    xccs: Option<u32>,
    clock_mhz: Option<f64>,
}

impl RecordedGpu {
    /// Facts of a rocprof-compute workload override those of the agent, because people correct them.
    pub fn of(trace: &Trace, specs: &Specs, agent: Option<&Agent>) -> Self {
        let whole = |value: f64| (value >= 1.0).then_some(value as u32);
        let text = |key: &str| specs.text(key).map(str::to_owned);
        let product = agent.map_or("", |agent| trace.strings.get(agent.product));
        let cus = agent.and_then(|agent| agent.compute_units.get()).map(|cus| cus as f64);
        let extra = agent.map_or("", |agent| trace.strings.get(agent.extra));
        let extra: serde_json::Value = serde_json::from_str(extra).unwrap_or_default();
        Self {
            product: text("gpu_model").unwrap_or_else(|| product.to_owned()),
            compute_partition: text("compute_partition"),
            memory_partition: text("memory_partition"),
            cus: specs.number("cu_per_gpu").and_then(whole).or(cus.and_then(whole)),
            memory_bytes: agent
                .and_then(|agent| u64::try_from(agent.memory_bytes.get()?).ok())
                .filter(|&b| b > 0),
            xccs: specs.number("num_xcd").or(extra["num_xcc"].as_f64()).and_then(whole),
            clock_mhz: specs.number("max_sclk").filter(|mhz| *mhz > 0.0),
        }
    }

    /// The input for [`hw::peaks`].
    pub fn setup(&self) -> Setup<'_> {
        Setup {
            product: Some(&self.product),
            compute_partition: self.compute_partition.as_deref(),
            memory_partition: self.memory_partition.as_deref(),
            cus: self.cus,
            memory_bytes: self.memory_bytes,
            xccs: self.xccs,
            clock_mhz: self.clock_mhz,
            memory_gbps: None,
        }
    }
}
