//! What the profiler keeps of a run, and what the truth says about its idle time, computed another way.

use rocm_perf_synth::{Dialect, Options, Scenario, Simulation, simulate};
use trace::{RowRef, Trace};

fn run(name: &str, dialect: Dialect) -> Simulation {
    simulate(&Scenario::builtin(name).unwrap(), &Options { dialect, ..Options::default() }).unwrap()
}

fn text(trace: &Trace, id: trace::StrId) -> &str {
    trace.strings.get(id)
}

/// Time in which no kernel and no copy runs, between the first and the last of them.
fn idle(trace: &Trace) -> Vec<(i64, i64)> {
    let kernels = trace.kernels.rows().map(|k| (k.start, k.end));
    let mut work: Vec<(i64, i64)> =
        kernels.chain(trace.memory_copies.rows().map(|c| (c.start, c.end))).collect();
    work.sort_unstable();
    let mut gaps = Vec::new();
    let mut until = work[0].0;
    for (start, end) in work {
        if start > until {
            gaps.push((until, start));
        }
        until = until.max(end);
    }
    gaps
}

#[test]
fn idle_time_is_where_the_trace_shows_the_host() {
    for name in ["slow-launches", "eager", "one-blocking-copy", "idle-gpu", "cut-start"] {
        let simulation = run(name, Dialect::Torch);
        let (trace, truth) = (&simulation.runs[0].trace, &simulation.truth.ranks[0].idle);
        let gaps = idle(trace);
        let during = |is: &dyn Fn(&str) -> bool| -> i64 {
            let regions = trace.regions.rows().filter(|region| is(text(trace, region.name)));
            let inside =
                |region: trace::Region| gaps.iter().map(move |g| g.1.min(region.end) - g.0.max(region.start));
            regions.flat_map(inside).filter(|ns| *ns > 0).sum()
        };
        assert_eq!(truth.total_ns, gaps.iter().map(|gap| gap.1 - gap.0).sum::<i64>(), "{name}");
        let launches =
            |call: &str| call.starts_with("hip") && call.contains("Launch") || call == "hipMemcpyAsync";
        assert_eq!(truth.in_launch_calls_ns, during(&launches), "{name}");
        let waits = |call: &str| call.ends_with("Synchronize") || call == "hipMemcpy";
        assert_eq!(truth.in_blocking_calls_ns, during(&waits), "{name}");
        let host = |frame: &str| frame.contains("encode_batch");
        assert_eq!(truth.in_host_code_ns, during(&host), "{name}");
    }
}

#[test]
fn a_late_recording_holds_neither_earlier_calls_nor_their_work() {
    let simulation = run("cut-start", Dialect::Torch);
    let trace = &simulation.runs[0].trace;
    let truth = &simulation.truth.ranks[0];
    assert_eq!(trace.kernels.len(), 8 * 60);
    assert_eq!(truth.kernels.iter().map(|kernel| kernel.calls).sum::<u64>(), 8 * 60);
    let launch = trace.links.launch_of(RowRef::kernel(0)).unwrap();
    let first_launch = trace.regions.end[launch];
    assert_eq!(truth.idle.first_wait_ns, trace.kernels.start[0] - first_launch);
    assert!(truth.idle.first_wait_ns > 100_000_000);
    assert!((0..trace.kernels.len()).all(|row| trace.links.launch_of(RowRef::kernel(row)).is_some()));
}

#[test]
fn annotations_on_gpu_lanes_span_the_kernels_of_their_steps() {
    let simulation = run("gpu-annotations", Dialect::Torch);
    let trace = &simulation.runs[0].trace;
    let of = |category: &str| {
        trace.regions.rows().filter(|region| text(trace, region.category) == category).collect::<Vec<_>>()
    };
    assert!(of("user_annotation").is_empty());
    let annotations = of("gpu_user_annotation");
    assert_eq!(annotations.len(), 10);
    for stage in &simulation.truth.ranks[0].stages {
        let word = if stage.stage == "prefill" { "EXTEND" } else { "DECODE" };
        let steps = annotations.iter().filter(|region| text(trace, region.name).contains(word));
        let inside = |step: &trace::Region| {
            trace.kernels.rows().filter(|k| step.start <= k.start && k.end <= step.end).count() as u64
        };
        assert_eq!(steps.map(inside).sum::<u64>(), stage.kernels, "{}", stage.stage);
    }
}

#[test]
fn containers_share_a_pid_and_know_no_rank() {
    let simulation = run("same-pid", Dialect::Rocprof);
    let processes: Vec<_> = simulation.runs.iter().map(|run| &run.trace.processes[0]).collect();
    assert!(processes.iter().all(|process| process.pid == 1 && process.rank.is_none()));
    let mut guids: Vec<&str> = simulation.truth.ranks.iter().map(|rank| rank.guid.as_str()).collect();
    guids.dedup();
    assert_eq!(guids.len(), 3);
}

#[test]
fn collectives_may_lack_their_number() {
    for dialect in [Dialect::Torch, Dialect::Rocprof] {
        let simulation = run("unnumbered-collectives", dialect);
        assert_eq!(simulation.truth.straggler, Some(2));
        for run in &simulation.runs {
            assert!(run.trace.collectives.rows().all(|collective| collective.sequence.get().is_none()));
            assert!(run.trace.strings.find("Seq").is_none_or(|key| {
                (0..run.trace.regions.len())
                    .all(|row| run.trace.args.value(RowRef::region(row), key).is_none())
            }));
        }
    }
}
