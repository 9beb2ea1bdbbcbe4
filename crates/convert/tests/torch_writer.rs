//! Torch files: valid JSON whatever the trace holds, and real traces that can be written again without loss.

use crate::common;

use std::path::{Path, PathBuf};

use rocm_perf_convert::torch::{Options, write};
use serde_json::Value;
use trace::{
    Agent, AgentKind, Arg, Kernel, MemoryAllocation, Needs, OptI64, Process, Region, RowRef, Sample, Source,
    Stream, StreamId, Thread, Trace,
};

fn written(trace: &Trace, options: &Options) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.json");
    let bytes = write(trace, &path, options).unwrap();
    let text = std::fs::read(&path).unwrap();
    assert_eq!(bytes, text.len() as u64);
    serde_json::from_slice(&text).unwrap()
}

fn of_category<'a>(json: &'a Value, category: &str) -> Vec<&'a Value> {
    json["traceEvents"].as_array().unwrap().iter().filter(|e| e["cat"] == category).collect()
}

/// Two recordings with the same call numbers and awkward names.
fn awkward() -> Trace {
    let mut trace = Trace::default();
    let odd = "a \"quoted\" \\ name\n\u{1}µ";
    for (number, guid) in ["one", "two"].into_iter().enumerate() {
        let source = trace.add_source(Source::named(guid, "rocpd"));
        trace.add_metadata(source, "note", odd);
        trace.add_metadata(source, "count", "3");
        let guid = trace.strings.intern(guid);
        let process = trace.add_process(Process { guid, ..Process::new(source, 10 + number as i64) });
        let thread = trace.add_thread(Thread { process, tid: 7, ..Thread::default() });
        let arch = trace.strings.intern("gfx942");
        let index = OptI64::some(number as i64);
        let agent =
            Agent { process, kind: AgentKind::Gpu, absolute_index: index, name: arch, ..Agent::default() };
        let agent = trace.add_agent(agent);
        let stream = trace.add_stream(Stream { process, id: 0, ..Stream::default() });
        let (name, category) = (trace.strings.intern(odd), trace.strings.intern("HIP_RUNTIME_API_EXT"));
        let row = trace.regions.len();
        let (start, end) = (1_234_567, 1_234_999);
        trace.regions.push(Region {
            name,
            category,
            start,
            end,
            process,
            thread,
            correlation: 5,
            ..Region::default()
        });
        for (position, value) in ["0x7f00", "[1, 2]", "NaN", ""].into_iter().enumerate() {
            let (name, value) =
                (trace.strings.intern(&format!("arg {position}")), trace.strings.intern(value));
            let owner = RowRef::region(row);
            trace.args.push(Arg { owner, position: position as u32, name, value, ..Arg::default() });
        }
        let start = 2_000_001;
        let kernel = Kernel {
            name,
            start,
            end: start + 1,
            process,
            agent,
            stream,
            correlation: 5,
            ..Kernel::default()
        };
        trace.kernels.push(kernel);
        for (kind, bytes) in [("ALLOC", 64), ("FREE", 0)] {
            let (kind, bytes) = (trace.strings.intern(kind), OptI64::some(bytes));
            let address = OptI64::some(4096);
            let row = MemoryAllocation {
                kind,
                start,
                end: start,
                address,
                bytes,
                process,
                agent,
                ..Default::default()
            };
            trace.memory_allocations.push(row);
        }
        for value in [1.5, f64::NAN, f64::INFINITY] {
            trace.samples.push(Sample { start, end: start, name, value, process, ..Sample::default() });
        }
    }
    trace.finish();
    trace
}

#[test]
fn awkward_content_stays_valid_and_exact() {
    let trace = awkward();
    let json = written(&trace, &Options::default());
    assert_eq!(json["note"], "a \"quoted\" \\ name\n\u{1}µ");
    assert_eq!(json["count"], 3);
    assert_eq!(json["deviceProperties"][0]["computeMajor"], 9);
    let calls = of_category(&json, "cuda_runtime");
    assert_eq!(calls.len(), 2);
    for call in &calls {
        assert_eq!((call["ts"].to_string(), call["dur"].to_string()), ("1234.567".into(), "0.432".into()));
        assert_eq!(call["args"]["arg 0"], "0x7f00");
        assert_eq!(call["args"]["arg 1"], serde_json::json!([1, 2]));
        assert_eq!(call["args"]["arg 2"], "NaN");
        assert_eq!(call["args"]["arg 3"], "");
    }
    // Equal ids of two recordings do not collide, and each kernel keeps its call.
    let kernels = of_category(&json, "kernel");
    assert_ne!(calls[0]["args"]["correlation"], calls[1]["args"]["correlation"]);
    let ids = |events: &[&Value]| -> Vec<i64> {
        events.iter().map(|e| e["args"]["correlation"].as_i64().unwrap()).collect()
    };
    assert_eq!(ids(&calls), ids(&kernels));
    let memory = of_category(&json, "cpu_instant_event");
    let bytes: Vec<i64> = memory.iter().map(|m| m["args"]["Bytes"].as_i64().unwrap()).collect();
    assert_eq!(bytes.iter().sum::<i64>(), 0, "a free gives back what its address took: {bytes:?}");
}

fn traces() -> Option<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(testing::data("traces")?)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".json.gz"))
        .filter(|path| !path.to_string_lossy().contains("rocprofv3"))
        .collect();
    found.sort();
    Some(found)
}

type Rows = Vec<(String, i64, i64, i64, Option<i64>)>;

fn rows(trace: &Trace) -> [Rows; 3] {
    let text = |id| trace.strings.get(id).to_string();
    let kernels =
        trace.kernels.rows().map(|k| (text(k.name), k.start, k.end, k.correlation, k.external.get()));
    let copies =
        trace.memory_copies.rows().map(|c| (text(c.name), c.start, c.end, c.correlation, c.bytes.get()));
    let regions = trace.regions.rows().map(|r| (text(r.name), r.start, r.end, r.parent, r.external.get()));
    let mut all = [kernels.collect::<Rows>(), copies.collect(), regions.collect()];
    all.iter_mut().for_each(|rows| rows.sort());
    all
}

#[test]
fn real_traces_survive_being_written_again() {
    let Some(traces) = traces() else { return };
    let read = |path: &Path| {
        ingest::read(&[path.to_path_buf()], &Needs::everything(), &ingest::Progress::default()).unwrap()
    };
    for path in traces {
        let folder = tempfile::tempdir().unwrap();
        let again = folder.path().join(path.file_name().unwrap());
        let trace = read(&path);
        write(&trace, &again, &Options { gzip: true, ..Options::default() }).unwrap();
        let back = read(&again);
        for (table, (a, b)) in
            ["kernels", "copies", "regions"].iter().zip(rows(&trace).iter().zip(&rows(&back)))
        {
            let differs = a.iter().zip(b.iter()).find(|(x, y)| x != y);
            assert!(
                a.len() == b.len() && differs.is_none(),
                "{path:?} {table}: {} {} {differs:?}",
                a.len(),
                b.len()
            );
        }
    }
}

/// Two ranks with the same pid and GPU number shared a lane, and their slices crossed.
#[test]
fn ranks_of_equal_numbers_have_lanes_of_their_own() {
    let trace = common::example();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ranks.json");
    write(&trace, &path, &Options::default()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let mut rows_of: std::collections::BTreeMap<(i64, &str), usize> = Default::default();
    let mut names: std::collections::BTreeMap<i64, &str> = Default::default();
    for event in events {
        let pid = event["pid"].as_i64().unwrap();
        match event["cat"].as_str() {
            Some(category @ ("kernel" | "cuda_runtime")) if event["ph"] == "X" => {
                *rows_of.entry((pid, category)).or_default() += 1;
            }
            _ if event["name"] == "process_name" => {
                names.insert(pid, event["args"]["name"].as_str().unwrap());
            }
            _ => {}
        }
    }
    let half = |category: &str| {
        rows_of.iter().filter(|((_, c), _)| *c == category).map(|(_, n)| *n).collect::<Vec<_>>()
    };
    assert_eq!(half("kernel"), [40, 40]);
    assert_eq!(half("cuda_runtime"), [54, 54]);
    assert!(
        rows_of.contains_key(&(14, "cuda_runtime")) && rows_of.contains_key(&(4, "kernel")),
        "the first keeps its own"
    );
    for (pid, category) in rows_of.keys() {
        let rank = usize::from(![4, 14].contains(pid));
        assert!(names[pid].contains(&format!("rank {rank}")), "{category} {pid}: {names:?}");
    }
    let read = common::read(&path);
    assert_eq!(common::slices(&read).len(), common::slices(&trace).len());
    let linked = |t: &trace::Trace| {
        (0..t.kernels.len()).filter(|i| t.links.launch_of(trace::RowRef::kernel(*i)).is_some()).count()
    };
    assert_eq!(linked(&read), linked(&trace));
}

#[test]
fn g4_streams_are_named_only_on_gpus_that_use_them() {
    let mut trace = Trace::default();
    let source = trace.add_source(Source::named("one", "rocpd"));
    let process = trace.add_process(Process::new(source, 1));
    let count = 300;
    for i in 0..count {
        let absolute_index = OptI64::some(i);
        let agent =
            trace.add_agent(Agent { process, absolute_index, kind: AgentKind::Gpu, ..Default::default() });
        trace.streams.push(Stream { process, id: i, ..Default::default() });
        let stream = StreamId::at(i as usize);
        trace.kernels.push(Kernel { agent, stream, process, start: i, end: i + 1, ..Default::default() });
    }
    trace.finish();
    let json = written(&trace, &Options::default());
    let names = json["traceEvents"].as_array().unwrap().iter().filter(|event| event["name"] == "thread_name");
    assert_eq!(names.count(), count as usize);
}
