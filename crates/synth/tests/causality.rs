//! Effects never come before their causes, in any built-in scenario.

use std::collections::BTreeMap;

use rocm_perf_synth::{Dialect, GraphMode, Options, Scenario, Simulation, simulate};
use trace::{RowRef, StreamId, Trace};

fn without_clocks(name: &str) -> Scenario {
    let mut scenario = Scenario::builtin(name).unwrap();
    scenario.ranks.clock_offset_us.clear();
    scenario.ranks.clock_drift_ppm.clear();
    scenario
}

fn run(scenario: &Scenario, graphs: GraphMode) -> Simulation {
    let options = Options { steps: Some(6), graphs, ..Options::default() };
    simulate(scenario, &options).unwrap()
}

/// Kernels and copies alike: (stream, start, end, correlation).
fn work(trace: &Trace) -> Vec<(StreamId, i64, i64, i64)> {
    let kernels = trace.kernels.rows().map(|k| (k.stream, k.start, k.end, k.correlation));
    let copies = trace.memory_copies.rows().map(|c| (c.stream, c.start, c.end, c.correlation));
    let mut all: Vec<_> = kernels.chain(copies).collect();
    all.sort_by_key(|w| (w.1, w.2));
    all
}

#[test]
fn kernels_start_after_their_launch_and_streams_are_serial() {
    for name in Scenario::builtin_names() {
        for graphs in [GraphMode::On, GraphMode::Off] {
            for run in run(&without_clocks(name), graphs).runs {
                let trace = run.trace;
                assert!(!trace.kernels.is_empty(), "{name}");
                for i in 0..trace.kernels.len() {
                    let launch = trace.links.launch_of(RowRef::kernel(i)).expect("every kernel has a launch");
                    assert!(trace.kernels.start[i] >= trace.regions.end[launch], "{name}: kernel {i}");
                    assert!(trace.kernels.end[i] > trace.kernels.start[i]);
                }
                let mut busy_until: BTreeMap<u32, i64> = BTreeMap::new();
                for (stream, start, end, _) in work(&trace) {
                    let until = busy_until.entry(stream.0).or_insert(0);
                    assert!(start >= *until, "{name}: overlap on {stream:?}");
                    *until = end;
                }
                assert!(trace.health.problems().next().is_none(), "{name}: {:?}", trace.health);
            }
        }
    }
}

#[test]
fn a_blocking_call_returns_when_its_work_is_done() {
    let mut checked = 0;
    for name in Scenario::builtin_names() {
        for run in run(&without_clocks(name), GraphMode::On).runs {
            let trace = run.trace;
            let work = work(&trace);
            for sync in trace.syncs.rows() {
                if trace.strings.get(sync.kind) != "hipStreamSynchronize" {
                    continue;
                }
                let before = work.iter().filter(|w| w.0 == sync.stream && w.3 < sync.correlation);
                if let Some(last) = before.map(|w| w.2).max() {
                    assert!(sync.end >= last, "{name}: returned {} ns early", last - sync.end);
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn streams_wait_for_events() {
    let mut checked = 0;
    for name in ["serialised-streams", "exposed-communication", "training"] {
        for run in run(&without_clocks(name), GraphMode::On).runs {
            let trace = run.trace;
            let work = work(&trace);
            let recorded: BTreeMap<i64, StreamId> = trace
                .syncs
                .rows()
                .filter(|s| trace.strings.get(s.kind) == "hipEventRecord")
                .map(|s| (s.correlation, s.stream))
                .collect();
            for wait in trace.syncs.rows() {
                let Some(record) = wait.awaited.get() else { continue };
                if wait.stream == StreamId::NONE {
                    continue;
                }
                let producer = recorded[&record];
                let done = work.iter().filter(|w| w.0 == producer && w.3 < record).map(|w| w.2).max();
                let next =
                    work.iter().filter(|w| w.0 == wait.stream && w.3 > wait.correlation).map(|w| w.1).min();
                if let (Some(done), Some(next)) = (done, next) {
                    assert!(next >= done, "{name}: started {} ns early", done - next);
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn a_collective_ends_for_all_at_once_after_the_last_has_come() {
    for name in ["training", "straggler", "exposed-communication"] {
        let simulation = run(&without_clocks(name), GraphMode::On);
        let mut meetings: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
        for run in &simulation.runs {
            for c in run.trace.collectives.rows() {
                let row = c.row.get().unwrap().1;
                let times = (run.trace.kernels.start[row], run.trace.kernels.end[row]);
                meetings.entry(c.sequence.get().unwrap()).or_default().push(times);
            }
        }
        assert!(meetings.len() > 5);
        for times in meetings.values() {
            assert_eq!(times.len(), simulation.runs.len());
            let last = times.iter().map(|t| t.0).max().unwrap();
            assert!(times.iter().all(|t| t.1 == times[0].1 && t.1 > last), "{name}");
        }
    }
}

#[test]
fn clocks_differ_as_told() {
    let scenario = Scenario::builtin("straggler").unwrap();
    let with = simulate(&scenario, &Options::default()).unwrap();
    let without = simulate(&without_clocks("straggler"), &Options::default()).unwrap();
    for ((a, b), truth) in with.runs.iter().zip(&without.runs).zip(&with.truth.ranks) {
        let first = b.trace.span().unwrap().0;
        for (shown, real) in a.trace.kernels.start.iter().zip(&b.trace.kernels.start) {
            let drift = (real - first) as f64 * truth.clock_drift_ppm / 1e6;
            let off = (shown - real - truth.clock_offset_ns) as f64;
            assert!((off - drift).abs() <= 1.0, "{off} {drift}");
        }
    }
}

#[test]
fn python_frames_nest_and_know_their_parent() {
    for name in ["serving", "training", "clean"] {
        let trace = &run(&without_clocks(name), GraphMode::Off).runs[0].trace;
        let mut by_id = BTreeMap::new();
        let frames: Vec<_> =
            trace.regions.rows().filter(|r| trace.strings.get(r.category) == "python_function").collect();
        for frame in &frames {
            assert!(by_id.insert(frame.external.get().unwrap(), *frame).is_none(), "ids are unique");
        }
        let (mut roots, mut inner) = (0, 0);
        for frame in &frames {
            match by_id.get(&frame.parent) {
                None => roots += 1,
                Some(parent) => {
                    inner += 1;
                    assert!(parent.start <= frame.start && frame.end <= parent.end, "{name}");
                    assert_eq!(parent.thread, frame.thread);
                }
            }
        }
        assert!(inner > 10 * roots, "{inner} {roots}");
    }
}

#[test]
fn both_dialects_tell_the_same_run() {
    for name in ["serving", "training"] {
        let scenario = Scenario::builtin(name).unwrap();
        let of = |dialect| {
            let options = Options { steps: Some(3), dialect, ..Options::default() };
            simulate(&scenario, &options).unwrap()
        };
        let (torch, rocprof) = (of(Dialect::Torch), of(Dialect::Rocprof));
        assert_eq!(torch.truth, rocprof.truth);
        for (a, b) in torch.runs.iter().zip(&rocprof.runs) {
            assert_eq!(a.trace.kernels.start, b.trace.kernels.start);
            assert_eq!(a.trace.kernels.end, b.trace.kernels.end);
            assert_eq!(a.trace.memory_copies.start, b.trace.memory_copies.start);
        }
    }
}

#[test]
fn a_capture_has_launches_and_no_kernels() {
    let scenario = Scenario::builtin("serving").unwrap();
    let of = |graphs| simulate(&scenario, &Options { graphs, steps: Some(2), ..Options::default() }).unwrap();
    let capture = &of(GraphMode::Capture).runs[0].trace;
    assert_eq!(capture.kernels.len(), 0);
    let key = capture.strings.find("kernel").unwrap();
    let captured: Vec<String> = (0..capture.regions.len())
        .filter_map(|i| capture.args.value(RowRef::region(i), key))
        .map(|id| serde_json::from_str(capture.strings.get(id)).unwrap())
        .collect();
    let names = ["hipStreamBeginCapture", "hipStreamEndCapture"];
    for name in names {
        let id = capture.strings.find(name).unwrap();
        assert_eq!(capture.regions.name.iter().filter(|n| **n == id).count(), 1, "{name}");
    }
    // The graph that is replayed is what was captured, in order.
    let replay = &of(GraphMode::On).runs[0].trace;
    let replayed: Vec<&str> = (0..replay.kernels.len())
        .filter(|&i| replay.kernels.graph[i] == trace::Graph::Replayed)
        .map(|i| replay.strings.get(replay.kernels.name[i]))
        .collect();
    assert_eq!(replayed, captured);
}
