//! `panels` on a workload of many dispatches and counters.

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Bench;
use crate::measure::best_of;

const COUNTERS: usize = 500;

impl Bench {
    /// CPU seconds for 100,000 dispatches with 500 counters each, all panels and quantiles of all channels.
    pub fn panels(&mut self) -> Result<(), String> {
        let dispatches = (self.kernels / 10) as usize;
        let folder = self.data.join(format!("panels-{dispatches}"));
        if !folder.join("sysinfo.csv").exists() {
            make(&folder, dispatches).map_err(|error| error.to_string())?;
        }
        let cost = best_of(2, || self.rocm_perf(&["panels", "--format", "json"], &folder))?;
        let scale = 100_000.0 / dispatches as f64;
        let name = format!("panels, {dispatches} dispatches x {COUNTERS} counters");
        self.add(&name, cost, vec![("CPU s per 100,000", cost.cpu * scale, 5.0)]);
        let small = self.data.join("panels-3");
        if !small.join("sysinfo.csv").exists() {
            make(&small, 3).map_err(|error| error.to_string())?;
        }
        let mut parity: Vec<(String, PathBuf)> = vec![("made, 3 dispatches".into(), small)];
        let real = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/rocprof_compute");
        for workload in ["vcopy_MI200", "vcopy_MI300X_A1", "vcopy_MI300X_A1_rocpd", "vcopy_MI350"] {
            parity.push((workload.into(), real.join(workload)));
        }
        for (name, folder) in parity.into_iter().filter(|(_, folder)| folder.is_dir()) {
            let cost = best_of(5, || {
                let mut command = Command::new(&self.binary);
                command.args(["panels", "--vendor-parity", "--format", "json"]).arg(&folder);
                command
            })?;
            self.add(&format!("panels, {name}"), cost, vec![("CPU s", cost.cpu, 0.1)]);
        }
        Ok(())
    }
}

/// Counters that the panels of gfx90a need, and channels up to the number wanted.
fn counters() -> Vec<String> {
    let single = [
        "GRBM_GUI_ACTIVE",
        "GRBM_COUNT",
        "GRBM_SPI_BUSY",
        "SQ_WAVES",
        "SQ_WAVE_CYCLES",
        "SQ_BUSY_CYCLES",
        "SQ_BUSY_CU_CYCLES",
        "SQ_INSTS",
        "SQ_INSTS_VALU",
        "SQ_INSTS_SALU",
        "SQ_INSTS_SMEM",
        "SQ_INSTS_VMEM",
        "SQ_INSTS_LDS",
        "SQ_INSTS_MFMA",
        "SQ_INSTS_BRANCH",
        "SQ_INSTS_GDS",
        "SQ_INSTS_SENDMSG",
        "SQ_INSTS_VSKIPPED",
        "SQ_INSTS_FLAT_LDS_ONLY",
        "SQ_ACTIVE_INST_ANY",
        "SQ_ACTIVE_INST_VALU",
        "SQ_ACTIVE_INST_SCA",
        "SQ_ACTIVE_INST_LDS",
        "SQ_ACTIVE_INST_MISC",
        "SQ_ACTIVE_INST_FLAT",
        "SQ_ACTIVE_INST_VMEM",
        "SQ_THREAD_CYCLES_VALU",
        "SQ_WAIT_ANY",
        "SQ_WAIT_INST_ANY",
        "SQ_LDS_IDX_ACTIVE",
        "SQ_LDS_BANK_CONFLICT",
        "SQC_DCACHE_REQ",
        "SQC_DCACHE_HITS",
        "SQC_DCACHE_MISSES",
        "SQC_ICACHE_REQ",
        "SQC_ICACHE_HITS",
        "SQC_ICACHE_MISSES",
        "TCP_TOTAL_CACHE_ACCESSES_sum",
        "TCP_TOTAL_ACCESSES_sum",
        "TCP_TCC_READ_REQ_sum",
        "TCP_TCC_WRITE_REQ_sum",
        "TCP_TCC_ATOMIC_WITH_RET_REQ_sum",
        "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum",
        "TCP_GATE_EN1_sum",
        "TCP_GATE_EN2_sum",
        "TCP_PENDING_STALL_CYCLES_sum",
        "TCC_REQ_sum",
        "TCC_HIT_sum",
        "TCC_MISS_sum",
        "TCC_BUSY_sum",
        "TCC_EA_RDREQ_sum",
        "TCC_EA_RDREQ_32B_sum",
        "TCC_EA_WRREQ_sum",
        "TCC_EA_WRREQ_64B_sum",
        "TA_TOTAL_WAVEFRONTS_sum",
        "SPI_CSN_WAVE",
    ];
    let by_channel = [
        "TCC_HIT",
        "TCC_MISS",
        "TCC_REQ",
        "TCC_READ",
        "TCC_WRITE",
        "TCC_ATOMIC",
        "TCC_EA_RDREQ",
        "TCC_EA_WRREQ",
        "TCC_EA_ATOMIC",
        "TCC_EA_RDREQ_LEVEL",
        "TCC_EA_WRREQ_LEVEL",
        "TCC_EA_ATOMIC_LEVEL",
        "TCC_TOO_MANY_EA_WRREQS_STALL",
        "TCC_BUBBLE",
    ];
    let channels =
        by_channel.iter().flat_map(|name| (0..32).map(move |channel| format!("{name}[{channel}]")));
    single.iter().map(|name| name.to_string()).chain(channels).take(COUNTERS).collect()
}

fn make(folder: &Path, dispatches: usize) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let counters = counters();
    let mut file = BufWriter::new(std::fs::File::create(folder.join("pmc_perf.csv"))?);
    writeln!(
        file,
        "Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,{},Start_Timestamp,End_Timestamp",
        counters.join(",")
    )?;
    let mut state = 1u64;
    let mut line = String::new();
    for dispatch in 0..dispatches {
        line.clear();
        let kernel = dispatch % 97;
        _ = write!(line, "{dispatch},\"kernel_{kernel}(float*, int)\",0,{},256,0,0,32,0,32", 65536 + kernel);
        for _ in &counters {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            _ = write!(line, ",{}", 100_000 + (state >> 40) % 900_000);
        }
        let start = 1_000_000_000 + dispatch * 50_000;
        _ = writeln!(line, ",{start},{}", start + 10_000 + (state >> 50) as usize);
        file.write_all(line.as_bytes())?;
    }
    file.flush()?;
    std::fs::write(
        folder.join("sysinfo.csv"),
        "gpu_arch,gpu_model,cu_per_gpu,se_per_gpu,simd_per_cu,sqc_per_gpu,wave_size,max_waves_per_cu,max_sclk,max_mclk,total_l2_chan,lds_banks_per_cu,pipes_per_gpu,num_xcd,num_hbm_channels\n\
         gfx90a,MI200,104,8,4,56,64,32,1700,1600,32,32,4,1,32\n",
    )
}
