//! Round trips: a trace as a database, from there to every format that can be read, and back.

use crate::common;

use std::path::Path;

use common::{example, read, shared_traces};
use rocm_perf_convert::rocprofv3::csv;
use rocm_perf_convert::{pftrace, rocpd, torch};
use trace::{AgentId, LinkKind, RowRef, StrId, Table, ThreadId, Trace};

/// Formats that can be written and read.
const FORMATS: [&str; 5] = ["csv", "chrome", "chrome.gz", "rocpd", "pftrace"];

fn write(trace: &Trace, format: &str, folder: &Path) {
    match format {
        "csv" => {
            let options = csv::Options { columns: csv::ColumnSet::Rocpd, ..Default::default() };
            csv::write(trace, &folder.join("14"), &options).expect("written");
        }
        "rocpd" => {
            rocpd::write(trace, &folder.join("14_results.db"), &rocpd::Options::default()).expect("written");
        }
        "pftrace" => {
            pftrace::write(trace, &folder.join("14_results.pftrace"), &pftrace::Options::default())
                .expect("written");
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

/// Copies by time: formats have their own names for directions.
fn copies(t: &Trace) -> Vec<(i64, i64)> {
    t.memory_copies.start.iter().copied().zip(t.memory_copies.end.iter().copied()).collect()
}

/// Regions, and instant markers that some formats write as regions without a length.
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
            // Markers other than rocprofiler's have no file.
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

/// What analyses need from a trace besides names and times, row by row and without ids.
fn facts(t: &Trace) -> Vec<(&'static str, Vec<String>)> {
    let text = |id: StrId| t.strings.get(id).to_string();
    let agent = |id: AgentId| {
        // Hosts of torch traces have no number to identify them.
        id.get().filter(|&row| t.agents[row].absolute_index.get().is_some()).map(|row| {
            let agent = &t.agents[row];
            let facts = (text(agent.name), text(agent.product), agent.compute_units, agent.memory_bytes);
            (agent.absolute_index, t.rank_of(agent.process), facts)
        })
    };
    let tid = |id: ThreadId| id.get().map(|row| t.threads[row].tid);
    let kernel = |row: usize| (text(t.kernels.name[row]), t.kernels.start[row], agent(t.kernels.agent[row]));
    let region =
        |row: RowRef| row.row_of(Table::Regions).map(|row| (text(t.regions.name[row]), t.regions.start[row]));
    let mut counters = std::collections::BTreeMap::<_, f64>::new();
    for i in 0..t.counters.len() {
        let row = t.counters.kernel[i].row_of(Table::Kernels).expect("a kernel");
        let name = text(t.counter_kinds[t.counters.counter[i].get().expect("a kind")].name);
        *counters.entry((t.kernels.start[row], row, name)).or_default() += t.counters.value[i];
    }
    let mut facts = vec![
        ("kernels", (0..t.kernels.len()).map(|row| format!("{:?}", kernel(row))).collect::<Vec<_>>()),
        (
            "copies",
            (0..t.memory_copies.len())
                .map(|row| {
                    let copy = t.memory_copies.get(row);
                    format!("{:?} {:?} {:?} {:?}", copy.start, copy.bytes, agent(copy.dst), copy.kind)
                })
                .collect(),
        ),
        (
            "regions",
            (0..t.regions.len())
                .map(|row| format!("{:?} {:?}", region(RowRef::region(row)), tid(t.regions.thread[row])))
                .collect(),
        ),
        (
            "counters",
            counters.into_iter().map(|((start, _, name), value)| format!("{start} {name} {value}")).collect(),
        ),
        (
            "collectives",
            t.collectives
                .rows()
                .map(|c| {
                    let row = c.row.row_of(Table::Kernels).map(kernel);
                    format!("{row:?} {} {} {:?} {:?}", text(c.operation), text(c.group), c.bytes, c.sequence)
                })
                .collect(),
        ),
        (
            "forward and backward",
            t.links
                .rows()
                .filter(|link| link.kind == LinkKind::ForwardBackward)
                .map(|link| format!("{:?} {:?}", region(link.from), region(link.to)))
                .collect(),
        ),
        (
            "synchronisations",
            t.syncs
                .rows()
                .map(|sync| {
                    let stream = |id: trace::StreamId| id.get().map(|row| t.streams[row].id);
                    let streams = (stream(sync.stream), stream(sync.waits_for));
                    format!("{} {} {streams:?} {:?}", text(sync.kind), sync.start, sync.event)
                })
                .collect(),
        ),
        (
            "call arguments",
            t.args
                .rows()
                .filter(|arg| arg.owner.row_of(Table::Regions).is_some())
                .map(|arg| format!("{:?} {}", region(arg.owner), text(arg.name)))
                .collect(),
        ),
    ];
    facts.iter_mut().for_each(|(_, rows)| rows.sort());
    facts
}

fn check_perfetto(original: &Trace, what: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    write(original, "pftrace", folder.path());
    let back = read(folder.path());
    for ((table, expected), (_, found)) in facts(original).into_iter().zip(facts(&back)) {
        println!("{what}: {} {table}", expected.len());
        let differs = expected.iter().zip(&found).find(|(expected, found)| expected != found);
        assert_eq!(differs, None, "{table} of {what}");
        assert_eq!(found.len(), expected.len(), "{table} of {what}");
    }
}

#[test]
fn perfetto_keeps_devices_threads_counters_and_links() {
    check_perfetto(&example(), "the example");
    for path in shared_traces().iter().filter(|p| std::fs::metadata(p).is_ok_and(|m| m.len() < 3_000_000)) {
        check_perfetto(&read(path), &path.file_name().unwrap_or_default().to_string_lossy());
    }
}
