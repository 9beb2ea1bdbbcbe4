//! Readers of folders: the first byte of an input selects the file.

use ingest::{Progress, att as thread_traces, code as code_facts};
use trace::Needs;

use super::readers::{folder, write};

const CODE: &str = r#"{"code": [["; k.kd", 0, 0, "k", 1, 256, 0, 0, 0, 0],
    ["s_waitcnt vmcnt(0)", 0, 1, "k.cu:4", 1, 268, 2, 900, 892, 4]]}"#;
const SYSINFO: &str =
    "workload_name,gpu_model,gpu_arch,cu_per_gpu,se_per_gpu,l2_banks\nw,MI300X,gfx942,304,32,16\n";
const PASS: &str =
    "Dispatch_ID,GPU_ID,Kernel_Name,Start_Timestamp,End_Timestamp,SQ_WAVES\n0,1,gemm,10,20,4\n";

/// An empty folder with a name.
fn empty(name: &str) -> std::path::PathBuf {
    let path = folder().join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir(&path).expect("/dev/shm can be written to");
    path
}

/// Decoded thread traces.
pub fn att(bytes: &[u8]) {
    const FILES: [&str; 4] = ["code.json", "filenames.json", "se0_sm0_sl0_wv0.json", "occupancy.json"];
    let Some((&which, bytes)) = bytes.split_first() else { return };
    let path = match FILES.get(usize::from(which % 5)) {
        Some(name) => {
            let path = empty("att");
            write("att/code.json", CODE.as_bytes());
            write(&format!("att/{name}"), bytes);
            path
        }
        None => write("stats_ui_output_agent_2_dispatch_1.csv", bytes),
    };
    let _ = (thread_traces::find(&path), thread_traces::read(&path));
}

/// Workload folders of ROCm Compute Profiler.
pub fn compute(bytes: &[u8]) {
    const FILES: [&str; 4] = ["pmc_perf.csv", "pmc_perf_0.csv", "sysinfo.csv", "roofline.csv"];
    let Some((&which, bytes)) = bytes.split_first() else { return };
    let path = empty("workload");
    write("workload/sysinfo.csv", SYSINFO.as_bytes());
    write("workload/pmc_perf_1.csv", PASS.as_bytes());
    write(&format!("workload/{}", FILES[usize::from(which) % FILES.len()]), bytes);
    let _ = ingest::read(&[path], &Needs::everything(), &Progress::default());
}

/// Files of Omniprobe and Nexus.
pub fn code(bytes: &[u8]) {
    let path = write("code.json", bytes);
    let _ = (code_facts::find(&path), code_facts::read(&path));
}
