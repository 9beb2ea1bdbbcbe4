//! The fields of `profile` that scripts look for, under the names they expect.

use hw::Level;
use model::names::is_of_runtime;
use serde_json::{Value as Json, json};
use trace::{ThreadTrace, Trace};

use super::same_kernel;
use crate::causes::critical_path::CriticalPath;
use crate::kernels::att::thread_trace_result;
use crate::kernels::bottleneck::KernelFigures;
use crate::kernels::occupancy::{KernelOccupancy, KernelUse, NOT_RECORDED, Occupancies};
use crate::kernels::roofline::Roofline;
use crate::timeline::stability::{RunTimes, Stability};

/// The inputs of a result.
pub(super) struct Parts<'a> {
    pub runs: &'a [RunTimes],
    pub timing: &'a Trace,
    pub stability: Option<&'a Stability>,
    pub kernels: &'a [KernelFigures],
    pub occupancies: &'a Occupancies,
    pub path: Option<&'a CriticalPath>,
    pub roofline: Option<&'a Roofline>,
    pub thread_traces: &'a [ThreadTrace],
}

fn ms(ns: f64) -> f64 {
    ns / 1e6
}

pub(super) fn result(parts: &Parts) -> Json {
    let own = parts.kernels.iter().find(|kernel| !is_of_runtime(&kernel.name));
    let dominant = own.map_or("", |kernel| kernel.name.as_str());
    let median = |metric: fn(&RunTimes) -> i64| {
        let values: Vec<f64> = parts.runs.iter().map(|run| metric(run) as f64).collect();
        Stability::of(&values).map(|found| ms(found.median))
    };
    json!({
        "schema_version": "1.0",
        "kernel": kernel(parts.timing, dominant),
        "gpu": gpu(parts.timing),
        "runtime_ms": parts.stability.map(|found| ms(found.median)),
        "busy_ms": median(|run| run.busy_ns),
        "span_ms": median(|run| run.span_ns),
        "stability": parts.stability.map(stability),
        "resources": parts.occupancies.of_kernel(dominant).map(|kernel| resources(&kernel.used)),
        "occupancy": parts.occupancies.of_kernel(dominant).map(|kernel| json!({
            "theoretical": kernel.occupancy_pct().map(|percent| percent / 100.0),
            "achieved": achieved_pct(kernel).map(|percent| percent / 100.0),
            "threads_per_block": kernel.used.workgroup,
            "wave_size": kernel.wave_size(),
            "limited_by": kernel.limited_by(),
        })),
        "roofline": parts.roofline.and_then(|roofline| roofline.of_kernel(dominant)).map(|kernel| json!({
            "flops": kernel.work.total_flops().ok(),
            "bytes": kernel.work.level(Level::Hbm).ok(),
            "arithmetic_intensity": kernel.work.intensity(Level::Hbm),
            "achieved_gflops": kernel.gflops(),
            "achieved_bandwidth_gbps": kernel.gbps(),
            "bound": kernel.bound(),
        })),
        "att": thread_trace(parts.thread_traces, dominant),
        "critical_path_ns": parts.path.map(CriticalPath::length_ns),
        "critical_path": parts.path.map(|path| critical(parts.timing, path)),
        "bottleneck": own.map(|kernel| {
            let verdict = kernel.judge();
            let first = verdict.labels.first();
            json!({
                "primary": verdict.label(),
                "confidence": first.map(|label| label.score),
                "reasoning": first.map_or_else(Vec::new, |label| label.evidence.iter().map(|item| item.text()).collect()),
                "secondary": verdict.labels.iter().skip(1).map(|label| label.label).collect::<Vec<_>>(),
                "missing_counters": verdict.counters.to_vec(),
            })
        }),
    })
}

fn achieved_pct(kernel: &KernelOccupancy) -> Option<f64> {
    kernel.used.achieved?.ok().map(|resident| resident.shown_pct())
}

/// The resources of a kernel; unknown ones are null, and `absent` says why.
fn resources(used: &KernelUse) -> Json {
    let number = |number: Option<u32>| number.map(Json::from);
    let text = |text: &str| (!text.is_empty()).then(|| Json::from(text));
    let all = [
        ("vgpr_per_thread", number(used.vgpr)),
        ("agpr_per_thread", number(used.agpr)),
        ("sgpr_per_wave", number(used.sgpr)),
        ("lds_bytes", number(used.lds_bytes)),
        ("scratch_bytes", number(used.scratch_bytes)),
        ("registers_from", text(used.registers_from)),
        ("lds_from", text(used.lds_from)),
        ("scratch_from", text(used.scratch_from)),
    ];
    let absent = all.iter().filter(|(_, value)| value.is_none());
    let absent: serde_json::Map<String, Json> =
        absent.map(|(field, _)| (field.to_string(), NOT_RECORDED.into())).collect();
    let mut fields: serde_json::Map<String, Json> =
        all.into_iter().map(|(field, value)| (field.to_string(), value.unwrap_or_default())).collect();
    if !absent.is_empty() {
        fields.insert("absent".into(), absent.into());
    }
    Json::Object(fields)
}

/// The thread trace of a kernel; if there are several, the one with the most waves.
fn thread_trace(traces: &[ThreadTrace], kernel: &str) -> Option<Json> {
    let of_kernel = |trace: &&ThreadTrace| trace.kernels.iter().any(|name| same_kernel(name, kernel));
    traces.iter().filter(of_kernel).max_by_key(|trace| trace.waves.len()).map(thread_trace_result)
}

fn critical(timing: &Trace, path: &CriticalPath) -> Json {
    let (length, dominant) = (path.length_ns(), path.dominant_kernel());
    json!({
        "critical_path_ns": length,
        "dominant_symbol": dominant.map(|kernel| timing.strings.get(kernel.name)),
        "fraction": dominant.map(|kernel| kernel.on_path_ns as f64 / length.max(1) as f64),
    })
}

fn stability(found: &Stability) -> Json {
    json!({
        "runs": found.runs,
        "warm_up": found.warm_up,
        "mean_ms": ms(found.mean),
        "median_ms": ms(found.median),
        "stddev_ms": found.stddev.map(ms),
        "cv": found.cv,
        "classification": found.label,
        "outliers": found.outliers.iter().map(|run| run + 1).collect::<Vec<_>>(),
        "drift_pct": found.drift.map(|drift| drift.change_pct),
        "bimodal": found.modes.is_some(),
    })
}

fn kernel(trace: &Trace, name: &str) -> Json {
    let kernels = &trace.kernels;
    let id = trace.strings.find(name);
    let row = (0..kernels.len())
        .filter(|&i| Some(kernels.name[i]) == id)
        .max_by_key(|&i| kernels.end[i] - kernels.start[i]);
    let shape = row.map(|row| *trace.shapes.get(kernels.shape[row]));
    json!({
        "name": name,
        "grid": shape.and_then(|shape| shape.grid),
        "block": shape.and_then(|shape| shape.workgroup),
    })
}

fn gpu(trace: &Trace) -> Json {
    let agent = trace.kernels.agent.first().and_then(|agent| agent.get()).map(|agent| &trace.agents[agent]);
    let Some(agent) = agent else { return Json::Null };
    let arch = hw::arch::find(trace.strings.get(agent.name));
    let product = trace.strings.get(agent.product);
    let cus = agent.compute_units.get();
    let peak = arch.and_then(|arch| {
        let setup = hw::peaks::Setup {
            product: Some(product),
            cus: cus.and_then(|cus| u32::try_from(cus).ok()),
            ..Default::default()
        };
        hw::peaks::peaks(arch, &setup).flops(hw::Pipe::Vector, hw::DataType::Fp32)
    });
    json!({
        "architecture": trace.strings.get(agent.name),
        "product": product,
        "wave_size": arch.map(|arch| arch.wave_size()),
        "compute_units": cus,
        "theoretical_peak_flops": peak,
    })
}

/// The fields of a program that was only timed as a process: `runtime_ms` is then wall-clock time.
pub fn process_result(seconds: &[f64]) -> Json {
    let values: Vec<f64> = seconds.iter().map(|seconds| seconds * 1e9).collect();
    let found = Stability::of(&values);
    json!({
        "schema_version": "1.0",
        "timed": "process",
        "runtime_ms": found.as_ref().map(|found| ms(found.median)),
        "stability": found.as_ref().map(stability),
        "resources": Json::Null,
        "occupancy": Json::Null,
        "roofline": Json::Null,
        "att": Json::Null,
        "critical_path_ns": Json::Null,
    })
}
