//! `triage` end to end: what a person sees, the artifacts, and the response to bad input.

use crate::common;

use std::path::Path;

use common::{SMALL_TORCH, rocm_perf, run, shared_data, synth};
use serde_json::Value;

/// A small serving run with graphs, its capture and its graph-off trace.
fn serving(folder: &Path) {
    synth(folder, &["--scenario", "serving", "--seed", "3", "--steps", "4"]);
}

fn screen(folder: &Path, width: usize, arguments: &[&str]) -> String {
    let output = rocm_perf()
        .current_dir(folder)
        .env("COLUMNS", width.to_string())
        .args(arguments)
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Standard error of a run that must fail.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = rocm_perf().current_dir(folder).args(arguments).output().expect("the binary runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(
        output.stdout.is_empty() && errors.starts_with("error: ") && errors.lines().count() <= 2,
        "{errors}"
    );
    errors
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON")
}

#[test]
fn a_run_with_its_capture_as_a_person_sees_it() {
    let folder = tempfile::tempdir().unwrap();
    serving(&folder.path().join("run"));
    insta::assert_snapshot!(screen(folder.path(), 100, &["triage", "run", "--limit", "6"]));
}

#[test]
fn the_same_as_json() {
    let folder = tempfile::tempdir().unwrap();
    serving(&folder.path().join("run"));
    let text = screen(folder.path(), 100, &["triage", "run", "--format", "json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    let rows = report["tables"]["kernel_table"].as_array().unwrap();
    let key = |row: &Value| {
        format!(
            "{} {} {} {} {} {}",
            row["stage"].as_str().unwrap(),
            row["display_name"].as_str().unwrap(),
            row["category"].as_str().unwrap(),
            row["cpu_op"].as_str().unwrap_or("–"),
            row["module"].as_str().unwrap_or("–"),
            row["mapping_source"].as_str().unwrap(),
        )
    };
    insta::assert_snapshot!(rows.iter().map(key).collect::<Vec<_>>().join("\n"));
    let located =
        report["health"]["checks"].as_array().unwrap().iter().find(|check| check["id"] == "located");
    assert_eq!(located.unwrap()["value"], 100);
    for table in ["overlap_opportunities", "fuse_opportunities"] {
        assert!(report["tables"][table].is_array(), "{table}");
    }
    assert_eq!(text, screen(folder.path(), 100, &["triage", "run", "--format", "json"]));
}

#[test]
fn a_mapping_trace_does_what_a_capture_does() {
    let folder = tempfile::tempdir().unwrap();
    serving(&folder.path().join("run"));
    let of = |more: &[&str]| -> Value {
        let arguments = [&["triage", "run/serving.rank0.json", "--format", "json"], more].concat();
        serde_json::from_str(&screen(folder.path(), 100, &arguments)).unwrap()
    };
    let decode = |report: &Value| -> Vec<(String, String)> {
        let rows = report["tables"]["kernel_table"].as_array().unwrap();
        rows.iter()
            .filter(|row| row["stage"] == "decode")
            .map(|row| (row["kernel_name"].to_string(), row["python_location"].to_string()))
            .collect()
    };
    let alone = of(&[]);
    let capture = of(&["--mapping", "run/capture_traces"]);
    let graph_off = of(&["--mapping-input", "run/mapping"]);
    assert_eq!(decode(&capture), decode(&graph_off));
    assert_ne!(decode(&capture), decode(&alone));
    let sources = |report: &Value| report["tables"]["kernel_table"][0]["mapping_source"].clone();
    assert_eq!(sources(&alone), "eager");
    assert_eq!(capture["inputs"].as_array().unwrap().len(), 2);
}

#[test]
fn artifacts_fit_their_schemas_and_know_where_facts_come_from() {
    let folder = tempfile::tempdir().unwrap();
    serving(&folder.path().join("run"));
    let args =
        r#"{"model_path": "Qwen/Qwen3-8B", "tp_size": 1, "api_key": "k-secret-1", "internal_states": [1]}"#;
    std::fs::write(folder.path().join("run/server_args.json"), args).unwrap();
    std::fs::write(folder.path().join("bench.yaml"), "abc").unwrap();
    std::fs::write(folder.path().join("known.json"), r#"{"base_image": "from-file", "trial_id": "t9"}"#)
        .unwrap();
    let arguments = [
        "triage",
        "run",
        "--out=out",
        "--perfetto-fix",
        "--experiment-id=e1",
        "--base-image=rocm/sglang:1",
        "--gpu-ids=3",
        "--gpu-clocks=3=2100",
        "--preflight-passed",
        "--benchmark-config=bench.yaml",
        "--metadata=known.json",
        "--resource-class=single-gpu",
    ];
    let text = screen(folder.path(), 100, &arguments);
    assert!(text.contains("wrote profile_summary.md"), "{text}");
    let out = folder.path().join("out");
    for (name, schema) in analysis::serving::triage::SCHEMAS {
        let problems =
            formats::json_schema::problems(&serde_json::from_str(schema).unwrap(), &json(&out.join(name)));
        assert!(problems.is_empty(), "{name}: {problems:?}");
    }
    let metadata = json(&out.join("profile_metadata.json"));
    let expected = [
        ("experiment_id", "e1"),
        ("trial_id", "t9"),
        ("base_image", "rocm/sglang:1"),
        ("model_name", "Qwen/Qwen3-8B"),
        ("observed_arch", "gfx942"),
        ("arch_match", "compatible"),
        ("profile_stage", "all"),
        ("source_trace_path", "../run/serving.rank0.json"),
        // SHA-256 of `abc`, from FIPS 180-2.
        ("benchmark_config_hash", "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ];
    for (field, value) in expected {
        assert_eq!(metadata[field], value, "{field}");
    }
    assert_eq!(metadata["gpu_device_ids"], serde_json::json!([3]));
    assert_eq!(metadata["server_flags"], serde_json::json!({"model_path": "Qwen/Qwen3-8B", "tp_size": 1}));
    assert!(metadata["hardware_relevance_reason"].as_str().unwrap().contains("gfx950"));
    assert!(metadata["absent"]["server_flags.api_key"].is_string());
    for file in std::fs::read_dir(&out).unwrap().flatten() {
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(!text.contains("k-secret-1"), "{:?} holds a secret", file.path());
    }
    let summary = std::fs::read_to_string(out.join("profile_summary.md")).unwrap();
    for part in ["# Profile summary", "Qwen/Qwen3-8B", "gfx942", "## Kernels", "## Fusion", "busy", "located"]
    {
        assert!(summary.contains(part), "{part}");
    }
    // The fixed trace in the folder is not a second run.
    assert!(screen(folder.path(), 100, &["triage", "run", "--out", "run"]).contains("wrote"));
    assert!(screen(folder.path(), 100, &["triage", "run"]).contains("Kernels"));
}

#[test]
fn a_schema_refuses_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    serving(&folder.path().join("run"));
    screen(folder.path(), 100, &["triage", "run", "--out", "out"]);
    let schema_of = |name: &str| -> Value {
        let (_, text) =
            analysis::serving::triage::SCHEMAS.into_iter().find(|(file, _)| *file == name).unwrap();
        serde_json::from_str(text).unwrap()
    };
    let table = json(&folder.path().join("out/kernel_table.json"));
    let breaks: [(&str, Value); 5] = [
        ("stage", "warm".into()),
        ("total_ns", 1.5.into()),
        ("time_share_pct", 101.into()),
        ("mapping_source", "guess".into()),
        ("sites", Value::Array(Vec::new())),
    ];
    for (field, value) in breaks {
        let mut wrong = table.clone();
        wrong[0][field] = value;
        assert_eq!(
            formats::json_schema::problems(&schema_of("kernel_table.json"), &wrong).len(),
            1,
            "{field}"
        );
    }
    let mut missing = table.clone();
    missing[0].as_object_mut().unwrap().remove("python_location");
    assert_eq!(formats::json_schema::problems(&schema_of("kernel_table.json"), &missing).len(), 1);
    assert!(
        !formats::json_schema::problems(&schema_of("kernel_table.json"), &serde_json::json!({})).is_empty()
    );
}

#[test]
fn ranks_stages_and_runs_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    synth(&folder.path().join("ranks"), &["--scenario", "training", "--ranks", "2", "--steps", "2"]);
    let text = screen(folder.path(), 100, &["triage", "ranks", "--limit", "1"]);
    assert!(text.contains("rank 0 of ranks 0, 1"), "{text}");
    let other = screen(folder.path(), 100, &["triage", "ranks", "--rank", "1", "--limit", "1"]);
    assert!(other.contains("rank 1 of ranks 0, 1"), "{other}");
    assert!(refused(folder.path(), &["triage", "ranks", "--rank", "5"]).contains("there is no rank 5"));
    serving(&folder.path().join("run"));
    let stage = screen(folder.path(), 100, &["triage", "run", "--stage", "decode"]);
    assert!(!stage.contains("prefill "), "{stage}");
    assert!(
        refused(folder.path(), &["triage", "run", "--stage", "mixed"])
            .contains("stages in this run: prefill, decode")
    );
}

#[test]
fn bad_input_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    serving(&at("run"));
    // Two runs of one rank.
    std::fs::create_dir_all(at("runs")).unwrap();
    std::fs::write(at("runs/a.json"), SMALL_TORCH).unwrap();
    std::fs::write(at("runs/b.json"), SMALL_TORCH.replace("relu", "gelu")).unwrap();
    let several = refused(folder.path(), &["triage", "runs"]);
    assert!(
        several.contains("2 runs") && several.contains("a.json") && several.contains("b.json"),
        "{several}"
    );
    // Another model's mapping.
    let other = refused(folder.path(), &["triage", "run/serving.rank0.json", "--mapping", "runs/a.json"]);
    assert!(other.contains("a different model") && other.contains(" 0 of the "), "{other}");
    // No GPU work at all.
    let host = r#"{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 5, "args": {}}]}"#;
    std::fs::write(at("host.json"), host).unwrap();
    assert!(refused(folder.path(), &["triage", "host.json"]).contains("no GPU work in `host.json`"));
    let capture = refused(folder.path(), &["triage", "run/capture_traces/serving.capture.rank0.json"]);
    assert!(capture.contains("--mapping"), "{capture}");
    // A folder that is a file.
    std::fs::write(at("file"), "").unwrap();
    let unwritable = refused(folder.path(), &["triage", "run", "--out", "file/out"]);
    assert!(unwritable.contains("cannot write artifacts to `file/out`"), "{unwritable}");
    // Wrong metadata leaves nothing behind.
    std::fs::write(at("wrong.json"), r#"{"gpu_device_ids": "all"}"#).unwrap();
    let wrong = refused(folder.path(), &["triage", "run", "--out", "new", "--metadata", "wrong.json"]);
    assert!(wrong.contains("`gpu_device_ids` must be a list of whole numbers"), "{wrong}");
    assert_eq!(std::fs::read_dir(at("new")).map_or(0, |entries| entries.count()), 0);
    for bad in [["--min-share", "101"], ["--stage", "warm"], ["--rules", "absent.toml"]] {
        let arguments = [&["triage", "run"], &bad[..]].concat();
        let output = rocm_perf().current_dir(folder.path()).args(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{bad:?}");
    }
}

#[test]
fn real_pairs_are_located_whole() {
    let Some(data) = shared_data() else { return };
    for name in ["sglang_decode", "vllm_decode_full"] {
        let path = data.join("traces").join(name);
        let output = run(&["triage", "--format", "json", path.to_str().unwrap()]);
        assert!(output.status.success());
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = report["health"]["checks"].as_array().unwrap();
        let value =
            |id: &str| checks.iter().find(|check| check["id"] == id).unwrap()["value"].as_f64().unwrap();
        assert_eq!((value("located"), value("graph_join")), (100.0, 100.0), "{name}");
        assert!(value("classified") >= 99.5, "{name}");
    }
}
