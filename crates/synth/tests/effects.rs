//! Each small scenario really shows the fault it is made for, seen in the trace alone.

use rocm_perf_synth::{Injected, Options, Scenario, Simulation, simulate};
use trace::Trace;

fn run(name: &str) -> (Simulation, Injected) {
    let simulation = simulate(&Scenario::builtin(name).unwrap(), &Options::default()).unwrap();
    let truth =
        simulation.truth.injected.first().unwrap_or_else(|| panic!("{name} injects something")).clone();
    assert!(truth.count > 0 && truth.magnitude_ns > 0 && truth.end_ns > truth.start_ns, "{truth:?}");
    (simulation, truth)
}

fn trace(simulation: &Simulation) -> &Trace {
    &simulation.runs[0].trace
}

/// (start, end) of the regions of a name.
fn regions(trace: &Trace, name: &str) -> Vec<(i64, i64)> {
    let id = trace.strings.find(name).unwrap_or_else(|| panic!("no `{name}`"));
    trace.regions.rows().filter(|r| r.name == id).map(|r| (r.start, r.end)).collect()
}

fn durations(trace: &Trace, name: &str) -> Vec<i64> {
    let id = trace.strings.find(name).unwrap_or_else(|| panic!("no `{name}`"));
    trace.kernels.rows().filter(|k| k.name == id).map(|k| k.end - k.start).collect()
}

/// Time of an interval during which no kernel runs.
fn idle(trace: &Trace, (start, end): (i64, i64)) -> i64 {
    let busy: i64 = trace.kernels.rows().map(|k| (k.end.min(end) - k.start.max(start)).max(0)).sum();
    end - start - busy
}

fn median(mut values: Vec<i64>) -> i64 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Share of the rank's span during which a kernel runs.
fn busy_share(trace: &Trace) -> f64 {
    let (start, end) = trace.span().unwrap();
    1.0 - idle(trace, (start, end)) as f64 / (end - start) as f64
}

#[test]
fn clean_is_clean() {
    let simulation = simulate(&Scenario::builtin("clean").unwrap(), &Options::default()).unwrap();
    assert!(simulation.truth.injected.is_empty());
    let trace = trace(&simulation);
    assert!(busy_share(trace) > 0.95, "{}", busy_share(trace));
    for c in trace.memory_copies.rows() {
        let rate = c.bytes.get().unwrap() as f64 / (c.end - c.start) as f64;
        assert!(c.bytes.get().unwrap() > 1 << 20 && rate > 40.0, "{rate}");
    }
}

#[test]
fn the_gpu_is_idle_while_the_host_tokenises() {
    let (simulation, truth) = run("idle-gpu");
    let trace = trace(&simulation);
    let frames = regions(trace, truth.name.as_deref().unwrap());
    assert_eq!(frames.len() as u64, truth.count);
    let waiting: i64 = frames.iter().map(|f| idle(trace, *f)).sum();
    assert_eq!(waiting, truth.magnitude_ns);
    // All but that of the last step, which nothing follows.
    assert!(truth.gain_ns.unwrap() >= truth.magnitude_ns * 9 / 10, "{truth:?}");
}

#[test]
fn kernels_wait_for_their_launches() {
    let (simulation, truth) = run("launch-bound");
    let trace = trace(&simulation);
    let id = trace.strings.find(truth.name.as_deref().unwrap()).unwrap();
    let rows: Vec<_> = trace.kernels.rows().filter(|k| k.name == id).collect();
    let gaps: Vec<i64> = rows.windows(2).map(|w| w[1].start - w[0].end).collect();
    assert!(median(gaps) > median(rows.iter().map(|k| k.end - k.start).collect()));
    assert!(busy_share(trace) < 0.5);
}

#[test]
fn kernels_are_tiny() {
    let (simulation, truth) = run("tiny-kernels");
    let times = durations(trace(&simulation), truth.name.as_deref().unwrap());
    assert!(times.len() > 1000 && median(times) < 2_500);
}

#[test]
fn the_host_waits_after_every_op() {
    let (simulation, truth) = run("blocking-sync");
    let trace = trace(&simulation);
    let waits = regions(trace, "hipDeviceSynchronize");
    assert_eq!(waits.len() as u64, truth.count);
    let (start, end) = trace.span().unwrap();
    assert!(waits.iter().map(|w| w.1 - w.0).sum::<i64>() > (end - start) / 2);
    assert!(truth.gain_ns.unwrap() > (end - start) / 20, "{truth:?}");
}

#[test]
fn copies_are_pageable_small_or_slow() {
    for (name, bytes, gbps) in
        [("pageable-copies", 16 << 20, 9.0), ("small-copies", 256, 0.07), ("slow-copies", 32 << 20, 5.0)]
    {
        let (simulation, truth) = run(name);
        let trace = trace(&simulation);
        let id = trace.strings.find(truth.name.as_deref().unwrap()).unwrap();
        let faulty = trace.memory_copies.rows().filter(|c| {
            let rate = c.bytes.get().unwrap() as f64 / (c.end - c.start) as f64;
            c.name == id && c.bytes.get() == Some(bytes) && rate < gbps * 1.2
        });
        let (count, time) = faulty.fold((0, 0), |(n, t), c| (n + 1, t + c.end - c.start));
        assert_eq!((count, time), (truth.count, truth.magnitude_ns), "{name}");
        assert!(name == "small-copies" || truth.gain_ns.unwrap() > truth.magnitude_ns / 2, "{truth:?}");
    }
}

#[test]
fn two_streams_never_overlap() {
    let (simulation, truth) = run("serialised-streams");
    let trace = trace(&simulation);
    let mut rows: Vec<_> = trace.kernels.rows().collect();
    rows.sort_by_key(|k| k.start);
    assert!(rows.windows(2).all(|w| w[1].start >= w[0].end));
    assert!(rows.windows(2).any(|w| w[1].stream != w[0].stream));
    let (start, end) = trace.span().unwrap();
    assert!(truth.gain_ns.unwrap() > (end - start) / 4, "{truth:?}");
}

#[test]
fn nothing_overlaps_the_all_reduce() {
    let (simulation, truth) = run("exposed-communication");
    for rank in &simulation.truth.ranks {
        assert!(rank.exposed_communication_ns * 100 > rank.communication_ns * 99);
        assert!(rank.communication_ns > rank.span_ns / 10);
    }
    assert!(truth.gain_ns.unwrap() > truth.magnitude_ns / 2, "{truth:?}");
}

#[test]
fn memory_is_allocated_in_every_op() {
    let (simulation, truth) = run("allocation-churn");
    let trace = trace(&simulation);
    let (allocs, frees) = (regions(trace, "hipMalloc"), regions(trace, "hipFree"));
    assert_eq!((allocs.len() + frees.len()) as u64, truth.count);
    assert_eq!(allocs.iter().chain(&frees).map(|c| c.1 - c.0).sum::<i64>(), truth.magnitude_ns);
    assert_eq!(trace.memory_allocations.len() as u64, truth.count);
}

#[test]
fn one_gpu_has_more_work() {
    let (simulation, _) = run("agent-imbalance");
    let trace = trace(&simulation);
    let mut busy = [0i64; 2];
    for k in trace.kernels.rows() {
        busy[k.agent.get().unwrap()] += k.end - k.start;
    }
    assert!(busy[0] > 2 * busy[1], "{busy:?}");
}

#[test]
fn a_kernel_varies_or_starts_slowly() {
    let (simulation, truth) = run("kernel-variance");
    let times = durations(trace(&simulation), truth.name.as_deref().unwrap());
    let typical = median(times.clone());
    let outliers = times.iter().filter(|t| **t > 4 * typical).count();
    assert_eq!(outliers as u64, truth.count);
    let excess: i64 = times.iter().map(|t| (t - typical).max(0)).filter(|e| *e > 3 * typical).sum();
    assert!((excess - truth.magnitude_ns).abs() < truth.magnitude_ns / 20);

    let (simulation, truth) = run("first-call");
    let times = durations(trace(&simulation), truth.name.as_deref().unwrap());
    assert!(times[0] > 200 * median(times.clone()) && truth.count == 1);
    assert!(truth.gain_ns.unwrap() > truth.magnitude_ns * 9 / 10, "{truth:?}");
}

#[test]
fn one_rank_is_late() {
    let (simulation, truth) = run("straggler");
    assert_eq!((simulation.truth.straggler, truth.rank), (Some(2), 2));
    let waited: Vec<i64> = simulation.truth.ranks.iter().map(|r| r.waited_in_collectives_ns).collect();
    assert!(waited.iter().enumerate().all(|(rank, w)| rank == 2 || *w > 20 * waited[2].max(1)), "{waited:?}");
}

#[test]
fn one_kernel_has_most_of_the_time() {
    let (simulation, truth) = run("slow-kernel");
    let trace = trace(&simulation);
    let slow: i64 = durations(trace, truth.name.as_deref().unwrap()).iter().sum();
    let all: i64 = trace.kernels.rows().map(|k| k.end - k.start).sum();
    assert!(slow * 2 > all);
    assert_eq!(slow, truth.magnitude_ns);
}

#[test]
fn a_chain_could_be_one_kernel() {
    let (simulation, truth) = run("fusable-chain");
    let trace = trace(&simulation);
    let id = trace.strings.find(truth.name.as_deref().unwrap()).unwrap();
    let rows: Vec<_> = trace.kernels.rows().collect();
    let pairs = rows.windows(2).filter(|w| w[1].name == id);
    assert!(pairs.clone().count() > 100);
    assert!(pairs.into_iter().all(|w| trace.strings.get(w[0].name).contains("silu")));
}
