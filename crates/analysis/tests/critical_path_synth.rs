//! Predictions of `critical-path --what-if` against the same run simulated again.

mod critical_path_maker;

use critical_path_maker::{path_of, predicted, span};
use synth::{Dialect, GraphMode, Options, Scenario, simulate};
use trace::Trace;

/// All ranks of a run as one trace.
fn run(scenario: &Scenario, options: &Options) -> Trace {
    let mut whole = Trace::default();
    for run in simulate(scenario, options).unwrap().runs {
        let mut trace = run.trace;
        // Links and checks are made anew for the whole.
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

/// A kernel of a scenario by the name it has in traces, as a pattern.
fn pattern(scenario: &Scenario, kernel: &str) -> String {
    let name = &scenario.kernels[kernel].name;
    format!("kernel:^{}$", regex::escape(name))
}

#[test]
fn predictions_are_within_one_percent_of_running_again() {
    let mut worst: f64 = 0.0;
    let mut asked = 0;
    for name in Scenario::builtin_names() {
        let scenario = Scenario::builtin(name).unwrap();
        for (dialect, graphs) in [
            (Dialect::Torch, GraphMode::On),
            (Dialect::Torch, GraphMode::Off),
            (Dialect::Rocprof, GraphMode::On),
        ] {
            let trace = run(&scenario, &options(dialect, graphs, &[]));
            let kernels: Vec<&String> = scenario.kernels.keys().collect();
            // The kernel with most time, and one more.
            let mut by_time: Vec<(&String, i64)> = kernels
                .iter()
                .map(|id| {
                    let name = trace.strings.find(&scenario.kernels[id.as_str()].name);
                    let rows = (0..trace.kernels.len()).filter(|&i| Some(trace.kernels.name[i]) == name);
                    (*id, rows.map(|i| trace.kernels.end[i] - trace.kernels.start[i]).sum())
                })
                .filter(|(_, total)| *total > 0)
                .collect();
            by_time.sort_by_key(|&(_, total)| std::cmp::Reverse(total));
            for &(kernel, _) in by_time.iter().take(2) {
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
