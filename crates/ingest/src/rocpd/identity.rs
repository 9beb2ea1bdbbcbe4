//! The identities of a recording: nodes, processes, threads, agents, queues, streams, symbols, strings and tracks.

use std::sync::atomic::{AtomicU64, Ordering};

use formats::launchers;
use formats::rocpd::table;
use serde_json::Value as Json;
use trace::{
    Agent, AgentId, AgentKind, KernelSymbol, OptI64, Process, ProcessId, Queue, QueueId, RANK_VARIABLES,
    SourceId, StrId, Stream, StreamId, SymbolId, Thread, ThreadId, Trace,
};

use super::groups::Group;
use crate::by_id::ById;
use crate::sqlite::Col;

/// What rows can refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntityKind {
    Process,
    Thread,
    Agent,
    Queue,
    Stream,
}

/// The fields of a symbol that dispatches need.
#[derive(Clone, Copy, Default)]
pub(super) struct Symbol {
    pub id: SymbolId,
    pub name: StrId,
    pub lds: OptI64,
    pub scratch: OptI64,
    pub vgpr: OptI64,
    pub agpr: OptI64,
    pub sgpr: OptI64,
}

/// Where rows ran: on a track of samples or, since schema 4, of any rows.
#[derive(Clone, Copy, Default)]
pub(super) struct Track {
    pub name: StrId,
    pub process: ProcessId,
    pub thread: ThreadId,
    pub agent: AgentId,
    pub queue: QueueId,
    pub stream: StreamId,
}

/// From row ids of one recording to ids of the trace.
pub(super) struct Identity {
    guid: StrId,
    source: SourceId,
    processes: ById,
    threads: ById,
    agents: ById,
    queues: ById,
    streams: ById,
    strings: ById,
    /// Categories of events; `None` if they are strings.
    categories: Option<ById>,
    symbols_by_id: ById,
    symbols: Vec<Symbol>,
    tracks_by_id: ById,
    tracks: Vec<Track>,
    /// The process of rows that do not name one.
    only_process: ProcessId,
    /// Entities that rows name but no table describes.
    pub made_up: u64,
    /// Rows whose track is missing; counted on the workers.
    lost_tracks: AtomicU64,
}

impl Identity {
    /// Reads the info tables into the trace.
    pub fn read(group: &Group<'_>, source: SourceId, trace: &mut Trace) -> Self {
        let mut identity = Identity {
            guid: trace.strings.intern(&group.guid),
            source,
            processes: ById::default(),
            threads: ById::default(),
            agents: ById::default(),
            queues: ById::default(),
            streams: ById::default(),
            strings: read_strings(group, (table::STRING, "string"), trace),
            categories: read_categories(group, trace),
            symbols_by_id: ById::default(),
            symbols: Vec::new(),
            tracks_by_id: ById::default(),
            tracks: Vec::new(),
            only_process: ProcessId::NONE,
            made_up: 0,
            lost_tracks: AtomicU64::new(0),
        };
        identity.read_processes(group, trace);
        identity.read_threads(group, trace);
        identity.read_agents(group, trace);
        identity.read_lanes(group, trace);
        identity.read_symbols(group, trace);
        identity.read_tracks(group, trace);
        identity
    }

    fn read_processes(&mut self, group: &Group<'_>, trace: &mut Trace) {
        let mut nodes: Vec<(i64, StrId, StrId)> = Vec::new();
        group.each(table::INFO_NODE, |row| {
            let Some(id) = row.int("id") else { return };
            let (host, machine) = (row.text("hostname"), row.text("machine_id"));
            nodes.push((id, trace.strings.intern(host), trace.strings.intern(machine)));
        });
        let mut pairs = Vec::new();
        group.each(table::INFO_PROCESS, |row| {
            let Some(id) = row.int("id").or(row.int("pid")) else { return };
            let node = row.int("nid");
            let (hostname, machine) =
                nodes.iter().find(|n| Some(n.0) == node).map_or_else(Default::default, |n| (n.1, n.2));
            let variables = launcher_variables(row.text("environment"));
            for (name, value) in &variables {
                trace.add_metadata(self.source, name, value);
            }
            let process = Process {
                source: self.source,
                guid: self.guid,
                pid: row.int("pid").unwrap_or(id),
                ppid: row.int("ppid").into(),
                node: node.into(),
                machine,
                hostname,
                start: row.int("start").or(row.int("init")),
                end: row.int("end").or(row.int("fini")),
                command: trace.strings.intern(row.text("command")),
                rank: rank_of(&variables),
            };
            pairs.push((id, trace.add_process(process).0));
        });
        if let [(_, only)] = pairs[..] {
            self.only_process = ProcessId(only);
        }
        self.processes = ById::new(&pairs);
    }

    fn read_threads(&mut self, group: &Group<'_>, trace: &mut Trace) {
        let mut pairs = Vec::new();
        group.each(table::INFO_THREAD, |row| {
            let Some(id) = row.int("id") else { return };
            let thread = Thread {
                process: self.process(row.int("pid")),
                tid: row.int("tid").unwrap_or(id),
                name: trace.strings.intern(row.text("name")),
            };
            pairs.push((id, trace.add_thread(thread).0));
        });
        self.threads = ById::new(&pairs);
    }

    fn read_agents(&mut self, group: &Group<'_>, trace: &mut Trace) {
        let mut pairs = Vec::new();
        group.each(table::INFO_AGENT, |row| {
            let Some(id) = row.int("id") else { return };
            let extra = row.text("extdata");
            let facts: Json = serde_json::from_str(extra).unwrap_or_default();
            let product = [row.text("product_name"), row.text("model_name"), row.text("user_name")];
            let product = product.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
            // Since schema 4 the agent's name may be the user's, and the architecture is the generic name.
            let names = [row.text("name"), row.text("generic_name")];
            let target = names.into_iter().find(|name| name.starts_with("gfx"));
            let name = target.or_else(|| names.into_iter().find(|name| !name.is_empty())).unwrap_or_default();
            let agent = Agent {
                process: self.process(row.int("pid")),
                kind: match row.text("type").to_ascii_uppercase().as_str() {
                    "CPU" => AgentKind::Cpu,
                    "GPU" => AgentKind::Gpu,
                    "NIC" => AgentKind::Nic,
                    _ => AgentKind::Unknown,
                },
                absolute_index: row.int("absolute_index").into(),
                logical_index: row.int("logical_index").into(),
                type_index: row.int("type_index").into(),
                name: trace.strings.intern(name),
                product: trace.strings.intern(product),
                compute_units: facts.get("cu_count").and_then(Json::as_i64).filter(|n| *n > 0).into(),
                memory_bytes: memory_of(&facts).into(),
                extra: if extra == "{}" { StrId::EMPTY } else { trace.strings.intern(extra) },
            };
            pairs.push((id, trace.add_agent(agent).0));
        });
        self.agents = ById::new(&pairs);
    }

    fn read_lanes(&mut self, group: &Group<'_>, trace: &mut Trace) {
        let mut pairs = Vec::new();
        group.each(table::INFO_QUEUE, |row| {
            let Some(id) = row.int("id") else { return };
            let name = trace.strings.intern(row.text("name"));
            pairs.push((id, trace.add_queue(Queue { process: self.process(row.int("pid")), id, name }).0));
        });
        self.queues = ById::new(&pairs);
        pairs.clear();
        group.each(table::INFO_STREAM, |row| {
            let Some(id) = row.int("id") else { return };
            let name = trace.strings.intern(row.text("name"));
            pairs.push((id, trace.add_stream(Stream { process: self.process(row.int("pid")), id, name }).0));
        });
        self.streams = ById::new(&pairs);
    }

    fn read_symbols(&mut self, group: &Group<'_>, trace: &mut Trace) {
        let mut pairs = Vec::new();
        group.each(table::INFO_KERNEL_SYMBOL, |row| {
            let Some(id) = row.int("id") else { return };
            let kernel_name = row.text("kernel_name");
            let shown = row.text("display_name");
            let shown = if shown.is_empty() { kernel_name.trim_end_matches(".kd") } else { shown };
            let int = |name| OptI64::from(row.int(name));
            let symbol = KernelSymbol {
                process: self.process(row.int("pid")),
                id,
                code_object: int("code_object_id"),
                kernel_name: trace.strings.intern(kernel_name),
                display_name: trace.strings.intern(shown),
                group_segment_bytes: int("group_segment_size"),
                private_segment_bytes: int("private_segment_size"),
                kernarg_bytes: int("kernarg_segment_size"),
                sgpr: int("sgpr_count"),
                vgpr: int("arch_vgpr_count"),
                agpr: int("accum_vgpr_count"),
            };
            pairs.push((id, self.symbols.len() as u32));
            self.symbols.push(Symbol {
                id: SymbolId::at(trace.symbols.len()),
                name: symbol.display_name,
                lds: symbol.group_segment_bytes,
                scratch: symbol.private_segment_bytes,
                vgpr: symbol.vgpr,
                agpr: symbol.agpr,
                sgpr: symbol.sgpr,
            });
            trace.add_symbol(symbol);
        });
        self.symbols_by_id = ById::new(&pairs);
    }

    fn read_tracks(&mut self, group: &Group<'_>, trace: &mut Trace) {
        let mut pairs = Vec::new();
        group.each(table::TRACK, |row| {
            let Some(id) = row.int("id") else { return };
            pairs.push((id, self.tracks.len() as u32));
            let process = self.process(row.int("pid"));
            // Rows of schema 4 have only a track, so everything that the track names must exist.
            let mut find = |kind, name| Some(self.make_up(kind, row.int(name)?, process, trace));
            let agent = find(EntityKind::Agent, "agent_id").map_or(AgentId::NONE, AgentId);
            let queue = find(EntityKind::Queue, "queue_id").map_or(QueueId::NONE, QueueId);
            let stream = find(EntityKind::Stream, "stream_id").map_or(StreamId::NONE, StreamId);
            let track = Track {
                name: row.int("name_id").and_then(|id| self.string(id)).unwrap_or_default(),
                process,
                agent,
                queue,
                stream,
                thread: row.int("tid").and_then(|id| self.threads.get(id)).map_or(ThreadId::NONE, ThreadId),
            };
            self.tracks.push(track);
        });
        self.tracks_by_id = ById::new(&pairs);
    }

    /// A process; if the row does not say, the only one.
    fn process(&self, id: Option<i64>) -> ProcessId {
        id.and_then(|id| self.processes.get(id)).map_or(self.only_process, ProcessId)
    }

    /// A string of `rocpd_string`.
    #[inline]
    pub fn string(&self, id: i64) -> Option<StrId> {
        self.strings.get(id).map(StrId)
    }

    /// The category of an event.
    #[inline]
    pub fn category(&self, id: i64) -> Option<StrId> {
        match &self.categories {
            Some(categories) => categories.get(id).map(StrId),
            None => self.string(id),
        }
    }

    /// A kernel symbol.
    #[inline]
    pub fn symbol(&self, id: i64) -> Option<Symbol> {
        self.symbols_by_id.get(id).map(|i| self.symbols[i as usize])
    }

    /// A track.
    pub fn track(&self, id: i64) -> Option<Track> {
        self.tracks_by_id.get(id).map(|i| self.tracks[i as usize])
    }

    /// The track for rows whose own is missing.
    #[cold]
    pub fn no_track(&self) -> Track {
        self.lost_tracks.fetch_add(1, Ordering::Relaxed);
        Track { process: self.only_process, ..Track::default() }
    }

    /// Rows whose track is missing.
    pub fn lost_tracks(&self) -> u64 {
        self.lost_tracks.load(Ordering::Relaxed)
    }

    /// The trace's number for what a row refers to.
    #[inline]
    pub fn find(&self, kind: EntityKind, id: i64) -> Option<u32> {
        self.table(kind).get(id)
    }

    fn table(&self, kind: EntityKind) -> &ById {
        match kind {
            EntityKind::Process => &self.processes,
            EntityKind::Thread => &self.threads,
            EntityKind::Agent => &self.agents,
            EntityKind::Queue => &self.queues,
            EntityKind::Stream => &self.streams,
        }
    }

    /// The process of rows whose process is NULL.
    pub fn only_process(&self) -> ProcessId {
        self.only_process
    }

    /// Creates what a row refers to but no table describes: only its number is known.
    pub fn make_up(&mut self, kind: EntityKind, id: i64, process: ProcessId, trace: &mut Trace) -> u32 {
        if let Some(known) = self.find(kind, id) {
            return known;
        }
        self.made_up += 1;
        let name = StrId::EMPTY;
        let number = match kind {
            EntityKind::Process => {
                let process = Process { guid: self.guid, ..Process::new(self.source, id) };
                trace.add_process(process).0
            }
            EntityKind::Thread => trace.add_thread(Thread { process, tid: id, name }).0,
            EntityKind::Agent => {
                let absolute_index = OptI64::some(id);
                trace.add_agent(Agent { process, absolute_index, ..Agent::default() }).0
            }
            EntityKind::Queue => trace.add_queue(Queue { process, id, name }).0,
            EntityKind::Stream => trace.add_stream(Stream { process, id, name }).0,
        };
        match kind {
            EntityKind::Process => self.processes.set(id, number),
            EntityKind::Thread => self.threads.set(id, number),
            EntityKind::Agent => self.agents.set(id, number),
            EntityKind::Queue => self.queues.set(id, number),
            EntityKind::Stream => self.streams.set(id, number),
        }
        number
    }
}

/// Typed ids from the trace's numbers.
pub(super) trait FromNumber {
    fn from_number(number: u32) -> Self;
}

macro_rules! from_number {
    ($($id:ident),*) => {$(
        impl FromNumber for $id {
            fn from_number(number: u32) -> Self { $id(number) }
        }
    )*};
}
from_number!(ProcessId, ThreadId, AgentId, QueueId, StreamId);

/// Categories in their own table.
fn read_categories(group: &Group<'_>, trace: &mut Trace) -> Option<ById> {
    let (base, column) = group.categories();
    (base != table::STRING).then(|| read_strings(group, (base, column), trace))
}

fn read_strings(group: &Group<'_>, (base, column): (&str, &str), trace: &mut Trace) -> ById {
    let (id, string) = (group.column(base, "id"), group.column(base, column));
    let id = if id.is_present() { id } else { Col::ROWID };
    let mut pairs = Vec::new();
    let each = |out: &mut Vec<(i64, String)>, row: &crate::sqlite::Row<'_>| {
        if let (Some(id), Some(text)) = (row.int(id), row.text(string)) {
            out.push((id, text.into_owned()));
        }
    };
    group.scan(base, &[id, string], Vec::new, each, |rows| {
        pairs.extend(rows.into_iter().map(|(id, text)| (id, trace.strings.intern(&text).0)));
    });
    ById::new(&pairs)
}

/// The launcher's variables in a process's environment. No others are kept: they may be secrets.
fn launcher_variables(environment: &str) -> Vec<(&'static str, String)> {
    let known = || launchers::VARIABLES.iter().chain(RANK_VARIABLES).copied();
    if !known().any(|name| environment.contains(name)) {
        return Vec::new();
    }
    let variables: Json = serde_json::from_str(environment).unwrap_or_default();
    let mut found: Vec<(&'static str, String)> = Vec::new();
    for name in known() {
        let value = match variables.get(name) {
            Some(Json::String(text)) => text.trim().to_string(),
            Some(Json::Number(number)) => number.to_string(),
            _ => continue,
        };
        if found.iter().all(|(other, _)| *other != name) {
            found.push((name, value));
        }
    }
    found
}

/// The rank that a launcher set.
fn rank_of(variables: &[(&str, String)]) -> Option<u32> {
    let told = |name: &str| variables.iter().find(|(known, _)| *known == name);
    RANK_VARIABLES.iter().find_map(|name| told(name).and_then(|(_, value)| value.parse().ok()))
}

/// Memory of an agent: the sum of its banks, or its local memory.
fn memory_of(facts: &Json) -> Option<i64> {
    let banks = facts.get("mem_banks").and_then(Json::as_array);
    let size = |bank: &Json| bank.get("size_in_bytes").and_then(Json::as_i64);
    let total: i64 = banks.map_or(0, |banks| banks.iter().filter_map(size).sum());
    let local = || facts.get("local_mem_size").and_then(Json::as_i64);
    if total > 0 { Some(total) } else { local().filter(|bytes| *bytes > 0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_comes_from_the_surest_variable() {
        let rank = |environment: &str| rank_of(&launcher_variables(environment));
        assert_eq!(rank(r#"{"RANK":"7","OMPI_COMM_WORLD_RANK":"3","SECRET":"x"}"#), Some(3));
        assert_eq!(rank(r#"{"SLURM_PROCID":12}"#), Some(12));
        assert_eq!(rank(r#"{"RANK":"seven"}"#), None);
        assert_eq!(rank(r#"{"LOCAL_RANK":"1"}"#), None);
        assert_eq!(rank("not json with RANK"), None);
        let kept = launcher_variables(r#"{"RANK":"7","SLURM_JOB_ID":42,"API_KEY":"x"}"#);
        assert_eq!(kept, [("RANK", "7".to_string()), ("SLURM_JOB_ID", "42".to_string())]);
    }

    #[test]
    fn memory_is_the_sum_of_banks() {
        let facts: Json = serde_json::from_str(
            r#"{"hive_id":18446744073709551615,"mem_banks":[{"size_in_bytes":5},{"size_in_bytes":6}],"local_mem_size":1}"#,
        )
        .unwrap();
        assert_eq!(memory_of(&facts), Some(11));
        assert_eq!(memory_of(&Json::Null), None);
    }
}
