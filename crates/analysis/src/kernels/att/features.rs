//! A thread trace in a few numbers, for the bottleneck rules and for scripts.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use trace::ThreadTrace;

use super::charge::ChargedCycles;
use super::classes::class_of;
use crate::kernels::bottleneck::Figures;

/// Facts used by the rules, and the causes whose cycles they sum.
const FEATURES: [(&str, &[&str]); 5] = [
    ("att_memory_wait_pct", &["memory latency", "scalar memory latency"]),
    ("att_lds_wait_pct", &["LDS latency", "LDS unit busy"]),
    ("att_barrier_pct", &["barrier"]),
    ("att_fetch_pct", &["instruction fetch"]),
    (
        "att_stall_pct",
        &["memory unit busy", "LDS unit busy", "vector unit busy", "matrix unit busy", "other unit busy"],
    ),
];

/// Causes of time between instructions that no instruction accounts for.
const IDLE: [&str; 2] = ["dependency or arbitration", "instruction fetch"];

/// Features of thread traces for the bottleneck rules, by kernel.
pub fn thread_trace_features(traces: &[ThreadTrace]) -> Vec<(String, Figures)> {
    let mut found = Vec::new();
    for trace in traces {
        let charged = ChargedCycles::of(trace);
        let figures: Figures = FEATURES
            .into_iter()
            .filter_map(|(name, causes)| Some((name.to_string(), charged.share_pct(causes)?)))
            .collect();
        found.extend(trace.kernels.iter().map(|kernel| (kernel.clone(), figures.clone())));
    }
    found
}

/// A thread trace as result fields; fractions are of the cycles of its waves, null if none was traced.
pub fn thread_trace_result(trace: &ThreadTrace) -> Json {
    let charged = ChargedCycles::of(trace);
    let fraction = |part: f64| (charged.total > 0).then(|| part / charged.total as f64);
    let mut mix: BTreeMap<&str, i64> = BTreeMap::new();
    let (mut hits, mut stall) = (0, 0);
    let mut latencies: Vec<i64> = Vec::new();
    for (code, cycles) in trace.code.iter().zip(&charged.lines).filter(|(_, cycles)| cycles.hits > 0) {
        let class = class_of(&code.isa);
        *mix.entry(&class.name).or_default() += cycles.hits;
        (hits, stall) = (hits + cycles.hits, stall + cycles.stall);
        if class.unit == "memory" {
            latencies.extend(&cycles.latencies);
        }
    }
    let mix: BTreeMap<&str, f64> =
        mix.into_iter().map(|(class, issued)| (class, issued as f64 / hits as f64)).collect();
    let stalls: BTreeMap<&str, Option<f64>> =
        charged.causes.iter().map(|(cause, cycles)| (*cause, fraction(*cycles))).collect();
    let mean = (!latencies.is_empty()).then(|| latencies.iter().sum::<i64>() as f64 / latencies.len() as f64);
    json!({
        "dispatch": trace.dispatch,
        "waves": trace.waves.len(),
        "instruction_mix": mix,
        "stall_fraction": fraction(stall as f64),
        "idle_fraction": charged.share_pct(&IDLE).map(|percent| percent / 100.0),
        "avg_memory_latency": mean,
        "ipc": fraction(hits as f64),
        "stalls": stalls,
    })
}
