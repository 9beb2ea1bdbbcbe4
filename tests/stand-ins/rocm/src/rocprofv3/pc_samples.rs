//! PC samples: only in CSV, one per sampling interval of a dispatch.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::naming;
use super::options::{Stop, Values};
use crate::counters::hash;
use crate::log::Recording;
use crate::machine::part_of;
use crate::settings;

/// Whether the requested sampling is possible; only checked if the feature is enabled.
pub(super) fn check(values: &Values) -> Result<(), Stop> {
    let asked: Vec<&str> = ["pc_sampling_method", "pc_sampling_unit", "pc_sampling_interval"]
        .into_iter()
        .filter(|key| values.contains_key(*key))
        .collect();
    let gate = values.get("pc_sampling_beta_enabled") == Some(&Value::Bool(true))
        || settings::value("ROCPROFILER_PC_SAMPLING_BETA_ENABLED").is_some();
    if asked.is_empty() && !gate {
        return Ok(());
    }
    if !gate {
        return Err(Stop::fatal(
            "PC sampling unavailable. The feature is implicitly disabled. To enable it, use --pc-sampling-beta-enabled option",
        ));
    }
    if asked.len() < 3 {
        return Err(Stop::fatal("All three PC sampling configurations need to be set"));
    }
    Ok(())
}

/// Why no GPU supports the configuration, as the library finds out inside the application.
pub(super) fn unsupported(values: &Values) -> Option<&'static str> {
    let text = |key: &str| values.get(key).and_then(Value::as_str).unwrap_or("");
    let interval = values.get("pc_sampling_interval").and_then(Value::as_u64)?;
    let arch = settings::arch();
    let new = arch.starts_with("gfx94") || arch.starts_with("gfx95");
    let fits = match text("pc_sampling_method") {
        "stochastic" => {
            new && text("pc_sampling_unit") == "cycles" && interval.is_power_of_two() && interval >= 256
        }
        "host_trap" => (new || arch == "gfx90a") && text("pc_sampling_unit") == "time" && interval > 0,
        _ => return None,
    };
    let message = "Given PC sampling configuration is not supported on any of the agents";
    (!fits || settings::fault("pc_sampling")).then_some(message)
}

const INSTRUCTIONS: [(&str, &str); 6] = [
    ("global_load_dword v4, v[2:3], off", "VMEM"),
    ("s_waitcnt vmcnt(0)", "OTHER"),
    ("v_fma_f32 v5, v4, v6, v5", "VALU"),
    ("ds_read_b32 v7, v8", "LDS"),
    ("v_add_f32_e32 v5, v5, v7", "VALU"),
    ("global_store_dword v[2:3], v5, off", "VMEM"),
];

/// Writes the file of the requested method, if any; returns its path.
pub(super) fn write(prefix: &Path, recording: &Recording, values: &Values) -> io::Result<Option<PathBuf>> {
    let (Some(method), Some(interval)) = (
        values.get("pc_sampling_method").and_then(Value::as_str),
        values.get("pc_sampling_interval").and_then(Value::as_u64),
    ) else {
        return Ok(None);
    };
    let clock = f64::from(part_of(&settings::arch()).clock_mhz);
    let stochastic = method == "stochastic";
    let step = if stochastic { interval as f64 * 1000.0 / clock } else { interval as f64 * 1000.0 };
    let mut columns = vec![
        "Sample_Timestamp",
        "Exec_Mask",
        "Dispatch_Id",
        "Instruction",
        "Instruction_Comment",
        "Correlation_Id",
    ];
    if stochastic {
        columns.extend(["Wave_Issued_Instruction", "Instruction_Type", "Stall_Reason", "Wave_Count"]);
    }
    let header: Vec<String> = columns.iter().map(|column| format!("\"{column}\"")).collect();
    let mut out = header.join(",") + "\n";
    for kernel in &recording.kernels {
        let duration = (kernel.when.end - kernel.when.start) as f64;
        let count = (duration / step).ceil().clamp(1.0, 1000.0) as i64;
        for n in 0..count {
            let pick = hash(&(&kernel.symbol, n));
            let (instruction, kind) = INSTRUCTIONS[pick as usize % INSTRUCTIONS.len()];
            let time = kernel.when.start + ((n as f64 + 0.5) * step).min(duration) as i64;
            let line = 10 + pick % INSTRUCTIONS.len() as u64;
            out.push_str(&format!(
                "{time},{},{},\"{instruction}\",\"kernel.cu:{line}\",{}",
                u64::MAX,
                kernel.dispatch,
                kernel.when.correlation
            ));
            if stochastic {
                let issued = pick % 3 == 0;
                let stall = if issued { "NONE" } else { "WAITCNT" };
                out.push_str(&format!(",{},\"{kind}\",\"{stall}\",{}", u8::from(issued), 1 + pick % 8));
            }
            out.push('\n');
        }
    }
    let path = naming::file(prefix, &format!("pc_sampling_{method}.csv"));
    std::fs::write(&path, out)?;
    Ok(Some(path))
}
