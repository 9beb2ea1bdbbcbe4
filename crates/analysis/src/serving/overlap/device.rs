//! The work of each GPU for the overlap analysis: by stream, in order, with stage and step.

use trace::{Map, RowRef, StrId};

use super::rules::{Rules, WorkKind};
use super::sweep::{Bucket, Span, Swept, sweep};
use model::Run;
use model::stages::Stage;
use model::work::{Gpu, WorkClass};

/// A step of a stage, or the whole stage if steps are not known.
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
    pub kind: WorkKind,
    /// Index of its stream in the device's streams.
    pub stream: u32,
    /// Its position in the stream's order.
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

/// A stream, or a queue if streams are not known.
#[derive(Clone, Debug)]
pub(super) struct Lineup {
    /// `stream 3`, `queue 1`.
    pub label: String,
    /// Its id in the trace, if it is a stream.
    pub stream: trace::StreamId,
    /// Its work in order, as indices into the device's work.
    pub work: Vec<u32>,
}

/// One GPU of one rank.
pub(super) struct Device {
    pub gpu: Gpu,
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
    /// The previous or next work on its stream.
    pub fn neighbour(&self, work: &Work, step: i64) -> Option<&Work> {
        let place = usize::try_from(i64::from(work.place) + step).ok()?;
        let index = *self.streams[work.stream as usize].work.get(place)?;
        Some(&self.work[index as usize])
    }
}

/// The GPUs of a run with their swept work.
pub(super) fn devices(context: &Run) -> Vec<Device> {
    let mut kept = vec![false; context.work.len()];
    context.rows.iter().filter_map(|&row| context.place(row)).for_each(|place| kept[place] = true);
    let of_gpu = |gpu: &Gpu| {
        let places: Vec<u32> = gpu.work.iter().copied().filter(|&place| kept[place as usize]).collect();
        (!places.is_empty()).then(|| device(context, gpu, &places))
    };
    context.work.gpus.iter().filter(|gpu| gpu.is_rank).filter_map(of_gpu).collect()
}

fn device(context: &Run, gpu: &Gpu, places: &[u32]) -> Device {
    let all = &context.work;
    let mut numbers: Map<u32, u32> = Map::default();
    let mut streams: Vec<Lineup> = Vec::new();
    let mut work: Vec<Work> = Vec::with_capacity(places.len());
    for &place in places {
        let i = place as usize;
        let stream = *numbers.entry(all.stream[i]).or_insert_with(|| {
            let stream = &all.streams[all.stream[i] as usize];
            streams.push(Lineup { label: stream.label.clone(), stream: stream.stream, work: Vec::new() });
            streams.len() as u32 - 1
        });
        let lineup = &mut streams[stream as usize].work;
        let row = all.row_ref(i);
        work.push(Work {
            row,
            name: all.name[i],
            start: all.start[i],
            end: all.end[i],
            kind: kind(context, row, all.class[i]),
            stream,
            place: lineup.len() as u32,
            stage: context.stage(row),
            step: step(context, row),
            launch: all.launch_of(i).map(|launch| launch as u32),
            replayed: all.replayed[i],
        });
        lineup.push(work.len() as u32 - 1);
    }
    let spans: Vec<Span> = work.iter().map(span).collect();
    let swept = sweep(&spans, streams.len());
    let computing_apart = Stage::ALL
        .into_iter()
        .filter(|&stage| !on_one_stream(&work, |w| w.kind == WorkKind::Compute && w.stage == stage))
        .collect();
    let replays_on_one_stream = on_one_stream(&work, |work| work.replayed);
    Device { gpu: gpu.clone(), streams, work, swept, computing_apart, replays_on_one_stream }
}

fn on_one_stream(work: &[Work], which: impl Fn(&Work) -> bool) -> bool {
    let mut streams = work.iter().filter(|work| which(work)).map(|work| work.stream);
    let first = streams.next();
    streams.all(|stream| Some(stream) == first)
}

fn span(work: &Work) -> Span {
    let bucket = match work.kind {
        WorkKind::Communication => Bucket::Communication,
        WorkKind::Copy => Bucket::Copy,
        _ => Bucket::Compute,
    };
    Span { start: work.start, end: work.end, stream: work.stream, bucket }
}

fn kind(context: &Run, row: RowRef, class: WorkClass) -> WorkKind {
    match class {
        WorkClass::Communication => WorkKind::Communication,
        WorkClass::Copy => WorkKind::Copy,
        // A row that is not a kernel is not a collective, even if its name says so.
        WorkClass::Compute | WorkClass::Fill => match Rules::built_in().kind_of(context.category(row)) {
            WorkKind::Communication => WorkKind::Other,
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
