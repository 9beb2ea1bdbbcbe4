//! Tracks: processes, threads, streams, queues, devices and series of numbers, told by descriptors and names.

use trace::{Agent, AgentId, AgentKind, Map, Process, ProcessId, SourceId, StrId, Thread, ThreadId, Trace};

use super::wire::Fields;

/// `TrackDescriptor`
#[derive(Clone, Debug, Default)]
struct Described {
    parent: u64,
    name: String,
    process: Option<Process>,
    /// Process and thread.
    thread: Option<(i64, i64, String)>,
    counter: Option<Counter>,
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
pub(super) struct Place {
    pub process: ProcessId,
    pub thread: ThreadId,
    pub agent: AgentId,
    pub stream: Option<i64>,
    pub queue: Option<i64>,
    /// Name of the series and its unit.
    pub name: StrId,
    pub unit: StrId,
    /// Values are this much of the unit.
    pub factor: f64,
    /// Values are told as what is added to the last.
    pub incremental: bool,
}

/// Units that descriptors number.
const UNITS: &[(u64, &str)] = &[(1, "ns"), (2, "count"), (3, "bytes")];

/// How deep tracks may be nested; files that go in circles end here.
const DEEPEST: usize = 16;

/// All tracks of a file.
#[derive(Default)]
pub(super) struct Tracks {
    source: SourceId,
    identity: u64,
    described: Map<u64, Described>,
    places: Map<u64, Place>,
    processes: Map<i64, ProcessId>,
    threads: Map<(ProcessId, i64), ThreadId>,
    agents: Map<(ProcessId, AgentKind, i64), AgentId>,
}

impl Tracks {
    pub fn new(source: SourceId, identity: u64) -> Self {
        Self { source, identity, ..Self::default() }
    }

    /// Takes a descriptor; of two of one track the later adds to the first.
    pub fn describe(&mut self, bytes: &[u8], trace: &mut Trace) {
        let (mut uuid, mut track) = (0, Described::default());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        for (field, value) in Fields::of(bytes) {
            match field {
                1 => uuid = value.whole(),
                2 | 10 => track.name = text(value.bytes()),
                3 => track.process = Some(process(value.bytes(), trace)),
                4 => {
                    let (mut pid, mut tid, mut name) = (0, 0, String::new());
                    for (field, value) in Fields::of(value.bytes()) {
                        match field {
                            1 => pid = value.whole() as i64,
                            2 => tid = value.whole() as i64,
                            5 => name = text(value.bytes()),
                            _ => {}
                        }
                    }
                    track.thread = Some((pid, tid, name));
                }
                5 => track.parent = value.whole(),
                8 => track.counter = Some(counter(value.bytes())),
                _ => {}
            }
        }
        let known = self.described.entry(uuid).or_default();
        if track.parent != 0 {
            known.parent = track.parent;
        }
        if !track.name.is_empty() {
            known.name = track.name;
        }
        known.process = track.process.or(known.process.take());
        known.thread = track.thread.or(known.thread.take());
        known.counter = track.counter.or(known.counter.take());
    }

    /// Where the rows of a track belong.
    pub fn place(&mut self, uuid: u64, trace: &mut Trace) -> Place {
        if let Some(place) = self.places.get(&uuid) {
            return *place;
        }
        let place = self.find(uuid, trace);
        self.places.insert(uuid, place);
        place
    }

    fn find(&mut self, uuid: u64, trace: &mut Trace) -> Place {
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
        let about = chain.iter().find_map(|track| track.process.clone());
        let process = self.process(pid.unwrap_or(0), about, trace);
        let mut place = Place { process, factor: 1.0, ..Place::default() };
        if let Some((_, tid, name)) = chain.iter().find_map(|track| track.thread.as_ref()) {
            place.thread = self.thread(process, *tid, Some(name), trace);
        }
        for track in chain.iter().filter(|track| track.process.is_none() && track.thread.is_none()) {
            let words: Vec<&str> = words(&track.name).collect();
            place.stream = place.stream.or_else(|| number_after(&words, &["stream"]));
            place.queue = place.queue.or_else(|| number_after(&words, &["queue"]));
            if !place.agent.is_some() {
                place.agent = self.labelled(process, &track.name, trace);
            }
        }
        if let Some(track) = chain.first() {
            place.name = trace.strings.intern(series_name(&track.name));
            if let Some(counter) = &track.counter {
                place.unit = trace.strings.intern(&counter.unit);
                (place.factor, place.incremental) = (counter.factor, counter.incremental);
            }
        }
        place
    }

    fn process(&mut self, pid: i64, about: Option<Process>, trace: &mut Trace) -> ProcessId {
        if let Some(&known) = self.processes.get(&pid) {
            return known;
        }
        // Correlation ids are unique in a process only, so each is a recording of its own.
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
    pub fn labelled(&mut self, process: ProcessId, text: &str, trace: &mut Trace) -> AgentId {
        let words: Vec<&str> = words(text).collect();
        let absolute = number_after(&words, &["agent"]);
        let of_kind = [("gpu", AgentKind::Gpu), ("cpu", AgentKind::Cpu), ("nic", AgentKind::Nic)]
            .into_iter()
            .find_map(|(word, kind)| Some((kind, number_after(&words, &[word])?)));
        let keys = [
            of_kind.map(|(kind, index)| (process, kind, index)),
            absolute.map(|index| (process, AgentKind::Unknown, index)),
        ];
        if keys == [None, None] {
            return AgentId::NONE;
        }
        let known = keys.iter().flatten().find_map(|key| self.agents.get(key)).copied();
        let id = known.unwrap_or_else(|| {
            let product = product(text).unwrap_or_default();
            let text = trace.strings.intern(product);
            let is_arch = product.starts_with("gfx");
            trace.add_agent(Agent {
                process,
                kind: of_kind.map_or(AgentKind::Gpu, |(kind, _)| kind),
                type_index: of_kind.map(|(_, index)| index).into(),
                absolute_index: absolute.into(),
                name: if is_arch { text } else { StrId::EMPTY },
                product: if is_arch { StrId::EMPTY } else { text },
                ..Agent::default()
            })
        });
        for key in keys.into_iter().flatten() {
            self.agents.entry(key).or_insert(id);
        }
        id
    }
}

fn process(bytes: &[u8], trace: &mut Trace) -> Process {
    let (mut process, mut words, mut name) = (Process::default(), Vec::new(), String::new());
    for (field, value) in Fields::of(bytes) {
        match field {
            1 => process.pid = value.whole() as i64,
            2 => words.push(String::from_utf8_lossy(value.bytes()).into_owned()),
            6 => name = String::from_utf8_lossy(value.bytes()).into_owned(),
            7 => process.start = i64::try_from(value.whole()).ok(),
            _ => {}
        }
    }
    let command = if words.is_empty() { name } else { words.join(" ") };
    process.command = trace.strings.intern(&command);
    process
}

fn counter(bytes: &[u8]) -> Counter {
    let mut counter = Counter { factor: 1.0, ..Counter::default() };
    for (field, value) in Fields::of(bytes) {
        match field {
            3 => {
                let known = UNITS.iter().find(|(number, _)| *number == value.whole());
                counter.unit = known.map_or(String::new(), |(_, unit)| (*unit).to_string());
            }
            4 => counter.factor = value.whole() as i64 as f64,
            5 => counter.incremental = value.whole() != 0,
            6 => counter.unit = String::from_utf8_lossy(value.bytes()).into_owned(),
            _ => {}
        }
    }
    counter
}

/// The name of a series without what it is of: `GPU [0] PMC SQ_WAVES` is `SQ_WAVES`.
fn series_name(track: &str) -> &str {
    track.rsplit_once("PMC ").map_or(track, |(_, counter)| counter)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', '-', '[', ']', '(', ')', ':', ',']).filter(|word| !word.is_empty())
}

/// The number right after one of these words.
fn number_after(words: &[&str], of: &[&str]) -> Option<i64> {
    words.windows(2).find_map(|pair| {
        let [word, number] = *pair else { return None };
        of.iter().any(|of| word.eq_ignore_ascii_case(of)).then(|| number.parse().ok()).flatten()
    })
}

/// The product in a device's label: what is between its number and its place among all devices.
fn product(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("GPU ").or_else(|| text.strip_prefix("CPU "))?;
    let (number, rest) = rest.split_once(' ')?;
    number.parse::<u32>().ok()?;
    let end = rest.find(" [Agent").unwrap_or(rest.len());
    Some(&rest[..end]).filter(|product| !product.contains("QUEUE") && !product.contains("PMC"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_name_devices_streams_and_queues() {
        let (mut tracks, mut trace) = (Tracks::new(SourceId::default(), 0), Trace::default());
        let process = tracks.process(7, None, &mut trace);
        let mut named = |text: &str| tracks.labelled(process, text, &mut trace);
        let first = named("GPU 0 AMD Instinct MI300X [Agent 4]");
        assert_eq!(named("COMPUTE GPU [0] QUEUE [1] GPU"), first);
        assert_eq!(named("Agent-4"), first);
        assert_ne!(named("COPY to AGENT [5] THREAD [2] (GPU)"), first);
        assert_eq!(named("STREAM [3]"), AgentId::NONE);
        assert_eq!(trace.strings.get(trace.agents[0].product), "AMD Instinct MI300X");
        let split: Vec<&str> = words("COMPUTE Agent [4] QUEUE [12] GPU").collect();
        assert_eq!(number_after(&split, &["queue"]), Some(12));
    }
}
