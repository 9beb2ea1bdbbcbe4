//! What the host did, in order: launches, event records and waits, blocking calls, from any source.
//!
//! rocpd tells events with their streams in a table of their own and blocking calls as regions; torch on CUDA
//! tells waits as GPU-side records beside the calls; torch on ROCm tells only the calls. Rows with one
//! correlation id are one operation.

use trace::{Map, OptI64, SourceId, StrId, Trace};

use super::device::Device;
use super::order::Op;
use super::rules::{Rules, SyncKind};

/// How much of the order the source tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Knowledge {
    /// Work whose launch is known.
    pub launched: usize,
    /// Event records.
    pub records: usize,
    /// Waits of a stream for an event.
    pub waits: usize,
    /// Those whose streams or event are not told.
    pub unresolved: usize,
    /// Calls that blocked the host.
    pub blocks: usize,
}

impl Knowledge {
    /// Whether the order between streams can be told.
    pub fn is_enough(&self) -> bool {
        self.launched > 0 && self.unresolved == 0 && self.records > 0
    }
}

/// One record, wait or blocking call, with all that any row says of it.
#[derive(Clone, Copy, Debug)]
struct Sync {
    kind: SyncKind,
    name: StrId,
    start: i64,
    end: i64,
    thread: u32,
    stream: Option<u32>,
    waits_for: Option<u32>,
    event: OptI64,
    awaited: OptI64,
    correlation: i64,
    /// A region of this row, when the call is one.
    region: Option<u32>,
    /// Whether a row names a stream that has no work on this device.
    elsewhere: bool,
}

/// The operations that order a device's work, and how much is known of them.
pub(super) fn operations(trace: &Trace, device: &Device) -> (Vec<Op>, Knowledge) {
    let mut gathered = Gathered::of(trace, device);
    gathered.name_recorded_streams();
    gathered.into_ops(trace, device)
}

struct Gathered {
    syncs: Vec<Sync>,
    by_correlation: Map<i64, usize>,
    streams: Map<u32, u32>,
}

impl Gathered {
    fn of(trace: &Trace, device: &Device) -> Self {
        let numbered = device.streams.iter().enumerate().filter(|(_, lineup)| lineup.stream.is_some());
        let streams = numbered.map(|(number, lineup)| (lineup.stream.0, number as u32)).collect();
        let mut gathered = Self { syncs: Vec::new(), by_correlation: Map::default(), streams };
        let Some(recording) = recording_of(trace, device) else { return gathered };
        let rules = Rules::built_in();
        let mut kinds: Vec<Option<Option<SyncKind>>> = vec![None; trace.strings.len()];
        let mut kind_of =
            |name: StrId| *kinds[name.0 as usize].get_or_insert_with(|| rules.sync(trace.strings.get(name)));
        let regions = &trace.regions;
        for row in 0..regions.len() {
            let Some(kind) = kind_of(regions.name[row]) else { continue };
            let process = regions.process[row].get();
            if process.is_some_and(|process| recording == recording_at(trace, process)) {
                gathered.add(Sync {
                    kind,
                    name: regions.name[row],
                    start: regions.start[row],
                    end: regions.end[row],
                    thread: regions.thread[row].0,
                    stream: None,
                    waits_for: None,
                    event: OptI64::NONE,
                    awaited: OptI64::NONE,
                    correlation: regions.correlation[row],
                    region: Some(row as u32),
                    elsewhere: false,
                });
            }
        }
        let syncs = &trace.syncs;
        for row in 0..syncs.len() {
            let Some(kind) = kind_of(syncs.kind[row]) else { continue };
            let process = syncs.process[row].get();
            if process.is_some_and(|process| recording == recording_at(trace, process)) {
                let stream = gathered.streams.get(&syncs.stream[row].0).copied();
                let sync = Sync {
                    kind,
                    name: syncs.kind[row],
                    start: syncs.start[row],
                    end: syncs.end[row],
                    thread: syncs.thread[row].0,
                    stream,
                    waits_for: gathered.streams.get(&syncs.waits_for[row].0).copied(),
                    event: syncs.event[row],
                    awaited: syncs.awaited[row],
                    correlation: syncs.correlation[row],
                    region: None,
                    elsewhere: syncs.stream[row].is_some() && stream.is_none(),
                };
                gathered.add(sync);
            }
        }
        gathered
    }

    /// Adds what a row says, to what other rows with its correlation id said.
    fn add(&mut self, sync: Sync) {
        let known = (sync.correlation != 0).then(|| self.by_correlation.get(&sync.correlation)).flatten();
        let Some(known) = known.map(|&i| &mut self.syncs[i]).filter(|known| known.kind == sync.kind) else {
            if sync.correlation != 0 {
                self.by_correlation.insert(sync.correlation, self.syncs.len());
            }
            self.syncs.push(sync);
            return;
        };
        known.stream = known.stream.or(sync.stream);
        known.waits_for = known.waits_for.or(sync.waits_for);
        known.elsewhere |= sync.elsewhere;
        for (mine, more) in [(&mut known.event, sync.event), (&mut known.awaited, sync.awaited)] {
            if mine.get().is_none() {
                *mine = more;
            }
        }
    }

    /// A wait that says which stream it waits for says where the awaited event was recorded.
    fn name_recorded_streams(&mut self) {
        for i in 0..self.syncs.len() {
            let (waits_for, awaited) = (self.syncs[i].waits_for, self.syncs[i].awaited.get());
            if let (SyncKind::Wait, Some(_), Some(awaited)) = (self.syncs[i].kind, waits_for, awaited)
                && let Some(&record) = self.by_correlation.get(&awaited)
                && self.syncs[record].kind == SyncKind::Record
                && self.syncs[record].stream.is_none()
            {
                self.syncs[record].stream = waits_for;
            }
        }
    }

    /// What a wait waits for, as far as the rows say.
    fn awaited(&self, wait: &Sync, last_record: &Map<i64, u32>) -> Awaited {
        let Some(stream) = wait.stream else { return Awaited::Unknown };
        let by_call = wait.awaited.get().and_then(|call| self.by_correlation.get(&call));
        let by_event = wait.event.get().and_then(|event| last_record.get(&event));
        let mark = by_call.map(|&i| i as u32).or(by_event.copied());
        let record = mark.map(|mark| &self.syncs[mark as usize]);
        let named = wait.event.get().is_some() || wait.awaited.get().is_some();
        match (mark, record, wait.waits_for) {
            (Some(mark), Some(record), _) if record.stream.is_some() => Awaited::Mark { stream, mark },
            (_, _, Some(other)) => Awaited::Stream { stream, other },
            // Recorded on another device, or before the recording of the trace began.
            (_, Some(record), None) if record.elsewhere => Awaited::Nothing,
            (_, None, None) if named => Awaited::Nothing,
            _ => Awaited::Unknown,
        }
    }

    fn into_ops(self, trace: &Trace, device: &Device) -> (Vec<Op>, Knowledge) {
        let mut knowledge = Knowledge::default();
        let mut steps: Vec<(i64, Step)> = Vec::with_capacity(device.work.len() + self.syncs.len());
        let mut launched_stream: Map<u32, u32> = Map::default();
        for (i, work) in device.work.iter().enumerate() {
            if let Some(launch) = work.launch {
                steps.push((trace.regions.start[launch as usize], Step::Launch(i as u32)));
                launched_stream.insert(launch, work.stream);
            }
        }
        knowledge.launched = steps.len();
        for (i, sync) in self.syncs.iter().enumerate() {
            let time = if sync.kind == SyncKind::Block { sync.end } else { sync.start };
            steps.push((time, Step::Sync(i as u32)));
        }
        steps.sort_by_key(|&(time, step)| (time, step));
        let mut ops = Vec::with_capacity(steps.len());
        let mut last_record: Map<i64, u32> = Map::default();
        let mut done = vec![0u32; device.streams.len()];
        for (time, step) in steps {
            let number = match step {
                Step::Launch(i) => {
                    let work = &device.work[i as usize];
                    let thread =
                        work.launch.map_or(u32::MAX, |launch| trace.regions.thread[launch as usize].0);
                    ops.push(Op::Launch { stream: work.stream, place: work.place, thread });
                    continue;
                }
                Step::Sync(i) => i,
            };
            let sync = &self.syncs[number as usize];
            if sync.elsewhere && sync.stream.is_none() {
                continue;
            }
            match sync.kind {
                SyncKind::Record => {
                    knowledge.records += 1;
                    if let Some(event) = sync.event.get() {
                        last_record.insert(event, number);
                    }
                    if let Some(stream) = sync.stream {
                        ops.push(Op::Record { stream, mark: number });
                    }
                }
                SyncKind::Wait => {
                    knowledge.waits += 1;
                    match self.awaited(sync, &last_record) {
                        Awaited::Mark { stream, mark } => ops.push(Op::Wait { stream, mark }),
                        Awaited::Stream { stream, other } => {
                            ops.push(Op::Record { stream: other, mark: number });
                            ops.push(Op::Wait { stream, mark: number });
                        }
                        Awaited::Nothing => {}
                        Awaited::Unknown => knowledge.unresolved += 1,
                    }
                }
                SyncKind::Block => {
                    knowledge.blocks += 1;
                    let own = sync.region.and_then(|region| launched_stream.get(&region).copied());
                    let only = sync.stream.or(own);
                    for (stream, done) in done.iter_mut().enumerate() {
                        let lineup = &device.streams[stream].work;
                        while lineup.get(*done as usize).is_some_and(|&i| device.work[i as usize].end <= time)
                        {
                            *done += 1;
                        }
                    }
                    let waited = |(stream, &done): (usize, &u32)| (stream as u32, done);
                    let counts = done.iter().enumerate().map(waited);
                    let done = counts.filter(|&(s, n)| n > 0 && only.is_none_or(|only| only == s)).collect();
                    ops.push(Op::Block { thread: sync.thread, done, call: sync.name });
                }
            }
        }
        (ops, knowledge)
    }
}

/// What a wait waits for.
enum Awaited {
    /// A mark that was recorded.
    Mark { stream: u32, mark: u32 },
    /// All that is on another stream so far.
    Stream { stream: u32, other: u32 },
    /// Nothing of this device in this trace.
    Nothing,
    /// The source does not say.
    Unknown,
}

/// A step of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Launch(u32),
    Sync(u32),
}

/// The recording of a device's process: events and correlation ids mean nothing beyond it, and a merged
/// database holds many.
fn recording_of(trace: &Trace, device: &Device) -> Option<(SourceId, StrId)> {
    Some(recording_at(trace, device.process(trace)?.get()?))
}

fn recording_at(trace: &Trace, process: usize) -> (SourceId, StrId) {
    (trace.processes[process].source, trace.processes[process].guid)
}
