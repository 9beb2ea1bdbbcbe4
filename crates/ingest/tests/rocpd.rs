//! rocpd databases of every kind: everything written is read, and damage loses only the damaged part.

use std::path::{Path, PathBuf};

use convert::rocpd::four::{self, FourVersion};
use convert::rocpd::{Flavour, Options, SchemaVersion, write};
use rocm_perf_ingest::{Error, Format, Input, Progress, rocpd};
use rusqlite::Connection;
use trace::{
    Agent, AgentKind, Arg, ArgNeeds, CopyKind, Counter, CounterKind, Graph, GraphNode, Kernel, KernelSymbol,
    LaunchShape, MemoryAllocation, MemoryCopy, Needs, OptI64, Process, Queue, Region, RowRef, Sample, Source,
    StrId, Stream, Sync, Thread, Trace,
};

const GUIDS: [&str; 2] = ["0000ddb5-8903-7903-b269-cd8d3745bb8a", "0000ddb6-8903-7903-b269-cd8d3745bb8a"];

fn input(path: &Path) -> Input {
    let bytes = std::fs::metadata(path).map_or(0, |m| m.len());
    Input { format: Format::Rocpd, path: path.into(), files: vec![path.into()], bytes }
}

fn read_unfinished(path: &Path, needs: &Needs) -> Result<Trace, Error> {
    rocpd::read(&input(path), needs, &Progress::default())
}

fn read(path: &Path) -> Trace {
    let mut trace = read_unfinished(path, &Needs::everything()).unwrap();
    trace.finish();
    trace
}

/// A run with a bit of everything: `processes` recordings of equal pids on different nodes, `calls` calls each.
fn example(processes: usize, calls: i64) -> Trace {
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
fn said(t: &Trace) -> Vec<String> {
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

struct Made {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn made(trace: &Trace, options: &Options) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it's a run.db");
    write(trace, &path, options).unwrap();
    Made { _folder: folder, path }
}

fn assert_equal(left: &[String], right: &[String]) {
    if let Some((a, b)) = left.iter().zip(right).find(|(a, b)| a != b) {
        panic!("first difference:\n{a}\n{b}");
    }
    assert_eq!(left.len(), right.len());
}

fn problems(trace: &Trace) -> Vec<&'static str> {
    trace
        .health
        .problems()
        .map(|c| c.id)
        .filter(|id| !["clock", "overlaps", "causality"].contains(id))
        .collect()
}

#[test]
fn every_row_survives_a_round_trip() {
    for processes in [1, 2] {
        let trace = example(processes, 200);
        let made = made(&trace, &Options::default());
        let back = read(&made.path);
        assert_equal(&said(&back), &said(&trace));
        assert_eq!(problems(&back), [""; 0]);
        assert_eq!(rocpd::guids(&made.path).unwrap(), GUIDS[..processes]);
        assert_eq!(rocpd::probe(&made.path).unwrap(), rocpd::Probe::Rocpd);
        assert_eq!(back.sources.len(), 1);
    }
}

#[test]
fn every_revision_is_read() {
    let trace = example(1, 20);
    let only = |lines: Vec<String>, start: &str| -> Vec<String> {
        lines.into_iter().filter(|l| l.starts_with(start)).collect()
    };
    for version in SchemaVersion::ALL {
        let made = made(&trace, &Options { version: Some(version), ..Options::default() });
        let back = read(&made.path);
        for table in ["region", "allocation", "sample"] {
            assert_equal(&only(said(&back), table), &only(said(&trace), table));
        }
        let graph = if version < SchemaVersion::V3_0_2 { Graph::Unknown } else { Graph::Replayed };
        assert_eq!(back.kernels.graph[0], graph);
        assert_eq!(back.syncs.len(), if version < SchemaVersion::V3_0_4 { 0 } else { 20 });
        assert_eq!(back.counters.len(), 40);
        assert_eq!(back.counters.xcc[1].get().is_some(), version >= SchemaVersion::V3_0_3);
        assert_eq!(problems(&back), [""; 0]);
    }
}

#[test]
fn the_flavour_of_rocprof_sys_is_read() {
    let trace = example(2, 30);
    let made = made(&trace, &Options { flavour: Flavour::RocprofSys, ..Options::default() });
    let back = read(&made.path);
    assert_eq!(back.kernels.len(), 60);
    assert_eq!(back.strings.get(back.processes[0].guid), GUIDS[0].replace('-', ""));
    assert_eq!(back.agents[1].absolute_index, OptI64::some(4));
    assert_eq!(back.threads[0].tid, 15);
    assert!(back.strings.find("rocm_hip_api").is_some());
    // The user's text, although categories are spelt differently.
    let step = back.strings.find("step \"7\" é").unwrap();
    assert_eq!(back.regions.name.iter().filter(|n| **n == step).count(), 2);
    assert_eq!(back.samples.value.iter().filter(|v| !v.is_nan()).count(), 60);
    assert_eq!(problems(&back), [""; 0]);
}

#[test]
fn blanks_lose_nothing() {
    let trace = example(1, 40);
    let made = made(&trace, &Options { blank_every: 4, ..Options::default() });
    let db = Connection::open(&made.path).unwrap();
    db.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    let suffix = suffix_of(&db);
    let sql = format!("UPDATE \"rocpd_kernel_dispatch{suffix}\" SET kernel_id = 555 WHERE id = 1");
    db.execute_batch(&sql).unwrap();
    drop(db);
    let back = read(&made.path);
    assert_eq!(back.kernels.len(), 40);
    assert_eq!(back.kernels.correlation.iter().filter(|c| **c == 0).count(), 10);
    assert_eq!(back.kernels.thread.iter().filter(|t| !t.is_some()).count(), 10);
    assert_eq!(back.memory_copies.len(), 40);
    assert_eq!(back.kernels.name.iter().filter(|n| n.is_empty()).count(), 1);
    assert!(problems(&back).contains(&"lost_names"));
}

fn table_names(db: &Connection) -> Vec<String> {
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_%'";
    let mut names = db.prepare(sql).unwrap();
    names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn suffix_of(db: &Connection) -> String {
    let sql = "SELECT substr(name, 13) FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_region%'";
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn missing_tables_columns_and_metadata_are_read_around() {
    let trace = example(1, 30);
    let made = made(&trace, &Options { views: false, ..Options::default() });
    let db = Connection::open(&made.path).unwrap();
    db.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    let suffix = suffix_of(&db);
    for table in ["rocpd_pmc_event", "rocpd_metadata", "rocpd_info_thread", "rocpd_info_stream"] {
        db.execute_batch(&format!("DROP TABLE \"{table}{suffix}\"")).unwrap();
    }
    let sql = format!(
        "CREATE TABLE \"rocpd_event_operation{suffix}\" (id INTEGER PRIMARY KEY, x);
         CREATE TABLE \"rocpd_event_other{suffix}\" (id INTEGER PRIMARY KEY, x);
         ALTER TABLE \"rocpd_region{suffix}\" ADD COLUMN later TEXT DEFAULT 'x';
         ALTER TABLE \"rocpd_memory_copy{suffix}\" RENAME COLUMN size TO bytes_moved"
    );
    db.execute_batch(&sql).unwrap();
    drop(db);
    let back = read(&made.path);
    assert_eq!((back.kernels.len(), back.regions.len(), back.counters.len()), (30, 60, 0));
    assert_eq!(rocpd::guids(&made.path).unwrap(), [GUIDS[0]]);
    assert!(back.memory_copies.bytes.iter().all(|b| b.get().is_none()));
    assert_eq!(back.threads.len(), 3, "threads are known by their numbers");
    assert_eq!(back.kernels.thread.iter().filter(|t| t.is_some()).count(), 30);
    assert_eq!(back.links.len(), 90);
    let missing = back.health.checks.iter().find(|c| c.id == "missing_tables").unwrap();
    assert_eq!(missing.value, Some(4.0));
    assert!(missing.message.contains("rocpd_info_thread"));
    assert!(problems(&back).contains(&"undescribed"));
    let columns = back.health.checks.iter().find(|c| c.id == "missing_columns").unwrap();
    assert!(columns.message.ends_with(": rocpd_memory_copy.size"), "{}", columns.message);
}

#[test]
fn names_without_suffix_and_without_underscore_are_read() {
    let trace = example(1, 12);
    for new in ["", "0000ddb5"] {
        let made = made(&trace, &Options { views: false, ..Options::default() });
        let db = Connection::open(&made.path).unwrap();
        let suffix = suffix_of(&db);
        let names = table_names(&db);
        for name in names {
            let renamed = format!("{}{new}", name.strip_suffix(&suffix).unwrap());
            db.execute_batch(&format!("ALTER TABLE \"{name}\" RENAME TO \"{renamed}\"")).unwrap();
        }
        drop(db);
        assert_equal(&said(&read(&made.path)), &said(&trace));
    }
}

#[test]
fn plain_tables_of_several_recordings_keep_them_apart() {
    let trace = example(2, 12);
    let made = made(&trace, &Options::default());
    let folder = tempfile::tempdir().unwrap();
    let flat = folder.path().join("flat.db");
    let db = Connection::open(&flat).unwrap();
    db.execute("ATTACH ?1 AS run", [made.path.to_str().unwrap()]).unwrap();
    let mut names =
        db.prepare("SELECT name FROM run.sqlite_master WHERE type = 'view' AND name LIKE 'rocpd_%'").unwrap();
    for name in names.query_map([], |r| r.get::<_, String>(0)).unwrap() {
        let name = name.unwrap();
        db.execute_batch(&format!("CREATE TABLE main.{name} AS SELECT * FROM run.{name}")).unwrap();
    }
    drop(names);
    drop(db);
    assert_equal(&said(&read(&flat)), &said(&trace));
}

#[test]
fn views_over_something_else_are_read_through_sqlite() {
    let trace = example(1, 12);
    let made = made(&trace, &Options { views: false, ..Options::default() });
    let db = Connection::open(&made.path).unwrap();
    let suffix = suffix_of(&db);
    let names = table_names(&db);
    for (i, name) in names.iter().enumerate() {
        let base = name.strip_suffix(&suffix).unwrap();
        let sql = format!(
            "ALTER TABLE \"{name}\" RENAME TO hidden_{i}; CREATE VIEW {base} AS SELECT * FROM hidden_{i}"
        );
        db.execute_batch(&sql).unwrap();
    }
    drop(db);
    let before = std::fs::read(&made.path).unwrap();
    assert_equal(&said(&read(&made.path)), &said(&trace));
    assert_eq!(std::fs::read(&made.path).unwrap(), before);
    assert_eq!(rocpd::probe(&made.path).unwrap(), rocpd::Probe::Rocpd);
}

#[test]
fn a_database_with_a_log_is_read_whole_and_left_alone() {
    let trace = example(1, 30);
    let made = made(&trace, &Options::default());
    let db = Connection::open(&made.path).unwrap();
    db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0").unwrap();
    let suffix = suffix_of(&db);
    db.execute_batch(&format!("UPDATE \"rocpd_region{suffix}\" SET \"end\" = \"end\" + 1000000")).unwrap();
    let wal = made.path.with_file_name("it's a run.db-wal");
    let before = (std::fs::read(&made.path).unwrap(), std::fs::read(&wal).unwrap());
    let back = read(&made.path);
    assert_eq!(back.regions.end.iter().sum::<i64>(), trace.regions.end.iter().sum::<i64>() + 60_000_000);
    assert_eq!((std::fs::read(&made.path).unwrap(), std::fs::read(&wal).unwrap()), before);
}

#[test]
fn what_is_no_rocpd_database_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    std::fs::write(&path, "").unwrap();
    assert!(matches!(read_unfinished(&path, &Needs::summary()), Err(Error::Empty { .. })));
    assert!(matches!(rocpd::probe(&path), Err(Error::Empty { .. })));
    std::fs::write(&path, "hello, this is text").unwrap();
    assert_eq!(rocpd::probe(&path).unwrap(), rocpd::Probe::NotSqlite);
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(rocpd::probe(&path), Err(Error::Unreadable { .. })));
    let says = |sql: &str| {
        let _ = std::fs::remove_file(&path);
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let error = read_unfinished(&path, &Needs::summary()).unwrap_err().to_string();
        (rocpd::probe(&path).unwrap(), error)
    };
    let (probe, error) = says("CREATE TABLE bookmarks (id INTEGER PRIMARY KEY, url TEXT)");
    assert_eq!(probe, rocpd::Probe::OtherDatabase);
    assert!(error.ends_with("it is a SQLite database without rocpd tables"), "{error}");
    let (probe, error) =
        says("CREATE TABLE rocpd_api (id INTEGER PRIMARY KEY); CREATE TABLE rocpd_op (id INTEGER)");
    assert_eq!(probe, rocpd::Probe::Rpd);
    assert!(error.contains("rocmProfileData"), "{error}");
    let (probe, _) = says("CREATE TABLE t (x); DROP TABLE t");
    assert_eq!(probe, rocpd::Probe::NoTables);
}

#[test]
fn needs_are_honoured() {
    let trace = example(1, 30);
    let made = made(&trace, &Options::default());
    let summary = read_unfinished(&made.path, &Needs::summary()).unwrap();
    assert_eq!((summary.kernels.len(), summary.regions.len(), summary.args.len()), (30, 60, 0));
    // Instant markers are samples, and `summary` counts them.
    assert_eq!(
        (summary.counters.len(), summary.samples.len(), summary.syncs.len()),
        (0, trace.samples.len(), 0)
    );
    let nothing = read_unfinished(&made.path, &Needs::nothing()).unwrap();
    assert_eq!((nothing.kernels.len(), nothing.regions.len(), nothing.processes.len()), (0, 0, 1));
    let args = ArgNeeds::Keys(vec!["stream".into()]);
    let some = read_unfinished(&made.path, &Needs { args, ..Needs::summary() }).unwrap();
    assert_eq!(some.args.len(), 30);
}

#[test]
fn the_environment_is_not_kept() {
    let made = made(&example(1, 3), &Options::default());
    let db = Connection::open(&made.path).unwrap();
    let suffix = suffix_of(&db);
    let sql = format!("UPDATE \"rocpd_info_process{suffix}\" SET environment = ?1");
    db.execute(&sql, [r#"{"SLURM_PROCID":"5","AWS_SECRET":"hunter2"}"#]).unwrap();
    drop(db);
    let back = read(&made.path);
    assert_eq!(back.processes[0].rank, Some(5));
    assert!(back.strings.iter().all(|s| !s.contains("hunter2")));
}

#[test]
fn metrics_of_several_gpus_share_an_event() {
    let made = made(&example(1, 3), &Options { version: Some(SchemaVersion::V3_0_5), ..Options::default() });
    let db = Connection::open(&made.path).unwrap();
    db.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    let s = suffix_of(&db);
    let sql = format!(
        "INSERT INTO \"rocpd_string{s}\" (id, string) VALUES (9001, 'Busy'), (9002, 'Temp'), (9003, 'spm');
         INSERT INTO \"rocpd_info_pmc{s}\" (id, nid, pid, agent_id, name, symbol, units) VALUES
            (801, 1000, 14, 0, 'Busy', 'Busy', '%'), (802, 1000, 14, 4, 'Busy', 'Busy', '%'), (803, 1000, 14, 4, 'Temp', 'Temp', 'C');
         INSERT INTO \"rocpd_track{s}\" (id, nid, pid, name_id) VALUES (701, 1000, 14, 9001), (702, 1000, 14, 9002), (703, 1000, 14, 9003);
         INSERT INTO \"rocpd_event{s}\" (id, category_id) VALUES (5001, 9003);
         INSERT INTO \"rocpd_sample{s}\" (id, track_id, timestamp, event_id) VALUES
            (601, 702, 12345, 5001), (602, 701, 12345, 5001), (603, 703, 777, NULL);
         INSERT INTO \"rocpd_pmc_event{s}\" (event_id, pmc_id, value, sample_id, xcc) VALUES
            (5001, 801, 11, NULL, NULL), (5001, 802, 22, NULL, NULL), (5001, 803, 33, NULL, NULL),
            (NULL, 802, 44, 603, 0), (NULL, 802, 55, 603, 1)"
    );
    db.execute_batch(&sql).unwrap();
    drop(db);
    let back = read(&made.path);
    let mut found: Vec<_> = back
        .samples
        .rows()
        .filter(|s| [12345, 777].contains(&s.start))
        .map(|s| {
            let index = s.agent.get().and_then(|a| back.agents[a].absolute_index.get());
            let text = |id| back.strings.get(id).to_string();
            (s.start, text(s.name), index, s.value as i64, text(s.unit), text(s.location))
        })
        .collect();
    found.sort();
    let row = |t, name: &str, agent, value, unit: &str, at: &str| {
        (t, name.to_string(), Some(agent), value, unit.to_string(), at.to_string())
    };
    assert_eq!(
        found,
        [
            row(777, "Busy", 4, 44, "%", "xcc=0"),
            row(777, "Busy", 4, 55, "%", "xcc=1"),
            row(12345, "Busy", 0, 11, "%", ""),
            row(12345, "Busy", 4, 22, "%", ""),
            row(12345, "Temp", 4, 33, "C", ""),
        ]
    );
}

#[test]
fn graph_launches_are_regions_and_no_launches_of_kernels() {
    let made = made(&example(1, 4), &Options { version: Some(SchemaVersion::V3_0_5), ..Options::default() });
    let db = Connection::open(&made.path).unwrap();
    let s = suffix_of(&db);
    let sql = format!(
        "INSERT INTO \"rocpd_graph_launch{s}\" (nid, pid, tid, start, \"end\", graph_exec_id, event_id)
         SELECT 1000, 14, 15, 5, 9, 31, min(id) FROM \"rocpd_event{s}\""
    );
    db.execute_batch(&sql).unwrap();
    let sql = format!("SELECT stack_id FROM \"rocpd_event{s}\" ORDER BY id LIMIT 1");
    let stack: i64 = db.query_row(&sql, [], |row| row.get(0)).unwrap();
    drop(db);
    let back = read(&made.path);
    let name = back.strings.find("graph 31").unwrap();
    let row = back.regions.name.iter().position(|n| *n == name).unwrap();
    assert_eq!((back.regions.start[row], back.regions.end[row], back.regions.parent[row]), (5, 9, stack));
    assert!(back.links.from.iter().all(|from| *from != RowRef::region(row)));
    assert_eq!(back.regions.len(), 9);
}

#[test]
fn damage_never_fails_and_loses_only_what_is_gone() {
    let trace = example(1, 1500);
    let made = made(&trace, &Options::default());
    let sound = std::fs::read(&made.path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.db");
    let mut seed = 7u64;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let (mut readable, mut kept) = (0, 0);
    for round in 0..60 {
        let mut bytes = sound.clone();
        if round < 30 {
            bytes.truncate(random(sound.len()));
        } else {
            for _ in 0..1 + random(40) {
                let at = random(bytes.len());
                bytes[at] ^= 1 << random(8);
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        match read_unfinished(&path, &Needs::everything()) {
            Ok(mut back) => {
                back.finish();
                readable += 1;
                kept += back.kernels.len();
                assert!(back.kernels.len() <= 1500 + 200 && back.regions.len() <= 3000 + 400);
                if round < 30 {
                    assert!(problems(&back).contains(&"truncated"), "{:?}", back.health);
                }
            }
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        }
    }
    assert!(readable >= 50 && kept > 30 * 1000, "{readable} readable, {kept} kernels");
}

/// This once lost all kernels with only a warning.
#[test]
fn a_database_cut_in_half_fails_its_health_and_names_what_each_table_lost() {
    let made = made(&example(1, 1500), &Options::default());
    let whole = read(&made.path);
    let bytes = std::fs::read(&made.path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("half.db");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let half = read(&path);
    let check = half.health.checks.iter().find(|check| check.id == "truncated").unwrap();
    assert_eq!(check.status, trace::Status::Fail);
    assert!(half.kernels.len() < whole.kernels.len() || half.regions.len() < whole.regions.len());
    for (table, left, all) in [
        ("rocpd_kernel_dispatch", half.kernels.len(), whole.kernels.len()),
        ("rocpd_region", half.regions.len(), whole.regions.len()),
    ] {
        let named = check.message.contains(&format!("{table} lost "));
        assert_eq!(named, left < all, "{table}: {left} of {all}: {}", check.message);
    }
    assert!(problems(&whole).is_empty(), "{:?}", whole.health);
}

#[test]
fn a_hot_journal_brings_back_what_was_there() {
    let trace = example(1, 400);
    let made = made(&trace, &Options::default());
    let db = Connection::open(&made.path).unwrap();
    let s = suffix_of(&db);
    db.execute_batch("PRAGMA cache_size = 5; BEGIN").unwrap();
    db.execute_batch(&format!(
        "UPDATE \"rocpd_region{s}\" SET start = 0; UPDATE \"rocpd_event{s}\" SET stack_id = 0"
    ))
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.db");
    std::fs::copy(&made.path, &copy).unwrap();
    std::fs::copy(made.path.with_file_name("it's a run.db-journal"), folder.path().join("copy.db-journal"))
        .unwrap();
    let back = read(&copy);
    assert_equal(&said(&back), &said(&trace));
    assert_eq!(problems(&back), ["journal"]);
}

fn made_four(trace: &Trace, version: FourVersion) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it's a run.db");
    four::write(trace, &path, version, &Options::default()).unwrap();
    Made { _folder: folder, path }
}

/// The number that a query on the file returns.
fn number(path: &Path, sql: &str) -> i64 {
    Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn schema_4_says_what_schema_3_says_of_the_same_run() {
    for version in [FourVersion::V4_0, FourVersion::V4_1] {
        for processes in [1, 2] {
            let trace = example(processes, 200);
            let made = made_four(&trace, version);
            let back = read(&made.path);
            assert_equal(&said(&back), &said(&trace));
            assert_eq!(problems(&back), [""; 0], "{version}");
            assert_eq!(rocpd::guids(&made.path).unwrap(), GUIDS[..processes]);
        }
    }
}

#[test]
fn schema_4_is_read_as_plain_sql_reads_it() {
    let trace = example(2, 300);
    for (version, start, end, joins) in [
        (FourVersion::V4_1, "R.start", "R.\"end\"", ""),
        (
            FourVersion::V4_0,
            "S.value",
            "E.value",
            " JOIN rocpd_timestamp S ON S.id = R.start_id AND S.guid = R.guid \
             JOIN rocpd_timestamp E ON E.id = R.end_id AND E.guid = R.guid",
        ),
    ] {
        let made = made_four(&trace, version);
        let back = read(&made.path);
        let tables = [
            ("rocpd_region", back.regions.len(), &back.regions.start, &back.regions.end),
            ("rocpd_kernel_dispatch", back.kernels.len(), &back.kernels.start, &back.kernels.end),
            (
                "rocpd_memory_copy",
                back.memory_copies.len(),
                &back.memory_copies.start,
                &back.memory_copies.end,
            ),
        ];
        for (table, rows, starts, ends) in tables {
            let from = format!("FROM {table} R{joins}");
            assert_eq!(
                number(&made.path, &format!("SELECT count(*) {from}")),
                rows as i64,
                "{version} {table}"
            );
            let total: i64 = starts.iter().zip(ends).map(|(start, end)| end - start).sum();
            assert_eq!(number(&made.path, &format!("SELECT sum({end} - {start}) {from}")), total);
            assert_eq!(
                number(&made.path, &format!("SELECT min({start}) {from}")),
                *starts.iter().min().unwrap()
            );
        }
        let per_stream = number(
            &made.path,
            "SELECT count(*) FROM rocpd_kernel_dispatch R JOIN rocpd_track T ON T.id = R.track_id AND T.guid = R.guid \
             WHERE T.stream_id = 1",
        );
        let streams = back.kernels.stream.iter().filter(|s| back.streams[s.get().unwrap()].id == 1).count();
        assert_eq!(streams as i64, per_stream);
        assert!(per_stream > 0);
    }
}

#[test]
fn a_later_schema_is_read_as_far_as_it_is_known_and_said_so() {
    let trace = example(1, 20);
    let made = made_four(&trace, FourVersion::V4_1);
    let suffix = suffix_of(&Connection::open(&made.path).unwrap());
    Connection::open(&made.path)
        .unwrap()
        .execute_batch(&format!(
            "UPDATE \"rocpd_metadata{suffix}\" SET value = '4.2.0' WHERE tag = 'schema_version';
             CREATE TABLE \"rocpd_blob_event{suffix}\" (id INTEGER PRIMARY KEY, data BLOB);
             ALTER TABLE \"rocpd_region{suffix}\" ADD COLUMN colour TEXT;"
        ))
        .unwrap();
    let back = read(&made.path);
    assert_equal(&said(&back), &said(&trace));
    let check = back.health.problems().find(|check| check.id == "schema").unwrap();
    assert!(
        check.message.contains("4.2.0") && check.message.ends_with("not read: rocpd_blob_event"),
        "{}",
        check.message
    );
}

#[test]
fn compressed_json_is_unpacked() {
    let trace = example(1, 20);
    let made = made(&trace, &Options::default());
    let db = Connection::open(&made.path).unwrap();
    let suffix = suffix_of(&db);
    for table in ["rocpd_event", "rocpd_info_agent", "rocpd_hip_event", "rocpd_memory_allocate"] {
        let name = format!("{table}{suffix}");
        let mut rows = db.prepare(&format!("SELECT id, extdata FROM \"{name}\"")).unwrap();
        let rows: Vec<(i64, String)> =
            rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
        for (id, text) in rows {
            // A frame with one stored block.
            let mut frame = vec![0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0];
            frame.extend((text.len() as u32 | 1 << 31).to_le_bytes());
            frame.extend(text.as_bytes());
            frame.extend([0; 4]);
            db.execute(&format!("UPDATE \"{name}\" SET extdata = ?1 WHERE id = ?2"), (frame, id)).unwrap();
        }
    }
    db.execute_batch(&format!(
        "INSERT INTO \"rocpd_metadata{suffix}\"(tag, value) VALUES ('compression', 'lz4-frame-v1');
         UPDATE \"rocpd_metadata{suffix}\" SET value = '4' WHERE tag = 'schema_version'"
    ))
    .unwrap();
    drop(db);
    let back = read(&made.path);
    assert_equal(&said(&back), &said(&trace));
    assert_eq!(problems(&back), [""; 0]);
}

#[test]
fn rows_of_a_lost_track_stay_and_are_counted() {
    let trace = example(1, 20);
    let made = made_four(&trace, FourVersion::V4_1);
    let db = Connection::open(&made.path).unwrap();
    let suffix = suffix_of(&db);
    db.execute_batch(&format!(
        "PRAGMA foreign_keys = OFF; UPDATE \"rocpd_region{suffix}\" SET track_id = 4711 WHERE id <= 7"
    ))
    .unwrap();
    drop(db);
    let back = read(&made.path);
    assert_eq!(back.regions.len(), trace.regions.len());
    assert_eq!(back.regions.thread.iter().filter(|thread| !thread.is_some()).count(), 7);
    let check = back.health.problems().find(|check| check.id == "lost_tracks").unwrap();
    assert_eq!(check.value, Some(7.0));
}

#[test]
fn times_near_the_ends_of_64_bits_ended_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.db");
    let trace = example(1, 6);
    write(&trace, &path, &Options::default()).unwrap();
    let database = Connection::open(&path).unwrap();
    let table = |base: &str| -> String {
        let sql = format!("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE '{base}%'");
        database.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    for (base, start, end) in [("rocpd_kernel_dispatch", 0, i64::MAX), ("rocpd_region", i64::MIN, i64::MAX)] {
        let table = table(base);
        let sql = format!(
            "UPDATE {table} SET start = ?1, \"end\" = ?2 WHERE id <= (SELECT min(id) + 1 FROM {table})"
        );
        assert_eq!(database.execute(&sql, [start, end]).unwrap(), 2);
    }
    drop(database);
    let read = read(&path);
    assert_eq!(read.kernels.len() + 2, trace.kernels.len());
    assert_eq!(read.regions.len() + 2, trace.regions.len());
    let lost = read.health.checks.iter().find(|check| check.id == "lost_rows").unwrap();
    assert_eq!(lost.message, "4 rows have no usable time and were left out");
}
