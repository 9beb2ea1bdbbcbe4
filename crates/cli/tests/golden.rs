//! `summary` on real traces equals independent lists: counts exactly, times to a nanosecond per event.

use crate::common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{json, shared_data};

/// (trace below `traces/`, list below `kernel_names/`), as `traces/README.md` pairs them.
const LISTS: &[(&str, &str)] = &[
    ("h100_qwen1.5-0.5b.json.gz", "h100__Qwen_Qwen1.5-0.5B-Chat__1016005.tsv"),
    ("hta_cp_cuda_event_sync.json.gz", "hta_critical_path__cuda_event_sync__event_sync_trace.tsv"),
    (
        "hta_cp_simple_add.json.gz",
        "hta_critical_path__simple_add__benchmark_result_493459_1694039959_trace.tsv",
    ),
    ("hta_mi250_minitoy_train.json.gz", "hta_amd_trace__mi250_minitoy_train_ROCm6_2_kineto.tsv"),
    ("hta_multirank_sampled/sampled_rank-0.json.gz", "hta_timeline_analysis__sampled_rank-0.tsv"),
    ("hta_multirank_sampled/sampled_rank-1.json.gz", "hta_trace_filter__sampled_rank-1.tsv"),
    ("hta_nccl_metadata.json.gz", "hta_nccl_parser_config__nccl_data.tsv"),
    ("mi210_gpu_only.json.gz", "mi210__gpu_only_trace__gpu_only_trace.tsv"),
    ("mi300_bert-small.json.gz", "mi300__gaunernst_bert-small-uncased__1016001.tsv"),
    ("mi300_falconsai_vit.json.gz", "mi300__Falconsai_nsfw_image_detection__1016002.tsv"),
    ("mi300_qwen1.5-0.5b.json.gz", "mi300__Qwen_Qwen1.5-0.5B-Chat__1016005.tsv"),
    ("sglang_decode/sglang_Qwen3-8B_decode.json.gz", "inference__sglang_decode__sglang_Qwen3-8B_decode.tsv"),
    (
        "sglang_decode/capture_traces/bs_32_rank0.json.gz",
        "inference__sglang_decode__capture_traces__bs_32_rank0.tsv",
    ),
    ("sglang_prefilldecode.json.gz", "inference__sglang_prefilldecode__sglang_Qwen3-8B_prefilldecode.tsv"),
    ("torch_compile_triton.json.gz", "torch_compile_triton__trace.tsv"),
    ("vllm_decode_full/graph_execution.json.gz", "inference__vllm_decode_full__graph_execution.tsv"),
    (
        "vllm_decode_full/capture_traces/graph_capture_rank_0.1773709742341309550.pt.trace.json.gz",
        "inference__vllm_decode_full__capture_traces__graph_capture_rank_0.1773709742341309550.tsv",
    ),
];

/// Name → (calls, total in ns).
type Totals = BTreeMap<String, (i64, i64)>;

/// The list's rows: kernels, and copies with fills.
fn listed(path: &Path) -> (Totals, Totals) {
    let text = std::fs::read_to_string(path).expect("a golden list");
    let (mut kernels, mut copies) = (Totals::new(), Totals::new());
    for line in text.lines().skip(1) {
        let [name, count, total_us, category] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("four columns in {}", path.display())
        };
        let table = if category == "kernel" { &mut kernels } else { &mut copies };
        let total_ns = (total_us.parse::<f64>().expect("a time") * 1000.0).round() as i64;
        let row = table.entry(name.trim().to_string()).or_default();
        *row = (row.0 + count.parse::<i64>().expect("a count"), row.1 + total_ns);
    }
    (kernels, copies)
}

/// A table of the report, with names as in the lists.
fn reported(report: &serde_json::Value, table: &str) -> Totals {
    let mut totals = Totals::new();
    for row in report["tables"][table].as_array().into_iter().flatten() {
        let name = row["name"].as_str().expect("a name").replace(['\t', '\n'], " ");
        let entry = totals.entry(name.trim().to_string()).or_default();
        entry.0 += row["calls"].as_i64().expect("calls");
        entry.1 += row["total_ns"].as_i64().expect("a total");
    }
    totals
}

fn assert_equal(found: &Totals, expected: &Totals, what: &str) {
    let names = |totals: &Totals| totals.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(expected), "{what}: names");
    for (name, (calls, total)) in expected {
        assert_eq!(found[name].0, *calls, "{what}: calls of {name}");
        assert!(
            (found[name].1 - total).abs() <= *calls,
            "{what}: {name} takes {} ns, not {total}",
            found[name].1
        );
    }
}

#[test]
fn every_real_trace_equals_its_golden_list() {
    let Some(data) = shared_data() else { return };
    for (trace, list) in LISTS {
        let report = json("summary", &[&data.join("traces").join(trace)], &[]);
        let (kernels, copies) = listed(&data.join("kernel_names").join(list));
        assert_equal(&reported(&report, "kernels"), &kernels, &format!("{trace} kernels"));
        assert_equal(&reported(&report, "memory_copies"), &copies, &format!("{trace} copies"));
    }
}

/// An independent CSV reader: names in these files are quoted and contain commas.
fn csv_rows(text: &str) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let (mut quoted, mut chars) = (false, text.chars().peekable());
    while let Some(c) = chars.next() {
        let row = rows.last_mut().expect("a row");
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                row.last_mut().expect("a cell").push(chars.next().unwrap_or('"'))
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(String::new()),
            '\n' if !quoted => rows.push(vec![String::new()]),
            '\r' if !quoted => {}
            c => row.last_mut().expect("a cell").push(c),
        }
    }
    rows.retain(|row| row.len() > 1);
    rows
}

#[test]
fn rocprofv3_json_equals_the_peer_s_kernel_summary() {
    let Some(data) = shared_data() else { return };
    let report = json("summary", &[&data.join("traces/rocprofv3_908_results.json.gz")], &[]);
    let found = reported(&report, "kernels");
    let text = std::fs::read_to_string(data.join("traces/expected/rocprofv3_908_results/kernel_summary.csv"))
        .expect("the expected summary");
    let rows = csv_rows(&text);
    let column = |part: &str| {
        let place = rows[0].iter().position(|heading| heading.contains(part));
        place.unwrap_or_else(|| panic!("no {part} in {:?}", rows[0]))
    };
    // The peer shortens names (many kernels share one) and labels nanoseconds as microseconds: only sums
    // compare.
    let (count, total) = (column("Count"), column("Total Kernel Time"));
    let cell = |row: &[String], column: usize| row[column].parse::<f64>().expect("a number");
    let calls: f64 = rows[1..].iter().map(|row| cell(row, count)).sum();
    let time: f64 = rows[1..].iter().map(|row| cell(row, total) * 1000.0).sum();
    assert_eq!(found.values().map(|(calls, _)| calls).sum::<i64>(), calls as i64);
    assert!((found.values().map(|(_, total)| total).sum::<i64>() as f64 - time).abs() <= calls);
}
