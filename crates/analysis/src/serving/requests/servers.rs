//! What each server did while it had requests.

use std::collections::BTreeMap;

use model::recordings::Recordings;
use model::requests::{RequestSpan, RequestSpans, Role, TimeClass, stages};
use trace::{ProcessId, Trace};

use super::busy::Busy;
use super::sweep::stretches;

/// Where the time of a server went. The parts add up to its span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerParts {
    /// The GPU is busy.
    pub gpu_ns: i64,
    /// The GPU is idle while a request is in a batch or the host prepares one.
    pub host_ns: i64,
    /// None of these, and a KV cache is being transferred.
    pub transfer_ns: i64,
    /// None of these, and a request is queued.
    pub queue_ns: i64,
    /// There is no request.
    pub idle_ns: i64,
}

/// One server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerTimes {
    /// Its role.
    pub role: Role,
    /// Its process.
    pub process: ProcessId,
    /// Label of its recording.
    pub label: String,
    /// Requests that it served; `None` if spans do not identify requests.
    pub requests: Option<u64>,
    /// From its first span to its last.
    pub span_ns: i64,
    /// The span by part.
    pub parts: ServerParts,
    /// Whether its GPU work is in the input.
    pub has_gpu_work: bool,
}

/// The servers of a trace, on their own clocks.
pub(super) fn of(
    trace: &Trace,
    found: &RequestSpans,
    recordings: &Recordings,
    busy: &Busy,
) -> Vec<ServerTimes> {
    let mut of_server: BTreeMap<(Role, ProcessId), Vec<RequestSpan>> = BTreeMap::new();
    for span in &found.spans {
        of_server.entry((stages()[span.stage].role, span.process)).or_default().push(*span);
    }
    for call in &found.calls {
        let transfer = stages().iter().position(|stage| stage.part == TimeClass::Transfer).unwrap_or(0);
        let span = RequestSpan {
            request: usize::MAX,
            stage: transfer,
            start: call.start,
            end: call.end,
            process: call.process,
        };
        // A server already known from its requests keeps its role.
        let known = of_server.keys().find(|(_, process)| *process == call.process).copied();
        of_server.entry(known.unwrap_or((call.role, call.process))).or_default().push(span);
    }
    of_server
        .into_iter()
        .map(|((role, process), spans)| server(trace, recordings, busy, role, process, &spans))
        .collect()
}

fn server(
    trace: &Trace,
    recordings: &Recordings,
    busy: &Busy,
    role: Role,
    process: ProcessId,
    spans: &[RequestSpan],
) -> ServerTimes {
    let mut ids: Vec<usize> = spans.iter().map(|span| span.request).filter(|&id| id != usize::MAX).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut from = spans.iter().map(|span| span.start).min().unwrap_or(0);
    let mut to = spans.iter().map(|span| span.end).max().unwrap_or(0);
    if ids.is_empty()
        && let Some((start, end)) = busy.bounds(process)
    {
        (from, to) = (from.min(start), to.max(end));
    }
    let mut parts = ServerParts::default();
    let mut has_gpu_work = true;
    stretches(spans, from, to, |start, end, open| {
        let gpu = busy.between(process, start, end);
        has_gpu_work &= gpu.is_some();
        let gpu = gpu.unwrap_or(0);
        parts.gpu_ns += gpu;
        let rest = end - start - gpu;
        let any = |part: TimeClass| open.keys().any(|(stage, _)| stages()[*stage].part == part);
        match () {
            () if any(TimeClass::Forward) || any(TimeClass::Host) => parts.host_ns += rest,
            () if any(TimeClass::Transfer) => parts.transfer_ns += rest,
            () if any(TimeClass::Queue) => parts.queue_ns += rest,
            () => parts.idle_ns += rest,
        }
    });
    let label = match recordings.of_process(process) {
        Some(recording) => recordings.all[recording].label.clone(),
        None => String::new(),
    };
    let label = match trace.sources.iter().any(|source| source.path == label) {
        true => label.rsplit('/').next().unwrap_or(&label).to_string(),
        false => label,
    };
    let requests = (!ids.is_empty()).then_some(ids.len() as u64);
    ServerTimes { role, process, label, requests, span_ns: to - from, parts, has_gpu_work }
}
