//! The simulated machine: two processors, then GPUs of one architecture.

use serde_json::{Map, Value, json};

/// Processors before the first GPU; so the first GPU is `Agent 2`.
pub const PROCESSORS: usize = 2;

/// The properties of a GPU of an architecture.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// `gfx942`.
    pub arch: &'static str,
    /// Marketing name.
    pub product: &'static str,
    /// `gfx_target_version` of KFD.
    pub target_version: u32,
    /// PCI device id.
    pub device_id: u32,
    /// Compute units.
    pub units: u32,
    /// XCCs.
    pub xccs: u32,
    /// Shader engines over all XCCs.
    pub engines: u32,
    /// SIMDs of a compute unit.
    pub simds: u32,
    /// Waves of a SIMD.
    pub waves: u32,
    /// Lanes of a wave.
    pub wave_size: u32,
    /// LDS of a compute unit.
    pub lds_kib: u32,
    /// Highest clock.
    pub clock_mhz: u32,
    /// Memory.
    pub memory_gib: u64,
    /// Memory bus.
    pub bus_bits: u32,
    /// Memory clock.
    pub memory_mhz: u32,
}

/// Parts by architecture.
pub const PARTS: [Product; 6] = [
    part("gfx908", "AMD Instinct MI100", 90_008, 0x738c, [120, 1, 8, 4, 10, 64, 64], 1502, [32, 4096, 1200]),
    part("gfx90a", "AMD Instinct MI250X", 90_010, 0x7408, [110, 1, 8, 4, 8, 64, 64], 1700, [64, 4096, 1600]),
    part(
        "gfx942",
        "AMD Instinct MI300X",
        90_402,
        0x74a1,
        [304, 8, 32, 4, 8, 64, 64],
        2100,
        [192, 8192, 1300],
    ),
    part(
        "gfx950",
        "AMD Instinct MI355X",
        90_500,
        0x75a3,
        [256, 8, 32, 4, 8, 64, 160],
        2400,
        [288, 8192, 2000],
    ),
    part(
        "gfx1100",
        "AMD Radeon RX 7900 XTX",
        110_000,
        0x744c,
        [96, 1, 6, 2, 16, 32, 64],
        2526,
        [24, 384, 1250],
    ),
    part(
        "gfx1201",
        "AMD Radeon RX 9070 XT",
        120_001,
        0x7550,
        [64, 1, 4, 2, 16, 32, 64],
        2970,
        [16, 256, 1258],
    ),
];

const fn part(
    arch: &'static str,
    product: &'static str,
    target_version: u32,
    device_id: u32,
    shape: [u32; 7],
    clock_mhz: u32,
    memory: [u32; 3],
) -> Product {
    let [units, xccs, engines, simds, waves, wave_size, lds_kib] = shape;
    let [gib, bus_bits, memory_mhz] = memory;
    let memory_gib = gib as u64;
    Product {
        arch,
        product,
        target_version,
        device_id,
        units,
        xccs,
        engines,
        simds,
        waves,
        wave_size,
        lds_kib,
        clock_mhz,
        memory_gib,
        bus_bits,
        memory_mhz,
    }
}

/// The part of an architecture; an MI300X if it is unknown.
pub fn part_of(arch: &str) -> Product {
    PARTS.into_iter().find(|part| part.arch == arch).unwrap_or(PARTS[2])
}

impl Product {
    /// What the profiler says about GPU number `index`.
    pub fn agent_facts(&self, index: usize) -> Value {
        let node = (PROCESSORS + index) as u64;
        let per_engine = u64::from(self.units / self.engines);
        let numbers: [(&str, u64); 42] = [
            ("size", 320),
            ("type", 2),
            ("cpu_cores_count", 0),
            ("simd_count", u64::from(self.units * self.simds)),
            ("mem_banks_count", 1),
            ("caches_count", 0),
            ("io_links_count", 1),
            ("simd_id_base", 2_147_487_744),
            ("max_waves_per_simd", self.waves.into()),
            ("lds_size_in_kb", self.lds_kib.into()),
            ("gds_size_in_kb", 0),
            ("num_gws", 64),
            ("wave_front_size", self.wave_size.into()),
            ("num_xcc", self.xccs.into()),
            ("cu_count", self.units.into()),
            ("array_count", self.engines.into()),
            ("num_shader_banks", self.engines.into()),
            ("simd_arrays_per_engine", 1),
            ("cu_per_simd_array", per_engine),
            ("simd_per_cu", self.simds.into()),
            ("max_slots_scratch_cu", 32),
            ("gfx_target_version", self.target_version.into()),
            ("vendor_id", 4098),
            ("device_id", self.device_id.into()),
            ("location_id", 0x0c00 + 0x1000 * index as u64),
            ("domain", 0),
            ("drm_render_minor", 128 + index as u64),
            ("num_sdma_engines", 2),
            ("num_sdma_xgmi_engines", 14),
            ("num_sdma_queues_per_engine", 8),
            ("num_cp_queues", 24),
            ("max_engine_clk_ccompute", 3700),
            ("max_engine_clk_fcompute", self.clock_mhz.into()),
            ("cu_per_engine", per_engine),
            ("max_waves_per_cu", u64::from(self.simds * self.waves)),
            ("family_id", 141),
            ("workgroup_max_size", 1024),
            ("grid_max_size", u32::MAX.into()),
            ("gpu_id", 35_000 + index as u64),
            ("node_id", node),
            ("logical_node_id", node),
            ("logical_node_type_id", index as u64),
        ];
        let mut facts: Map<String, Value> =
            numbers.into_iter().map(|(key, value)| (key.to_string(), value.into())).collect();
        let memory = json!([{"heap_type": 1, "size_in_bytes": self.memory_gib << 30, "width": self.bus_bits,
            "mem_clk_max": self.memory_mhz}]);
        let others = [
            ("id", json!({"handle": node * 1_000_003})),
            ("local_mem_size", 0.into()),
            ("hive_id", 0.into()),
            ("workgroup_max_dim", json!({"x": 1024, "y": 1024, "z": 1024})),
            ("grid_max_dim", json!({"x": u32::MAX, "y": 65_535, "z": 65_535})),
            ("name", self.arch.into()),
            ("vendor_name", "AMD".into()),
            ("product_name", self.product.into()),
            ("model_name", "".into()),
            ("mem_banks", memory),
        ];
        facts.extend(others.map(|(key, value)| (key.to_string(), value)));
        Value::Object(facts)
    }
}

/// What the profiler says about a processor.
pub fn processor_facts(node: usize) -> Value {
    json!({
        "id": {"handle": node as u64 * 1_000_003 + 1}, "type": 1, "cpu_cores_count": 96, "simd_count": 0,
        "name": "AMD EPYC 9654 96-Core Processor", "vendor_name": "CPU",
        "product_name": "AMD EPYC 9654 96-Core Processor", "node_id": node, "logical_node_id": node,
        "logical_node_type_id": node, "max_engine_clk_ccompute": 3700,
    })
}
