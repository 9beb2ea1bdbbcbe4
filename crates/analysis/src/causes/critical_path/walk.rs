//! The path: from the last point back to whatever delayed each point.
//!
//! Each step covers the time since its cause, so the segments have no gaps and add up to the span exactly,
//! whatever the trace contains.

use rayon::prelude::*;
use trace::{Map, StrId, ThreadId, Trace};

use super::NONE;
use super::build::Run;
use super::graph::{Dependency, POINTS_AT_ONCE};
use super::host::{Covered, innermost};
use super::track::PathSteps;
use model::work::WorkClass;

/// What bounds a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bound {
    /// A kernel is running.
    Compute,
    /// A copy is running.
    Copy,
    /// A collective moves bytes.
    Communication,
    /// From the call that launches work to its start; a call that blocks until its copy is done is `Sync`.
    Launch,
    /// From the end of work to the start of the next on its stream.
    Queueing,
    /// The host is running.
    Host,
    /// Waiting for an event or in a blocking call.
    Sync,
    /// Nothing recorded explains the wait.
    NotRecorded,
}

impl Bound {
    /// All bounds, in table order.
    pub const ALL: [Bound; 8] = [
        Bound::Compute,
        Bound::Copy,
        Bound::Communication,
        Bound::Launch,
        Bound::Queueing,
        Bound::Host,
        Bound::Sync,
        Bound::NotRecorded,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Compute => "compute",
            Bound::Copy => "copy",
            Bound::Communication => "communication",
            Bound::Launch => "launch",
            Bound::Queueing => "queueing",
            Bound::Host => "host",
            Bound::Sync => "sync",
            Bound::NotRecorded => "not recorded",
        }
    }
}

impl From<WorkClass> for Bound {
    fn from(class: WorkClass) -> Self {
        match class {
            WorkClass::Compute | WorkClass::Fill => Bound::Compute,
            WorkClass::Copy => Bound::Copy,
            WorkClass::Communication => Bound::Communication,
        }
    }
}

/// The name of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// A name in the trace.
    Name(StrId),
    /// A stretch without a name in the trace.
    Nameless(Nameless),
}

/// A stretch without a name in the trace. One byte: a path has millions of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nameless {
    /// A thread outside any recorded region.
    Unrecorded,
    /// Threads that make no GPU calls.
    Elsewhere,
    /// Time before the first cause.
    Before,
    /// A wait that nothing recorded explains.
    Unexplained,
    /// A blocking call whose name is not recorded.
    BlockingCall,
}

impl Nameless {
    /// Its words in tables.
    pub fn words(self) -> &'static str {
        match self {
            Nameless::Unrecorded => "outside recorded regions",
            Nameless::Elsewhere => "threads without GPU calls",
            Nameless::Before => "before the first recorded cause",
            Nameless::Unexplained => "a wait for something that was not recorded",
            Nameless::BlockingCall => "a blocking call",
        }
    }
}

impl Label {
    /// The label as text.
    pub fn text<'a>(&self, trace: &'a Trace) -> &'a str {
        match self {
            Label::Name(name) => trace.strings.get(*name),
            Label::Nameless(nameless) => nameless.words(),
        }
    }
}

/// Where a segment runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum SegmentLocation {
    /// A stream, as a lane of the run's work.
    Lane(u32),
    Thread(ThreadId),
    Nowhere,
}

/// A stretch of the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub start: i64,
    pub end: i64,
    pub bound: Bound,
    pub label: Label,
    pub place: SegmentLocation,
    /// The work that runs in this segment.
    pub work: u32,
}

impl Segment {
    pub fn duration(&self) -> i64 {
        self.end - self.start
    }
}

/// The path of a run.
pub(super) struct Path {
    pub steps: PathSteps,
    /// Time on the path by kind of dependency.
    pub by_dependency: [i64; Dependency::ALL.len()],
    /// The last point of the run.
    pub last: usize,
}

impl Path {
    /// In time order, without gaps.
    pub fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.steps.segments()
    }
}

const UNRECORDED: Label = Label::Nameless(Nameless::Unrecorded);
const ELSEWHERE: Label = Label::Nameless(Nameless::Elsewhere);
const BEFORE: Label = Label::Nameless(Nameless::Before);
const UNEXPLAINED: Label = Label::Nameless(Nameless::Unexplained);

/// The path before its host time is named.
pub(super) struct Walked {
    /// From the end backwards; each chunk has the steps that one thread walked.
    chunks: Vec<Vec<Segment>>,
    by_dependency: [i64; Dependency::ALL.len()],
    last: usize,
}

pub(super) fn walk(trace: &Trace, run: &Run) -> Path {
    Walked::of(trace, run).path(trace, run)
}

/// Steps per chunk.
const STEPS_AT_ONCE: usize = 1 << 14;

impl Walked {
    /// Follows the path's dependencies sequentially, then builds their segments in parallel.
    pub fn of(trace: &Trace, run: &Run) -> Self {
        Self::in_chunks(trace, run, STEPS_AT_ONCE)
    }

    fn in_chunks(trace: &Trace, run: &Run, at_once: usize) -> Self {
        let graph = &run.graph;
        let points = (0..graph.len()).into_par_iter().with_min_len(POINTS_AT_ONCE);
        let last = points.max_by_key(|&point| (graph.time[point], point)).unwrap_or(0);
        let mut first = Walker::new(trace, run, run.span.1);
        first.cover(graph.time[last], Bound::Host, ELSEWHERE, SegmentLocation::Nowhere, NONE);
        // Dependencies along the path; for each chunk its first point and the cursor there.
        let (mut edges, mut starts): (Vec<u32>, Vec<(usize, i64)>) = Default::default();
        let (mut point, mut cursor) = (last, first.cursor);
        while graph.binding[point] != NONE {
            if edges.len().is_multiple_of(at_once) {
                starts.push((point, cursor));
            }
            let edge = graph.binding[point];
            edges.push(edge);
            point = graph.from[edge as usize] as usize;
            cursor = cursor.min(graph.time[point].max(run.span.0));
        }
        let of_chunk = |(edges, &(mut point, cursor)): (&[u32], &(usize, i64))| {
            let mut walker = Walker::new(trace, run, cursor);
            walker.segments.reserve(edges.len() + edges.len() / 8);
            for &edge in edges {
                walker.step(edge as usize, point);
                point = graph.from[edge as usize] as usize;
            }
            walker
        };
        let steps = edges.par_chunks(at_once).zip(&starts);
        let mut walkers: Vec<Walker> = steps.map(of_chunk).collect();
        let mut end = Walker::new(trace, run, cursor);
        match run.host.place(point as u32) {
            Some(_) => end.cover(run.span.0, Bound::Host, ELSEWHERE, SegmentLocation::Nowhere, NONE),
            None => end.cover(run.span.0, Bound::NotRecorded, BEFORE, SegmentLocation::Nowhere, NONE),
        }
        walkers.insert(0, first);
        walkers.push(end);
        let mut by_dependency = [0; Dependency::ALL.len()];
        for walker in &walkers {
            by_dependency.iter_mut().zip(walker.by_dependency).for_each(|(sum, part)| *sum += part);
        }
        Self { chunks: walkers.into_iter().map(|walker| walker.segments).collect(), by_dependency, last }
    }

    /// In time order, without gaps.
    pub fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.chunks.iter().rev().flat_map(|chunk| chunk.iter().rev())
    }

    /// The path, with host time split by the innermost region that covers it.
    pub fn path(&self, trace: &Trace, run: &Run) -> Path {
        let chunks = name_host(trace, run, self);
        Path { steps: PathSteps::of(chunks), by_dependency: self.by_dependency, last: self.last }
    }
}

struct Walker<'a> {
    trace: &'a Trace,
    run: &'a Run,
    /// Everything after this time is on the path already.
    cursor: i64,
    segments: Vec<Segment>,
    by_dependency: [i64; Dependency::ALL.len()],
}

impl<'a> Walker<'a> {
    fn new(trace: &'a Trace, run: &'a Run, cursor: i64) -> Self {
        Self { trace, run, cursor, segments: Vec::new(), by_dependency: [0; Dependency::ALL.len()] }
    }

    /// Covers the time back to `start`.
    fn cover(&mut self, start: i64, bound: Bound, label: Label, place: SegmentLocation, work: u32) {
        let start = start.max(self.run.span.0);
        if start < self.cursor {
            self.segments.push(Segment { start, end: self.cursor, bound, label, place, work });
            self.cursor = start;
        }
    }

    fn step(&mut self, edge: usize, to: usize) {
        let (run, trace) = (self.run, self.trace);
        let kind = run.graph.kind[edge];
        let from = run.graph.from[edge] as usize;
        let (begin, before) = (run.graph.time[from], self.cursor);
        let (to_work, from_work) = ((to / 2) as u32, (from / 2) as u32);
        match kind {
            Dependency::Work | Dependency::Transfer => self.work(begin, to_work),
            // The earlier work runs until this one begins.
            Dependency::Beside => self.work(begin, from_work),
            Dependency::Arrival | Dependency::Along => self.work(begin, from_work),
            Dependency::Host | Dependency::HandOff => {
                let place = run.host.place(to as u32).map_or(ThreadId::NONE, |place| run.host.thread[place]);
                self.wait(edge, to, Bound::Host, UNRECORDED, SegmentLocation::Thread(place));
            }
            Dependency::Launch => {
                let call = run.works.launch[to_work as usize] as usize;
                let (name, thread) = (trace.regions.name[call], trace.regions.thread[call]);
                let bound = if run.waits_in_its_call(to_work) { Bound::Sync } else { Bound::Launch };
                self.wait(edge, to, bound, Label::Name(name), SegmentLocation::Thread(thread));
            }
            Dependency::Stream | Dependency::Graph | Dependency::Nearest => {
                self.gap(edge, to, Bound::Queueing);
            }
            Dependency::Event | Dependency::Order | Dependency::DefaultStream => {
                self.gap(edge, to, Bound::Sync)
            }
            Dependency::Sync | Dependency::Return => {
                let place = run.host.place(to as u32);
                let region = place.map_or(NONE, |place| run.host.region[place]);
                let thread = place.map_or(ThreadId::NONE, |place| run.host.thread[place]);
                let label = match trace.regions.name.get(region as usize) {
                    Some(&name) => Label::Name(name),
                    None => Label::Nameless(Nameless::BlockingCall),
                };
                self.wait(edge, to, Bound::Sync, label, SegmentLocation::Thread(thread));
            }
        }
        self.by_dependency[kind as usize] += before - self.cursor;
    }

    fn work(&mut self, begin: i64, work: u32) {
        let works = &self.run.works;
        let (name, lane) = (works.name[work as usize], works.stream[work as usize]);
        let bound = works.class[work as usize].into();
        self.cover(begin, bound, Label::Name(name), SegmentLocation::Lane(lane), work);
    }

    fn gap(&mut self, edge: usize, to: usize, bound: Bound) {
        let works = &self.run.works;
        let (name, lane) = (works.name[to / 2], works.stream[to / 2]);
        self.wait(edge, to, bound, Label::Name(name), SegmentLocation::Lane(lane));
    }

    /// A wait; the end of it may be for something unrecorded.
    fn wait(&mut self, edge: usize, to: usize, bound: Bound, label: Label, place: SegmentLocation) {
        let graph = &self.run.graph;
        let (begin, end) = (graph.time[graph.from[edge] as usize], graph.time[to]);
        let beyond = self.run.not_recorded.of_edge(edge);
        if beyond > 0 {
            self.cover(end - beyond, Bound::NotRecorded, UNEXPLAINED, place, NONE);
        }
        self.cover(begin, bound, label, place, NONE);
    }
}

/// The segments in time order, in chunks; host segments are split by the innermost region that covers them.
fn name_host(trace: &Trace, run: &Run, walked: &Walked) -> Vec<Vec<Segment>> {
    let chunks: Vec<&Vec<Segment>> = walked.chunks.iter().rev().collect();
    let of_chunk = |chunk: &&Vec<Segment>| {
        let stretches = chunk.iter().rev().filter_map(|segment| Some((on_thread(segment)?, segment)));
        stretches.map(|(thread, segment)| (thread, (segment.start, segment.end))).collect::<Vec<_>>()
    };
    let of_chunks: Vec<Vec<(ThreadId, (i64, i64))>> = chunks.par_iter().map(of_chunk).collect();
    let mut wanted: Map<ThreadId, Vec<(i64, i64)>> = Map::default();
    for (thread, stretch) in of_chunks.into_iter().flatten() {
        wanted.entry(thread).or_default().push(stretch);
    }
    let covered = match wanted.is_empty() {
        true => Map::default(),
        false => innermost(trace, &run.profiler, &run.clocks, &wanted),
    };
    let mut named: Vec<Vec<Segment>> = chunks.par_iter().map(|chunk| name_chunk(chunk, &covered)).collect();
    // A stretch may continue in the next chunk.
    let mut before = 0;
    for at in 1..named.len() {
        let (done, rest) = named.split_at_mut(at);
        match (done[before].last_mut(), rest[0].first()) {
            (Some(last), Some(first)) if on_host(first) && goes_on(last, first) => {
                last.end = first.end;
                rest[0].remove(0);
            }
            _ => {}
        }
        if !rest[0].is_empty() {
            before = at;
        }
    }
    named
}

/// The thread whose regions name a segment.
fn on_thread(segment: &Segment) -> Option<ThreadId> {
    match (segment.bound, segment.label, segment.place) {
        (Bound::Host, UNRECORDED, SegmentLocation::Thread(thread)) => Some(thread),
        _ => None,
    }
}

/// Whether a segment is host time on a thread.
fn on_host(segment: &Segment) -> bool {
    segment.bound == Bound::Host && matches!(segment.place, SegmentLocation::Thread(_))
}

/// Whether a segment continues the one before it.
fn goes_on(last: &Segment, next: &Segment) -> bool {
    last.label == next.label
        && last.bound == Bound::Host
        && last.place == next.place
        && last.end == next.start
}

/// The segments of a chunk, which runs backwards, in time order and with their names.
fn name_chunk(chunk: &[Segment], covered: &Map<ThreadId, Vec<Covered>>) -> Vec<Segment> {
    let mut next: Map<ThreadId, &[Covered]> = Map::default();
    let mut named: Vec<Segment> = Vec::with_capacity(chunk.len() + chunk.len() / 2);
    for segment in chunk.iter().rev() {
        let Some((thread, pieces)) = on_thread(segment).and_then(|thread| covered.get_key_value(&thread))
        else {
            named.push(*segment);
            continue;
        };
        let pieces = next.entry(*thread).or_insert_with(|| {
            // Earlier pieces belong to earlier chunks.
            &pieces[pieces.partition_point(|piece| piece.start < segment.start)..]
        });
        while let Some((piece, rest)) = pieces.split_first().filter(|(piece, _)| piece.start < segment.end) {
            *pieces = rest;
            let label = piece.name.map_or(UNRECORDED, Label::Name);
            let stretch = Segment { start: piece.start, end: piece.end, label, ..*segment };
            match named.last_mut() {
                Some(last) if goes_on(last, &stretch) => last.end = stretch.end,
                _ => named.push(stretch),
            }
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::super::build::{GraphInputs, build};
    use super::*;
    use model::classify::{Classes, Classifier};
    use trace::{Kernel, Process, Region, Source, Stream, Thread};

    /// Launches and kernels of different lengths, with a wait now and then.
    fn run() -> Trace {
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named("run", "rocpd"));
        let process = trace.add_process(Process::new(source, 100));
        let thread = trace.add_thread(Thread { process, tid: 1, ..Thread::default() });
        let stream = trace.add_stream(Stream { process, id: 1, ..Stream::default() });
        let category = trace.strings.intern("HIP_RUNTIME_API");
        let [launch, wait, gemm] =
            ["hipLaunchKernel", "hipDeviceSynchronize", "gemm"].map(|name| trace.strings.intern(name));
        let (mut now, mut done) = (0, 0);
        for correlation in 1..60 {
            let (name, takes) =
                if correlation % 9 == 0 { (wait, 0.max(done - now) + 5) } else { (launch, 7) };
            let (start, end) = (now + 3, now + 3 + takes);
            trace.regions.push(Region {
                name,
                category,
                start,
                end,
                process,
                thread,
                correlation,
                ..Region::default()
            });
            if name == launch {
                let start = done.max(end + 2);
                done = start + 5 + 13 * (correlation % 4);
                trace.kernels.push(Kernel {
                    name: gemm,
                    start,
                    end: done,
                    process,
                    stream,
                    correlation,
                    ..Kernel::default()
                });
            }
            now = end;
        }
        trace.finish();
        trace
    }

    #[test]
    fn the_path_is_the_same_however_many_steps_are_told_at_once() {
        let trace = run();
        let classes = Classes::of(&trace, &Classifier::builtin());
        let run = build(GraphInputs::of_trace(&trace, &classes), false).unwrap();
        let told = |at_once: usize| {
            let walked = Walked::in_chunks(&trace, &run, at_once);
            let segments: Vec<String> = walked.segments().map(|segment| format!("{segment:?}")).collect();
            let path = walked.path(&trace, &run);
            let named: Vec<String> = path.segments().map(|segment| format!("{segment:?}")).collect();
            (segments, named, walked.by_dependency)
        };
        let whole = told(1 << 20);
        assert!(whole.0.len() > 40, "{} segments", whole.0.len());
        for at_once in [1, 2, 7, 50] {
            assert_eq!(told(at_once), whole, "{at_once} at once");
        }
    }
}
