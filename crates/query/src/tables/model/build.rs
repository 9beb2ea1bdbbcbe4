//! Makes the model of a trace: ids for everything, and symbols, tracks and counters for rows without one.

use std::sync::OnceLock;

use trace::{AgentId, Map, Process, ProcessId, RowRef, StrId, SymbolId, Table, ThreadId, Trace};

use super::{ALLOCATION, COPY, EVENT_TABLES, KERNEL, Model, Pmc, SCRATCH, SYNC, Symbol, Track};

impl Model {
    pub fn new(mut trace: Trace) -> Model {
        for category in [KERNEL, COPY, ALLOCATION, SCRATCH, SYNC] {
            trace.strings.intern(category);
        }
        if needs_a_process(&trace) {
            trace.processes.push(Process::default());
        }
        let (guids, group_of) = recordings(&trace);
        let (nid, nodes) = nodes(&trace, &group_of);
        let last = trace.processes.len() - 1;
        let group = |process: ProcessId| group_of[process.get().unwrap_or(last)];
        let ids = |items: Vec<(ProcessId, Option<i64>)>| {
            let mut numbers = Numbers::default();
            items.into_iter().map(|(process, wish)| numbers.take(group(process), wish)).collect::<Vec<_>>()
        };
        let process_id =
            ids((0..).zip(&trace.processes).map(|(i, p)| (ProcessId::at(i), Some(p.pid))).collect());
        let thread_id = ids(trace.threads.iter().map(|t| (t.process, Some(t.tid))).collect());
        let agent_id = ids(trace.agents.iter().map(|a| (a.process, a.absolute_index.get())).collect());
        let queue_id = ids(trace.queues.iter().map(|q| (q.process, Some(q.id))).collect());
        let stream_id = ids(trace.streams.iter().map(|s| (s.process, Some(s.id))).collect());
        let (symbols, symbol_of) = symbols(&trace, &group_of);
        let code_objects = first_of_each(symbols.iter().map(|s| {
            let object = s.own.and_then(|own| trace.symbols[own].code_object.get());
            object.map(|object| (group_of[s.process], object))
        }));
        let (tracks, track_of) = tracks(&trace, last);
        let (pmcs, valued) = pmcs(&trace, last);
        let owners = &trace.args.owner;
        let region_args = owners.partition_point(|o| *o < RowRef::region(0))
            ..owners.partition_point(|o| *o < RowRef::new(Table::Samples, 0));
        let mut first_event = [0; EVENT_TABLES.len() + 1];
        for (i, table) in EVENT_TABLES.into_iter().enumerate() {
            first_event[i + 1] = first_event[i] + rows_of(&trace, table);
        }
        let frames = trace.strings.find("python_function");
        Model {
            guids,
            group_of,
            nid,
            nodes,
            process_id,
            thread_id,
            agent_id,
            queue_id,
            stream_id,
            symbols,
            symbol_of,
            code_objects,
            tracks,
            track_of,
            pmcs,
            valued,
            region_args,
            first_event,
            frames,
            strings: OnceLock::new(),
            memory: OnceLock::new(),
            trace,
            beside_databases: false,
        }
    }
}

fn needs_a_process(trace: &Trace) -> bool {
    let columns: [&[ProcessId]; 6] = [
        &trace.kernels.process,
        &trace.memory_copies.process,
        &trace.memory_allocations.process,
        &trace.regions.process,
        &trace.samples.process,
        &trace.syncs.process,
    ];
    trace.processes.is_empty() || columns.iter().any(|column| column.iter().any(|p| !p.is_some()))
}

/// Recordings, and the recording of each process. Without a guid nothing shows that two processes share ids.
fn recordings(trace: &Trace) -> (Vec<String>, Vec<u32>) {
    let mut guids = Vec::new();
    let mut known: Map<StrId, u32> = Map::default();
    let group_of = trace
        .processes
        .iter()
        .map(|process| {
            if let Some(group) = known.get(&process.guid) {
                return *group;
            }
            let group = guids.len() as u32;
            if process.guid.is_empty() {
                let path = process.source.get().map_or("", |s| trace.sources[s].path.as_str());
                guids.push(format!("{path}#{}", process.pid));
            } else {
                guids.push(trace.strings.get(process.guid).to_string());
                known.insert(process.guid, group);
            }
            group
        })
        .collect();
    (guids, group_of)
}

/// Node number of each process, and a process for each (recording, node). 0 is an unknown node.
fn nodes(trace: &Trace, group_of: &[u32]) -> (Vec<i64>, Vec<usize>) {
    let mut hosts: Map<(StrId, StrId), i64> = Map::default();
    let nid: Vec<i64> = trace
        .processes
        .iter()
        .map(|process| match (process.node.get(), (process.machine, process.hostname)) {
            (Some(nid), _) => nid,
            (None, (StrId::EMPTY, StrId::EMPTY)) => 0,
            (None, host) => {
                let next = hosts.len() as i64 + 1;
                *hosts.entry(host).or_insert(next)
            }
        })
        .collect();
    let nodes = first_of_each(nid.iter().zip(group_of).map(Some));
    (nid, nodes)
}

fn symbols(trace: &Trace, group_of: &[u32]) -> (Vec<Symbol>, Vec<u32>) {
    let last = trace.processes.len() - 1;
    let mut numbers = Numbers::default();
    let mut symbols: Vec<Symbol> = (0..)
        .zip(&trace.symbols)
        .map(|(own, symbol)| {
            let process = symbol.process.get().unwrap_or(last);
            let id = numbers.take(group_of[process], Some(symbol.id));
            Symbol { process, id, own: Some(own), name: symbol.display_name, registers: Default::default() }
        })
        .collect();
    let mut made: Map<(u32, StrId, [trace::OptI64; 3]), u32> = Map::default();
    let kernels = &trace.kernels;
    let symbol_of = (0..kernels.len())
        .map(|i| {
            if let Some(own) =
                kernels.symbol[i].get().filter(|s| trace.symbols[*s].display_name == kernels.name[i])
            {
                return SymbolId::at(own).0;
            }
            let process = kernels.process[i].get().unwrap_or(last);
            let shape = trace.shapes.get(kernels.shape[i]);
            let registers = [shape.vgpr, shape.agpr, shape.sgpr];
            let group = group_of[process];
            *made.entry((group, kernels.name[i], registers)).or_insert_with(|| {
                let id = numbers.take(group, None);
                symbols.push(Symbol { process, id, own: None, name: kernels.name[i], registers });
                symbols.len() as u32 - 1
            })
        })
        .collect();
    (symbols, symbol_of)
}

fn tracks(trace: &Trace, last: usize) -> (Vec<Track>, Vec<u32>) {
    let samples = &trace.samples;
    let mut tracks = Vec::new();
    let mut known: Map<(usize, ThreadId, StrId), u32> = Map::default();
    let track_of = (0..samples.len())
        .map(|i| {
            let (process, thread, name) =
                (samples.process[i].get().unwrap_or(last), samples.thread[i], samples.name[i]);
            *known.entry((process, thread, name)).or_insert_with(|| {
                tracks.push(Track { process, thread, name });
                tracks.len() as u32 - 1
            })
        })
        .collect();
    (tracks, track_of)
}

fn pmcs(trace: &Trace, last: usize) -> (Vec<Pmc>, Vec<(u32, u32)>) {
    let mut pmcs: Vec<Pmc> = (0..)
        .zip(&trace.counter_kinds)
        .map(|(own, kind)| {
            let process = kind.process.get().unwrap_or(last);
            Pmc { process, agent: kind.agent, name: kind.name, unit: kind.unit, own: Some(own) }
        })
        .collect();
    let samples = &trace.samples;
    let mut known: Map<(usize, AgentId, StrId, StrId), u32> = Map::default();
    let valued = (0..samples.len())
        .filter(|&i| !samples.value[i].is_nan())
        .map(|i| {
            let process = samples.process[i].get().unwrap_or(last);
            let (agent, name, unit) = (samples.agent[i], samples.name[i], samples.unit[i]);
            let pmc = *known.entry((process, agent, name, unit)).or_insert_with(|| {
                pmcs.push(Pmc { process, agent, name, unit, own: None });
                pmcs.len() as u32 - 1
            });
            (i as u32, pmc)
        })
        .collect();
    (pmcs, valued)
}

fn rows_of(trace: &Trace, table: Table) -> usize {
    match table {
        Table::Kernels => trace.kernels.len(),
        Table::MemoryCopies => trace.memory_copies.len(),
        Table::MemoryAllocations => trace.memory_allocations.len(),
        Table::Regions => trace.regions.len(),
        Table::Samples => trace.samples.len(),
        Table::Syncs => trace.syncs.len(),
    }
}

/// Indexes of the first item of each key; items without a key are skipped.
fn first_of_each<K: std::hash::Hash + Eq>(keys: impl Iterator<Item = Option<K>>) -> Vec<usize> {
    let mut seen: Map<K, ()> = Map::default();
    keys.enumerate()
        .filter(|(_, key)| key.is_some())
        .filter_map(|(i, key)| seen.insert(key?, ()).is_none().then_some(i))
        .collect()
}

/// Ids of one kind: each item's own id if it is free in its recording, else one above all so far.
#[derive(Default)]
struct Numbers {
    taken: Map<(u32, i64), ()>,
    highest: Map<u32, i64>,
}

impl Numbers {
    fn take(&mut self, group: u32, wish: Option<i64>) -> i64 {
        let highest = self.highest.entry(group).or_insert(0);
        let id = wish.filter(|id| !self.taken.contains_key(&(group, *id))).unwrap_or_else(|| {
            let mut id = highest.saturating_add(1);
            while self.taken.contains_key(&(group, id)) {
                id += 1;
            }
            id
        });
        *highest = (*highest).max(id);
        self.taken.insert((group, id), ());
        id
    }
}
