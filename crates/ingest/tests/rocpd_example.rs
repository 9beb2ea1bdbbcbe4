//! A run with a bit of everything, databases made of it, and its rows written out.

use std::path::{Path, PathBuf};

use convert::rocpd::four::{self, FourVersion};
use convert::rocpd::{Options, write};
use rocm_perf_ingest::{Error, Format, Input, Progress, rocpd};
use rusqlite::Connection;
use trace::{
    Agent, AgentKind, Arg, CopyKind, Counter, CounterKind, Graph, GraphNode, Kernel, KernelSymbol,
    LaunchShape, MemoryAllocation, MemoryCopy, Needs, OptI64, Process, Queue, Region, RowRef, Sample, Source,
    StrId, Stream, Sync, Thread, Trace,
};

pub const GUIDS: [&str; 2] = ["0000ddb5-8903-7903-b269-cd8d3745bb8a", "0000ddb6-8903-7903-b269-cd8d3745bb8a"];

pub fn input(path: &Path) -> Input {
    let bytes = std::fs::metadata(path).map_or(0, |m| m.len());
    Input { format: Format::Rocpd, path: path.into(), files: vec![path.into()], bytes }
}

pub fn read_unfinished(path: &Path, needs: &Needs) -> Result<Trace, Error> {
    rocpd::read(&input(path), needs, &Progress::default())
}

pub fn read(path: &Path) -> Trace {
    let mut trace = read_unfinished(path, &Needs::everything()).unwrap();
    trace.finish();
    trace
}

/// A run with a bit of everything: `processes` recordings of equal pids on different nodes, `calls` calls each.
pub fn example(processes: usize, calls: i64) -> Trace {
    let mut t = Trace::default();
    for (p, guid) in GUIDS.iter().enumerate().take(processes) {
        let source = t.add_source(Source::named("run.db", "rocpd"));
        let [guid, hostname, machine, command] =
            [*guid, ["node1", "node2"][p], ["m1", "m2"][p], "python serve.py --tp 8"]
                .map(|s| t.strings.intern(s));
        let process = t.add_process(Process {
            guid,
            hostname,
            machine,
            command,
            node: OptI64::some(1000 + p as i64),
            ppid: OptI64::some(1),
            start: Some(500),
            end: Some(1 << 40),
            rank: Some(p as u32 + 4),
            ..Process::new(source, 14)
        });
        let thread_name = t.strings.intern("worker");
        let threads: Vec<_> =
            (0..3).map(|i| t.add_thread(Thread { process, tid: 15 + i, name: thread_name })).collect();
        let [cpu, gfx, product, extra] =
            ["EPYC", "gfx942", "AMD Instinct MI300X", r#"{"simd_count":1216}"#].map(|s| t.strings.intern(s));
        let agent = |kind, index, name, units| Agent {
            process,
            kind,
            absolute_index: OptI64::some(index),
            logical_index: OptI64::some(index),
            type_index: OptI64::some(0),
            name,
            product,
            compute_units: units,
            memory_bytes: OptI64::some(206_000_000_000),
            extra,
        };
        let host = t.add_agent(agent(AgentKind::Cpu, 0, cpu, OptI64::NONE));
        let gpu = t.add_agent(agent(AgentKind::Gpu, 4, gfx, OptI64::some(304)));
        let queue_name = t.strings.intern("Queue 0");
        let queue = t.add_queue(Queue { process, id: 140_000_000_000_000, name: queue_name });
        let streams: Vec<_> =
            (1..3).map(|id| t.add_stream(Stream { process, id, name: queue_name })).collect();
        let word = |t: &mut Trace, s: &str| t.strings.intern(s);
        let [hip, marks, launch, shown, mangled, h2d, alloc, free, real, scratch] = [
            "HIP_RUNTIME_API_EXT",
            "MARKER_CORE_RANGE_API",
            "hipLaunchKernel",
            "void gemm<float>(int)",
            "_Z4gemmIfEvi.kd",
            "MEMORY_COPY_HOST_TO_DEVICE",
            "ALLOC",
            "FREE",
            "REAL",
            "SCRATCH",
        ]
        .map(|s| word(&mut t, s));
        let symbol = t.add_symbol(KernelSymbol {
            process,
            id: 77,
            code_object: OptI64::some(1),
            kernel_name: mangled,
            display_name: shown,
            group_segment_bytes: OptI64::some(64),
            private_segment_bytes: OptI64::some(0),
            kernarg_bytes: OptI64::some(280),
            sgpr: OptI64::some(96),
            vgpr: OptI64::some(128),
            agpr: OptI64::some(4),
        });
        let counter_name = word(&mut t, "SQ_WAVES");
        let counter =
            t.add_counter_kind(CounterKind { name: counter_name, process, agent: gpu, ..Default::default() });
        for i in 0..calls {
            let (start, thread, correlation) = (1_000_000_007 * i + 1, threads[i as usize % 3], i + 1);
            let row = t.regions.len();
            let common = Region { process, thread, ..Default::default() };
            t.regions.push(Region {
                name: launch,
                category: hip,
                start,
                end: start + 40,
                correlation,
                parent: i % 5,
                external: if i % 4 == 0 { OptI64::some(i + 9) } else { OptI64::NONE },
                ..common
            });
            let text = word(&mut t, &format!("step \"{i}\" é"));
            let marked = calls + 1 + i;
            t.regions.push(Region {
                name: text,
                category: marks,
                start,
                end: start - 3,
                correlation: marked,
                ..common
            });
            for (position, name) in ["stream", "numBlocks"].into_iter().enumerate() {
                let (name, value) = (word(&mut t, name), word(&mut t, &format!("0x{i:x}")));
                t.args.push(Arg {
                    owner: RowRef::region(row),
                    position: position as u32,
                    ty: hip,
                    name,
                    value,
                });
            }
            let shape = t.shapes.intern(LaunchShape {
                grid: Some([64 * (1 + i as u32 % 3), 2, 1]),
                workgroup: Some([64, 1, 1]),
                lds_bytes: OptI64::some(2048),
                scratch_bytes: OptI64::some(16),
                vgpr: OptI64::some(128),
                agpr: OptI64::some(4),
                sgpr: OptI64::some(96),
            });
            let kernel = t.kernels.len();
            if i % 2 == 0 {
                let row = RowRef::kernel(t.kernels.len());
                t.graph_nodes.push(GraphNode { row, exec: 7 + i % 4, node: i });
            }
            t.kernels.push(Kernel {
                name: shown,
                start: start + 50,
                end: start + 50 + i,
                process,
                thread,
                agent: gpu,
                queue,
                stream: streams[i as usize % 2],
                correlation,
                external: OptI64::NONE,
                dispatch: OptI64::some(i + 1),
                shape,
                symbol,
                region: if i % 3 == 0 { text } else { StrId::EMPTY },
                graph: if i % 2 == 0 { Graph::Replayed } else { Graph::Direct },
            });
            for instance in 0..2 {
                t.counters.push(Counter {
                    kernel: RowRef::kernel(kernel),
                    counter,
                    value: i as f64 + 0.5,
                    pass: OptI64::some(i % 2),
                    xcc: OptI64::some(instance),
                    shader_engine: OptI64::NONE,
                    instance: OptI64::some(3),
                });
            }
            t.memory_copies.push(MemoryCopy {
                name: h2d,
                kind: CopyKind::Copy,
                start,
                end: start + 9,
                bytes: OptI64::some(4096 * i),
                process,
                thread,
                src: host,
                dst: gpu,
                src_address: OptI64::some(0x7fff_0000_0000 + i),
                dst_address: OptI64::some(-i - 1),
                queue,
                stream: streams[0],
                correlation,
                external: OptI64::NONE,
                graph: Graph::Direct,
            });
            t.memory_allocations.push(MemoryAllocation {
                kind: if i % 2 == 0 { alloc } else { free },
                level: if i % 3 == 0 { scratch } else { real },
                start,
                end: start + 2,
                address: OptI64::some(1 << 40),
                bytes: if i % 2 == 0 { OptI64::some(i) } else { OptI64::NONE },
                process,
                thread,
                agent: gpu,
                queue,
                stream: streams[1],
                correlation,
                flags: if i % 3 == 0 { OptI64::some(2) } else { OptI64::NONE },
            });
            let [smi, power, watts, mark] =
                ["amd_smi", "GPU Power", "W", "MARKER_CORE_API"].map(|s| word(&mut t, s));
            let sample = Sample { start, end: start, process, correlation, ..Default::default() };
            t.samples.push(Sample {
                kind: smi,
                name: power,
                value: 300.25 + i as f64,
                unit: watts,
                agent: gpu,
                dispatch: OptI64::some(i),
                ..sample
            });
            t.samples.push(Sample {
                kind: mark,
                name: mark,
                value: f64::NAN,
                location: text,
                thread,
                ..sample
            });
            t.syncs.push(Sync {
                kind: launch,
                start,
                end: start + 1,
                process,
                thread,
                stream: streams[0],
                event: OptI64::some(99),
                waits_for: streams[1],
                correlation,
                awaited: OptI64::some(i),
                agent: gpu,
                queue,
                waits_for_queue: if i % 2 == 0 { queue } else { Default::default() },
            });
        }
    }
    t.finish();
    t
}

/// Every row of every table, written out and sorted: the contents of a trace, whatever its ids.
pub fn said(t: &Trace) -> Vec<String> {
    let text = |id: StrId| t.strings.get(id).to_string();
    let process = |id: trace::ProcessId| {
        id.get().map(|p| {
            let p = &t.processes[p];
            format!(
                "{} {} {:?} {:?} {} {} {:?} {:?} {} {:?}",
                text(p.guid),
                p.pid,
                p.ppid,
                p.node,
                text(p.machine),
                text(p.hostname),
                p.start,
                p.end,
                text(p.command),
                p.rank
            )
        })
    };
    let thread = |id: trace::ThreadId| id.get().map(|i| (t.threads[i].tid, text(t.threads[i].name)));
    let agent = |id: trace::AgentId| {
        id.get().map(|i| {
            let a = &t.agents[i];
            (
                a.kind,
                a.absolute_index,
                a.logical_index,
                text(a.name),
                text(a.product),
                a.compute_units,
                a.memory_bytes,
            )
        })
    };
    let queue = |id: trace::QueueId| id.get().map(|i| (t.queues[i].id, text(t.queues[i].name)));
    let stream = |id: trace::StreamId| id.get().map(|i| (t.streams[i].id, text(t.streams[i].name)));
    let mut lines = Vec::new();
    let args = |owner| -> Vec<_> {
        t.args.of(owner).map(|a| (a.position, text(a.ty), text(a.name), text(a.value))).collect()
    };
    for (i, r) in t.regions.rows().enumerate() {
        lines.push(format!(
            "region {} {} {} {} {:?} {:?} {} {} {:?} {:?}",
            text(r.name),
            text(r.category),
            r.start,
            r.end,
            process(r.process),
            thread(r.thread),
            r.correlation,
            r.parent,
            r.external,
            args(RowRef::region(i))
        ));
    }
    for (i, k) in t.kernels.rows().enumerate() {
        let symbol = k.symbol.get().map(|s| {
            let s = &t.symbols[s];
            (text(s.kernel_name), s.kernarg_bytes, s.group_segment_bytes, s.sgpr)
        });
        let launch =
            t.links.launch_of(RowRef::kernel(i)).map(|r| (t.regions.start[r], text(t.regions.name[r])));
        lines.push(format!(
            "kernel {} {} {} {:?} {:?} {:?} {:?} {:?} {} {:?} {:?} {:?} {} {:?} {symbol:?} {launch:?}",
            text(k.name),
            k.start,
            k.end,
            process(k.process),
            thread(k.thread),
            agent(k.agent),
            queue(k.queue),
            stream(k.stream),
            k.correlation,
            k.external,
            k.dispatch,
            t.shapes.get(k.shape),
            text(k.region),
            k.graph
        ));
    }
    for c in t.counters.rows() {
        let kernel = c.kernel.get().map(|(_, row)| (t.kernels.start[row], t.kernels.dispatch[row]));
        let kind = &t.counter_kinds[c.counter.get().unwrap()];
        lines.push(format!(
            "counter {kernel:?} {} {:?} {} {:?} {:?} {:?} {:?}",
            text(kind.name),
            agent(kind.agent),
            c.value,
            c.pass,
            c.xcc,
            c.shader_engine,
            c.instance
        ));
    }
    for c in t.memory_copies.rows() {
        lines.push(format!(
            "copy {} {:?} {} {} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {} {:?} {:?}",
            text(c.name),
            c.kind,
            c.start,
            c.end,
            c.bytes,
            process(c.process),
            thread(c.thread),
            agent(c.src),
            agent(c.dst),
            c.src_address,
            c.dst_address,
            queue(c.queue),
            stream(c.stream),
            c.correlation,
            c.external,
            c.graph
        ));
    }
    for a in t.memory_allocations.rows() {
        lines.push(format!(
            "allocation {} {} {} {} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {} {:?}",
            text(a.kind),
            text(a.level),
            a.start,
            a.end,
            a.address,
            a.bytes,
            process(a.process),
            thread(a.thread),
            agent(a.agent),
            queue(a.queue),
            stream(a.stream),
            a.correlation,
            a.flags
        ));
    }
    for s in t.samples.rows() {
        lines.push(format!(
            "sample {} {} {} {:?} {} {} {:?} {:?} {:?} {} {:?}",
            s.start,
            text(s.kind),
            text(s.name),
            s.value,
            text(s.unit),
            text(s.location),
            process(s.process),
            thread(s.thread),
            agent(s.agent),
            s.correlation,
            s.dispatch
        ));
    }
    for s in t.syncs.rows() {
        lines.push(format!(
            "sync {} {} {} {:?} {:?} {:?} {:?} {:?} {} {:?} {} {:?} {:?}",
            text(s.kind),
            s.start,
            s.end,
            process(s.process),
            thread(s.thread),
            stream(s.stream),
            s.event,
            stream(s.waits_for),
            s.correlation,
            s.awaited,
            s.agent.get().map_or("", |a| t.strings.get(t.agents[a].name)),
            s.queue.get().map(|q| t.queues[q].id),
            s.waits_for_queue.get().map(|q| t.queues[q].id)
        ));
    }
    for node in t.graph_nodes.rows() {
        let (table, row) = node.row.get().unwrap();
        assert_eq!(table, trace::Table::Kernels);
        lines.push(format!(
            "node of {} at {}: {} {}",
            text(t.kernels.name[row]),
            t.kernels.start[row],
            node.exec,
            node.node
        ));
    }
    lines.sort();
    lines
}

pub struct Made {
    _folder: tempfile::TempDir,
    pub path: PathBuf,
}

pub fn made(trace: &Trace, options: &Options) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it's a run.db");
    write(trace, &path, options).unwrap();
    Made { _folder: folder, path }
}

pub fn assert_equal(left: &[String], right: &[String]) {
    if let Some((a, b)) = left.iter().zip(right).find(|(a, b)| a != b) {
        panic!("first difference:\n{a}\n{b}");
    }
    assert_eq!(left.len(), right.len());
}

pub fn problems(trace: &Trace) -> Vec<&'static str> {
    trace
        .health
        .problems()
        .map(|c| c.id)
        .filter(|id| !["clock", "overlaps", "causality"].contains(id))
        .collect()
}

pub fn table_names(db: &Connection) -> Vec<String> {
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_%'";
    let mut names = db.prepare(sql).unwrap();
    names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

pub fn suffix_of(db: &Connection) -> String {
    let sql = "SELECT substr(name, 13) FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_region%'";
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

pub fn made_four(trace: &Trace, version: FourVersion) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it's a run.db");
    four::write(trace, &path, version, &Options::default()).unwrap();
    Made { _folder: folder, path }
}
