//! Collectives of several ranks, joined by what the trace records about them.

use crate::critical_path_maker;

use critical_path_maker::{Maker, Shown, int, of_kernel, path_of, predicted, span, table, text};
use ingest::Progress;
use rocm_perf_analysis::critical_path_needs;
use synth::{Dialect, GenerateOptions, Options, OutputFormat, Scenario, generate};
use trace::Trace;

const US: i64 = 1_000;

/// How much of a collective the trace records.
#[derive(Clone, Copy, PartialEq)]
enum Evidence {
    Number,
    Group,
    Kernel,
}

/// Two ranks; the second works four times as long before each collective, the first has `extra` more.
fn straggler(told: Evidence, extra: i64, drift: i64) -> Trace {
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
                Evidence::Number => maker.collective_of(kernel, Some(step)),
                Evidence::Group => maker.collective_of(kernel, None),
                Evidence::Kernel => {}
            }
            maker.sync(thread, "hipStreamSynchronize", at + 5 * US, end + US, Some(1), None);
        }
    }
    maker.finish()
}

fn note<'a>(found: &'a Shown, word: &str) -> Option<&'a str> {
    found.report.notes.iter().map(|note| &**note).find(|note| note.contains(word))
}

/// Without sequence numbers, the path went through the waiting rank.
#[test]
fn ranks_are_joined_by_group_and_order_where_no_sequence_is_told() {
    for told in [Evidence::Number, Evidence::Group, Evidence::Kernel] {
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
    for told in [Evidence::Group, Evidence::Kernel] {
        let found = path_of(&straggler(told, 1, 0), &[]);
        let said = note(&found, "ranks not joined").expect("a note says so");
        assert!(said.contains("rank 0") && said.contains("11 collectives"), "{said}");
        assert!(said.contains("rank 1") && said.contains("has 10"), "{said}");
    }
}

/// The same number of collectives on both, but from two jobs that do not wait for each other.
#[test]
fn ranks_of_two_jobs_are_not_joined_because_they_count_alike() {
    let found = path_of(&straggler(Evidence::Kernel, 0, 70 * US), &[]);
    assert!(note(&found, "do not end together").is_some(), "{:?}", found.report.notes);
}

/// Number of arrivals at collectives in the graph of a run.
fn arrivals(found: &Shown) -> i64 {
    let dependencies = table(&found.report, "dependencies");
    let row = (0..dependencies.rows.len()).find(|&row| text(dependencies, row, "dependency") == "collective");
    row.map_or(0, |row| int(dependencies, row, "count"))
}

/// All ranks of a run, written as a profiler would and read back.
fn read_again(scenario: &str, format: OutputFormat, dialect: Dialect) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let scenario = Scenario::builtin(scenario).unwrap();
    let options = Options { steps: Some(3), dialect, stacks: false, ranks: Some(2), ..Options::default() };
    let written = GenerateOptions {
        options,
        mapping: false,
        ..GenerateOptions::new(scenario, folder.path().join("run"), format)
    };
    let files = generate(&written).unwrap().files;
    let of_a_rank = |file: &&synth::GeneratedFile| file.format.is_some() && file.role.is_none();
    let paths: Vec<_> = files.iter().filter(of_a_rank).map(|file| file.path.clone()).collect();
    ingest::read(&paths, &critical_path_needs(), &Progress::default()).unwrap()
}

/// rocpd has no table of collectives, so its ranks were never joined.
#[test]
fn collectives_of_rocpd_files_join_as_many_ranks_as_those_of_torch_files() {
    for scenario in ["training", "straggler"] {
        let torch = path_of(&read_again(scenario, OutputFormat::Torch, Dialect::Torch), &[]);
        let rocpd = path_of(&read_again(scenario, OutputFormat::Rocpd, Dialect::Rocprof), &[]);
        assert!(arrivals(&torch) > 0);
        assert_eq!(arrivals(&rocpd), arrivals(&torch), "{scenario}: {:?}", rocpd.report.notes);
        assert_eq!(note(&rocpd, "not joined"), None);
    }
}
