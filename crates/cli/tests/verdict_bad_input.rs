//! Traces that cannot be judged: the verdict says what is missing and does not guess.

use crate::common;

use std::path::{Path, PathBuf};

use common::{files, run, synth};
use serde_json::{Value, json};

const COMMANDS: [&str; 4] = ["explain", "triage", "summary", "critical-path"];
const GPU: [&str; 4] = ["kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation"];
const HOST: [&str; 4] = ["cpu_op", "python_function", "cuda_runtime", "user_annotation"];

/// A folder with a short trace of a launch-bound run, for tests to damage.
struct Bad {
    folder: tempfile::TempDir,
    trace: Value,
}

impl Bad {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let made = folder.path().join("made");
        synth(&made, &["--scenario", "launch-bound", "--steps", "2", "--to", "torch"]);
        let text = std::fs::read_to_string(&files(&made, "rank0.json")[0]).expect("a trace");
        Self { trace: serde_json::from_str(&text).expect("JSON"), folder }
    }

    fn events(&self) -> Vec<Value> {
        self.trace["traceEvents"].as_array().expect("events").clone()
    }

    /// The same trace with other events.
    fn with(&self, name: &str, events: Vec<Value>) -> PathBuf {
        let mut trace = self.trace.clone();
        trace["traceEvents"] = Value::Array(events);
        self.write(name, &trace.to_string())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }
}

fn is_of(event: &Value, categories: &[&str]) -> bool {
    event["cat"].as_str().is_some_and(|category| categories.contains(&category))
}

/// Exit code, the verdict of the JSON report if there is one, and everything a person reads.
fn said(command: &str, trace: &Path) -> (i32, Value, String) {
    let trace = trace.to_str().expect("a path");
    let report = run(&[command, trace, "--format", "json"]);
    let screen = run(&[command, trace]);
    let report = serde_json::from_slice::<Value>(&report.stdout).unwrap_or(json!({}));
    let text =
        [screen.stdout, screen.stderr].map(|part| String::from_utf8_lossy(&part).into_owned()).concat();
    assert!(!text.contains("panicked"), "{command}: {text}");
    (screen.status.code().expect("an exit code"), report["verdict"].clone(), text)
}

/// The verdict is not trusted, gives a reason with this word, names no bound and promises no gain.
fn cannot_judge(command: &str, trace: &Path, why: &str) {
    let (code, verdict, text) = said(command, trace);
    assert_eq!(code, 0, "{command}: {text}");
    assert_eq!(verdict["trusted"], false, "{command}: {verdict}");
    assert!(verdict["why_not"].as_str().is_some_and(|said| said.contains(why)), "{command}: {verdict}");
    assert_eq!(verdict["bound_by"], Value::Null, "{command}: {verdict}");
    assert_eq!(verdict["largest_gain_ns"], Value::Null, "{command}: {verdict}");
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains(why), "{command} says why: {text}");
    assert!(!text.contains(" bound;"), "{command} guesses: {text}");
}

#[test]
fn without_host_rows_idle_time_has_no_known_cause() {
    let bad = Bad::new();
    let events = bad.events().into_iter().filter(|event| !is_of(event, &HOST)).collect();
    let trace = bad.with("no-host.json", events);
    for command in ["explain", "triage", "critical-path"] {
        cannot_judge(command, &trace, "no launch is recorded");
    }
    // `summary` does not read calls and names no bound of an idle GPU.
    let (code, verdict, _) = said("summary", &trace);
    assert_eq!((code, &verdict["bound_by"]), (0, &Value::Null), "{verdict}");
}

#[test]
fn without_gpu_rows_nothing_is_said_about_gpu_time() {
    let bad = Bad::new();
    let events = bad.events().into_iter().filter(|event| !is_of(event, &GPU)).collect();
    let trace = bad.with("no-gpu.json", events);
    for command in ["explain", "summary"] {
        let (_, verdict, text) = said(command, &trace);
        cannot_judge(command, &trace, "no GPU work is recorded");
        assert!(text.contains("nothing can be said about GPU time"), "{command}: {text}");
        assert_eq!((&verdict["busy_pct"], &verdict["span_ns"]), (&Value::Null, &Value::Null), "{command}");
    }
    for command in ["triage", "critical-path"] {
        let (code, _, text) = said(command, &trace);
        assert_eq!(code, 2, "{command}: {text}");
        assert!(text.contains("no GPU work"), "{command}: {text}");
    }
}

#[test]
fn without_names_no_cost_is_named() {
    let bad = Bad::new();
    let mut events = bad.events();
    for event in events.iter_mut().filter(|event| event["ph"] == "X") {
        event["name"] = json!("");
    }
    let trace = bad.with("no-names.json", events);
    for command in COMMANDS {
        let (code, verdict, text) = said(command, &trace);
        assert_eq!(code, 0, "{command}: {text}");
        assert_eq!(verdict["trusted"], false, "{command}: {verdict}");
        assert!(verdict["why_not"].as_str().is_some_and(|why| why.contains("no names")), "{verdict}");
        assert_eq!(verdict["largest_cost"], Value::Null, "{command}: {verdict}");
        assert!(!text.contains("``"), "{command}: {text}");
    }
}

#[test]
fn one_kernel_bounds_nothing() {
    let bad = Bad::new();
    let mut seen = 0;
    let only_first = |event: &Value| {
        seen += usize::from(is_of(event, &GPU));
        !is_of(event, &GPU) || seen == 1
    };
    let events = bad.events().into_iter().filter(only_first).collect();
    let trace = bad.with("one-kernel.json", events);
    for command in COMMANDS {
        cannot_judge(command, &trace, "only one kernel or copy is recorded");
    }
}

#[test]
fn kernels_before_their_launches_tell_no_cause() {
    let bad = Bad::new();
    let mut events = bad.events();
    for event in events.iter_mut().filter(|event| is_of(event, &GPU)) {
        event["ts"] = json!(event["ts"].as_f64().expect("a time") - 50_000.0);
    }
    let trace = bad.with("early.json", events);
    for command in COMMANDS {
        cannot_judge(command, &trace, "clocks are not aligned");
    }
}

#[test]
fn kernels_that_end_before_they_start_are_not_judged() {
    let bad = Bad::new();
    let mut events = bad.events();
    for event in events.iter_mut().filter(|event| is_of(event, &["kernel"])).step_by(3) {
        event["dur"] = json!(-event["dur"].as_f64().expect("a time"));
    }
    let trace = bad.with("backwards.json", events);
    for command in COMMANDS {
        cannot_judge(command, &trace, "end before they start");
    }
    assert_eq!(run(&["explain", trace.to_str().expect("a path"), "--strict"]).status.code(), Some(1));
}

#[test]
fn half_a_file_is_not_judged_by_the_other_half() {
    let bad = Bad::new();
    // Kernels first, so that some are in the half that remains.
    let mut events = bad.events();
    events.sort_by_key(|event| !is_of(event, &GPU));
    let whole = std::fs::read_to_string(bad.with("whole.json", events)).expect("a trace");
    // Object keys are sorted: facts about the run first, then events.
    let cut = whole.len() * 2 / 3;
    let cut = (cut..).find(|&at| whole.is_char_boundary(at)).expect("a place");
    let trace = bad.write("half.json", &whole[..cut]);
    for command in COMMANDS {
        cannot_judge(command, &trace, "ends inside an event");
    }
}

#[test]
fn two_models_in_one_folder_have_no_common_verdict() {
    let bad = Bad::new();
    let both = bad.folder.path().join("both");
    std::fs::create_dir(&both).expect("a folder");
    let other = bad.folder.path().join("other");
    synth(&other, &["--scenario", "clean", "--steps", "4", "--to", "torch"]);
    std::fs::copy(&files(&other, "rank0.json")[0], both.join("model-a.json")).expect("a copy");
    std::fs::write(both.join("model-b.json"), bad.trace.to_string()).expect("a file");
    for command in ["explain", "triage", "critical-path"] {
        let (code, _, text) = said(command, &both);
        assert_eq!(code, 2, "{command}: {text}");
        assert!(text.contains("2 runs") && text.contains("model-b.json"), "{command}: {text}");
    }
    cannot_judge("summary", &both, "there are 2 runs");
}
