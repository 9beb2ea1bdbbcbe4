//! `--what-if op:NAME=FACTOR`: an op with its host time, its launches and its kernels.

use crate::critical_path_maker;

use critical_path_maker::{Maker, path_of, predicted, show, span};
use rocm_perf_analysis::{CriticalPathError, CriticalPathOptions, WhatIfError};
use trace::Trace;

const US: i64 = 1_000;

/// A host alternates between two ops; in each of 20 rounds `norm` takes `host` and, on the GPU, `gpu`.
fn run(host: i64, gpu: i64) -> Trace {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 1);
    let (mut now, mut free) = (0, 0);
    for _ in 0..20 {
        for (op, kernel, host, gpu) in
            [("aten::mm", "gemm_kernel", 20 * US, 30 * US), ("aten::layer_norm", "norm_kernel", host, gpu)]
        {
            if host > 0 {
                maker.op(thread, op, now, now + host);
                let call = maker.call(thread, "hipLaunchKernel", now + host / 2, now + host / 2 + 4 * US);
                let start = (now + host / 2 + 10 * US).max(free + US);
                free = start + gpu;
                maker.kernel(process, 1, kernel, start, free, call);
                now += host;
            }
        }
    }
    maker.sync(thread, "hipDeviceSynchronize", now, now.max(free) + 5 * US, None, None);
    maker.finish()
}

fn long(trace: &Trace) -> i64 {
    trace.span().map_or(0, |(start, end)| end - start)
}

#[test]
fn removing_an_op_gives_what_running_without_it_gives() {
    // Host bound, GPU bound, and balanced.
    for (host, gpu) in [(40 * US, 5 * US), (12 * US, 80 * US), (30 * US, 30 * US)] {
        let trace = run(host, gpu);
        let found = path_of(&trace, &["op:aten::layer_norm=0", "op:aten::layer_norm=0.5", "op:/layer_/=2"]);
        let truth = [run(0, 0), run(host / 2, gpu / 2), run(2 * host, 2 * gpu)];
        for (question, again) in truth.iter().enumerate() {
            let again = long(again);
            let error = (predicted(&found, question) - again).abs();
            assert!(50 * error <= again, "{} for {again} of {}", predicted(&found, question), span(&found));
        }
    }
}

#[test]
fn a_full_name_means_that_op_and_a_part_all_that_hold_it() {
    let trace = run(40 * US, 5 * US);
    let found = path_of(&trace, &["op:aten::mm=0", "op:ATEN::=0", "op:layer=0", "op:aten::layer_norm=0"]);
    assert_eq!(predicted(&found, 2), predicted(&found, 3));
    assert!(predicted(&found, 1) < predicted(&found, 0));
}

#[test]
fn an_op_that_is_not_there_is_answered_with_names_that_are() {
    let options = CriticalPathOptions {
        what_if: vec!["op:aten::layer_nrom=0".parse().unwrap()],
        ..CriticalPathOptions::default()
    };
    let error = show(&run(40 * US, 5 * US), &options).unwrap_err();
    assert!(matches!(&error, CriticalPathError::WhatIf(WhatIfError::Op { .. })));
    assert!(error.to_string().contains("`aten::layer_norm`"), "{error}");
}

/// `aten::item` waits for the GPU; without it the host runs ahead.
#[test]
fn an_op_that_is_gone_waits_for_nothing() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 1);
    for i in 0..10 {
        let at = i * 200 * US;
        let call = maker.call(thread, "hipLaunchKernel", at, at + 4 * US);
        maker.kernel(process, 1, "k", at + 10 * US, at + 110 * US, call);
        maker.op(thread, "aten::item", at + 10 * US, at + 115 * US);
        maker.sync(thread, "hipStreamSynchronize", at + 12 * US, at + 112 * US, Some(1), None);
        maker.op(thread, "python", at + 115 * US, at + 199 * US);
    }
    let found = path_of(&maker.finish(), &["op:aten::item=0"]);
    // Host: 10 µs before the op and 85 µs after it per round; GPU: 100 µs.
    let saved = span(&found) - predicted(&found, 0);
    assert!((850 * US..1_000 * US).contains(&saved), "{saved}");
}

#[test]
fn triage_shows_what_the_run_would_save_without_each_op() {
    for (host, gpu) in [(40 * US, 5 * US), (12 * US, 80 * US), (30 * US, 30 * US)] {
        let mut trace = run(host, gpu);
        // torch's category for ops.
        let category = trace.strings.intern("cpu_op");
        for row in 0..trace.regions.len() {
            if trace.strings.get(trace.regions.name[row]).starts_with("aten::") {
                trace.regions.category[row] = category;
            }
        }
        let classifier = model::classify::Classifier::builtin();
        let context = model::Run::new(&trace, None, &classifier, 0.0).unwrap();
        let found = rocm_perf_analysis::serving::triage::compute(&context);
        let norm = found.ops.iter().find(|op| op.op == "aten::layer_norm").expect("the op has work");
        assert_eq!((norm.calls, norm.gpu_ns), (20, 20 * gpu));
        let (all, without) = (long(&trace), long(&run(0, 0)));
        let error = (all - norm.removal_saves_ns - without).abs();
        assert!(50 * error <= without, "{} saved of {all}, and {without} are left", norm.removal_saves_ns);
        assert!(found.ops.is_sorted_by_key(|op| std::cmp::Reverse(op.removal_saves_ns)));
    }
}
