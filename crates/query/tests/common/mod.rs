//! A small trace with a row of everything, as a trace and as a database.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use rocm_perf_query::{Session, Value};
use trace::{
    Agent, AgentKind, Arg, Counter, CounterKind, Kernel, KernelSymbol, LaunchShape, MemoryAllocation,
    MemoryCopy, OptI64, Process, Queue, Region, RowRef, Sample, Source, Stream, Sync, Table, Thread, Trace,
};

/// How many of each the trace of one recording has.
pub const KERNELS: usize = 12;
pub const REGIONS: usize = 16;

/// One recording: all have the same pid and tid, but different guids, nodes and times.
pub fn recording(guid: &str, node: i64, offset: i64) -> Trace {
    let mut t = Trace::default();
    let source = t.add_source(Source::named(guid, "test"));
    let name = |t: &mut Trace, text: &str| t.strings.intern(text);
    let process = Process {
        guid: name(&mut t, guid),
        node: OptI64::some(node),
        machine: name(&mut t, &format!("machine-{node}")),
        hostname: name(&mut t, &format!("host{node}")),
        command: name(&mut t, "serve --fast"),
        start: Some(offset),
        end: Some(offset + 100_000),
        ppid: OptI64::some(1),
        ..Process::new(source, 14)
    };
    let process = t.add_process(process);
    let thread = t.add_thread(Thread { process, tid: 14, ..Thread::default() });
    let cpu_name = name(&mut t, "EPYC");
    let agent = |kind, index, type_index, name| Agent {
        process,
        kind,
        absolute_index: OptI64::some(index),
        logical_index: OptI64::some(index),
        type_index: OptI64::some(type_index),
        name,
        ..Agent::default()
    };
    let cpu = t.add_agent(agent(AgentKind::Cpu, 0, 0, cpu_name));
    let gpu_name = name(&mut t, "gfx942");
    let gpu = t.add_agent(agent(AgentKind::Gpu, 1, 0, gpu_name));
    let queue_name = name(&mut t, "Queue 0");
    let queue = t.add_queue(Queue { process, id: 5, name: queue_name });
    let stream_name = name(&mut t, "Stream 3");
    let stream = t.add_stream(Stream { process, id: 3, name: stream_name });
    let shape = t.shapes.intern(LaunchShape {
        grid: Some([256, 2, 1]),
        workgroup: Some([64, 1, 1]),
        lds_bytes: OptI64::some(1024),
        scratch_bytes: OptI64::some(0),
        ..LaunchShape::default()
    });
    let symbols: Vec<_> = (0..3)
        .map(|i| {
            let kernel_name = name(&mut t, &format!("_Z{i}.kd"));
            let display_name = name(&mut t, &format!("kernel_{i}"));
            t.add_symbol(KernelSymbol {
                process,
                id: i + 1,
                code_object: OptI64::some(1),
                kernel_name,
                display_name,
                group_segment_bytes: OptI64::some(512),
                private_segment_bytes: OptI64::some(0),
                kernarg_bytes: OptI64::some(64),
                sgpr: OptI64::some(16),
                vgpr: OptI64::some(32 + i),
                agpr: OptI64::some(4),
            })
        })
        .collect();
    let (api, launch, marker, message) = (
        name(&mut t, "HIP_RUNTIME_API_EXT"),
        name(&mut t, "hipLaunchKernel"),
        name(&mut t, "MARKER_CORE_RANGE_API"),
        name(&mut t, "decode \"step\""),
    );
    for i in 0..REGIONS as i64 {
        let start = offset + 1_000 * i;
        let (category, name) = if i % 4 == 3 { (marker, message) } else { (api, launch) };
        t.regions.push(Region {
            name,
            category,
            start,
            end: start + 100 + i,
            process,
            thread,
            correlation: i + 1,
            parent: 0,
            external: OptI64::some(0),
        });
    }
    let kernel_names: Vec<_> = symbols.iter().map(|s| t.symbols[s.get().unwrap()].display_name).collect();
    for i in 0..KERNELS as i64 {
        let start = offset + 1_000 * i + 500;
        t.kernels.push(Kernel {
            name: kernel_names[i as usize % 3],
            start,
            end: start + 100 * (1 + i % 5),
            process,
            thread,
            agent: gpu,
            queue,
            stream,
            correlation: i + 1,
            external: OptI64::some(0),
            dispatch: OptI64::some(i + 1),
            shape,
            symbol: symbols[i as usize % 3],
            ..Kernel::default()
        });
    }
    let counter = name(&mut t, "SQ_WAVES");
    let counter =
        t.add_counter_kind(CounterKind { name: counter, process, agent: gpu, ..CounterKind::default() });
    for i in 0..KERNELS {
        for instance in 0..2 {
            let value = (10 * i + instance) as f64;
            t.counters.push(Counter { kernel: RowRef::kernel(i), counter, value, ..Counter::default() });
        }
    }
    let copy = name(&mut t, "MEMORY_COPY_HOST_TO_DEVICE");
    for i in 0..4 {
        t.memory_copies.push(MemoryCopy {
            name: copy,
            start: offset + 200 + 1_000 * i,
            end: offset + 290 + 1_000 * i,
            bytes: OptI64::some(4096),
            process,
            thread,
            src: cpu,
            dst: gpu,
            src_address: OptI64::some(16),
            dst_address: OptI64::some(32),
            queue,
            stream,
            correlation: 13,
            external: OptI64::some(0),
            ..MemoryCopy::default()
        });
    }
    let (alloc, free, real, scratch) =
        (name(&mut t, "ALLOC"), name(&mut t, "FREE"), name(&mut t, "REAL"), name(&mut t, "SCRATCH"));
    for (i, (kind, level)) in [(alloc, real), (free, real), (alloc, scratch)].into_iter().enumerate() {
        let start = offset + 10 + i as i64;
        t.memory_allocations.push(MemoryAllocation {
            kind,
            level,
            start,
            end: start + 5,
            address: OptI64::some(4096),
            bytes: OptI64::some(if kind == free { 0 } else { 64 }),
            process,
            thread,
            agent: if kind == free { trace::AgentId::NONE } else { gpu },
            queue,
            stream,
            correlation: 14,
            flags: OptI64::some(2),
        });
    }
    let (kind, track) = (name(&mut t, "MARKER_CORE_API"), name(&mut t, "roctxMark"));
    for i in 0..5 {
        let start = offset + 7 * i;
        t.samples.push(Sample {
            start,
            end: start,
            kind,
            name: track,
            value: f64::NAN,
            process,
            thread,
            ..Sample::default()
        });
    }
    let (watts, smi) = (name(&mut t, "power"), name(&mut t, "amd_smi"));
    let start = offset + 50;
    t.samples.push(Sample {
        start,
        end: start,
        kind: smi,
        name: watts,
        value: 310.5,
        process,
        agent: gpu,
        ..Sample::default()
    });
    let wait = name(&mut t, "hipEventRecord");
    t.syncs.push(Sync {
        kind: wait,
        start,
        end: start + 3,
        process,
        thread,
        stream,
        event: OptI64::some(9),
        ..Sync::default()
    });
    let (ty, key, value) = (name(&mut t, "dim3"), name(&mut t, "numBlocks"), name(&mut t, "{4,2,1}"));
    for row in [0, 5] {
        t.args.push(Arg { owner: RowRef::region(row), position: 0, ty, name: key, value });
    }
    t.args.push(Arg { owner: RowRef::new(Table::Kernels, 2), position: 1, ty, name: key, value });
    t
}

/// A trace of recordings, finished.
pub fn together(recordings: impl IntoIterator<Item = Trace>) -> Trace {
    let mut all = Trace::default();
    recordings.into_iter().for_each(|one| all.append(one));
    all.finish();
    all
}

/// Writes a trace as a database.
pub fn write(trace: &Trace, folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    convert::rocpd::write(trace, &path, &convert::rocpd::Options::default()).unwrap();
    path
}

/// The `n`th recording as a database.
pub fn database(folder: &Path, n: i64) -> PathBuf {
    write(&together([nth(n)]), folder, &format!("{n}_results.db"))
}

/// The `n`th recording: its own guid, one of two nodes.
pub fn nth(n: i64) -> Trace {
    recording(&format!("0000{n:04}-8903-7903-b269-cd8d3745bb8a"), 100 + n % 2, 1_000_000 * (n + 1))
}

/// All rows of a query.
pub fn rows(session: &Session, sql: &str) -> Vec<Vec<Value>> {
    let mut result = session.run(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    result.collect().unwrap_or_else(|e| panic!("{sql}: {e}"))
}

/// The one number of a query.
pub fn number(session: &Session, sql: &str) -> i64 {
    match rows(session, sql).as_slice() {
        [row] => match row[0] {
            Value::Integer(value) => value,
            ref other => panic!("{sql}: {other:?}"),
        },
        other => panic!("{sql}: {} rows", other.len()),
    }
}
