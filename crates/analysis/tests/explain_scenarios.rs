//! `explain` on simulated runs: every injected fault is found by its rule, and a clean run has no findings.

use analysis::explain::{RULES, explain, explain_needs};
use model::Run;
use model::classify::Classifier;
use report::{Finding, Report, Value};
use rocm_perf_analysis as analysis;
use synth::{
    Dialect, GenerateOptions, Injected, Options, OutputFormat, Scenario, Simulation, generate, simulate,
};
use trace::Trace;

const SEEDS: [u64; 3] = [1, 2, 3];

/// (scenario, minimum and maximum ratio of the ceiling to the true gain).
///
/// The true gain comes from a rerun without the faulty work, so it is larger than what a rule promises if
/// some of that work must still be done: launches go but kernels stay (about half here), work on one of two
/// GPUs is shared by both (half). Small copies gain nothing in the simulator because their calls stay; their
/// ceiling is compared with the copies' own time.
const SCENARIOS: [(&str, f64, f64); 15] = [
    ("idle-gpu", 0.9, 1.2),
    ("launch-bound", 0.45, 0.75),
    ("tiny-kernels", 0.85, 1.2),
    ("blocking-sync", 0.85, 1.3),
    ("pageable-copies", 0.85, 1.2),
    ("small-copies", 0.85, 1.5),
    ("slow-copies", 0.85, 1.2),
    ("serialised-streams", 0.5, 1.6),
    ("exposed-communication", 0.85, 1.2),
    ("allocation-churn", 0.85, 1.2),
    ("agent-imbalance", 0.4, 0.6),
    ("kernel-variance", 0.85, 1.2),
    ("first-call", 0.9, 1.1),
    ("slow-kernel", 0.9, 1.1),
    ("fusable-chain", 0.7, 1.3),
];

fn run(scenario: &str, seed: u64, dialect: Dialect) -> Simulation {
    let options = Options { seed, dialect, ..Options::default() };
    simulate(&Scenario::builtin(scenario).unwrap(), &options).unwrap()
}

fn explained(trace: &Trace) -> Report {
    let context = Run::new(trace, None, &Classifier::builtin(), 1.0).unwrap();
    explain(&context, &[], &Default::default())
}

fn names(finding: &Finding, name: &str) -> bool {
    finding.evidence.iter().any(|(_, value)| match value {
        Value::Text(text) => text.contains(name),
        Value::Json(serde_json::Value::Array(list)) => list.iter().any(|text| text == name),
        _ => false,
    })
}

fn gain(finding: &Finding) -> f64 {
    finding.gain_ceiling_ns.unwrap_or(0) as f64
}

fn listing(report: &Report) -> String {
    let lines = report
        .findings
        .iter()
        .map(|finding| format!("{} {:.3} ms: {}", finding.id, gain(finding) / 1e6, finding.title));
    lines.collect::<Vec<_>>().join("\n")
}

fn check(scenario: &str, injected: &Injected, report: &Report, low: f64, high: f64) {
    let found: Vec<&Finding> = report.findings.iter().filter(|finding| finding.id == injected.rule).collect();
    let what = injected.name.as_deref().unwrap_or_default();
    let named = found.iter().find(|finding| names(finding, what));
    let finding = named
        .unwrap_or_else(|| panic!("{scenario}: no {} of `{what}` in\n{}", injected.rule, listing(report)));
    let truth = injected.gain_ns.filter(|&gain| gain > 0).unwrap_or(injected.magnitude_ns) as f64;
    let factor = gain(finding) / truth;
    assert!((low..=high).contains(&factor), "{scenario}: {factor:.2} of the truth\n{}", listing(report));
    assert!(finding.evidence.iter().any(|(key, _)| key == "formula"), "{scenario}");
    assert!(!finding.recommendation.is_empty(), "{scenario}");
}

#[test]
fn every_injected_truth_is_found() {
    for seed in SEEDS {
        for (scenario, low, high) in SCENARIOS {
            let simulation = run(scenario, seed, Dialect::Torch);
            assert!(!simulation.truth.injected.is_empty(), "{scenario}");
            for injected in &simulation.truth.injected {
                let report = explained(&simulation.runs[injected.rank as usize].trace);
                check(scenario, injected, &report, low, high);
            }
        }
    }
}

/// A profiler's own files lack Python frames and the kind of host memory, and name copies differently.
#[test]
fn a_profilers_own_traces_tell_as_much() {
    for (scenario, low, high) in SCENARIOS {
        let simulation = run(scenario, 1, Dialect::Rocprof);
        let injected = &simulation.truth.injected[0];
        let report = explained(&simulation.runs[0].trace);
        if scenario == "pageable-copies" {
            assert!(
                report.findings.iter().any(|finding| finding.id == "slow-copies"),
                "{}",
                listing(&report)
            );
            continue;
        }
        let unnamed = Injected { name: None, ..injected.clone() };
        check(scenario, &unnamed, &report, low, high);
    }
}

#[test]
fn a_clean_run_has_nothing_to_find() {
    for seed in SEEDS {
        for dialect in [Dialect::Torch, Dialect::Rocprof] {
            let simulation = run("clean", seed, dialect);
            let report = explained(&simulation.runs[0].trace);
            assert!(report.findings.is_empty(), "{}", listing(&report));
            let table = report.table("rules").unwrap();
            assert_eq!(table.rows.len(), RULES.len());
        }
    }
}

/// Rules that also find something because the scenario has that fault too.
const ALSO: [(&str, &[&str]); 1] = [
    // Its kernels are a chain of pointwise kernels.
    ("launch-bound", &["fusable-chain"]),
];

#[test]
fn rules_are_silent_where_their_fault_is_absent() {
    for seed in SEEDS {
        for (scenario, _, _) in SCENARIOS {
            let simulation = run(scenario, seed, Dialect::Torch);
            let rule = &simulation.truth.injected[0].rule;
            let also = ALSO.iter().find(|(name, _)| *name == scenario).map_or(&[][..], |(_, also)| also);
            let report = explained(&simulation.runs[0].trace);
            for finding in &report.findings {
                let expected = finding.id == *rule || also.contains(&finding.id.as_str());
                assert!(expected, "{scenario}, seed {seed}:\n{}", listing(&report));
            }
        }
    }
}

#[test]
fn the_late_rank_is_named() {
    for seed in SEEDS {
        let folder = tempfile::tempdir().unwrap();
        let scenario = Scenario::builtin("straggler").unwrap();
        let mut options = GenerateOptions::new(scenario, folder.path().join("run"), OutputFormat::Rocpd);
        options.options.seed = seed;
        let made = generate(&options).unwrap();
        let trace =
            ingest::read(&[folder.path().join("run")], &explain_needs(), &Default::default()).unwrap();
        let report = explained(&trace);
        let injected = &made.truth.injected[0];
        check("straggler", injected, &report, 0.8, 1.2);
        let finding = report.findings.iter().find(|finding| finding.id == "straggler").unwrap();
        let rank = finding.evidence.iter().find(|(key, _)| key == "rank").unwrap();
        assert_eq!(rank.1, Value::Int(i64::from(injected.rank)));
    }
}

#[test]
fn ranks_that_keep_up_have_no_straggler() {
    for scenario in ["training", "exposed-communication"] {
        let folder = tempfile::tempdir().unwrap();
        let scenario = Scenario::builtin(scenario).unwrap();
        let mut options = GenerateOptions::new(scenario, folder.path().join("run"), OutputFormat::Rocpd);
        options.options.steps = Some(4);
        generate(&options).unwrap();
        let trace =
            ingest::read(&[folder.path().join("run")], &explain_needs(), &Default::default()).unwrap();
        let report = explained(&trace);
        assert!(report.findings.iter().all(|finding| finding.id != "straggler"), "{}", listing(&report));
    }
}

#[test]
fn rules_say_what_they_lack() {
    let simulation = run("clean", 1, Dialect::Rocprof);
    let report = explained(&simulation.runs[0].trace);
    let table = report.table("rules").unwrap();
    let cell = |rule: &str, key: &str| {
        let row = table.rows.iter().find(|row| row[0] == Value::from(rule)).unwrap();
        row[table.column(key).unwrap()].clone()
    };
    assert_eq!(cell("straggler", "status"), Value::from("cannot judge"));
    assert_eq!(cell("straggler", "why"), Value::from("one rank only"));
    assert_eq!(cell("agent-imbalance", "why"), Value::from("one GPU only, per process"));
    assert_eq!(cell("pageable-copies", "status"), Value::from("cannot judge"));
    assert_eq!(cell("idle-gpu", "status"), Value::from("clear"));
    let none = explained(&Trace::default());
    let table = none.table("rules").unwrap();
    assert!(table.rows.iter().all(|row| row[1] == Value::from("cannot judge")));
}

#[test]
fn findings_come_by_what_they_could_win() {
    let finding = |id: &str, gain: Option<i64>| report::Finding {
        id: id.into(),
        gain_ceiling_ns: gain,
        ..report::Finding::default()
    };
    let mut findings =
        [finding("a", Some(5)), finding("unknown", None), finding("b", Some(9)), finding("c", Some(7))];
    rocm_perf_analysis::explain::rank(&mut findings);
    assert_eq!(findings.map(|finding| finding.id), ["b", "c", "a", "unknown"]);
}
