//! What a person sees: help, tables at 80 columns, Markdown, the demo.

use crate::common;

use std::path::Path;

use common::{files, rocm_perf, run, stdout, synth};

/// Output at a width, with the path of the test folder removed.
fn screen(folder: &Path, width: usize, arguments: &[&str]) -> String {
    let output = rocm_perf()
        .args(arguments)
        .current_dir(folder)
        .env("COLUMNS", width.to_string())
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn small_run() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    synth(&folder.path().join("run"), &["--steps", "3"]);
    folder
}

#[test]
fn help_lists_commands_under_headings() {
    insta::assert_snapshot!(stdout(&["--help"]));
}

#[test]
fn summary_fits_80_columns() {
    let folder = small_run();
    let text = screen(folder.path(), 80, &["summary", "run/serving.rank0.json", "--limit", "6"]);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn summary_at_160_columns_shows_all_columns() {
    let folder = small_run();
    let text = screen(folder.path(), 160, &["summary", "run/serving.rank0.json", "--limit", "6"]);
    assert!(text.lines().all(|line| line.chars().count() <= 160), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn summary_as_markdown() {
    let folder = small_run();
    insta::assert_snapshot!(screen(
        folder.path(),
        80,
        &["summary", "run/serving.rank0.json", "--limit", "3", "--format", "md"]
    ));
}

#[test]
fn summary_by_rank() {
    let folder = tempfile::tempdir().expect("a folder");
    synth(
        &folder.path().join("run"),
        &["--scenario", "training", "--ranks", "2", "--steps", "2", "--to", "rocpd"],
    );
    insta::assert_snapshot!(screen(folder.path(), 120, &["summary", "run", "--by-rank", "--limit", "12"]));
}

#[test]
fn info_of_a_run() {
    let folder = small_run();
    insta::assert_snapshot!(screen(folder.path(), 100, &["info", "run/serving.rank0.json"]));
}

#[test]
fn a_query_as_a_table() {
    let folder = small_run();
    let sql = "SELECT name, total_calls, total_duration FROM top_kernels LIMIT 3";
    insta::assert_snapshot!(screen(folder.path(), 100, &["query", "run/serving.rank0.json", "--sql", sql]));
}

#[test]
fn json_is_the_same_byte_for_byte() {
    let folder = small_run();
    let once = screen(folder.path(), 80, &["summary", "run/serving.rank0.json", "--format", "json"]);
    let again = screen(folder.path(), 100, &["summary", "run/serving.rank0.json", "--json"]);
    assert_eq!(once, again);
    let report: serde_json::Value = serde_json::from_str(&once).expect("JSON");
    let keys: Vec<&String> = report.as_object().expect("an object").keys().collect();
    let expected =
        ["tool", "version", "command", "schema", "inputs", "health", "verdict", "tables", "findings"];
    assert_eq!(keys[..9], expected);
}

#[test]
fn the_demo_runs_twice_and_says_what_to_type_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = screen(folder.path(), 100, &["demo"]);
    let second = screen(folder.path(), 100, &["demo"]);
    assert_eq!(first, second);
    for part in ["$ rocm-perf synth", "$ rocm-perf summary", "Kernels", "next:"] {
        assert!(first.contains(part), "{part}");
    }
}

#[test]
fn a_damaged_trace_gives_its_data_and_a_warning() {
    let folder = small_run();
    let path = folder.path().join("run/serving.rank0.json");
    let bytes = std::fs::read(&path).expect("a trace");
    let cut = folder.path().join("cut.json");
    std::fs::write(&cut, &bytes[..bytes.len() - 1000]).expect("most of a trace");
    let text = screen(folder.path(), 100, &["summary", "cut.json", "--limit", "1"]);
    assert!(text.contains("warn truncated"), "{text}");
    assert!(text.contains("Kernels"), "{text}");
}

#[test]
fn completions_and_man_pages_are_made() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(stdout(&["completions", shell]).contains("summary"), "{shell}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(&["man", folder.path().to_str().expect("a path")]);
    assert!(output.status.success());
    assert!(files(folder.path(), ".1").iter().any(|page| page.ends_with("rocm-perf-summary.1")));
}

#[test]
fn tables_of_analyses_fit_80_columns() {
    let folder = small_run();
    let tables = [
        ("triage", "kernel_table"),
        ("triage", "overlap_opportunities"),
        ("triage", "fuse_opportunities"),
        ("breakdown", "timeline"),
        ("breakdown", "categories"),
        ("triage", "op_savings"),
        ("efficiency", "efficiency"),
        ("efficiency", "efficiency_kernels"),
        ("overlap", "concurrency"),
    ];
    for (command, table) in tables {
        let text =
            screen(folder.path(), 80, &[command, "run/serving.rank0.json", "--quiet", "--table", table]);
        let rows = text.lines().take_while(|line| !line.is_empty() && !line.starts_with("not shown"));
        let wide: Vec<&str> = rows.filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty() && text.lines().count() > 2, "{command} {table}: {wide:?}");
    }
}

#[test]
fn memory_of_a_snapshot_and_how_it_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, steps) in [("short", "3"), ("long", "6")] {
        synth(&folder.path().join(name), &["--to", "snapshot", "--steps", steps]);
    }
    let (short, long) = ("short/serving.rank0.pickle", "long/serving.rank0.pickle");
    let alone = screen(folder.path(), 100, &["memory", short, "--limit", "4"]);
    let both = screen(folder.path(), 100, &["memory", short, "--compare", long, "--limit", "4"]);
    assert!(alone.lines().chain(both.lines()).all(|line| line.chars().count() <= 100), "{alone}{both}");
    insta::assert_snapshot!(format!("{alone}\n{both}"));
}

#[test]
fn efficiency_of_a_run_below_its_peak() {
    let folder = tempfile::tempdir().expect("a folder");
    synth(&folder.path().join("run"), &["--scenario", "below-peak", "--steps", "4"]);
    let text = screen(folder.path(), 100, &["efficiency", "run/below-peak.rank0.json"]);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn requests_of_two_servers() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["disaggregated", "disaggregated-clocks"] {
        synth(&folder.path().join(name), &["--scenario", name, "--steps", "5"]);
    }
    let agree = screen(folder.path(), 100, &["requests", "disaggregated"]);
    let differ = screen(folder.path(), 100, &["requests", "disaggregated-clocks"]);
    assert!(agree.lines().chain(differ.lines()).all(|line| line.chars().count() <= 100), "{agree}{differ}");
    insta::assert_snapshot!(format!("{agree}\n{differ}"));
}
