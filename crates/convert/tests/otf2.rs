//! OTF2 archives read by `otf2-print`: no warnings, the declared counts, proper nesting, exact times.

use crate::common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use common::{Slice, example, has, read, shared_traces, slices};
use rocm_perf_convert::otf2::{Written, write};
use trace::Trace;

/// The tool's output, with warnings as errors.
fn printed(anchor: &Path, option: &str) -> String {
    let output = Command::new("otf2-print").args(["-Werror", option]).arg(anchor).output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!text.to_lowercase().contains("warning"), "{text}");
    text
}

/// The content of an archive, from the events of each location as stacks.
#[derive(Default)]
struct Seen {
    slices: Vec<Slice>,
    metrics: Vec<(i64, f64)>,
    /// Events of each location.
    events: BTreeMap<u64, u64>,
    attributes: usize,
    text: String,
}

fn seen(anchor: &Path) -> Seen {
    let mut seen = Seen { text: printed(anchor, "-A"), ..Seen::default() };
    let mut open: BTreeMap<u64, Vec<(String, i64)>> = BTreeMap::new();
    let mut last: BTreeMap<u64, i64> = BTreeMap::new();
    let events = seen.text.split_once("=== Events").expect("events").1.to_string();
    for line in events.lines() {
        if line.trim_start().starts_with("ADDITIONAL ATTRIBUTES") {
            seen.attributes += 1;
            continue;
        }
        let mut words = line.split_whitespace();
        let kind = words.next().unwrap_or("");
        if !["ENTER", "LEAVE", "METRIC"].contains(&kind) {
            continue;
        }
        let location: u64 = words.next().expect("a location").parse().expect("a number");
        let at: i64 = words.next().expect("a time").parse().expect("a number");
        assert!(last.insert(location, at).is_none_or(|before| before <= at), "time goes on: {line}");
        *seen.events.entry(location).or_default() += 1;
        let stack = open.entry(location).or_default();
        let name = || {
            let rest = line.split_once("Region: \"").expect("a region").1;
            rest[..rest.rfind("\" <").expect("a reference")].to_string()
        };
        match kind {
            "ENTER" => stack.push((name(), at)),
            "LEAVE" => {
                let (entered, start) = stack.pop().expect("an open region");
                assert_eq!(entered, name(), "regions nest");
                seen.slices.push((entered, start, at));
            }
            _ => {
                let value = line.rsplit(';').next().expect("a value").trim().trim_end_matches(')');
                seen.metrics.push((at, value.parse().expect("a number")));
            }
        }
    }
    assert!(open.values().all(Vec::is_empty), "every region is left");
    seen.slices.sort();
    seen
}

/// The events that each location declares.
fn declared(text: &str) -> BTreeMap<u64, u64> {
    let location = |line: &str| {
        let mut words = line.strip_prefix("LOCATION ")?.split_whitespace();
        let id = words.next()?.parse().ok()?;
        let events = line.split_once("# Events: ")?.1.split(',').next()?.parse().ok()?;
        Some((id, events))
    };
    text.lines().filter_map(location).collect()
}

fn archive(trace: &Trace, folder: &Path) -> (Written, Seen) {
    let anchor = folder.join("run_results.otf2");
    let written = write(trace, &anchor).expect("written");
    let seen = seen(&anchor);
    assert_eq!(declared(&seen.text), seen.events, "declared counts are those of the events");
    assert_eq!(seen.slices.len() as u64, written.slices);
    assert_eq!(written.locations, seen.events.len() as u64);
    (written, seen)
}

#[test]
fn every_slice_is_there_and_nests() {
    if !has("otf2-print") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let trace = example();
    let (written, seen) = archive(&trace, folder.path());
    assert_eq!(seen.slices, slices(&trace));
    assert_eq!(seen.attributes as u64, written.slices);
    assert!(written.remarks.is_empty(), "{:?}", written.remarks);
    let powers: Vec<(i64, f64)> =
        trace.samples.start.iter().copied().zip(trace.samples.value.iter().copied()).collect();
    assert_eq!(seen.metrics, powers);
    for part in [
        "Name: \"rank 0: python3\"",
        "Type: ACCELERATOR, Parent: \"node::node one\"",
        "Name: \"GPU 0 AMD Instinct MI300X [Agent 4]\"",
        "Name: \"Stream 3 (2)\"",
        "Name: \"THREAD 1\"",
        "Role: DATA_TRANSFER, Paradigm: HIP",
        "Role: DEALLOCATE",
        "(\"category\" <0>; STRING; \"kernel_dispatch\"",
        "(\"bytes\" <2>; INT64; 1048576)",
        "; DOUBLE; 7801",
    ] {
        assert!(seen.text.contains(part), "{part} in {}", seen.text);
    }
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["run_results", "run_results.def", "run_results.otf2"]);
}

#[test]
fn archives_of_many_chunks_are_read() {
    if !has("otf2-print") {
        return;
    }
    let mut trace = Trace::default();
    // More names than a chunk of definitions can hold, and more events than a chunk of events.
    for i in 0..30_000i64 {
        let name = trace.strings.intern(&format!("region {i} {}", "x".repeat(200)));
        trace.regions.push(trace::Region {
            name,
            start: (1 << 40) + i * 10,
            end: (1 << 40) + i * 10 + 7,
            ..Default::default()
        });
    }
    let long = trace.strings.intern(&"ü".repeat(40_000));
    trace.regions.push(trace::Region { name: long, start: 1, end: 2, ..Default::default() });
    trace.finish();
    let folder = tempfile::tempdir().expect("a folder");
    let (written, seen) = archive(&trace, folder.path());
    assert_eq!(written.slices, 30_001);
    assert_eq!(written.remarks, ["1 names of more than 64 KiB were cut"]);
    assert_eq!(seen.slices.iter().filter(|(name, _, _)| name.starts_with("region")).count(), 30_000);
}

#[test]
fn real_traces_keep_every_slice() {
    if !has("otf2-print") {
        return;
    }
    for path in shared_traces().iter().filter(|p| std::fs::metadata(p).is_ok_and(|m| m.len() < 3_000_000)) {
        let trace = read(path);
        if trace.regions.len() > 150_000 {
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let (written, seen) = archive(&trace, folder.path());
        let times = |slices: &[Slice]| {
            let mut times: Vec<(i64, i64)> = slices.iter().map(|(_, start, end)| (*start, *end)).collect();
            times.sort();
            times
        };
        let waits = (0..trace.syncs.len()).filter(|&i| {
            let kind = trace.strings.get(trace.syncs.kind[i]);
            !["hip", "cu"].iter().any(|api| kind.starts_with(api))
        });
        let mut expected = times(&slices(&trace));
        expected.extend(waits.map(|i| (trace.syncs.start[i], trace.syncs.end[i])));
        expected.sort();
        assert!(times(&seen.slices) == expected, "{}", path.display());
        println!("{}: {} slices", path.display(), written.slices);
    }
}

#[test]
fn an_archive_that_failed_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(write(&example(), &folder.path().join("run.txt")).is_err());
    std::fs::write(folder.path().join("file"), b"in the way").expect("a file");
    assert!(write(&example(), &folder.path().join("file/run.otf2")).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
}
