//! Every cell of the vendor's own tables, compared with `--vendor-parity`, over all sample workloads.

use std::path::{Path, PathBuf};

use analysis::kernels::panels::{Blocks, Dispatches, NormalUnit, Rule, Specs, TableValues, evaluate};
use rocm_perf_analysis as analysis;
use trace::{Needs, Trace};

fn data() -> Option<PathBuf> {
    testing::data("rocprof_compute")
}

fn read(workload: &Path) -> Trace {
    let needs =
        Needs { kernels: true, shapes: true, counters: true, counter_columns: true, ..Needs::nothing() };
    ingest::read(&[workload.to_path_buf()], &needs, &ingest::Progress::default()).unwrap()
}

/// A table as saved by the vendor: headings, then rows.
fn csv_table(path: &Path) -> (Vec<String>, Vec<Vec<String>>) {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let headings = reader.headers().unwrap().iter().map(str::to_string).collect();
    let rows = reader.records().map(|row| row.unwrap().iter().map(str::to_string).collect()).collect();
    (headings, rows)
}

const TEXT: &[&str] = &["Metric", "Channel", "Unit", "Units", "Xfer", "Coherency", "Type", "Transaction"];

#[derive(Default)]
struct Count {
    compared: usize,
    empty: usize,
    different: Vec<String>,
}

fn compare_table(name: &str, ours: Option<&TableValues>, expected: &Path, count: &mut Count) {
    let (headings, rows) = csv_table(expected);
    let numeric: Vec<usize> =
        (0..headings.len()).filter(|&i| !TEXT.contains(&headings[i].as_str())).collect();
    let Some(ours) = ours else {
        count.different.push(format!("{name}: no such table"));
        return;
    };
    if ours.rows.len() != rows.len() || ours.columns.len() != numeric.len() {
        count.different.push(format!("{name}: {} rows for {}", ours.rows.len(), rows.len()));
        return;
    }
    for (our, theirs) in ours.rows.iter().zip(&rows) {
        if our.channel.is_none() && our.metric != theirs[0] {
            count.different.push(format!("{name} {}: the vendor has {}", our.metric, theirs[0]));
        }
        for (cell, &column) in our.cells.iter().zip(&numeric) {
            let text = &theirs[column];
            let equal = match cell {
                _ if text.is_empty() => {
                    count.empty += 1;
                    cell.is_err()
                }
                Ok(value) => {
                    count.compared += 1;
                    let expected: f64 = text.parse().unwrap();
                    *value == expected || (value - expected).abs() <= 1e-10 + 1e-9 * expected.abs()
                }
                Err(_) => {
                    count.compared += 1;
                    false
                }
            };
            if !equal {
                let place = format!("{name} {} {}", our.metric, headings[column]);
                count.different.push(format!("{place}: {cell:?}, the vendor has {text:?}"));
            }
        }
    }
}

fn check(workload: &str, expected: &str, unit: NormalUnit, rows: Option<Vec<u32>>, least: usize) {
    let Some(data) = data() else { return };
    let trace = read(&data.join(workload));
    let mut dispatches = Dispatches::of(&trace, Specs::of(&trace), Rule::MeanOfRatios, unit);
    if let Some(rows) = rows {
        dispatches = dispatches.only(rows);
    }
    let tables = evaluate(&dispatches, &Blocks::default());
    let mut count = Count::default();
    let mut names: Vec<String> = std::fs::read_dir(data.join("expected").join(expected))
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".csv").map(str::to_string))
        .filter(|name| name != "index" && !name.starts_with("0.") && !name.starts_with("1."))
        .collect();
    names.sort();
    for name in &names {
        let ours = tables.iter().find(|table| format!("{}.{}", table.panel, table.table) == *name);
        compare_table(
            name,
            ours,
            &data.join("expected").join(expected).join(format!("{name}.csv")),
            &mut count,
        );
    }
    for table in &tables {
        let name = format!("{}.{}", table.panel, table.table);
        // The release behind these tables had no panel 30 yet.
        if table.panel != 30 && !names.contains(&name) {
            count.different.push(format!("{name}: the vendor has no such table"));
        }
    }
    eprintln!(
        "{expected}: {} cells compared, {} empty in both, {} different",
        count.compared,
        count.empty,
        count.different.len()
    );
    assert!(count.different.is_empty(), "{}", count.different.join("\n"));
    assert!(count.compared >= least, "only {} cells compared", count.compared);
}

#[test]
fn mi200() {
    check("vcopy_MI200", "vcopy_MI200", NormalUnit::PerKernel, None, 1500);
}

#[test]
fn mi200_per_wave() {
    check("vcopy_MI200", "vcopy_MI200__per_wave", NormalUnit::PerWave, None, 1500);
}

#[test]
fn mi200_per_second() {
    check("vcopy_MI200", "vcopy_MI200__per_second", NormalUnit::PerSecond, None, 1500);
}

#[test]
fn mi200_one_dispatch() {
    check("vcopy_MI200", "vcopy_MI200__dispatch0", NormalUnit::PerKernel, Some(vec![0]), 1500);
}

#[test]
fn mi300x_with_damaged_times() {
    check("vcopy_MI300X_A1", "vcopy_MI300X_A1", NormalUnit::PerKernel, None, 4000);
}

#[test]
fn mi300x() {
    check("no_roof_MI300X_A1", "no_roof_MI300X_A1", NormalUnit::PerKernel, None, 4000);
}

#[test]
fn mi300x_long_form() {
    check("vcopy_MI300X_A1_rocpd", "vcopy_MI300X_A1_rocpd", NormalUnit::PerKernel, None, 4000);
}

#[test]
fn mi350() {
    check("vcopy_MI350", "vcopy_MI350", NormalUnit::PerKernel, None, 2800);
}
