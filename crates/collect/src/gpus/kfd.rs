//! KFD's topology: a folder per node, with `key value` lines.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Cache, Gpu, Link, Topology};

const NODES: &str = "sys/class/kfd/kfd/topology/nodes";

/// Lines of a `properties` file.
struct Properties(BTreeMap<String, u64>);

impl Properties {
    /// `None` for a file that is unreadable or empty: the node is masked.
    fn read(path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(path).ok()?;
        let pairs = text.lines().filter_map(|line| line.trim().split_once(' '));
        let numbers = pairs.filter_map(|(key, value)| Some((key.to_string(), value.trim().parse().ok()?)));
        let map: BTreeMap<String, u64> = numbers.collect();
        (!map.is_empty()).then_some(Self(map))
    }

    fn get(&self, key: &str) -> Option<u64> {
        self.0.get(key).copied()
    }

    /// A number that exists and is not zero.
    fn some(&self, key: &str) -> Option<u64> {
        self.get(key).filter(|value| *value != 0)
    }

    fn small(&self, key: &str) -> Option<u32> {
        self.some(key).and_then(|value| value.try_into().ok())
    }
}

/// Reads all nodes; the caller fills in `card` and `product`.
pub(super) fn read(root: &Path) -> Topology {
    let nodes = root.join(NODES);
    let mut topology = Topology { readable: nodes.is_dir(), ..Topology::default() };
    let mut logical = 0;
    for node in 0.. {
        let folder = nodes.join(node.to_string());
        if !folder.is_dir() {
            break;
        }
        let Some(properties) = Properties::read(&folder.join("properties")) else {
            topology.masked.push(node);
            continue;
        };
        if properties.some("simd_count").is_some() {
            let type_index = topology.gpus.len() as u32;
            topology.gpus.push(Gpu { node, logical_index: logical, type_index, ..gpu(&properties, &folder) });
        } else if properties.some("cpu_cores_count").is_some() {
            topology.processors += 1;
        }
        logical += 1;
    }
    topology
}

fn gpu(properties: &Properties, folder: &Path) -> Gpu {
    let simds_per_cu = properties.small("simd_per_cu").unwrap_or(1);
    let compute_units = properties.small("simd_count").unwrap_or(0) / simds_per_cu;
    let arrays = properties.small("simd_arrays_per_engine").unwrap_or(1);
    let location = properties.get("location_id").unwrap_or(0);
    let banks = memory_banks(folder);
    Gpu {
        arch: arch_name(properties.get("gfx_target_version").unwrap_or(0)),
        compute_units,
        simds_per_cu,
        xccs: properties.small("num_xcc").unwrap_or(1),
        shader_engines: properties.small("array_count").map(|count| count / arrays),
        max_waves_per_cu: simds_per_cu * properties.small("max_waves_per_simd").unwrap_or(0),
        wave_size: properties.small("wave_front_size").unwrap_or(64),
        lds_bytes: properties.get("lds_size_in_kb").unwrap_or(0) << 10,
        max_clock_mhz: properties.small("max_engine_clk_fcompute"),
        memory_bytes: banks.bytes.or_else(|| properties.some("local_mem_size")),
        memory_bus_bits: banks.width,
        max_memory_clock_mhz: banks.clock_mhz,
        caches: caches(folder),
        links: links(folder),
        pci: format!(
            "{:04x}:{:02x}:{:02x}.{:x}",
            properties.get("domain").unwrap_or(0),
            location >> 8 & 0xff,
            location >> 3 & 31,
            location & 7
        ),
        device_id: properties.small("device_id").unwrap_or(0),
        hive: properties.some("hive_id"),
        uuid: properties.some("unique_id").map(|id| format!("GPU-{id:016x}")),
        render_minor: properties.small("drm_render_minor"),
        ..Gpu::default()
    }
}

/// `90402` is gfx942: major, minor and stepping in decimal, the stepping written in hexadecimal.
pub(super) fn arch_name(version: u64) -> String {
    format!("gfx{}{}{:x}", version / 10_000, version / 100 % 100, version % 100)
}

#[derive(Default)]
struct Banks {
    bytes: Option<u64>,
    width: Option<u32>,
    clock_mhz: Option<u32>,
}

/// Memory of the GPU itself: heaps that are public (1) or private (2).
fn memory_banks(folder: &Path) -> Banks {
    let mut banks = Banks::default();
    for bank in children(&folder.join("mem_banks")) {
        if matches!(bank.get("heap_type"), Some(1 | 2)) {
            banks.bytes = Some(banks.bytes.unwrap_or(0) + bank.get("size_in_bytes").unwrap_or(0));
            banks.width = banks.width.or(bank.small("width"));
            banks.clock_mhz = banks.clock_mhz.or(bank.small("mem_clk_max"));
        }
    }
    banks
}

/// Caches, with equal ones grouped.
fn caches(folder: &Path) -> Vec<Cache> {
    let mut caches: BTreeMap<(u32, String, u64, u32), u32> = BTreeMap::new();
    for cache in children(&folder.join("caches")) {
        let bits = cache.get("type").unwrap_or(0);
        let kinds = [(1, "data"), (2, "instruction")];
        let kinds: Vec<&str> =
            kinds.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, kind)| *kind).collect();
        let key = (
            cache.small("level").unwrap_or(0),
            kinds.join(" and "),
            cache.get("size").unwrap_or(0) << 10,
            cache.small("cache_line_size").unwrap_or(0),
        );
        *caches.entry(key).or_default() += 1;
    }
    let cache = |((level, kind, bytes, line_bytes), count)| Cache { level, kind, bytes, line_bytes, count };
    caches.into_iter().map(cache).collect()
}

fn links(folder: &Path) -> Vec<Link> {
    let link = |link: Properties| {
        let kind = match link.get("type") {
            Some(2) => "pcie".to_string(),
            Some(11) => "xgmi".to_string(),
            other => other.unwrap_or(0).to_string(),
        };
        let to = link.get("node_to").unwrap_or(0) as u32;
        let weight = link.small("weight").unwrap_or(0);
        Link { to, kind, weight, max_mbps: link.small("max_bandwidth") }
    };
    children(&folder.join("io_links")).into_iter().map(link).collect()
}

/// Properties of the numbered folders in a folder.
fn children(folder: &Path) -> Vec<Properties> {
    let numbered = (0..).map(|n| folder.join(n.to_string())).take_while(|child| child.is_dir());
    numbered.filter_map(|child| Properties::read(&child.join("properties"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_the_sheet_have_their_names() {
        let names = [
            (90_008, "gfx908"),
            (90_010, "gfx90a"),
            (90_402, "gfx942"),
            (90_500, "gfx950"),
            (110_000, "gfx1100"),
            (120_001, "gfx1201"),
        ];
        for (version, name) in names {
            assert_eq!(arch_name(version), name);
        }
    }
}
