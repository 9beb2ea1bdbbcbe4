//! Builds of `autotune`: parallel with `--jobs`, kept, checked by their code objects, and part of the key.

use crate::common;
use crate::device_code;

use std::path::Path;
use std::process::Output;

use common::rocm_perf;
use serde_json::Value;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, contents) in files {
        std::fs::write(folder.path().join(name), contents).expect("a file");
    }
    folder
}

fn tune(folder: &Path, options: &[&str]) -> Output {
    let mut command = rocm_perf();
    command.current_dir(folder).args(["autotune", "--space", "space.json", "--metric", r"t=(\d+)"]);
    command.args(options).output().expect("it runs")
}

fn report(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

const SPACE: &str = r#"{"params": {"N": {"range": [1, 24]}},
    "build": "sh build.sh {N} {build_dir}", "run": "sh run.sh {build_dir}/made"}"#;
/// Takes longer than starting several builds; the 5th one fails.
const BUILD: &str = "echo begin build $1 >> log; sleep 0.3; echo end build $1 >> log
[ $1 = 5 ] && { echo 'error: too many registers' >&2; exit 1; }
echo $1 > $2/made
";
const RUN: &str = "echo begin run >> log; n=$(cat $1); d=$((n - 17)); echo t=$((1000 + 10 * d * d)); \
                   echo end run >> log
";

/// The most builds at once, and all builds, from the log of a search.
fn builds(folder: &Path) -> (usize, Vec<String>) {
    let log = std::fs::read_to_string(folder.join("log")).expect("a log");
    let (mut building, mut most, mut all) = (0usize, 0, Vec::new());
    for line in log.lines() {
        match line.split_once(' ').expect("two words") {
            ("begin", "run") => assert_eq!(building, 0, "something was built while a run was measured"),
            ("begin", build) => {
                building += 1;
                all.push(build.to_string());
            }
            (_, "run") => {}
            (_, _) => building -= 1,
        }
        most = most.max(building);
    }
    (most, all)
}

fn order(folder: &Path) -> Vec<String> {
    let journal =
        std::fs::read_to_string(folder.join("rocm-perf-autotune/journal.jsonl")).expect("a journal");
    let lines = journal.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines
        .map(|line| format!("{} {} {} {}", line["config"], line["run"], line["status"], line["value"]))
        .collect()
}

#[test]
fn f5_a_search_never_clears_a_folder_that_no_search_made() {
    let folder = folder(&[("space.json", SPACE), ("build.sh", BUILD), ("run.sh", RUN)]);
    let theirs = folder.path().join("rocm-perf-autotune/builds/release");
    std::fs::create_dir_all(&theirs).expect("a folder");
    std::fs::write(theirs.join("app"), "precious").expect("a file");
    let refused = tune(folder.path(), &["--trials", "2"]);
    let said = text(&refused.stdout) + &text(&refused.stderr);
    assert!(said.contains("did not create it"), "{said}");
    assert_eq!(std::fs::read_to_string(theirs.join("app")).expect("it is still there"), "precious");
}

#[test]
fn builds_stand_side_by_side_and_the_search_is_the_same() {
    let files = [("space.json", SPACE), ("build.sh", BUILD), ("run.sh", RUN)];
    let (one, three) = (folder(&files), folder(&files));
    let options = ["--trials", "16", "--json"];
    let alone = report(&tune(one.path(), &options));
    let together = report(&tune(three.path(), &[&options[..], &["--jobs", "3"]].concat()));
    assert_eq!(order(one.path()), order(three.path()), "the same runs in the same order");
    assert_eq!(alone["result"]["best_config"], together["result"]["best_config"]);
    assert_eq!(together["result"]["best_config"]["parameters"]["N"], 17);
    let ((one_at_once, first), (at_once, mut all)) = (builds(one.path()), builds(three.path()));
    assert_eq!((one_at_once, at_once), (1, 3));
    assert!(first.len() <= 16, "what is run again is not built again: {first:?}");
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "nothing is built twice: {all:?}");
    // The build of the best configuration stays, and the command in `best.json` runs it.
    let results = three.path().join("rocm-perf-autotune");
    let kept = std::fs::read_dir(results.join("builds")).expect("builds").flatten();
    // The marker of our folders is next to the build.
    let built = kept.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.')).count();
    assert_eq!(built, 1);
    let best: Value =
        serde_json::from_slice(&std::fs::read(results.join("best.json")).expect("best.json")).expect("JSON");
    let made = best["command"][2].as_str().expect("a file");
    assert_eq!(std::fs::read_to_string(made).expect("it was built").trim(), "17");
    // Nothing is left to run, so nothing is built.
    let before = builds(three.path()).1.len();
    report(&tune(three.path(), &[&options[..], &["--jobs", "3"]].concat()));
    assert_eq!(builds(three.path()).1.len(), before);
}

#[test]
fn builds_that_cannot_stand_side_by_side_are_named() {
    let said = |build: &str, run: &str, jobs: &str| {
        let folder = folder(&[("space.json", r#"{"N": [1, 2]}"#)]);
        let mut options = vec!["--cmd-template", run, "--jobs", jobs];
        if !build.is_empty() {
            options.extend(["--build-template", build]);
        }
        let output = tune(folder.path(), &options);
        assert_eq!(output.status.code(), Some(2), "{build} {run}");
        assert!(output.stdout.is_empty());
        text(&output.stderr)
    };
    let messages = [
        said("", "./k {N}", "4"),
        said("cc -DN={N} k.c -o k", "./k", "4"),
        said("cc -DN={N} k.c -o k", "./k", "0"),
        said("cc -DN={N} k.c -o {build_dir}/k", "./k", "1"),
        said("", "{build_dir}/k {N}", "1"),
    ];
    insta::assert_snapshot!(messages.join(""));
}

const KERNEL: &str = "#define __global__ __attribute__((global))
extern \"C\" __global__ void __attribute__((amdgpu_flat_work_group_size(1, BOUND))) k(const float* x, float* y) {
  int t = __builtin_amdgcn_workitem_id_x();
  float a[LIVE];
  #pragma unroll
  for (int i = 0; i < LIVE; ++i) a[i] = x[i * 1024 + t];
  #pragma unroll
  for (int i = 0; i < LIVE; ++i) y[(LIVE - i) * 1024 + t] = a[i];
}
";

#[test]
fn what_was_built_is_not_run_where_its_code_object_cannot_be_launched() {
    let Some(clang) = device_code::clang() else { return };
    // Formulas allow all of it; only the code object shows for how many threads it was built.
    let space = r#"{"params": {"LIVE": [4, 200], "BOUND": [256, 512, 1024], "THREADS": [512, 1024]},
        "constraints": ["LIVE == 4 or BOUND < 1024"], "resources": {"threads": "THREADS"}}"#;
    let built = |name: &str| {
        format!(
            "{clang} {} -DLIVE={{LIVE}} -DBOUND={{BOUND}} k.hip -o {name}",
            device_code::OPTIONS.join(" ")
        )
    };
    let run = "echo {LIVE} {BOUND} {THREADS} >> ran; echo t=1";
    for more in [vec!["--shell"], vec!["--shell", "--jobs", "2"]] {
        let folder = folder(&[("space.json", space), ("k.hip", KERNEL)]);
        let (build, run) = match more.len() {
            1 => (built("k.co"), run.to_string()),
            _ => (built("{build_dir}/k.co"), format!("test -s {{build_dir}}/k.co && {{{{ {run}; }}}}")),
        };
        let options = ["--build-template", &build, "--cmd-template", &run, "--arch", "gfx942", "--json"];
        let report = report(&tune(folder.path(), &[&options[..], &["--strategy", "grid"], &more].concat()));
        let failures = report["tables"]["failures"].as_array().expect("failures");
        let mut skipped: Vec<String> = Vec::new();
        for failure in failures {
            assert_eq!(failure["status"], "skipped", "{failure:#}");
            let (configuration, detail) = (&failure["configuration"], &failure["detail"]);
            skipped.push(format!(
                "{}: {}",
                configuration.as_str().expect("text"),
                detail.as_str().expect("text")
            ));
        }
        skipped.sort_unstable();
        insta::assert_snapshot!("skipped_by_code_object", skipped.join("\n"));
        // Computed by hand: configurations with no more threads than their bound.
        let ran = std::fs::read_to_string(folder.path().join("ran")).expect("runs");
        let mut ran: Vec<&str> = ran.lines().collect();
        ran.sort_unstable();
        ran.dedup();
        assert_eq!(ran, ["200 512 512", "4 1024 1024", "4 1024 512", "4 512 512"]);
    }
}

#[test]
fn files_that_commands_name_decide_results_wherever_parameters_stand() {
    let space = r#"{"N": [1, 2, 3]}"#;
    let run = "echo ran >> log; echo t=$(($1 + $(cat $2)))";
    let ran = |folder: &Path| std::fs::read_to_string(folder.join("log")).unwrap_or_default().lines().count();
    let cases: [&[&str]; 3] = [
        // Arguments after the generated file are read.
        &[
            "--build-template",
            "sh build.sh -o run{N}.sh data.txt",
            "--cmd-template",
            "./run{N}.sh {N} run{N}.sh.txt",
        ],
        &["--shell", "--cmd-template", "sh run.sh {N} data.txt"],
        // The program is named by a parameter, so the words after it are arguments.
        &["--build-template", "cp run.sh run{N}.sh", "--cmd-template", "./run{N}.sh {N} data.txt"],
    ];
    for options in cases {
        let run = format!("#!/bin/sh\n{run}");
        let build = ("build.sh", "cp run.sh $2; cp $3 $2.txt");
        let folder = folder(&[("space.json", space), ("data.txt", "100"), ("run.sh", &run), build]);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path().join("run.sh"), mode).expect("a program");
        let options = [options, &["--json"]].concat();
        assert_eq!(report(&tune(folder.path(), &options))["result"]["best_config"]["value"], 101.0);
        let before = ran(folder.path());
        report(&tune(folder.path(), &options));
        assert_eq!(ran(folder.path()), before, "nothing has changed");
        std::fs::write(folder.path().join("data.txt"), "200").expect("a file");
        assert_eq!(report(&tune(folder.path(), &options))["result"]["best_config"]["value"], 201.0);
    }
}
