//! `autotune` end to end: programs that work, fail, hang and lie; kills at random moments; bad input.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::rocm_perf;
use serde_json::Value;

/// Prints a time that depends on its arguments in a way that is not separable; some fail, hang or compute nonsense.
const PROGRAM: &str = r#"#!/bin/sh
echo "$1 $2" >> runs.log
[ "$1" = 64 ] && [ "$2" = 8 ] && { echo "too much LDS" >&2; exit 3; }
[ "$1" = 16 ] && [ "$2" = 8 ] && sleep 300
case $(($1 * $2)) in 128) echo "result 41";; *) echo "result 42";; esac
d=$(($1 * $2 - 96)); [ $d -lt 0 ] && d=$((-d))
echo "time: $((1000 + 10 * d + $1)) us"
"#;

const SPACE: &str = r#"{"params": {"BLOCK": {"range": [16, 128], "pow2": true, "default": 32},
"WARPS": {"values": [1, 2, 3, 4, 8]}}, "constraints": ["BLOCK * WARPS <= 512"]}"#;

fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("program.sh"), PROGRAM).expect("a program");
    std::fs::write(folder.path().join("space.json"), SPACE).expect("a space");
    folder
}

fn autotune(folder: &Path, more: &[&str]) -> Command {
    let mut command = rocm_perf();
    command.current_dir(folder).args([
        "autotune",
        "--space",
        "space.json",
        "--cmd-template",
        "sh program.sh {BLOCK} {WARPS}",
        "--metric",
        r"time: (\d+) us",
    ]);
    if !more.contains(&"--timeout") {
        command.args(["--timeout", "1"]);
    }
    command.args(more);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(command: &mut Command) -> Value {
    let output = command.arg("--json").output().expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn lines(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("runs.log")).unwrap_or_default().lines().count()
}

#[test]
fn failing_hanging_and_lying_configurations_are_results() {
    let folder = prepared();
    let check = ["--shell", "--check", r#"grep -q "result 42" "$ROCM_PERF_STDOUT""#, "--strategy", "grid"];
    let output = autotune(folder.path(), &check).env("COLUMNS", "80").output().expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    insta::assert_snapshot!(shown);
    let report = json(&mut autotune(folder.path(), &check));
    let result = &report["result"];
    assert_eq!(result["search_space_size"], 19);
    assert_eq!(result["evaluated_configs"], 19);
    assert_eq!(result["best_config"]["parameters"], serde_json::json!({"BLOCK": 32, "WARPS": 3}));
    assert_eq!(result["best_config"]["value"], 1032.0);
    assert!(result.get("warning").is_none(), "everything was tried");
    let failures = report["tables"]["failures"].as_array().expect("failures");
    let mut statuses: Vec<&str> = failures.iter().filter_map(|row| row["status"].as_str()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, ["run_failed", "timeout", "wrong_result", "wrong_result", "wrong_result"]);
    let best =
        std::fs::read_to_string(folder.path().join("rocm-perf-autotune/best.json")).expect("best.json");
    assert!(best.contains("\"WARPS\": 3"), "{best}");
    let picture =
        std::fs::read_to_string(folder.path().join("rocm-perf-autotune/search.svg")).expect("a picture");
    assert!(picture.starts_with("<svg"));
}

#[test]
fn killed_at_random_moments_it_resumes_and_repeats_nothing() {
    let folder = prepared();
    let options = ["--seed", "3", "--trials", "15"];
    let mut kills = 0;
    for (i, wait) in [60, 250, 130, 400, 90].into_iter().enumerate() {
        let mut child = autotune(folder.path(), &options)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_millis(wait + 17 * i as u64));
        if child.try_wait().expect("a status").is_none() {
            kills += 1;
        }
        let _ = child.kill();
        child.wait().expect("it ends");
    }
    let whole = json(&mut autotune(folder.path(), &options));
    let made = lines(folder.path());
    let journal =
        std::fs::read_to_string(folder.path().join("rocm-perf-autotune/journal.jsonl")).expect("a journal");
    assert!(journal.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{journal}");
    // Only what was running when it was killed may have run twice.
    assert!(
        made <= journal.lines().count() + kills,
        "{made} runs, {} lines, {kills} kills",
        journal.lines().count()
    );
    let again = json(&mut autotune(folder.path(), &options));
    assert_eq!(lines(folder.path()), made, "a finished search runs nothing");
    assert_eq!(again["result"]["best_config"], whole["result"]["best_config"]);
    let fresh = prepared();
    let uninterrupted = json(&mut autotune(fresh.path(), &options));
    assert_eq!(
        uninterrupted["result"]["best_config"], whole["result"]["best_config"],
        "kills change nothing"
    );
    // Another program is never answered from the journal of this one.
    std::fs::write(folder.path().join("program.sh"), PROGRAM.replace("1000", "2000")).expect("a program");
    json(&mut autotune(folder.path(), &options));
    assert!(lines(folder.path()) > made);
}

#[test]
fn an_interrupt_leaves_no_program_behind() {
    let folder = prepared();
    std::fs::write(folder.path().join("program.sh"), "echo $$ > pid; sleep 300 & wait").expect("a program");
    let mut child = autotune(folder.path(), &["--timeout", "200"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let began = Instant::now();
    let pid = loop {
        let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap_or_default();
        if pid.ends_with('\n') {
            break pid.trim().to_string();
        }
        assert!(began.elapsed() < Duration::from_secs(30), "the program never started");
        std::thread::sleep(Duration::from_millis(10));
    };
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let began = Instant::now();
    while Path::new("/proc").join(&pid).exists() {
        assert!(began.elapsed() < Duration::from_secs(10), "the program lives on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn bad_input_is_named() {
    let folder = prepared();
    let said = |space: &str, template: &str, more: &[&str]| {
        std::fs::write(folder.path().join("bad.json"), space).expect("a space");
        let output = rocm_perf()
            .current_dir(folder.path())
            .args(["autotune", "--space", "bad.json", "--cmd-template", template, "--no-rocprof"])
            .args(more)
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{space} {template}");
        assert!(output.stdout.is_empty());
        text(&output.stderr)
    };
    let messages = [
        said("{}", "true", &[]),
        said("[]", "true", &[]),
        said(r#"{"params": {"A": []}}"#, "true {A}", &[]),
        said(r#"{"params": {"A": [1, 2]}, "constrains": ["A > 1"]}"#, "true {A}", &[]),
        said(r#"{"params": {"A": {"valeus": [1]}}}"#, "true {A}", &[]),
        said(r#"{"params": {"A": [1, 2]}, "constraints": ["A > 2"]}"#, "true {A}", &[]),
        said(
            r#"{"params": {"A": [1, 2], "B": [1, 2]}, "constraints": ["A < B", "A * B > 2"]}"#,
            "true {A} {B}",
            &[],
        ),
        said(r#"{"params": {"BLOCK_M": [1, 2]}, "constraints": ["BLOKC_M > 1"]}"#, "true {BLOCK_M}", &[]),
        said(r#"{"params": {"A": [1, 2]}, "constraints": ["A >"]}"#, "true {A}", &[]),
        said(r#"{"params": {"A": {"values": [1, 2], "when": "A > 1"}}}"#, "true {A}", &[]),
        said(r#"{"params": {"A": {"range": [8, 1]}}}"#, "true {A}", &[]),
        said(r#"{"params": {"A": {"values": [1, 2], "default": 3}}}"#, "true {A}", &[]),
        said(r#"{"BLOCK": [1, 2]}"#, "true {BLOK}", &[]),
        said(r#"{"BLOCK": [1, 2], "N": [1, 2]}"#, "true {BLOCK}", &[]),
        said(r#"{"BLOCK": [1, 2]}"#, "true '{BLOCK}", &[]),
        said(r#"{"BLOCK": [1, 2]}"#, "true {BLOCK}", &["--trials", "0"]),
        said(r#"{"BLOCK": [1, 2]}"#, "true {BLOCK}", &["--minutes", "0"]),
        said("not json", "true", &[]),
    ];
    insta::assert_snapshot!(messages.join(""));
}

#[test]
fn a_program_that_never_works_is_an_error_with_its_own_words() {
    let folder = prepared();
    std::fs::write(folder.path().join("program.sh"), "echo no such device >&2; exit 4").expect("a program");
    let output = autotune(folder.path(), &["--trials", "3"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert!(
        said.contains("none of 3 configurations gave a value") && said.contains("no such device"),
        "{said}"
    );
}

#[test]
fn builds_belong_to_configurations() {
    let folder = prepared();
    let space = r#"{"params": {"N": [1, 2, 3, 4]}, "build": ["sh", "build.sh", "{N}"], "run": "sh made.sh",
        "env": {"SCALE": "1{N}"}}"#;
    std::fs::write(folder.path().join("space.json"), space).expect("a space");
    let build = "[ $1 = 4 ] && { echo 'k.cu:7: error: too many registers' >&2; exit 1; }; \
                 echo \"echo t=$((5 - $1)).\\$SCALE\" > made.sh";
    std::fs::write(folder.path().join("build.sh"), build).expect("a build");
    let report = json(rocm_perf().current_dir(folder.path()).args([
        "autotune",
        "--space",
        "space.json",
        "--metric",
        r"t=(\S+)",
    ]));
    let best = &report["result"]["best_config"];
    assert_eq!(best["parameters"]["N"], 3);
    assert_eq!(best["value"], 2.13, "built for 3 with SCALE=13");
    assert_eq!(report["tables"]["failures"][0]["status"], "build_failed");
    assert_eq!(
        report["tables"]["failures"][0]["detail"],
        "the build exited with 1: k.cu:7: error: too many registers"
    );
}

#[test]
fn dispatch_time_comes_from_the_profiler() {
    if !stand_in_rocm::can_compile() {
        eprintln!("skipped: no C++ compiler");
        return;
    }
    let (folder, stand_ins) = (prepared(), stand_in_rocm::StandIns::install().expect("stand-ins"));
    stand_ins.example("vector_add", folder.path()).expect("a program");
    std::fs::write(folder.path().join("space.json"), r#"{"ROUNDS": [400, 20, 100]}"#).expect("a space");
    let tune = |more: &[&str]| {
        let mut command = rocm_perf();
        command.current_dir(folder.path()).env("PATH", stand_ins.path());
        command
            .args(["autotune", "--space", "space.json", "--cmd-template", "./vector_add {ROUNDS}"])
            .args(more);
        json(&mut command)
    };
    let report = tune(&[]);
    assert_eq!(report["result"]["best_config"]["parameters"]["ROUNDS"], 20);
    assert!(report["result"]["best_config"]["runtime_ms"].as_f64().is_some_and(|ms| ms > 0.0));
    assert_eq!(report["result"]["metric"], "dispatch time");
    assert!(!folder.path().join("rocm-perf-autotune/profiles/run1").exists(), "profiles are not kept");
    let none = tune(&["--kernel", "vector_add", "--out", "other"]);
    assert_eq!(none["result"]["metric"], "dispatch time of vector_add");
    assert_eq!(none["result"]["best_config"]["parameters"]["ROUNDS"], 20);
}
