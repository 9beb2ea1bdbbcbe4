//! What the program reports on simulated runs, compared with their known truth.

use crate::common;

use std::path::PathBuf;

use common::{files, json, synth};
use serde_json::Value;

const SEEDS: [u64; 3] = [1, 2, 3];
const FORMATS: [&str; 2] = ["torch", "rocpd"];

/// A simulated run and its truth.
struct Made {
    /// Scenario, format and seed, for messages.
    what: String,
    truth: Value,
    run: PathBuf,
    _folder: tempfile::TempDir,
}

impl Made {
    fn new(scenario: &str, format: &str, seed: u64) -> Self {
        Self::with(scenario, format, seed, &[])
    }

    fn with(scenario: &str, format: &str, seed: u64, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let run = folder.path().join("run");
        let seed = seed.to_string();
        let asked = [&["--scenario", scenario, "--to", format, "--seed", &seed], more].concat();
        synth(&run, &asked);
        let truth = std::fs::read_to_string(run.join("truth.json")).expect("the truth");
        let truth = serde_json::from_str(&truth).expect("JSON");
        Self { what: format!("{scenario} as {format}, seed {seed}"), truth, run, _folder: folder }
    }

    /// The scenario in each format with each seed.
    fn each(scenario: &'static str, formats: &'static [&'static str]) -> impl Iterator<Item = Self> {
        formats.iter().flat_map(move |format| SEEDS.map(|seed| Self::new(scenario, format, seed)))
    }

    fn json(&self, command: &str, more: &[&str]) -> Value {
        json(command, &[&self.run], more)
    }

    /// A number of the only rank's idle time.
    fn idle(&self, key: &str) -> i64 {
        number(&self.truth["ranks"][0]["idle"][key])
    }
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// Idle time by these causes.
fn idle_of(report: &Value, which: impl Fn(&Value) -> bool) -> i64 {
    list(&report["tables"]["idle_causes"])
        .iter()
        .filter(|row| which(row))
        .map(|row| number(&row["idle_ns"]))
        .sum()
}

/// `explain`, checked against what the truth expects from every run of one GPU.
fn explained(made: &Made) -> Value {
    let (what, said) = (&made.what, made.json("explain", &[]));
    let verdict = &said["verdict"];
    let span = made.idle("last_work_ns") - made.idle("first_work_ns");
    let idle = made.idle("total_ns");
    assert_eq!(number(&verdict["span_ns"]), span, "{what}");
    assert_eq!(number(&verdict["idle_ns"]), idle, "{what}");
    assert_eq!(idle_of(&said, |_| true), idle, "{what}: every idle nanosecond has a cause");
    assert_eq!(span - idle, number(&made.truth["ranks"][0]["busy_ns"]), "{what}");
    let expected = &made.truth["expected"];
    if let Some(bounds) = expected["bound_by"].as_array() {
        assert!(bounds.contains(&verdict["bound_by"]), "{what}: bound by {}", verdict["bound_by"]);
    }
    leads(made, &said);
    said
}

/// One of the expected rules is the first or the second finding.
fn leads(made: &Made, said: &Value) {
    let Some(rules) = made.truth["expected"]["rules"].as_array() else { return };
    let found: Vec<&Value> = list(&said["findings"]).iter().map(|finding| &finding["rule"]).collect();
    assert!(
        found.iter().take(2).any(|rule| rules.contains(rule)),
        "{}: {rules:?} not in front of {found:?}",
        made.what
    );
}

/// Time on the critical path by kind; the kinds add up to the path, and the path to its span.
fn path_kinds(made: &Made) -> (i64, Vec<(String, i64)>, Value) {
    let said = made.json("critical-path", &[]);
    let path = list(&said["tables"]["path"]);
    let (first, last) = (&path[0], &path[path.len() - 1]);
    let span = number(&last["end_ns"]) - number(&first["start_ns"]);
    let kinds: Vec<(String, i64)> = list(&said["tables"]["bounds"])
        .iter()
        .map(|row| (text(&row["kind"]).to_string(), number(&row["total_ns"])))
        .collect();
    assert_eq!(kinds.iter().map(|(_, ns)| ns).sum::<i64>(), span, "{}", made.what);
    assert_eq!(path.iter().map(|row| number(&row["duration_ns"])).sum::<i64>(), span, "{}", made.what);
    (span, kinds, said)
}

/// Finding A1: recordings were distinguished by host and process id.
#[test]
fn three_recordings_with_one_pid_are_three_ranks() {
    for made in Made::each("same-pid", &["rocpd"]) {
        let ranks = list(&made.truth["ranks"]);
        assert!(ranks.iter().all(|rank| rank["pid"] == 1 && rank["host"] == ranks[0]["host"]));
        let said = made.json("summary", &["--by-rank"]);
        let rows = list(&said["tables"]["kernels"]);
        let mut groups: Vec<&str> = rows.iter().map(|row| text(&row["rank"])).collect();
        groups.sort_unstable();
        groups.dedup();
        assert_eq!(groups.len(), 3, "{}: {groups:?}", made.what);
        for kernel in list(&ranks[0]["kernels"]) {
            let of_kernel = rows.iter().filter(|row| row["name"] == kernel["name"]);
            let calls: Vec<&Value> = of_kernel.map(|row| &row["calls"]).collect();
            assert_eq!(calls, [&kernel["calls"]; 3], "{}", made.what);
        }
        // Merged into one database they are one run with three recordings.
        let merged = made.run.join("merged.db");
        let inputs = files(&made.run, "_results.db");
        let inputs = inputs.iter().map(|path| path.as_os_str());
        let output = common::rocm_perf().arg("merge").args(inputs).arg("-o").arg(&merged).output();
        assert!(output.expect("it runs").status.success(), "{}", made.what);
        let timeline = json("breakdown", &[&merged], &["--by-rank"]);
        let rows = list(&timeline["tables"]["timeline"]);
        let busy: Vec<&Value> = rows.iter().map(|row| &row["busy_ns"]).collect();
        let truth: Vec<&Value> = ranks.iter().map(|rank| &rank["busy_ns"]).collect();
        assert_eq!(busy, truth, "{}", made.what);
    }
}

/// Finding A2: half of the time of two hosts was all of one host.
#[test]
fn half_of_a_run_on_two_boot_clocks_is_half_of_each_host() {
    for made in Made::each("two-boots", &["rocpd"]) {
        let said = made.json("summary", &["--by-rank", "--start", "50%"]);
        let rows = list(&said["tables"]["kernels"]);
        for rank in list(&made.truth["ranks"]) {
            let all: i64 = list(&rank["kernels"]).iter().map(|kernel| number(&kernel["calls"])).sum();
            let label = number(&rank["rank"]).to_string();
            let mine = rows.iter().filter(|row| text(&row["rank"]) == label);
            let kept: i64 = mine.map(|row| number(&row["calls"])).sum();
            assert!((all * 4..=all * 6).contains(&(kept * 10)), "{}: {kept} of {all}", made.what);
        }
        let whole = made.json("breakdown", &[]);
        for row in list(&whole["tables"]["timeline"]) {
            let longest = made.truth["span_ns"].as_i64().expect("a span");
            assert!(number(&row["total_ns"]) <= longest, "{}: no time between boots", made.what);
        }
    }
}

/// Finding A2: the path of two hosts was as long as the time between their boots.
#[test]
fn a_path_does_not_span_the_days_between_two_boots() {
    for made in Made::each("two-boots", &["rocpd"]) {
        // A path over two clocks that nothing aligns has no length: refused, or that of one host.
        let output = common::run(&["critical-path", made.run.to_str().expect("a path"), "--format", "json"]);
        if output.status.success() {
            let (span, _, _) = path_kinds(&made);
            assert!(span <= number(&made.truth["span_ns"]), "{}: {span} ns", made.what);
        } else {
            assert!(String::from_utf8_lossy(&output.stderr).contains("clock"), "{}", made.what);
        }
    }
}

/// Finding C1: time inside recorded launch calls was called code that was not recorded.
#[test]
fn a_host_inside_launch_calls_is_launching() {
    for made in Made::each("slow-launches", &FORMATS) {
        let said = explained(&made);
        let launching = idle_of(&said, |row| row["cause"] == "launching");
        assert!(launching >= made.idle("in_launch_calls_ns"), "{}: {launching}", made.what);
        assert!(made.idle("in_launch_calls_ns") * 100 > made.idle("total_ns") * 90, "{}", made.what);
        assert_eq!(idle_of(&said, |row| row["cause"] == "not recorded"), 0, "{}", made.what);
    }
}

/// Finding C2: 19 ms of idle time under one hipMemcpy were never mentioned.
#[test]
fn one_blocking_copy_that_holds_the_gpu_is_found() {
    for made in Made::each("one-blocking-copy", &FORMATS) {
        let said = explained(&made);
        let in_copy = |row: &Value| {
            row["cause"] == "blocking call"
                && row["where"].as_str().is_some_and(|at| at.contains("hipMemcpy"))
        };
        let blocked = idle_of(&said, in_copy);
        assert!(blocked * 100 >= made.idle("in_blocking_calls_ns") * 95, "{}: {blocked}", made.what);
        let gain = number(&said["verdict"]["largest_gain_ns"]);
        let truth = number(&made.truth["injected"][0]["gain_ns"]);
        assert!((truth * 85..=truth * 105).contains(&(gain * 100)), "{}: {gain} of {truth}", made.what);
    }
}

/// Finding C2: the time that a blocking copy spends on the host was launch time on the path.
#[test]
fn the_host_time_of_a_blocking_copy_is_no_launch_time() {
    for made in Made::each("one-blocking-copy", &FORMATS) {
        let (span, kinds, _) = path_kinds(&made);
        let launch: i64 = kinds.iter().filter(|(kind, _)| kind == "launch").map(|(_, ns)| ns).sum();
        assert!(launch * 10 < span, "{}: {launch} of {span} ns are launches", made.what);
    }
}

/// Finding C3: thresholds applied to each kernel name, never to the total.
#[test]
fn an_eager_run_of_many_names_is_launch_bound_and_told_of_graphs() {
    for made in Made::each("eager", &FORMATS) {
        assert!(made.idle("total_ns") * 10 > 7 * number(&made.truth["ranks"][0]["busy_ns"]), "{}", made.what);
        let said = explained(&made);
        let finding = list(&said["findings"]).iter().find(|one| one["rule"] == "launch-bound");
        let advice = text(&finding.expect("the finding")["recommendation"]).to_lowercase();
        assert!(advice.contains(text(&made.truth["expected"]["advice"])), "{}: {advice}", made.what);
    }
}

/// Finding C4: the wait of the first recorded work for work that was not recorded was called a launch.
#[test]
fn a_wait_for_work_before_the_recording_is_no_launch_time() {
    for made in Made::each("cut-start", &FORMATS) {
        assert!(made.idle("first_wait_ns") > 100_000_000, "{}", made.what);
        explained(&made);
        let (span, kinds, said) = path_kinds(&made);
        let launch: i64 = kinds.iter().filter(|(kind, _)| kind == "launch").map(|(_, ns)| ns).sum();
        assert!(launch * 100 < span, "{}: {launch} of {span} ns are launches", made.what);
        assert_eq!(said["verdict"]["bound_by"], "gpu", "{}", made.what);
    }
}

/// Finding C5: the mean gap made a run with one long copy launch bound.
#[test]
fn one_long_host_copy_does_not_make_kernels_launch_bound() {
    for made in Made::each("one-host-copy", &FORMATS) {
        explained(&made);
        let said = made.json("bottleneck", &[]);
        for row in list(&said["tables"]["bottlenecks"]) {
            for key in ["label", "secondary"] {
                let label = row[key].as_str().unwrap_or("");
                assert!(!label.contains("launch"), "{}: {key} is {label}", made.what);
            }
        }
    }
}

/// Finding C6: the profiler's own span counted as work of the host.
#[test]
fn the_profilers_own_span_is_no_work_of_the_host() {
    for made in Made::each("profiler-span", &["torch"]) {
        let (span, _, path) = path_kinds(&made);
        assert_eq!(span, number(&made.truth["span_ns"]), "{}", made.what);
        let explained = explained(&made);
        for said in [&path["tables"], &explained["tables"]["idle_causes"], &explained["findings"]] {
            assert!(!said.to_string().contains("PyTorch Profiler"), "{}: {said}", made.what);
        }
    }
}

/// Finding C7: fills of the runtime became the kernel of a profile.
#[test]
fn fills_and_copies_of_the_runtime_are_not_the_kernel_to_look_at() {
    for made in Made::each("runtime-fills", &["rocpd"]) {
        explained(&made);
        let kernels = list(&made.truth["ranks"][0]["kernels"]);
        let kernel = kernels.iter().find(|kernel| kernel["id"] == made.truth["expected"]["kernel"]);
        let said = made.json("bottleneck", &[]);
        let first = &said["tables"]["bottlenecks"][0]["name"];
        assert_eq!(first, &kernel.expect("the kernel")["name"], "{}", made.what);
        let listed = made.json("summary", &[])["tables"]["kernels"].to_string();
        assert!(listed.contains("__amd_rocclr_fillBufferAligned"), "{}: still listed", made.what);
    }
}

/// Finding C8: without `Seq` the path silently went through a waiting rank.
#[test]
fn collectives_without_numbers_still_show_the_rank_that_others_wait_for() {
    for made in Made::each("unnumbered-collectives", &FORMATS) {
        let straggler = number(&made.truth["straggler"]);
        leads(&made, &made.json("explain", &[]));
        let (_, _, said) = path_kinds(&made);
        let mut by_rank: Vec<(i64, i64)> = Vec::new();
        for row in list(&said["tables"]["places"]).iter().filter(|row| row["kind"] == "compute") {
            let (rank, ns) = (number(&row["rank"]), number(&row["total_ns"]));
            match by_rank.iter_mut().find(|(known, _)| *known == rank) {
                Some(sum) => sum.1 += ns,
                None => by_rank.push((rank, ns)),
            }
        }
        let most = by_rank.iter().max_by_key(|(_, ns)| *ns).expect("computation on the path");
        assert_eq!(most.0, straggler, "{}: {by_rank:?}", made.what);
    }
}

/// Finding D4: annotations on GPU lanes, of drafts and of users were not recognised as stages.
#[test]
fn stages_are_told_from_gpu_lanes_drafts_and_words_of_the_user() {
    let cases: [(&str, &[&str]); 3] =
        [("gpu-annotations", &["torch"]), ("draft-verify", &FORMATS), ("user-stages", &FORMATS)];
    for (scenario, formats) in cases {
        for made in Made::each(scenario, formats) {
            let said = made.json("breakdown", &[]);
            assert_eq!(said["verdict"]["architecture"], "gfx942", "{}", made.what);
            let rows = list(&said["tables"]["categories"]);
            for stage in list(&made.truth["ranks"][0]["stages"]) {
                let of_stage = || rows.iter().filter(|row| row["stage"] == stage["stage"]);
                let calls: i64 = of_stage().map(|row| number(&row["calls"])).sum();
                let total: i64 = of_stage().map(|row| number(&row["total_ns"])).sum();
                let truth = (number(&stage["kernels"]), number(&stage["total_ns"]));
                assert_eq!((calls, total), truth, "{}: {}", made.what, stage["stage"]);
            }
        }
    }
}

/// Issue 13: false findings on clean runs.
#[test]
fn clean_runs_have_no_finding_over_twenty_seeds() {
    let mut wrong = Vec::new();
    for scenario in ["clean", "clean-replay", "clean-ranks"] {
        for format in FORMATS {
            for seed in 1..=20 {
                let made = Made::with(scenario, format, seed, &["--steps", "10"]);
                let said = made.json("explain", &[]);
                let found: Vec<&Value> = list(&said["findings"]).iter().map(|one| &one["title"]).collect();
                if !found.is_empty() || said["verdict"]["bound_by"] != "gpu" {
                    wrong.push(format!("{}: {} {found:?}", made.what, said["verdict"]["bound_by"]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Steps of ranks that run in parallel were counted one after another.
#[test]
fn steps_of_several_ranks_are_counted_once() {
    for made in Made::each("unnumbered-collectives", &FORMATS) {
        let verdict = &made.json("explain", &[])["verdict"];
        assert_eq!(verdict["steps"], made.truth["steps"], "{}", made.what);
        let step = number(&made.truth["span_ns"]) / number(&made.truth["steps"]);
        let said = number(&verdict["step_ns"]);
        assert!((step * 9..=step * 11).contains(&(said * 10)), "{}: {said} of {step} ns", made.what);
    }
}
