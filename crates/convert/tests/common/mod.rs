//! Shared by the tests of writers: a trace with a bit of everything, and real traces if they are here.

#![allow(dead_code)]

use std::path::{Path, PathBuf};

use trace::{
    Agent, AgentKind, Arg, Counter, CounterKind, Kernel, LaunchShape, MemoryAllocation, MemoryCopy, Needs,
    OptI64, Process, Queue, Region, RowRef, Sample, Source, Stream, Thread, Trace,
};

/// A large time, as from clocks that count from boot: microseconds in floats could not represent it.
pub const EPOCH: i64 = 63_855_948_165_371;

/// Two recordings with one pid: nested calls, overlapping kernels on a stream, copies, allocations, a
/// monitor, counters with two instances, arguments and a marker with quotes in its name.
pub fn example() -> Trace {
    let mut t = Trace::default();
    for (rank, guid) in ["0000ddb5-8903-7903-b269-cd8d3745bb8a", "0000ddb5-8903-7903-b269-cd8d3745bb8b"]
        .into_iter()
        .enumerate()
    {
        let source = t.add_source(Source { rank: Some(rank as u32), ..Source::named("a.db", "rocpd") });
        let [guid, hostname, command, gfx, product, cpu] =
            [guid, "node one", "/usr/bin/python3 train.py", "gfx942", "AMD Instinct MI300X", "EPYC"]
                .map(|text| t.strings.intern(text));
        let node = OptI64::some(90 + rank as i64);
        let process = t.add_process(Process { guid, hostname, command, node, ..Process::new(source, 14) });
        let main = t.add_thread(Thread { process, tid: 14, ..Default::default() });
        let other = t.add_thread(Thread { process, tid: 15, ..Default::default() });
        let host = t.add_agent(Agent {
            process,
            kind: AgentKind::Cpu,
            absolute_index: OptI64::some(0),
            name: cpu,
            ..Default::default()
        });
        let gpu = t.add_agent(Agent {
            process,
            kind: AgentKind::Gpu,
            absolute_index: OptI64::some(4),
            type_index: OptI64::some(0),
            name: gfx,
            product,
            ..Default::default()
        });
        let queue = t.add_queue(Queue { process, id: 7, ..Default::default() });
        let stream = t.add_stream(Stream { process, id: 3, ..Default::default() });
        let [call, marker, hip, marks, gemm, copy, alloc, free, real] = [
            "hipLaunchKernel",
            "a \"step\", with a comma",
            "HIP_RUNTIME_API_EXT",
            "MARKER_CORE_RANGE_API",
            "void gemm<float, 128>(float const*)",
            "MEMORY_COPY_HOST_TO_DEVICE",
            "ALLOC",
            "FREE",
            "REAL",
        ]
        .map(|text| t.strings.intern(text));
        let [key, value, smi, power, watts, waves] =
            ["stream argument", "0x7f00 \"quoted\"", "amd_smi", "socket power", "W", "SQ_WAVES total"]
                .map(|text| t.strings.intern(text));
        let counter =
            t.add_counter_kind(CounterKind { name: waves, process, agent: gpu, ..Default::default() });
        let shape = t.shapes.intern(LaunchShape {
            grid: Some([640, 2, 1]),
            workgroup: Some([64, 1, 1]),
            lds_bytes: OptI64::some(4096),
            vgpr: OptI64::some(32),
            ..Default::default()
        });
        let base = EPOCH + 1_000_003 * rank as i64;
        t.regions.push(Region {
            name: marker,
            category: marks,
            start: base,
            end: base + 100_000,
            process,
            thread: main,
            correlation: 1000,
            ..Default::default()
        });
        for i in 0..40i64 {
            let start = base + 1000 * i;
            let correlation = i + 1;
            // Every third call has a child that ends with it, every fifth crosses on the other thread.
            let thread = if i % 5 == 0 { other } else { main };
            let end = if i % 5 == 0 { start + 5500 } else { start + 400 };
            let row = t.regions.len();
            let region = Region { category: hip, process, thread, correlation, ..Default::default() };
            t.regions.push(Region { name: call, start, end, ..region });
            t.args.push(Arg { owner: RowRef::region(row), name: key, value, ..Default::default() });
            if i % 3 == 0 {
                t.regions.push(Region {
                    name: call,
                    start: start + 100,
                    end,
                    correlation: 500 + i,
                    ..region
                });
            }
            // Every fourth kernel is still running when the next one starts.
            let long = if i % 4 == 0 { 1600 } else { 700 };
            let kernel = t.kernels.len();
            t.kernels.push(Kernel {
                name: gemm,
                start: start + 500,
                end: start + 500 + long,
                process,
                thread,
                agent: gpu,
                queue,
                stream,
                correlation,
                dispatch: OptI64::some(i + 1),
                shape,
                ..Default::default()
            });
            for instance in 0..2 {
                t.counters.push(Counter {
                    kernel: RowRef::kernel(kernel),
                    counter,
                    value: (100 * i + instance) as f64,
                    instance: OptI64::some(instance),
                    ..Default::default()
                });
            }
            t.samples.push(Sample {
                start,
                end: start,
                kind: smi,
                name: power,
                value: 500.0 + i as f64,
                unit: watts,
                process,
                agent: gpu,
                ..Default::default()
            });
            if i % 10 == 0 {
                t.memory_copies.push(MemoryCopy {
                    name: copy,
                    start: start + 550,
                    end: start + 650,
                    bytes: OptI64::some(1 << 20),
                    process,
                    thread,
                    src: host,
                    dst: gpu,
                    queue,
                    stream,
                    correlation: 0,
                    ..Default::default()
                });
                let address = OptI64::some(0x7000 + i);
                let row = MemoryAllocation { level: real, address, process, thread, ..Default::default() };
                let (kind, bytes, agent) = (alloc, OptI64::some(1 << 16), gpu);
                let (start, end) = (start + 10, start + 20);
                t.memory_allocations.push(MemoryAllocation { kind, bytes, agent, start, end, ..row });
                let (start, end) = (start + 100, start + 120);
                t.memory_allocations.push(MemoryAllocation { kind: free, start, end, ..row });
            }
        }
    }
    t.finish();
    t
}

/// The trace files in the shared data; prints a message if they are not here.
pub fn shared_traces() -> Vec<PathBuf> {
    let Some(folder) = testing::data("traces") else { return Vec::new() };
    let entries = std::fs::read_dir(folder).expect("a folder of traces");
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.to_string_lossy().ends_with(".json.gz"));
    assert!(!found.is_empty(), "the folder of traces has none");
    found.sort();
    found
}

/// Reads a file or folder with everything in it.
pub fn read(path: &Path) -> Trace {
    let read = ingest::read(&[path.to_path_buf()], &Needs::everything(), &ingest::Progress::default());
    read.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Whether a program is here; prints a message if not.
pub fn has(program: &'static str) -> bool {
    testing::tool(&[program]).is_some()
}

/// A slice, as every timeline format must show it.
pub type Slice = (String, i64, i64);

/// Kernels, copies, allocations and regions of a trace as (name, start, end), sorted.
pub fn slices(t: &Trace) -> Vec<Slice> {
    let columns = [
        (&t.kernels.name, &t.kernels.start, &t.kernels.end),
        (&t.memory_copies.name, &t.memory_copies.start, &t.memory_copies.end),
        (&t.memory_allocations.kind, &t.memory_allocations.start, &t.memory_allocations.end),
        (&t.regions.name, &t.regions.start, &t.regions.end),
    ];
    let mut slices = Vec::new();
    for (names, starts, ends) in columns {
        for ((name, start), end) in names.iter().zip(starts).zip(ends) {
            slices.push((t.strings.get(*name).to_string(), *start, *end));
        }
    }
    slices.sort();
    slices
}
