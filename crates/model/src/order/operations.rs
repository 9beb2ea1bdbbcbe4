//! Calls that order work: event records and waits, blocking calls, merged from all rows about them.
//!
//! rocpd lists events with their streams in a separate table, torch on CUDA records waits as GPU-side rows,
//! torch on ROCm records only the calls. Rows of a recording with one correlation id are one operation.

use trace::{Map, OptI64, ProcessId, StrId, StreamId, ThreadId, Trace};

use crate::calls::{self, Blocks, BlocksFor, CallFacts, Calls};
use crate::recordings::Recordings;

/// No row.
const NONE: u32 = u32::MAX;

/// What a call does to the order of host and GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Marks a point of a stream.
    RecordsEvent,
    /// Makes a stream wait for such a point.
    StreamWaits,
    /// Makes the host wait for this.
    HostWaits(BlocksFor),
    /// May make the host wait; the trace must show it.
    HostMayWait,
}

impl Effect {
    /// What a call of the runtime does to the order, if anything.
    pub fn of(call: &CallFacts) -> Option<Self> {
        match call.blocks {
            _ if !call.is_of_runtime() => None,
            _ if call.records_event => Some(Effect::RecordsEvent),
            _ if call.waits_for_event => Some(Effect::StreamWaits),
            Blocks::Always => Some(Effect::HostWaits(call.blocks_for)),
            Blocks::May => Some(Effect::HostMayWait),
            Blocks::Never => None,
        }
    }

    /// Whether the host may wait in it.
    pub fn blocks(self) -> bool {
        !matches!(self, Effect::RecordsEvent | Effect::StreamWaits)
    }
}

/// One record, wait or blocking call.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// What it does to the order.
    pub effect: Effect,
    /// Row of `regions`; `u32::MAX` if it is only in the synchronisation table.
    pub region: u32,
    /// The call's name.
    pub name: StrId,
    /// The process.
    pub process: ProcessId,
    /// The thread.
    pub thread: ThreadId,
    /// First nanosecond, on the clock of its process.
    pub start: i64,
    /// Nanosecond after the last.
    pub end: i64,
    /// The stream that records or waits, or that the host waits for.
    pub stream: StreamId,
    /// The stream that it waits for.
    pub waits_for: StreamId,
    /// The event.
    pub event: OptI64,
    /// Correlation of the record that it waits for.
    awaited: OptI64,
    correlation: i64,
}

impl Operation {
    /// Whether it names the event or record that it waits for.
    pub fn is_named(&self) -> bool {
        self.event.get().is_some() || self.awaited.get().is_some()
    }

    /// Its row of `regions`.
    pub fn region(&self) -> Option<usize> {
        (self.region != NONE).then_some(self.region as usize)
    }
}

/// What an operation waits for, as far as recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// The work in front of a record, given by the record's number.
    Record(usize),
    /// Everything on a stream so far.
    Stream(StreamId),
    /// Nothing in the selection: recorded on another stream, or before the trace began.
    Nothing,
    /// Not recorded by the source.
    Unknown,
}

/// All ordering calls by start.
#[derive(Default)]
pub struct Operations {
    /// In the order of their starts.
    pub all: Vec<Operation>,
    /// The record that each waits for.
    record: Vec<u32>,
}

/// Operations while they are merged from rows.
struct Gathered<'a> {
    recordings: &'a Recordings,
    all: Vec<Operation>,
    /// The operation of a correlation id in a recording.
    by_correlation: Map<(u32, i64), u32>,
}

impl Operations {
    /// The operations of a trace's ranks.
    pub fn of(trace: &Trace, calls: &Calls, recordings: &Recordings) -> Self {
        let mut gathered = Gathered { recordings, all: Vec::new(), by_correlation: Map::default() };
        let regions = &trace.regions;
        for row in 0..regions.len() {
            let Some(effect) = calls.of_region(trace, row).and_then(Effect::of) else { continue };
            if recordings.counts(regions.process[row]) {
                gathered.add(Operation {
                    effect,
                    region: row as u32,
                    name: regions.name[row],
                    process: regions.process[row],
                    thread: regions.thread[row],
                    start: regions.start[row],
                    end: regions.end[row],
                    stream: StreamId::NONE,
                    waits_for: StreamId::NONE,
                    event: OptI64::NONE,
                    awaited: OptI64::NONE,
                    correlation: regions.correlation[row],
                });
            }
        }
        let from_regions = gathered.all.len();
        let syncs = &trace.syncs;
        let mut effects: Map<StrId, Option<Effect>> = Map::default();
        for row in 0..syncs.len() {
            let kind = syncs.kind[row];
            let effect = effects
                .entry(kind)
                .or_insert_with(|| calls::sync(trace.strings.get(kind)).and_then(Effect::of));
            let Some(effect) = *effect else { continue };
            if recordings.counts(syncs.process[row]) {
                gathered.add(Operation {
                    effect,
                    region: NONE,
                    name: syncs.kind[row],
                    process: syncs.process[row],
                    thread: syncs.thread[row],
                    start: syncs.start[row],
                    end: syncs.end[row],
                    stream: syncs.stream[row],
                    waits_for: syncs.waits_for[row],
                    event: syncs.event[row],
                    awaited: syncs.awaited[row],
                    correlation: syncs.correlation[row],
                });
            }
        }
        gathered.name_recorded_streams();
        if gathered.all.len() > from_regions {
            gathered.sort();
        }
        let record = gathered.records();
        Self { all: gathered.all, record }
    }

    /// The record that an operation waits for, if known: the one it names, else its event's last before it.
    pub fn record_of(&self, operation: usize) -> Option<usize> {
        Some(self.record[operation]).filter(|&record| record != NONE).map(|record| record as usize)
    }

    /// What an operation waits for; `known` selects the streams.
    pub fn awaited(&self, operation: usize, known: impl Fn(StreamId) -> bool) -> Awaited {
        let wait = &self.all[operation];
        let record = self.record_of(operation);
        let stream = record.map(|record| self.all[record].stream);
        match (record, stream) {
            (Some(record), Some(stream)) if record < operation && known(stream) => Awaited::Record(record),
            _ if known(wait.waits_for) => Awaited::Stream(wait.waits_for),
            (Some(_), Some(stream)) if stream.is_some() && !known(stream) => Awaited::Nothing,
            (None, _) if wait.is_named() => Awaited::Nothing,
            _ => Awaited::Unknown,
        }
    }
}

impl Gathered<'_> {
    /// Merges a row with earlier rows of the same operation.
    fn add(&mut self, operation: Operation) {
        let key = self.key(operation.process, operation.correlation);
        let known = key.and_then(|key| self.by_correlation.get(&key).copied());
        let known = known.map(|i| &mut self.all[i as usize]).filter(|known| {
            known.effect == operation.effect || known.region != NONE && operation.region == NONE
        });
        let Some(known) = known else {
            // A wait that only the GPU recorded, without a call, says nothing about the host.
            if operation.region == NONE && !operation.thread.is_some() && operation.effect.blocks() {
                return;
            }
            if let Some(key) = key {
                self.by_correlation.insert(key, self.all.len() as u32);
            }
            self.all.push(operation);
            return;
        };
        // A query that happens to wait is recorded by the GPU as a wait; the call decides.
        if known.effect != operation.effect {
            return;
        }
        if !known.stream.is_some() {
            known.stream = operation.stream;
        }
        if !known.waits_for.is_some() {
            known.waits_for = operation.waits_for;
        }
        for (mine, more) in [(&mut known.event, operation.event), (&mut known.awaited, operation.awaited)] {
            if mine.get().is_none() {
                *mine = more;
            }
        }
    }

    fn key(&self, process: ProcessId, correlation: i64) -> Option<(u32, i64)> {
        (correlation != 0).then(|| (self.recording(process), correlation))
    }

    /// If a wait names the stream that it waits for, its event was recorded on that stream.
    fn name_recorded_streams(&mut self) {
        for i in 0..self.all.len() {
            let wait = self.all[i];
            if wait.waits_for.is_some()
                && let Some(record) = self.awaited(&wait)
                && !self.all[record].stream.is_some()
            {
                self.all[record].stream = wait.waits_for;
            }
        }
    }

    /// The record that an operation names.
    fn awaited(&self, wait: &Operation) -> Option<usize> {
        let key = self.key(wait.process, wait.awaited.get()?)?;
        let record = *self.by_correlation.get(&key)? as usize;
        (self.all[record].effect == Effect::RecordsEvent).then_some(record)
    }

    /// The record that each operation waits for; operations are in the order of their starts.
    fn records(&self) -> Vec<u32> {
        let mut last_record: Map<(u32, i64), u32> = Map::default();
        let mut records = Vec::with_capacity(self.all.len());
        for (number, operation) in self.all.iter().enumerate() {
            let event = operation.event.get().map(|event| (self.recording(operation.process), event));
            let record = match operation.effect {
                Effect::RecordsEvent => {
                    event.map(|event| last_record.insert(event, number as u32));
                    None
                }
                _ => {
                    let by_event = || event.and_then(|event| last_record.get(&event).copied());
                    self.awaited(operation).map(|record| record as u32).or_else(by_event)
                }
            };
            records.push(record.unwrap_or(NONE));
        }
        records
    }

    /// The number that processes of one recording share.
    fn recording(&self, process: ProcessId) -> u32 {
        self.recordings.of_process(process).map_or(NONE, |recording| recording as u32)
    }

    fn sort(&mut self) {
        let mut order: Vec<u32> = (0..self.all.len() as u32).collect();
        order.sort_by_key(|&i| (self.all[i as usize].start, self.all[i as usize].region));
        let mut place = vec![0u32; order.len()];
        order.iter().enumerate().for_each(|(new, &old)| place[old as usize] = new as u32);
        self.all = order.iter().map(|&i| self.all[i as usize]).collect();
        self.by_correlation.values_mut().for_each(|i| *i = place[*i as usize]);
    }
}
