//! `perfetto-fix` end to end.

use crate::common;

use common::{json, run};

const CROSSING: &str = r#"{"traceEvents": [
{"ph": "X", "cat": "kernel", "name": "a", "pid": 2, "tid": 7, "ts": 10, "dur": 10, "args": {"correlation": 1}},
{"ph": "f", "id": 2, "pid": 2, "tid": 7, "ts": 15, "cat": "ac2g", "name": "ac2g", "bp": "e"},
{"ph": "X", "cat": "kernel", "name": "b", "pid": 2, "tid": 7, "ts": 15, "dur": 10, "args": {"correlation": 2}}
]}"#;

#[test]
fn counts_are_reported_and_the_file_is_readable_again() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("trace.json");
    std::fs::write(&input, CROSSING).unwrap();
    let report = json("perfetto-fix", &[folder.path()], &[]);
    let row = &report["tables"]["fix"][0];
    for (key, value) in
        [("events_in", 3), ("events_out", 5), ("lanes_added", 1), ("slices_moved", 1), ("flows_moved", 1)]
    {
        assert_eq!(row[key], value, "{key}");
    }
    assert_eq!(report["tables"]["lanes"][0]["name"], "stream 7 (overlap 1)");
    let output = folder.path().join("perfetto_fixed_trace.json");
    // Its own output in the folder is not a second trace.
    let again =
        json("perfetto-fix", &[folder.path()], &["--out", folder.path().join("x.json.gz").to_str().unwrap()]);
    assert_eq!(again["tables"]["fix"][0]["slices_moved"], 1);
    let twice = json("perfetto-fix", &[&output], &["--out", folder.path().join("y.json").to_str().unwrap()]);
    assert_eq!(twice["tables"]["fix"][0]["slices_moved"], 0);
    assert_eq!(std::fs::read(&output).unwrap(), std::fs::read(folder.path().join("y.json")).unwrap());
    assert_eq!(std::fs::read_to_string(&input).unwrap(), CROSSING);
}

#[test]
fn bad_inputs_are_one_line_with_code_2() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.json", "b.json"] {
        std::fs::write(folder.path().join(name), CROSSING).unwrap();
    }
    std::fs::write(folder.path().join("other.txt"), "hello").unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let cases = [
        (vec![path("other.txt")], "has no `traceEvents`"),
        (vec![path("none.json")], "cannot read"),
        (vec!["-".into()], "twice"),
        (vec![path("a.json"), path("b.json")], "takes one trace, there are 2"),
        (vec![path("a.json"), "--out".into(), path("a.json")], "never modified"),
        (vec![path("a.json"), "--out".into(), path("other.txt/x.json")], "cannot write"),
        (vec![path("a.json"), "--snap".into(), "soon".into()], "a time such as"),
    ];
    for (arguments, message) in cases {
        let output = run(&[vec!["perfetto-fix".to_string()], arguments].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(message), "{errors}");
    }
}
