//! Facts about this machine: its GPUs, ROCm and kernel.

use std::path::Path;

use serde_json::{Value, json};

use crate::gpus;

/// The architecture of the first GPU.
pub(super) fn arch(root: &Path) -> Option<String> {
    gpus::detect(root).gpus.first().map(|gpu| gpu.arch.clone())
}

/// Facts about the host.
pub(super) fn host(root: &Path) -> Value {
    let read = |path: &str| {
        let text = std::fs::read_to_string(root.join(path)).ok()?;
        Some(text.trim().to_string()).filter(|text| !text.is_empty())
    };
    let cpu = read("proc/cpuinfo").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        line.split_once(':').map(|(_, name)| name.trim().to_string())
    });
    json!({
        "name": read("proc/sys/kernel/hostname"),
        "kernel": read("proc/sys/kernel/osrelease"),
        "cpu": cpu,
        "cpus": std::thread::available_parallelism().ok().map(usize::from),
        "container": crate::environment::in_container(root),
        "boot_id": read("proc/sys/kernel/random/boot_id"),
    })
}

/// Facts about the GPUs, including clocks and partitions.
pub(super) fn gpus(root: &Path) -> Value {
    serde_json::to_value(gpus::detect(root).gpus).unwrap_or_default()
}

/// Numbers of the GPUs that the application may use, as the runtime counts them.
pub(super) fn device_ids(gpus: &Value) -> Value {
    for name in ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"] {
        let Ok(text) = std::env::var(name) else { continue };
        let ids: Option<Vec<u64>> = text.split(',').map(|id| id.trim().parse().ok()).collect();
        return ids.map_or_else(|| json!(text), |ids| json!(ids));
    }
    match gpus.as_array().map(Vec::len) {
        Some(0) | None => Value::Null,
        Some(count) => (0..count).collect(),
    }
}
