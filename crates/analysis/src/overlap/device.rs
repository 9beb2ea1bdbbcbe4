//! The work of each GPU as the overlap analysis looks at it: by stream, in order, with stage and step.

use std::collections::HashSet;

use trace::{Map, ProcessId, RowRef, StrId, Table, Trace};

use super::rules::{Kind, Rules};
use super::sweep::{Bucket, Span, Swept, sweep};
use model::Run;
use model::attribution::GpuRows;
use model::lanes::Bucket as TimelineBucket;
use model::lanes::{Lane, lanes};
use model::stages::Stage;

/// A step of a stage, or the whole stage where steps are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum StepKey {
    Step(u32),
    Stage(Stage),
}

/// A piece of GPU work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub row: RowRef,
    pub name: StrId,
    pub start: i64,
    pub end: i64,
    pub kind: Kind,
    /// Its stream, as a place in the device's streams.
    pub stream: u32,
    /// Its place in the stream's order.
    pub place: u32,
    pub stage: Stage,
    pub step: StepKey,
    /// The call that launched it, as a row of `regions`.
    pub launch: Option<u32>,
    pub replayed: bool,
}

impl Work {
    pub fn duration(&self) -> i64 {
        (self.end - self.start).max(0)
    }
}

/// A stream, or a queue where streams are not known.
#[derive(Clone, Debug)]
pub(super) struct Lineup {
    /// `stream 3`, `queue 1`.
    pub label: String,
    /// Its id in the trace, when it is a stream.
    pub stream: trace::StreamId,
    /// Its work in order, as places in the device's work.
    pub work: Vec<u32>,
}

/// One GPU of one rank.
pub(super) struct Device {
    pub lane: Lane,
    pub streams: Vec<Lineup>,
    /// In time order.
    pub work: Vec<Work>,
    pub swept: Swept,
    /// Stages in which kernels of kind compute run on several streams.
    pub computing_apart: Vec<Stage>,
    /// Whether all replayed work is on one stream.
    pub replays_on_one_stream: bool,
}

impl Device {
    pub fn process(&self, trace: &Trace) -> Option<ProcessId> {
        self.work.first().map(|work| process_of(trace, work.row))
    }

    pub fn label(&self, trace: &Trace) -> String {
        self.lane.label(trace)
    }

    /// The piece before or after another on its stream.
    pub fn neighbour(&self, work: &Work, step: i64) -> Option<&Work> {
        let place = usize::try_from(i64::from(work.place) + step).ok()?;
        let index = *self.streams[work.stream as usize].work.get(place)?;
        Some(&self.work[index as usize])
    }
}

fn process_of(trace: &Trace, row: RowRef) -> ProcessId {
    match row.get() {
        Some((Table::Kernels, i)) => trace.kernels.process[i],
        Some((Table::MemoryCopies, i)) => trace.memory_copies.process[i],
        _ => ProcessId::NONE,
    }
}

/// The GPUs of a run, swept.
pub(super) fn devices(context: &Run) -> Vec<Device> {
    let launches = GpuRows::of(context.trace);
    let mut lanes = lanes(context.trace, &context.classes);
    if context.rows.len() < context.trace.kernels.len() + context.trace.memory_copies.len() {
        let kept: HashSet<RowRef> = context.rows.iter().copied().collect();
        lanes.iter_mut().for_each(|lane| lane.rows.retain(|gpu| kept.contains(&gpu.row)));
        lanes.retain(|lane| !lane.rows.is_empty());
    }
    lanes.into_iter().map(|lane| device(context, lane, &launches)).collect()
}

fn device(context: &Run, lane: Lane, launches: &GpuRows) -> Device {
    let mut streams = Streams { trace: context.trace, numbers: Map::default(), streams: Vec::new() };
    let mut work: Vec<Work> = lane
        .rows
        .iter()
        .map(|gpu| Work {
            row: gpu.row,
            name: context.name(gpu.row),
            start: gpu.work.start,
            end: gpu.work.end,
            kind: kind(context, gpu.row, gpu.work.bucket),
            stream: streams.of(gpu.row),
            place: 0,
            stage: context.stage(gpu.row),
            step: step(context, gpu.row),
            launch: launch(launches, gpu.row),
            replayed: replayed(context.trace, gpu.row),
        })
        .collect();
    work.sort_by_key(|work| (work.start, work.end, work.row));
    let mut streams = streams.streams;
    for (i, work) in work.iter_mut().enumerate() {
        let lineup = &mut streams[work.stream as usize].work;
        work.place = lineup.len() as u32;
        lineup.push(i as u32);
    }
    let spans: Vec<Span> = work.iter().map(span).collect();
    let swept = sweep(&spans, streams.len());
    let computing_apart = Stage::ALL
        .into_iter()
        .filter(|&stage| !on_one_stream(&work, |w| w.kind == Kind::Compute && w.stage == stage))
        .collect();
    let replays_on_one_stream = on_one_stream(&work, |work| work.replayed);
    Device { lane, streams, work, swept, computing_apart, replays_on_one_stream }
}

fn on_one_stream(work: &[Work], which: impl Fn(&Work) -> bool) -> bool {
    let mut streams = work.iter().filter(|work| which(work)).map(|work| work.stream);
    let first = streams.next();
    streams.all(|stream| Some(stream) == first)
}

fn span(work: &Work) -> Span {
    let bucket = match work.kind {
        Kind::Communication => Bucket::Communication,
        Kind::Copy => Bucket::Copy,
        _ => Bucket::Compute,
    };
    Span { start: work.start, end: work.end, stream: work.stream, bucket }
}

fn kind(context: &Run, row: RowRef, bucket: TimelineBucket) -> Kind {
    match bucket {
        TimelineBucket::Communication => Kind::Communication,
        TimelineBucket::Memcpy => Kind::Copy,
        // A name that says communication on a row that is not a kernel is still no collective.
        TimelineBucket::Compute => match Rules::built_in().kind_of(context.category(row)) {
            Kind::Communication => Kind::Other,
            kind => kind,
        },
    }
}

fn step(context: &Run, row: RowRef) -> StepKey {
    match context.stages.step(row) {
        Some(step) => StepKey::Step(context.stages.steps[step].number),
        None => StepKey::Stage(context.stage(row)),
    }
}

fn launch(launches: &GpuRows, row: RowRef) -> Option<u32> {
    let place = match row.get()? {
        (Table::Kernels, row) => launches.of_kernel(row)?,
        (Table::MemoryCopies, row) => launches.of_copy(row)?,
        _ => return None,
    };
    Some(launches.launches[place])
}

fn replayed(trace: &Trace, row: RowRef) -> bool {
    let graph = match row.get() {
        Some((Table::Kernels, i)) => trace.kernels.graph[i],
        Some((Table::MemoryCopies, i)) => trace.memory_copies.graph[i],
        _ => trace::Graph::Unknown,
    };
    graph == trace::Graph::Replayed
}

struct Streams<'a> {
    trace: &'a Trace,
    numbers: Map<(ProcessId, u32, u32), u32>,
    streams: Vec<Lineup>,
}

impl Streams<'_> {
    fn of(&mut self, row: RowRef) -> u32 {
        let trace = self.trace;
        let (process, queue, stream) = match row.get() {
            Some((Table::Kernels, i)) => {
                (trace.kernels.process[i], trace.kernels.queue[i], trace.kernels.stream[i])
            }
            Some((Table::MemoryCopies, i)) => {
                let copies = &trace.memory_copies;
                (copies.process[i], copies.queue[i], copies.stream[i])
            }
            _ => Default::default(),
        };
        // Work of one stream stays in order whatever queues it goes through.
        let queue_counts = if stream.is_some() { u32::MAX } else { queue.0 };
        let next = self.streams.len() as u32;
        let number = *self.numbers.entry((process, queue_counts, stream.0)).or_insert(next);
        if number == next {
            let label = match (stream.get(), queue.get()) {
                (Some(stream), _) => format!("stream {}", trace.streams[stream].id),
                (None, Some(queue)) => format!("queue {}", trace.queues[queue].id),
                (None, None) => "a stream that is not recorded".into(),
            };
            self.streams.push(Lineup { label, stream, work: Vec::new() });
        }
        number
    }
}
