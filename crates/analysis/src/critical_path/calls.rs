//! Calls that order work: event records and waits, blocking calls, with all that any row says of them.
//!
//! rocpd tells events with their streams in a table of their own beside the calls, torch on CUDA tells waits as
//! GPU-side records, torch on ROCm only the calls. Rows with one correlation id of a recording are one operation.

use trace::{Map, OptI64, ProcessId, StrId, StreamId, ThreadId, Trace};

use super::rules::{Call, Rules};
use super::works::NONE;

/// One record, wait or blocking call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub call: Call,
    /// Row of `regions`; `NONE` when only the table of synchronisations has it.
    pub region: u32,
    pub name: StrId,
    pub process: ProcessId,
    pub thread: ThreadId,
    /// On the clock of its process.
    pub start: i64,
    pub end: i64,
    pub stream: StreamId,
    pub waits_for: StreamId,
    pub event: OptI64,
    /// Correlation of the record that is waited for.
    awaited: OptI64,
    correlation: i64,
}

/// All such calls in the order of their starts.
#[derive(Default)]
pub(super) struct Operations {
    pub all: Vec<Operation>,
    /// The operation of a correlation id in a recording.
    by_correlation: Map<(u32, i64), u32>,
    /// Processes of one recording share a number.
    recording: Vec<u32>,
}

impl Operations {
    /// The operations of a trace, as far as `counted` takes their process.
    pub fn of(trace: &Trace, counted: &[bool]) -> Self {
        let mut gathered = Self { recording: recordings(trace), ..Self::default() };
        let rules = Rules::built_in();
        let mut kinds: Vec<Option<Option<Call>>> = vec![None; trace.strings.len()];
        let mut kind_of =
            |name: StrId| *kinds[name.0 as usize].get_or_insert_with(|| rules.call(trace.strings.get(name)));
        let counts = |process: ProcessId| process.get().is_none_or(|process| counted[process]);
        let regions = &trace.regions;
        for row in 0..regions.len() {
            let Some(call) = kind_of(regions.name[row]) else { continue };
            if counts(regions.process[row]) {
                gathered.add(Operation {
                    call,
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
        for row in 0..syncs.len() {
            let Some(call) = kind_of(syncs.kind[row]) else { continue };
            if counts(syncs.process[row]) {
                gathered.add(Operation {
                    call,
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
        gathered
    }

    /// Adds what a row says, to what other rows of the same operation said.
    fn add(&mut self, operation: Operation) {
        let key = self.key(operation.process, operation.correlation);
        let known = key.and_then(|key| self.by_correlation.get(&key).copied());
        let known = known
            .map(|i| &mut self.all[i as usize])
            .filter(|known| known.call == operation.call || known.region != NONE && operation.region == NONE);
        let Some(known) = known else {
            // The GPU's own records of a wait that no call is known of say nothing of the host.
            if operation.region == NONE && !operation.thread.is_some() && operation.call.blocks() {
                return;
            }
            if let Some(key) = key {
                self.by_correlation.insert(key, self.all.len() as u32);
            }
            self.all.push(operation);
            return;
        };
        // A query that happens to wait is recorded by the GPU as a wait; the call decides.
        if known.call != operation.call {
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
        (correlation != 0)
            .then(|| (process.get().map_or(NONE, |process| self.recording[process]), correlation))
    }

    /// A wait that says which stream it waits for says where the awaited event was recorded.
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
    pub fn awaited(&self, wait: &Operation) -> Option<usize> {
        let key = self.key(wait.process, wait.awaited.get()?)?;
        let record = *self.by_correlation.get(&key)? as usize;
        (self.all[record].call == Call::Record).then_some(record)
    }

    /// Whether an operation names what it waits for.
    pub fn is_named(wait: &Operation) -> bool {
        wait.event.get().is_some() || wait.awaited.get().is_some()
    }

    /// The number that processes of one recording share.
    pub fn recording(&self, process: ProcessId) -> u32 {
        process.get().map_or(NONE, |process| self.recording[process])
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

/// A number for each process: processes of one guid share it.
fn recordings(trace: &Trace) -> Vec<u32> {
    let mut numbers: Map<StrId, u32> = Map::default();
    let each = trace.processes.iter().enumerate();
    each.map(|(i, process)| match process.guid.is_empty() {
        true => i as u32,
        false => *numbers.entry(process.guid).or_insert(i as u32),
    })
    .collect()
}
