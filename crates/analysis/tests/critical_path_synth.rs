//! Predictions of `critical-path --what-if` compared with a new simulation of the run.

use crate::critical_path_maker;

use critical_path_maker::{path_of, predicted, span};
use ingest::Progress;
use rocm_perf_analysis::critical_path_needs;
use synth::{Dialect, GenerateOptions, GraphMode, Options, OutputFormat, Scenario, generate, simulate};
use trace::Trace;

/// All ranks of a run as one trace.
fn run(scenario: &Scenario, options: &Options) -> Trace {
    let mut whole = Trace::default();
    for run in simulate(scenario, options).unwrap().runs {
        let mut trace = run.trace;
        // Links and checks are rebuilt for the whole trace.
        trace.links.retain(|_| false);
        trace.health.checks.clear();
        whole.append(trace);
    }
    whole.finish();
    whole
}

fn options(dialect: Dialect, graphs: GraphMode, scale: &[(&str, f64)]) -> Options {
    Options {
        steps: Some(3),
        dialect,
        graphs,
        stacks: false,
        scale: scale.iter().map(|(name, factor)| (name.to_string(), *factor)).collect(),
        ..Options::default()
    }
}

/// A pattern for a scenario's kernel by its name in traces.
fn pattern(scenario: &Scenario, kernel: &str) -> String {
    let name = &scenario.kernels[kernel].name;
    format!("kernel:^{}$", regex::escape(name))
}

/// The kernels of a scenario, most time first.
fn by_time<'a>(scenario: &'a Scenario, trace: &Trace) -> Vec<&'a String> {
    let mut by_time: Vec<(&String, i64)> = scenario
        .kernels
        .iter()
        .map(|(id, kernel)| {
            let name = trace.strings.find(&kernel.name);
            let rows = (0..trace.kernels.len()).filter(|&i| Some(trace.kernels.name[i]) == name);
            (id, rows.map(|i| trace.kernels.end[i] - trace.kernels.start[i]).sum())
        })
        .filter(|(_, total)| *total > 0)
        .collect();
    by_time.sort_by_key(|&(_, total)| std::cmp::Reverse(total));
    by_time.into_iter().map(|(kernel, _)| kernel).collect()
}

/// All ranks of a run, written as torch on ROCm writes traces and read back.
fn through_torch(scenario: &Scenario, graphs: GraphMode, scale: &[(&str, f64)]) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let written = GenerateOptions {
        options: options(Dialect::Torch, graphs, scale),
        mapping: false,
        ..GenerateOptions::new(scenario.clone(), folder.path().join("run"), OutputFormat::Torch)
    };
    let files = generate(&written).unwrap().files;
    let of_a_rank = |file: &&synth::GeneratedFile| file.format.is_some() && file.role.is_none();
    let paths: Vec<_> = files.iter().filter(of_a_rank).map(|file| file.path.clone()).collect();
    ingest::read(&paths, &critical_path_needs(), &Progress::default()).unwrap()
}

/// Scenarios recorded from their first step on and on one clock: unrecorded work cannot be shortened, and a
/// path over clocks that cannot be aligned is refused.
fn whole_runs() -> impl Iterator<Item = &'static str> {
    Scenario::builtin_names().filter(|name| {
        let scenario = Scenario::builtin(name).unwrap();
        scenario.recording.unrecorded_steps == 0 && *name != "two-boots"
    })
}

/// Scenarios in which streams wait for events of other streams. Torch on ROCm records these calls without
/// streams and events, so the order of calls is used instead, and the report says so.
const WAITING: &[&str] = &[
    "clean-ranks",
    "exposed-communication",
    "serialised-streams",
    "training",
    "parallel-training",
    "expert-training",
];

#[test]
fn predictions_hold_for_torch_files_too() {
    for name in whole_runs() {
        let scenario = Scenario::builtin(name).unwrap();
        let mut worst: f64 = 0.0;
        for graphs in [GraphMode::On, GraphMode::Off] {
            let trace = through_torch(&scenario, graphs, &[]);
            for kernel in by_time(&scenario, &trace).into_iter().take(2) {
                for factor in [0.5, 1.5] {
                    let found = path_of(&trace, &[&format!("{}={factor}", pattern(&scenario, kernel))]);
                    let again = span(&path_of(&through_torch(&scenario, graphs, &[(kernel, factor)]), &[]));
                    let error = (predicted(&found, 0) - again).abs() as f64 / again as f64;
                    let said = format!(
                        "{name} {graphs:?} {kernel}={factor}: {} for {again} of {}",
                        predicted(&found, 0),
                        span(&found)
                    );
                    // Few unnumbered collectives do not join ranks; the report says so and predicts too
                    // little.
                    let joined = !found.report.notes.iter().any(|note| note.contains("ranks not joined"));
                    assert_eq!(joined, name != "unnumbered-collectives", "{name}: {:?}", found.report.notes);
                    assert!(!joined || error < 0.01, "{said}");
                    worst = worst.max(if joined { error } else { 0.0 });
                    let noted =
                        found.report.notes.iter().any(|note| note.contains("do not record their event"));
                    assert_eq!(noted, WAITING.contains(&name), "{name}: {:?}", found.report.notes);
                }
            }
        }
        println!("{name}: the worst {:.3} % off", 100.0 * worst);
    }
}

#[test]
fn predictions_are_within_one_percent_of_running_again() {
    let mut worst: f64 = 0.0;
    let mut asked = 0;
    for name in whole_runs() {
        let scenario = Scenario::builtin(name).unwrap();
        for (dialect, graphs) in [
            (Dialect::Torch, GraphMode::On),
            (Dialect::Torch, GraphMode::Off),
            (Dialect::Rocprof, GraphMode::On),
        ] {
            let trace = run(&scenario, &options(dialect, graphs, &[]));
            // The kernel with the most time, and one more.
            for kernel in by_time(&scenario, &trace).into_iter().take(2) {
                for factor in [0.5, 1.5] {
                    let question = format!("{}={factor}", pattern(&scenario, kernel));
                    let found = path_of(&trace, &[&question]);
                    let again = run(&scenario, &options(dialect, graphs, &[(kernel, factor)]));
                    let again = span(&path_of(&again, &[]));
                    let error = (predicted(&found, 0) - again).abs() as f64 / again as f64;
                    let said = format!(
                        "{name} {dialect:?} {graphs:?} {kernel}={factor}: {} for {again} of {}",
                        predicted(&found, 0),
                        span(&found)
                    );
                    assert!(error < 0.01, "{said}");
                    worst = worst.max(error);
                    asked += 1;
                }
            }
        }
    }
    println!("{asked} predictions, the worst {:.3} % off", 100.0 * worst);
}
