//! `efficiency`: exact on every trace, and it finds each injected loss.

use model::Run;
use model::classify::Classifier;
use rocm_perf_analysis::RooflineOptions;
use rocm_perf_analysis::kernels::efficiency::{
    Efficiency, Parts, WaterfallStep, compute, efficiency_needs, present,
};
use synth::{Options, Scenario, Simulation, simulate};
use trace::Trace;

fn efficiency(trace: &Trace) -> Efficiency {
    let run = Run::new(trace, None, &Classifier::builtin(), 0.0).expect("a run");
    let accounts = rocm_perf_analysis::causes::idle::compute(&run);
    compute(&run, &accounts, &RooflineOptions::default())
}

/// The parts of each GPU add up to its span; so do steps, stages and kernels.
fn assert_exact(found: &Efficiency, name: &str) {
    let all = found.total();
    for gpu in &found.gpus {
        assert_eq!(gpu.parts.total(), gpu.span.1 - gpu.span.0, "{name}: the parts of a GPU are its span");
    }
    let sum = |parts: &mut dyn Iterator<Item = &Parts>| {
        parts.fold(Parts::default(), |mut sum, one| {
            sum.add_all(one);
            sum
        })
    };
    assert_eq!(sum(&mut found.steps.iter().map(|step| &step.parts)), all, "{name}: steps");
    assert_eq!(sum(&mut found.stages.iter().map(|stage| &stage.parts)), all, "{name}: stages");
    assert_eq!(sum(&mut found.kernels.iter().map(|kernel| &kernel.parts)), all, "{name}: kernels");
    let unmeasured: i64 = found.unmeasured.iter().map(|row| row.total_ns).sum();
    assert_eq!(unmeasured, all.get(WaterfallStep::NotMeasured), "{name}: what is not measured");
    for part in WaterfallStep::ALL {
        assert!(all.get(part) >= 0, "{name}: {} is negative", part.name());
    }
}

fn simulated(change: impl Fn(&mut Scenario), seed: u64) -> Simulation {
    let mut scenario = Scenario::builtin("below-peak").expect("a scenario");
    change(&mut scenario);
    simulate(&scenario, &Options { seed, ..Options::default() }).expect("a run")
}

fn assert_near(found: i64, truth: i64, name: &str) {
    let off = (found - truth).abs() as f64 / truth as f64;
    assert!(off <= 0.05, "{name}: {found} ns, and {truth} ns are true");
}

#[test]
fn an_injected_clock_drop_quantisation_and_exposed_copies_are_found() {
    for (seed, clock_mhz) in [(1, 1680.0), (2, 1900.0), (3, 1200.0)] {
        let simulation = simulated(|scenario| scenario.machine.clock_mhz = clock_mhz, seed);
        let truth = &simulation.truth.ranks[0];
        let lost = truth.efficiency.expect("a truth");
        let found = efficiency(&simulation.runs[0].trace);
        assert_exact(&found, "below-peak");
        let all = found.total();
        assert_near(all.get(WaterfallStep::Clock), lost.clock_ns, "clock");
        assert_near(all.get(WaterfallStep::Quantisation), lost.quantisation_ns, "quantisation");
        assert_near(all.get(WaterfallStep::Copies), truth.exposed_memcpy_ns, "copies");
        assert_eq!(all.get(WaterfallStep::NotMeasured), 0, "all work is known by its shapes");
        let mean = found.clock.mean_mhz.expect("a clock");
        assert!((mean - clock_mhz).abs() < 1.0, "{mean}");
    }
}

#[test]
fn without_samples_the_clock_is_not_known_and_not_zero() {
    let simulation = simulated(|scenario| scenario.machine.clock_mhz = 0.0, 1);
    let found = efficiency(&simulation.runs[0].trace);
    assert_exact(&found, "below-peak at its peak clock");
    assert_eq!(found.not_known(WaterfallStep::Clock), Some("the clock was not recorded"));
    assert_near(
        found.total().get(WaterfallStep::Quantisation),
        simulation.truth.ranks[0].efficiency.expect("a truth").quantisation_ns,
        "quantisation",
    );
}

#[test]
fn an_impossible_clock_is_flagged_and_not_used() {
    let mut trace = simulated(|_| {}, 1).runs.remove(0).trace;
    let clock = trace.strings.find("GPU clock").expect("samples");
    let rows: Vec<usize> = (0..trace.samples.len()).filter(|&row| trace.samples.name[row] == clock).collect();
    for &row in &rows {
        trace.samples.value[row] = 28_000.0;
    }
    let found = efficiency(&trace);
    assert_exact(&found, "an impossible clock");
    assert_eq!((found.clock.impossible, found.clock.samples), (rows.len(), 0));
    assert!(found.not_known(WaterfallStep::Clock).is_some());
    let report = present(&trace, &found);
    assert!(report.health.iter().any(|check| check.id == "impossible_clock"), "{:?}", report.health);
}

#[test]
fn every_built_in_scenario_adds_up() {
    for name in Scenario::builtin_names() {
        let scenario = Scenario::builtin(name).expect("a scenario");
        let options = Options { steps: Some(3), ..Options::default() };
        for run in simulate(&scenario, &options).expect("a run").runs {
            assert_exact(&efficiency(&run.trace), name);
        }
    }
}

#[test]
fn every_shared_trace_adds_up() {
    let Some(folder) = testing::data("traces") else { return };
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").flatten().map(|e| e.path()).collect();
    // Folders are runs with several ranks or stages.
    paths.retain(|path| {
        path.to_string_lossy().ends_with(".json.gz") || (path.is_dir() && !path.ends_with("expected"))
    });
    assert!(paths.iter().filter(|path| path.is_dir()).count() >= 3, "the folders are there too");
    for path in paths {
        let name = path.display().to_string();
        let trace =
            ingest::read(&[path], &efficiency_needs(), &ingest::Progress::default()).expect("a trace");
        assert_exact(&efficiency(&trace), &name);
    }
}

/// Omnistat metrics next to a torch trace: the reader's name for the clock must be in the table of clocks.
#[test]
fn the_clock_that_omnistat_samples_is_used() {
    const START_S: i64 = 1_700_000_000;
    let folder = tempfile::tempdir().expect("a folder");
    let metrics: String = (0..20)
        .flat_map(|tenth| {
            let at = START_S * 1000 + tenth * 100;
            let memory = format!("rocm_mclk_clock_mhz{{card=\"0\",instance=\"node1:8001\"}} 1300 {at}\n");
            [format!("rocm_sclk_clock_mhz{{card=\"0\",instance=\"node1:8001\"}} 1680 {at}\n"), memory]
        })
        .collect();
    let dump = folder.path().join("dump.txt");
    std::fs::write(&dump, format!("# TYPE rocm_sclk_clock_mhz gauge\n{metrics}")).expect("a file");
    let kernel = |number: i64| {
        let start = START_S * 1_000_000 + number * 100_000;
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "Cijk_Ailk_Bljk_BBS_BH_MT128x128x64_MI16x16x1_SN_ISA942_WG16_4_4", "pid": 0, "tid": 7, "ts": {start}, "dur": 90000, "args": {{"device": 0, "stream": 7, "correlation": {number}}}}}"#
        )
    };
    let events: Vec<String> = (1..20).map(kernel).collect();
    let run = folder.path().join("run.json");
    let device =
        r#"{"id": 0, "name": "AMD Instinct MI300X", "computeMajor": 9, "computeMinor": 4, "numSms": 304}"#;
    let text = format!(r#"{{"deviceProperties": [{device}], "traceEvents": [{}]}}"#, events.join(","));
    std::fs::write(&run, text).expect("a file");
    let trace =
        ingest::read(&[run, dump], &efficiency_needs(), &ingest::Progress::default()).expect("a trace");
    let found = efficiency(&trace);
    assert_exact(&found, "omnistat");
    assert!(found.clock.samples >= 10 && found.clock.impossible == 0, "{:?}", found.clock);
    let mean = found.clock.mean_mhz.expect("a clock");
    assert!((mean - 1680.0).abs() < 1.0, "{mean}: memory clocks are not engine clocks");
}
