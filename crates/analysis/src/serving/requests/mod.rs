//! `requests`: where the time of each serving request went, with or without separate prefill servers.
//!
//! ```text
//! model::RequestSpans ─► clocks of the servers agree? ─► sweep of each request ─► first token, tokens
//!                                                     └► sweep of each server
//! ```
//!
//! Every instant of a request counts as one part, so the parts add up to its time exactly.
//! Cost: a sort of each request's spans; GPU work is merged once per process.

mod busy;
mod clocks;
mod present;
mod servers;
mod sweep;

use model::recordings::Recordings;
use model::requests::{RequestSpan, RequestSpans, Role, TimeClass, Token, stages};
use trace::{ArgNeeds, Needs, Trace};

pub use self::clocks::{ClockPair, Clocks};
pub use self::present::present;
pub use self::servers::{ServerParts, ServerTimes};
use busy::Busy;

/// Where the time of a request went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// GPU work of the batch that the request is in.
    pub gpu_ns: i64,
    /// The KV cache is being transferred.
    pub transfer_ns: i64,
    /// The request is queued.
    pub queue_ns: i64,
    /// The host works for it, or nothing does.
    pub host_ns: i64,
    /// In a batch of a server whose GPU work is not in any input.
    pub not_recorded_ns: i64,
}

impl Parts {
    /// The sum of all parts.
    pub fn total(&self) -> i64 {
        self.gpu_ns + self.transfer_ns + self.queue_ns + self.host_ns + self.not_recorded_ns
    }

    fn add(&mut self, other: &Parts) {
        self.gpu_ns += other.gpu_ns;
        self.transfer_ns += other.transfer_ns;
        self.queue_ns += other.queue_ns;
        self.host_ns += other.host_ns;
        self.not_recorded_ns += other.not_recorded_ns;
    }
}

/// The times of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestTimes {
    /// Its id: the bootstrap room if servers share one.
    pub id: String,
    /// Start of its first span.
    pub arrival_ns: i64,
    /// From arrival to the first token, by part; or why it is not known.
    pub first_token: Result<Parts, String>,
    /// From the first token to the last, by part; or why it is not known.
    pub generation: Result<Parts, String>,
    /// Duration of each further token; empty if only the whole generation was recorded.
    pub token_ns: Vec<i64>,
}

/// The requests of a run.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// Requests, sorted by arrival.
    pub requests: Vec<RequestTimes>,
    /// Servers, prefill first.
    pub servers: Vec<ServerTimes>,
    /// Whether the servers' times can be compared.
    pub clocks: Clocks,
    /// Calls that transfer a KV cache without saying for which request.
    pub transfer_calls: usize,
}

impl Requests {
    /// Whether any time is in a batch whose GPU work is not in any input.
    fn has_gaps(&self) -> bool {
        let parts = self.requests.iter().flat_map(|request| [&request.first_token, &request.generation]);
        parts.flatten().any(|parts| parts.not_recorded_ns > 0)
    }
}

/// What to read from a trace for requests.
pub fn needs() -> Needs {
    model::requests::needs()
}

/// Adds the arguments that identify requests.
pub fn with_ids(mut needs: Needs) -> Needs {
    if let (ArgNeeds::Keys(keys), ArgNeeds::Keys(ids)) = (&mut needs.args, self::needs().args) {
        keys.extend(ids);
    }
    needs
}

/// The requests of a trace that was read with [`needs`].
pub fn compute(trace: &Trace) -> Requests {
    let found = RequestSpans::of(trace);
    let recordings = Recordings::of(trace);
    let busy = Busy::of(trace, &recordings);
    let clocks = Clocks::of(trace, &found, &recordings);
    let mut of_request: Vec<Vec<RequestSpan>> = vec![Vec::new(); found.requests.len()];
    for span in &found.spans {
        of_request[span.request].push(*span);
    }
    let mut requests: Vec<RequestTimes> = of_request
        .iter()
        .zip(&found.requests)
        .map(|(spans, id)| request(id, spans, &busy, clocks.disagreement(spans)))
        .collect();
    requests.sort_by(|a, b| (a.arrival_ns, &a.id).cmp(&(b.arrival_ns, &b.id)));
    let servers = servers::of(trace, &found, &recordings, &busy);
    Requests { requests, servers, clocks, transfer_calls: found.calls.len() }
}

/// The key moments of a request.
struct Moments {
    arrival: i64,
    first_token: Result<i64, String>,
    last_token: Option<i64>,
}

fn request(id: &str, spans: &[RequestSpan], busy: &Busy, disagreement: Option<String>) -> RequestTimes {
    let moments = moments(spans, disagreement.is_some());
    let between = |from: i64, to: i64| sweep::parts(spans, from, to, busy);
    let first_token = match (&disagreement, &moments.first_token) {
        (Some(why), _) => Err(why.clone()),
        (None, Err(why)) => Err(why.clone()),
        (None, Ok(at)) => Ok(between(moments.arrival, *at)),
    };
    // Both ends are on the decode server's clock, so no alignment is needed.
    let generation = match (&moments.first_token, moments.last_token) {
        (Ok(first), Some(last)) => Ok(between(*first, last.max(*first))),
        (Err(why), _) => Err(why.clone()),
        (_, None) => Err("no token after the first was recorded".into()),
    };
    let is_token = |span: &&RequestSpan| stages()[span.stage].token == Some(Token::Each);
    // Ranks of one server repeat the tokens; use the first rank.
    let server = spans.iter().filter(is_token).map(|span| span.process).min();
    let tokens = spans.iter().filter(is_token).filter(|span| Some(span.process) == server);
    let token_ns = tokens.map(|span| span.end - span.start).collect();
    RequestTimes { id: id.into(), arrival_ns: moments.arrival, first_token, generation, token_ns }
}

fn moments(spans: &[RequestSpan], differ: bool) -> Moments {
    let of = |role: Role, part: TimeClass| {
        spans
            .iter()
            .filter(move |span| stages()[span.stage].role == role && stages()[span.stage].part == part)
    };
    let any = |role: Role| spans.iter().any(|span| stages()[span.stage].role == role);
    // If clocks differ, the prefill server's clock gives the arrival.
    let came = |of: Option<Role>| {
        let own = spans.iter().filter(move |span| of.is_none_or(|role| stages()[span.stage].role == role));
        own.map(|span| span.start).min()
    };
    let arrival = came(Some(Role::Prefill).filter(|_| differ)).or(came(None)).unwrap_or(0);
    let prefilled = of(Role::Prefill, TimeClass::Forward).map(|span| span.end).max();
    let generating = of(Role::Decode, TimeClass::Forward);
    let put_out = spans.iter().filter(|span| stages()[span.stage].token == Some(Token::First));
    let is_sent = of(Role::Prefill, TimeClass::Transfer).next().is_some();
    let first_token =
        match (put_out.map(|span| span.end).min(), generating.clone().map(|span| span.start).min()) {
            _ if !any(Role::Prefill) => Err("no span of its prefill was recorded".into()),
            (Some(at), _) => Ok(at),
            // A prefill ends by computing the first token, and a decode server emits it when it begins.
            (None, Some(began)) => Ok(if is_sent { began } else { prefilled.unwrap_or(began) }),
            (None, None) if is_sent => Err("no span of its decode was recorded".into()),
            (None, None) => prefilled.ok_or_else(|| "no token was recorded".into()),
        };
    Moments { arrival, first_token, last_token: generating.map(|span| span.end).max() }
}
