//! Lanes: the (pid, tid) of an event, and what it is in the model: a process, thread, agent or stream.

use std::cell::OnceCell;

use trace::{Agent, AgentId, AgentKind, Map, OptI64, Process, ProcessId, SourceId, Stream, StreamId};
use trace::{StrId, Thread, ThreadId, Trace};

use super::metadata::{Devices, Facts};
use super::names::Names;
use crate::json;

/// Lanes of one worker, by number.
#[derive(Default)]
pub(super) struct LaneNames {
    names: Names,
    key: Vec<u8>,
    /// The thread looked up last, which most events are on.
    last: (Vec<u8>, Vec<u8>, u32),
}

const HOST: u8 = b'h';
const GPU: u8 = b'g';

impl LaneNames {
    /// A thread of a process.
    #[inline]
    pub fn host(&mut self, pid: &[u8], tid: &[u8]) -> u32 {
        let (last_pid, last_tid, lane) = &self.last;
        if last_pid == pid && last_tid == tid && *lane != 0 {
            return *lane;
        }
        let (prefix, bare) = split_prefix(pid);
        let lane = self.intern(HOST, prefix, bare, tid);
        for (last, new) in [(&mut self.last.0, pid), (&mut self.last.1, tid)] {
            last.clear();
            last.extend_from_slice(new);
        }
        self.last.2 = lane;
        lane
    }

    /// A stream of a device; the arguments override the lane, which viewer fixes change.
    #[inline]
    pub fn gpu(&mut self, pid: &[u8], device: &[u8], tid: &[u8], stream: &[u8]) -> u32 {
        let (prefix, pid) = split_prefix(pid);
        let device = if device.is_empty() { pid } else { device };
        let stream = if stream.is_empty() { tid } else { stream };
        self.intern(GPU, prefix, device, stream)
    }

    #[inline]
    fn intern(&mut self, side: u8, prefix: &[u8], pid: &[u8], tid: &[u8]) -> u32 {
        self.key.clear();
        self.key.push(side);
        for part in [prefix, pid, tid] {
            self.key.extend_from_slice(part);
            self.key.push(b'\n');
        }
        self.names.intern(&self.key)
    }

    /// The keys by number; the first means no lane.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.names.len() as u32).map(|id| self.names.get(id))
    }
}

/// `[TP00] 9` of a merged trace is `[TP00]` and `9`.
fn split_prefix(pid: &[u8]) -> (&[u8], &[u8]) {
    if pid.first() != Some(&b'[') {
        return (b"", pid);
    }
    match memchr::memchr(b']', pid) {
        Some(end) => (&pid[..=end], pid[end + 1..].trim_ascii_start()),
        None => (b"", pid),
    }
}

/// A lane of the whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lane {
    gpu: bool,
    /// `[TP00]` in merged traces.
    prefix: String,
    /// Process, or device.
    pid: String,
    /// Thread, or stream.
    tid: String,
    /// Rows on it.
    pub rows: u64,
}

impl Lane {
    pub fn of(key: &[u8]) -> Self {
        let text = String::from_utf8_lossy(key);
        let mut parts = text.get(1..).unwrap_or_default().split('\n');
        let mut next = || parts.next().unwrap_or_default().to_string();
        Self { gpu: key.first() == Some(&GPU), prefix: next(), pid: next(), tid: next(), rows: 0 }
    }
}

/// A name that the trace gives to a process, a thread or a stream.
pub(super) struct Label {
    pub what: String,
    pub pid: String,
    pub tid: String,
    pub text: String,
}

/// Makes processes, threads, agents and streams from lanes, on demand.
pub(super) struct Machine<'t> {
    lanes: Vec<Lane>,
    /// Process of each lane.
    process: Vec<ProcessId>,
    thread: Vec<ThreadId>,
    stream: Vec<StreamId>,
    agent: Vec<Option<AgentId>>,
    agents: Map<(ProcessId, i64), AgentId>,
    /// Agents of allocations by lane and number.
    allocators: Map<(u32, i64), AgentId>,
    /// The only device with rows by prefix; `None` if there are several.
    only_device: OnceCell<Map<String, Option<i64>>>,
    /// Streams that others wait for by lane and number.
    awaited: Map<(u32, i64), StreamId>,
    /// GPU lanes by prefix, device and stream.
    gpu_lanes: OnceCell<Map<[String; 3], u32>>,
    hosts: Map<ProcessId, AgentId>,
    /// Names of threads and streams by (prefix and pid, tid).
    labels: Map<(&'t str, &'t str), Vec<&'t str>>,
    devices: Devices<'t>,
    facts: &'t Facts,
}

impl<'t> Machine<'t> {
    /// Decides which process each lane belongs to and adds the processes to the trace.
    pub fn new(
        lanes: Vec<Lane>,
        labels: &'t [Label],
        facts: &'t Facts,
        guid: &str,
        source: SourceId,
        trace: &mut Trace,
    ) -> Self {
        let groups = Groups::of(&lanes, labels);
        let merged = groups.prefixes.iter().filter(|prefix| !prefix.is_empty()).count() > 1;
        if merged {
            trace.sources[source.0 as usize].role = Some("merged".into());
        } else {
            trace.sources[source.0 as usize].rank = facts.rank;
        }
        let commands = commands(labels);
        let mut processes: Map<(usize, i64), ProcessId> = Map::default();
        let mut mains = Vec::new();
        for (group, prefix) in groups.prefixes.iter().enumerate() {
            let guid = if prefix.is_empty() { guid.to_string() } else { format!("{guid}-{}", bare(prefix)) };
            let rank = if merged { rank_of(prefix) } else { facts.rank };
            for (place, &pid) in groups.pids[group].iter().enumerate() {
                let full = if prefix.is_empty() { pid.to_string() } else { format!("{prefix} {pid}") };
                let command = commands.get(&full[..]).map_or(StrId::EMPTY, |c| trace.strings.intern(c));
                let guid = trace.strings.intern(&guid);
                let process = trace.add_process(Process { guid, command, rank, ..Process::new(source, pid) });
                processes.insert((group, pid), process);
                if place == 0 {
                    mains.push(process);
                }
            }
        }
        let process = lanes
            .iter()
            .map(|lane| {
                let group = groups.of_prefix(&lane.prefix);
                let own = host_pid(lane).and_then(|pid| processes.get(&(group, pid)).copied());
                own.unwrap_or(mains[group])
            })
            .collect();
        let mut names: Map<_, Vec<&str>> = Map::default();
        for label in labels.iter().filter(|label| label.what == "thread_name") {
            names.entry((&label.pid[..], &label.tid[..])).or_default().push(label.text.trim());
        }
        let mut machine = Self {
            thread: vec![ThreadId::NONE; lanes.len()],
            stream: vec![StreamId::NONE; lanes.len()],
            agent: vec![None; lanes.len()],
            process,
            lanes,
            agents: Map::default(),
            allocators: Map::default(),
            only_device: OnceCell::new(),
            awaited: Map::default(),
            gpu_lanes: OnceCell::new(),
            hosts: Map::default(),
            labels: names,
            devices: facts.devices(),
            facts,
        };
        if !merged && let Some(&main) = mains.first() {
            machine.list_devices(main, trace);
        }
        machine
    }

    /// Adds the devices that the trace lists, if its events use the same numbers.
    fn list_devices(&mut self, process: ProcessId, trace: &mut Trace) {
        let listed = |device: i64| self.devices.lists(device);
        let used = self.lanes.iter().filter(|l| l.gpu && l.rows > 0).filter_map(|l| l.pid.parse().ok());
        if { used }.all(listed) {
            for device in &self.facts.devices {
                self.agent_of(process, device.id, trace);
            }
        }
    }

    pub fn process(&self, lane: u32) -> ProcessId {
        self.process[lane as usize]
    }

    /// The thread of a lane; a GPU lane has a placeholder.
    pub fn thread(&mut self, lane: u32, trace: &mut Trace) -> ThreadId {
        let at = lane as usize;
        if !self.thread[at].is_some() {
            let lane = &self.lanes[at];
            let name = if lane.gpu {
                format!("GPU {} stream {}", lane.pid, lane.tid)
            } else {
                self.label(lane, |text| !text.starts_with("stream "))
                    .unwrap_or(text_of(&lane.tid))
                    .to_string()
            };
            // Text has no number: use one that no thread can have.
            let tid = json::integer(lane.tid.as_bytes()).unwrap_or(-2 - at as i64);
            let name = trace.strings.intern(&name);
            self.thread[at] = trace.add_thread(Thread { process: self.process[at], tid, name });
        }
        self.thread[at]
    }

    /// Whether a lane is a thread of the host.
    pub fn is_host(&self, lane: u32) -> bool {
        !self.lanes[lane as usize].gpu
    }

    /// The stream of a GPU lane; `NONE` if its number means "no stream".
    pub fn stream(&mut self, lane: u32, trace: &mut Trace) -> StreamId {
        let at = lane as usize;
        if !self.stream[at].is_some()
            && let Some(id) = json::integer(self.lanes[at].tid.as_bytes())
            && (0..i64::from(u32::MAX)).contains(&id)
        {
            let name = self.label(&self.lanes[at], |text| text.starts_with("stream"));
            let name = name.map_or(StrId::EMPTY, |name| trace.strings.intern(name));
            self.stream[at] = trace.add_stream(Stream { process: self.process[at], id, name });
        }
        self.stream[at]
    }

    /// The stream with a number on the device of a lane.
    pub fn stream_numbered(&mut self, lane: u32, id: i64, trace: &mut Trace) -> StreamId {
        if let Some(stream) = self.awaited.get(&(lane, id)) {
            return *stream;
        }
        let here = &self.lanes[lane as usize];
        let place = [here.prefix.clone(), here.pid.clone(), id.to_string()];
        let gpu_lanes = self.gpu_lanes.get_or_init(|| {
            let mut found = Map::default();
            for (at, lane) in self.lanes.iter().enumerate().filter(|(_, lane)| lane.gpu) {
                let place = [&lane.prefix, &lane.pid, &lane.tid].map(String::clone);
                found.entry(place).or_insert(at as u32);
            }
            found
        });
        let stream = match gpu_lanes.get(&place).copied() {
            Some(at) => self.stream(at, trace),
            None => StreamId::NONE,
        };
        self.awaited.insert((lane, id), stream);
        stream
    }

    /// The device of a GPU lane.
    pub fn agent(&mut self, lane: u32, trace: &mut Trace) -> AgentId {
        let at = lane as usize;
        if let Some(agent) = self.agent[at] {
            return agent;
        }
        let agent = match json::integer(self.lanes[at].pid.as_bytes()) {
            Some(device) => self.agent_of(self.process(lane), device, trace),
            None => AgentId::NONE,
        };
        self.agent[at] = Some(agent);
        agent
    }

    /// A device of a process by its number.
    pub fn agent_of(&mut self, process: ProcessId, device: i64, trace: &mut Trace) -> AgentId {
        let known = self.devices.get(device);
        *self.agents.entry((process, device)).or_insert_with(|| {
            let mut text = |text: &str| trace.strings.intern(text);
            let agent = Agent {
                process,
                kind: AgentKind::Gpu,
                absolute_index: OptI64::some(device),
                product: known.map_or(StrId::EMPTY, |d| text(&d.name)),
                compute_units: known.map_or(OptI64::NONE, |d| d.compute_units),
                memory_bytes: known.map_or(OptI64::NONE, |d| d.memory_bytes),
                extra: known.map_or(StrId::EMPTY, |d| text(&d.json)),
                ..Agent::default()
            };
            trace.add_agent(agent)
        })
    }

    /// The device of an allocation. Its number may count visible devices or agents: if only one device is
    /// used, it is that one.
    pub fn allocator(&mut self, lane: u32, number: i64, trace: &mut Trace) -> AgentId {
        if let Some(agent) = self.allocators.get(&(lane, number)) {
            return *agent;
        }
        let only_device = self.only_device.get_or_init(|| {
            let mut only: Map<String, Option<i64>> = Map::default();
            for lane in self.lanes.iter().filter(|lane| lane.gpu && lane.rows > 0) {
                if let Some(device) = json::integer(lane.pid.as_bytes()) {
                    let known = only.entry(lane.prefix.clone()).or_insert(Some(device));
                    *known = known.filter(|known| *known == device);
                }
            }
            only
        });
        let only = only_device.get(&self.lanes[lane as usize].prefix).copied().flatten();
        let device = only.unwrap_or(number);
        let agent = self.agent_of(self.process(lane), device, trace);
        self.allocators.insert((lane, number), agent);
        agent
    }

    /// The CPU of a process, one end of copies.
    pub fn host(&mut self, process: ProcessId, trace: &mut Trace) -> AgentId {
        *self
            .hosts
            .entry(process)
            .or_insert_with(|| trace.add_agent(Agent { process, kind: AgentKind::Cpu, ..Agent::default() }))
    }

    fn label(&self, lane: &Lane, fits: impl Fn(&str) -> bool) -> Option<&'t str> {
        let pid =
            if lane.prefix.is_empty() { lane.pid.clone() } else { format!("{} {}", lane.prefix, lane.pid) };
        let names = self.labels.get(&(&pid[..], &lane.tid[..]))?;
        names.iter().copied().find(|text| fits(text))
    }
}

/// Lanes of one run: all lanes in a file, or those with one prefix.
#[derive(Default)]
struct Groups {
    prefixes: Vec<String>,
    places: Map<String, usize>,
    /// Host processes of each group, the main one first. Never empty.
    pids: Vec<Vec<i64>>,
}

impl Groups {
    fn of(lanes: &[Lane], labels: &[Label]) -> Self {
        let mut groups = Self::default();
        let mut rows: Map<(usize, i64), u64> = Map::default();
        // In a merged trace, lanes without a prefix belong to no single rank.
        let any_prefix = lanes.iter().find(|lane| !lane.prefix.is_empty());
        for lane in lanes {
            if lane.prefix.is_empty() && any_prefix.is_some() {
                continue;
            }
            let group = groups.add(&lane.prefix);
            if let Some(pid) = host_pid(lane) {
                let of_pid = rows.entry((group, pid)).or_insert_with(|| {
                    groups.pids[group].push(pid);
                    0
                });
                *of_pid += lane.rows;
            }
        }
        if groups.prefixes.is_empty() {
            groups.add("");
        }
        let labelled = labelled_cpus(labels);
        for (group, pids) in groups.pids.iter_mut().enumerate() {
            if pids.is_empty() {
                let prefix = groups.prefixes[group].as_bytes();
                pids.push(labelled.get(prefix).copied().unwrap_or(0));
            }
            // Stable: on a tie the first in the file is the main one.
            pids.sort_by_key(|pid| std::cmp::Reverse(rows.get(&(group, *pid)).copied().unwrap_or(0)));
        }
        groups
    }

    fn add(&mut self, prefix: &str) -> usize {
        if let Some(&group) = self.places.get(prefix) {
            return group;
        }
        self.places.insert(prefix.into(), self.prefixes.len());
        self.prefixes.push(prefix.into());
        self.pids.push(Vec::new());
        self.prefixes.len() - 1
    }

    fn of_prefix(&self, prefix: &str) -> usize {
        self.places.get(prefix).copied().unwrap_or(0)
    }
}

/// The process of a host lane; words (`Spans`) and negative numbers are not processes.
fn host_pid(lane: &Lane) -> Option<i64> {
    if lane.gpu || lane.pid.is_empty() {
        return None;
    }
    json::integer(lane.pid.as_bytes()).filter(|pid| *pid >= 0)
}

/// The process labelled as the host's, by prefix.
fn labelled_cpus(labels: &[Label]) -> Map<&[u8], i64> {
    let mut found = Map::default();
    for label in labels.iter().filter(|label| label.what == "process_labels" && label.text == "CPU") {
        let (prefix, pid) = split_prefix(label.pid.as_bytes());
        if let Some(pid) = json::integer(pid) {
            found.entry(prefix).or_insert(pid);
        }
    }
    found
}

/// Names of processes by prefix and pid.
fn commands(labels: &[Label]) -> Map<&str, &str> {
    let mut found = Map::default();
    for label in labels.iter().filter(|label| label.what == "process_name") {
        found.entry(&label.pid[..]).or_insert(label.text.trim());
    }
    found
}

/// `[TP03]` is rank 3; prefixes with more dimensions do not show the rank.
fn rank_of(prefix: &str) -> Option<u32> {
    bare(prefix).strip_prefix("TP").or_else(|| bare(prefix).strip_prefix("rank"))?.trim().parse().ok()
}

fn bare(prefix: &str) -> &str {
    prefix.trim_start_matches('[').trim_end_matches(']')
}

/// A textual thread id is the thread's name.
fn text_of(tid: &str) -> &str {
    if json::integer(tid.as_bytes()).is_some() { "" } else { tid }
}
