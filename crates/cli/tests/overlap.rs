//! `overlap` on a part of a run: the rest still shows where the part comes from.

use crate::common;

use std::collections::HashMap;
use std::path::Path;

use common::{json, run, synth};
use serde_json::Value;

#[test]
fn a_part_with_a_mapping_is_placed_as_in_triage() {
    let folder = tempfile::tempdir().expect("a folder");
    synth(&folder.path().join("run"), &["--scenario", "serving", "--seed", "3", "--steps", "4"]);
    let trace = folder.path().join("run/serving.rank0.json");
    let capture = folder.path().join("run/capture_traces");
    let capture = capture.to_str().expect("a path");
    let rows = |command: &str, inputs: &[&Path], more: &[&str]| -> Vec<Value> {
        let report = json(command, inputs, &[&["--mapping", capture, "--min-share", "0"], more].concat());
        report["tables"]["overlap_opportunities"].as_array().expect("a table").clone()
    };
    let key = |row: &Value| format!("{} {}", row["stage"], row["kernel_name"]);
    let whole: HashMap<String, Value> =
        rows("overlap", &[&trace], &[]).iter().map(|row| (key(row), row["python_scope"].clone())).collect();
    // Which rows each part must share with the whole: kernels in order on one stream have none, copies do.
    type Part = (&'static [&'static str], fn(&str) -> Option<bool>);
    let parts: [Part; 3] = [
        (&["--kernel", "HtoD|kvcache|rotary|Cijk|gemm"], |key| Some(key.contains("HtoD"))),
        (&["--stage", "decode"], |key| Some(key.starts_with("\"decode\""))),
        (&["--start", "50%"], |_| None),
    ];
    for (part, expected) in parts {
        let own = rows("overlap", &[&trace], part);
        assert_eq!(own, rows("triage", &[&trace], part), "{part:?}");
        assert!(!own.is_empty() && own.len() < whole.len(), "{part:?}: {} of {}", own.len(), whole.len());
        for row in &own {
            assert_eq!(whole.get(&key(row)), Some(&row["python_scope"]), "{part:?}");
            assert!(row["python_scope"].is_string(), "{row}");
        }
        let found: Vec<String> = own.iter().map(key).collect();
        for name in whole.keys() {
            if let Some(expected) = expected(name) {
                assert_eq!(found.contains(name), expected, "{part:?}: {name}");
            }
        }
    }
}

#[test]
fn a_share_above_a_hundred_is_refused_with_the_range() {
    let output = run(&["overlap", "any.json", "--min-share", "500"]);
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("expected a percentage from 0 to 100"), "{errors}");
}
