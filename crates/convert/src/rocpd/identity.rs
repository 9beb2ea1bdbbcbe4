//! Processes, threads, agents, queues, streams and symbols of a trace as rows of the info tables.

use formats::rocpd::table;
use std::collections::HashSet;

use formats::secrets::redact_text;
use trace::{
    AgentId, AgentKind, OptI64, Process, ProcessId, QueueId, StrId, StreamId, SymbolId, ThreadId, Trace,
};

use super::pages::Value;
use super::{BulkWriter, Flavour, SchemaVersion};

/// The target of a process's rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Destination {
    /// Group of tables.
    pub group: usize,
    /// Node id.
    pub nid: i64,
    /// Id of the process row.
    pub pid: i64,
}

/// Row ids of everything that rows refer to.
pub(super) struct Ids {
    places: Vec<Destination>,
    threads: Vec<i64>,
    agents: Vec<i64>,
    queues: Vec<i64>,
    streams: Vec<i64>,
    code_objects: Vec<Option<i64>>,
    stand_ins: Vec<StandIns>,
    numbers: Vec<Numbers>,
    symbols: trace::Map<(usize, u32, StrId, [OptI64; 3]), i64>,
}

/// Rows created for a process whose trace has no thread or agent where rocpd requires one.
#[derive(Clone, Copy, Default)]
struct StandIns {
    thread: Option<i64>,
    agent: Option<i64>,
    symbols_home: Option<i64>,
}

/// Used ids of one group, by kind.
#[derive(Default)]
struct Numbers {
    processes: Taken,
    threads: Taken,
    agents: Taken,
    queues: Taken,
    streams: Taken,
    symbols: Taken,
    code_objects: Taken,
    nodes: Taken,
    machines: HashSet<String>,
}

/// Ids in use: the requested one if it is free, else the next free one.
#[derive(Default)]
struct Taken {
    used: HashSet<i64>,
    highest: i64,
}

impl Taken {
    fn take(&mut self, wish: Option<i64>) -> i64 {
        let id = match wish {
            Some(id) if !self.used.contains(&id) => id,
            _ => self.highest.saturating_add(1),
        };
        self.used.insert(id);
        self.highest = self.highest.max(id);
        id
    }
}

/// A guid for something without one: computed from its text, so the same input gives the same file.
pub(super) fn made_up_guid(text: &str) -> String {
    let (a, b) = (fnv(text, 0xcbf2_9ce4_8422_2325), fnv(text, 0x9e37_79b9_7f4a_7c15));
    format!(
        "{:08x}-{:04x}-7{:03x}-{:04x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0xfff,
        0x8000 | (b >> 48) & 0x3fff,
        b & 0xffff_ffff_ffff
    )
}

fn fnv(text: &str, basis: u64) -> u64 {
    text.bytes().fold(basis, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The guid of each group, and the group of each process. A process without a guid is a separate recording.
pub(super) fn groups(trace: &Trace, processes: &[Process]) -> (Vec<String>, Vec<usize>) {
    let mut guids: Vec<String> = Vec::new();
    let group_of = processes
        .iter()
        .enumerate()
        .map(|(i, process)| {
            let guid = match trace.strings.get(process.guid) {
                "" => {
                    let path = process.source.get().map_or("", |s| trace.sources[s].path.as_str());
                    made_up_guid(&format!("{path} {} {i}", process.pid))
                }
                guid => guid.to_string(),
            };
            guids.iter().position(|g| *g == guid).unwrap_or_else(|| {
                guids.push(guid);
                guids.len() - 1
            })
        })
        .collect();
    (guids, group_of)
}

impl Ids {
    /// Writes the info tables of all groups.
    pub fn write(
        trace: &Trace,
        processes: &[Process],
        group_of: &[usize],
        flavour: Flavour,
        db: &mut BulkWriter,
    ) -> Self {
        let count = group_of.iter().max().map_or(1, |g| g + 1);
        let mut ids = Ids {
            places: Vec::new(),
            threads: Vec::new(),
            agents: Vec::new(),
            queues: Vec::new(),
            streams: Vec::new(),
            code_objects: vec![None; trace.agents.len()],
            stand_ins: vec![StandIns::default(); processes.len()],
            numbers: (0..count).map(|_| Numbers::default()).collect(),
            symbols: trace::Map::default(),
        };
        ids.write_processes(trace, processes, group_of, db);
        ids.write_default_lanes(db);
        ids.write_threads(trace, flavour, db);
        ids.write_agents(trace, flavour, db);
        ids.write_lanes(trace, db);
        ids
    }

    /// The target of a process's rows; rows without a process go to the last one, which is for them.
    pub fn place(&self, process: ProcessId) -> Destination {
        self.places[self.process(process)]
    }

    fn process(&self, process: ProcessId) -> usize {
        process.get().filter(|p| *p < self.places.len()).unwrap_or(self.places.len() - 1)
    }

    fn write_processes(
        &mut self,
        trace: &Trace,
        processes: &[Process],
        group_of: &[usize],
        db: &mut BulkWriter,
    ) {
        let text = |id: StrId| (!id.is_empty()).then(|| trace.strings.get(id));
        for (process, &group) in processes.iter().zip(group_of) {
            let host = text(process.hostname).or(text(process.machine)).unwrap_or("unknown");
            let nid = process.node.get().unwrap_or_else(|| (fnv(host, 0xcbf2_9ce4_8422_2325) >> 32) as i64);
            let numbers = &mut self.numbers[group];
            if !numbers.nodes.used.contains(&nid) {
                numbers.nodes.take(Some(nid));
                let mut machine = text(process.machine).unwrap_or(host).to_string();
                if !numbers.machines.insert(machine.clone()) {
                    machine = format!("{machine}-{nid}");
                    numbers.machines.insert(machine.clone());
                }
                let columns = [
                    ("id", nid.into()),
                    ("hash", nid.into()),
                    ("machine_id", machine.as_str().into()),
                    ("system_name", "Linux".into()),
                    ("hostname", text(process.hostname).map_or(Value::Null, Value::Text)),
                ];
                db.insert(group, table::INFO_NODE, &columns);
            }
            let pid = numbers.processes.take(Some(process.pid));
            let rank = trace_rank(trace, process);
            let environment = rank.map_or("{}".to_string(), |rank| format!("{{\"RANK\":\"{rank}\"}}"));
            let command = text(process.command).map(redact_text);
            let command = command.as_deref();
            let columns = [
                ("id", pid.into()),
                ("nid", nid.into()),
                ("ppid", process.ppid.get().into()),
                ("pid", process.pid.into()),
                ("init", process.start.into()),
                ("fini", process.end.into()),
                ("start", process.start.into()),
                ("end", process.end.into()),
                ("command", command.map_or(Value::Null, Value::Text)),
                ("environment", environment.as_str().into()),
            ];
            db.insert(group, table::INFO_PROCESS, &columns);
            self.places.push(Destination { group, nid, pid });
        }
    }

    /// Queue 0 and stream 0 always exist.
    fn write_default_lanes(&mut self, db: &mut BulkWriter) {
        for group in 0..self.numbers.len() {
            let Some(place) = self.places.iter().find(|p| p.group == group).copied() else { continue };
            self.numbers[group].queues.take(Some(0));
            self.numbers[group].streams.take(Some(0));
            lane(db, place, table::INFO_QUEUE, 0, "Default Queue");
            lane(db, place, table::INFO_STREAM, 0, "Default Stream");
        }
    }

    fn write_threads(&mut self, trace: &Trace, flavour: Flavour, db: &mut BulkWriter) {
        for thread in &trace.threads {
            let place = self.place(thread.process);
            let wish = (flavour == Flavour::Rocprofv3).then_some(thread.tid);
            let id = self.numbers[place.group].threads.take(wish);
            let name = trace.strings.get(thread.name);
            write_thread(db, place, id, thread.tid, name);
            self.threads.push(id);
        }
    }

    fn write_agents(&mut self, trace: &Trace, flavour: Flavour, db: &mut BulkWriter) {
        for agent in &trace.agents {
            let place = self.place(agent.process);
            let wish = (flavour == Flavour::Rocprofv3).then(|| agent.absolute_index.get()).flatten();
            let id = self.numbers[place.group].agents.take(wish);
            let text = |s: StrId| if s.is_empty() { Value::Null } else { Value::Text(trace.strings.get(s)) };
            let extdata = agent_facts(trace, agent);
            let columns = [
                ("id", id.into()),
                ("nid", place.nid.into()),
                ("pid", place.pid.into()),
                ("type", kind_value(agent.kind, db.version())),
                ("absolute_index", agent.absolute_index.get().into()),
                ("logical_index", agent.logical_index.get().into()),
                ("type_index", agent.type_index.get().into()),
                ("name", text(agent.name)),
                ("product_name", text(agent.product)),
                ("extdata", extdata.as_str().into()),
            ];
            db.insert(place.group, table::INFO_AGENT, &columns);
            self.agents.push(id);
        }
    }

    fn write_lanes(&mut self, trace: &Trace, db: &mut BulkWriter) {
        for queue in &trace.queues {
            let place = self.place(queue.process);
            let id = self.take_lane(place, queue.id, |n| &mut n.queues);
            if id != 0 {
                lane(db, place, table::INFO_QUEUE, id, trace.strings.get(queue.name));
            }
            self.queues.push(id);
        }
        for stream in &trace.streams {
            let place = self.place(stream.process);
            let id = self.take_lane(place, stream.id, |n| &mut n.streams);
            if id != 0 {
                lane(db, place, table::INFO_STREAM, id, trace.strings.get(stream.name));
            }
            self.streams.push(id);
        }
    }

    /// Lane 0 of a group's first process already exists; another process's lane 0 needs its own row.
    fn take_lane(&mut self, place: Destination, id: i64, kind: fn(&mut Numbers) -> &mut Taken) -> i64 {
        let first = self.places.iter().find(|p| p.group == place.group).map(|p| p.pid);
        if id == 0 && first == Some(place.pid) {
            return 0;
        }
        kind(&mut self.numbers[place.group]).take(Some(id))
    }

    /// A thread's row.
    pub fn thread(&self, thread: ThreadId) -> Option<i64> {
        self.threads.get(thread.get()?).copied()
    }

    /// A thread's row, or the "not known" row of its process.
    pub fn some_thread(&mut self, thread: ThreadId, process: ProcessId, db: &mut BulkWriter) -> i64 {
        if let Some(id) = self.thread(thread) {
            return id;
        }
        let (at, place) = (self.process(process), self.place(process));
        if let Some(id) = self.stand_ins[at].thread {
            return id;
        }
        let id = self.numbers[place.group].threads.take(Some(place.pid));
        write_thread(db, place, id, place.pid, "");
        self.stand_ins[at].thread = Some(id);
        id
    }

    /// An agent's row.
    pub fn agent(&self, agent: AgentId) -> Option<i64> {
        self.agents.get(agent.get()?).copied()
    }

    /// An agent's row, or the "not known" row of its process.
    pub fn some_agent(&mut self, agent: AgentId, process: ProcessId, db: &mut BulkWriter) -> i64 {
        if let Some(id) = self.agent(agent) {
            return id;
        }
        let (at, place) = (self.process(process), self.place(process));
        if let Some(id) = self.stand_ins[at].agent {
            return id;
        }
        let id = self.numbers[place.group].agents.take(None);
        let columns = [("id", id.into()), ("nid", place.nid.into()), ("pid", place.pid.into())];
        db.insert(place.group, table::INFO_AGENT, &columns);
        self.stand_ins[at].agent = Some(id);
        id
    }

    /// A queue's row.
    pub fn queue(&self, queue: QueueId) -> Option<i64> {
        self.queues.get(queue.get()?).copied()
    }

    /// A stream's row.
    pub fn stream(&self, stream: StreamId) -> Option<i64> {
        self.streams.get(stream.get()?).copied()
    }

    /// A kernel symbol's row: the trace's own, or one created from name and registers.
    pub fn symbol(&mut self, trace: &Trace, kernel: &trace::Kernel, db: &mut BulkWriter) -> i64 {
        let process = self.process(kernel.process);
        let own = kernel.symbol.get().map(|s| &trace.symbols[s]).filter(|s| s.display_name == kernel.name);
        let shape = trace.shapes.get(kernel.shape);
        let registers = if own.is_some() { [OptI64::NONE; 3] } else { [shape.vgpr, shape.agpr, shape.sgpr] };
        let symbol = if own.is_some() { kernel.symbol } else { SymbolId::NONE };
        let key = (process, symbol.0, kernel.name, registers);
        if let Some(id) = self.symbols.get(&key) {
            return *id;
        }
        let place = self.places[process];
        let home = self.code_object(kernel.agent, process, db);
        let id = self.numbers[place.group].symbols.take(own.map(|s| s.id));
        let name = trace.strings.get(kernel.name);
        let made_up;
        let columns = match own {
            Some(s) => {
                let mangled = trace.strings.get(s.kernel_name);
                symbol_columns(
                    id,
                    place,
                    home,
                    [mangled, name],
                    [s.kernarg_bytes, s.group_segment_bytes, s.private_segment_bytes, s.sgpr, s.vgpr, s.agpr],
                )
            }
            None => {
                made_up = format!("{name}.kd");
                let none = OptI64::NONE;
                symbol_columns(
                    id,
                    place,
                    home,
                    [&made_up, name],
                    [none, shape.lds_bytes, shape.scratch_bytes, shape.sgpr, shape.vgpr, shape.agpr],
                )
            }
        };
        db.insert(place.group, table::INFO_KERNEL_SYMBOL, &columns);
        self.symbols.insert(key, id);
        id
    }

    /// One code object per agent for its symbols.
    fn code_object(&mut self, agent: AgentId, process: usize, db: &mut BulkWriter) -> i64 {
        let known = match agent.get() {
            Some(agent) => self.code_objects[agent],
            None => self.stand_ins[process].symbols_home,
        };
        if let Some(id) = known {
            return id;
        }
        let place = self.places[process];
        let id = self.numbers[place.group].code_objects.take(None);
        let columns = [
            ("id", id.into()),
            ("nid", place.nid.into()),
            ("pid", place.pid.into()),
            ("agent_id", self.agent(agent).into()),
        ];
        db.insert(place.group, table::INFO_CODE_OBJECT, &columns);
        match agent.get() {
            Some(agent) => self.code_objects[agent] = Some(id),
            None => self.stand_ins[process].symbols_home = Some(id),
        }
        id
    }
}

fn symbol_columns<'a>(
    id: i64,
    place: Destination,
    home: i64,
    [mangled, shown]: [&'a str; 2],
    [kernarg, group, private, sgpr, vgpr, agpr]: [OptI64; 6],
) -> [(&'static str, Value<'a>); 12] {
    [
        ("id", id.into()),
        ("nid", place.nid.into()),
        ("pid", place.pid.into()),
        ("code_object_id", home.into()),
        ("kernel_name", mangled.into()),
        ("display_name", shown.into()),
        ("kernarg_segment_size", kernarg.get().into()),
        ("group_segment_size", group.get().into()),
        ("private_segment_size", private.get().into()),
        ("sgpr_count", sgpr.get().into()),
        ("arch_vgpr_count", vgpr.get().into()),
        ("accum_vgpr_count", agpr.get().into()),
    ]
}

fn trace_rank(trace: &Trace, process: &Process) -> Option<u32> {
    process.rank.or_else(|| trace.sources.get(process.source.get()?)?.rank)
}

/// rocpd's name for a kind of agent, which its schema restricts.
pub(super) fn kind_value(kind: AgentKind, version: SchemaVersion) -> Value<'static> {
    match kind {
        AgentKind::Unknown => Value::Null,
        AgentKind::Nic if version < SchemaVersion::V3_0_1 => Value::Null,
        kind => Value::Text(kind.name()),
    }
}

/// An agent's facts as the JSON object that profilers write.
fn agent_facts(trace: &Trace, agent: &trace::Agent) -> String {
    let extra = trace.strings.get(agent.extra).trim();
    let mut facts = Vec::new();
    if let Some(units) = agent.compute_units.get().filter(|_| !extra.contains("\"cu_count\"")) {
        facts.push(format!("\"cu_count\":{units}"));
    }
    if let Some(bytes) = agent.memory_bytes.get().filter(|_| !extra.contains("\"mem_banks\"")) {
        facts.push(format!("\"mem_banks\":[{{\"size_in_bytes\":{bytes}}}]"));
    }
    let inner = extra.strip_prefix('{').and_then(|e| e.strip_suffix('}')).map_or("", str::trim);
    if !inner.is_empty() {
        facts.push(inner.to_string());
    }
    format!("{{{}}}", facts.join(","))
}

fn lane(db: &mut BulkWriter, place: Destination, table: &'static str, id: i64, name: &str) {
    let name = if name.is_empty() { Value::Null } else { Value::Text(name) };
    let columns = [("id", id.into()), ("nid", place.nid.into()), ("pid", place.pid.into()), ("name", name)];
    db.insert(place.group, table, &columns);
}

fn write_thread(db: &mut BulkWriter, place: Destination, id: i64, tid: i64, name: &str) {
    let columns = [
        ("id", id.into()),
        ("nid", place.nid.into()),
        ("pid", place.pid.into()),
        ("tid", tid.into()),
        ("name", if name.is_empty() { Value::Null } else { Value::Text(name) }),
    ];
    db.insert(place.group, table::INFO_THREAD, &columns);
}
