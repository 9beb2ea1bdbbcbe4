//! PC samples in the formats of rocprofv3: compared with a plain count of the input, and bad files.

use std::collections::BTreeMap;
use std::path::Path;

use analysis::kernels::att::{pc_sample_needs, pc_samples_report};
use report::{Report, Value};
use rocm_perf_analysis as analysis;
use serde_json::json;
use trace::Trace;

/// One input sample.
#[derive(Clone)]
struct Put {
    dispatch: i64,
    instruction: &'static str,
    source: &'static str,
    issued: bool,
    reason: &'static str,
}

const INSTRUCTIONS: [(&str, &str); 5] = [
    ("global_load_dword v4, v[2:3], off", "k.cu:10"),
    ("s_waitcnt vmcnt(0)", "k.cu:11"),
    ("v_fma_f32 v5, v4, v6, v5", "k.cu:12"),
    ("ds_read_b32 v7, v8", "k.cu:12"),
    ("v_something_new v1", "k.cu:14"),
];
const REASONS: [&str; 3] = ["WAITCNT", "ALU_DEPENDENCY", "ARBITER_NOT_WIN"];
const KERNELS: [&str; 2] = ["first", "second"];

fn samples(count: usize) -> Vec<Put> {
    let mut state = 7u64;
    let mut roll = move |sides: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % sides
    };
    let one = |_| {
        let (instruction, source) = INSTRUCTIONS[roll(INSTRUCTIONS.len())];
        let (dispatch, issued) = (1 + roll(2) as i64, roll(3) == 0);
        Put { dispatch, instruction, source, issued, reason: REASONS[roll(REASONS.len())] }
    };
    (0..count).map(one).collect()
}

const HOST_TRAP: &str = "\"Sample_Timestamp\",\"Exec_Mask\",\"Dispatch_Id\",\"Instruction\",\"Instruction_Comment\",\"Correlation_Id\"";
const STOCHASTIC: &str = "\"Wave_Issued_Instruction\",\"Instruction_Type\",\"Stall_Reason\",\"Wave_Count\"";

fn row(time: usize, put: &Put, stochastic: bool) -> String {
    let Put { dispatch, instruction, source, issued, reason } = put;
    let host = format!("{time},255,{dispatch},\"{instruction}\",\"{source}\",{dispatch}");
    let more = format!(",{},\"OTHER\",\"{reason}\",4", u8::from(*issued));
    host + if stochastic { &more } else { "" } + "\n"
}

/// The CSV files of a run in a folder.
fn csv(folder: &Path, samples: &[Put], stochastic: bool) {
    let mut kernels =
        "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Dispatch_Id\",\"Kernel_Name\",\"Correlation_Id\",\
                       \"Start_Timestamp\",\"End_Timestamp\"\n"
            .to_string();
    for (n, name) in KERNELS.iter().enumerate() {
        let id = n + 1;
        kernels += &format!(
            "\"KERNEL_DISPATCH\",\"Agent 2\",1,{id},\"{name}\",{id},{},{}\n",
            n * 9000,
            n * 9000 + 8000
        );
    }
    std::fs::write(folder.join("7_kernel_trace.csv"), kernels).unwrap();
    let header = if stochastic { format!("{HOST_TRAP},{STOCHASTIC}\n") } else { format!("{HOST_TRAP}\n") };
    let rows = samples.iter().enumerate().map(|(time, put)| row(time, put, stochastic));
    let name = if stochastic { "7_pc_sampling_stochastic.csv" } else { "7_pc_sampling_host_trap.csv" };
    std::fs::write(folder.join(name), header + &rows.collect::<String>()).unwrap();
}

/// The same samples as the JSON file of a run.
fn json_file(folder: &Path, samples: &[Put]) {
    let place = |put: &Put| INSTRUCTIONS.iter().position(|(text, _)| *text == put.instruction);
    let sample = |(time, put): (usize, &Put)| {
        json!({"inst_index": place(put), "record": {
            "pc": {"code_object_id": 1, "code_object_offset": 32}, "exec_mask": 255, "timestamp": time,
            "dispatch_id": put.dispatch, "corr_id": {"internal": put.dispatch, "external": 0},
            "wave_issued": u8::from(put.issued), "inst_type": "OTHER", "wave_cnt": 4,
            "snapshot": {"stall_reason":
                format!("ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_{}", put.reason)}}})
    };
    let dispatch = |n: usize| {
        json!({"size": 1, "kind": 11, "operation": 1, "thread_id": 7, "start_timestamp": n * 9000,
            "end_timestamp": n * 9000 + 8000, "correlation_id": {"internal": n + 1, "external": 0},
            "dispatch_info": {"size": 1, "agent_id": {"handle": 20}, "queue_id": {"handle": 1}, "kernel_id": n + 1,
                "dispatch_id": n + 1, "private_segment_size": 0, "group_segment_size": 0,
                "workgroup_size": {"x": 64, "y": 1, "z": 1}, "grid_size": {"x": 64, "y": 1, "z": 1}}})
    };
    let symbol = |n: usize| {
        json!({"size": 1, "kernel_id": n + 1, "code_object_id": 1, "kernel_name": format!("{}.kd", KERNELS[n]),
            "formatted_kernel_name": KERNELS[n], "demangled_kernel_name": KERNELS[n]})
    };
    let texts = |at: fn(&(&'static str, &'static str)) -> &'static str| -> Vec<&str> {
        INSTRUCTIONS.iter().map(at).collect()
    };
    let document = json!({"rocprofiler-sdk-tool": [{
        "metadata": {"pid": 7, "init_time": 0, "fini_time": 20000},
        "agents": [{"size": 1, "id": {"handle": 20}, "type": 2, "name": "gfx942", "node_id": 2}],
        "counters": [], "kernel_symbols": [symbol(0), symbol(1)],
        "strings": {"callback_records": [], "buffer_records": [], "counters": {"dimension_ids": []},
            "marker_api": [], "pc_sample_instructions": texts(|(text, _)| text),
            "pc_sample_comments": texts(|(_, source)| source)},
        "callback_records": {"counter_collection": []},
        "buffer_records": {"kernel_dispatch": [dispatch(0), dispatch(1)],
            "pc_sample_stochastic": samples.iter().enumerate().map(sample).collect::<Vec<_>>()},
    }]});
    std::fs::write(folder.join("7_results.json"), document.to_string()).unwrap();
}

fn read(folder: &Path) -> Trace {
    ingest::read(&[folder.to_path_buf()], &pc_sample_needs(), &Default::default()).unwrap()
}

/// Samples by kernel and the text of a column.
fn counts(report: &Report, table: &str, column: &str) -> BTreeMap<(String, String), i64> {
    let table = report.table(table).unwrap_or_else(|| panic!("no table {table}"));
    let at = |key: &str| table.column(key).unwrap();
    let text = |value: &Value| if let Value::Text(text) = value { text.clone() } else { String::new() };
    let mut counts = BTreeMap::new();
    for row in &table.rows {
        let Value::Int(samples) = row[at("samples")] else { panic!("samples are numbers") };
        *counts.entry((text(&row[at("kernel")]), text(&row[at(column)]))).or_default() += samples;
    }
    counts
}

/// The same counts, by plainly counting the input.
fn expected(samples: &[Put], what: impl Fn(&Put) -> String) -> BTreeMap<(String, String), i64> {
    let mut counts = BTreeMap::new();
    for put in samples {
        *counts.entry((KERNELS[put.dispatch as usize - 1].to_string(), what(put))).or_default() += 1;
    }
    counts
}

fn check(report: &Report, samples: &[Put], stochastic: bool) {
    let by = |what: fn(&Put) -> &str| expected(samples, |put| what(put).to_string());
    assert_eq!(counts(report, "instructions", "instruction"), by(|put| put.instruction));
    assert_eq!(counts(report, "sources", "source"), by(|put| put.source));
    let class = |put: &Put| match put.instruction.split(['_', ' ']).next() {
        Some("global") => "memory load",
        Some("s") => "wait",
        Some("ds") => "LDS",
        _ => "vector",
    };
    assert_eq!(counts(report, "mix", "class"), expected(samples, |put| class(put).to_string()));
    if stochastic {
        let cause = |put: &Put| match put.issued {
            true => "issued".to_string(),
            false => put.reason.to_ascii_lowercase().replace('_', " "),
        };
        assert_eq!(counts(report, "stalls", "cause"), expected(samples, cause));
    } else {
        assert!(report.table("stalls").is_none());
        assert!(report.notes.iter().any(|note| note.contains("not why")), "{:?}", report.notes);
    }
}

#[test]
fn counts_are_those_of_the_samples_in_csv_and_json() {
    let samples = samples(5000);
    for stochastic in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        csv(folder.path(), &samples, stochastic);
        check(&pc_samples_report(&read(folder.path())).unwrap(), &samples, stochastic);
    }
    let folder = tempfile::tempdir().unwrap();
    json_file(folder.path(), &samples);
    check(&pc_samples_report(&read(folder.path())).unwrap(), &samples, true);
}

#[test]
fn short_rows_are_counted_and_unknown_instructions_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut samples = samples(20);
    samples[3].instruction = "";
    samples[4].dispatch = 99;
    csv(folder.path(), &samples, true);
    let path = folder.path().join("7_pc_sampling_stochastic.csv");
    let text = std::fs::read_to_string(&path).unwrap() + "not a time,255,1\n\n1,2\n";
    std::fs::write(&path, text).unwrap();
    let trace = read(folder.path());
    let problems: Vec<_> = trace.health.problems().map(|check| check.message.clone()).collect();
    assert!(!problems.is_empty(), "the row without a time is counted");
    let report = pc_samples_report(&trace).unwrap();
    let shown = counts(&report, "instructions", "instruction");
    let unknown: i64 = shown.iter().filter(|((_, text), _)| text == "not recorded").map(|(_, n)| n).sum();
    assert!(unknown >= 1);
    assert!(
        report.notes.iter().any(|note| note.contains("samples have no instruction")),
        "{:?}",
        report.notes
    );
    assert!(shown.keys().any(|(kernel, _)| kernel == "a dispatch that is not recorded"));
}

#[test]
fn without_its_columns_a_file_holds_no_samples_and_never_panics() {
    let folder = tempfile::tempdir().unwrap();
    csv(folder.path(), &samples(20), true);
    let path = folder.path().join("7_pc_sampling_stochastic.csv");
    let whole = std::fs::read_to_string(&path).unwrap();
    for column in ["Sample_Timestamp", "Dispatch_Id"] {
        std::fs::write(&path, whole.replacen(column, "Other", 1)).unwrap();
        assert!(pc_samples_report(&read(folder.path())).is_none(), "without {column}");
    }
    for column in
        ["Instruction_Comment", "Wave_Issued_Instruction", "Stall_Reason", "Correlation_Id", "Exec_Mask"]
    {
        std::fs::write(&path, whole.replacen(column, "Other", 1)).unwrap();
        let report = pc_samples_report(&read(folder.path())).expect(column);
        assert_eq!(
            counts(&report, "instructions", "instruction").values().sum::<i64>(),
            20,
            "without {column}"
        );
    }
    // Cut anywhere after the header, complete rows still count.
    let header = whole.find('\n').unwrap() + 1;
    for cut in (header..whole.len()).step_by(7) {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let rows = whole[header..cut].matches('\n').count() as i64;
        let report = pc_samples_report(&read(folder.path()));
        let found = report.map_or(0, |report| counts(&report, "instructions", "instruction").values().sum());
        assert!((rows..=rows + 1).contains(&found), "cut at {cut}: {found} of {rows}");
    }
}
