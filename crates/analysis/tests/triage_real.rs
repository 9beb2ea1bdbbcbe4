//! The kernel table of real traces: against the golden name lists, the reference labels and the golden joins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ingest::Progress;
use model::attribution;
use model::classify::Classifier;
use model::{Run, Selection};
use report::{Report, Table, Value};
use rocm_perf_analysis::serving::triage;
use rocm_perf_analysis::subject::Architecture;
use trace::Needs;

fn data() -> Option<PathBuf> {
    testing::data("")
}

const CAPTURES: [(&str, &str); 2] = [
    ("sglang_decode/sglang_Qwen3-8B_decode.json.gz", "sglang_decode/capture_traces/bs_32_rank0.json.gz"),
    (
        "vllm_decode_full/graph_execution.json.gz",
        "vllm_decode_full/capture_traces/graph_capture_rank_0.1773709742341309550.pt.trace.json.gz",
    ),
];

/// The report of a trace from the shared data, with all its rows.
fn report(data: &Path, trace: &str, mapping: Option<&str>) -> (Report, Architecture) {
    let read = |file: &str, needs: Needs| {
        ingest::read(&[data.join("traces").join(file)], &needs, &Progress::default()).expect("a trace")
    };
    let trace = read(trace, triage::needs());
    let mapping = mapping.map(|file| read(file, attribution::needs()));
    let mut context = Run::new(&trace, mapping.as_ref(), &Classifier::builtin(), 0.0).expect("one model");
    context.select(&Selection::default()).expect("GPU work");
    (triage::present(&context, &triage::compute(&context)), Architecture::of(context.trace))
}

fn cell<'a>(table: &'a Table, row: &'a [Value], key: &str) -> &'a Value {
    &row[table.column(key).unwrap_or_else(|| panic!("no column {key}"))]
}

fn text<'a>(table: &'a Table, row: &'a [Value], key: &str) -> &'a str {
    match cell(table, row, key) {
        Value::Text(text) => text,
        other => panic!("{key} is {other:?}"),
    }
}

fn number(table: &Table, row: &[Value], key: &str) -> f64 {
    cell(table, row, key).number().unwrap_or_else(|| panic!("{key} is no number"))
}

fn check(report: &Report, id: &str) -> f64 {
    report.health.iter().find(|check| check.id == id).and_then(|check| check.value).expect("a check")
}

/// (trace, golden list of names with counts and times)
const LISTS: [(&str, &str); 8] = [
    ("sglang_decode/sglang_Qwen3-8B_decode.json.gz", "inference__sglang_decode__sglang_Qwen3-8B_decode.tsv"),
    ("vllm_decode_full/graph_execution.json.gz", "inference__vllm_decode_full__graph_execution.tsv"),
    ("sglang_prefilldecode.json.gz", "inference__sglang_prefilldecode__sglang_Qwen3-8B_prefilldecode.tsv"),
    ("mi300_qwen1.5-0.5b.json.gz", "mi300__Qwen_Qwen1.5-0.5B-Chat__1016005.tsv"),
    ("mi300_bert-small.json.gz", "mi300__gaunernst_bert-small-uncased__1016001.tsv"),
    ("mi210_gpu_only.json.gz", "mi210__gpu_only_trace__gpu_only_trace.tsv"),
    ("torch_compile_triton.json.gz", "torch_compile_triton__trace.tsv"),
    ("h100_qwen1.5-0.5b.json.gz", "h100__Qwen_Qwen1.5-0.5B-Chat__1016005.tsv"),
];

#[test]
fn every_name_has_its_calls_and_its_time() {
    let Some(data) = data() else { return };
    for (trace, list) in LISTS {
        let (report, _) = report(&data, trace, None);
        let table = report.table("kernel_table").expect("the kernel table");
        let mut found: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
        let mut stage_share: BTreeMap<&str, f64> = BTreeMap::new();
        for row in &table.rows {
            let (calls, total) = found.entry(text(table, row, "kernel_name")).or_default();
            *calls += number(table, row, "calls") as i64;
            *total += number(table, row, "total_ns") as i64;
            *stage_share.entry(text(table, row, "stage")).or_default() +=
                number(table, row, "time_share_pct");
        }
        let golden = std::fs::read_to_string(data.join("kernel_names").join(list)).expect("a list");
        let golden: BTreeMap<&str, (i64, i64)> = golden
            .lines()
            .skip(1)
            .map(|line| {
                let cells: Vec<&str> = line.split('\t').collect();
                let microseconds: f64 = cells[2].parse().expect("a time");
                (cells[0], (cells[1].parse().expect("a count"), (microseconds * 1e3).round() as i64))
            })
            .collect();
        assert_eq!(found.keys().collect::<Vec<_>>(), golden.keys().collect::<Vec<_>>(), "{trace}");
        for (name, (calls, total)) in &golden {
            let (our_calls, our_total) = found[name];
            assert_eq!(our_calls, *calls, "{trace}: {name}");
            // The lists sum rounded microseconds.
            assert!((our_total - total).abs() <= calls + 1, "{trace}: {name}: {our_total} for {total}");
        }
        for (stage, share) in stage_share {
            assert!((share - 100.0).abs() < 1e-6, "{trace}: shares of {stage} sum to {share}");
        }
    }
}

#[test]
fn nearly_all_time_is_classified_as_the_labels_say() {
    let Some(data) = data() else { return };
    let labels = std::fs::read_to_string(data.join("rocm_kernel_labels.tsv")).expect("labels");
    let labels: BTreeMap<&str, &str> = labels
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut cells = line.split('\t');
            Some((cells.next()?, cells.next()?))
        })
        .collect();
    for (trace, _) in LISTS.iter().filter(|(trace, _)| !trace.starts_with("h100")) {
        let (report, _) = report(&data, trace, None);
        assert!(check(&report, "classified") >= 99.5, "{trace}");
        let table = report.table("kernel_table").expect("the kernel table");
        let (mut agreeing, mut labelled) = (0.0, 0.0);
        for row in &table.rows {
            if let Some(label) = labels.get(text(table, row, "kernel_name")) {
                labelled += number(table, row, "total_ns");
                if text(table, row, "category") == *label {
                    agreeing += number(table, row, "total_ns");
                }
            }
        }
        assert!(labelled > 0.0 && agreeing >= 0.99 * labelled, "{trace}: {agreeing} of {labelled} ns agree");
    }
}

#[test]
fn replays_are_located_to_the_op_of_the_golden_join() {
    let Some(data) = data() else { return };
    for ((trace, capture), golden) in CAPTURES.iter().zip(["sglang_decode_full.tsv", "vllm_decode_full.tsv"])
    {
        let (report, architecture) = report(&data, trace, Some(capture));
        assert_eq!(check(&report, "located"), 100.0, "{trace}");
        assert_eq!(architecture.name(), "gfx942", "{trace}");
        let golden = std::fs::read_to_string(data.join("graph_join").join(golden)).expect("a join");
        let mut ops: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
        for line in golden.lines().skip(1) {
            let cells: Vec<&str> = line.split('\t').collect();
            let time: f64 = cells[2].parse().expect("a time");
            *ops.entry(cells[1]).or_default().entry(cells[3]).or_default() += time;
        }
        let table = report.table("kernel_table").expect("the kernel table");
        let mut checked = 0;
        for row in &table.rows {
            let replayed = text(table, row, "mapping_source") == "capture-join";
            let Some(times) = ops.get(text(table, row, "kernel_name")).filter(|_| replayed) else { continue };
            let most = times.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(op, _)| *op);
            assert_eq!(Some(text(table, row, "cpu_op")), most);
            assert!(
                !text(table, row, "module").is_empty() && !text(table, row, "python_location").is_empty()
            );
            let Value::Json(sites) = cell(table, row, "sites") else { panic!("sites are a list") };
            let sites = sites.as_array().expect("a list");
            let total: i64 = sites.iter().filter_map(|site| site["total_ns"].as_i64()).sum();
            assert_eq!(total, number(table, row, "total_ns") as i64);
            checked += 1;
        }
        assert_eq!(checked, ops.len(), "{trace}");
    }
}

#[test]
fn gemm_rows_tell_tile_types_and_problem() {
    let Some(data) = data() else { return };
    let (report, _) = report(&data, CAPTURES[0].0, Some(CAPTURES[0].1));
    let table = report.table("kernel_table").expect("the kernel table");
    let gemm = table.rows.iter().find(|row| text(table, row, "category") == "gemm").expect("a gemm");
    let notes = text(table, gemm, "notes");
    for part in ["tile 256x32x64", "bf16 to bf16, sums in f32", "M=32 N=", " K="] {
        assert!(notes.contains(part), "{part} in {notes}");
    }
}

#[test]
fn without_a_capture_replays_are_said_to_be_of_the_graph() {
    let Some(data) = data() else { return };
    let (report, _) = report(&data, CAPTURES[1].0, None);
    assert!(check(&report, "located") < 5.0);
    let located = report.health.iter().find(|check| check.id == "located").expect("the check");
    assert!(located.message.contains("only to the launch of its graph"), "{}", located.message);
}

#[test]
fn an_nvidia_trace_is_no_evidence_about_amd() {
    let Some(data) = data() else { return };
    let (_, architecture) = report(&data, "h100_qwen1.5-0.5b.json.gz", None);
    let (matched, reason) = architecture.compare("gfx950");
    assert_eq!((architecture.name(), matched.name()), ("unknown", "unknown"));
    assert!(reason.contains("H100") && reason.contains("says nothing about AMD"), "{reason}");
    let (_, mi210) = report(&data, "mi210_gpu_only.json.gz", None);
    assert_eq!((mi210.name(), mi210.compare("gfx950").0.name()), ("gfx90a", "unknown"));
}
