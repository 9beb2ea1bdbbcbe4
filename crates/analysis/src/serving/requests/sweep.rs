//! The parts of a request between two times.

use std::collections::BTreeMap;

use model::requests::{RequestSpan, TimeClass, stages};
use trace::ProcessId;

use super::Parts;
use super::busy::Busy;

/// Counts every instant once: the open stage that comes first in the table, or host time without spans.
pub(super) fn parts(spans: &[RequestSpan], from: i64, to: i64, busy: &Busy) -> Parts {
    let mut parts = Parts::default();
    stretches(spans, from, to, |start, end, open| {
        let ns = end - start;
        let Some(&(stage, process)) = open.keys().next() else {
            parts.host_ns += ns;
            return;
        };
        match stages()[stage].part {
            TimeClass::Forward => match busy.between(process, start, end) {
                Some(gpu) => {
                    parts.gpu_ns += gpu;
                    parts.host_ns += ns - gpu;
                }
                None => parts.not_recorded_ns += ns,
            },
            TimeClass::Transfer => parts.transfer_ns += ns,
            TimeClass::Queue => parts.queue_ns += ns,
            TimeClass::Host => parts.host_ns += ns,
        }
    });
    parts
}

/// The number of open spans by stage and process.
pub(super) type Open = BTreeMap<(usize, ProcessId), u32>;

/// Calls `each` for every stretch of time with the same open spans.
pub(super) fn stretches(spans: &[RequestSpan], from: i64, to: i64, mut each: impl FnMut(i64, i64, &Open)) {
    let mut edges: Vec<(i64, bool, (usize, ProcessId))> = Vec::new();
    for span in spans {
        let (start, end) = (span.start.max(from), span.end.min(to));
        if start < end {
            edges.push((start, true, (span.stage, span.process)));
            edges.push((end, false, (span.stage, span.process)));
        }
    }
    // At equal times, spans end before others begin.
    edges.sort_unstable_by_key(|&(at, opens, _)| (at, opens));
    let mut open = Open::new();
    let mut at = from;
    for (edge, opens, key) in edges {
        if edge > at {
            each(at, edge, &open);
            at = edge;
        }
        let count = open.entry(key).or_default();
        match opens {
            true => *count += 1,
            false if *count > 1 => *count -= 1,
            false => drop(open.remove(&key)),
        }
    }
    if at < to {
        each(at, to, &open);
    }
}
