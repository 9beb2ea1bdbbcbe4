//! Builds the graph of a run: GPU work in stream order, host threads with their calls, dependencies.

use std::borrow::Cow;
use std::sync::Arc;

use rayon::prelude::*;
use trace::{ProcessId, Trace};

use super::NONE;
use super::clocks::{self, Clocks};
use super::graph::{Dependency, Draft, Graph, POINTS_AT_ONCE};
use super::host::Host;
use super::minimum_times::MinimumTimes;
use super::not_recorded::NotRecorded;
use super::replay::{CallCounts, Replayed, replay};
use super::rules::Rules;
use super::unexplained;
use model::calls::{CallFacts, Calls};
use model::classify::Classes;
use model::collectives::{Meeting, Meetings};
use model::order::Operations;
use model::profiler::{ProfilerSpans, Span};
use model::recordings::Recordings;
use model::work::GpuWork;

/// The point at which a piece of work starts.
pub(super) fn start_of(work: u32) -> u32 {
    2 * work
}

/// The point at which a piece of work ends.
pub(super) fn end_of(work: u32) -> u32 {
    2 * work + 1
}

/// A run as a graph. Points are starts and ends of work, then host points, then collective meetings.
pub(super) struct Run {
    pub works: Arc<GpuWork>,
    pub host: Host,
    pub clocks: Clocks,
    pub calls: Calls,
    pub profiler: ProfilerSpans,
    pub least: MinimumTimes,
    pub graph: Graph,
    /// How much the recorded calls explain.
    pub known: CallCounts,
    /// Copies that began inside a call that blocks until they are done, sorted.
    blocking_copies: Vec<u32>,
    /// Waits that nothing in the trace explains.
    pub not_recorded: NotRecorded,
    /// Why ranks that communicate could not be aligned.
    pub not_joined: Vec<String>,
    /// One recording per clock if nothing aligns the clocks; empty if all times are on one clock.
    pub separate_clocks: Vec<String>,
    /// First and last time of all events.
    pub span: (i64, i64),
}

impl Run {
    /// Whether this is a copy whose call blocks the host until it is done: time in the call before the copy
    /// begins is blocking time, not launch latency.
    pub fn waits_in_its_call(&self, work: u32) -> bool {
        !self.blocking_copies.is_empty() && self.blocking_copies.binary_search(&work).is_ok()
    }
}

/// What the graph is built from.
pub(super) struct GraphInputs<'a> {
    trace: &'a Trace,
    recordings: Cow<'a, Recordings>,
    calls: Cow<'a, Calls>,
    /// The work of ranks.
    works: Arc<GpuWork>,
}

impl<'a> GraphInputs<'a> {
    pub fn of_trace(trace: &'a Trace, classes: &Classes) -> Self {
        let recordings = Recordings::of(trace);
        let (works, calls) =
            rayon::join(|| GpuWork::of_ranks(trace, classes, &recordings), || Calls::of(trace));
        Self { trace, recordings: Cow::Owned(recordings), calls: Cow::Owned(calls), works: Arc::new(works) }
    }

    /// Shares what the run knows already.
    pub fn of_run(run: &'a model::Run<'a>) -> Self {
        let (trace, recordings) = (run.trace, &run.recordings);
        let all_counts = run.work.streams.iter().all(|stream| recordings.counts(stream.process));
        let works = match all_counts {
            true => run.work.clone(),
            false => Arc::new(GpuWork::of_ranks(trace, &run.classes, recordings)),
        };
        Self { trace, recordings: Cow::Borrowed(recordings), calls: Cow::Borrowed(&run.calls), works }
    }
}

/// The graph of a trace; `infer` adds dependencies that only times suggest.
pub(super) fn build(inputs: GraphInputs, infer: bool) -> Option<Run> {
    Parts::of(inputs)?.join(infer)
}

/// What a graph is joined from. All threads make it; joining it is mostly up to one.
pub(super) struct Parts<'a> {
    trace: &'a Trace,
    recordings: Cow<'a, Recordings>,
    calls: Cow<'a, Calls>,
    profiler: ProfilerSpans,
    works: Arc<GpuWork>,
    meetings: Meetings,
    clocks: Clocks,
    separate_clocks: Vec<String>,
    host: Host,
    span: (i64, i64),
}

impl<'a> Parts<'a> {
    /// The parts of a trace's graph; `None` if nothing is recorded.
    pub fn of(inputs: GraphInputs<'a>) -> Option<Self> {
        let GraphInputs { trace, recordings, calls, works } = inputs;
        let counted = counted_processes(trace, &recordings);
        let of_works = || {
            let meetings = Meetings::of(trace, &works, &recordings);
            let separate_clocks = clocks::not_joined(trace, &recordings, &meetings.all);
            let clocks = Clocks::of(trace, &meetings.all);
            let works = on_one_clock(works, &clocks);
            (works, meetings, separate_clocks, clocks)
        };
        let ((works, meetings, separate_clocks, clocks), profiler) =
            rayon::join(of_works, || ProfilerSpans::of(trace));

        let first_of_host = 2 * works.len() as u32;
        let (host, span) = rayon::join(
            || Host::of(trace, &profiler, &clocks, &counted, first_of_host),
            || span(trace, &profiler, &clocks, &counted),
        );
        let span = span?;
        Some(Self {
            trace,
            recordings,
            calls,
            profiler,
            works,
            meetings,
            clocks,
            separate_clocks,
            host,
            span,
        })
    }

    /// Makes the graph from its parts. Without GPU work there is none.
    pub fn join(self, infer: bool) -> Option<Run> {
        let Self {
            trace,
            recordings,
            calls,
            profiler,
            works,
            meetings,
            clocks,
            separate_clocks,
            mut host,
            span,
        } = self;
        let tolerance = Rules::built_in().limits.clock_tolerance_ns;
        let of_work = || {
            let met = meet_members(trace, &works, &meetings.all);
            let draft = draft_of_work(&works, &met, tolerance);
            (met, draft)
        };
        let (operations, (met, mut draft)) =
            rayon::join(|| Operations::of(trace, &calls, &recordings), of_work);
        let replayed = replay(trace, &works, &operations, &clocks, &mut host, &mut draft);
        let least = learn(trace, &works, &clocks, &replayed, &mut draft);
        stream_order(&mut draft, &works, &least, tolerance);
        host.finish(&mut draft);
        collectives(&mut draft, &works, &met);
        // A wait without a recorded target must have a cause; only times can show which one.
        let infer = infer || replayed.known.unresolved_waits > 0;
        unexplained::explain(trace, &works, &least, infer, &mut draft);
        let graph = draft.finish();
        if graph.len() == 0 {
            return None;
        }
        let (known, not_recorded) = (replayed.known, NotRecorded::default());
        let not_joined = meetings.not_joined;
        let blocking_copies = blocking_copies(trace, &works, &calls, &clocks);
        let mut run = Run {
            works,
            host,
            clocks,
            calls: calls.into_owned(),
            profiler,
            least,
            graph,
            known,
            blocking_copies,
            not_recorded,
            not_joined,
            separate_clocks,
            span,
        };
        run.not_recorded = NotRecorded::of(trace, &run);
        Some(run)
    }
}

/// A draft of the GPU work only: work that takes its time whatever else changes.
fn draft_of_work(works: &GpuWork, met: &Met, tolerance: i64) -> Draft {
    let mut draft = Draft::new(tolerance);
    draft.reserve(3 * works.len() + works.len() / 8, 4 * works.len() + works.len() / 4);
    for work in 0..works.len() {
        draft.point(works.start[work]);
        draft.point(works.end[work]);
    }
    for work in 0..works.len() as u32 {
        if met.of_work.get(work as usize).is_none_or(|&meeting| meeting == NONE) {
            draft.add(start_of(work), end_of(work), works.duration(work as usize), Dependency::Work);
        }
    }
    draft
}

/// Learns the minimum times of launches and waits, and sets them on their dependencies.
fn learn(
    trace: &Trace,
    works: &GpuWork,
    clocks: &Clocks,
    replayed: &Replayed,
    draft: &mut Draft,
) -> MinimumTimes {
    let mut waits = vec![false; works.len()];
    replayed.waits.iter().for_each(|&(_, work)| waits[work as usize] = true);
    let regions = &trace.regions;
    let least = MinimumTimes::of(regions, works, clocks, &waits);
    for &(edge, work) in &replayed.waits {
        draft.set_least(edge as usize, least.gap(works.replayed[work as usize]));
    }
    let call_of = |work: u32| works.launch[work as usize] as usize;
    for of_call in replayed.launches.chunk_by(|one, other| call_of(one.1) == call_of(other.1)) {
        let call = call_of(of_call[0].1);
        let begin = clocks.align(regions.process[call], regions.start[call]);
        let end = clocks.align(regions.process[call], regions.end[call]);
        let duration = regions.end[call] - regions.start[call];
        // The first kernel of a graph shows how soon the launch let all of them start.
        let first = of_call.iter().map(|&(_, work)| works.start[work as usize]).min();
        for &(edge, work) in of_call {
            let holds_work = works.end[work as usize] <= end;
            let takes = least.launch(regions.name[call], duration, holds_work);
            draft.set_least(edge as usize, first.map_or(takes, |first| takes.min(first - begin)));
        }
    }
    least
}

/// Puts all work on the common clock. Rows that end before they start take no time.
fn on_one_clock(mut shared: Arc<GpuWork>, clocks: &Clocks) -> Arc<GpuWork> {
    let is_sane = shared.start.iter().zip(&shared.end).all(|(start, end)| start <= end);
    if is_sane && clocks.largest() == 0 {
        return shared;
    }
    let works = Arc::make_mut(&mut shared);
    for work in 0..works.len() {
        let process = works.process(work);
        works.start[work] = clocks.align(process, works.start[work]);
        works.end[work] = clocks.align(process, works.end[work]).max(works.start[work]);
    }
    shared
}

/// Copies that began inside a call that blocks until they are done.
fn blocking_copies(trace: &Trace, works: &GpuWork, calls: &Calls, clocks: &Clocks) -> Vec<u32> {
    let regions = &trace.regions;
    let begins_in_call = |&work: &u32| {
        let Some(call) = works.launch_of(work as usize) else { return false };
        calls.of_region(trace, call).is_some_and(CallFacts::is_blocking_copy)
            && works.start[work as usize] <= clocks.align(regions.process[call], regions.end[call])
    };
    let all = (0..works.len() as u32).into_par_iter().with_min_len(POINTS_AT_ONCE);
    all.filter(begins_in_call).collect()
}

/// By process: whether it belongs to a rank.
fn counted_processes(trace: &Trace, recordings: &Recordings) -> Vec<bool> {
    (0..trace.processes.len() as u32).map(|process| recordings.counts(ProcessId(process))).collect()
}

/// First and last time of everything the program did; the profiler's own spans do not count.
fn span(trace: &Trace, profiler: &ProfilerSpans, clocks: &Clocks, counted: &[bool]) -> Option<(i64, i64)> {
    let regions = &trace.regions;
    let of_program = |row: usize| profiler.of_region(trace, row) != Span::Profiler;
    let all = |_: usize| true;
    type Rows<'a> = (&'a [ProcessId], &'a [i64], &'a [i64], &'a dyn Fn(usize) -> bool);
    let tables: [Rows; 3] = [
        (&trace.kernels.process, &trace.kernels.start, &trace.kernels.end, &all),
        (&trace.memory_copies.process, &trace.memory_copies.start, &trace.memory_copies.end, &all),
        (&regions.process, &regions.start, &regions.end, &of_program),
    ];
    let mut span: Option<(i64, i64)> = None;
    for (process, start, end, counts) in tables {
        for row in 0..start.len() {
            if process[row].get().is_some_and(|process| !counted[process]) || !counts(row) {
                continue;
            }
            let start = clocks.align(process[row], start[row]);
            let end = clocks.align(process[row], end[row]).max(start);
            let (first, last) = span.get_or_insert((start, end));
            *first = (*first).min(start);
            *last = (*last).max(end);
        }
    }
    span
}

/// Work follows the previous work on its stream, or overlaps with it.
fn stream_order(draft: &mut Draft, works: &GpuWork, least: &MinimumTimes, tolerance: i64) {
    for lane in &works.streams {
        // The previous work: the last to start and the last to end.
        let mut before: Option<(u32, u32)> = None;
        for &work in &lane.work {
            let (start, end) = (works.start[work as usize], works.end[work as usize]);
            if let Some((previous, latest)) = before {
                let gap = least.gap(works.replayed[work as usize]);
                let follows = |other: u32| {
                    let overlap = works.end[other as usize] - start;
                    // In-order records may overlap by as much as the clocks differ.
                    overlap <= 0 || overlap <= tolerance && 2 * overlap < works.duration(other as usize)
                };
                if follows(latest) {
                    draft.add(end_of(latest), start_of(work), gap, Dependency::Stream);
                } else if follows(previous) {
                    draft.add(end_of(previous), start_of(work), gap, Dependency::Stream);
                } else {
                    draft.add(start_of(previous), start_of(work), 0, Dependency::Beside);
                }
            }
            let latest = before.map_or(
                work,
                |(_, latest)| {
                    if works.end[latest as usize] > end { latest } else { work }
                },
            );
            before = Some((work, latest));
        }
    }
}

/// Collective meetings as pieces of work.
struct Met {
    members: Vec<Vec<u32>>,
    /// The meeting of each piece of work; empty if there are no meetings.
    of_work: Vec<u32>,
}

fn meet_members(trace: &Trace, works: &GpuWork, meetings: &[Meeting]) -> Met {
    if meetings.is_empty() {
        return Met { members: Vec::new(), of_work: Vec::new() };
    }
    let mut work_of = vec![NONE; trace.kernels.len()];
    for work in 0..works.len() {
        if !works.is_copy_row[work] {
            work_of[works.row[work] as usize] = work as u32;
        }
    }
    let mut met = Met { members: Vec::new(), of_work: vec![NONE; works.len()] };
    for meeting in meetings {
        let members: Vec<u32> = meeting
            .kernels
            .iter()
            .map(|&kernel| work_of[kernel as usize])
            .filter(|&work| work != NONE)
            .collect();
        let last = members.iter().map(|&work| works.start[work as usize]).max().unwrap_or(i64::MIN);
        // A member that left before the last one arrived did not wait for it.
        if members.len() < 2 || members.iter().any(|&work| works.end[work as usize] < last) {
            continue;
        }
        members.iter().for_each(|&work| met.of_work[work as usize] = met.members.len() as u32);
        met.members.push(members);
    }
    met
}

/// A collective begins when the last rank arrives, then takes its time on every rank.
fn collectives(draft: &mut Draft, works: &GpuWork, met: &Met) {
    for members in &met.members {
        let last = members.iter().map(|&work| works.start[work as usize]).max().unwrap_or(0);
        let meeting = draft.point(last);
        for &work in members {
            draft.add(start_of(work), meeting, 0, Dependency::Arrival);
            draft.add(meeting, end_of(work), works.end[work as usize] - last, Dependency::Transfer);
        }
    }
}
