//! The trace of a few forward steps, as Kineto writes it on ROCm.

use serde_json::{Value, json};

use crate::config::{Config, Framework};
use crate::profiler::Step;

/// Kernels of a step, with the op that launches each.
const KERNELS: [(&str, &str, f64); 4] = [
    (
        "aten::mm",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_ISA942_WG64_4_1",
        40.0,
    ),
    ("aiter::add_rmsnorm", "_ZN5aiter24add_rmsnorm_quant_kernelI14__hip_bfloat16S1_Lb1EEEvPT0_PKT_", 4.0),
    ("aiter::unified_attention", "kernel_unified_attention_2d", 12.0),
    ("aten::silu", "void at::native::vectorized_elementwise_kernel<4, at::native::silu_kernel>(int)", 3.0),
];

/// A rank's trace.
pub(crate) fn of_rank(config: &Config, rank: u32, steps: &[Step]) -> Value {
    let mut events = Vec::new();
    let host = 1000 + rank;
    let mut now = 100.0;
    let mut id = 0;
    for step in steps {
        let began = now;
        for (op, kernel, length) in KERNELS {
            id += 1;
            let length = match step {
                Step::Prefill(tokens) => length * (1.0 + *tokens as f64 / 256.0),
                Step::Decode => length,
            };
            let launch = json!({"External id": id, "correlation": id, "cid": 211, "kernel": kernel});
            let gpu = json!({"device": rank, "stream": 0, "correlation": id, "External id": id, "kind": "Dispatch Kernel",
                "grid": [256, 1, 1], "block": [256, 1, 1]});
            let slice = |cat: &str, name: &str, pid: u32, tid: u32, ts: f64, dur: f64, args: Value| json!({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args});
            events.push(slice("cpu_op", op, host, host, now, 6.0, json!({"External id": id})));
            events.push(slice("cuda_runtime", "hipLaunchKernel", host, host, now + 1.0, 3.0, launch));
            events.push(slice("kernel", kernel, rank, 0, now + 20.0, length, gpu));
            now += length.max(8.0) + 1.0;
        }
        events.push(
            json!({"ph": "X", "cat": "user_annotation", "name": annotation(config, *step), "pid": host,
            "tid": host, "ts": began - 1.0, "dur": now - began, "args": {"External id": 0}}),
        );
    }
    json!({
        "schemaVersion": 1,
        "deviceProperties": [{"id": rank, "name": "AMD Instinct MI300X", "computeMajor": 9, "computeMinor": 4,
            "warpSize": 64, "numSms": 304}],
        "roctracer_version": 4.1,
        "hip_runtime_version": 70253211,
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": config.tp_size},
        "traceEvents": events,
        "traceName": "stand-in",
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": 1763000000000000000i64,
    })
}

/// The frontend's trace: host events only.
pub(crate) fn of_frontend() -> Value {
    json!({"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "tokenize", "pid": 1, "tid": 1, "ts": 1, "dur": 5, "args": {}}
    ]})
}

fn annotation(config: &Config, step: Step) -> String {
    match (config.framework, step) {
        (Framework::Sglang, Step::Prefill(tokens)) => format!("step[EXTEND bs=1 toks={tokens}]"),
        (Framework::Sglang, Step::Decode) => "step[DECODE bs=1]".into(),
        (Framework::Vllm, Step::Prefill(tokens)) => format!("execute_context_1({tokens})_generation_0(0)"),
        (Framework::Vllm, Step::Decode) => "execute_context_0(0)_generation_1(1)".into(),
    }
}
