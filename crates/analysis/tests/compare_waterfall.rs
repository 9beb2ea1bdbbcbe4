//! The waterfall of `compare` adds up to the change of the span, for any overlap and any number of runs.

use proptest::prelude::*;
use report::{Report, Value};
use rocm_perf_analysis::timeline::compare::{CompareOptions, compare};
use trace::{CopyKind, Kernel, MemoryCopy, Process, Source, Trace};

/// Names by kind: kernels of two families, communication, copies by kernel and by engine, fills.
const NAMES: [&str; 7] = [
    "attn_fwd",
    "triton_poi_fused_add_1",
    "triton_poi_fused_add_2",
    "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)",
    "__amd_rocclr_copyBuffer",
    "copy",
    "fill",
];

type Row = (usize, i64, i64);

fn trace(rows: &[Row]) -> Trace {
    let mut trace = Trace::default();
    let source = trace.add_source(Source::named("made", "test"));
    let process = trace.add_process(Process::new(source, 1));
    for &(kind, start, length) in rows {
        let (name, end) = (trace.strings.intern(NAMES[kind]), start + length);
        if kind < 5 {
            trace.kernels.push(Kernel { name, start, end, process, ..Kernel::default() });
        } else {
            let kind = if kind == 5 { CopyKind::Copy } else { CopyKind::Fill };
            trace.memory_copies.push(MemoryCopy { name, kind, start, end, process, ..MemoryCopy::default() });
        }
    }
    trace.finish();
    trace
}

fn side() -> impl Strategy<Value = Vec<Vec<Row>>> {
    let row = (0..NAMES.len(), 0i64..500, -2i64..60);
    prop::collection::vec(prop::collection::vec(row, 1..30), 1..4)
}

fn numbers(report: &Report, table: &str, key: &str) -> Vec<i64> {
    let Some(table) = report.table(table) else { return Vec::new() };
    let column = table.column(key).expect("a column");
    let number = |row: &Vec<Value>| row[column].number().map_or(0, |n| n as i64);
    table.rows.iter().map(number).collect()
}

/// First start to last end, computed by hand; the mean over runs.
fn span(runs: &[Vec<Row>]) -> f64 {
    let of = |rows: &Vec<Row>| {
        let first = rows.iter().map(|row| row.1).min().unwrap_or(0);
        let last = rows.iter().map(|row| row.1 + row.2.max(0)).max().unwrap_or(0);
        (last - first) as f64
    };
    runs.iter().map(of).sum::<f64>() / runs.len() as f64
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn contributions_add_up_exactly(base in side(), candidate in side()) {
        let traces = |runs: &[Vec<Row>]| runs.iter().map(|rows| trace(rows)).collect::<Vec<_>>();
        let report = compare(&traces(&base), &traces(&candidate), &CompareOptions::default());
        let sum = |key: &str| numbers(&report, "waterfall", key).iter().sum::<i64>();
        let (before, after) = (sum("base_ns"), sum("candidate_ns"));
        prop_assert!((before as f64 - span(&base)).abs() <= 0.5, "{} {}", before, span(&base));
        prop_assert!((after as f64 - span(&candidate)).abs() <= 0.5, "{} {}", after, span(&candidate));
        prop_assert_eq!(sum("contribution_ns"), after - before);
        // The table of whole runs and the running total of the waterfall must agree.
        if let Some(&whole) = numbers(&report, "end_to_end", "base_ns").first().filter(|_| before > 0) {
            prop_assert!((whole - before).abs() <= 1);
            prop_assert_eq!(numbers(&report, "waterfall", "span_ns").last().copied(), Some(after));
        }
    }
}
