//! Merged databases of schemas 3 and 4: the union of their inputs, read by SQLite and by our reader.

use crate::common;

use std::path::{Path, PathBuf};

use rocm_perf_convert::merge::{Input, Options, merge};
use rocm_perf_convert::rocpd;
use rocm_perf_convert::rocpd::four::{self, FourVersion};
use rusqlite::Connection;
use trace::{Needs, Trace};

fn read(paths: &[PathBuf]) -> Trace {
    ingest::read(paths, &Needs::everything(), &Default::default()).unwrap()
}

/// Identifying values of rows in the big tables, sorted.
fn said(trace: &Trace) -> Vec<String> {
    let text = |id| trace.strings.get(id);
    let guid = |process: trace::ProcessId| text(trace.processes[process.get().unwrap()].guid).to_string();
    let (kernels, regions, copies) = (&trace.kernels, &trace.regions, &trace.memory_copies);
    let mut lines: Vec<String> = Vec::new();
    lines.extend((0..kernels.len()).map(|i| {
        let stream = kernels.stream[i].get().map(|s| trace.streams[s].id);
        format!(
            "kernel {} {} {} {} {stream:?}",
            guid(kernels.process[i]),
            text(kernels.name[i]),
            kernels.start[i],
            kernels.end[i]
        )
    }));
    lines.extend((0..regions.len()).map(|i| {
        let thread = regions.thread[i].get().map(|t| trace.threads[t].tid);
        format!(
            "region {} {} {} {} {} {thread:?}",
            guid(regions.process[i]),
            text(regions.category[i]),
            text(regions.name[i]),
            regions.start[i],
            regions.end[i]
        )
    }));
    lines.extend((0..copies.len()).map(|i| {
        format!(
            "copy {} {} {:?} {:?}",
            guid(copies.process[i]),
            copies.start[i],
            copies.bytes[i],
            copies.end[i]
        )
    }));
    lines.sort();
    lines
}

/// Three recordings, each in schema 3.
fn inputs(folder: &Path) -> Vec<(Trace, PathBuf)> {
    let guids = [
        "0000aaaa-8903-7903-b269-cd8d3745bb8a",
        "0000bbbb-8903-7903-b269-cd8d3745bb8a",
        "0000cccc-8903-7903-b269-cd8d3745bb8a",
    ];
    let made = guids.iter().enumerate().map(|(n, guid)| {
        let mut trace = common::example();
        for process in &mut trace.processes {
            process.guid = trace.strings.intern(guid);
        }
        let path = folder.join(format!("three-{n}.db"));
        rocpd::write(&trace, &path, &rocpd::Options::default()).unwrap();
        (trace, path)
    });
    made.collect()
}

#[test]
fn databases_of_three_versions_become_one() {
    let folder = tempfile::tempdir().unwrap();
    let three = inputs(folder.path());
    let mut mixed = vec![three[0].1.clone()];
    for (version, (trace, _)) in [FourVersion::V4_0, FourVersion::V4_1].into_iter().zip(&three[1..]) {
        let path = folder.path().join(format!("{version}.db"));
        four::write(trace, &path, version, &rocpd::Options::default()).unwrap();
        mixed.push(path);
    }
    let target = folder.path().join("merged.db");
    let given: Vec<Input> = mixed.iter().map(|path| Input { path: path.clone(), rank: None }).collect();
    let merged = merge(&given, &target, &Options::default(), &|_| {}).unwrap();
    assert_eq!(merged.recordings.len(), 3);
    assert_eq!(merged.health.problems().count(), 0);
    let all: Vec<PathBuf> = three.iter().map(|(_, path)| path.clone()).collect();
    assert_eq!(said(&read(std::slice::from_ref(&target))), said(&read(&all)));

    let db = Connection::open(&target).unwrap();
    let one = Connection::open(&three[0].1).unwrap();
    let number = |db: &Connection, sql: &str| -> i64 {
        db.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|e| panic!("{sql}: {e}"))
    };
    for sql in [
        "SELECT count(*) FROM kernels WHERE category = 'KERNEL_DISPATCH' AND name IS NOT NULL AND agent_type = 'GPU'",
        "SELECT sum(duration) FROM regions WHERE category IS NOT NULL AND tid IS NOT NULL",
        "SELECT sum(\"end\" - start) FROM rocpd_kernel_dispatch WHERE pid IS NOT NULL",
        "SELECT count(*) FROM samples WHERE name IS NOT NULL",
        "SELECT sum(total_calls) FROM top_kernels",
    ] {
        assert_eq!(number(&db, sql), 3 * number(&one, sql), "{sql}");
        assert!(number(&one, sql) > 0, "{sql}");
    }
    let problems: i64 =
        db.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0)).unwrap();
    assert_eq!(problems, 0);
}
