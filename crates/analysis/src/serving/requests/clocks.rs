//! Whether the clocks of two servers agree.
//!
//! No trace records this, but causes come before effects: a KV cache arrives after its sending begins, and
//! sending ends after the receiver has memory for it. So each request limits how far one clock is ahead.

use std::collections::BTreeMap;

use model::recordings::Recordings;
use model::requests::{RequestSpan, RequestSpans, Role, TimeClass, stages};
use report::{Unit, Value, show};
use trace::{Process, ProcessId, Trace};

/// How far apart the clocks of a prefill and a decode server are.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockPair {
    /// The prefill server.
    pub prefill: ProcessId,
    /// The decode server.
    pub decode: ProcessId,
    /// The decode server's clock is ahead by at least this, judging by the transfers.
    pub at_least_ns: Option<i64>,
    /// It is ahead by at most this.
    pub at_most_ns: Option<i64>,
    /// Why times of the two cannot be compared.
    pub disagreement: Option<String>,
}

/// All pairs of servers that share requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clocks {
    /// Sorted by prefill server, then decode server.
    pub pairs: Vec<ClockPair>,
}

/// A limit, with the request that sets it.
type Limit<'s> = Option<(i64, &'s str)>;

impl Clocks {
    pub(super) fn of(trace: &Trace, found: &RequestSpans, recordings: &Recordings) -> Self {
        let mut of_request: Vec<Vec<&RequestSpan>> = vec![Vec::new(); found.requests.len()];
        found.spans.iter().for_each(|span| of_request[span.request].push(span));
        let mut limits: BTreeMap<(ProcessId, ProcessId), (Limit, Limit)> = BTreeMap::new();
        for (spans, id) in of_request.iter().zip(&found.requests) {
            let Some(pair) = pair_of(spans.iter().copied()) else { continue };
            let (least, most) = limits.entry(pair).or_default();
            let (above, below) = limits_of(spans, pair);
            if let Some(above) = above.filter(|above| least.is_none_or(|(least, _)| *above > least)) {
                *least = Some((above, id));
            }
            if let Some(below) = below.filter(|below| most.is_none_or(|(most, _)| *below < most)) {
                *most = Some((below, id));
            }
        }
        let pairs = limits.into_iter().map(|((prefill, decode), (least, most))| ClockPair {
            prefill,
            decode,
            at_least_ns: least.map(|(ns, _)| ns),
            at_most_ns: most.map(|(ns, _)| ns),
            disagreement: of_hosts(trace, recordings, prefill, decode).or_else(|| of_transfers(least, most)),
        });
        Self { pairs: pairs.collect() }
    }

    /// Why the times of a request cannot be compared.
    pub(super) fn disagreement(&self, spans: &[RequestSpan]) -> Option<String> {
        let (prefill, decode) = pair_of(spans.iter())?;
        let pair = self.pairs.iter().find(|pair| (pair.prefill, pair.decode) == (prefill, decode))?;
        pair.disagreement.clone()
    }
}

/// The two servers of a request; `None` if one process serves all of it.
fn pair_of<'s>(spans: impl Iterator<Item = &'s RequestSpan> + Clone) -> Option<(ProcessId, ProcessId)> {
    let of = |role: Role| {
        let own = spans.clone().filter(move |span| stages()[span.stage].role == role);
        own.map(|span| span.process).min()
    };
    let (prefill, decode) = (of(Role::Prefill)?, of(Role::Decode)?);
    (prefill != decode).then_some((prefill, decode))
}

/// Lower and upper limit of how far the decode server's clock is ahead, from one request.
fn limits_of(
    spans: &[&RequestSpan],
    (prefill, decode): (ProcessId, ProcessId),
) -> (Option<i64>, Option<i64>) {
    let of = |role: Role, part: TimeClass, process: ProcessId| {
        let is_it = move |span: &&&RequestSpan| {
            let stage = &stages()[span.stage];
            (stage.role, stage.part, span.process) == (role, part, process)
        };
        let (mut first, mut last) = (None, None);
        for span in spans.iter().filter(is_it) {
            first = Some(first.map_or(span.start, |first: i64| first.min(span.start)));
            last = Some(last.map_or(span.end, |last: i64| last.max(span.end)));
        }
        first.zip(last)
    };
    let sent = of(Role::Prefill, TimeClass::Transfer, prefill);
    let received = of(Role::Decode, TimeClass::Transfer, decode);
    let computed = of(Role::Prefill, TimeClass::Forward, prefill);
    let generated = of(Role::Decode, TimeClass::Forward, decode);
    let above = received.zip(sent).map(|((memory, _), (_, end))| memory - end);
    let begins = sent.or(computed).map(|(start, _)| start);
    let arrives = received.map(|(_, end)| end).or(generated.map(|(_, end)| end));
    (above, arrives.zip(begins).map(|(end, start)| end - start))
}

/// ROCm's profilers count from the boot of each host.
fn of_hosts(trace: &Trace, recordings: &Recordings, prefill: ProcessId, decode: ProcessId) -> Option<String> {
    let domain = |process| recordings.of_process(process).map(|recording| recordings.domain_of(recording));
    let (prefill, decode) = (domain(prefill)?, domain(decode)?);
    let time_of_day = |domain: usize| recordings.domains[domain].is_time_of_day;
    let host = |domain: usize| {
        let process: &Process = &trace.processes
            [recordings.all[recordings.domains[domain].recordings[0]].processes[0].0 as usize];
        match trace.strings.get(process.hostname) {
            "" => format!("process {}", process.pid),
            host => host.to_string(),
        }
    };
    (prefill != decode && !(time_of_day(prefill) && time_of_day(decode))).then(|| {
        format!(
            "the clocks of {} and {} do not agree: profilers that count from the start of their host cannot be compared",
            host(prefill),
            host(decode)
        )
    })
}

fn of_transfers(least: Limit, most: Limit) -> Option<String> {
    let time = |ns: i64| show(&Value::Int(ns), Unit::Ns);
    match (least, most) {
        (_, Some((ns, id))) if ns < 0 => Some(format!(
            "the clocks of the servers do not agree: request {id} has its KV cache {} before the prefill server sends it",
            time(-ns)
        )),
        (Some((ns, id)), _) if ns > 0 => Some(format!(
            "the clocks of the servers do not agree: the KV cache of request {id} was sent {} before the decode server had \
             memory for it",
            time(ns)
        )),
        _ => None,
    }
}
