//! The host operations on one GPU, in order: launches, event records and waits, blocking calls.

use model::Run;
use model::calls::wake_up_ns;
use model::order::{Awaited, Effect, Operation, Operations, Step, Timeline};
use trace::{Map, StreamId};

use super::device::{Device, Lineup, Work};
use super::order::Op;

/// How much of the order is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Knowledge {
    /// Work whose launch is known.
    pub launched: usize,
    /// Event records.
    pub records: usize,
    /// Waits of a stream for an event.
    pub waits: usize,
    /// Waits whose stream or event is not recorded.
    pub unresolved: usize,
    /// Calls that blocked the host.
    pub blocks: usize,
}

impl Knowledge {
    /// Whether the order between streams is known.
    pub fn is_enough(&self) -> bool {
        self.launched > 0 && self.unresolved == 0 && self.records > 0
    }
}

/// The operations that order a device's work, and how much of the order is known.
pub(super) fn operations(run: &Run, operations: &Operations, device: &Device) -> (Vec<Op>, Knowledge) {
    let numbered = device.streams.iter().enumerate().filter(|(_, lineup)| lineup.stream.is_some());
    let streams = numbered.map(|(number, lineup)| (lineup.stream, number as u32)).collect();
    Host { run, operations, device, streams }.ops()
}

/// The host operations that concern one device.
struct Host<'a> {
    run: &'a Run<'a>,
    operations: &'a Operations,
    device: &'a Device,
    /// The device's streams by their id in the trace.
    streams: Map<StreamId, u32>,
}

impl Host<'_> {
    fn stream(&self, stream: StreamId) -> Option<u32> {
        self.streams.get(&stream).copied()
    }

    /// Whether an operation names a stream that has no work on this device.
    fn is_elsewhere(&self, operation: &Operation) -> bool {
        operation.stream.is_some() && self.stream(operation.stream).is_none()
    }

    /// The operations of the device's recording: events are only valid in their own recording.
    fn of_recording(&self) -> impl Iterator<Item = (usize, &Operation)> {
        let recordings = &self.run.recordings;
        let own = self.device.gpu.recording;
        let all = self.operations.all.iter().enumerate();
        all.filter(move |(_, operation)| own.is_some() && recordings.of_process(operation.process) == own)
    }

    fn ops(&self) -> (Vec<Op>, Knowledge) {
        let (trace, device) = (self.run.trace, self.device);
        let mut knowledge = Knowledge::default();
        let mut launched: Vec<(u32, u32)> = Vec::with_capacity(device.work.len());
        let mut launched_by: Map<u32, u32> = Map::default();
        for (i, work) in device.work.iter().enumerate() {
            if let Some(launch) = work.launch {
                launched.push((launch, i as u32));
                launched_by.insert(launch, i as u32);
            }
        }
        launched.sort_unstable();
        knowledge.launched = launched.len();
        let launches = launched.iter().map(|&(call, _)| (trace.regions.start[call as usize], call)).collect();
        let wanted: Vec<u32> = self.of_recording().map(|(number, _)| number as u32).collect();
        let mut ops = Vec::with_capacity(launched.len() + wanted.len());
        let mut progress =
            Progress { device, launched: vec![0; device.streams.len()], done: vec![0; device.streams.len()] };
        for step in Timeline::new(self.operations, wanted, launches, Vec::new()) {
            let number = match step {
                Step::Launch(places) => {
                    for &(call, i) in &launched[places] {
                        let work = &device.work[i as usize];
                        let thread = trace.regions.thread[call as usize].0;
                        ops.push(Op::Launch { stream: work.stream, place: work.place, thread });
                        progress.launch(work.stream, work.place);
                    }
                    continue;
                }
                Step::Begin(number) if !self.operations.all[number].effect.blocks() => number,
                Step::Return(number) => number,
                Step::Begin(_) | Step::Alone(_) => continue,
            };
            let operation = &self.operations.all[number];
            if self.is_elsewhere(operation) {
                continue;
            }
            match operation.effect {
                Effect::RecordsEvent => {
                    knowledge.records += 1;
                    if let Some(stream) = self.stream(operation.stream) {
                        ops.push(Op::Record { stream, mark: number as u32 });
                    }
                }
                Effect::StreamWaits => {
                    knowledge.waits += 1;
                    let awaited = self.operations.awaited(number, |stream| self.stream(stream).is_some());
                    let Some(stream) = self.stream(operation.stream) else {
                        knowledge.unresolved += 1;
                        continue;
                    };
                    match awaited {
                        Awaited::Record(mark) => ops.push(Op::Wait { stream, mark: mark as u32 }),
                        Awaited::Stream(other) => {
                            let mark = number as u32;
                            ops.extend(self.stream(other).map(|stream| Op::Record { stream, mark }));
                            ops.push(Op::Wait { stream, mark });
                        }
                        Awaited::Nothing => {}
                        Awaited::Unknown => knowledge.unresolved += 1,
                    }
                }
                Effect::HostWaits(_) | Effect::HostMayWait => {
                    progress.until(operation.end);
                    let own = launched_by.get(&operation.region).map(|&i| &device.work[i as usize]);
                    if operation.effect == Effect::HostMayWait && !progress.shows_wait(operation, own) {
                        continue;
                    }
                    knowledge.blocks += 1;
                    let only = self.stream(operation.stream).or(own.map(|work| work.stream));
                    let waited = |(stream, &done): (usize, &u32)| (stream as u32, done);
                    let counts = progress.done.iter().enumerate().map(waited);
                    let done = counts.filter(|&(s, n)| n > 0 && only.is_none_or(|only| only == s)).collect();
                    ops.push(Op::Block { thread: operation.thread.0, done, call: operation.name });
                }
            }
        }
        (ops, knowledge)
    }
}

/// The progress of each stream of a device.
struct Progress<'a> {
    device: &'a Device,
    /// By stream: how much was launched.
    launched: Vec<u32>,
    /// By stream: how much is done.
    done: Vec<u32>,
}

impl Progress<'_> {
    fn launch(&mut self, stream: u32, place: u32) {
        let launched = &mut self.launched[stream as usize];
        *launched = (*launched).max(place + 1);
    }

    /// Counts the work done by this time.
    fn until(&mut self, time: i64) {
        for (lineup, done) in self.device.streams.iter().zip(&mut self.done) {
            let ended = |&i: &u32| self.device.work[i as usize].end <= time;
            while lineup.work.get(*done as usize).is_some_and(ended) {
                *done += 1;
            }
        }
    }

    /// Whether a call that may wait really waited: it ended after work that it launched itself, or soon after
    /// running work finished and the GPU had nothing left to do.
    fn shows_wait(&self, call: &Operation, own: Option<&Work>) -> bool {
        if let Some(own) = own {
            return (call.start..=call.end).contains(&own.end);
        }
        let runs_on = self.launched.iter().zip(&self.done).any(|(launched, done)| launched > done);
        let last = |(lineup, &done): (&Lineup, &u32)| {
            let place = (done as usize).checked_sub(1)?;
            Some(self.device.work[lineup.work[place] as usize].end)
        };
        let last = self.device.streams.iter().zip(&self.done).filter_map(last).max();
        !runs_on && last.is_some_and(|last| last > call.start && call.end - last <= wake_up_ns())
    }
}
