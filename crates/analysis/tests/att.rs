//! Thread traces: from decoded files to the instructions charged with cycles.

use std::path::Path;

use report::{Report, Table, Value};
use rocm_perf_analysis::kernels::att::{thread_trace_features, thread_trace_report};
use serde_json::json;

fn write(folder: &Path, name: &str, value: &serde_json::Value) {
    std::fs::write(folder.join(name), value.to_string()).unwrap();
}

/// One wave: a load, a wait for it, an add, a barrier, and a loop back to the load.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ui_output_agent_3_dispatch_7");
    std::fs::create_dir(&path).unwrap();
    let row = |isa: &str, line: i64, source: &str, hits: i64, latency: i64, stall: i64, idle: i64| {
        json!([isa, 0, line, source, 1, 0x100 + 4 * line, hits, latency, stall, idle])
    };
    write(
        &path,
        "code.json",
        &json!({ "version": "1", "code": [
            row("; _Z3addPf", 0, "add(float*)", 0, 0, 0, 0),
            row("global_load_dword v1, v0, s[0:1]", 1, "add.cpp:4", 2, 16, 8, 20),
            row("s_waitcnt vmcnt(0)", 2, "add.cpp:5", 2, 1000, 0, 0),
            row("v_add_f32_e32 v1, v1, v2", 3, "add.cpp:5", 2, 10, 2, 4),
            row("s_barrier", 4, "add.cpp:6", 2, 200, 0, 0),
            row("s_cbranch_scc1 65500", 5, "add.cpp:3", 2, 8, 0, 0),
            row("s_endpgm", 6, "", 0, 0, 0, 0),
            ["too short"],
        ]}),
    );
    write(&path, "filenames.json", &json!({ "gfxip": 942, "gfxv": "vega" }));
    // [time, category, stall, duration, line]
    write(
        &path,
        "se0_sm1_sl2_wv0.json",
        &json!({ "name": "w", "wave": {
            "cu": 1, "id": 0, "simd": 1, "slot": 2, "begin": 0, "end": 1258,
            "instructions": [
                [0, 3, 0, 4, 1], [4, 9, 0, 700, 2], [708, 6, 0, 4, 3], [712, 9, 0, 150, 4], [862, 7, 0, 4, 5],
                [886, 3, 8, 12, 1], [898, 9, 0, 300, 2], [1198, 6, 2, 6, 3], [1204, 9, 0, 50, 4], [1254, 8, 0, 4, 5],
            ],
            "timeline": [[2, 34], [3, 1000], [4, 200], [1, 24]],
            "waitcnt": [[2, [[1, 0]]], [2, [[1, 0]]]],
        }}),
    );
    std::fs::write(path.join("se0_sm1_sl3_wv0.json"), "{ broken").unwrap();
    write(
        &path,
        "occupancy.json",
        &json!({ "0": [[0, 1, 1, 2, 1, 0], [1258, 1, 1, 2, 0, 0]], "dispatches": {}, "version": "1" }),
    );
    folder
}

fn table<'a>(report: &'a Report, name: &str) -> &'a Table {
    report.table(name).unwrap_or_else(|| panic!("no table {name}"))
}

/// A cell of the first row whose `key` column is `is`.
fn cell(table: &Table, key: &str, is: &str, column: &str) -> Value {
    let place = table.column(key).unwrap();
    let row = table.rows.iter().find(|row| matches!(&row[place], Value::Text(text) if text.starts_with(is)));
    row.unwrap_or_else(|| panic!("no {is}"))[table.column(column).unwrap()].clone()
}

#[test]
fn every_cycle_is_charged_to_what_caused_it() {
    let folder = folder();
    let found = ingest::att::find(folder.path());
    assert_eq!(found.len(), 1);
    let trace = ingest::att::read(&found[0]).unwrap();
    assert_eq!((trace.agent, trace.dispatch, trace.gfx.as_str()), (Some(3), Some(7), "942"));
    assert_eq!(
        (trace.kernels.as_slice(), trace.code.len(), trace.waves.len()),
        (&["add(float*)".to_string()][..], 6, 1)
    );
    let lost: Vec<&str> = trace.health.checks.iter().map(|check| check.id).collect();
    assert_eq!(lost, ["lost_rows", "lost_waves"]);

    let report = thread_trace_report(std::slice::from_ref(&trace));
    let stalls = table(&report, "stalls");
    let cycles = |cause: &str| cell(stalls, "cause", cause, "cycles");
    // 700 and 300 cycles in s_waitcnt belong to the load, 150 and 50 to the barrier.
    assert_eq!(cycles("memory latency"), Value::Int(1000));
    assert_eq!(cycles("barrier"), Value::Int(200));
    assert_eq!(cycles("memory unit busy"), Value::Int(8));
    assert_eq!(cycles("vector unit busy"), Value::Int(2));
    // 20 cycles after the taken branch, 4 before the first add.
    assert_eq!(cycles("instruction fetch"), Value::Int(20));
    assert_eq!(cycles("dependency or arbitration"), Value::Int(4));
    let total: f64 =
        stalls.rows.iter().map(|row| row[stalls.column("share_pct").unwrap()].number().unwrap()).sum();
    assert!((total - 100.0).abs() < 1e-9, "{total}");
    let all: i64 =
        stalls.rows.iter().map(|row| row[stalls.column("cycles").unwrap()].number().unwrap() as i64).sum();
    assert_eq!(all, 1258, "the life of the wave");

    let instructions = table(&report, "instructions");
    assert_eq!(
        cell(instructions, "instruction", "global_load", "charged_cycles"),
        Value::Int(1000 + 8 + 8 + 20)
    );
    assert_eq!(cell(instructions, "instruction", "global_load", "own_cycles"), Value::Int(36));
    assert_eq!(cell(instructions, "instruction", "s_waitcnt", "charged_cycles"), Value::Int(0));
    let loads = table(&report, "loads");
    // Issued at 0, waited for until 704; at 886 until 1198.
    assert_eq!(cell(loads, "instruction", "global_load", "max_cycles"), Value::Int(704));
    assert_eq!(cell(table(&report, "sources"), "source", "add.cpp:4", "cycles"), Value::Int(1036));
    assert_eq!(cell(table(&report, "occupancy"), "kernel", "add", "peak_waves"), Value::Int(1));
    let states = table(&report, "states");
    assert_eq!(cell(states, "state", "waiting", "cycles"), Value::Int(1000));

    let features = thread_trace_features(std::slice::from_ref(&trace));
    let figures = &features.iter().find(|(name, _)| name == "add(float*)").unwrap().1;
    assert!((figures["att_memory_wait_pct"] - 100.0 * 1000.0 / 1258.0).abs() < 1e-9);
    assert!((figures["att_barrier_pct"] - 100.0 * 200.0 / 1258.0).abs() < 1e-9);
}

#[test]
fn statistics_alone_tell_the_mix_and_do_not_guess_the_load() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stats_ui_output_agent_1_dispatch_2.csv");
    std::fs::write(
        &path,
        "\"CodeObj\",\"Vaddr\",\"Instruction\",\"Hitcount\",\"Latency\",\"Stall\",\"Idle\",\"Source\"\n\
        1,256,\"; k\",0,0,0,0,\"k(float*)\"\n\
        1,256,\"global_load_dword v1, v0, s[0:1]\",10,40,5,0,\"k.cpp:1\"\n\
        1,260,\"s_waitcnt vmcnt(0)\",10,900,0,0,\"k.cpp:2\"\n\
        1,264,\"v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]\",10,60,20,0,\"k.cpp:3\"\n\
        1,268,\"broken\",x,0,0,0,\n",
    )
    .unwrap();
    let trace = ingest::att::read(&ingest::att::find(folder.path())[0]).unwrap();
    assert_eq!(trace.health.checks[0].value, Some(1.0));
    let report = thread_trace_report(&[trace]);
    assert_eq!(cell(table(&report, "stalls"), "cause", "memory latency", "cycles"), Value::Int(900));
    assert_eq!(cell(table(&report, "mix"), "class", "matrix", "issued"), Value::Int(10));
    let charged = cell(table(&report, "instructions"), "instruction", "global_load", "charged_cycles");
    assert!(matches!(charged, Value::Absent(_)), "{charged:?}");
}

#[test]
fn what_is_no_thread_trace_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernel_trace.csv"), "Kind,Agent_Id\n").unwrap();
    assert!(ingest::att::find(folder.path()).is_empty());
    let broken = folder.path().join("ui_output_agent_1_dispatch_1");
    std::fs::create_dir(&broken).unwrap();
    std::fs::write(broken.join("code.json"), "[1,2").unwrap();
    let error = ingest::att::read(&broken).unwrap_err().to_string();
    assert!(error.contains("code.json") && error.contains("thread trace"), "{error}");
}

#[test]
fn only_a_trace_with_sums_and_no_waves_is_said_to_have_sums_alone() {
    let noted = |hits: i64| {
        let line =
            trace::CodeLine { isa: "s_waitcnt vmcnt(0)".into(), hits, latency: hits, ..Default::default() };
        let traced = trace::ThreadTrace { kernels: vec!["k".into()], code: vec![line], ..Default::default() };
        thread_trace_report(&[traced]).notes.iter().any(|note| note.contains("only sums"))
    };
    assert!(noted(4));
    assert!(!noted(0), "no wave was traced, which is said as such");
}
