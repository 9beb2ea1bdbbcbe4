//! Where a row is drawn: its process, its thread or stream, its span of time.

use trace::{ProcessId, StreamId, ThreadId, Trace};

/// The track and time span of an event.
pub(super) struct TrackSpan {
    pub(super) pid: i64,
    pub(super) tid: i64,
    pub(super) start: i64,
    pub(super) end: i64,
}

pub(super) fn tid_of(trace: &Trace, thread: ThreadId, process: ProcessId) -> i64 {
    thread.get().map_or_else(|| pid_of(trace, process), |t| trace.threads[t].tid)
}

pub(super) fn stream_of(trace: &Trace, stream: StreamId, queue: trace::QueueId) -> i64 {
    match (stream.get(), queue.get()) {
        (Some(stream), _) => trace.streams[stream].id,
        (None, Some(queue)) => trace.queues[queue].id,
        (None, None) => 0,
    }
}

/// The GPU on whose lane a copy is.
pub(super) fn gpu_of_copy(trace: &Trace, copy: usize) -> trace::AgentId {
    let copies = &trace.memory_copies;
    let is_gpu =
        |agent: trace::AgentId| agent.get().is_some_and(|a| trace.agents[a].kind != trace::AgentKind::Cpu);
    if is_gpu(copies.dst[copy]) { copies.dst[copy] } else { copies.src[copy] }
}

fn pid_of(trace: &Trace, process: ProcessId) -> i64 {
    process.get().map_or(0, |p| trace.processes[p].pid)
}
