//! Collectives of several ranks, joined by what the trace tells of them.

mod critical_path_maker;

use critical_path_maker::{Maker, of_kernel, path_of, predicted, span};
use rocm_perf_analysis::CriticalPath;
use trace::Trace;

const US: i64 = 1_000;

/// How much of a collective the trace tells.
#[derive(Clone, Copy, PartialEq)]
enum Told {
    Number,
    Group,
    Kernel,
}

/// Two ranks, of which the second works four times as long before each collective; `extra` more on the first.
fn straggler(told: Told, extra: i64, drift: i64) -> Trace {
    let mut maker = Maker::new();
    let ranks = [maker.process(0), maker.process(1)];
    for (rank, &process) in ranks.iter().enumerate() {
        let thread = maker.thread(process, rank as i64);
        let work = if rank == 0 { 20 * US } else { 80 * US };
        let steps = 10 + if rank == 0 { extra } else { 0 };
        for step in 0..steps {
            let late = if rank == 0 { 0 } else { step * drift };
            let at = step * 200 * US + late;
            let call = maker.call(thread, "hipLaunchKernel", at, at + 2 * US);
            let name = if rank == 0 { "quick" } else { "slow" };
            maker.kernel(process, 1, name, at + 4 * US, at + 4 * US + work, call);
            let call = maker.call(thread, "hipLaunchKernel", at + 2 * US, at + 4 * US);
            let end = at + 124 * US;
            let start = at + 4 * US + work;
            let kernel = maker.kernel(process, 1, "ncclDevKernel_Generic_1", start, end, call);
            match told {
                Told::Number => maker.collective_of(kernel, Some(step)),
                Told::Group => maker.collective_of(kernel, None),
                Told::Kernel => {}
            }
            maker.sync(thread, "hipStreamSynchronize", at + 5 * US, end + US, Some(1), None);
        }
    }
    maker.finish()
}

fn note<'a>(found: &'a CriticalPath, word: &str) -> Option<&'a str> {
    found.report.notes.iter().map(|note| &**note).find(|note| note.contains(word))
}

/// Without numbers the path went through the rank that waits.
#[test]
fn ranks_are_joined_by_group_and_order_where_no_sequence_is_told() {
    for told in [Told::Number, Told::Group, Told::Kernel] {
        let found = path_of(&straggler(told, 0, 0), &["slow=0.5", "quick=0.5", "communication=0"]);
        assert_eq!(of_kernel(&found, "slow", "on_path_ns"), 10 * 80 * US);
        assert_eq!(of_kernel(&found, "quick", "on_path_ns"), 0);
        assert_eq!(of_kernel(&found, "ncclDevKernel_Generic_1", "on_path_ns"), 10 * 40 * US);
        assert_eq!(span(&found) - predicted(&found, 0), 10 * 40 * US);
        assert_eq!(predicted(&found, 1), span(&found));
        assert_eq!(note(&found, "not joined"), None);
    }
}

#[test]
fn ranks_that_cannot_be_joined_are_said_to_be_so() {
    for told in [Told::Group, Told::Kernel] {
        let found = path_of(&straggler(told, 1, 0), &[]);
        let said = note(&found, "ranks not joined").expect("a note says so");
        assert!(said.contains("rank 0") && said.contains("11 collectives"), "{said}");
        assert!(said.contains("rank 1") && said.contains("has 10"), "{said}");
    }
}

/// As many collectives on both, but of two jobs that do not wait for each other.
#[test]
fn ranks_of_two_jobs_are_not_joined_because_they_count_alike() {
    let found = path_of(&straggler(Told::Kernel, 0, 70 * US), &[]);
    assert!(note(&found, "do not end together").is_some(), "{:?}", found.report.notes);
}
