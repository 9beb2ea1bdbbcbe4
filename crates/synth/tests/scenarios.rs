//! Scenario files: errors name the key and the line.

use rocm_perf_synth::{Options, Scenario, simulate};

const GOOD: &str = r#"name = "small"
steps = 2

[kernels.gemm]
name = "gemm"
mean_us = 10.0

[[step]]
program = [
    { launch = { kernel = "gemm" } },
]
"#;

#[test]
fn every_builtin_scenario_survives_being_printed() {
    for name in Scenario::builtin_names() {
        let scenario = Scenario::builtin(name).unwrap();
        assert_eq!(scenario.name, name);
        let again = Scenario::from_toml(&scenario.to_toml().unwrap()).unwrap();
        assert_eq!(format!("{:?}", again.machine), format!("{:?}", scenario.machine));
        let options = Options { steps: Some(1), ..Options::default() };
        let (a, b) = (simulate(&scenario, &options).unwrap(), simulate(&again, &options).unwrap());
        assert_eq!(a.truth, b.truth, "{name}");
    }
}

#[test]
fn the_documented_example_runs() {
    let page = include_str!("../../../docs/synth.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let simulation = simulate(&Scenario::from_toml(example).unwrap(), &Options::default()).unwrap();
    assert_eq!(simulation.runs.len(), 2);
    assert_eq!(simulation.truth.straggler, Some(1));
}

#[test]
fn mistakes_are_named_with_their_line() {
    Scenario::from_toml(GOOD).unwrap();
    let changes = [
        ("steps = 2", "stepz = 2", 2, "stepz"),
        ("steps = 2", "steps = \"two\"", 2, "string"),
        ("mean_us = 10.0", "mean_us = -1.0", 1, "kernels.gemm.mean_us"),
        ("kernel = \"gemm\" }", "kernel = \"gem\" }", 10, "[kernels.gem]"),
        ("kernel = \"gemm\" }", "kernel = \"gemm\", truth = \"x\" }", 10, "`x`"),
        ("kernel = \"gemm\" }", "kernel = \"gemm\", gpu = 3 }", 1, "gpu = 3"),
        ("kernel = \"gemm\" }", "kernel = \"gemm\", bogus = 3 }", 10, "bogus"),
        ("launch = { kernel = \"gemm\" }", "lunch = { kernel = \"gemm\" }", 10, "lunch"),
        ("launch = { kernel = \"gemm\" }", "wait = { event = \"e\" }", 10, "`e`"),
        ("launch = { kernel = \"gemm\" }", "repeat = { sequence = \"s\" }", 10, "[sequences.s]"),
        ("steps = 2", "steps = 0", 1, "steps"),
        ("program = [", "program = ", 10, ""),
    ];
    for (from, to, line, word) in changes {
        let error = Scenario::from_toml(&GOOD.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(&format!("line {line}:")), "`{to}`: {error}");
        assert!(error.contains(word), "`{to}`: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn an_unknown_scenario_lists_the_known_ones() {
    let error = Scenario::builtin("nope").unwrap_err().to_string();
    assert!(error.contains("`nope`") && error.contains("`serving`"), "{error}");
}

#[test]
fn a_run_that_never_ends_is_an_error() {
    let text = GOOD.replace("{ launch = { kernel = \"gemm\" } },", "{ take = { queue = \"never\" } },");
    let error = simulate(&Scenario::from_toml(&text).unwrap(), &Options::default()).unwrap_err().to_string();
    assert!(error.contains("never ends") && error.contains("rank 0"), "{error}");
}
