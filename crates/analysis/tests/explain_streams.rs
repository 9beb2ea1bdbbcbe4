//! Two streams that wait for each other in a host-bound run.

use crate::critical_path_maker;

use critical_path_maker::Maker;
use model::Run;
use model::classify::Classifier;
use rocm_perf_analysis::explain;
use trace::Trace;

const US: i64 = 1_000;
const TURNS: i64 = 20;
const SWITCH: i64 = 80 * US;

/// Blocks of eight short kernels, alternating between two streams or all on one.
fn run(streams: bool) -> Trace {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 1);
    let mut now = 0;
    for turn in 0..TURNS {
        let stream = if streams { 1 + turn % 2 } else { 1 };
        if streams && turn > 0 {
            let other = 3 - stream;
            maker.sync(thread, "hipEventRecord", now, now + US, Some(other), Some(turn));
            maker.sync(thread, "hipStreamWaitEvent", now + US, now + 2 * US, Some(stream), Some(turn));
            maker.op(thread, "torch/cuda/__init__.py(734): __enter__", now + 2 * US, now + SWITCH);
            now += SWITCH;
        }
        for _ in 0..8 {
            maker.op(thread, "aten::mm", now, now + 30 * US);
            let call = maker.call(thread, "hipLaunchKernel", now + 20 * US, now + 26 * US);
            maker.kernel(process, stream, "gemm_kernel", now + 30 * US, now + 42 * US, call);
            now += 30 * US;
        }
    }
    maker.sync(thread, "hipDeviceSynchronize", now, now + 20 * US, None, None);
    maker.finish()
}

#[test]
fn streams_that_take_turns_in_a_launch_bound_run_are_found_with_what_one_stream_saves() {
    let trace = run(true);
    let classifier = Classifier::builtin();
    let context = Run::new(&trace, None, &classifier, 0.0).unwrap();
    let found = explain::compute(&context, &[]).findings;
    let place = found.iter().position(|finding| finding.id == "serialised-streams");
    let titles: Vec<&str> = found.iter().map(|finding| finding.title.as_str()).collect();
    assert!(place.is_some_and(|place| place < 2), "{titles:?}");
    let finding = &found[place.unwrap()];
    assert!(finding.title.contains("on one stream"), "{}", finding.title);
    let span = |trace: &Trace| trace.span().map_or(0, |(start, end)| end - start);
    let truth = span(&trace) - span(&run(false));
    let gain = finding.gain_ceiling_ns.unwrap();
    assert!((gain - truth).abs() * 20 <= truth, "{gain} for {truth}");
}
