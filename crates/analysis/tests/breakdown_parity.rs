//! `breakdown --linked` against TraceLens' own timelines of real traces.

use std::path::{Path, PathBuf};

use model::classify::{Classes, Classifier};
use report::{Report, Value};
use rocm_perf_analysis::{BreakdownOptions, breakdown};
use trace::{Needs, Trace};

/// The folder of real traces, if it exists.
fn traces() -> Option<PathBuf> {
    testing::data("traces")
}

/// (reference, trace)
const PAIRS: &[(&str, &str)] = &[
    ("h100_qwen1.5-0.5b", "h100_qwen1.5-0.5b.json.gz"),
    ("mi210_gpu_only", "mi210_gpu_only.json.gz"),
    ("mi300_bert-small", "mi300_bert-small.json.gz"),
    ("mi300_falconsai_vit", "mi300_falconsai_vit.json.gz"),
    ("mi300_qwen1.5-0.5b", "mi300_qwen1.5-0.5b.json.gz"),
    ("sglang_decode", "sglang_decode/sglang_Qwen3-8B_decode.json.gz"),
    ("sglang_prefilldecode", "sglang_prefilldecode.json.gz"),
    ("torch_compile_triton", "torch_compile_triton.json.gz"),
    ("vllm_decode_full", "vllm_decode_full/graph_execution.json.gz"),
];

/// (row of the reference, column of ours)
const COLUMNS: &[(&str, &str)] = &[
    ("total_time", "total_ns"),
    ("busy_time", "busy_ns"),
    ("idle_time", "idle_ns"),
    ("computation_time", "compute_ns"),
    ("total_comm_time", "communication_ns"),
    ("total_memcpy_time", "memcpy_ns"),
    ("exposed_comm_time", "exposed_communication_ns"),
    ("exposed_memcpy_time", "exposed_memcpy_ns"),
];

fn read(path: &Path) -> Trace {
    let needs = Needs { python_frames: false, ..Needs::summary() };
    ingest::read(&[path.to_path_buf()], &needs, &ingest::Progress::default()).expect("a readable trace")
}

fn column(report: &Report, table: &str, key: &str) -> Vec<i64> {
    let table = report.table(table).expect("the table is there");
    let column = table.column(key).expect("the column is there");
    let number = |row: &Vec<Value>| match row[column] {
        Value::Int(number) => number,
        ref other => panic!("{key} is {other:?}"),
    };
    table.rows.iter().map(number).collect()
}

#[test]
fn linked_timelines_equal_tracelens_to_a_microsecond() {
    let Some(folder) = traces() else { return };
    for (reference, file) in PAIRS {
        let text = std::fs::read_to_string(folder.join("expected").join(reference).join("gpu_timeline.csv"))
            .expect("a reference");
        let trace = read(&folder.join(file));
        let classes = Classes::of(&trace, &Classifier::builtin());
        let report = breakdown(&trace, &classes, &BreakdownOptions { linked: true, ..Default::default() });
        for (theirs, ours) in COLUMNS {
            let row = text.lines().find_map(|line| line.strip_prefix(&format!("{theirs},")));
            let cell =
                row.unwrap_or_else(|| panic!("{reference} has no {theirs}")).split(',').next().unwrap();
            let expected = cell.parse::<f64>().unwrap() * 1e6;
            let found = column(&report, "timeline", ours);
            assert_eq!(found.len(), 1, "{reference} is of one GPU");
            let off = (found[0] as f64 - expected).abs();
            assert!(off <= 1_000.0, "{reference} {ours}: {} against {expected}", found[0]);
        }
    }
}

#[test]
fn busy_time_of_a_rocprofv3_result_equals_tracelens() {
    let Some(folder) = traces() else { return };
    let trace = read(&folder.join("rocprofv3_908_results.json.gz"));
    let classes = Classes::of(&trace, &Classifier::builtin());
    let report = breakdown(&trace, &classes, &BreakdownOptions::default());
    let text =
        std::fs::read_to_string(folder.join("expected/rocprofv3_908_results/gpu_timeline.csv")).unwrap();
    let cell =
        text.lines().find_map(|line| line.strip_prefix("busy_time,")).unwrap().split(',').next().unwrap();
    // Its `total_time` also spans records that are not GPU work, so only the busy time is compared.
    let expected = cell.parse::<f64>().unwrap() * 1e6;
    assert!((column(&report, "timeline", "busy_ns")[0] as f64 - expected).abs() <= 1_000.0);
}

#[test]
fn parts_add_up_on_every_trace() {
    let Some(folder) = traces() else { return };
    let more = ["hta_nccl_metadata.json.gz", "hta_mi250_minitoy_train.json.gz", "hta_multirank_sampled"];
    for file in PAIRS.iter().map(|(_, file)| *file).chain(more) {
        let trace = read(&folder.join(file));
        let classes = Classes::of(&trace, &Classifier::builtin());
        for linked in [false, true] {
            let report = breakdown(&trace, &classes, &BreakdownOptions { linked, ..Default::default() });
            let of = |key: &str| column(&report, "timeline", key);
            let (total, busy, idle) = (of("total_ns"), of("busy_ns"), of("idle_ns"));
            let parts = [of("compute_ns"), of("exposed_communication_ns"), of("exposed_memcpy_ns")];
            for i in 0..total.len() {
                assert_eq!(parts.iter().map(|part| part[i]).sum::<i64>() + idle[i], total[i], "{file}");
                assert_eq!(busy[i] + idle[i], total[i], "{file}");
            }
            let combined: i64 = column(&report, "combinations", "total_ns").iter().sum();
            assert_eq!(combined, total.iter().sum::<i64>(), "{file}");
            if linked {
                continue;
            }
            let (k, c) = (&trace.kernels, &trace.memory_copies);
            let kernels: i64 = (0..k.len()).map(|i| k.end[i] - k.start[i]).sum();
            let copies: i64 = (0..c.len()).map(|i| c.end[i] - c.start[i]).sum();
            let categories: i64 = column(&report, "categories", "total_ns").iter().sum();
            assert_eq!(categories, kernels + copies, "{file}");
            let calls: i64 = column(&report, "categories", "calls").iter().sum();
            assert_eq!(calls as usize, k.len() + c.len(), "{file}");
        }
    }
}

#[test]
fn a_capture_trace_in_the_folder_is_no_rank() {
    let Some(folder) = traces() else { return };
    let trace = read(&folder.join("sglang_decode"));
    let classes = Classes::of(&trace, &Classifier::builtin());
    let report = breakdown(&trace, &classes, &BreakdownOptions::default());
    assert_eq!(column(&report, "timeline", "rank"), [0]);
}

#[test]
fn shared_names_follow_the_platform_of_the_trace() {
    let Some(folder) = traces() else { return };
    for (file, backend) in [("hta_nccl_metadata.json.gz", "nccl"), ("rocprofv3_908_results.json.gz", "rccl")]
    {
        let trace = read(&folder.join(file));
        let classes = Classes::of(&trace, &Classifier::builtin());
        let report = breakdown(&trace, &classes, &BreakdownOptions::default());
        let table = report.table("categories").expect("categories");
        let communication = table.rows.iter().find(|row| row[1] == Value::from("communication"));
        assert_eq!(communication.expect("collectives")[2], Value::from(backend), "{file}");
    }
}

#[test]
fn work_from_before_the_recording_is_told_apart() {
    let Some(folder) = traces() else { return };
    let trace = read(&folder.join("mi300_qwen1.5-0.5b.json.gz"));
    let classes = Classes::of(&trace, &Classifier::builtin());
    let report = breakdown(&trace, &classes, &BreakdownOptions::default());
    let table = report.table("coverage").expect("coverage");
    let parts: Vec<(Value, Value)> = table.rows.iter().map(|row| (row[2].clone(), row[3].clone())).collect();
    // 463 of 1517 rows were still in flight when host recording began, and none was lost later.
    assert_eq!(parts, [(Value::from("lead_in"), Value::Int(463)), (Value::from("linked"), Value::Int(1054))]);
}

#[test]
fn nothing_much_is_other_on_real_rocm_traces() {
    let Some(folder) = traces() else { return };
    let rocm = PAIRS.iter().map(|(_, file)| *file).filter(|file| !file.starts_with("h100"));
    for file in rocm.chain(["hta_mi250_minitoy_train.json.gz", "rocprofv3_908_results.json.gz"]) {
        let trace = read(&folder.join(file));
        let classes = Classes::of(&trace, &Classifier::builtin());
        let report = breakdown(&trace, &classes, &BreakdownOptions::default());
        let table = report.table("categories").expect("categories");
        let other = table.rows.iter().filter(|row| row[1] == Value::from("other"));
        let share: f64 = other.filter_map(|row| row[5].number()).sum();
        assert!(share <= 0.5, "{share} % of {file} is other");
    }
}
