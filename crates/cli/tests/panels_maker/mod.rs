//! A small workload folder with every counter that the panels of gfx90a need.

use std::fmt::Write;
use std::path::Path;

use analysis::kernels::panels::{Blocks, counters_needed};

/// Launches: kernel, work-items, nanoseconds.
pub const LAUNCHES: &[(&str, u32, u32)] = &[
    ("stream(double*, int)", 65536, 20_000),
    ("reduce(float*)", 4096, 5_000),
    ("stream(double*, int)", 65536, 30_000),
];

/// Counters of the joined table by launch: computed from the name and the launch, the same on every machine.
fn value(counter: &str, launch: usize) -> u64 {
    let hash =
        counter.bytes().fold(2166136261u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(16777619));
    u64::from(hash % 9_000 + 1_000) * (launch as u64 + 1)
}

/// Values that give plausible ratios.
fn sensible(counter: &str, launch: usize) -> u64 {
    let size = u64::from(LAUNCHES[launch].1);
    match counter {
        "GRBM_GUI_ACTIVE" | "GRBM_COUNT" => u64::from(LAUNCHES[launch].2) * 2,
        "GRBM_SPI_BUSY" => u64::from(LAUNCHES[launch].2),
        "SQ_WAVES" | "SPI_CSN_WAVE" => size / 64,
        "SQ_BUSY_CU_CYCLES" => u64::from(LAUNCHES[launch].2) * 2 * 60,
        "SQ_WAVE_CYCLES" => size * 40,
        "TCP_TOTAL_CACHE_ACCESSES_sum" => 90_000,
        name => value(name, launch),
    }
}

const IDENTITY: &str = "Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR";

/// Writes the joined table, its level files and `sysinfo.csv`; counters that `keep` refuses are left out.
pub fn write(folder: &Path, keep: impl Fn(&str) -> bool) {
    std::fs::create_dir_all(folder).unwrap();
    let mut counters: Vec<String> = Vec::new();
    let mut levels: Vec<String> = Vec::new();
    for name in counters_needed("gfx90a", &Blocks::default()) {
        if let Some(level) = name.strip_suffix("_ACCUM") {
            levels.push(level.to_string());
        } else if name.starts_with("TCC_") && !name.ends_with("_sum") {
            counters.extend((0..32).map(|channel| format!("{name}[{channel}]")));
        } else {
            counters.push(name);
        }
    }
    counters.retain(|name| keep(name));
    table(&folder.join("pmc_perf.csv"), &counters, 0..LAUNCHES.len());
    for level in levels.iter().filter(|level| keep(level)) {
        let of_level = [
            "SQ_ACCUM_PREV_HIRES",
            "SQ_WAVES",
            "SQ_INSTS_LDS",
            "SQ_INSTS_VMEM",
            "SQ_INSTS_SMEM",
            "SQ_IFETCH",
            "SQC_DCACHE_REQ",
        ];
        let names: Vec<String> = of_level.iter().map(|name| name.to_string()).collect();
        table(&folder.join(format!("{level}.csv")), &names, 0..LAUNCHES.len());
    }
    sysinfo(folder, "gfx90a", "1700");
}

/// Writes `sysinfo.csv`.
pub fn sysinfo(folder: &Path, architecture: &str, clock: &str) {
    let facts = [
        ("gpu_model", "MI200"),
        ("gpu_arch", architecture),
        ("cu_per_gpu", "104"),
        ("se_per_gpu", "8"),
        ("simd_per_cu", "4"),
        ("sqc_per_gpu", "56"),
        ("wave_size", "64"),
        ("max_waves_per_cu", "32"),
        ("max_sclk", clock),
        ("max_mclk", "1600"),
        ("total_l2_chan", "32"),
        ("lds_banks_per_cu", "32"),
        ("pipes_per_gpu", "4"),
        ("num_xcd", "1"),
        ("num_hbm_channels", "32"),
    ];
    let (keys, values): (Vec<&str>, Vec<&str>) = facts.into_iter().unzip();
    std::fs::write(folder.join("sysinfo.csv"), format!("{}\n{}\n", keys.join(","), values.join(",")))
        .unwrap();
}

/// Writes a table of these launches.
pub fn table(path: &Path, counters: &[String], launches: impl Iterator<Item = usize>) {
    let mut text = format!("{IDENTITY},{},Start_Timestamp,End_Timestamp\n", counters.join(","));
    for (row, launch) in launches.enumerate() {
        let (kernel, grid, ns) = LAUNCHES[launch];
        let start = 1_000_000 + launch * 100_000;
        write!(text, "{row},\"{kernel}\",2,{grid},256,0,0,8,0,16").unwrap();
        for counter in counters {
            write!(text, ",{}", sensible(counter, launch)).unwrap();
        }
        writeln!(text, ",{start},{}", start + ns as usize).unwrap();
    }
    std::fs::write(path, text).unwrap();
}
