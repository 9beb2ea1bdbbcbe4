//! GPU facts from KFD's topology and sysfs.

use rocm_perf_collect::gpus::{Topology, detect};

use super::fixture::Fixture;

#[test]
fn facts_follow_from_the_kernels_files() {
    let topology = detect(Fixture::healthy().root());
    assert_eq!((topology.processors, topology.gpus.len(), topology.readable), (2, 2, true));
    let gpu = &topology.gpus[1];
    assert_eq!((gpu.node, gpu.logical_index, gpu.type_index), (3, 3, 1));
    assert_eq!(
        (gpu.arch.as_str(), gpu.compute_units, gpu.xccs, gpu.shader_engines),
        ("gfx942", 304, 8, Some(32))
    );
    assert_eq!((gpu.max_waves_per_cu, gpu.wave_size, gpu.lds_bytes), (32, 64, 65_536));
    assert_eq!((gpu.max_clock_mhz, gpu.memory_bytes), (Some(2100), Some(206_141_652_992)));
    assert_eq!((gpu.memory_bus_bits, gpu.max_memory_clock_mhz), (Some(8192), Some(1300)));
    assert_eq!(gpu.pci, "0000:1c:00.0");
    assert_eq!((gpu.hive, gpu.uuid.as_deref()), (Some(0xfeed), Some("GPU-0000000012345679")));
    let caches: Vec<(u32, u64, u32)> = gpu.caches.iter().map(|c| (c.level, c.bytes, c.count)).collect();
    assert_eq!(caches, [(1, 32 << 10, 4), (2, 4096 << 10, 1)]);
    assert_eq!(
        (gpu.links[0].kind.as_str(), gpu.links[0].to, gpu.links[0].max_mbps),
        ("xgmi", 2, Some(64_000))
    );
    let card = gpu.card.as_ref().unwrap();
    assert_eq!((card.performance_level.as_deref(), card.power_cap_watts), (Some("high"), Some(750.0)));
    assert_eq!(gpu.product.as_deref(), Some("MI300X"));
}

#[test]
fn typical_parts_have_the_counts_of_their_data_sheets() {
    // (version, SIMDs, SIMDs per CU, waves, arrays, XCCs) and (arch, CUs, waves per CU).
    let parts = [
        ((90_008, 480, 4, 10, 8, None), ("gfx908", 120, 40)),
        ((90_010, 440, 4, 8, 8, None), ("gfx90a", 110, 32)),
        ((90_500, 1024, 4, 8, 32, Some(8)), ("gfx950", 256, 32)),
        ((110_000, 192, 2, 16, 12, None), ("gfx1100", 96, 32)),
    ];
    for ((version, simds, per_cu, waves, arrays, xccs), (arch, units, per_unit)) in parts {
        let machine = Fixture::empty();
        let mut properties = vec![
            ("simd_count", simds),
            ("simd_per_cu", per_cu),
            ("max_waves_per_simd", waves),
            ("array_count", arrays),
            ("gfx_target_version", version),
        ];
        properties.extend(xccs.map(|count| ("num_xcc", count)));
        machine.node(0, "properties", &properties);
        let gpu = detect(machine.root()).gpus.remove(0);
        assert_eq!((gpu.arch.as_str(), gpu.compute_units, gpu.max_waves_per_cu), (arch, units, per_unit));
        assert_eq!(u64::from(gpu.xccs), xccs.unwrap_or(1));
        // Facts that are not in the files are absent.
        assert_eq!((gpu.memory_bytes, gpu.max_clock_mhz, gpu.card), (None, None, None));
    }
}

#[test]
fn a_masked_node_is_passed_over_but_keeps_its_number() {
    let machine = Fixture::empty();
    machine.cpu(0).mi300x(2, 0);
    machine.write("sys/class/kfd/kfd/topology/nodes/1/properties", "");
    let topology = detect(machine.root());
    assert_eq!(topology.masked, [1]);
    assert_eq!((topology.gpus[0].node, topology.gpus[0].logical_index), (2, 1));
}

#[test]
fn no_topology_is_no_gpu() {
    assert_eq!(detect(Fixture::empty().root()), Topology::default());
}
