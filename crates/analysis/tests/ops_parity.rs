//! `ops` against TraceLens' own tables of ops on real traces.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::Run;
use model::call_tree::NodeKind;
use model::classify::Classifier;
use rocm_perf_analysis::ops::{self, Ops, OpsOptions, ops_needs};
use trace::Trace;

/// The folder of real traces, if it exists.
fn traces() -> Option<PathBuf> {
    testing::data("traces")
}

const SINGLE: [&str; 5] = [
    "h100_qwen1.5-0.5b",
    "mi300_bert-small",
    "mi300_falconsai_vit",
    "mi300_qwen1.5-0.5b",
    "torch_compile_triton",
];

/// (reference, trace, capture)
const SERVING: [(&str, &str, Option<&str>); 3] = [
    (
        "sglang_decode",
        "sglang_decode/sglang_Qwen3-8B_decode.json.gz",
        Some("sglang_decode/capture_traces/bs_32_rank0.json.gz"),
    ),
    ("sglang_prefilldecode", "sglang_prefilldecode.json.gz", None),
    (
        "vllm_decode_full",
        "vllm_decode_full/graph_execution.json.gz",
        Some("vllm_decode_full/capture_traces/graph_capture_rank_0.1773709742341309550.pt.trace.json.gz"),
    ),
];

fn read(path: &Path) -> Trace {
    ingest::read(&[path.to_path_buf()], &ops_needs(), &ingest::Progress::default()).expect("a readable trace")
}

fn ops_of(path: &Path, capture: Option<&Path>, linked: bool) -> (Ops, i64) {
    let (trace, mapping) = (read(path), capture.map(read));
    let run = Run::new(&trace, mapping.as_ref(), &Classifier::builtin(), 0.0).expect("one model");
    let all: i64 = run.rows.iter().map(|&row| run.duration(row)).sum();
    let options = OpsOptions { mapping: mapping.as_ref(), linked, ..OpsOptions::default() };
    (ops::compute(&run, &options), all)
}

fn reference(folder: &Path, name: &str) -> Vec<BTreeMap<String, String>> {
    let path = folder.join("expected").join(name).join("ops_summary.csv");
    let mut reader = csv::Reader::from_path(path).expect("a reference");
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

fn ns(row: &BTreeMap<String, String>, column: &str) -> i64 {
    (row[column].parse::<f64>().unwrap() * 1e3).round() as i64
}

#[test]
fn linked_ops_equal_tracelens_to_a_microsecond() {
    let Some(folder) = traces() else { return };
    for name in SINGLE {
        let (ops, _) = ops_of(&folder.join(format!("{name}.json.gz")), None, true);
        let expected = reference(&folder, name);
        assert_eq!(ops.ops.len(), expected.len(), "{name}");
        for row in &expected {
            let found = ops.ops.iter().find(|op| ops.tree.strings.get(op.name) == row["name"]);
            let found = found.unwrap_or_else(|| panic!("{name} lacks {}", row["name"]));
            assert_eq!(found.calls.to_string(), row["Count"], "{name} {}", row["name"]);
            for (ours, theirs) in [
                (found.self_gpu_ns, "total_direct_kernel_time_sum"),
                (found.all.gpu_ns, "total_subtree_kernel_time_sum"),
            ] {
                let off = (ours - ns(row, theirs)).abs();
                assert!(off <= 1_000, "{name} {} {theirs}: {ours} against {}", row["name"], ns(row, theirs));
            }
        }
    }
}

#[test]
fn serving_ops_by_parent_module_equal_tracelens_to_a_percent() {
    let Some(folder) = traces() else { return };
    for (name, file, capture) in SERVING {
        let capture = capture.map(|capture| folder.join(capture));
        let (ops, _) = ops_of(&folder.join(file), capture.as_deref(), true);
        let mut expected: BTreeMap<String, i64> = BTreeMap::new();
        for row in reference(&folder, name) {
            let module = row["parent_module"].strip_prefix("nn.Module: ").unwrap_or("");
            *expected.entry(module.to_string()).or_default() += ns(&row, "total_direct_kernel_time_sum");
        }
        let mut found: BTreeMap<String, i64> = BTreeMap::new();
        for node in &ops.modules.nodes {
            let class = ops.tree.strings.get(node.class);
            *found.entry(class.to_string()).or_default() += node.own.gpu_ns;
        }
        found.retain(|_, ns| *ns > 0);
        assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{name}");
        for (module, theirs) in &expected {
            let ours = found[module];
            assert!((ours - theirs).abs() * 100 <= *theirs, "{name} {module}: {ours} against {theirs}");
        }
    }
}

#[test]
fn modules_and_what_is_outside_them_add_up_to_the_gpu_time() {
    let Some(folder) = traces() else { return };
    let singles = SINGLE.map(|name| (format!("{name}.json.gz"), None));
    let serving = SERVING.map(|(_, file, capture)| (file.to_string(), capture));
    for (file, capture) in singles.into_iter().chain(serving) {
        let capture = capture.map(|capture| folder.join(capture));
        let (ops, gpu_ns) = ops_of(&folder.join(&file), capture.as_deref(), false);
        assert_eq!(ops.modules.nodes.iter().map(|node| node.own.gpu_ns).sum::<i64>(), gpu_ns, "{file}");
        assert_eq!(ops.ops.iter().map(|row| row.self_gpu_ns).sum::<i64>(), gpu_ns, "{file}");
        assert_eq!(ops.module_ops.iter().map(|row| row.self_gpu_ns).sum::<i64>(), gpu_ns, "{file}");
        if ops.tree.arguments.len() > 1 {
            assert_eq!(ops.shapes.iter().map(|row| row.self_gpu_ns).sum::<i64>(), gpu_ns, "{file}");
        }
        let stacks = ops::folded_stacks(&ops.tree);
        let last = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<i64>().unwrap();
        assert_eq!(stacks.lines().map(last).sum::<i64>(), gpu_ns, "{file}");
        let kernels: u64 =
            ops.tree.nodes.iter().filter(|n| n.kind == NodeKind::Work).map(|n| n.own.work).sum();
        assert!(kernels > 0, "{file}");
    }
}
