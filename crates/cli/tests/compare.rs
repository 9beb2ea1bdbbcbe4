//! `compare` from end to end: pairs of simulated runs, gates, refusals, real traces.

use crate::common;

use std::path::{Path, PathBuf};

use common::{json, rocm_perf, run, shared_data, stdout, synth};
use serde_json::{Value, json};

/// Runs with seeds from `first` on in `folder/run<i>`, with the kernels whose name contains a text slowed
/// down.
fn repeats(folder: &Path, first: u64, count: u64, scale: Option<&str>) -> PathBuf {
    for i in 0..count {
        let seed = (first + i).to_string();
        let mut arguments = vec!["--scenario", "serving", "--steps", "6", "--to", "rocpd", "--seed", &seed];
        arguments.extend(scale.iter().flat_map(|scale| ["--scale", scale]));
        synth(&folder.join(format!("run{i}")), &arguments);
    }
    folder.to_path_buf()
}

fn rows<'a>(report: &'a Value, table: &str) -> &'a Vec<Value> {
    report["tables"][table].as_array().unwrap_or_else(|| panic!("no table {table}"))
}

fn refused(arguments: &[&str]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    errors
}

#[test]
fn a_slower_kernel_is_named_explained_and_fails_the_gate() {
    let folder = tempfile::tempdir().expect("a folder");
    let base = repeats(&folder.path().join("base"), 1, 3, None);
    let slow = repeats(&folder.path().join("slow"), 11, 3, Some("FmhaBatchPrefill=1.3"));
    let report = json("compare", &[&base, &slow], &[]);
    assert_eq!(report["inputs"].as_array().map(Vec::len), Some(6), "three repeats on each side");
    for row in rows(&report, "kernels") {
        let name = row["name"].as_str().expect("a name");
        let expected =
            if name.contains("FmhaBatchPrefill") { vec!["slower"] } else { vec!["same", "inconclusive"] };
        assert!(expected.contains(&row["verdict"].as_str().expect("a verdict")), "{row}");
        if name.contains("FmhaBatchPrefill") {
            let figure = |key: &str| row[key].as_f64().expect("a number");
            assert!(figure("ci_low_pct") < 30.0 && figure("ci_high_pct") > 30.0, "{row}");
            assert!(
                (figure("delta_pct") - 100.0 * (figure("candidate_ns") / figure("base_ns") - 1.0)).abs()
                    < 1e-3
            );
        }
    }
    // The waterfall adds up to the change of the span, to the nanosecond.
    let span = rows(&report, "end_to_end").iter().find(|row| row["name"] == "span").expect("a span");
    let change = span["candidate_ns"].as_i64().expect("ns") - span["base_ns"].as_i64().expect("ns");
    let sum: i64 =
        rows(&report, "waterfall").iter().map(|row| row["contribution_ns"].as_i64().expect("ns")).sum();
    assert_eq!(sum, change);
    let paths = [base.to_str().expect("a path"), slow.to_str().expect("a path")];
    let gate = |gates: &[&str]| {
        let mut command = rocm_perf();
        command.arg("compare").args(paths);
        gates.iter().for_each(|gate| _ = command.args(["--fail-on", gate]));
        let output = command.output().expect("the binary runs");
        assert!(!output.stdout.is_empty(), "the report is printed all the same");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, errors) = gate(&["kernel:fmha>+5%", "category:gemm>+5%"]);
    assert_eq!(code, Some(1), "{errors}");
    assert!(
        errors.contains("gate `kernel:fmha>+5%`") && errors.contains('%') && errors.contains("between"),
        "{errors}"
    );
    assert!(!errors.contains("category:gemm"), "{errors}");
    assert_eq!(gate(&["kernel:fmha>+60%", "category:gemm>+5%", "region:hipLaunch.*>+500%"]).0, Some(0));
    // In reverse order the same runs are faster, also when given by name.
    let named: Vec<String> = (0..3).map(|i| slow.join(format!("run{i}")).display().to_string()).collect();
    let mut arguments = vec!["compare".to_string(), "--format".into(), "json".into(), "--base".into()];
    arguments.extend(named);
    arguments.extend(["--candidate".into(), base.display().to_string()]);
    let turned: Value = serde_json::from_str(&stdout(&arguments)).expect("JSON");
    let fmha = rows(&turned, "kernels")
        .iter()
        .find(|row| row["display_name"].as_str().is_some_and(|n| n.contains("fmha")));
    assert_eq!(fmha.expect("the kernel")["verdict"], "faster");
}

#[test]
fn a_run_compared_with_itself_is_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let base = repeats(folder.path(), 1, 1, None);
    let report = json("compare", &[&base, &base], &[]);
    for table in ["kernels", "categories", "waterfall"] {
        for row in rows(&report, table) {
            assert!(["same", "inconclusive"].contains(&row["verdict"].as_str().expect("a verdict")), "{row}");
        }
    }
    let ids: Vec<&str> = report["health"]["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .filter_map(|c| c["id"].as_str())
        .collect();
    assert!(ids.contains(&"single_run") && ids.contains(&"comparability"), "{ids:?}");
    let first = &report["findings"][0];
    assert!(first["title"].as_str().is_some_and(|title| title.contains("the same recording")), "{first}");
    assert_eq!(json("compare", &[&base, &base], &[]), report, "the same input gives the same output");
}

/// The outcome of one gate between two traces: exit code, its row in the table, and what went to the terminal.
fn gate(sides: [&Path; 2], gate: &str, more: &[&str]) -> (Option<i32>, Value, String) {
    let mut command = rocm_perf();
    command.args(["compare", "--format", "json", "--fail-on", gate]).args(sides).args(more);
    let output = command.output().expect("the binary runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"));
    let row = report["tables"]["gates"][0].clone();
    if row["status"] == "cannot_judge" {
        let title = report["findings"][0]["title"].as_str().expect("a finding");
        assert!(title.contains(gate) && title.contains("cannot be judged"), "shown first: {title}");
    }
    (output.status.code(), row, errors)
}

/// A torch trace of `calls` kernels of 10 µs with `gap` µs between them, on a GPU, with a model if one is
/// named.
fn trace_of(path: &Path, gpu: &str, model: &str, calls: usize, gap: f64) {
    let mut events: Vec<Value> = (0..calls)
        .map(|i| {
            json!({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 0, "ts": 100.0 + i as f64 * (10.0 + gap),
                "dur": 10.0, "args": {"device": 0, "stream": 0, "correlation": i + 1}})
        })
        .collect();
    for name in [format!("nn.Module: {model}_0"), "sglang/srt/model_runner.py(10): forward".into()] {
        if !model.is_empty() {
            events.push(
                json!({"ph": "X", "cat": "python_function", "name": name, "pid": 1, "tid": 1, "ts": 90.0,
                "dur": 50.0, "args": {"Python id": events.len()}}),
            );
        }
    }
    let device = json!([{"id": 0, "name": gpu, "numSms": 304}]);
    let trace = json!({"schemaVersion": 1, "deviceProperties": device, "traceEvents": events});
    std::fs::write(path, trace.to_string()).expect("a trace");
}

#[test]
fn an_idle_gate_of_two_single_runs_is_not_a_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    let (base, candidate) = (folder.path().join("a.json"), folder.path().join("b.json"));
    trace_of(&base, "AMD Instinct MI300X", "LlamaForCausalLM", 50, 10.0);
    trace_of(&candidate, "AMD Instinct MI300X", "LlamaForCausalLM", 50, 24.1);
    let (code, row, errors) = gate([&base, &candidate], "idle>+10%", &[]);
    assert_eq!((code, &row["status"]), (Some(1), &json!("cannot_judge")), "{errors}");
    assert!((row["delta_pct"].as_f64().expect("a change") - 141.0).abs() < 0.5, "{row}");
    assert!(row["reason"].as_str().is_some_and(|why| why.contains("no interval")), "{row}");
    assert!(errors.contains("--fail-on-point") && errors.contains("--base RUN RUN"), "{errors}");
    let (code, row, _) = gate([&base, &candidate], "idle>+10%", &["--fail-on-point"]);
    assert_eq!((code, &row["status"]), (Some(1), &json!("fail")));
    let (code, row, _) = gate([&base, &candidate], "total>+10%", &[]);
    assert_eq!((code, &row["status"]), (Some(0), &json!("pass")), "{row}");
}

#[test]
fn a_gate_on_something_that_is_not_there_is_not_a_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    let (base, candidate) = (folder.path().join("a.json"), folder.path().join("b.json"));
    trace_of(&base, "AMD Instinct MI300X", "LlamaForCausalLM", 50, 10.0);
    trace_of(&candidate, "AMD Instinct MI300X", "LlamaForCausalLM", 51, 10.0);
    for (absent, why) in [
        ("kernel:absent>3%", "no such kernel"),
        ("category:attention>3%", "no such category"),
        ("region:absent>3%", "no such region"),
    ] {
        let (code, row, errors) = gate([&base, &candidate], absent, &[]);
        assert_eq!((code, &row["status"]), (Some(1), &json!("cannot_judge")), "{errors}");
        assert!(errors.contains(why) && errors.contains("help:"), "{errors}");
    }
}

#[test]
fn a_gate_on_unknown_ground_needs_an_assumption() {
    let folder = tempfile::tempdir().expect("a folder");
    let (base, candidate) = (folder.path().join("a.json"), folder.path().join("b.json"));
    trace_of(&base, "AMD Instinct MI300X", "", 50, 10.0);
    trace_of(&candidate, "AMD Instinct MI300X", "LlamaForCausalLM", 50, 11.0);
    let (code, row, errors) = gate([&base, &candidate], "total>+10%", &[]);
    assert_eq!((code, &row["status"]), (Some(1), &json!("cannot_judge")), "{errors}");
    assert!(
        errors.contains("the same framework, model") && errors.contains("--assume-comparable"),
        "{errors}"
    );
    let (code, row, errors) = gate([&base, &candidate], "total>+10%", &["--assume-comparable"]);
    assert_eq!((code, &row["status"]), (Some(0), &json!("pass")), "{errors}");
    let report = json("compare", &[&base, &candidate], &[]);
    let facts = rows(&report, "comparability");
    let status = |fact: &str| facts.iter().find(|row| row["fact"] == fact).expect("a fact")["status"].clone();
    assert_eq!((status("GPU"), status("model")), (json!("same"), json!("unknown")));
}

#[test]
fn other_gpus_and_models_are_refused_unless_forced() {
    let folder = tempfile::tempdir().expect("a folder");
    let (base, candidate) = (folder.path().join("a.json"), folder.path().join("b.json"));
    trace_of(&base, "AMD Instinct MI300X", "LlamaForCausalLM", 50, 10.0);
    let paths = [base.to_str().expect("a path"), candidate.to_str().expect("a path")];
    trace_of(&candidate, "NVIDIA B300", "LlamaForCausalLM", 50, 10.0);
    let errors = refused(&["compare", paths[0], paths[1]]);
    assert!(
        errors.contains("differ in GPU (MI300X → NVIDIA B300)") && errors.contains("--force"),
        "{errors}"
    );
    trace_of(&candidate, "AMD Instinct MI300X", "Qwen3ForCausalLM", 50, 11.0);
    let errors = refused(&["compare", paths[0], paths[1]]);
    assert!(errors.contains("model (LlamaForCausalLM → Qwen3ForCausalLM)"), "{errors}");
    let report = json("compare", &[&base, &candidate], &["--force"]);
    assert!(report["findings"][0]["title"].to_string().contains("not comparable"), "{}", report["findings"]);
    let (code, row, _) = gate([&base, &candidate], "total>+10%", &["--force"]);
    assert_eq!((code, &row["status"]), (Some(1), &json!("cannot_judge")));
}

#[test]
fn a_kernel_called_151_times_and_then_once_is_not_inconclusive() {
    let folder = tempfile::tempdir().expect("a folder");
    let (base, candidate) = (folder.path().join("a.json"), folder.path().join("b.json"));
    trace_of(&base, "AMD Instinct MI300X", "LlamaForCausalLM", 151, 1.0);
    trace_of(&candidate, "AMD Instinct MI300X", "LlamaForCausalLM", 1, 1.0);
    let report = json("compare", &[&base, &candidate], &[]);
    let row = &rows(&report, "kernels")[0];
    assert_eq!(
        (&row["verdict"], &row["calls_change"]),
        (&json!("calls changed"), &json!("151 → 1")),
        "{row}"
    );
    // With samples on both sides, statistics decide.
    trace_of(&candidate, "AMD Instinct MI300X", "LlamaForCausalLM", 75, 1.0);
    let report = json("compare", &[&base, &candidate], &[]);
    let row = &rows(&report, "kernels")[0];
    assert_eq!((&row["verdict"], &row["calls_change"]), (&json!("faster"), &json!("151 → 75")), "{row}");
}

#[test]
fn runs_made_differently_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let (base, candidate) = (folder.path().join("a"), folder.path().join("b"));
    for side in [&base, &candidate] {
        std::fs::create_dir(side).expect("a folder");
        std::fs::write(side.join("t.json"), common::SMALL_TORCH).expect("a trace");
    }
    let facts = json!({"base_image": "rocm:7.0", "resource_class": "single-gpu", "gpu_device_ids": [0],
        "server_flags": {"tp_size": 1}, "benchmark_config_hash": "sha256:1", "observed_arch": "gfx942",
        "profile_stage": "decode"});
    let write = |side: &Path, name: &str, facts: &Value| {
        std::fs::write(side.join(name), facts.to_string()).expect("facts")
    };
    let paths = [base.to_str().expect("a path"), candidate.to_str().expect("a path")];
    write(&base, "profile_metadata.json", &facts);
    let errors = refused(&["compare", paths[0], paths[1]]);
    assert!(errors.contains("base_image (`rocm:7.0` → unknown)") && errors.contains("--force"), "{errors}");
    let mut other = facts.clone();
    other["server_flags"] = json!({"tp_size": 2});
    other["gpu_device_ids"] = json!([1]);
    write(&candidate, "run.json", &other);
    let errors = refused(&["compare", paths[0], paths[1]]);
    assert!(errors.contains("gpu_device_ids (`[0]` → `[1]`)") && errors.contains("server_flags"), "{errors}");
    assert!(!errors.contains("base_image"), "{errors}");
    let forced = json("compare", &[&base, &candidate], &["--force"]);
    assert!(forced["health"].to_string().contains("made differently: gpu_device_ids"));
    write(&candidate, "run.json", &facts);
    let agreed = json("compare", &[&base, &candidate], &[]);
    assert!(!agreed["health"].to_string().contains("comparability"), "{}", agreed["health"]);
    std::fs::write(candidate.join("run.json"), "{").expect("a file");
    assert!(refused(&["compare", paths[0], paths[1]]).contains("run.json"));
}

#[test]
fn bad_gates_and_bad_sides_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.json");
    std::fs::write(&path, common::SMALL_TORCH).expect("a trace");
    let trace = path.to_str().expect("a path");
    for (gate, part) in
        [("total+3%", "no `>`"), ("total>3", "character 8"), ("kernel:(>3%", "unclosed group")]
    {
        let errors = refused(&["compare", trace, trace, "--fail-on", gate]);
        assert!(
            errors.contains(part) && errors.contains(gate) && errors.contains("help:"),
            "{gate}: {errors}"
        );
    }
    assert!(refused(&["compare"]).contains("no runs given"));
    assert!(refused(&["compare", trace, "absent.json"]).contains("absent.json"));
    let one = run(&["compare", trace]);
    assert_eq!(one.status.code(), Some(2));
}

/// TraceLens' report diff only counts kernels that are linked to a launch; ours counts all, so its sums over
/// names are compared with those of `compare` if every call of the name is linked on that side.
#[test]
fn real_traces_of_two_vendors_have_the_sums_of_tracelens() {
    let Some(data) = shared_data() else { return };
    let traces = data.join("traces");
    let (h100, mi300) = (traces.join("h100_qwen1.5-0.5b.json.gz"), traces.join("mi300_qwen1.5-0.5b.json.gz"));
    let paths = [h100.to_str().expect("a path"), mi300.to_str().expect("a path")];
    let errors = refused(&["compare", paths[0], paths[1]]);
    assert!(errors.contains("differ in GPU (") && errors.contains("--force"), "{errors}");
    let report = json("compare", &[&h100, &mi300], &["--force"]);
    assert!(report["findings"].to_string().contains("not comparable: different GPU"));
    let expected = traces.join("expected/compare_h100_vs_mi300_qwen/kernel_summary.csv");
    let mut csv = csv::Reader::from_path(expected).expect("the expected sums");
    let headings = csv.headers().expect("headings").clone();
    let column = |name: &str| headings.iter().position(|heading| heading == name).expect("a column");
    let sides = [
        (column("h100::Kernel duration (µs)_sum"), column("h100::Kernel duration (µs)_count")),
        (column("mi300::Kernel duration (µs)_sum"), column("mi300::Kernel duration (µs)_count")),
    ];
    let mut sums: std::collections::BTreeMap<(String, usize), (f64, f64)> = Default::default();
    for record in csv.records().map(|record| record.expect("a row")) {
        for (side, (sum, count)) in sides.iter().enumerate() {
            let (Ok(sum), Ok(count)) = (record[*sum].parse::<f64>(), record[*count].parse::<f64>()) else {
                continue;
            };
            let total = sums.entry((record[0].to_string(), side)).or_default();
            *total = (total.0 + sum, total.1 + count);
        }
    }
    let keys = [("base_ns", "base_calls"), ("candidate_ns", "candidate_calls")];
    let (mut compared, mut unlinked) = (0, 0);
    for row in rows(&report, "kernels") {
        for (side, (total, calls)) in keys.iter().enumerate() {
            let own = if side == 1 { row["matched_name"].as_str() } else { None };
            let name = own.or(row["name"].as_str()).expect("a name").to_string();
            let Some(calls) = row[*calls].as_f64() else { continue };
            match sums.get(&(name.clone(), side)) {
                Some((sum, count)) if *count == calls => {
                    let found = row[*total].as_f64().expect("ns") / 1000.0;
                    assert!((found - sum).abs() <= 0.001 * calls, "{name}: {found} and {sum}");
                    compared += 1;
                }
                _ => unlinked += 1,
            }
        }
    }
    println!("{compared} sums are equal, {unlinked} have calls without a launch");
    assert!(compared >= 10, "{compared} sums compared");
}

#[test]
fn by_ops_the_span_is_explained_by_places() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |name: &str, seed: &str| {
        synth(&folder.path().join(name), &["--scenario", "serving", "--seed", seed, "--steps", "4"]);
        folder.path().join(name).join("serving.rank0.json")
    };
    let (base, candidate) = (run("a", "3"), run("b", "4"));
    let report = json("compare", &[&base, &candidate], &["--by", "ops"]);
    let matched = report["result"]["matched_pct"].as_f64().expect("a share");
    assert!(matched >= 95.0, "{matched}");
    let span =
        report["tables"]["end_to_end"].as_array().unwrap().iter().find(|row| row["name"] == "span").unwrap();
    let change = span["candidate_ns"].as_i64().unwrap() - span["base_ns"].as_i64().unwrap();
    let causes = report["tables"]["waterfall"].as_array().unwrap();
    assert_eq!(causes.iter().map(|row| row["contribution_ns"].as_i64().unwrap()).sum::<i64>(), change);
    assert!(causes.iter().any(|row| row["name"].as_str().unwrap().contains(" > ")), "places have paths");
    let places = report["tables"]["places"].as_array().unwrap();
    assert!(places.iter().any(|row| row["match"] == "same" && row["base_kernels"].is_string()));
}
