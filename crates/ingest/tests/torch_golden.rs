//! Real traces compared with the golden kernel lists: counts exact, times within a nanosecond per event.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rocm_perf_ingest::{Format, Input, Progress, torch};
use trace::{CopyKind, Needs, Trace};

/// Trace → list, as mapped in the data's README.
const LISTS: [(&str, &str); 17] = [
    ("h100_qwen1.5-0.5b", "h100__Qwen_Qwen1.5-0.5B-Chat__1016005"),
    ("hta_cp_cuda_event_sync", "hta_critical_path__cuda_event_sync__event_sync_trace"),
    ("hta_cp_simple_add", "hta_critical_path__simple_add__benchmark_result_493459_1694039959_trace"),
    ("hta_mi250_minitoy_train", "hta_amd_trace__mi250_minitoy_train_ROCm6_2_kineto"),
    ("hta_multirank_sampled/sampled_rank-0", "hta_timeline_analysis__sampled_rank-0"),
    ("hta_multirank_sampled/sampled_rank-1", "hta_trace_filter__sampled_rank-1"),
    ("hta_nccl_metadata", "hta_nccl_parser_config__nccl_data"),
    ("mi210_gpu_only", "mi210__gpu_only_trace__gpu_only_trace"),
    ("mi300_bert-small", "mi300__gaunernst_bert-small-uncased__1016001"),
    ("mi300_falconsai_vit", "mi300__Falconsai_nsfw_image_detection__1016002"),
    ("mi300_qwen1.5-0.5b", "mi300__Qwen_Qwen1.5-0.5B-Chat__1016005"),
    ("sglang_decode/sglang_Qwen3-8B_decode", "inference__sglang_decode__sglang_Qwen3-8B_decode"),
    ("sglang_decode/capture_traces/bs_32_rank0", "inference__sglang_decode__capture_traces__bs_32_rank0"),
    ("sglang_prefilldecode", "inference__sglang_prefilldecode__sglang_Qwen3-8B_prefilldecode"),
    ("torch_compile_triton", "torch_compile_triton__trace"),
    ("vllm_decode_full/graph_execution", "inference__vllm_decode_full__graph_execution"),
    (
        "vllm_decode_full/capture_traces/graph_capture_rank_0.1773709742341309550.pt.trace",
        "inference__vllm_decode_full__capture_traces__graph_capture_rank_0.1773709742341309550",
    ),
];

fn data() -> Option<PathBuf> {
    testing::data("")
}

fn read(path: &Path, needs: &Needs) -> Trace {
    let input = Input {
        format: Format::Torch,
        path: path.into(),
        files: vec![path.into()],
        bytes: path.metadata().unwrap().len(),
    };
    torch::read(&input, needs, &Progress::default()).unwrap()
}

/// (category, name) → (count, total ns).
type Totals = BTreeMap<(String, String), (u64, i64)>;

fn totals(trace: &Trace) -> Totals {
    let mut totals = Totals::new();
    let mut add = |category: &str, name: &str, ns: i64| {
        let entry = totals.entry((category.to_string(), name.to_string())).or_default();
        entry.0 += 1;
        entry.1 += ns;
    };
    for kernel in trace.kernels.rows() {
        add("kernel", trace.strings.get(kernel.name), kernel.end - kernel.start);
    }
    for copy in trace.memory_copies.rows() {
        let category = if copy.kind == CopyKind::Fill { "gpu_memset" } else { "gpu_memcpy" };
        add(category, trace.strings.get(copy.name), copy.end - copy.start);
    }
    totals
}

fn golden(path: &Path) -> Totals {
    let text = std::fs::read_to_string(path).unwrap();
    let mut totals = Totals::new();
    for line in text.lines().skip(1) {
        let mut fields = line.rsplitn(4, '\t');
        let category = fields.next().unwrap().to_string();
        let micros: f64 = fields.next().unwrap().parse().unwrap();
        let count: u64 = fields.next().unwrap().parse().unwrap();
        let name = fields.next().unwrap().to_string();
        let entry = totals.entry((category, name)).or_default();
        entry.0 += count;
        entry.1 += (micros * 1000.0).round() as i64;
    }
    totals
}

#[test]
fn every_real_trace_equals_its_golden_list() {
    let Some(data) = data() else { return };
    for (file, list) in LISTS {
        let ours = totals(&read(&data.join(format!("traces/{file}.json.gz")), &Needs::summary()));
        let theirs = golden(&data.join(format!("kernel_names/{list}.tsv")));
        for (key, (count, ns)) in &theirs {
            let (our_count, our_ns) = ours.get(key).copied().unwrap_or_default();
            assert_eq!(our_count, *count, "{file}: calls of {key:?}");
            assert!((our_ns - ns).unsigned_abs() <= *count, "{file}: {our_ns} vs {ns} ns of {key:?}");
        }
        let extra: Vec<_> = ours.keys().filter(|key| !theirs.contains_key(key)).collect();
        assert!(extra.is_empty(), "{file}: not in the list: {extra:?}");
    }
}
