//! Round trips: a trace as a database, from there in every format that can be read, and back.

mod common;

use std::path::Path;

use common::{example, read, shared_traces};
use rocm_perf_convert::rocprofv3::csv;
use rocm_perf_convert::{rocpd, torch};
use trace::{StrId, Trace};

/// Formats that are written and read.
const FORMATS: [&str; 4] = ["csv", "chrome", "chrome.gz", "rocpd"];

fn write(trace: &Trace, format: &str, folder: &Path) {
    match format {
        "csv" => {
            let options = csv::Options { columns: csv::ColumnSet::Rocpd };
            csv::write(trace, &folder.join("14"), &options).expect("written");
        }
        "rocpd" => {
            rocpd::write(trace, &folder.join("14_results.db"), &rocpd::Options::default()).expect("written");
        }
        gzip => {
            let options = torch::Options { gzip: gzip.ends_with("gz"), ..Default::default() };
            let name = if options.gzip { "14_results.json.gz" } else { "14_results.json" };
            torch::write(trace, &folder.join(name), &options).expect("written");
        }
    }
}

type Row = (String, i64, i64);

fn rows(trace: &Trace, names: &[StrId], starts: &[i64], ends: &[i64]) -> Vec<Row> {
    let name = |id: &StrId| trace.strings.get(*id).to_string();
    let mut rows: Vec<Row> =
        names.iter().zip(starts).zip(ends).map(|((id, start), end)| (name(id), *start, *end)).collect();
    rows.sort();
    rows
}

fn kernels(t: &Trace) -> Vec<Row> {
    rows(t, &t.kernels.name, &t.kernels.start, &t.kernels.end)
}

/// Copies by time: formats name directions in words of their own.
fn copies(t: &Trace) -> Vec<(i64, i64)> {
    t.memory_copies.start.iter().copied().zip(t.memory_copies.end.iter().copied()).collect()
}

/// Regions, and marks that some formats write as regions without a length.
fn regions(t: &Trace) -> Vec<Row> {
    let mut all = rows(t, &t.regions.name, &t.regions.start, &t.regions.end);
    let marks = (0..t.samples.len()).filter(|&i| t.samples.value[i].is_nan());
    let text = |i: usize| {
        let message = t.samples.location[i];
        t.strings.get(if message.is_empty() { t.samples.name[i] } else { message }).to_string()
    };
    all.extend(marks.map(|i| (text(i), t.samples.start[i], t.samples.end[i])));
    all.sort();
    all
}

/// Writes, reads and compares in every format, starting from a database.
fn check(original: &Trace, what: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("rocpd");
    write(original, "rocpd", &database);
    let original = read(&database);
    for format in FORMATS {
        let target = folder.path().join("to").join(format);
        write(&original, format, &target);
        let back = read(&target);
        assert!(kernels(&back) == kernels(&original), "kernels of {what} as {format}");
        assert_eq!(copies(&back), copies(&original), "copies of {what} as {format}");
        let (kept, all) = (regions(&back), regions(&original));
        if format == "csv" {
            // Marks other than rocprofiler's have no file.
            let long =
                |rows: Vec<Row>| -> Vec<Row> { rows.into_iter().filter(|row| row.1 < row.2).collect() };
            assert!(long(kept) == long(all), "regions of {what} as {format}");
        } else {
            assert_eq!(kept.len(), all.len(), "regions of {what} as {format}");
            assert!(kept == all, "regions of {what} as {format}");
        }
        println!(
            "{what} as {format}: {} kernels, {} regions",
            original.kernels.len(),
            original.regions.len()
        );
    }
}

#[test]
fn a_bit_of_everything_survives() {
    let trace = example();
    assert!(trace.kernels.len() == 80 && trace.memory_copies.len() == 8);
    check(&trace, "the example");
}

#[test]
fn quotes_and_commas_in_names_survive() {
    let mut trace = example();
    for (i, name) in ["a \"quoted\" name", "a, comma", "\"begins", "a \\ b", "über"].iter().enumerate() {
        let name = trace.strings.intern(name);
        trace.kernels.name[i] = name;
        trace.regions.name[i] = name;
    }
    check(&trace, "odd names");
}

#[test]
fn real_traces_survive() {
    for path in shared_traces().iter().filter(|p| std::fs::metadata(p).is_ok_and(|m| m.len() < 3_000_000)) {
        check(&read(path), &path.file_name().unwrap_or_default().to_string_lossy());
    }
}
