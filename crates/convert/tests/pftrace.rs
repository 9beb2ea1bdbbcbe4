//! Perfetto traces decoded by `protoc`: every slice with its exact times, nesting, flows and counters.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};

use common::{EPOCH, example, has, read, shared_traces, slices};
use rocm_perf_convert::pftrace::{Options, stream, write};
use trace::{RowRef, Trace};

/// A message as printed by `protoc --decode_raw`: fields in order, texts unescaped.
#[derive(Debug, Default)]
struct Message(Vec<(u32, Value)>);

#[derive(Debug)]
enum Value {
    Plain(Vec<u8>),
    Message(Message),
}

impl Message {
    fn all(&self, field: u32) -> impl Iterator<Item = &Value> {
        self.0.iter().filter(move |(number, _)| *number == field).map(|(_, value)| value)
    }

    fn message(&self, field: u32) -> Option<&Message> {
        self.all(field).find_map(|value| match value {
            Value::Message(message) => Some(message),
            Value::Plain(_) => None,
        })
    }

    fn text(&self, field: u32) -> Option<String> {
        self.all(field).find_map(|value| match value {
            Value::Plain(text) => Some(String::from_utf8_lossy(text).into_owned()),
            Value::Message(_) => None,
        })
    }

    fn number(&self, field: u32) -> Option<u64> {
        self.text(field).map(|text| parse_number(&text))
    }

    fn numbers(&self, field: u32) -> Vec<u64> {
        let number = |value: &Value| match value {
            Value::Plain(text) => Some(parse_number(&String::from_utf8_lossy(text))),
            Value::Message(_) => None,
        };
        self.all(field).filter_map(number).collect()
    }
}

fn parse_number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).expect("a number of eight bytes"),
        None => text.parse().unwrap_or_else(|_| panic!("`{text}` is not a number")),
    }
}

fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'n') => out.push(b'\n'),
            Some(b't') => out.push(b'\t'),
            Some(b'r') => out.push(b'\r'),
            Some(first @ b'0'..=b'7') => {
                let mut value = u32::from(first - b'0');
                for _ in 0..2 {
                    value = value * 8 + u32::from(bytes.next().expect("three digits") - b'0');
                }
                out.push(value as u8);
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

/// Decodes with an independent program.
fn decode(bytes: Vec<u8>) -> Vec<Message> {
    let mut protoc = Command::new("protoc")
        .arg("--decode_raw")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("protoc runs");
    let mut stdin = protoc.stdin.take().expect("its input");
    let feeder = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = protoc.wait_with_output().expect("protoc ends");
    assert!(output.status.success(), "protoc understands the file");
    feeder.join().expect("no panic").expect("all was read");
    let mut stack = vec![Message::default()];
    for line in String::from_utf8(output.stdout).expect("text").lines() {
        let line = line.trim_start();
        if line == "}" {
            let done = stack.pop().expect("balanced braces");
            let parent = stack.last_mut().expect("balanced braces");
            parent.0.last_mut().expect("a field").1 = Value::Message(done);
        } else if let Some(field) = line.strip_suffix(" {") {
            let field = field.parse().expect("a field number");
            stack.last_mut().expect("a message").0.push((field, Value::Plain(Vec::new())));
            stack.push(Message::default());
        } else {
            let (field, value) = line.split_once(": ").expect("a field and its value");
            let value = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).unwrap_or(value);
            let value = Value::Plain(unescape(value));
            stack.last_mut().expect("a message").0.push((field.parse().expect("a field number"), value));
        }
    }
    let top = stack.pop().expect("the file");
    let packet = |(field, value)| match (field, value) {
        (1, Value::Message(packet)) => packet,
        other => panic!("{other:?} is no packet"),
    };
    top.0.into_iter().map(packet).collect()
}

/// The content of the stream for a reader.
#[derive(Default)]
struct Seen {
    slices: Vec<common::Slice>,
    flows: BTreeSet<u64>,
    ended_flows: BTreeSet<u64>,
    /// Points by track name.
    points: BTreeMap<String, Vec<(i64, f64)>>,
    tracks: Vec<String>,
    /// Annotations (name, value) of slices, by slice name.
    annotations: BTreeMap<String, Vec<(String, String)>>,
}

/// Follows the rules of the format: names by number, slices as stacks per track, equal times in order.
fn understand(packets: &[Message]) -> Seen {
    let mut seen = Seen::default();
    let mut tracks: BTreeMap<u64, String> = BTreeMap::new();
    let mut names: [BTreeMap<u64, String>; 4] = Default::default();
    let mut events = Vec::new();
    for packet in packets {
        if let Some(track) = packet.message(60) {
            let inner = track.message(3).and_then(|process| process.text(6));
            let inner = inner.or_else(|| track.message(4).and_then(|thread| thread.text(5)));
            let name = track.text(2).or(inner).unwrap_or_default();
            if let Some(parent) = track.number(5) {
                assert!(tracks.contains_key(&parent), "parents come first");
            }
            assert!(
                tracks.insert(track.number(1).expect("a number"), name.clone()).is_none(),
                "{name} twice"
            );
            seen.tracks.push(name);
        }
        if let Some(interned) = packet.message(12) {
            for (kind, value) in &interned.0 {
                let Value::Message(entry) = value else { panic!("an entry") };
                // `decode_raw` mistakes some short texts for messages.
                let text = entry.text(2).unwrap_or_else(|| format!("{:?}", entry.message(2)));
                names[*kind as usize].insert(entry.number(1).expect("a number"), text);
            }
        }
        if let Some(event) = packet.message(11) {
            let at = packet.number(8).expect("a time") as i64;
            if let Some(name) = event.number(10) {
                assert!(names[2].contains_key(&name), "names are sent before they are used");
            }
            events.push((at, event));
        }
    }
    events.sort_by_key(|(at, _)| *at);
    let mut open: BTreeMap<u64, Vec<(String, i64)>> = BTreeMap::new();
    for (at, event) in events {
        let track = event.number(11).expect("a track");
        assert!(tracks.contains_key(&track), "the track is described");
        seen.flows.extend(event.numbers(47));
        seen.ended_flows.extend(event.numbers(48));
        match event.number(9).expect("a type") {
            1 => {
                let name = names[2][&event.number(10).expect("a name")].clone();
                for annotation in event.all(4) {
                    let Value::Message(annotation) = annotation else { panic!("an annotation") };
                    let key = &names[3][&annotation.number(1).expect("a name")];
                    let value = [4, 5, 6].iter().find_map(|field| annotation.text(*field));
                    let value = (key.clone(), value.unwrap_or_default());
                    seen.annotations.entry(name.clone()).or_default().push(value);
                }
                open.entry(track).or_default().push((name, at));
            }
            2 => {
                let (name, start) = open.get_mut(&track).and_then(Vec::pop).expect("an open slice");
                seen.slices.push((name, start, at));
            }
            3 => {}
            4 => {
                let value = event.number(44).map(f64::from_bits).or(event.number(30).map(|v| v as f64));
                let points = seen.points.entry(tracks[&track].clone()).or_default();
                points.push((at, value.expect("a value")));
            }
            other => panic!("type {other}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "every slice ends");
    seen.slices.sort();
    seen
}

fn seen(trace: &Trace) -> Seen {
    let (bytes, written) = stream(trace, Vec::new(), &Options::default()).expect("a vector takes all");
    assert_eq!(written.bytes, bytes.len() as u64);
    assert!(written.remarks.is_empty(), "{:?}", written.remarks);
    understand(&decode(bytes))
}

#[test]
fn every_slice_flow_and_counter_is_there() {
    if !has("protoc") {
        return;
    }
    let trace = example();
    let seen = seen(&trace);
    assert_eq!(seen.slices, slices(&trace));
    assert_eq!(seen.flows, seen.ended_flows);
    assert_eq!(seen.flows.len(), 80, "a flow to each kernel of both ranks");
    let track = |name: &str| seen.tracks.iter().filter(|track| *track == name).count();
    for (name, count) in [
        ("rank 0: python3", 1),
        ("rank 1: python3", 1),
        ("python3", 2),
        ("THREAD 1", 2),
        ("GPU 0 AMD Instinct MI300X [Agent 4]", 2),
        ("Stream 3", 2),
        ("Stream 3 (2)", 2),
        ("socket power", 2),
        ("Memory in use", 2),
        ("PMC SQ_WAVES total", 2),
    ] {
        assert_eq!(track(name), count, "{name} of {:?}", seen.tracks);
    }
    assert_eq!(seen.points["socket power"].len(), 80);
    assert_eq!(seen.points["socket power"][0], (EPOCH, 500.0));
    let memory = &seen.points["Memory in use"];
    assert_eq!(memory.len(), 16);
    assert!(memory.iter().step_by(2).all(|(_, bytes)| *bytes == 65536.0));
    assert!(memory.iter().skip(1).step_by(2).all(|(_, bytes)| *bytes == 0.0));
    let gemm = &seen.annotations["void gemm<float, 128>(float const*)"];
    let values =
        |key: &str| gemm.iter().filter(|(k, _)| k == key).map(|(_, v)| v.as_str()).collect::<Vec<_>>();
    assert_eq!(values("grid_size").len(), 80);
    assert_eq!(values("grid_size")[0], "1280 (x=640, y=2, z=1)");
    assert_eq!((values("LDS_Block_Size")[0], values("VGPR_Count")[0]), ("4096", "32"));
    // Each dispatch has its own counters, summed over instances: 100 i + (100 i + 1).
    let waves: BTreeSet<i64> =
        values("SQ_WAVES total").iter().map(|v| f64::from_bits(parse_number(v)) as i64).collect();
    assert_eq!(waves, (0..40).map(|i| 200 * i + 1).collect());
    let call = &seen.annotations["hipLaunchKernel"];
    let argument = ("stream argument".to_string(), "0x7f00 \"quoted\"".to_string());
    assert_eq!(call.iter().filter(|pair| **pair == argument).count(), 80);
}

#[test]
fn counter_tracks_read_zero_while_a_second_overlapping_kernel_ran() {
    if !has("protoc") {
        return;
    }
    let mut trace = Trace::default();
    let source = trace.add_source(trace::Source::named("a.db", "rocpd"));
    let process = trace.add_process(trace::Process::new(source, 1));
    let agent = trace.add_agent(trace::Agent { process, kind: trace::AgentKind::Gpu, ..Default::default() });
    let [gemm, waves] = ["gemm", "WAVES"].map(|name| trace.strings.intern(name));
    let counter =
        trace.add_counter_kind(trace::CounterKind { name: waves, process, agent, ..Default::default() });
    for (start, end, value) in [(10, 30, 1.0), (20, 50, 2.0), (60, 70, 4.0)] {
        let kernel = RowRef::kernel(trace.kernels.len());
        trace.kernels.push(trace::Kernel { name: gemm, start, end, process, agent, ..Default::default() });
        trace.counters.push(trace::Counter { kernel, counter, value, ..Default::default() });
    }
    trace.finish();
    let mut points = seen(&trace).points["PMC WAVES"].clone();
    points.sort_by_key(|(ns, _)| *ns);
    assert_eq!(points, [(10, 1.0), (20, 3.0), (30, 2.0), (50, 0.0), (60, 4.0), (70, 0.0)]);
}

#[test]
fn queues_can_take_the_place_of_streams() {
    if !has("protoc") {
        return;
    }
    let options = Options { by_queue: true, ..Options::default() };
    let (bytes, _) = stream(&example(), Vec::new(), &options).expect("a vector takes all");
    let seen = understand(&decode(bytes));
    assert_eq!(seen.slices, slices(&example()));
    assert!(seen.tracks.contains(&"Queue 7".into()) && !seen.tracks.contains(&"Stream 3".into()));
}

#[test]
fn gzip_holds_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = example();
    let (plain, packed) = (folder.path().join("a.pftrace"), folder.path().join("a.pftrace.gz"));
    write(&trace, &plain, &Options::default()).expect("written");
    write(&trace, &packed, &Options { gzip: true, ..Options::default() }).expect("written");
    let mut unpacked = Vec::new();
    let file = std::fs::File::open(packed).expect("a file");
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(file), &mut unpacked).expect("gzip");
    assert_eq!(unpacked, std::fs::read(plain).expect("a file"));
}

#[test]
fn what_cannot_be_shown_is_said() {
    let mut trace = Trace::default();
    let name = trace.strings.intern("early");
    for (start, end) in [(-5, 3), (10, 8), (11, 12)] {
        trace.regions.push(trace::Region { name, start, end, ..Default::default() });
    }
    trace.finish();
    let (_, written) = stream(&trace, Vec::new(), &Options::default()).expect("a vector takes all");
    assert_eq!(written.slices, 2);
    assert!(written.remarks[0].starts_with("1 rows before time zero"), "{:?}", written.remarks);
    assert!(written.remarks[1].starts_with("1 rows end before they start"), "{:?}", written.remarks);
}

#[test]
fn real_traces_keep_every_slice() {
    if !has("protoc") {
        return;
    }
    for path in shared_traces().iter().filter(|p| std::fs::metadata(p).is_ok_and(|m| m.len() < 3_000_000)) {
        let trace = read(path);
        let (bytes, written) = stream(&trace, Vec::new(), &Options::default()).expect("a vector takes all");
        if bytes.len() > 12_000_000 {
            continue;
        }
        let seen = understand(&decode(bytes));
        // `decode_raw` may garble names, so only times are compared.
        let times = |slices: &[common::Slice]| {
            let mut times: Vec<(i64, i64)> = slices.iter().map(|(_, start, end)| (*start, *end)).collect();
            times.sort();
            times
        };
        let mut expected = times(&slices(&trace));
        let waits = trace.syncs.kind.iter().enumerate().filter(|(_, kind)| {
            let kind = trace.strings.get(**kind);
            !["hip", "cu"].iter().any(|api| kind.starts_with(api))
        });
        expected.extend(waits.map(|(i, _)| (trace.syncs.start[i], trace.syncs.end[i])));
        expected.sort();
        assert_eq!(written.slices, expected.len() as u64, "{}", path.display());
        assert!(times(&seen.slices) == expected, "{}", path.display());
        println!("{}: {} slices", path.display(), written.slices);
    }
}
