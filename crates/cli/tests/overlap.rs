//! `overlap` on a part of a run: the rest still tells where the part comes from.

mod common;

use std::collections::HashMap;
use std::path::Path;

use common::{json, synth};
use serde_json::Value;

#[test]
fn a_part_with_a_mapping_is_placed_as_in_triage() {
    let folder = tempfile::tempdir().expect("a folder");
    synth(&folder.path().join("run"), &["--scenario", "serving", "--seed", "3", "--steps", "4"]);
    let run = folder.path().join("run/serving.rank0.json");
    let capture = folder.path().join("run/capture_traces");
    let capture = capture.to_str().expect("a path");
    let rows = |command: &str, inputs: &[&Path], more: &[&str]| -> Vec<Value> {
        let report = json(command, inputs, &[&["--mapping", capture, "--min-share", "0"], more].concat());
        report["tables"]["overlap_opportunities"].as_array().expect("a table").clone()
    };
    let key = |row: &Value| format!("{} {}", row["stage"], row["kernel_name"]);
    let whole: HashMap<String, Value> =
        rows("overlap", &[&run], &[]).iter().map(|row| (key(row), row["python_scope"].clone())).collect();
    let mut seen = 0;
    for part in
        [&["--kernel", "Memcpy|kvcache|rotary|Cijk|gemm"][..], &["--stage", "decode"], &["--start", "50%"]]
    {
        let own = rows("overlap", &[&run], part);
        assert_eq!(own, rows("triage", &[&run], part), "{part:?}");
        // Kernels in line on one stream have no row; copies do.
        assert!(own.len() <= whole.len(), "{part:?}: {} of {}", own.len(), whole.len());
        seen += own.len();
        for row in &own {
            assert_eq!(whole.get(&key(row)), Some(&row["python_scope"]), "{part:?}");
            assert!(row["python_scope"].is_string(), "{row}");
        }
    }
    assert!(seen > 0);
}
