//! Torch traces queried by the same names, compared with counts from the JSON.

use crate::common;

use std::io::Read;
use std::path::Path;

use common::{number, rows};
use rocm_perf_query::{Session, Value};

const SMALL: &str = r#"{"schemaVersion": 1, "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 10.5, "dur": 40, "args": {"External id": 3}},
    {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 7, "tid": 7, "ts": 20, "dur": 5,
     "args": {"correlation": 11, "External id": 3}},
    {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 7, "tid": 7, "ts": 30, "dur": 5, "args": {"correlation": 12}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 3, "ts": 40, "dur": 8.25,
     "args": {"correlation": 11, "device": 0, "stream": 3, "grid": [4, 1, 1], "block": [64, 1, 1]}},
    {"ph": "X", "cat": "kernel", "name": "relu", "pid": 0, "tid": 3, "ts": 50, "dur": 1, "args": {"correlation": 12, "device": 0, "stream": 3}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 3, "ts": 60, "dur": 2,
     "args": {"correlation": 13, "device": 0, "stream": 3, "bytes": 4096}}
]}"#;

#[test]
fn existing_queries_run_on_a_torch_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    std::fs::write(&path, SMALL).unwrap();
    let session = Session::open(&[path], &Default::default()).unwrap();
    let launched = "SELECT K.name, R.name, K.duration FROM kernels K
                    JOIN regions R ON R.guid = K.guid AND R.stack_id = K.stack_id ORDER BY K.start";
    let text = |s: &str| Value::Text(s.to_string());
    assert_eq!(
        rows(&session, launched),
        [
            [text("gemm"), text("hipLaunchKernel"), Value::Integer(8250)],
            [text("relu"), text("hipLaunchKernel"), Value::Integer(1000)]
        ]
    );
    assert_eq!(
        rows(&session, "SELECT name, total_calls, total_duration FROM top_kernels"),
        [
            [text("gemm"), Value::Integer(1), Value::Real(8.25)],
            [text("relu"), Value::Integer(1), Value::Real(1.0)]
        ]
    );
    assert_eq!(number(&session, "SELECT size FROM memory_copies"), 4096);
    assert_eq!(number(&session, "SELECT count(*) FROM regions WHERE category = 'cpu_op'"), 1);
    for view in convert::rocpd::views::known() {
        rows(&session, &format!("SELECT * FROM {}", view.name));
    }
}

/// (kernels, their nanoseconds) in the JSON.
fn counted(path: &Path) -> (i64, f64) {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let events = json["traceEvents"].as_array().unwrap().iter();
    let kernels = events.filter(|e| e["ph"] == "X" && e["cat"] == "kernel");
    kernels.fold((0, 0.0), |(n, ns), e| (n + 1, ns + 1000.0 * e["dur"].as_f64().unwrap_or(0.0)))
}

#[test]
fn real_traces_have_the_kernels_that_their_json_has() {
    let names =
        ["mi300_bert-small.json.gz", "hta_mi250_minitoy_train.json.gz", "torch_compile_triton.json.gz"];
    for path in names.iter().filter_map(|name| testing::data(Path::new("traces").join(name))) {
        let session = Session::open(std::slice::from_ref(&path), &Default::default()).unwrap();
        let (kernels, ns) = counted(&path);
        assert!(kernels > 0, "{path:?}");
        assert_eq!(number(&session, "SELECT count(*) FROM kernels"), kernels, "{path:?}");
        assert_eq!(number(&session, "SELECT sum(total_calls) FROM top_kernels"), kernels, "{path:?}");
        let total = number(&session, "SELECT sum(duration) FROM kernels") as f64;
        assert!((total - ns).abs() <= kernels as f64, "{path:?}: {total} {ns}");
        for view in convert::rocpd::views::known() {
            rows(&session, &format!("SELECT * FROM {}", view.name));
        }
    }
}
