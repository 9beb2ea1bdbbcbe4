//! Fusions in real traces are plausible: no main work among the gains, and nothing that is fused already.

use crate::fuse_maker;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fuse_maker::{ids, number, text};
use ingest::Progress;
use model::Run;
use model::attribution;
use model::classify::{Category, Classifier};
use rocm_perf_analysis::{Fuse, fuse};
use trace::Trace;

fn shared(path: &str) -> Option<PathBuf> {
    testing::data(Path::new("traces").join(path))
}

fn read(path: &str) -> Option<Trace> {
    let path = shared(path)?;
    Some(ingest::read(&[path], &attribution::needs(), &Progress::default()).unwrap())
}

/// The only capture trace of a folder.
fn capture(folder: &str) -> Option<Trace> {
    let files = std::fs::read_dir(shared(folder)?).unwrap();
    let mut paths =
        files.filter_map(|file| Some(file.ok()?.path())).filter(|path| path.extension().is_some());
    let path = paths.find(|path| path.to_string_lossy().ends_with(".json.gz"))?;
    Some(ingest::read(&[path], &attribution::needs(), &Progress::default()).unwrap())
}

/// Whether a kernel does main work.
fn is_main(category: Category) -> bool {
    use Category::{Attention, Communication, Conv, Gemm, Moe};
    matches!(category, Attention | Communication | Conv | Gemm | Moe)
}

/// Checks properties of every trace, and returns the ids of its rows with their number of instances.
fn check(path: &str, mapping: Option<&Trace>) -> Option<(Fuse, BTreeMap<String, usize>)> {
    let trace = read(path)?;
    let context = Run::new(&trace, mapping, &Classifier::builtin(), 1.0).unwrap();
    let found = fuse(&context);
    // Related time is the time of the kernels other than main work, added up again.
    let mut related: BTreeMap<&str, i64> = BTreeMap::new();
    for instance in found.instances() {
        let small = instance.rows.iter().filter(|row| !is_main(context.category(**row)));
        let time: i64 = small.map(|&row| context.duration(row)).sum();
        assert_eq!(time, instance.related_ns, "{path}: {instance:?}");
        *related.entry(&instance.pattern).or_default() += time;
    }
    let mut whole: BTreeMap<&str, i64> = BTreeMap::new();
    let mut small: BTreeMap<&str, i64> = BTreeMap::new();
    for &row in &context.rows {
        let stage = context.stage(row).name();
        *whole.entry(stage).or_default() += context.duration(row);
        if !is_main(context.category(row)) {
            *small.entry(stage).or_default() += context.duration(row);
        }
    }
    let mut by_stage: BTreeMap<String, i64> = BTreeMap::new();
    for row in 0..found.table().rows.len() {
        let stage = text(&found.table().rows[row][0]);
        let share = number(&found, row, "time_share_pct");
        let time = number(&found, row, "related_ns") as i64;
        assert!((share - 100.0 * time as f64 / whole[stage.as_str()] as f64).abs() < 1e-9);
        assert!((1.0..30.0).contains(&share), "{path}: {share} % of {stage}");
        *by_stage.entry(stage).or_default() += time;
    }
    for (stage, time) in &by_stage {
        assert!(*time <= small[stage.as_str()], "{path}: {time} of {stage}");
    }
    let counts = ids(&found).into_iter().enumerate().map(|(row, id)| {
        let instances = number(&found, row, "instances") as usize;
        (id, instances)
    });
    let counts = counts.collect();
    Some((found, counts))
}

fn counts(expected: &[(&str, usize)]) -> BTreeMap<String, usize> {
    expected.iter().map(|&(id, count)| (id.to_string(), count)).collect()
}

#[test]
fn sglang_norms_rotates_and_stores_apart_in_every_layer() {
    let capture = capture("sglang_decode/capture_traces");
    for mapping in [None, capture.as_ref()] {
        let path = "sglang_decode/sglang_Qwen3-8B_decode.json.gz";
        let Some((found, rows)) = check(path, mapping) else { continue };
        // Residual add and RMSNorm are already one AITER kernel, 72 times, and not suggested. The kernel that
        // also writes the cache is for models that read images, which Qwen3-8B does not.
        assert_eq!(rows, counts(&[("qk_norm_rope", 36)]));
        assert!(
            found.notes.join("\n").contains("residual add + RMSNorm (decode, 72 calls)"),
            "{:?}",
            found.notes
        );
        assert_eq!(number(&found, 0, "launches_removed"), 36.0 * 4.0);
        let (place, confidence) = if mapping.is_some() {
            ("python/sglang/srt/models/utils.py(394): _reshape_for_qk_norm", "likely")
        } else {
            ("python/sglang/srt/model_executor/model_runner.py(3194): _forward_raw", "candidate")
        };
        let cell = |key: &str| text(&found.table().rows[0][found.table().column(key).unwrap()]);
        assert_eq!((cell("current_location").as_str(), cell("confidence").as_str()), (place, confidence));
    }
    if let Some((_, rows)) = check("sglang_prefilldecode.json.gz", None) {
        assert_eq!(rows, counts(&[("qk_norm_rope", 36)]));
    }
}

#[test]
fn vllm_pads_and_stores_apart_in_every_layer() {
    let Some(mapping) = capture("vllm_decode_full/capture_traces") else { return };
    let Some((found, rows)) = check("vllm_decode_full/graph_execution.json.gz", Some(&mapping)) else {
        return;
    };
    assert_eq!(rows, counts(&[("norm_pad", 24), ("rope_kv_cache", 24)]));
    let confidence = found.table().column("confidence").unwrap();
    assert!(found.table().rows.iter().all(|row| text(&row[confidence]) == "confirmed"));
}

#[test]
fn models_without_a_serving_framework_run_torchs_own_kernels() {
    if let Some((_, rows)) = check("mi300_qwen1.5-0.5b.json.gz", None) {
        // 24 layers with two norms each, plus the last norm.
        assert_eq!(rows["torch_rms_norm"], 49);
        assert!(rows.contains_key("torch_rope") && rows.contains_key("act_mul"), "{rows:?}");
    }
    if let Some((_, rows)) = check("mi300_falconsai_vit.json.gz", None) {
        // 12 layers with two adds before a norm each, plus the embedding's; gelu after each first product.
        assert_eq!(rows, counts(&[("add_layer_norm", 25), ("gemm_activation", 12)]));
    }
    if let Some((_, rows)) = check("mi300_bert-small.json.gz", None) {
        assert_eq!(rows["add_layer_norm"], 9);
    }
}

#[test]
fn what_inductor_fused_is_not_suggested_again() {
    let Some((found, rows)) = check("torch_compile_triton.json.gz", None) else { return };
    assert_eq!(rows, counts(&[]));
    assert!(found.notes.join("\n").contains("fused already"), "{:?}", found.notes);
}

/// The fusions of a run with a known cause.
fn pathology(name: &str) -> Option<Fuse> {
    let path = testing::data(format!("pathologies/{name}.json.gz"))?;
    let trace = ingest::read(&[path], &attribution::needs(), &Progress::default()).unwrap();
    let context = Run::new(&trace, None, &Classifier::builtin(), 1.0).unwrap();
    Some(fuse(&context))
}

#[test]
fn eager_attention_was_missed() {
    let Some(found) = pathology("eager_attention") else { return };
    assert_eq!(ids(&found), ["eager_attention"]);
    // Cast, scale, softmax and cast of the scores take about 2.2 ms of each 2.5 ms.
    assert!(number(&found, 0, "gain_gpu_ns") > number(&found, 0, "gain_host_ns"));
}

#[test]
fn unfused_swiglu_is_found_and_clean_runs_have_no_fusion() {
    if let Some(found) = pathology("unfused_swiglu") {
        assert!(ids(&found).contains(&"act_mul".to_string()), "{:?}", ids(&found));
    }
    // Products each followed by a ReLU of the same size, which an epilogue could absorb: a true finding.
    for name in ["clean_gpu_bound", "overlapped_copies"] {
        if let Some(found) = pathology(name) {
            assert_eq!(ids(&found), ["gemm_activation"], "{name}");
        }
    }
    for name in ["clean_large_products", "parallel_streams_long"] {
        if let Some(found) = pathology(name) {
            assert_eq!(ids(&found), [""; 0], "{name}");
        }
    }
}
