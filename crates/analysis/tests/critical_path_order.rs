//! Events without recorded streams: they follow from the order of calls, unless times contradict it.

use crate::critical_path_maker;

use critical_path_maker::{Maker, int, path_of, predicted, span, table, text};
use trace::Trace;

/// Rounds of: a kernel on stream 1, an event record and wait, a kernel on stream 2, and the same back; calls
/// name neither streams nor events. If `heeded` is false, the second kernel starts before the first is done.
fn rounds(heeded: impl Fn(i64) -> bool) -> Trace {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 1);
    let mut gpu = 100_000;
    for round in 0..40 {
        for (stream, name) in [(1, "one"), (2, "two")] {
            let host = 1000 * (2 * round + stream);
            let launch = maker.call(thread, "hipLaunchKernel", host, host + 100);
            let start = if stream == 2 && !heeded(round) { gpu - 30_000 } else { gpu + 1000 };
            maker.kernel(process, stream, name, start, start + 40_000, launch);
            gpu = gpu.max(start + 40_000);
            maker.call(thread, "hipEventRecord", host + 200, host + 250);
            maker.call(thread, "hipStreamWaitEvent", host + 300, host + 350);
        }
    }
    maker.finish()
}

fn by_order(trace: &Trace) -> i64 {
    let found = path_of(trace, &[]);
    let dependencies = table(&found.report, "dependencies");
    let rows = 0..dependencies.rows.len();
    let told = |row: &usize| text(dependencies, *row, "dependency") == "event wait by call order";
    rows.filter(told)
        .map(|row| {
            assert_eq!(text(dependencies, row, "known_from"), "inferred");
            int(dependencies, row, "count")
        })
        .sum()
}

#[test]
fn the_order_of_calls_tells_what_waits_for_what() {
    let trace = rounds(|_| true);
    assert_eq!(by_order(&trace), 79);
    // Each of 80 kernels waits for the previous one: halving every other one saves a quarter of the GPU time.
    let found = path_of(&trace, &["kernel:^two$=0.5"]);
    assert_eq!(span(&found) - predicted(&found, 0), 40 * 20_000);
    let note = "79 dependencies were inferred from the order of calls";
    assert!(found.report.notes.iter().any(|text| text.contains(note)), "{:?}", found.report.notes);
}

#[test]
fn an_order_that_times_contradict_is_not_used() {
    // An occasional wrong guess is left out.
    assert_eq!(by_order(&rounds(|round| round != 7)), 78);
    // If guesses are often wrong, the program does not work that way.
    assert_eq!(by_order(&rounds(|round| round % 4 != 0)), 0);
}
