//! What the profiler adds itself: annotations repeated on GPU lanes, and its span over the whole run.

use std::collections::BTreeMap;

use trace::{OptI64, Region, StrId, Thread, ThreadId, Trace};

use super::Emitter;
use crate::identity::Dialect;
use crate::program::{FrameKind, Program};
use crate::recording::AnnotationLanes;

/// An annotation that is shown on GPU lanes: the time of the work launched under it, by stream.
pub(super) struct GpuAnnotation {
    name: StrId,
    spans: BTreeMap<u32, (i64, i64)>,
}

/// Threads that are not threads of the program.
#[derive(Default)]
pub(super) struct ExtraLanes {
    streams: BTreeMap<u32, ThreadId>,
    profiler: Option<ThreadId>,
}

impl ExtraLanes {
    /// The lane of the profiler's span, if the recording has one.
    pub(super) fn of(
        trace: &mut Trace,
        program: &Program,
        process: trace::ProcessId,
        dialect: Dialect,
    ) -> Self {
        let mut lanes = Self::default();
        if program.recording.profiler_span && dialect == Dialect::Torch {
            let name = trace.strings.intern("PyTorch Profiler");
            lanes.profiler = Some(trace.add_thread(Thread { process, tid: PROFILER_TID, name }));
        }
        lanes
    }
}

/// How long before the program the profiler's span begins, and how long after it ends.
const PROFILER_STARTS_NS: i64 = 1_000_000;
const PROFILER_STOPS_NS: i64 = 20_000_000;

/// No thread of a program has this number.
const PROFILER_TID: i64 = 9_000_001;

impl Emitter<'_> {
    /// Whether annotations are shown on GPU lanes only.
    pub(super) fn annotates_gpu_lanes(&self, kind: FrameKind) -> bool {
        kind == FrameKind::Annotation
            && self.dialect == Dialect::Torch
            && self.program.recording.annotations == AnnotationLanes::Gpu
    }

    pub(super) fn open_gpu_annotation(&mut self, thread: u32, name: StrId) {
        self.threads[thread as usize].on_gpu.push(GpuAnnotation { name, spans: BTreeMap::new() });
    }

    /// Counts GPU work into the annotations that its thread is in.
    pub(super) fn extend_gpu_annotations(&mut self, thread: u32, stream: u32, start: i64, end: i64) {
        for annotation in &mut self.threads[thread as usize].on_gpu {
            let span = annotation.spans.entry(stream).or_insert((start, end));
            *span = (span.0.min(start), span.1.max(end));
        }
    }

    /// The innermost annotation of a thread ends: its rows can be written.
    pub(super) fn close_gpu_annotation(&mut self, thread: u32) {
        let Some(annotation) = self.threads[thread as usize].on_gpu.pop() else { return };
        let category = self.trace.strings.intern("gpu_user_annotation");
        for (stream, (start, end)) in annotation.spans {
            let thread = self.stream_lane(stream);
            self.push_extra(annotation.name, category, thread, start, end);
        }
    }

    fn stream_lane(&mut self, stream: u32) -> ThreadId {
        if let Some(&known) = self.lanes.streams.get(&stream) {
            return known;
        }
        let id = self.trace.streams[self.ids.streams[stream as usize].0 as usize].id;
        let agent = self.ids.gpus[self.program.streams[stream as usize].gpu as usize];
        let device = self.trace.agents[agent.0 as usize].absolute_index.get().unwrap_or(0);
        let name = self.trace.strings.intern(&format!("GPU {device} stream {id}"));
        let thread = self.trace.add_thread(Thread { process: self.ids.process, tid: id, name });
        self.lanes.streams.insert(stream, thread);
        thread
    }

    /// The profiler's span over all that was emitted.
    pub(super) fn profiler_span(&mut self) {
        let Some(thread) = self.lanes.profiler.filter(|_| self.first <= self.last) else { return };
        let name = self.trace.strings.intern("PyTorch Profiler (0)");
        let category = self.trace.strings.intern("Trace");
        self.push_extra(
            name,
            category,
            thread,
            self.first - PROFILER_STARTS_NS,
            self.last + PROFILER_STOPS_NS,
        );
    }

    fn push_extra(&mut self, name: StrId, category: StrId, thread: ThreadId, start: i64, end: i64) {
        self.trace.regions.push(Region {
            name,
            category,
            start,
            end,
            process: self.ids.process,
            thread,
            correlation: 0,
            parent: 0,
            external: OptI64::NONE,
        });
    }
}
