//! What op, frames and module say about kernels whose names say nothing.

use ingest::Progress;
use rocm_perf_model::Run;
use rocm_perf_model::attribution;
use rocm_perf_model::classify::{Category, Classifier};
use serde_json::{Value, json};
use trace::RowRef;

/// A kernel and the frames, module and op around its launch.
struct Launch<'a> {
    kernel: &'a str,
    frames: &'a [&'a str],
    op: &'a str,
}

/// A torch trace with these launches one after another.
fn events(launches: &[Launch]) -> Vec<Value> {
    let mut events = Vec::new();
    let mut id = 0;
    for (number, launch) in launches.iter().enumerate() {
        let start = 1000.0 * number as f64;
        let mut parent = Value::Null;
        for (depth, frame) in launch.frames.iter().enumerate() {
            id += 1;
            let (ts, dur) = (start + depth as f64, 500.0 - 2.0 * depth as f64);
            let args = json!({ "Python id": id, "Python parent id": parent });
            events.push(json!({ "ph": "X", "cat": "python_function", "name": frame, "pid": 1, "tid": 1,
                "ts": ts, "dur": dur, "args": args }));
            parent = json!(id);
        }
        let external = number as i64 + 1;
        if !launch.op.is_empty() {
            events.push(json!({ "ph": "X", "cat": "cpu_op", "name": launch.op, "pid": 1, "tid": 1,
                "ts": start + 100.0, "dur": 50.0, "args": { "External id": external } }));
        }
        events.push(
            json!({ "ph": "X", "cat": "cuda_runtime", "name": "hipModuleLaunchKernel", "pid": 1, "tid": 1,
            "ts": start + 110.0, "dur": 5.0,
            "args": { "correlation": external, "External id": external, "kernel": launch.kernel } }),
        );
        events.push(json!({ "ph": "X", "cat": "kernel", "name": launch.kernel, "pid": 0, "tid": 0,
            "ts": start + 200.0, "dur": 10.0, "args": { "device": 0, "stream": 0, "correlation": external,
            "External id": external, "kind": "Dispatch Kernel", "grid": [1, 1, 1], "block": [64, 1, 1] } }));
    }
    events
}

fn classes(launches: &[Launch]) -> Vec<(Category, String, &'static str)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let text = json!({ "roctracer_version": 4.1, "traceEvents": events(launches) }).to_string();
    std::fs::write(&path, text).unwrap();
    let trace = ingest::read(&[path], &attribution::needs(), &Progress::default()).unwrap();
    let run = Run::new(&trace, None, &Classifier::builtin(), 0.0).unwrap();
    let class = |row| run.class(RowRef::kernel(row)).unwrap();
    let shown = |row| (class(row).category, class(row).backend.to_string(), class(row).by.name());
    (0..trace.kernels.len()).map(shown).collect()
}

const TILELANG: &str = "/usr/lib/python3.10/site-packages/tilelang/jit/kernel.py(120): __call__";

#[test]
fn tilelang_main_kernel_was_other_though_its_frames_tell_what_it_is() {
    let quant = [
        "/sgl/python/sglang/srt/models/deepseek_v2.py(900): forward",
        "/sgl/python/sglang/srt/layers/attention/nsa/tilelang_kernel.py(140): act_quant",
        TILELANG,
    ];
    let sparse = [
        "/sgl/python/sglang/srt/models/deepseek_v2.py(950): forward",
        "/sgl/python/sglang/srt/layers/attention/nsa/tilelang_kernel.py(820): tilelang_sparse_fwd",
        TILELANG,
    ];
    let found = classes(&[
        Launch { kernel: "main_kernel", frames: &quant, op: "" },
        Launch { kernel: "main_kernel", frames: &sparse, op: "" },
        Launch { kernel: "main_kernel", frames: &[], op: "aten::mm" },
        Launch { kernel: "main_kernel", frames: &["nn.Module: RMSNorm_3"], op: "" },
        Launch { kernel: "main_kernel", frames: &[], op: "" },
    ]);
    let tilelang = "tilelang".to_string();
    assert_eq!(found[0], (Category::Quantization, tilelang.clone(), "frame"));
    assert_eq!(found[1], (Category::Attention, tilelang, "frame"));
    assert_eq!((found[2].0, found[2].2), (Category::Gemm, "op"));
    assert_eq!((found[3].0, found[3].2), (Category::Norm, "module"));
    assert_eq!((found[4].0, found[4].2), (Category::Other, "none"));
}

#[test]
fn paged_attention_called_from_aiter_was_said_to_be_vllms() {
    let kernel = "void paged_attention_ll4mi_reduce_kernel<__hip_bfloat16, __hip_bfloat16, 128>(int)";
    let aiter = [
        "/x/vllm/v1/attention/backends/rocm_aiter_fa.py(700): forward",
        "/x/aiter/ops/attention.py(80): pa_fwd",
    ];
    let vllm = ["/x/vllm/_custom_ops.py(100): paged_attention_rocm"];
    let found = classes(&[
        Launch { kernel, frames: &aiter, op: "aiter::pa_fwd" },
        Launch { kernel, frames: &vllm, op: "_rocm_C::paged_attention" },
        Launch { kernel: "attn_fwd", frames: &aiter, op: "" },
    ]);
    assert_eq!(found[0], (Category::Attention, "aiter".into(), "name"));
    assert_eq!(found[1], (Category::Attention, "vllm".into(), "name"));
    assert_eq!(found[2].1, "aotriton", "a name that only one library has is not overruled");
}
