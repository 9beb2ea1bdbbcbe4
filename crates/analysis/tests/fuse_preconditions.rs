//! Preconditions beyond the kernel sequence: each of these fusions was suggested but not available.

use crate::fuse_maker;

use fuse_maker::{Maker, Sample, ids, number, samples, separator};
use rocm_perf_analysis::Fuse;

const LAYERS: usize = 6;

/// Layers of sample kernels, with main work between the layers and an annotation around everything.
fn run(framework: &str, annotation: &str, kernels: &[Sample]) -> Fuse {
    let mut made = Maker::new(framework);
    let mut at = 1_000_000;
    let mut count = 0;
    for _ in 0..LAYERS {
        for sample in std::iter::once(&separator()).chain(kernels) {
            made.kernel(sample, 0, at, at + 900);
            at += 1000;
            count += 1;
        }
    }
    if !annotation.is_empty() {
        made.annotation(annotation, -10, 100 * count);
    }
    made.fuse().1
}

fn named(names: &[&str]) -> Vec<Sample> {
    names.iter().map(|name| samples()[*name].clone()).collect()
}

fn in_module(module: &str, kernels: Vec<Sample>) -> Vec<Sample> {
    kernels.into_iter().map(|sample| Sample { module: module.into(), ..sample }).collect()
}

#[test]
fn rope_with_cache_write_was_confirmed_at_8192_tokens_though_it_fires_up_to_256() {
    let kernels = named(&["rope", "cache_write"]);
    let with = |tokens: u32| {
        let annotation = format!("execute_context_1({tokens})_generation_0(0)");
        ids(&run("vllm", &annotation, &kernels))
    };
    assert_eq!(with(256), ["rope_kv_cache"]);
    assert_eq!(with(8192), [""; 0]);
}

#[test]
fn the_3d_mrope_kernel_was_suggested_for_a_text_model() {
    let kernels = |module: &str| {
        let mut kernels = named(&["rms_norm", "rms_norm", "rope", "cache_write"]);
        kernels[0].module = module.into();
        kernels
    };
    assert_eq!(ids(&run("sglang", "", &kernels("Qwen3VLVisionRMSNorm"))), ["qk_norm_rope_cache"]);
    assert_eq!(ids(&run("sglang", "", &kernels("Qwen3RMSNorm"))), ["qk_norm_rope"]);
}

#[test]
fn quick_gelu_was_taken_for_swiglu() {
    let kernels = in_module("QuickGELUActivation", named(&["mul", "sigmoid", "mul"]));
    assert!(!ids(&run("", "", &kernels)).contains(&"act_mul".to_string()));
    assert_eq!(ids(&run("", "", &named(&["silu", "mul"]))), ["act_mul"]);
}

#[test]
fn the_softmax_of_attention_was_taken_for_that_of_the_sampler() {
    let kernels = in_module("Attention", named(&["div", "softmax"]));
    assert!(!ids(&run("sglang", "step[DECODE bs=4]", &kernels)).contains(&"temperature_softmax".to_string()));
    let eager = named(&["bmm", "div", "attention_softmax", "bmm"]);
    let found = run("transformers", "", &eager);
    assert_eq!(ids(&found), ["eager_attention"]);
    assert_eq!(found.findings()[0].id, "eager-attention");
    assert!(found.findings()[0].recommendation.contains("sdpa"), "{}", found.findings()[0].recommendation);
}

#[test]
fn independent_casts_were_called_a_chain() {
    let casts = in_module("Block", named(&["copy", "copy", "copy"]));
    assert_eq!(ids(&run("", "", &casts)), [""; 0]);
}

#[test]
fn one_kernel_over_a_list_of_tensors_was_called_a_chain() {
    let loops = in_module("Optimizer", named(&["mul", "mul", "mul"]));
    assert_eq!(ids(&run("", "", &loops)), [""; 0]);
    let chain = in_module("Block", named(&["square_add", "clamp"]));
    assert_eq!(ids(&run("", "", &chain)), ["pointwise_chain"]);
}

#[test]
fn aiter_was_to_be_turned_on_where_it_is_on() {
    let kernels = named(&["add", "rms_norm"]);
    assert_eq!(ids(&run("sglang", "", &kernels)), ["add_norm"]);
    let aiter = Sample {
        kernel: "void aiter::act_and_mul_kernel<__hip_bfloat16, float, 16>(__hip_bfloat16*)".into(),
        op: "aiter::silu_and_mul".into(),
        module: "SiluAndMul".into(),
    };
    let kernels = [named(&["add", "rms_norm"]), vec![separator(), aiter]].concat();
    let found = run("sglang", "", &kernels);
    let switches = found.findings().iter().any(|finding| finding.recommendation.contains("SGLANG_USE_AITER"));
    assert!(!switches, "{:?}", found.findings());
}

#[test]
fn gains_are_split_into_kernel_time_and_launch_time() {
    let found = run("", "", &named(&["silu", "mul"]));
    // Two kernels of 900 ns each with a gap of 100 ns between them; the faster one's work remains.
    let layers = LAYERS as f64;
    assert_eq!(number(&found, 0, "gain_gpu_ns"), 900.0 * layers);
    assert_eq!(number(&found, 0, "gain_host_ns"), 100.0 * layers);
    assert_eq!(number(&found, 0, "gain_ceiling_ns"), 1000.0 * layers);
    assert!(!found.findings()[0].title.contains("launch time"));
    let mut made = Maker::new("");
    for layer in 0..LAYERS as i64 {
        for (i, sample) in named(&["silu", "mul"]).iter().chain([&separator()]).enumerate() {
            let at = 1_000_000 + 30_000 * layer + 10_000 * i as i64;
            made.kernel(sample, 0, at, at + 900);
        }
    }
    let (_, found) = made.fuse();
    assert!(
        found.findings()[0].title.ends_with("most of the gain is launch time"),
        "{}",
        found.findings()[0].title
    );
}
