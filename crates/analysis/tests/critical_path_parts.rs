//! `--what-if` for a module, a stage and the clock, compared with new simulations.

use model::Run;
use model::classify::Classifier;
use rocm_perf_analysis::causes::critical_path::{self, CriticalPath};
use rocm_perf_analysis::{CriticalPathOptions, WhatIf, WhatIfError};
use synth::{Options, Scenario, simulate};
use trace::Trace;

fn scenario() -> Scenario {
    Scenario::builtin("below-peak").expect("a scenario")
}

fn simulated(scenario: &Scenario, scale: &[(&str, f64)], seed: u64) -> Trace {
    let scale = scale.iter().map(|(name, factor)| (name.to_string(), *factor)).collect();
    let options = Options { seed, scale, steps: Some(10), ..Options::default() };
    simulate(scenario, &options).expect("a run").runs.remove(0).trace
}

fn asked(trace: &Trace, question: &str) -> Result<CriticalPath, WhatIfError> {
    let classifier = Classifier::builtin();
    let run = Run::new(trace, None, &classifier, 0.0).expect("a run");
    let mut question: WhatIf = question.parse()?;
    question.look_up(&run, rocm_perf_analysis::kernels::roofline::clocked_kernels)?;
    let options = CriticalPathOptions { what_if: vec![question], ..CriticalPathOptions::default() };
    Ok(critical_path::compute(trace, &classifier, &options).expect("a path"))
}

fn assert_predicts(trace: &Trace, question: &str, again: &Trace) {
    let path = asked(trace, question).expect("an answer");
    let predicted = path.what_if[0].predicted_span_ns;
    let options = CriticalPathOptions::default();
    let truth = critical_path::compute(again, &Classifier::builtin(), &options).expect("a path").span_ns;
    let off = (predicted - truth).abs() as f64 / truth as f64;
    assert!(
        off <= 0.02,
        "{question}: {predicted} ns predicted, {truth} ns simulated, {} before",
        path.span_ns
    );
    assert!((path.span_ns - truth).abs() as f64 / truth as f64 > 0.03, "{question}: something changes");
}

#[test]
fn a_higher_clock_is_predicted_and_memory_bound_kernels_do_not_change() {
    for (seed, launch_us, factor) in [(1, 4.0, 1.1), (2, 4.0, 1.25), (3, 300.0, 1.2), (4, 4.0, 0.9)] {
        let mut scenario = scenario();
        scenario.machine.launch_us = launch_us;
        let trace = simulated(&scenario, &[], seed);
        scenario.machine.clock_mhz *= factor;
        let again = simulated(&scenario, &[], seed);
        assert_predicts(&trace, &format!("clock={factor}"), &again);
    }
}

#[test]
fn a_module_is_predicted_with_its_kernels() {
    for (seed, factor) in [(1, 0.5), (2, 0.8), (3, 1.5)] {
        let trace = simulated(&scenario(), &[], seed);
        let again = simulated(&scenario(), &[("gemm", factor)], seed);
        assert_predicts(&trace, &format!("module:Linear={factor}"), &again);
        let again = simulated(&scenario(), &[("add", factor)], seed);
        assert_predicts(&trace, &format!("module:residual={factor}"), &again);
    }
}

#[test]
fn a_stage_is_predicted_with_all_its_work() {
    let trace = simulated(&scenario(), &[], 1);
    let mut faster = scenario();
    faster.machine.pinned_gbps *= 2.0;
    faster.machine.copy_us /= 2.0;
    let again = simulated(&faster, &[("gemm", 0.5), ("add", 0.5)], 1);
    assert_predicts(&trace, "stage:prefill=0.5", &again);
}

#[test]
fn a_module_or_stage_that_is_not_there_is_named() {
    let trace = simulated(&scenario(), &[], 1);
    let said = |question: &str| asked(&trace, question).expect_err("no answer").to_string();
    assert_eq!(
        said("module:Linaer=0.5"),
        "no `nn.Module` of the run is called `Linaer`; close to it: `Linear`"
    );
    assert_eq!(said("stage:decode=0.5"), "the run has no stage `decode`; it has prefill");
    let mut without_stacks = trace.clone();
    without_stacks.regions = Default::default();
    without_stacks.links = Default::default();
    let said = asked(&without_stacks, "module:Linear=0.5").expect_err("no answer").to_string();
    assert!(said.contains("none was recorded"), "{said}");
}
