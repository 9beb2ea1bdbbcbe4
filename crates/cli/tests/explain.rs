//! `explain`: the command, a user's own rules, and what goes wrong with them.

use crate::common;

use std::path::{Path, PathBuf};

use common::{files, json, run, shared_data, stdout, synth};
use serde_json::Value;

const RULE: &str = "-- id: long-kernels
-- title: kernels above a tenth of a millisecond
-- severity: high
-- message: {name} takes {total_ns} ns in {calls} calls
-- gain: total_ns
-- recommendation: split it
SELECT name, count(*) AS calls, sum(duration) AS total_ns FROM kernels GROUP BY name HAVING max(duration) > 100000
";

fn idle(folder: &Path) -> PathBuf {
    let out = folder.join("run");
    synth(&out, &["--scenario", "idle-gpu", "--steps", "4", "--to", "torch"]);
    files(&out, "rank0.json")[0].clone()
}

fn rules(folder: &Path, text: &str) -> String {
    let rules = folder.join("rules");
    std::fs::create_dir_all(&rules).expect("a folder");
    std::fs::write(rules.join("mine.sql"), text).expect("a file");
    rules.display().to_string()
}

fn error(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).expect("UTF-8")
}

fn ids(report: &Value) -> Vec<&str> {
    report["findings"].as_array().expect("findings").iter().filter_map(|f| f["id"].as_str()).collect()
}

#[test]
fn the_command_that_looks_closer_forgot_the_part_that_was_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = idle(folder.path());
    let part =
        ["--start", "0%", "--overlapping", "--stage-pattern", "decode=^a b", "--stage-pattern", "prefill=^c"];
    let report = json("explain", &[&trace], &part);
    let next = report["findings"][0]["next"].as_str().expect("a command");
    let expected = " --start 0% --overlapping --stage-pattern 'decode=^a b' --stage-pattern 'prefill=^c'";
    assert!(next.ends_with(expected), "{next}");
    let whole = json("explain", &[&trace], &[]);
    assert!(!whole["findings"][0]["next"].as_str().expect("a command").contains("--start"));
}

#[test]
fn a_detail_table_that_was_named_was_not_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = idle(folder.path());
    let trace = trace.to_str().expect("UTF-8");
    assert!(stdout(&["explain", trace, "--table", "rules"]).contains("\nRules ("));
}

#[test]
fn the_host_frame_behind_idle_time_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = idle(folder.path());
    let report = json("explain", &[&trace], &[]);
    assert_eq!(ids(&report), ["idle-gpu"]);
    let finding = &report["findings"][0];
    assert_eq!(finding["severity"], "high");
    assert!(
        finding["evidence"]["name"].as_str().is_some_and(|name| name.contains("encode_batch")),
        "{finding}"
    );
    let text = stdout(&["explain", &trace.display().to_string()]);
    assert!(text.contains("encode_batch") && text.contains("cannot judge"), "{text}");
}

#[test]
fn one_rule_can_be_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = idle(folder.path());
    let report = json("explain", &[&trace], &["--rule", "blocking-sync"]);
    assert_eq!(report["tables"]["rules"].as_array().map(Vec::len), Some(1));
    assert_eq!(report["tables"]["rules"][0]["status"], "clear");
    let error = error(&["explain", &trace.display().to_string(), "--rule", "blocking"]);
    assert!(error.contains("no rule `blocking`") && error.contains("blocking-sync"), "{error}");
}

#[test]
fn own_rules_give_findings() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = idle(folder.path());
    let rules = rules(folder.path(), RULE);
    let report = json("explain", &[&trace], &["--rules", &rules]);
    let own: Vec<&Value> = report["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .filter(|finding| finding["id"] == "long-kernels")
        .collect();
    assert_eq!(own.len(), 2, "gemm and attention are that long");
    for finding in own {
        let evidence = &finding["evidence"];
        assert_eq!(finding["gain_ceiling_ns"], evidence["total_ns"]);
        assert_eq!(finding["severity"], "high");
        let expected = format!(
            "{} takes {} ns in {} calls",
            evidence["name"].as_str().expect("a name"),
            evidence["total_ns"],
            evidence["calls"]
        );
        assert_eq!(finding["title"], expected);
    }
    let only = json("explain", &[&trace], &["--rules", &rules, "--rule", "long-kernels"]);
    assert!(ids(&only).iter().all(|id| *id == "long-kernels"));
}

#[test]
fn mistakes_in_own_rules_are_told_with_their_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = idle(folder.path()).display().to_string();
    let cases = [
        (RULE.replace("FROM kernels", "FROM kernles"), "mine.sql`: bad SQL: no such table: kernles (line 7,"),
        (RULE.replace("severity: high", "severity: huge"), "mine.sql` line 3: severity `huge`"),
        (RULE.replace("{calls}", "{count}"), "mine.sql` line 4: the message names `{count}`"),
        (RULE.replace("gain: total_ns", "gain: total"), "mine.sql` line 5: the gain is of `total`"),
        (RULE.replace("-- id: long-kernels\n", ""), "no `-- id: …`"),
        (RULE.replace("long-kernels", "idle-gpu"), "`idle-gpu` is the id of a built-in rule"),
    ];
    for (text, expected) in cases {
        let rules = rules(folder.path(), &text);
        let error = error(&["explain", &trace, "--rules", &rules]);
        assert!(error.contains(expected), "{error}");
    }
    let empty = folder.path().join("none");
    std::fs::create_dir(&empty).expect("a folder");
    let error = error(&["explain", &trace, "--rules", &empty.display().to_string()]);
    assert!(error.contains("no `*.sql` file"), "{error}");
}

#[test]
fn several_runs_are_not_taken_for_one() {
    let folder = tempfile::tempdir().expect("a folder");
    for seed in ["1", "2"] {
        let out = folder.path().join(seed);
        synth(&out, &["--scenario", "clean", "--steps", "2", "--to", "torch", "--seed", seed]);
    }
    let error = error(&["explain", &folder.path().display().to_string()]);
    assert!(error.contains("explain needs one run, but there are 2 runs"), "{error}");
}

#[test]
fn real_traces_are_judged() {
    let Some(data) = shared_data() else { return };
    let mut judged = 0;
    for trace in files(&data.join("traces"), "json.gz") {
        let size = std::fs::metadata(&trace).map_or(0, |meta| meta.len());
        if size > 20_000_000 {
            continue;
        }
        let output = run(&["explain", "--json", &trace.display().to_string()]);
        let code = output.status.code();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(code, Some(0 | 2)) && !errors.contains("panicked"), "{}: {errors}", trace.display());
        judged += i32::from(code == Some(0));
    }
    assert!(judged > 0, "no trace could be read");
}
