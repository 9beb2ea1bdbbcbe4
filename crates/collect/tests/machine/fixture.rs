//! A machine as files below a folder: KFD's topology, sysfs, devices, programs.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rocm_perf_collect::doctor::{Identity, Machine};

/// A simulated machine; tests change it before they examine it.
pub struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    /// An empty machine.
    pub fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Two processors and two MI300X, a current ROCm, a user who may use them.
    pub fn healthy() -> Self {
        let machine = Self::empty();
        machine.cpu(0).cpu(1).mi300x(2, 0).mi300x(3, 1);
        machine
            .write("sys/module/amdgpu/version", "6.12.12\n")
            .write("proc/sys/kernel/osrelease", "6.8.0-60-generic\n");
        machine
            .write("proc/sys/kernel/perf_event_paranoid", "2\n")
            .write("proc/sys/kernel/yama/ptrace_scope", "0\n");
        machine.write("proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\nSeccomp:\t0\n");
        machine.device("dev/kfd", 0o660);
        machine
            .write("opt/rocm/.info/version", "7.0.2-56\n")
            .write("opt/rocm/lib/librocprof-trace-decoder.so", "");
        machine.script("rocprofv3", "echo '        rocm_version: 7.0.2'");
        machine.script("rocprofv3-avail", "echo 'GPU:0'; echo 'PMC: SQ_WAVES GRBM_COUNT TCC_HIT_sum'");
        machine.script("python3", "exit 0");
        machine
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub fn remove(&self, path: &str) -> &Self {
        let path = self.root().join(path);
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap()
        } else {
            std::fs::remove_file(path).unwrap()
        }
        self
    }

    pub fn device(&self, path: &str, mode: u32) -> &Self {
        self.write(path, "");
        std::fs::set_permissions(self.root().join(path), std::fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    /// A program of ROCm, as a shell script.
    pub fn script(&self, name: &str, body: &str) -> &Self {
        let path = format!("opt/rocm/bin/{name}");
        self.write(&path, &format!("#!/bin/sh\n{body}\n")).device_mode(&path, 0o755)
    }

    fn device_mode(&self, path: &str, mode: u32) -> &Self {
        std::fs::set_permissions(self.root().join(path), std::fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    pub fn node(&self, node: u32, file: &str, properties: &[(&str, u64)]) -> &Self {
        let text: String = properties.iter().map(|(key, value)| format!("{key} {value}\n")).collect();
        self.write(&format!("sys/class/kfd/kfd/topology/nodes/{node}/{file}"), &text)
    }

    pub fn cpu(&self, node: u32) -> &Self {
        self.node(node, "properties", &[("cpu_cores_count", 96), ("simd_count", 0)])
    }

    /// An MI300X as node `node`, the `index`-th GPU.
    pub fn mi300x(&self, node: u32, index: u32) -> &Self {
        let minor = u64::from(128 + index);
        let properties = [
            ("cpu_cores_count", 0),
            ("simd_count", 1216),
            ("simd_per_cu", 4),
            ("max_waves_per_simd", 8),
            ("lds_size_in_kb", 64),
            ("wave_front_size", 64),
            ("num_xcc", 8),
            ("array_count", 32),
            ("simd_arrays_per_engine", 1),
            ("gfx_target_version", 90_402),
            ("vendor_id", 4098),
            ("device_id", 0x74a1),
            ("location_id", 0x0c00 + 0x1000 * u64::from(index)),
            ("domain", 0),
            ("drm_render_minor", minor),
            ("max_engine_clk_fcompute", 2100),
            ("max_engine_clk_ccompute", 3700),
            ("hive_id", 0xfeed),
            ("unique_id", 0x1234_5678 + u64::from(index)),
            ("local_mem_size", 0),
        ];
        self.node(node, "properties", &properties);
        let memory =
            [("heap_type", 1), ("size_in_bytes", 206_141_652_992), ("width", 8192), ("mem_clk_max", 1300)];
        self.node(node, "mem_banks/0/properties", &memory);
        for cache in 0..4 {
            let l1 = [("level", 1), ("size", 32), ("cache_line_size", 128), ("type", 9)];
            self.node(node, &format!("caches/{cache}/properties"), &l1);
        }
        let l2 = [("level", 2), ("size", 4096), ("cache_line_size", 128), ("type", 9)];
        self.node(node, "caches/4/properties", &l2);
        let link = [
            ("type", 11),
            ("node_from", node.into()),
            ("node_to", 2 + (1 - u64::from(index))),
            ("weight", 15),
            ("max_bandwidth", 64_000),
        ];
        self.node(node, "io_links/0/properties", &link);
        self.device(&format!("dev/dri/renderD{minor}"), 0o660);
        self.card(index)
    }

    pub fn card(&self, index: u32) -> &Self {
        let files = [
            ("vendor", "0x1002"),
            ("gpu_busy_percent", "0"),
            ("mem_busy_percent", "3"),
            ("mem_info_vram_total", "206141652992"),
            ("mem_info_vram_used", "308281344"),
            ("power_dpm_force_performance_level", "high"),
            ("current_compute_partition", "SPX"),
            ("current_memory_partition", "NPS1"),
            ("pp_dpm_sclk", "0: 132Mhz\n1: 1200Mhz *\n2: 2100Mhz"),
            ("pp_dpm_mclk", "0: 900Mhz\n1: 1300Mhz *"),
            ("hwmon/hwmon3/power1_input", "140500000"),
            ("hwmon/hwmon3/power1_cap", "750000000"),
            ("hwmon/hwmon3/temp1_input", "38000"),
            ("hwmon/hwmon3/temp1_label", "junction"),
            ("hwmon/hwmon3/temp2_input", "41000"),
            ("hwmon/hwmon3/temp2_label", "mem"),
        ];
        for (name, text) in files {
            for link in [format!("card{index}"), format!("renderD{}", 128 + index)] {
                self.write(&format!("sys/class/drm/{link}/device/{name}"), &format!("{text}\n"));
            }
        }
        self
    }

    /// The machine for the doctor, with a user who is only in the devices' group.
    pub fn machine(&self) -> Machine {
        let owner = self.root().metadata().unwrap();
        Machine {
            identity: Identity { uid: owner.uid() + 1, gids: vec![owner.gid()] },
            free_bytes: Some(900_000_000_000),
            open_files: 65_536,
            kfd_interface: Some((1, 17)),
            synchronised: Some(true),
            ..Machine::below(self.root(), &self.out())
        }
    }

    pub fn out(&self) -> PathBuf {
        self.root().join("out")
    }
}
