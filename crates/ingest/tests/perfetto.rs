//! Perfetto traces as the tools' own library writes them: names by number, clocks that add up, several
//! writers, compressed packets, losses. The bytes are built here, with the numbers of Perfetto's own
//! definitions.

use std::io::Write;
use std::path::PathBuf;

use proptest::prelude::*;
use rocm_perf_ingest::{Progress, read};
use trace::{CopyKind, Needs, RowRef, Trace};

/// A message under construction.
#[derive(Clone, Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    fn message(self, field: u64, inner: Message) -> Self {
        self.bytes(field, &inner.0)
    }

    fn double(mut self, field: u64, value: f64) -> Self {
        self.varint(field << 3 | 1);
        self.0.extend(value.to_bits().to_le_bytes());
        self
    }
}

fn new() -> Message {
    Message::default()
}

fn packet(sequence: u64) -> Message {
    new().number(10, sequence)
}

fn named(number: u64, text: &str) -> Message {
    new().number(1, number).text(2, text)
}

fn note(name: &str, value: u64) -> Message {
    new().text(10, name).number(4, value)
}

fn text_note(name: &str, value: &str) -> Message {
    new().text(10, name).text(6, value)
}

fn file(packets: &[Message]) -> Vec<u8> {
    packets.iter().fold(new(), |all, packet| all.message(1, packet.clone())).0
}

fn read_bytes(bytes: &[u8]) -> Result<Trace, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path: PathBuf = folder.path().join("run.pftrace");
    std::fs::write(&path, bytes).expect("a file");
    read(&[path], &Needs::everything(), &Progress::default()).map_err(|error| error.to_string())
}

/// A process with a thread and a stream; the names and clock of writer 1.
fn opening() -> Vec<Message> {
    let process = new().number(1, 42).text(2, "./app").text(2, "-n").text(6, "app");
    let thread = new().number(1, 42).number(2, 43).text(5, "main");
    let clocks = new()
        .message(1, new().number(1, 6).number(2, 1_000_000))
        .message(1, new().number(1, 64).number(2, 1_000_000).number(3, 1).number(4, 1));
    let names = new()
        .message(1, named(1, "hip_api"))
        .message(1, named(2, "kernel_dispatch"))
        .message(2, named(1, "hipLaunchKernel"))
        .message(2, named(2, "gemm"))
        .message(3, named(1, "corr_id"));
    vec![
        packet(1).number(13, 1).number(87, 1).message(59, new().number(58, 64)).message(6, clocks),
        packet(1).message(12, names),
        packet(1).message(60, new().number(1, 100).message(3, process)),
        packet(1).message(60, new().number(1, 101).number(5, 100).message(4, thread)),
        packet(1).message(60, new().number(1, 102).number(5, 100).text(2, "STREAM [3]")),
    ]
}

fn begin(time: u64, track: u64, name: u64, category: u64, notes: &[Message]) -> Message {
    let event = new().number(9, 1).number(11, track).number(10, name).number(3, category);
    let event = notes.iter().fold(event, |event, note| event.message(4, note.clone()));
    packet(1).number(8, time).number(13, 2).message(11, event)
}

fn end(time: u64, track: u64) -> Message {
    packet(1).number(8, time).message(11, new().number(9, 2).number(11, track))
}

#[test]
fn calls_and_kernels_are_put_together_and_linked() {
    let correlation = |id| new().number(1, 1).number(4, id);
    let mut packets = opening();
    // A call from 1,000,010 to 1,000,030, stored as increments.
    packets.push(begin(10, 101, 1, 1, &[correlation(7)]));
    packets.push(end(20, 101));
    // Two kernels that overlap on one track: each keeps its own times, on the machine's clock.
    let kernel = [
        correlation(7),
        text_note("agent", "Agent-4"),
        note("queue", 5),
        note("LDS_Block_Size", 1024),
        text_note("workgroup_size", "64 (x=64, y=1, z=1)"),
        text_note("grid_size", "4096 (x=1024, y=4, z=1)"),
    ];
    for (start, stop) in [(1_000_100, 1_000_300), (1_000_200, 1_000_400)] {
        packets.push(begin(start, 102, 2, 2, &kernel).number(58, 6));
        packets.push(end(stop, 102).number(58, 6));
    }
    let trace = read_bytes(&file(&packets)).expect("a trace");
    let kernels = &trace.kernels;
    assert_eq!(
        (kernels.start.as_slice(), kernels.end.as_slice()),
        (&[1_000_100, 1_000_200][..], &[1_000_300, 1_000_400][..])
    );
    assert_eq!(trace.strings.get(kernels.name[0]), "gemm");
    let shape = trace.shapes.get(kernels.shape[0]);
    assert_eq!(
        (shape.grid, shape.workgroup, shape.lds_bytes.get()),
        (Some([1024, 4, 1]), Some([64, 1, 1]), Some(1024))
    );
    assert_eq!(trace.agents[kernels.agent[0].get().expect("a device")].absolute_index.get(), Some(4));
    assert_eq!(trace.streams[kernels.stream[0].get().expect("a stream")].id, 3);
    assert_eq!(trace.queues[kernels.queue[0].get().expect("a queue")].id, 5);
    let regions = &trace.regions;
    assert_eq!((regions.start[0], regions.end[0]), (1_000_010, 1_000_030));
    assert_eq!(trace.strings.get(regions.category[0]), "HIP_RUNTIME_API");
    assert_eq!(trace.threads[regions.thread[0].get().expect("a thread")].tid, 43);
    let process = &trace.processes[regions.process[0].get().expect("a process")];
    assert_eq!((process.pid, trace.strings.get(process.command)), (42, "./app -n"));
    assert_eq!(trace.links.launch_of(RowRef::kernel(1)), Some(0), "joined by the correlation id");
    assert!(trace.health.checks.iter().all(|check| !["damaged_rows", "unfinished"].contains(&check.id)));
}

#[test]
fn writers_names_and_packed_packets_are_kept_apart() {
    let mut packets = opening();
    // A second writer with other names for the same numbers, on the default clock, compressed.
    let names = new().message(1, named(1, "memory_copy")).message(2, named(1, "MEMORY_COPY_HOST_TO_DEVICE"));
    let event = new().number(9, 1).number(11, 102).number(10, 1).number(3, 1);
    let event = event.message(4, note("copy_bytes", 4096)).message(4, note("dst_agent", 4));
    let inner = file(&[
        packet(2).number(13, 1).message(12, names),
        packet(2).number(8, 500).message(11, event),
        packet(2).number(8, 900).message(11, new().number(9, 2).number(11, 102)),
    ]);
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    zlib.write_all(&inner).expect("memory");
    packets.push(new().bytes(50, &zlib.finish().expect("memory")));
    // Meanwhile the first writer's slice is open on the same track.
    packets.insert(5, begin(1, 102, 2, 2, &[]));
    packets.push(end(2, 102));
    // A series of numbers.
    let counter = new().text(6, "W");
    packets.push(
        packet(1)
            .message(60, new().number(1, 103).number(5, 100).text(2, "GPU [0] Power").message(8, counter)),
    );
    packets.push(packet(1).number(8, 5).message(11, new().number(9, 4).number(11, 103).double(44, 250.5)));
    let trace = read_bytes(&file(&packets)).expect("a trace");
    let copies = &trace.memory_copies;
    assert_eq!((copies.start[0], copies.end[0], copies.bytes[0].get()), (500, 900, Some(4096)));
    assert_eq!((copies.kind[0], copies.src[0].get().is_none()), (CopyKind::Copy, true));
    assert_eq!((trace.kernels.start[0], trace.kernels.end[0]), (1_000_001, 1_000_003));
    let samples = &trace.samples;
    assert_eq!(
        (samples.start[0], samples.value[0], trace.strings.get(samples.unit[0])),
        (1_000_008, 250.5, "W")
    );
    assert!(samples.agent[0].get().is_some());
}

#[test]
fn counters_of_a_whole_process_are_no_counters_of_its_dispatches() {
    let mut packets = opening();
    let times = [note("begin_ns", 1_000_100), note("end_ns", 1_000_300), note("delta_ns", 200)];
    let notes: Vec<Message> = times.into_iter().chain([note("SQ_WAVES", 1 << 40)]).collect();
    packets.push(begin(1_000_100, 102, 2, 2, &notes).number(58, 6));
    packets.push(end(1_000_300, 102).number(58, 6));
    let trace = read_bytes(&file(&packets)).expect("a trace");
    assert_eq!((trace.kernels.len(), trace.counters.len(), trace.args.len()), (1, 0, 0));
    let told = trace.health.checks.iter().find(|check| check.message.contains("process-wide"));
    assert_eq!(told.and_then(|check| check.value), Some(1.0));
}

#[test]
fn arguments_of_calls_stay_arguments_whatever_they_are_called() {
    let mut packets = opening();
    let arguments = [note("stream", 3), text_note("kind", "hipMemcpyHostToDevice"), note("size", 64)];
    packets.push(begin(1_000_100, 101, 1, 1, &arguments).number(58, 6));
    packets.push(end(1_000_300, 101).number(58, 6));
    let trace = read_bytes(&file(&packets)).expect("a trace");
    let names: Vec<&str> = trace.args.name.iter().map(|name| trace.strings.get(*name)).collect();
    assert_eq!(names, ["stream", "kind", "size"]);
}

#[test]
fn what_was_lost_is_told() {
    let mut packets = opening();
    packets.push(end(1, 101));
    packets.push(begin(1, 101, 1, 1, &[]));
    packets.push(packet(1).number(42, 1));
    packets.push(packet(1).message(35, new().message(1, new().number(18, 3))));
    let mut bytes = file(&packets);
    bytes.extend(b"\x0a\x7f\x08");
    let trace = read_bytes(&bytes).expect("a trace");
    let found = |id: &str| {
        trace.health.checks.iter().filter(|check| check.id == id).filter_map(|c| c.value).sum::<f64>()
    };
    assert_eq!((found("unfinished"), found("lost_events"), found("damaged_rows")), (2.0, 4.0, 1.0));
}

#[test]
fn files_without_events_are_an_error() {
    let error = read_bytes(&file(&opening())).expect_err("nothing in it");
    assert!(error.contains("has no track events"), "{error}");
}

#[test]
fn a_picture_beside_a_database_is_not_counted_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut packets = opening();
    packets.push(begin(10, 102, 2, 2, &[]));
    packets.push(end(20, 102));
    std::fs::write(folder.path().join("x.pftrace"), file(&packets)).expect("a file");
    std::fs::write(folder.path().join("other.json"), br#"{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2,"args":{"device":0,"stream":7}}]}"#).expect("a file");
    let trace = read(&[folder.path().into()], &Needs::summary(), &Progress::default()).expect("a trace");
    assert_eq!((trace.sources.len(), trace.kernels.len()), (1, 1));
    assert!(trace.health.checks.iter().any(|check| check.id == "duplicate_input"));
    let named = [folder.path().join("x.pftrace"), folder.path().join("other.json")];
    let trace = read(&named, &Needs::summary(), &Progress::default()).expect("a trace");
    assert_eq!(trace.kernels.len(), 2, "files that the user names are read");
}

#[test]
fn a_run_in_another_format_under_another_name_is_read_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut packets = opening();
    packets.push(begin(1_000, 102, 2, 2, &[]).number(58, 6));
    packets.push(end(3_000, 102).number(58, 6));
    let (picture, json) = (folder.path().join("x.pftrace"), folder.path().join("other.json"));
    std::fs::write(&picture, file(&packets)).expect("a file");
    std::fs::write(&json, br#"{"baseTimeNanoseconds":0,"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2,"args":{"device":0,"stream":7}}]}"#).expect("a file");
    let trace = read(&[json, picture], &Needs::summary(), &Progress::default()).expect("a trace");
    assert_eq!((trace.sources.len(), trace.kernels.len()), (1, 1));
    assert!(trace.health.checks.iter().any(|check| check.id == "duplicate_input"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// No changed bytes make the reader panic, and it never reads more than what was written.
    #[test]
    fn damaged_bytes_never_panic(places in prop::collection::vec((0usize..4096, any::<u8>()), 1..12), cut in 0usize..4096) {
        let mut packets = opening();
        for i in 0..20 {
            packets.push(begin(10, 101, 1, 1, &[note("corr_id", i)]));
            packets.push(begin(5, 102, 2, 2, &[text_note("grid_size", "64 (x=64, y=1, z=1)"), note("queue", i)]));
            packets.push(end(7, 102));
            packets.push(end(1, 101));
        }
        let mut bytes = file(&packets);
        for (place, byte) in places {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        bytes.truncate(bytes.len() - cut % bytes.len());
        if let Ok(trace) = read_bytes(&bytes) {
            prop_assert!(trace.kernels.len() <= 40 && trace.regions.len() <= 60);
        }
    }
}

#[test]
fn times_near_the_ends_of_64_bits_ended_the_program() {
    let mut packets = opening();
    packets.push(begin(10, 102, 2, 2, &[]));
    packets.push(end(20, 102));
    packets.push(begin(30, 102, 2, 2, &[]));
    // Two kernels that take centuries, and one without a valid start.
    packets.push(end(1 << 61, 102));
    packets.push(begin(1, 102, 2, 2, &[]));
    packets.push(end(1 << 61, 102));
    packets.push(begin(u64::MAX >> 1, 102, 2, 2, &[]));
    let trace = read_bytes(&file(&packets)).unwrap();
    assert_eq!(trace.kernels.rows().map(|k| k.end - k.start).collect::<Vec<_>>(), [20]);
    let timeless = trace.health.checks.iter().find(|check| check.message.contains("usable time")).unwrap();
    assert_eq!(timeless.value, Some(3.0));
}
