//! What `truth.json` says is what the trace shows, computed another way; same seed, same run.

use std::collections::BTreeMap;

use rocm_perf_synth::{Options, Scenario, Simulation, simulate};
use trace::Trace;

fn run(name: &str, options: Options) -> Simulation {
    simulate(&Scenario::builtin(name).unwrap(), &options).unwrap()
}

/// Length of the part of `these` that none of `those` covers, by asking at every boundary.
fn uncovered(these: &[(i64, i64)], those: &[(i64, i64)]) -> i64 {
    let mut points: Vec<i64> = these.iter().chain(those).flat_map(|&(s, e)| [s, e]).collect();
    points.sort_unstable();
    points.dedup();
    let inside = |list: &[(i64, i64)], at: i64| list.iter().any(|&(s, e)| s <= at && at < e);
    points.windows(2).filter(|w| inside(these, w[0]) && !inside(those, w[0])).map(|w| w[1] - w[0]).sum()
}

fn kernels(trace: &Trace, communication: bool) -> Vec<(i64, i64)> {
    let is = |i: usize| trace.strings.get(trace.kernels.name[i]).contains("nccl") == communication;
    (0..trace.kernels.len())
        .filter(|&i| is(i))
        .map(|i| (trace.kernels.start[i], trace.kernels.end[i]))
        .collect()
}

#[test]
fn figures_of_ranks_are_those_of_the_trace() {
    for name in ["training", "exposed-communication", "slow-copies", "clean"] {
        let simulation = run(name, Options { steps: Some(2), ..Options::default() });
        for (run, truth) in simulation.runs.iter().zip(&simulation.truth.ranks) {
            let trace = &run.trace;
            let mut by_name: BTreeMap<&str, (u64, i64)> = BTreeMap::new();
            for k in trace.kernels.rows() {
                let entry = by_name.entry(trace.strings.get(k.name)).or_default();
                *entry = (entry.0 + 1, entry.1 + k.end - k.start);
            }
            assert_eq!(by_name.len(), truth.kernels.len());
            for kernel in &truth.kernels {
                assert_eq!(by_name[kernel.name.as_str()], (kernel.calls, kernel.total_ns), "{name}");
            }
            let (communication, compute) = (kernels(trace, true), kernels(trace, false));
            let copies: Vec<(i64, i64)> = trace.memory_copies.rows().map(|c| (c.start, c.end)).collect();
            assert_eq!(truth.exposed_communication_ns, uncovered(&communication, &compute), "{name}");
            assert_eq!(truth.communication_ns, uncovered(&communication, &[]), "{name}");
            let all_kernels = [communication, compute].concat();
            assert_eq!(truth.exposed_memcpy_ns, uncovered(&copies, &all_kernels), "{name}");
            let everything = [all_kernels, copies].concat();
            assert_eq!(truth.busy_ns, uncovered(&everything, &[]), "{name}");
            let host_and_gpu = trace
                .regions
                .rows()
                .map(|r| (r.start, r.end))
                .chain(everything)
                .fold((i64::MAX, i64::MIN), |(first, last), (s, e)| (first.min(s), last.max(e)));
            assert_eq!((truth.first_ns, truth.last_ns), host_and_gpu, "{name}");
        }
    }
}

fn fingerprint(simulation: &Simulation) -> Vec<(i64, i64)> {
    let trace = &simulation.runs[0].trace;
    trace.kernels.rows().map(|k| (k.start, k.end)).collect()
}

#[test]
fn the_seed_is_everything() {
    let of = |seed| run("training", Options { seed, steps: Some(2), ..Options::default() });
    assert_eq!(fingerprint(&of(1)), fingerprint(&of(1)));
    assert_eq!(of(1).truth, of(1).truth);
    assert_ne!(fingerprint(&of(1)), fingerprint(&of(2)));
}

#[test]
fn scaling_a_kernel_changes_only_what_follows() {
    let plain = run("straggler", Options::default());
    let scaled = run("straggler", Options { scale: vec![("gemm".into(), 0.5)], ..Options::default() });
    for (a, b) in plain.runs.iter().zip(&scaled.runs) {
        let durations = |trace: &Trace, word: &str| -> Vec<i64> {
            let is = |k: &trace::Kernel| trace.strings.get(k.name).contains(word);
            trace.kernels.rows().filter(is).map(|k| k.end - k.start).collect()
        };
        let (before, after) = (durations(&a.trace, "Cijk"), durations(&b.trace, "Cijk"));
        assert_eq!(before.len(), after.len());
        assert!(before.iter().zip(&after).all(|(x, y)| (x - 2 * y).abs() <= 3), "exactly half as long");
        // Host calls cost the same as before, except those that wait.
        let calls = |trace: &Trace| -> Vec<i64> {
            let id = trace.strings.find("hipExtModuleLaunchKernel").unwrap();
            trace.regions.rows().filter(|r| r.name == id).map(|r| r.end - r.start).collect()
        };
        let off = calls(&a.trace).iter().zip(calls(&b.trace)).map(|(x, y)| (x - y).abs()).max();
        assert!(off.unwrap() <= 1, "clock drift may move a nanosecond");
    }
    assert!(scaled.truth.span_ns < plain.truth.span_ns * 7 / 10);
    // Each collective's transfer is drawn separately: the last to come waits as long as before.
    let own_time = |simulation: &Simulation| -> Vec<i64> {
        let mut shortest: BTreeMap<i64, i64> = BTreeMap::new();
        for run in &simulation.runs {
            for c in run.trace.collectives.rows() {
                let row = c.row.get().unwrap().1;
                let time = run.trace.kernels.end[row] - run.trace.kernels.start[row];
                let least = shortest.entry(c.sequence.get().unwrap()).or_insert(time);
                *least = time.min(*least);
            }
        }
        shortest.into_values().collect()
    };
    assert!(own_time(&plain).iter().zip(own_time(&scaled)).all(|(a, b)| (a - b).abs() <= 2));
}

#[test]
fn a_pattern_that_matches_nothing_is_an_error() {
    let scenario = Scenario::builtin("clean").unwrap();
    for (pattern, factor) in [("nothing", 0.5), ("gemm", f64::NAN), ("gemm", -1.0)] {
        let options = Options { scale: vec![(pattern.into(), factor)], ..Options::default() };
        let error = simulate(&scenario, &options).unwrap_err().to_string();
        assert!(error.starts_with("cannot scale"), "{error}");
    }
}

#[test]
fn kernels_and_ranks_are_as_asked() {
    let simulation = run("straggler", Options { kernels: Some(500), ranks: Some(3), ..Options::default() });
    assert_eq!(simulation.runs.len(), 3);
    for run in &simulation.runs {
        let kernels = run.trace.kernels.len();
        assert!((500..520).contains(&kernels), "{kernels}");
        assert_eq!(run.trace.sources[0].rank, Some(run.rank));
    }
}
