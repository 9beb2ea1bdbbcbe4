//! `critical-path` on traces with a known path.

use crate::critical_path_maker;

use critical_path_maker::{
    Maker, Shown, classifier, of_kernel, path_of, predicted, segments, show, span, table, text,
};
use rocm_perf_analysis::causes::critical_path::{PathRows, compute, present};
use rocm_perf_analysis::{CriticalPathError, CriticalPathOptions};
use trace::Trace;

const US: i64 = 1_000;

fn names(found: &Shown) -> Vec<String> {
    segments(found).into_iter().map(|(kind, name, us)| format!("{kind} {name} {}", us / US)).collect()
}

#[test]
fn serial_kernels_are_all_on_the_path() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    for (i, name) in ["a", "b", "c"].into_iter().enumerate() {
        let start = i as i64 * 12 * US;
        maker.kernel(process, 1, name, start, start + 10 * US, 0);
    }
    let found = path_of(&maker.finish(), &["b=0", "compute=2", "queueing=0"]);
    assert_eq!(
        names(&found),
        ["compute a 10", "queueing b 2", "compute b 10", "queueing c 2", "compute c 10"]
    );
    assert_eq!(span(&found), 34 * US);
    assert_eq!([0, 1, 2].map(|i| predicted(&found, i)), [24 * US, 64 * US, 30 * US]);
}

#[test]
fn a_report_with_the_first_rows_of_the_path_counts_the_others() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    for i in 0..4 {
        maker.kernel(process, 1, "kernel", i * 12 * US, (i * 12 + 10) * US, 0);
    }
    let trace = maker.finish();
    let path = compute(&trace, classifier(), &CriticalPathOptions::default()).unwrap();
    let rows = |first| {
        let report = present(&trace, &path, PathRows { first, ..PathRows::default() });
        let table = report.tables.into_iter().find(|table| table.name == "path").unwrap();
        (table.rows, table.hidden)
    };
    let (all, hidden) = rows(0);
    assert_eq!((all.len(), hidden), (7, 0));
    for first in [1, 3, 7, 8] {
        let kept = all[..all.len().min(first)].to_vec();
        assert_eq!(rows(first), (kept.clone(), all.len() - kept.len()));
    }
}

#[test]
fn of_parallel_streams_the_longer_is_the_path() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    maker.kernel(process, 1, "long", 0, 100 * US, 0);
    maker.kernel(process, 2, "short", 0, 30 * US, 0);
    let found = path_of(&maker.finish(), &["short=0", "long=0.1", "short=4"]);
    assert_eq!(names(&found), ["compute long 100"]);
    assert_eq!((of_kernel(&found, "long", "slack_ns"), of_kernel(&found, "short", "slack_ns")), (0, 70 * US));
    assert_eq!([0, 1, 2].map(|i| predicted(&found, i)), [100 * US, 30 * US, 120 * US]);
    assert_eq!(of_kernel(&found, "long", "saved_by_1pct_ns"), US);
    assert_eq!(of_kernel(&found, "short", "saved_by_1pct_ns"), 0);
}

/// Recording began while the GPU was busy with other work, so launches seem to take a millisecond.
#[test]
fn kernels_of_a_graph_wait_for_each_other_and_not_for_its_launch() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 1);
    let copy = maker.call(thread, "hipMemcpyAsync", 0, US);
    let graph = maker.call(thread, "hipGraphLaunch", 400 * US, 500 * US);
    maker.copy(process, 1, "copy", 1000 * US, 1010 * US, copy);
    for i in 0..10 {
        let start = (1010 + 100 * i) * US;
        maker.kernel(process, 1, "replayed", start, start + 100 * US, graph);
    }
    let found = path_of(&maker.finish(), &["replayed=0.5"]);
    assert_eq!(of_kernel(&found, "replayed", "on_path_ns"), 1000 * US);
    assert_eq!(of_kernel(&found, "replayed", "saved_by_1pct_ns"), 10 * US);
    assert_eq!(span(&found) - predicted(&found, 0), 500 * US);
}

/// The original gave a path of 200 µs for a run of 110 µs.
#[test]
fn overlapping_kernels_of_one_queue_are_not_serial() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    maker.kernel(process, 1, "first", 0, 100 * US, 0);
    maker.kernel(process, 1, "second", 10 * US, 110 * US, 0);
    let found = path_of(&maker.finish(), &[]);
    assert_eq!(names(&found), ["compute first 10", "compute second 100"]);
}

/// a → b (stream 2) and a → c (stream 3) → d, by events.
#[test]
fn a_diamond_goes_through_its_longer_side() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 7);
    let launch = |maker: &mut Maker, at: i64| maker.call(thread, "hipLaunchKernel", at, at + US);
    let a = launch(&mut maker, 0);
    maker.kernel(process, 1, "a", 5 * US, 105 * US, a);
    maker.sync(thread, "hipEventRecord", 2 * US, 3 * US, Some(1), Some(11));
    maker.sync(thread, "hipStreamWaitEvent", 3 * US, 4 * US, Some(2), Some(11));
    maker.sync(thread, "hipStreamWaitEvent", 4 * US, 5 * US, Some(3), Some(11));
    let b = launch(&mut maker, 5 * US);
    maker.kernel(process, 2, "b", 107 * US, 207 * US, b);
    let c = launch(&mut maker, 6 * US);
    maker.kernel(process, 3, "c", 107 * US, 137 * US, c);
    maker.sync(thread, "hipEventRecord", 7 * US, 8 * US, Some(2), Some(12));
    maker.sync(thread, "hipEventRecord", 8 * US, 9 * US, Some(3), Some(13));
    maker.sync(thread, "hipStreamWaitEvent", 9 * US, 10 * US, Some(1), Some(12));
    maker.sync(thread, "hipStreamWaitEvent", 10 * US, 11 * US, Some(1), Some(13));
    let d = launch(&mut maker, 11 * US);
    maker.kernel(process, 1, "d", 209 * US, 219 * US, d);
    maker.sync(thread, "hipStreamSynchronize", 12 * US, 221 * US, Some(1), None);
    let found = path_of(&maker.finish(), &["b=0", "c=0", "a=0.5"]);
    let expected = [
        "launch hipLaunchKernel 5",
        "compute a 100",
        "sync b 2",
        "compute b 100",
        "sync d 2",
        "compute d 10",
        "sync hipStreamSynchronize 2",
    ];
    assert_eq!(names(&found), expected);
    assert_eq!(of_kernel(&found, "c", "slack_ns"), 72 * US);
    // Without b the path goes through c, which ended 70 µs earlier. The gap from c to d is not known.
    assert_eq!([0, 1, 2].map(|i| predicted(&found, i)), [149 * US, 221 * US, 171 * US]);
}

/// The original lost host time: three kernels of 10 µs a millisecond apart gave a path of 30 µs.
#[test]
fn a_host_gap_is_on_the_path() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 7);
    for i in 0..3 {
        let at = i * 1_000 * US;
        let call = maker.call(thread, "hipLaunchKernel", at, at + 4 * US);
        maker.kernel(process, 1, "k", at + 6 * US, at + 16 * US, call);
    }
    maker.op(thread, "python", 10 * US, 1_990 * US);
    maker.sync(thread, "hipDeviceSynchronize", 2_005 * US, 2_017 * US, None, None);
    let found = path_of(&maker.finish(), &["k=0", "host=0.5", "launch=0"]);
    assert_eq!(span(&found), 2_017 * US);
    assert_eq!(text(table(&found.report, "bounds"), 0, "kind"), "host");
    assert_eq!(
        names(&found)[..3],
        ["host hipLaunchKernel 4", "host outside recorded regions 6", "host python 990"]
    );
    // Only the last kernel is on the path; the first two have slack until the end.
    assert_eq!(of_kernel(&found, "k", "on_path_ns"), 10 * US);
    assert_eq!(predicted(&found, 0), 2_010 * US, "the blocking call takes its own 5 µs");
    assert_eq!(predicted(&found, 1), 1_017 * US);
    assert_eq!(predicted(&found, 2), 2_011 * US);
}

#[test]
fn work_of_two_gpus_is_joined_by_the_host_only() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 7);
    let one = maker.call(thread, "hipLaunchKernel", 0, 2 * US);
    maker.kernel(process, 1, "gpu0", 4 * US, 54 * US, one);
    let two = maker.call(thread, "hipLaunchKernel", 2 * US, 4 * US);
    maker.kernel(process, 2, "gpu1", 6 * US, 206 * US, two);
    maker.sync(thread, "hipStreamSynchronize", 5 * US, 55 * US, Some(1), None);
    maker.sync(thread, "hipStreamSynchronize", 60 * US, 207 * US, Some(2), None);
    let found = path_of(&maker.finish(), &["gpu1=0.1", "gpu0=0"]);
    assert_eq!(of_kernel(&found, "gpu0", "on_path_ns"), 0);
    assert_eq!(
        of_kernel(&found, "gpu0", "slack_ns"),
        147 * US - 5 * US,
        "the second wait costs 5 µs by itself"
    );
    assert_eq!(predicted(&found, 1), 207 * US);
    // The first wait, 5 µs of host and 5 µs for the second call.
    assert_eq!(predicted(&found, 0), 65 * US);
}

#[test]
fn kernels_without_a_duration_and_with_equal_times_are_no_trouble() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 7);
    let call = maker.call(thread, "hipGraphLaunch", 0, 0);
    for name in ["a", "b", "c", "d"] {
        maker.kernel(process, 1, name, 10 * US, 10 * US, call);
        maker.kernel(process, 2, name, 10 * US, 10 * US, call);
    }
    maker.kernel(process, 1, "end", 10 * US, 12 * US, call);
    let found = path_of(&maker.finish(), &[]);
    assert_eq!(span(&found), 12 * US);
}

#[test]
fn a_straggler_is_charged_with_the_wait_of_all() {
    let mut maker = Maker::new();
    let ranks = [maker.process(0), maker.process(1)];
    // Clocks of the second rank are 300 µs ahead, as the ends of collectives show.
    for (rank, ahead) in [(0usize, 0), (1, 300 * US)] {
        let process = ranks[rank];
        let thread = maker.thread(process, rank as i64);
        let work = if rank == 0 { 20 * US } else { 80 * US };
        for step in 0..3i64 {
            let at = ahead + step * 200 * US;
            let call = maker.call(thread, "hipLaunchKernel", at, at + 2 * US);
            let name = if rank == 0 { "quick" } else { "slow" };
            maker.kernel(process, 1, name, at + 4 * US, at + 4 * US + work, call);
            let call = maker.call(thread, "hipLaunchKernel", at + 2 * US, at + 4 * US);
            let met = ahead + step * 200 * US + 84 * US;
            let kernel = maker.kernel(process, 1, "ncclDevKernel", at + 4 * US + work, met + 40 * US, call);
            maker.collective(kernel, step);
            maker.sync(thread, "hipStreamSynchronize", at + 5 * US, met + 41 * US, Some(1), None);
        }
    }
    let found = path_of(&maker.finish(), &["slow=0.5", "quick=0.5", "communication=0"]);
    assert_eq!(of_kernel(&found, "slow", "on_path_ns"), 3 * 80 * US);
    assert_eq!(of_kernel(&found, "quick", "on_path_ns"), 0);
    assert_eq!(of_kernel(&found, "quick", "slack_ns"), 60 * US);
    assert_eq!(of_kernel(&found, "ncclDevKernel", "on_path_ns"), 3 * 40 * US);
    assert_eq!(span(&found) - predicted(&found, 0), 3 * 40 * US);
    assert_eq!(predicted(&found, 1), span(&found));
    assert_eq!(span(&found) - predicted(&found, 2), 3 * 40 * US);
    assert!(found.report.notes.iter().any(|note| note.contains("aligned")), "{:?}", found.report.notes);
}

#[test]
fn a_blocking_copy_holds_the_host() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 7);
    let call = maker.call(thread, "hipMemcpy", 0, 100 * US);
    maker.copy(process, 1, "MEMORY_COPY_HOST_TO_DEVICE", 8 * US, 98 * US, call);
    let call = maker.call(thread, "hipLaunchKernel", 101 * US, 103 * US);
    maker.kernel(process, 1, "k", 105 * US, 115 * US, call);
    let found = path_of(&maker.finish(), &["copy=0"]);
    let expected = [
        "sync hipMemcpy 8",
        "copy MEMORY_COPY_HOST_TO_DEVICE 90",
        "sync hipMemcpy 2",
        "host outside recorded regions 1",
        "launch hipLaunchKernel 4",
        "compute k 10",
    ];
    assert_eq!(names(&found), expected);
    assert_eq!(predicted(&found, 0), 25 * US);
}

#[test]
fn a_free_that_waited_is_a_wait_and_one_that_did_not_is_none() {
    let run = |free_until: i64| {
        let mut maker = Maker::new();
        let process = maker.process(0);
        let thread = maker.thread(process, 7);
        let call = maker.call(thread, "hipLaunchKernel", 0, 2 * US);
        maker.kernel(process, 1, "k", 4 * US, 104 * US, call);
        maker.call(thread, "hipFree", 5 * US, free_until);
        maker.op(thread, "rest", free_until, free_until + 200 * US);
        maker.finish()
    };
    let waited = path_of(&run(106 * US), &["k=0"]);
    assert_eq!(of_kernel(&waited, "k", "on_path_ns"), 100 * US);
    let dependencies = table(&waited.report, "dependencies");
    let inferred =
        (0..dependencies.rows.len()).find(|&row| text(dependencies, row, "known_from") == "inferred");
    assert_eq!(inferred.map(|row| text(dependencies, row, "dependency")), Some("return of a call"));
    let did_not = path_of(&run(20 * US), &["k=0"]);
    assert_eq!(of_kernel(&did_not, "k", "on_path_ns"), 0);
    assert_eq!(predicted(&did_not, 0), span(&did_not));
}

#[test]
fn the_default_stream_waits_for_others() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 7);
    let one = maker.call(thread, "hipLaunchKernel", 0, 2 * US);
    maker.kernel(process, 1, "busy", 4 * US, 104 * US, one);
    let two = maker.call(thread, "hipLaunchKernel", 2 * US, 4 * US);
    maker.kernel(process, 0, "default", 106 * US, 126 * US, two);
    let found = path_of(&maker.finish(), &["busy=0.5"]);
    assert_eq!(
        names(&found),
        ["launch hipLaunchKernel 4", "compute busy 100", "sync default 2", "compute default 20"]
    );
    assert_eq!(predicted(&found, 0), 76 * US);
}

#[test]
fn what_only_times_suggest_is_used_when_asked_or_when_a_wait_does_not_say_for_what() {
    let run = |wait: bool| {
        let mut maker = Maker::new();
        let process = maker.process(0);
        let thread = maker.thread(process, 7);
        let one = maker.call(thread, "hipLaunchKernel", 0, 2 * US);
        maker.kernel(process, 1, "first", 4 * US, 104 * US, one);
        if wait {
            maker.call(thread, "hipStreamWaitEvent", 2 * US, 3 * US);
        }
        let two = maker.call(thread, "hipLaunchKernel", 3 * US, 5 * US);
        maker.kernel(process, 2, "second", 106 * US, 126 * US, two);
        maker.finish()
    };
    let ask = |wait: bool, infer: bool| {
        let options = CriticalPathOptions { infer, ..CriticalPathOptions::default() };
        show(&run(wait), &options).unwrap()
    };
    assert_eq!(of_kernel(&ask(false, false), "first", "on_path_ns"), 0);
    assert_eq!(of_kernel(&ask(false, true), "first", "on_path_ns"), 100 * US);
    let untold = ask(true, false);
    assert_eq!(of_kernel(&untold, "first", "on_path_ns"), 100 * US);
    assert!(untold.report.notes.iter().any(|note| note.contains("do not record their event")));
}

#[test]
fn a_trace_that_contradicts_itself_is_reported_and_still_walked() {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 7);
    // Launched after it ran, and synchronised before it ended.
    let late = maker.call(thread, "hipLaunchKernel", 500 * US, 502 * US);
    maker.kernel(process, 1, "early", 10 * US, 60 * US, late);
    let call = maker.call(thread, "hipLaunchKernel", 510 * US, 512 * US);
    maker.kernel(process, 1, "k", 520 * US, 900 * US, call);
    maker.sync(thread, "hipStreamSynchronize", 515 * US, 600 * US, Some(1), None);
    let found = path_of(&maker.finish(), &[]);
    let health: Vec<&str> = found.report.health.iter().map(|check| check.id.as_str()).collect();
    assert!(health.contains(&"contradictions") && health.contains(&"early_returns"), "{health:?}");
    assert_eq!(span(&found), 890 * US);
}

#[test]
fn a_trace_of_nothing_has_no_path() {
    let options = CriticalPathOptions::default();
    let empty = show(&Trace::default(), &options);
    assert!(matches!(empty, Err(CriticalPathError::Empty)));
}
