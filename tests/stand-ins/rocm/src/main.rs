//! All stand-ins in one program; the name that it is called by selects one.

use std::path::Path;
use std::process::ExitCode;

use rocm_perf_stand_in_rocm::{PROGRAMS, amd_smi, avail, hipcc, rocprof, rocprofv3};

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
    let mut name = Path::new(&words.remove(0)).file_name().unwrap_or_default().to_string_lossy().into_owned();
    if name == "stand-in-rocm" && !words.is_empty() {
        name = words.remove(0);
    }
    match name.as_str() {
        "hipcc" => hipcc::main(&words),
        "rocprofv3" => rocprofv3::main(&words),
        "rocprofv3-avail" => avail::main(&words),
        "rocprof" => rocprof::main(&words),
        "amd-smi" => amd_smi::main(&words),
        _ => {
            eprintln!("usage: stand-in-rocm {{{}}} ...", PROGRAMS.join(","));
            ExitCode::from(2)
        }
    }
}
