//! `autotune` end to end: programs that work, fail, hang and lie; kills at random moments; bad input.

use crate::common;

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
        command.args(["--timeout", "3"]);
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
    // After two seconds the user's limit applies before that of the best so far.
    let check = ["--shell", "--check", r#"grep -q "result 42" "$ROCM_PERF_STDOUT""#, "--strategy", "grid"];
    let check = [&check[..], &["--timeout", "2"]].concat();
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
    // Without the configuration that hangs, which costs its time limit whenever it comes.
    let space = SPACE.replace("<= 512\"", "<= 512\", \"not (BLOCK == 16 and WARPS == 8)\"");
    std::fs::write(folder.path().join("space.json"), &space).expect("a space");
    let options = ["--seed", "3", "--trials", "15"];
    let journal = folder.path().join("rocm-perf-autotune/journal.jsonl");
    let written = || std::fs::read_to_string(&journal).unwrap_or_default().lines().count();
    let mut kills = 0;
    // Kills are timed by the length of the journal, not by the clock: this also works on a loaded machine.
    for (i, more) in [0, 3, 1, 5, 2].into_iter().enumerate() {
        let until = written() + more;
        let mut child = autotune(folder.path(), &options)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let began = Instant::now();
        while written() < until && child.try_wait().expect("a status").is_none() {
            assert!(began.elapsed() < Duration::from_secs(120), "the search stands still");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(i as u64 * 1_700));
        kills += usize::from(child.try_wait().expect("a status").is_none());
        let _ = child.kill();
        child.wait().expect("it ends");
    }
    assert!(kills >= 3, "only {kills} kills came before the end");
    let whole = json(&mut autotune(folder.path(), &options));
    let made = lines(folder.path());
    let journal =
        std::fs::read_to_string(folder.path().join("rocm-perf-autotune/journal.jsonl")).expect("a journal");
    assert!(journal.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{journal}");
    let mut runs: Vec<String> = journal
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .map(|line| format!("{} {}", line["config"], line["run"]))
        .collect();
    runs.sort_unstable();
    assert!(runs.windows(2).all(|pair| pair[0] != pair[1]), "a run of the journal was made again: {runs:?}");
    // Only configurations that were running when it was killed may have run twice.
    assert!(
        made <= journal.lines().count() + kills,
        "{made} runs, {} lines, {kills} kills",
        journal.lines().count()
    );
    let again = json(&mut autotune(folder.path(), &options));
    assert_eq!(lines(folder.path()), made, "a finished search runs nothing");
    assert_eq!(again["result"]["best_config"], whole["result"]["best_config"]);
    let fresh = prepared();
    std::fs::write(fresh.path().join("space.json"), &space).expect("a space");
    let uninterrupted = json(&mut autotune(fresh.path(), &options));
    assert_eq!(
        uninterrupted["result"]["best_config"], whole["result"]["best_config"],
        "kills change nothing"
    );
    // The journal of this program never answers for another program.
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
        said(r#"{"BLOCK": [1, 2]}"#, "true '{BLOCK}", &[]),
        said(r#"{"BLOCK": [1, 2]}"#, "true {BLOCK}", &["--trials", "0"]),
        said(r#"{"BLOCK": [1, 2]}"#, "true {BLOCK}", &["--minutes", "0"]),
        said(r#"{"BLOCK": [1, 2]}"#, "true {BLOCK}", &["--arch", "gfx1"]),
        said(
            r#"{"params": {"M": [512, 1024]}, "resources": {"lds_bytes": "M * 256"}}"#,
            "true {M}",
            &["--arch", "gfx942"],
        ),
        said("not json", "true", &[]),
    ];
    insta::assert_snapshot!(messages.join(""));
}

#[test]
fn a_program_that_never_works_is_an_error_with_its_own_words() {
    let folder = prepared();
    assert!(autotune(folder.path(), &["--trials", "3"]).output().expect("it runs").status.success());
    let found = ["best.json", "search.svg"].map(|name| folder.path().join("rocm-perf-autotune").join(name));
    assert!(found.iter().all(|path| path.exists()));
    std::fs::write(folder.path().join("program.sh"), "echo no such device >&2; exit 4").expect("a program");
    let output = autotune(folder.path(), &["--trials", "3"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert!(
        said.contains("none of 3 configurations gave a value") && said.contains("no such device"),
        "{said}"
    );
    assert!(found.iter().all(|path| !path.exists()), "what worked before is not the best of this search");
}

#[test]
fn builds_programs_and_checkers_that_never_work_are_told_apart() {
    let said = |program: &str, more: &[&str]| {
        let folder = prepared();
        std::fs::write(folder.path().join("program.sh"), program).expect("a program");
        let output = autotune(folder.path(), &[&["--trials", "2", "--shell"], more].concat()).output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(3));
        assert!(output.stdout.is_empty());
        text(&output.stderr)
    };
    let build = "echo 'k.cu:7: note: here'; echo 'k.cu:9: error: too many registers' >&2; exit 1";
    let messages = [
        said("echo time: 1 us", &["--build-template", build]),
        said("sleep 300", &["--timeout", "0.5"]),
        said("echo time: 1 us", &["--check", "echo 'wrong at 17: 3 is not 4' >&2; exit 1"]),
        said("echo nothing", &[]),
    ];
    insta::assert_snapshot!(messages.join(""));
}

#[test]
fn what_cannot_be_launched_is_left_out_and_a_journal_belongs_to_its_device() {
    let folder = prepared();
    let space = r#"{"params": {"BLOCK": [16, 32, 64, 128], "WARPS": [1, 2, 4, 32]},
        "resources": {"lds_bytes": "BLOCK * 768", "threads": "WARPS * 64"},
        "run": "sh program.sh {BLOCK} {WARPS}", "objective": {"metric": "time: (\\d+) us"},
        "budget": {"trials": 9, "timeout": 20}, "key": {"shape": "4096"}}"#;
    std::fs::write(folder.path().join("space.json"), space).expect("a space");
    let tune = |more: &[&str]| {
        let mut command = rocm_perf();
        command.current_dir(folder.path()).env("COLUMNS", "80").args(["autotune", "--space", "space.json"]);
        command.args(more).output().expect("it runs")
    };
    let output = tune(&["--arch", "gfx942"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    insta::assert_snapshot!(text(&output.stdout));
    let runs = std::fs::read_to_string(folder.path().join("runs.log")).expect("runs");
    assert!(runs.lines().all(|run| !run.starts_with("128 ") && !run.ends_with(" 32")), "{runs}");
    let refused = tune(&["--arch", "gfx90a"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains("has runs on gfx942") && said.contains("but this is gfx90a"), "{said}");
    assert!(said.contains("`--force`"), "{said}");
    assert!(tune(&["--arch", "gfx90a", "--force"]).status.success());
    // Another shape is another search: it takes nothing from the journal.
    let made = lines(folder.path());
    std::fs::write(folder.path().join("space.json"), space.replace("4096", "8192")).expect("a space");
    assert!(tune(&["--arch", "gfx942"]).status.success());
    assert!(lines(folder.path()) > made);
}

#[test]
fn what_fails_now_and_then_is_unstable_and_of_equals_the_simplest_is_best() {
    let folder = prepared();
    let space =
        r#"{"params": {"A": {"values": [1, 2, 3], "default": 2}, "B": {"values": [1, 2], "default": 2}}}"#;
    std::fs::write(folder.path().join("space.json"), space).expect("a space");
    // A=1 is the fastest, fails in its second run; A=3 is as fast with either B, and only B=2 is the default.
    let program = r#"
echo "$1 $2" >> runs.log
[ "$1" = 1 ] && [ $(grep -c "^$1 $2" runs.log) -gt 1 ] && { echo "fault at 0x0" >&2; exit 9; }
case $1 in 1) echo "time: 900 us";; 2) echo "time: 2000 us";; 3) echo "time: 1000 us";; esac
"#;
    std::fs::write(folder.path().join("program.sh"), program).expect("a program");
    let report = json(
        rocm_perf()
            .current_dir(folder.path())
            .args(["autotune", "--space", "space.json", "--strategy", "grid"])
            .args(["--cmd-template", "sh program.sh {A} {B}", "--metric", r"time: (\d+) us"]),
    );
    assert_eq!(report["result"]["best_config"]["parameters"], serde_json::json!({"A": 3, "B": 2}));
    let failures = report["tables"]["failures"].as_array().expect("failures");
    assert_eq!(failures.len(), 2);
    for failure in failures {
        assert_eq!(failure["status"], "unstable");
        assert_eq!(failure["detail"], "run 2 of it exited with 9: fault at 0x0");
    }
}

#[test]
fn a_parameter_that_no_command_names_failed_the_search() {
    let folder = prepared();
    std::fs::write(folder.path().join("space.json"), r#"{"params": {"A": [1, 2], "N": [3, 4]}}"#)
        .expect("a space");
    std::fs::write(folder.path().join("t.sh"), "echo t=$1$N").expect("a program");
    let report = json(rocm_perf().current_dir(folder.path()).args([
        "autotune",
        "--space",
        "space.json",
        "--cmd-template",
        "sh t.sh {A}",
        "--metric",
        r"t=(\S+)",
    ]));
    assert_eq!(
        report["result"]["best_config"]["value"], 13.0,
        "A=1 as an argument, N=3 from the environment"
    );
    let notes = report["notes"].as_array().expect("notes");
    assert!(
        notes.iter().any(|note| note.as_str().is_some_and(|note| note.contains("environment variable N")))
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
        testing::skip("no C++ compiler");
        return;
    }
    let (folder, stand_ins) = (prepared(), stand_in_rocm::StandIns::install().expect("stand-ins"));
    stand_ins.example("vector_add", folder.path()).expect("a program");
    std::fs::write(folder.path().join("space.json"), r#"{"ROUNDS": [4000, 20, 2000]}"#).expect("a space");
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
