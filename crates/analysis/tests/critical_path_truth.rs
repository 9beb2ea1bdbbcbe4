//! `critical-path` reports `not recorded` if a wait's cause is missing, and charges nothing to the profiler.

use crate::critical_path_maker;

use critical_path_maker::{Maker, Shown, int, path_of, predicted, segments, span, table, text};

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

fn total(found: &Shown, kind: &str) -> i64 {
    let bounds = table(&found.report, "bounds");
    let row = (0..bounds.rows.len()).find(|&row| text(bounds, row, "kind") == kind);
    row.map_or(0, |row| int(bounds, row, "total_ns"))
}

/// Recording begins while the GPU still works on a cut-off step: one launch, 147 ms before its kernel starts.
#[test]
fn a_wait_behind_a_step_that_was_cut_off_is_not_launch_time() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 1);
    let graph = maker.call(thread, "hipGraphLaunch", 0, 100 * US);
    for i in 0..20 {
        let start = 147 * MS + i * 8 * MS;
        maker.kernel(process, 1, "k", start, start + 8 * MS, graph);
    }
    let found = path_of(&maker.finish(), &["launch=0"]);
    assert_eq!(total(&found, "compute"), 160 * MS);
    assert!(total(&found, "launch") <= 300 * US, "{:?}", segments(&found));
    assert!(total(&found, "not recorded") >= 146 * MS);
    assert_eq!(span(&found), 307 * MS);
    // A faster launch does not bring the end of unknown work closer.
    assert!(span(&found) - predicted(&found, 0) <= 300 * US);
}

/// The queue is full of unrecorded work: the call itself takes long, and its kernel still has to wait.
#[test]
fn a_launch_call_held_up_by_a_full_queue_is_not_launch_time() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 1);
    let call = maker.call(thread, "hipLaunchKernel", 0, 60 * MS);
    maker.kernel(process, 1, "k", 100 * MS, 110 * MS, call);
    for i in 0..20 {
        let at = 60 * MS + i * 10 * US;
        let call = maker.call(thread, "hipLaunchKernel", at, at + 5 * US);
        maker.kernel(process, 1, "k", (110 + 10 * i) * MS, (120 + 10 * i) * MS, call);
    }
    let found = path_of(&maker.finish(), &[]);
    assert!(total(&found, "launch") <= 300 * US, "{:?}", segments(&found));
    assert!(total(&found, "not recorded") >= 99 * MS);
    assert_eq!(total(&found, "compute"), 210 * MS);
}

/// If all kernels queue, there is one launch onto an empty stream, and that one waited.
#[test]
fn the_least_launch_time_is_not_learnt_from_one_sample() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 1);
    for i in 0..10 {
        let at = i * 20 * US;
        let call = maker.call(thread, "hipLaunchKernel", at, at + 5 * US);
        let start = (50 + 10 * i) * MS;
        maker.kernel(process, 1, "first", start, start + 10 * MS, call);
    }
    // Launched 10 ms before the stream is free: its launch would "arrive last" if launches took 50 ms.
    let call = maker.call(thread, "hipLaunchKernel", 140 * MS, 140 * MS + 5 * US);
    maker.kernel(process, 1, "second", 150 * MS + 5 * US, 160 * MS, call);
    let found = path_of(&maker.finish(), &["first=0.5"]);
    assert!(total(&found, "launch") <= 300 * US, "{:?}", segments(&found));
    assert_eq!(total(&found, "compute"), 110 * MS - 5 * US);
    // Then it only waits for its launch.
    assert!((9_800 * US..=10_000 * US).contains(&(span(&found) - predicted(&found, 0))));
}

/// A launch that loads code for 30 ms spends that time in its call, and the kernel starts right after.
#[test]
fn a_long_launch_call_that_the_host_shows_stays_launch_time() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 1);
    let call = maker.call(thread, "hipLaunchKernel", 0, 30 * MS);
    maker.kernel(process, 1, "k", 30 * MS + 8 * US, 31 * MS, call);
    let found = path_of(&maker.finish(), &[]);
    assert_eq!(total(&found, "launch"), 30 * MS + 8 * US);
    assert_eq!(total(&found, "not recorded"), 0);
}

#[test]
fn a_call_that_waits_for_work_that_was_not_recorded_is_no_host_work() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 1);
    maker.call(thread, "hipDeviceSynchronize", 0, 80 * MS);
    let call = maker.call(thread, "hipLaunchKernel", 80 * MS, 80 * MS + 5 * US);
    maker.kernel(process, 1, "k", 80 * MS + 10 * US, 81 * MS, call);
    let found = path_of(&maker.finish(), &["host=0"]);
    assert!(total(&found, "host") <= 20 * US, "{:?}", segments(&found));
    assert!(total(&found, "not recorded") >= 79 * MS);
    assert!(span(&found) - predicted(&found, 0) <= 20 * US);
}

/// A profiler span around everything turned 68 % of a trace into "host work".
#[test]
fn the_profilers_own_spans_are_no_host_work() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 1);
    let spans = maker.thread(process, 2);
    maker.op(spans, "PyTorch Profiler (0)", 0, 100 * MS);
    let category = maker.trace.strings.intern("Trace");
    let last = maker.trace.regions.len() - 1;
    maker.trace.regions.category[last] = category;
    maker.op(thread, "ProfilerStep#3", 60 * MS, 70 * MS);
    maker.op(thread, "aten::mm", 61 * MS, 62 * MS);
    let call = maker.call(thread, "hipLaunchKernel", 62 * MS, 62 * MS + 5 * US);
    maker.kernel(process, 1, "k", 62 * MS + 10 * US, 70 * MS, call);
    let found = path_of(&maker.finish(), &[]);
    assert_eq!(span(&found), 10 * MS, "from the step's begin to its end");
    let names: Vec<String> = segments(&found).into_iter().map(|(_, name, _)| name).collect();
    assert!(names.iter().all(|name| !name.contains("Profiler")), "{names:?}");
    assert!(names.contains(&"aten::mm".to_string()));
}

/// The GPU copies 97 % of the time; the path called two thirds of that host time.
#[test]
fn a_pageable_copy_that_ends_just_after_its_call_is_copy_time() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 1);
    for i in 0..5 {
        let at = i * 21 * MS;
        let call = maker.call(thread, "hipMemcpyAsync", at, at + 20 * MS);
        maker.copy(process, 1, "MEMORY_COPY_HOST_TO_DEVICE", at + 100 * US, at + 20 * MS + 10 * US, call);
    }
    let found = path_of(&maker.finish(), &["copy=0.5"]);
    assert!(total(&found, "copy") >= 99 * MS, "{:?}", segments(&found));
    assert!((49 * MS..51 * MS).contains(&(span(&found) - predicted(&found, 0))));
}
