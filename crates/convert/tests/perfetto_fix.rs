//! `perfetto_fix` against an oracle: afterwards no slice crosses another on its lane, and nothing is lost.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::Path;

use proptest::prelude::*;
use rocm_perf_convert::perfetto_fix::{Error, Fixed, Options, fix};
use serde_json::{Value, json};

fn read(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap();
    let mut text = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap();
    } else {
        text = bytes;
    }
    serde_json::from_slice(&text).unwrap()
}

fn events(trace: &Value) -> &Vec<Value> {
    trace.get("traceEvents").unwrap_or(trace).as_array().unwrap()
}

fn ns(value: &Value) -> i64 {
    value.as_i64().map_or_else(|| (value.as_f64().unwrap() * 1000.0).round() as i64, |whole| whole * 1000)
}

/// (lane, start, end) of each slice that starts inside another one on its lane and ends after it.
fn crossings(trace: &Value) -> Vec<(String, i64, i64)> {
    let mut lanes: HashMap<String, Vec<(i64, i64)>> = HashMap::new();
    for event in events(trace).iter().filter(|e| e["ph"] == "X" && e["dur"].is_number()) {
        let start = ns(&event["ts"]);
        let lane = format!("{} {}", event["pid"], event["tid"]);
        lanes.entry(lane).or_default().push((start, start + ns(&event["dur"])));
    }
    let mut found = Vec::new();
    for (lane, mut slices) in lanes {
        slices.sort_by_key(|(start, end)| (*start, -end));
        let mut open: Vec<i64> = Vec::new();
        for (start, end) in slices {
            open.retain(|other| *other > start);
            if open.iter().any(|other| *other < end) {
                found.push((lane.clone(), start, end));
            }
            open.push(end);
        }
    }
    found
}

/// Each event as it was before: without a lane, with its first duration. Without names of added lanes.
fn contents(trace: &Value, added: &[i64]) -> Vec<String> {
    let mut all: Vec<String> = events(trace)
        .iter()
        .filter(|e| e["ph"] != "M" || !added.iter().any(|tid| e["tid"] == *tid))
        .map(|event| {
            let mut event = event.clone();
            let fields = event.as_object_mut().unwrap();
            fields.shift_remove("tid");
            let measured =
                fields.get_mut("args").and_then(|args| args.as_object_mut()?.shift_remove("orig_dur"));
            if fields.get("args").is_some_and(|args| *args == json!({})) {
                fields.shift_remove("args");
            }
            if let Some(measured) = measured {
                assert!(ns(&measured) > ns(&fields["dur"]), "a trimmed slice was longer: {event}");
                event["dur"] = measured;
            }
            event.to_string()
        })
        .collect();
    all.sort();
    all
}

/// Fixes a file and checks all invariants.
fn check(input: &Path, options: &Options) -> (Fixed, Value) {
    let folder = tempfile::tempdir().unwrap();
    let (once, twice) = (folder.path().join("once.json"), folder.path().join("twice.json"));
    let fixed = fix(input, &once, options, &|_| {}).unwrap();
    let (before, after) = (read(input), read(&once));
    if !options.gpu_only {
        assert_eq!(crossings(&after), []);
    }
    let added: Vec<i64> = fixed.lanes.iter().map(|lane| lane.tid).collect();
    assert_eq!(contents(&before, &added), contents(&after, &added));
    assert_eq!(fixed.events_in as usize, events(&before).len());
    assert_eq!(fixed.events_out as usize, events(&after).len());
    assert_eq!(fixed.events_out, fixed.events_in + 2 * fixed.lanes.len() as u64);
    if let (Value::Object(mut before), Value::Object(mut after)) = (before, after.clone()) {
        before.shift_remove("traceEvents");
        after.shift_remove("traceEvents");
        assert_eq!(before, after);
    }
    let again = fix(&once, &twice, options, &|_| {}).unwrap();
    assert_eq!((again.slices_moved, again.slices_snapped, again.lanes.len()), (0, 0, 0));
    assert!(std::fs::read(&once).unwrap() == std::fs::read(&twice).unwrap(), "a second run changes nothing");
    (fixed, after)
}

fn check_value(trace: &Value, options: &Options) -> (Fixed, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    std::fs::write(&path, trace.to_string()).unwrap();
    check(&path, options)
}

fn kernel(tid: i64, ts: f64, dur: f64, correlation: i64) -> Value {
    json!({"ph": "X", "cat": "kernel", "name": "k", "pid": 2, "tid": tid, "ts": ts, "dur": dur,
        "args": {"stream": tid, "correlation": correlation}})
}

fn flow(tid: i64, ts: f64, id: i64) -> Value {
    json!({"ph": "f", "id": id, "pid": 2, "tid": tid, "ts": ts, "cat": "ac2g", "name": "ac2g", "bp": "e"})
}

fn find<'a>(trace: &'a Value, phase: &str, ts: f64) -> Vec<&'a Value> {
    events(trace).iter().filter(|e| e["ph"] == phase && e["ts"] == ts).collect()
}

#[test]
fn a_crossing_kernel_moves_with_its_flow_to_a_named_lane() {
    let trace = json!({"schemaVersion": 1, "traceEvents": [
        {"ph": "M", "name": "thread_name", "pid": 2, "tid": 7, "args": {"name": "stream 7 "}},
        {"ph": "M", "name": "thread_sort_index", "pid": 2, "tid": 7, "args": {"sort_index": 7}},
        kernel(7, 20.0, 10.0, 5), flow(7, 20.0, 5), kernel(7, 15.0, 10.0, 5), flow(7, 15.0, 5),
        {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 40, "tid": 41, "ts": 0, "dur": 9},
    ], "traceName": "x"});
    let (fixed, after) = check_value(&trace, &Options::default());
    assert_eq!((fixed.slices_moved, fixed.slices_snapped, fixed.flows_moved), (1, 0, 1));
    let lane = &fixed.lanes[0];
    assert_eq!((lane.tid, lane.name.as_str(), lane.parent_tid.as_str()), (42, "stream 7 (overlap 1)", "7"));
    assert_eq!(
        (&find(&after, "X", 20.0)[0]["tid"], &find(&after, "f", 20.0)[0]["tid"]),
        (&json!(42), &json!(42))
    );
    assert_eq!(
        (&find(&after, "X", 15.0)[0]["tid"], &find(&after, "f", 15.0)[0]["tid"]),
        (&json!(7), &json!(7))
    );
    assert_eq!(find(&after, "X", 20.0)[0]["args"]["stream"], 7);
    let named: Vec<_> = events(&after).iter().filter(|e| e["ph"] == "M" && e["tid"] == 42).collect();
    assert_eq!(named[0]["args"]["name"], "stream 7 (overlap 1)");
    assert_eq!(
        (&named[1]["name"], &named[1]["args"]["sort_index"]),
        (&json!("thread_sort_index"), &json!(7))
    );
}

#[test]
fn a_crossing_below_the_threshold_is_trimmed_and_said() {
    let trace = json!([kernel(7, 10.0, 5.2, 1), kernel(7, 15.0, 4.0, 2)]);
    let (fixed, after) = check_value(&trace, &Options::default());
    assert_eq!((fixed.slices_moved, fixed.slices_snapped), (0, 1));
    let trimmed = find(&after, "X", 10.0)[0];
    assert_eq!((&trimmed["dur"], &trimmed["args"]["orig_dur"]), (&json!(5), &json!(5.2)));
    let (fixed, _) = check_value(&trace, &Options { snap_ns: 199, ..Options::default() });
    assert_eq!((fixed.slices_moved, fixed.slices_snapped), (1, 0));
}

#[test]
fn annotations_that_end_inside_a_kernel_get_their_own_lane() {
    let note = |ts: f64, dur: f64| json!({"ph": "X", "cat": "gpu_user_annotation", "name": "step", "pid": 2, "tid": 7, "ts": ts, "dur": dur});
    let trace = json!([note(9.999, 5.0), note(20.0, 3.0), kernel(7, 10.0, 5.0, 1), kernel(7, 20.0, 2.0, 2)]);
    let (fixed, after) = check_value(&trace, &Options::default());
    assert_eq!(fixed.lanes[0].name, "stream 7 (annotations)");
    assert_eq!((fixed.lanes.len(), fixed.slices_moved), (1, 2));
    assert!(events(&after).iter().filter(|e| e["cat"] == "kernel").all(|e| e["tid"] == 7));
}

#[test]
fn only_gpu_lanes_change_when_asked() {
    let host = |ts: f64, dur: f64| json!({"ph": "X", "cat": "cpu_op", "name": "op", "pid": 40, "tid": 41, "ts": ts, "dur": dur});
    let trace = json!([host(0.0, 10.0), host(5.0, 10.0), kernel(7, 0.0, 10.0, 1), kernel(7, 5.0, 10.0, 2)]);
    let (fixed, _) = check_value(&trace, &Options::default());
    assert_eq!(
        fixed.lanes.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(),
        ["thread 41 (overlap 1)", "stream 7 (overlap 1)"]
    );
    let (fixed, _) = check_value(&trace, &Options { gpu_only: true, ..Options::default() });
    assert_eq!(fixed.lanes.len(), 1);
}

#[test]
fn a_trace_without_crossings_stays_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.json"), folder.path().join("out.json"));
    let text = b"\xef\xbb\xbf { \"a\" :1e3,\n\"traceEvents\":[\t{\"ph\":\"X\",\"x\":\"\x01\\u0041\",\"ts\":NaN,\"dur\":1} , 7 ], \"z\":{} }\n";
    std::fs::write(&input, text).unwrap();
    let fixed = fix(&input, &output, &Options::default(), &|_| {}).unwrap();
    assert_eq!(std::fs::read(&output).unwrap(), text);
    assert_eq!((fixed.events_in, fixed.unreadable), (1, 1));
}

#[test]
fn a_cut_file_is_closed_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.json.gz"), folder.path().join("out.json.gz"));
    let kernels: Vec<Value> =
        (0..5000).map(|i| kernel(7, f64::from(i) * 3.0, 4.0, i64::from(i * 7919))).collect();
    let text = json!({"schemaVersion": 1, "traceEvents": kernels}).to_string();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    std::fs::write(&input, &packed[..packed.len() / 2]).unwrap();
    let fixed = fix(&input, &output, &Options::default(), &|_| {}).unwrap();
    assert!(fixed.cut.is_some() && fixed.events_in > 100 && fixed.events_in < 5000);
    let after = read(&output);
    assert_eq!(events(&after).len() as u64, fixed.events_out);
    assert_eq!(crossings(&after), []);
}

#[test]
fn what_cannot_be_fixed_is_an_error_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out/fixed.json");
    let attempt = |content: &[u8]| {
        let input = folder.path().join("in.json");
        std::fs::write(&input, content).unwrap();
        fix(&input, &output, &Options::default(), &|_| {}).unwrap_err()
    };
    assert!(matches!(attempt(b""), Error::Unreadable { .. }));
    for other in [&b"SQLite format 3\0"[..], b"{\"rocprofiler-sdk-tool\": []}", b"7", b"{\"traceEvents\": 3}"]
    {
        assert!(matches!(attempt(other), Error::NoEvents { .. }));
    }
    let absent = fix(&folder.path().join("none.json"), &output, &Options::default(), &|_| {});
    assert!(matches!(absent, Err(Error::Unreadable { .. })));
    let input = folder.path().join("in.json");
    std::fs::write(&input, "[]").unwrap();
    assert!(matches!(fix(&input, &input, &Options::default(), &|_| {}), Err(Error::SameFile { .. })));
    assert!(!output.exists());
}

#[test]
fn real_traces_nest_after_the_fix_and_lose_nothing() {
    let Some(folder) = testing::data("traces") else { return };
    // A CUDA trace with synchronisation on stream lanes, ROCm traces with annotations and crossing host frames.
    let cases = [
        ("hta_cp_simple_add.json.gz", 7),
        ("hta_mi250_minitoy_train.json.gz", 0),
        ("mi300_bert-small.json.gz", 1),
        ("sglang_decode/sglang_Qwen3-8B_decode.json.gz", 1),
        ("vllm_decode_full/graph_execution.json.gz", 0),
        ("hta_multirank_sampled/sampled_rank-0.json.gz", 0),
        ("torch_compile_triton.json.gz", 0),
        ("mi210_gpu_only.json.gz", 0),
    ];
    for (name, at_least) in cases {
        let before = crossings(&read(&folder.join(name))).len();
        let (fixed, _) = check(&folder.join(name), &Options::default());
        let changed = fixed.slices_moved + fixed.slices_snapped;
        assert!(
            changed >= at_least && (changed == 0) == (before == 0),
            "{name}: {fixed:?}, {before} crossings"
        );
    }
}

prop_compose! {
    fn random_event()(kind in 0..8usize, lane in 0..3i64, ts in 0..60i64, dur in 0..25i64, id in 0..5i64,
        note in any::<bool>()) -> Value {
        let (ts, dur) = (ts as f64 * 0.3, dur as f64 * 0.3);
        match kind {
            0 => flow(lane, ts, id),
            1 => json!({"ph": "X", "cat": "user_annotation", "name": "n", "pid": 9, "tid": lane, "ts": ts, "dur": dur}),
            2 => json!({"ph": "X", "cat": "python_function", "name": "p", "pid": 9, "tid": lane, "ts": ts, "dur": dur}),
            3 if note => json!({"ph": "X", "cat": "gpu_user_annotation", "name": "n", "pid": 2, "tid": lane, "ts": ts, "dur": dur}),
            4 if note => json!({"ph": "i", "name": "i", "pid": 2, "tid": lane, "ts": ts}),
            _ => kernel(lane, ts, dur, id),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]
    #[test]
    fn random_traces_nest_after_the_fix(list in prop::collection::vec(random_event(), 0..40), snap in 0..2000i64) {
        check_value(&json!({"traceEvents": list}), &Options { snap_ns: snap, gpu_only: false });
    }
}
