//! Tracks: processes, threads, streams, queues, devices and series of numbers, from descriptors and names.

use formats::perfetto::{
    COUNTER_OF_DISPATCHES, MEMORY_IN_USE, counter as series, parse_process_name, process as fields, thread,
    track,
};
use trace::{Agent, AgentId, AgentKind, Map, Process, ProcessId, SourceId, StrId, Thread, ThreadId, Trace};

use crate::protobuf::Fields;

/// `TrackDescriptor`
#[derive(Clone, Debug, Default)]
struct Described {
    parent: u64,
    name: String,
    /// Facts that our own files store about a device, a thread or a process.
    about: String,
    process: Option<Process>,
    /// Process and thread.
    thread: Option<(i64, i64, String)>,
    counter: Option<Counter>,
}

impl Described {
    /// Perfetto accepts only small numbers for threads; our own files put others in words.
    fn is_thread(&self) -> bool {
        self.thread.is_some() || self.about.starts_with("thread ")
    }
}

/// `CounterDescriptor`
#[derive(Clone, Debug, Default)]
struct Counter {
    unit: String,
    factor: f64,
    incremental: bool,
}

/// What rows on a track have in common.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TrackOwner {
    pub process: ProcessId,
    pub thread: ThreadId,
    /// The thread for a track that is described as neither thread nor device: its number and name.
    pub lane: Option<(i64, StrId)>,
    pub agent: AgentId,
    pub stream: Option<i64>,
    pub queue: Option<i64>,
    /// Name of the series and its unit.
    pub name: StrId,
    pub unit: StrId,
    /// Values are in this multiple of the unit.
    pub factor: f64,
    /// Values are stored as increments.
    pub incremental: bool,
    /// Values repeat rows that are read anyway.
    pub derived: bool,
}

/// Units that descriptors number.
const UNITS: &[(u64, &str)] = &[(1, "ns"), (2, "count"), (3, "bytes")];

/// Limit for the nesting of tracks; circular references end here.
const DEEPEST: usize = 16;

/// All tracks of a file.
#[derive(Default)]
pub(super) struct Tracks {
    source: SourceId,
    identity: u64,
    described: Map<u64, Described>,
    /// In the order of the file.
    order: Vec<u64>,
    places: Map<u64, TrackOwner>,
    processes: Map<i64, ProcessId>,
    threads: Map<(ProcessId, i64), ThreadId>,
    agents: Map<(ProcessId, AgentKind, i64), AgentId>,
}

impl Tracks {
    pub fn new(source: SourceId, identity: u64) -> Self {
        Self { source, identity, ..Self::default() }
    }

    /// Takes a descriptor; a second one for the same track adds to the first.
    pub fn describe(&mut self, bytes: &[u8], trace: &mut Trace) {
        let (mut uuid, mut track) = (0, Described::default());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        for (field, value) in Fields::of(bytes) {
            match field {
                track::UUID => uuid = value.whole(),
                track::NAME | track::STATIC_NAME => track.name = text(value.bytes()),
                track::PROCESS => track.process = Some(process(value.bytes(), trace)),
                track::THREAD => {
                    let (mut pid, mut tid, mut name) = (0, 0, String::new());
                    for (field, value) in Fields::of(value.bytes()) {
                        match field {
                            thread::PID => pid = value.whole() as i64,
                            thread::TID => tid = value.whole() as i64,
                            thread::NAME => name = text(value.bytes()),
                            _ => {}
                        }
                    }
                    track.thread = Some((pid, tid, name));
                }
                track::PARENT => track.parent = value.whole(),
                track::COUNTER => track.counter = Some(counter(value.bytes())),
                track::DESCRIPTION => track.about = text(value.bytes()),
                _ => {}
            }
        }
        if !self.described.contains_key(&uuid) {
            self.order.push(uuid);
        }
        let known = self.described.entry(uuid).or_default();
        if track.parent != 0 {
            known.parent = track.parent;
        }
        if !track.name.is_empty() {
            known.name = track.name;
        }
        if !track.about.is_empty() {
            known.about = track.about;
        }
        known.process = track.process.or(known.process.take());
        known.thread = track.thread.or(known.thread.take());
        known.counter = track.counter.or(known.counter.take());
    }

    /// Creates the devices that tracks name, before copies refer to them by number.
    pub fn make_devices(&mut self, trace: &mut Trace) {
        for uuid in std::mem::take(&mut self.order) {
            let names_device = self
                .described
                .get(&uuid)
                .is_some_and(|track| !track.is_thread() && Device::of(&track.name).is_some());
            if names_device {
                self.place(uuid, trace);
            }
        }
    }

    /// Counters that dispatches have values of, and their units.
    pub fn counters(&self) -> impl Iterator<Item = (&str, &str)> {
        self.described.values().filter_map(|track| {
            Some((track.name.strip_prefix(COUNTER_OF_DISPATCHES)?, track.counter.as_ref()?.unit.as_str()))
        })
    }

    /// The owner of a track's rows.
    pub fn place(&mut self, uuid: u64, trace: &mut Trace) -> TrackOwner {
        if let Some(place) = self.places.get(&uuid) {
            return *place;
        }
        let place = self.find(uuid, trace);
        self.places.insert(uuid, place);
        place
    }

    fn find(&mut self, uuid: u64, trace: &mut Trace) -> TrackOwner {
        let mut chain: Vec<Described> = Vec::new();
        let mut next = uuid;
        while chain.len() < DEEPEST
            && let Some(track) = self.described.get(&next)
        {
            next = track.parent;
            chain.push(track.clone());
        }
        let pid = chain.iter().find_map(|track| Some(track.process.as_ref()?.pid));
        let pid = pid.or_else(|| chain.iter().find_map(|track| Some(track.thread.as_ref()?.0)));
        let about = chain.iter().find_map(|track| Some((track.process.clone()?, track.about.as_str())));
        let about = about.map(|(process, about)| Process {
            hostname: trace.strings.intern(about.strip_prefix("host ").unwrap_or_default()),
            ..process
        });
        let process = self.process(pid.unwrap_or(0), about, trace);
        let mut place = TrackOwner { process, factor: 1.0, ..TrackOwner::default() };
        if let Some((_, tid, name)) = chain.iter().find_map(|track| track.thread.as_ref()) {
            place.thread = self.thread(process, *tid, Some(name), trace);
        }
        for track in chain.iter().filter(|track| track.process.is_none() && !track.is_thread()) {
            let words: Vec<&str> = words(&track.name).collect();
            place.stream = place.stream.or_else(|| number_after(&words, "stream"));
            place.queue = place.queue.or_else(|| number_after(&words, "queue"));
            if !place.agent.is_some() {
                place.agent = self.labelled(process, &track.name, &track.about, trace);
            }
        }
        let own = chain.iter().zip(0..).filter(|(track, _)| track.process.is_none()).last();
        if let Some((track, depth)) = own.filter(|_| !place.thread.is_some() && !place.agent.is_some()) {
            let given = track.about.strip_prefix("thread ").and_then(|tid| tid.parse().ok());
            let tid = given.unwrap_or_else(|| self.ancestor(uuid, depth) as i64);
            place.lane = Some((tid, trace.strings.intern(&track.name)));
        }
        if let Some(track) = chain.first() {
            place.name = trace.strings.intern(series_name(&track.name));
            if let Some(counter) = &track.counter {
                place.unit = trace.strings.intern(&counter.unit);
                place.derived = track.name.starts_with(COUNTER_OF_DISPATCHES) || track.name == MEMORY_IN_USE;
                (place.factor, place.incremental) = (counter.factor, counter.incremental);
            }
        }
        place
    }

    /// The track `steps` levels above one.
    fn ancestor(&self, uuid: u64, steps: usize) -> u64 {
        (0..steps).fold(uuid, |uuid, _| self.described.get(&uuid).map_or(uuid, |track| track.parent))
    }

    fn process(&mut self, pid: i64, about: Option<Process>, trace: &mut Trace) -> ProcessId {
        if let Some(&known) = self.processes.get(&pid) {
            return known;
        }
        // Correlation ids are unique only within a process, so each process is a recording.
        let guid = trace.strings.intern(&format!("perfetto-{:016x}-{pid}", self.identity));
        let process = Process { source: self.source, guid, pid, ..about.unwrap_or_default() };
        let id = trace.add_process(process);
        self.processes.insert(pid, id);
        id
    }

    /// The thread of a process.
    pub fn thread(
        &mut self,
        process: ProcessId,
        tid: i64,
        name: Option<&str>,
        trace: &mut Trace,
    ) -> ThreadId {
        let name = name.map_or(StrId::EMPTY, |name| trace.strings.intern(name));
        let new = || trace.add_thread(Thread { process, tid, name });
        let id = *self.threads.entry((process, tid)).or_insert_with(new);
        if let Some(known) = id.get().map(|row| &mut trace.threads[row].name).filter(|known| known.is_empty())
        {
            *known = name;
        }
        id
    }

    /// The device of an index among all devices.
    pub fn agent(&mut self, process: ProcessId, index: i64, kind: AgentKind, trace: &mut Trace) -> AgentId {
        let new = || {
            trace.add_agent(Agent { process, kind, absolute_index: Some(index).into(), ..Agent::default() })
        };
        *self.agents.entry((process, AgentKind::Unknown, index)).or_insert_with(new)
    }

    /// The device that a text names: `GPU 0 AMD Instinct MI300X [Agent 4]`, `COMPUTE GPU [0] QUEUE [1]`, `Agent-4`.
    pub fn labelled(&mut self, process: ProcessId, text: &str, about: &str, trace: &mut Trace) -> AgentId {
        let Some(Device { of_kind, absolute, product }) = Device::of(text) else { return AgentId::NONE };
        let keys = [
            of_kind.and_then(|(kind, index)| Some((process, kind, index?))),
            absolute.map(|index| (process, AgentKind::Unknown, index)),
        ];
        let known = keys.iter().flatten().find_map(|key| self.agents.get(key)).copied();
        let id = known.unwrap_or_else(|| {
            let text = trace.strings.intern(product);
            let is_arch = product.starts_with("gfx");
            trace.add_agent(Agent {
                process,
                kind: of_kind.map_or(AgentKind::Gpu, |(kind, _)| kind),
                type_index: of_kind.and_then(|(_, index)| index).into(),
                absolute_index: absolute.into(),
                name: if is_arch { text } else { StrId::EMPTY },
                product: if is_arch { StrId::EMPTY } else { text },
                ..Agent::default()
            })
        });
        if let Some(agent) = id.get().map(|row| &mut trace.agents[row]) {
            if agent.product.is_empty() && !product.starts_with("gfx") {
                agent.product = trace.strings.intern(product);
            }
            for fact in about.split(", ") {
                let number =
                    |of: &str| fact.strip_suffix(of).and_then(|number| number.trim_end().parse().ok());
                if fact.starts_with("gfx") {
                    agent.name = trace.strings.intern(fact);
                } else if let Some(units) = number("compute units") {
                    agent.compute_units = Some(units).into();
                } else if let Some(bytes) = number("bytes") {
                    agent.memory_bytes = Some(bytes).into();
                }
            }
        }
        for key in keys.into_iter().flatten() {
            self.agents.entry(key).or_insert(id);
        }
        id
    }
}

/// A device as a label names it.
struct Device<'a> {
    /// Its kind, and its number within the kind.
    of_kind: Option<(AgentKind, Option<i64>)>,
    /// Its number among all devices.
    absolute: Option<i64>,
    product: &'a str,
}

impl<'a> Device<'a> {
    fn of(label: &'a str) -> Option<Self> {
        let words: Vec<&str> = words(label).collect();
        let mut absolute = number_after(&words, "agent");
        let mut of_kind = [("gpu", AgentKind::Gpu), ("cpu", AgentKind::Cpu), ("nic", AgentKind::Nic)]
            .into_iter()
            .find_map(|(word, kind)| Some((kind, Some(number_after(&words, word)?))));
        // Our own labels have no brackets, and one number only if the source had just the overall one.
        if let (Some((kind, number)), None, true) = (of_kind, absolute, own_number(label).is_some()) {
            (of_kind, absolute) = (Some((kind, None)), number);
        }
        let product = product(label).unwrap_or_default();
        (of_kind.is_some() || absolute.is_some()).then_some(Self { of_kind, absolute, product })
    }
}

fn process(bytes: &[u8], trace: &mut Trace) -> Process {
    let (mut process, mut words, mut name) = (Process::default(), Vec::new(), String::new());
    for (field, value) in Fields::of(bytes) {
        match field {
            fields::PID => process.pid = value.whole() as i64,
            fields::COMMAND_LINE => words.push(String::from_utf8_lossy(value.bytes()).into_owned()),
            fields::NAME => name = String::from_utf8_lossy(value.bytes()).into_owned(),
            fields::START => process.start = i64::try_from(value.whole()).ok(),
            _ => {}
        }
    }
    // Our own files put the rank before the program's name.
    let is_own = parse_process_name(&name).map(|(rank, program)| (rank, program.to_string()));
    if let Some((rank, program)) = is_own.clone() {
        process.rank = rank;
        name = program;
    }
    let command = match words.is_empty() {
        true if is_own.is_some() && name == "process" => String::new(),
        true => name,
        false => words.join(" "),
    };
    process.command = trace.strings.intern(&command);
    process
}

fn counter(bytes: &[u8]) -> Counter {
    let mut counter = Counter { factor: 1.0, ..Counter::default() };
    for (field, value) in Fields::of(bytes) {
        match field {
            series::UNIT => {
                let known = UNITS.iter().find(|(number, _)| *number == value.whole());
                counter.unit = known.map_or(String::new(), |(_, unit)| (*unit).to_string());
            }
            series::FACTOR => counter.factor = value.whole() as i64 as f64,
            series::INCREMENTAL => counter.incremental = value.whole() != 0,
            series::UNIT_NAME => counter.unit = String::from_utf8_lossy(value.bytes()).into_owned(),
            _ => {}
        }
    }
    counter
}

/// The name of a series without its subject: `GPU [0] PMC SQ_WAVES` is `SQ_WAVES`.
fn series_name(track: &str) -> &str {
    track.rsplit_once(COUNTER_OF_DISPATCHES).map_or(track, |(_, counter)| counter)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', '-', '[', ']', '(', ')', ':', ',']).filter(|word| !word.is_empty())
}

/// The number right after a word.
fn number_after(words: &[&str], of: &str) -> Option<i64> {
    words.windows(2).find_map(|pair| pair[1].parse().ok().filter(|_| pair[0].eq_ignore_ascii_case(of)))
}

/// The number in our own labels, and what follows it: `GPU 0 AMD Instinct MI300X [Agent 4]`.
fn own_number(label: &str) -> Option<(u32, &str)> {
    let rest = ["GPU ", "CPU ", "NIC "].iter().find_map(|kind| label.strip_prefix(kind))?;
    let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    Some((number.parse().ok()?, rest))
}

/// The product in a device's label: what is between its number and its index among all devices.
fn product(label: &str) -> Option<&str> {
    let (_, rest) = own_number(label)?;
    let end = rest.find("[Agent").unwrap_or(rest.len());
    Some(rest[..end].trim_end()).filter(|product| {
        let of_a_lane = ["queue", "stream", "pmc"];
        !words(product).any(|word| of_a_lane.iter().any(|lane| word.eq_ignore_ascii_case(lane)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_name_devices_streams_and_queues() {
        let (mut tracks, mut trace) = (Tracks::new(SourceId::default(), 0), Trace::default());
        let process = tracks.process(7, None, &mut trace);
        let mut named = |text: &str| tracks.labelled(process, text, "", &mut trace);
        let first = named("GPU 0 AMD Instinct MI300X [Agent 4]");
        assert_eq!(named("COMPUTE GPU [0] QUEUE [1] GPU"), first);
        assert_eq!(named("Agent-4"), first);
        assert_ne!(named("COPY to AGENT [5] THREAD [2] (GPU)"), first);
        assert_eq!(named("STREAM [3]"), AgentId::NONE);
        let of_lane = named("GPU 9 stream 0");
        assert_eq!(named("GPU 9 AMD Radeon Graphics"), of_lane);
        let alone = named("GPU 2 AMD Instinct MI300X VF");
        assert!(alone != first && named("Agent-2") == alone, "its number among all devices");
        let facts = "gfx942, 304 compute units, 206158430208 bytes";
        assert_eq!(tracks.labelled(process, "GPU 2 AMD Instinct MI300X VF", facts, &mut trace), alone);
        let agent = &trace.agents[alone.get().expect("a row")];
        assert_eq!((agent.type_index.get(), agent.absolute_index.get()), (None, Some(2)));
        assert_eq!((trace.strings.get(agent.name), agent.compute_units.get()), ("gfx942", Some(304)));
        assert_eq!(agent.memory_bytes.get(), Some(206_158_430_208));
        assert_eq!(trace.strings.get(trace.agents[0].product), "AMD Instinct MI300X");
        let agent = &trace.agents[of_lane.get().expect("a row")];
        assert_eq!(trace.strings.get(agent.product), "AMD Radeon Graphics");
        let split: Vec<&str> = words("COMPUTE Agent [4] QUEUE [12] GPU").collect();
        assert_eq!(number_after(&split, "queue"), Some(12));
    }
}
