//! The GPUs of this machine, from the kernel's own description of them: KFD's topology and sysfs.
//!
//! Everything is read below a root folder, so a copy of another machine's files works as well as `/`.
//!
//! ```no_run
//! let topology = rocm_perf_collect::gpus::detect(std::path::Path::new("/"));
//! for gpu in &topology.gpus {
//!     println!("{} {} with {} CUs", gpu.type_index, gpu.arch, gpu.compute_units);
//! }
//! ```

mod card;
mod kfd;

pub use card::Card;
pub(crate) use card::{hwmon, read_text};

use std::path::Path;

use serde::Serialize;

/// What KFD says about a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Topology {
    /// GPUs in the order of their nodes.
    pub gpus: Vec<Gpu>,
    /// Nodes that are CPUs.
    pub processors: u32,
    /// Nodes that cannot be read: masked by the container's control group.
    pub masked: Vec<u32>,
    /// Whether there is a topology; without one the driver is not loaded.
    pub readable: bool,
}

/// One GPU, or one partition of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Gpu {
    /// Number of the node: the profiler's absolute index.
    pub node: u32,
    /// Number among the visible nodes, including CPUs: the profiler's `Agent N`.
    pub logical_index: u32,
    /// Number among the visible GPUs.
    pub type_index: u32,
    /// `gfx942`.
    pub arch: String,
    /// Marketing name, if sysfs or the catalogue has it.
    pub product: Option<String>,
    /// Compute units.
    pub compute_units: u32,
    /// SIMDs per compute unit.
    pub simds_per_cu: u32,
    /// XCCs.
    pub xccs: u32,
    /// Shader engines of all XCCs.
    pub shader_engines: Option<u32>,
    /// Waves per compute unit.
    pub max_waves_per_cu: u32,
    /// Lanes per wave.
    pub wave_size: u32,
    /// LDS per compute unit.
    pub lds_bytes: u64,
    /// Highest engine clock.
    pub max_clock_mhz: Option<u32>,
    /// Memory of the GPU.
    pub memory_bytes: Option<u64>,
    /// Width of the memory bus.
    pub memory_bus_bits: Option<u32>,
    /// Highest memory clock.
    pub max_memory_clock_mhz: Option<u32>,
    /// Caches by level and kind.
    pub caches: Vec<Cache>,
    /// Links to other nodes.
    pub links: Vec<Link>,
    /// `0000:0c:00.0`.
    pub pci: String,
    /// PCI device id.
    pub device_id: u32,
    /// Shared by the GPUs of an xGMI hive.
    pub hive: Option<u64>,
    /// `GPU-…`, as used in `ROCR_VISIBLE_DEVICES`.
    pub uuid: Option<String>,
    /// Minor number of `/dev/dri/renderD…`.
    pub render_minor: Option<u32>,
    /// What sysfs says about the card.
    pub card: Option<Card>,
}

/// Caches of one level and kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cache {
    /// Level, from 1.
    pub level: u32,
    /// `data`, `instruction` or both.
    pub kind: String,
    /// Size of one.
    pub bytes: u64,
    /// Bytes per line.
    pub line_bytes: u32,
    /// How many there are.
    pub count: u32,
}

/// A link to another node.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Link {
    /// The node at the other end.
    pub to: u32,
    /// `pcie`, `xgmi` or KFD's number.
    pub kind: String,
    /// Distance in the kernel's units.
    pub weight: u32,
    /// Highest bandwidth, if known.
    pub max_mbps: Option<u32>,
}

/// Reads what is known about the GPUs of a machine. Unreadable facts are absent, never guessed.
pub fn detect(root: &Path) -> Topology {
    let mut topology = kfd::read(root);
    for gpu in &mut topology.gpus {
        gpu.card = gpu.render_minor.and_then(|minor| Card::of_render_node(root, minor));
        let from_card = gpu.card.as_ref().and_then(|card| card.product.clone());
        gpu.product = from_card.or_else(|| product(&gpu.arch, gpu.device_id));
    }
    topology
}

/// All AMD cards without KFD, for monitors in containers that hide it.
pub fn cards(root: &Path) -> Vec<Card> {
    card::all(root)
}

/// The catalogue's name for a chip.
fn product(arch: &str, device_id: u32) -> Option<String> {
    let products = &hw::arch::find(arch)?.products;
    let product = products.iter().find(|product| product.chips.contains(&device_id));
    product.map(|product| product.name.clone())
}
