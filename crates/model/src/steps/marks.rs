//! Steps: the annotations a serving framework puts around each pass of the model, and launches inside them.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use trace::{Ns, ProcessId, StrId, StreamId, ThreadId, Trace};

use super::patterns::{StageRules, StepName};
use super::{Stage, StagePatterns};
use crate::ROWS_AT_ONCE;

/// One step of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// Its number in time order, from 0; nested annotations share it.
    pub number: u32,
    /// Its annotation's name, in the trace's strings.
    pub name: StrId,
    /// The stage in its name.
    pub stage: Stage,
    /// First nanosecond on the host.
    pub start: Ns,
    /// Nanosecond after the last on the host.
    pub end: Ns,
    /// Requests in the context phase, if the name says.
    pub context_requests: Option<u64>,
    /// Tokens of the requests in the context phase.
    pub context_tokens: Option<u64>,
    /// Requests in the generation phase.
    pub generation_requests: Option<u64>,
    /// Tokens of the requests in the generation phase.
    pub generation_tokens: Option<u64>,
    /// Requests of the step.
    pub batch: Option<u64>,
    /// Batch the graph was captured for, if the name says.
    pub padded_batch: Option<u64>,
    /// Whether it is only a loop around the framework's steps (`ProfilerStep#N`).
    pub is_loop_step: bool,
}

/// All steps of a trace, and the innermost one around each given launch.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// By start.
    pub steps: Vec<Step>,
}

const NONE: u32 = u32::MAX;

/// Names that one thread handles at a time.
const NAMES_AT_ONCE: usize = 1 << 8;

/// The category of annotations that the profiler repeats on GPU lanes.
const GPU_LANE: &str = "gpu_user_annotation";

/// A graph's capture, from its annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CaptureMark<'a> {
    pub batch: Option<u64>,
    pub mode: &'a str,
}

/// Annotations, each distinct name parsed once.
pub(crate) struct Annotations<'a> {
    trace: &'a Trace,
    own: Option<&'a StagePatterns>,
    /// Categories of regions that may be steps.
    asked: Vec<bool>,
    known: Vec<Option<Option<StepName<'a>>>>,
}

impl<'a> Annotations<'a> {
    pub fn new(trace: &'a Trace) -> Self {
        let mut asked = vec![true; trace.strings.len()];
        // Frames, ops and calls are most of a trace and never steps; GPU lanes repeat the host's annotations.
        for other in ["python_function", "cpu_op", "cuda_runtime", "cuda_driver", GPU_LANE] {
            if let Some(id) = trace.strings.find(other) {
                asked[id.0 as usize] = false;
            }
        }
        Self { trace, own: None, asked, known: vec![None; trace.strings.len()] }
    }

    /// The annotations on GPU lanes.
    fn on_gpu_lanes(trace: &'a Trace) -> Option<Self> {
        let lane = trace.strings.find(GPU_LANE)?;
        let mut asked = vec![false; trace.strings.len()];
        asked[lane.0 as usize] = true;
        Some(Self { trace, own: None, asked, known: vec![None; trace.strings.len()] })
    }

    /// Adds the user's own patterns, tried first.
    fn with(mut self, own: &'a StagePatterns) -> Self {
        self.own = Some(own);
        self
    }

    /// The parsed annotation at `row`, if it is a step or a capture.
    pub fn read(&mut self, row: usize) -> Option<StepName<'a>> {
        let regions = &self.trace.regions;
        if !self.asked[regions.category[row].0 as usize] {
            return None;
        }
        let name = regions.name[row];
        let strings = &self.trace.strings;
        let own = self.own;
        *self.known[name.0 as usize].get_or_insert_with(|| {
            let text = strings.get(name);
            own.and_then(|own| own.step(text)).or_else(|| StageRules::built_in().step(text))
        })
    }

    /// Parses all names that may be steps.
    fn read_all(&mut self) {
        let Self { trace, own, asked, known } = self;
        let (regions, strings) = (&trace.regions, &trace.strings);
        let is_met: Vec<AtomicBool> = (0..known.len()).map(|_| AtomicBool::new(false)).collect();
        let rows = (0..regions.len()).into_par_iter().with_min_len(ROWS_AT_ONCE);
        rows.filter(|&row| asked[regions.category[row].0 as usize])
            .for_each(|row| is_met[regions.name[row].0 as usize].store(true, Ordering::Relaxed));
        let names = known.par_iter_mut().enumerate().with_min_len(NAMES_AT_ONCE);
        names.filter(|(name, _)| is_met[*name].load(Ordering::Relaxed)).for_each(|(name, known)| {
            let text = strings.get(StrId(name as u32));
            let own = own.and_then(|own| own.step(text));
            *known = Some(own.or_else(|| StageRules::built_in().step(text)));
        });
    }

    /// The annotation at `row`, if its name was parsed.
    fn known(&self, row: usize) -> Option<StepName<'a>> {
        let regions = &self.trace.regions;
        self.known[regions.name[row].0 as usize]?.filter(|_| self.asked[regions.category[row].0 as usize])
    }

    /// The capture that the region at `row` marks.
    pub fn capture(&mut self, row: usize) -> Option<CaptureMark<'a>> {
        let step = self.read(row)?;
        Some(CaptureMark { batch: step.batch, mode: step.capture_mode? })
    }
}

/// One annotation: where it is and which step it belongs to.
struct Mark {
    row: u32,
    step: u32,
}

impl Steps {
    /// The steps of a trace, and the innermost one of each of `launches` (ascending rows of `regions`).
    pub fn of(trace: &Trace, launches: &[u32]) -> (Self, Vec<Option<u32>>) {
        Self::with(trace, launches, &StagePatterns::default())
    }

    /// Like `of`, with the user's own patterns.
    pub fn with(trace: &Trace, launches: &[u32], own: &StagePatterns) -> (Self, Vec<Option<u32>>) {
        let (steps, marks) = Self::read(trace, Annotations::new(trace).with(own));
        let inside = innermost(trace, &marks, launches);
        (steps, inside)
    }

    /// The steps on GPU lanes, and the step of each kernel and copy by time on its own stream: GPU
    /// annotations span the work they belong to.
    pub(crate) fn on_gpu_lanes(trace: &Trace, own: &StagePatterns) -> Option<OnGpuLanes> {
        let (steps, marks) = Self::read(trace, Annotations::on_gpu_lanes(trace)?.with(own));
        if marks.is_empty() {
            return None;
        }
        let (kernels, copies) = (&trace.kernels, &trace.memory_copies);
        let kernels = around(trace, &marks, &kernels.start, &kernels.process, &kernels.stream);
        let copies = around(trace, &marks, &copies.start, &copies.process, &copies.stream);
        Some(OnGpuLanes { steps, kernels, copies })
    }

    fn read<'a>(trace: &'a Trace, mut annotations: Annotations<'a>) -> (Self, Vec<Mark>) {
        annotations.read_all();
        let named = |row: u32| {
            let step = annotations.known(row as usize).filter(|step| step.capture_mode.is_none());
            step.map(|step| (row, step))
        };
        let rows = (0..trace.regions.len() as u32).into_par_iter().with_min_len(ROWS_AT_ONCE);
        let mut found: Vec<(u32, StepName)> = rows.filter_map(named).collect();
        if found.iter().any(|(_, step)| !step.is_loop_step && !step.is_plain_word) {
            found.retain(|(_, step)| !step.is_loop_step && !step.is_plain_word);
        }
        let regions = &trace.regions;
        // Of equal starts the longer is the outer one.
        found.sort_by_key(|(row, _)| (regions.start[*row as usize], -regions.end[*row as usize]));
        let mut steps = Self::default();
        let mut marks = Vec::new();
        let mut until: trace::Map<ThreadId, (Ns, u32)> = trace::Map::default();
        // The draft model has prefill and decode steps of its own.
        let mut drafting: trace::Map<ThreadId, Ns> = trace::Map::default();
        let mut numbers = 0;
        for (row, mut name) in found {
            let at = row as usize;
            let (thread, start, end) = (regions.thread[at], regions.start[at], regions.end[at]);
            let outer = until.get(&thread).filter(|(end, _)| start < *end);
            let number = outer.map_or(numbers, |(_, number)| *number);
            if outer.is_none() {
                until.insert(thread, (end, number));
                numbers += 1;
            }
            if drafting.get(&thread).is_some_and(|end| start < *end) {
                name.stage = Stage::Draft;
            } else if name.stage == Stage::Draft {
                drafting.insert(thread, end);
            }
            marks.push(Mark { row, step: steps.steps.len() as u32 });
            steps.steps.push(step(number, regions.name[at], start, end, &name));
        }
        (steps, marks)
    }
}

/// Steps from GPU lanes, and the step of each row.
pub(crate) struct OnGpuLanes {
    pub steps: Steps,
    pub kernels: Vec<Option<u32>>,
    pub copies: Vec<Option<u32>>,
}

/// The innermost annotation of its own stream around each row's start; rows are in time order.
fn around(
    trace: &Trace,
    marks: &[Mark],
    starts: &[Ns],
    processes: &[ProcessId],
    streams: &[StreamId],
) -> Vec<Option<u32>> {
    let regions = &trace.regions;
    let mut open: trace::Map<(u32, i64), Vec<u32>> = trace::Map::default();
    let mut next = 0;
    let mut inside = vec![None; starts.len()];
    for (row, &now) in starts.iter().enumerate() {
        while next < marks.len() && regions.start[marks[next].row as usize] <= now {
            let at = marks[next].row as usize;
            if let Some(thread) = regions.thread[at].get() {
                let lane = (regions.process[at].0, trace.threads[thread].tid);
                open.entry(lane).or_default().push(next as u32);
            }
            next += 1;
        }
        let Some(stream) = streams[row].get() else { continue };
        let Some(stack) = open.get_mut(&(processes[row].0, trace.streams[stream].id)) else { continue };
        while stack.last().is_some_and(|&mark| regions.end[marks[mark as usize].row as usize] <= now) {
            stack.pop();
        }
        inside[row] = stack.last().map(|&mark| marks[mark as usize].step);
    }
    inside
}

fn step(number: u32, name: StrId, start: Ns, end: Ns, says: &StepName) -> Step {
    Step {
        number,
        name,
        stage: says.stage,
        start,
        end,
        context_requests: says.context_requests,
        context_tokens: says.context_tokens,
        generation_requests: says.generation_requests,
        generation_tokens: says.generation_tokens,
        batch: says.batch,
        padded_batch: says.padded_batch,
        is_loop_step: says.is_loop_step,
    }
}

/// The innermost step around each launch: on its own thread, else on the only other thread of its process
/// that has one open (helper threads launch for the current step).
fn innermost(trace: &Trace, marks: &[Mark], launches: &[u32]) -> Vec<Option<u32>> {
    let regions = &trace.regions;
    let mut open: Vec<(ThreadId, u32, Vec<u32>)> = Vec::new();
    let mut next = 0;
    let mut inside = Vec::with_capacity(launches.len());
    for &launch in launches {
        let at = launch as usize;
        let now = regions.start[at];
        while next < marks.len() && regions.start[marks[next].row as usize] <= now {
            let row = marks[next].row as usize;
            let thread = regions.thread[row];
            let lane = match open.iter().position(|(t, _, _)| *t == thread) {
                Some(lane) => lane,
                None => {
                    open.push((thread, regions.process[row].0, Vec::new()));
                    open.len() - 1
                }
            };
            open[lane].2.push(next as u32);
            next += 1;
        }
        let mut own = NONE;
        let mut others = (0, NONE);
        for (thread, process, stack) in &mut open {
            while stack.last().is_some_and(|&mark| regions.end[marks[mark as usize].row as usize] <= now) {
                stack.pop();
            }
            let Some(&mark) = stack.last() else { continue };
            if *thread == regions.thread[at] {
                own = marks[mark as usize].step;
            } else if *process == regions.process[at].0 {
                others = (others.0 + 1, marks[mark as usize].step);
            }
        }
        let step = if own == NONE && others.0 == 1 { others.1 } else { own };
        inside.push((step != NONE).then_some(step));
    }
    inside
}
