//! `overlap` on simulated runs with a known truth.

use analysis::{overlap, overlap_report};
use model::Run;
use model::classify::Classifier;
use report::{Report, Table, Value};
use rocm_perf_analysis as analysis;
use synth::{Dialect, Options, Scenario, Simulation, simulate};

fn run(scenario: &str, options: Options) -> Simulation {
    simulate(&Scenario::builtin(scenario).unwrap(), &options).unwrap()
}

fn quick(scenario: &str) -> Simulation {
    run(scenario, Options { steps: Some(3), ..Options::default() })
}

fn with_context<T>(trace: &trace::Trace, min_share: f64, then: impl FnOnce(&Run) -> T) -> T {
    then(&Run::new(trace, None, &Classifier::builtin(), min_share).unwrap())
}

fn report(trace: &trace::Trace) -> Report {
    with_context(trace, 1.0, overlap_report)
}

fn cell<'a>(table: &'a Table, row: usize, key: &str) -> &'a Value {
    &table.rows[row][table.column(key).unwrap_or_else(|| panic!("no column `{key}`"))]
}

fn int(table: &Table, row: usize, key: &str) -> i64 {
    match cell(table, row, key) {
        Value::Int(number) => *number,
        other => panic!("`{key}` is {other:?}"),
    }
}

fn text<'a>(table: &'a Table, row: usize, key: &str) -> &'a str {
    match cell(table, row, key) {
        Value::Text(text) => text,
        other => panic!("`{key}` is {other:?}"),
    }
}

/// The row of the kernel whose name contains `part`.
fn row_of(table: &Table, part: &str) -> usize {
    let has = |row: &usize| text(table, *row, "kernel_name").contains(part);
    (0..table.rows.len()).find(has).unwrap_or_else(|| panic!("no row for `{part}` in {:?}", table.rows))
}

fn all_rows(table: &Table, key: &str) -> Vec<String> {
    (0..table.rows.len()).map(|row| text(table, row, key).to_string()).collect()
}

#[test]
fn exposed_communication_equals_the_truth() {
    for scenario in ["exposed-communication", "training", "straggler", "clean", "serialised-streams"] {
        for dialect in [Dialect::Torch, Dialect::Rocprof] {
            let options = Options { steps: Some(2), dialect, ..Options::default() };
            let simulation = run(scenario, options);
            for (run, truth) in simulation.runs.iter().zip(&simulation.truth.ranks) {
                let report = report(&run.trace);
                let table = report.table("concurrency").unwrap();
                assert_eq!(table.rows.len(), 1, "{scenario}");
                assert_eq!(int(table, 0, "busy_ns"), truth.busy_ns, "{scenario}");
                assert_eq!(
                    int(table, 0, "exposed_communication_ns"),
                    truth.exposed_communication_ns,
                    "{scenario}"
                );
                assert_eq!(int(table, 0, "exposed_memcpy_ns"), truth.exposed_memcpy_ns, "{scenario}");
            }
        }
    }
}

#[test]
fn communication_that_events_keep_alone_is_found_with_its_order() {
    for dialect in [Dialect::Torch, Dialect::Rocprof] {
        let simulation =
            run("exposed-communication", Options { steps: Some(4), dialect, ..Options::default() });
        let truth = &simulation.truth.ranks[0];
        let report = report(&simulation.runs[0].trace);
        let table = report.table("overlap_opportunities").unwrap();
        assert!(text(table, 0, "kernel_name").contains("nccl"), "communication comes first");
        assert_eq!(text(table, 0, "priority"), "P2");
        assert_eq!(text(table, 0, "verdict"), "headroom");
        assert_eq!(text(table, 0, "dependency_risk"), "high");
        assert_eq!(text(table, 0, "recommendation"), "check deps");
        assert_eq!(text(table, 0, "confidence"), "high");
        assert!(text(table, 0, "risk_reason").contains("event"), "{}", text(table, 0, "risk_reason"));
        assert_eq!(int(table, 0, "exposed_ns"), truth.exposed_communication_ns);
        // Each step computes longer than it communicates, so reordering could hide all communication …
        assert_eq!(int(table, 0, "gain_ceiling_ns"), truth.exposed_communication_ns);
        // … and none as it is.
        assert_eq!(int(table, 0, "free_gain_ns"), 0);
        let finding = report.findings.iter().find(|f| f.id == "exposed-communication").unwrap();
        assert_eq!(finding.gain_ceiling_ns, Some(truth.exposed_communication_ns));
        let number = |key: &str| finding.evidence.iter().find(|(k, _)| k == key).unwrap().1.number().unwrap();
        assert!(number("example_start_ns") < number("example_end_ns"));
        assert!(finding.evidence.iter().any(|(key, _)| key == "formula"));
    }
}

#[test]
fn a_clean_run_has_nothing_urgent() {
    for dialect in [Dialect::Torch, Dialect::Rocprof] {
        let simulation = run("clean", Options { steps: Some(6), dialect, ..Options::default() });
        let report = report(&simulation.runs[0].trace);
        let table = report.table("overlap_opportunities").unwrap();
        let priorities = all_rows(table, "priority");
        assert!(priorities.iter().all(|p| p != "P1" && p != "P2"), "{:?}", table.rows);
        assert!(report.findings.is_empty(), "{:?}", report.findings);
    }
}

#[test]
fn streams_that_events_serialise_are_found() {
    let simulation = quick("serialised-streams");
    let report = report(&simulation.runs[0].trace);
    let table = report.table("overlap_opportunities").unwrap();
    for kernel in ["Cijk_", "paged_attention"] {
        let row = row_of(table, kernel);
        assert_eq!(text(table, row, "dependency_risk"), "high");
        assert_eq!(text(table, row, "priority"), "P4");
        assert!(text(table, row, "risk_reason").contains("event"));
    }
    let ids: Vec<&str> = report.findings.iter().map(|f| f.id.as_str()).collect();
    assert_eq!(ids, ["serialised-streams", "serialised-streams"]);
    // Run in parallel, the shorter kernel disappears: its whole time is the gain, for either of the two.
    let attention = int(table, row_of(table, "paged_attention"), "total_ns");
    for row in 0..2 {
        assert_eq!(int(table, row, "gain_ceiling_ns"), attention);
    }
}

#[test]
fn overlapped_gradients_cost_what_no_computation_hides() {
    let simulation = quick("training");
    for (run, truth) in simulation.runs.iter().zip(&simulation.truth.ranks) {
        let found = with_context(&run.trace, 0.0, overlap);
        let row = row_of(&found.table(), "nccl");
        assert_eq!(int(&found.table(), row, "exposed_ns"), truth.exposed_communication_ns);
        assert_eq!(int(&found.table(), row, "total_ns"), truth.communication_ns);
        let hidden = cell(&found.table(), row, "hidden_pct").number().unwrap();
        let expected = 100.0 * (1.0 - truth.exposed_communication_ns as f64 / truth.communication_ns as f64);
        assert!((hidden - expected).abs() < 1e-6, "{hidden} {expected}");
    }
}

#[test]
fn ceilings_stay_below_what_is_exposed_and_their_sum_below_busy() {
    for scenario in Scenario::builtin_names() {
        let simulation = run(scenario, Options { steps: Some(2), ..Options::default() });
        for run in &simulation.runs {
            with_context(&run.trace, 0.0, |context| {
                let report = overlap_report(context);
                let table = report.table("overlap_opportunities").unwrap();
                let busy: i64 = {
                    let devices = report.table("concurrency").unwrap();
                    (0..devices.rows.len()).map(|row| int(devices, row, "busy_ns")).sum()
                };
                let mut sum = 0;
                for row in 0..table.rows.len() {
                    let gain = int(table, row, "gain_ceiling_ns");
                    assert!((0..=int(table, row, "exposed_ns")).contains(&gain), "{scenario}");
                    if let Value::Int(free) = cell(table, row, "free_gain_ns") {
                        assert!((0..=gain).contains(free), "{scenario}: {free} of {gain}");
                    }
                    sum += gain;
                }
                assert!(sum <= busy, "{scenario}: {sum} of {busy}");
            });
        }
    }
}

#[test]
fn ranks_gain_side_by_side_not_one_after_the_other() {
    let simulation = quick("exposed-communication");
    let mut both = trace::Trace::default();
    for run in &simulation.runs {
        let mut alone = run.trace.clone();
        alone.links = Default::default();
        both.append(alone);
    }
    both.finish();
    let report = report(&both);
    let table = report.table("overlap_opportunities").unwrap();
    let exposed: Vec<i64> = simulation.truth.ranks.iter().map(|rank| rank.exposed_communication_ns).collect();
    assert_eq!(int(table, 0, "exposed_ns"), exposed.iter().sum::<i64>());
    assert_eq!(Some(int(table, 0, "gain_ceiling_ns")), exposed.iter().copied().max());
}

#[test]
fn the_same_run_gives_the_same_table() {
    let simulation = quick("serving");
    let trace = &simulation.runs[0].trace;
    let [first, second] = [report(trace), report(trace)];
    assert_eq!(first, second);
}
