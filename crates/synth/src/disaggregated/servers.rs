//! The two loops: each server takes requests, runs batches and hands on what it finished.
//!
//! The loop whose clock is behind acts next, so everything that a loop sees has already happened.

use stats::random::Random;

use super::{Disaggregated, PartsTruth, RequestTruth, Server, Transfer};

/// A loop without work looks again after this time.
const POLL_NS: i64 = 20_000;
/// Shorter waits count as none.
const LEAST_WAIT_NS: i64 = 2_000;
/// From the end of a launch call to the earliest start of its work.
const LATENCY_NS: i64 = 4_000;
/// Least time between two pieces of work of a stream.
const GAP_NS: i64 = 1_000;
/// Kernels that each layer launches.
pub(super) const KERNELS_PER_LAYER: u32 = 3;

/// From one moment to a later one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub start: i64,
    pub end: i64,
}

impl Span {
    fn new(start: i64, end: i64) -> Self {
        Self { start, end }
    }

    pub fn ns(self) -> i64 {
        self.end - self.start
    }
}

/// A launch and the kernel that follows from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch {
    /// Which kernel of a layer; the last is the copy of the tokens.
    pub kind: u32,
    pub op: Span,
    pub call: Span,
    pub work: Span,
}

/// One batch on one server.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub span: Span,
    pub requests: usize,
    pub tokens: u64,
    pub launches: Vec<Launch>,
    pub wait: Span,
}

impl Step {
    /// How long the GPU works for it: one stream, so no work overlaps.
    fn gpu_ns(&self) -> i64 {
        self.launches.iter().map(|launch| launch.work.ns()).sum()
    }
}

/// The life of one request, in true time.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub room: u64,
    pub prompt: u64,
    pub output: u64,
    pub prepare: Span,
    pub bootstrap: Span,
    pub waiting: Span,
    pub forward: Span,
    /// Batches that its prompt took, where it took several.
    pub chunks: Vec<Span>,
    pub transfer: Span,
    pub sending: Span,
    pub decode_prepare: Span,
    pub decode_bootstrap: Span,
    pub decode_transferred: Span,
    pub decode_waiting: Span,
    pub first_output: Span,
    pub tokens: Vec<Span>,
    first: PartsTruth,
    generation: PartsTruth,
}

impl Request {
    pub fn truth(&self, offset: i64) -> RequestTruth {
        let last = self.tokens.last().map_or(self.first_output.end, |token| token.end);
        RequestTruth {
            room: format!("{:#x}", self.room),
            prompt_tokens: self.prompt,
            output_tokens: self.tokens.len() as u64 + 1,
            arrival_ns: super::emit::BEGIN_NS + offset + self.prepare.start,
            first_token_ns: self.first_output.end - self.prepare.start,
            first_token: self.first,
            generation_ns: last - self.first_output.end,
            generation: self.generation,
        }
    }
}

/// What both servers did.
pub(super) struct Lived {
    pub requests: Vec<Request>,
    pub prefill: Vec<Step>,
    pub decode: Vec<Step>,
}

/// Lets both servers run until every request is answered.
pub(super) fn serve(scenario: &Disaggregated, seed: u64, count: u64) -> Lived {
    let mut draw = Random::new(seed);
    let requests = arrivals(scenario, &mut draw, count);
    let mut run = Serving {
        scenario,
        draw,
        requests,
        prefill_at: 0,
        decode_at: 0,
        link_free: 0,
        reserved: Vec::new(),
        running: Vec::new(),
        prefill: Vec::new(),
        decode: Vec::new(),
    };
    while !run.requests.iter().all(Request::is_answered) {
        match run.prefill_at <= run.decode_at && run.requests.iter().any(|request| !request.is_prefilled()) {
            true => run.prefill_turn(),
            false => run.decode_turn(),
        }
    }
    Lived { requests: run.requests, prefill: run.prefill, decode: run.decode }
}

impl Request {
    fn is_prefilled(&self) -> bool {
        self.forward.end > 0
    }

    fn is_first_out(&self) -> bool {
        self.first_output.end > 0
    }

    fn is_answered(&self) -> bool {
        self.is_first_out() && self.tokens.len() as u64 + 1 >= self.output
    }

    fn is_admitted(&self) -> bool {
        self.decode_bootstrap.end > 0
    }
}

fn arrivals(scenario: &Disaggregated, draw: &mut Random, count: u64) -> Vec<Request> {
    let mut at = 50_000;
    let between = |draw: &mut Random, [least, most]: [u64; 2]| least + draw.bits() % (most - least + 1);
    (0..count)
        .map(|_| {
            let gap = -unit(draw).ln() * scenario.requests.gap_us * 1e3;
            at += gap as i64;
            let prepared = at + 30_000 + (draw.bits() % 40_000) as i64;
            let at_decode = at + 10_000 + (draw.bits() % 10_000) as i64;
            Request {
                room: draw.bits() >> 2,
                prompt: between(draw, scenario.requests.prompt_tokens),
                output: between(draw, scenario.requests.output_tokens),
                prepare: Span::new(at, prepared),
                decode_prepare: Span::new(at_decode, at_decode + 25_000 + (draw.bits() % 20_000) as i64),
                ..Request::default()
            }
        })
        .collect()
}

/// Between 0 and 1, both excluded.
fn unit(draw: &mut Random) -> f64 {
    stats::random::unit(draw.bits())
}

/// A random time within 15 % of `us`.
fn about(draw: &mut Random, us: f64) -> i64 {
    (us * 1e3 * (0.85 + 0.3 * unit(draw))).round().max(2_000.0) as i64
}

struct Serving<'s> {
    scenario: &'s Disaggregated,
    draw: Random,
    requests: Vec<Request>,
    prefill_at: i64,
    decode_at: i64,
    link_free: i64,
    /// Requests that the decode server holds memory for.
    reserved: Vec<usize>,
    /// Those of them that generate.
    running: Vec<usize>,
    prefill: Vec<Step>,
    decode: Vec<Step>,
}

impl Serving<'_> {
    /// One batch of the prefill server, or one look at an empty queue.
    fn prefill_turn(&mut self) {
        let now = self.prefill_at;
        let server = &self.scenario.prefill;
        let is_ready = |request: &Request| {
            let ready = request.is_admitted() && !request.is_prefilled();
            let met = request.decode_bootstrap.end.max(request.prepare.end) + 15_000;
            ready && met <= now && (met == now || now - met >= LEAST_WAIT_NS)
        };
        let ready: Vec<usize> =
            (0..self.requests.len()).filter(|&request| is_ready(&self.requests[request])).collect();
        let Some(&first) = ready.first() else {
            self.prefill_at += POLL_NS;
            return;
        };
        // A prompt longer than a batch is read alone, chunk by chunk.
        let mut batch = vec![first];
        let mut tokens = self.requests[first].prompt;
        for &next in &ready[1..] {
            let more = tokens + self.requests[next].prompt;
            if more <= server.max_tokens && batch.len() < server.max_batch {
                tokens = more;
                batch.push(next);
            }
        }
        let mut at = now;
        let mut chunks = Vec::new();
        let mut gpu = 0;
        let mut left = tokens;
        while left > 0 {
            let part = left.min(server.max_tokens);
            let step = step(&mut self.draw, server, at, batch.len(), part);
            at = step.span.end;
            gpu += step.gpu_ns();
            chunks.push(step.span);
            self.prefill.push(step);
            left -= part;
        }
        let forward = Span::new(now, at);
        for &number in &batch {
            let request = &mut self.requests[number];
            let met = request.decode_bootstrap.end.max(request.prepare.end) + 15_000;
            request.bootstrap = Span::new(request.prepare.end, met);
            request.waiting = Span::new(met, now);
            request.forward = forward;
            request.chunks = if chunks.len() > 1 { chunks.clone() } else { Vec::new() };
            request.first.host_ns += request.prepare.ns() + forward.ns() - gpu;
            request.first.queue_ns += request.bootstrap.ns() + request.waiting.ns();
            request.first.gpu_ns += gpu;
            let start = self.link_free.max(at + 3_000);
            let end = start + send_ns(&self.scenario.transfer, request.prompt);
            self.link_free = end;
            request.sending = Span::new(start, end);
            request.transfer = Span::new(at, end + 8_000);
        }
        self.prefill_at = at + about(&mut self.draw, 25.0);
    }

    /// One look at the queues of the decode server, and one token of each running request.
    fn decode_turn(&mut self) {
        let now = self.decode_at;
        let requests = &self.requests;
        self.reserved.retain(|&number| !requests[number].is_answered());
        self.reserve(now);
        let mut at = self.admit(now);
        if self.running.is_empty() {
            self.decode_at = at.max(now + POLL_NS);
            return;
        }
        let held: u64 = self.running.iter().map(|&running| self.requests[running].prompt).sum();
        let step = step(&mut self.draw, &self.scenario.decode, at, self.running.len(), held / 100);
        at = step.span.end;
        for &number in &self.running {
            let request = &mut self.requests[number];
            let last = request.tokens.last().map_or(request.first_output.end, |token| token.end);
            let token = Span::new(last, at);
            request.tokens.push(token);
            request.generation.gpu_ns += step.gpu_ns();
            request.generation.host_ns += token.ns() - step.gpu_ns();
        }
        self.decode.push(step);
        let requests = &self.requests;
        self.running.retain(|&number| !requests[number].is_answered());
        self.decode_at = at + about(&mut self.draw, 30.0);
    }

    /// Reserves memory for requests that have arrived.
    fn reserve(&mut self, now: i64) {
        for number in 0..self.requests.len() {
            let request = &mut self.requests[number];
            let came = request.decode_prepare.end;
            if self.reserved.len() < self.scenario.transfer.reserved
                && !request.is_admitted()
                && now - came >= LEAST_WAIT_NS
            {
                request.decode_bootstrap = Span::new(came, now);
                self.reserved.push(number);
            }
        }
    }

    /// Adds requests whose KV cache has arrived to the batch, and emits their first tokens; returns the end.
    fn admit(&mut self, now: i64) -> i64 {
        let mut at = now;
        for place in 0..self.reserved.len() {
            let number = self.reserved[place];
            let max_batch = self.scenario.decode.max_batch;
            let request = &mut self.requests[number];
            let arrived = request.sending.end;
            if arrived == 0 || request.is_first_out() {
                continue;
            }
            if request.decode_transferred.end == 0 {
                // The sender notices the end a little later than the receiver may.
                if now < request.transfer.end || now - request.transfer.end < LEAST_WAIT_NS {
                    continue;
                }
                request.decode_transferred = Span::new(request.decode_bootstrap.end, now);
                request.first.transfer_ns += now - request.forward.end;
            }
            if self.running.len() >= max_batch {
                continue;
            }
            let seen = request.decode_transferred.end;
            if at > seen && at - seen < LEAST_WAIT_NS {
                at = seen + LEAST_WAIT_NS;
            }
            request.decode_waiting = Span::new(seen, at);
            request.first.queue_ns += at - seen;
            let out = at + about(&mut self.draw, 18.0);
            request.first_output = Span::new(at, out);
            request.first.host_ns += out - at;
            at = out;
            if request.output > 1 {
                self.running.push(number);
            }
        }
        at
    }
}

fn send_ns(transfer: &Transfer, tokens: u64) -> i64 {
    let bytes = (tokens * transfer.bytes_per_token) as f64;
    (transfer.latency_us * 1e3 + bytes / transfer.gbps).round() as i64
}

/// A batch: the host launches kernel after kernel, then waits for the tokens.
fn step(draw: &mut Random, server: &Server, at: i64, requests: usize, tokens: u64) -> Step {
    let mut host = at + about(draw, 20.0);
    let mut stream_free = 0;
    let mut launches = Vec::new();
    let kernels = server.layers * KERNELS_PER_LAYER;
    for number in 0..=kernels {
        let is_copy = number == kernels;
        let kind = if is_copy { KERNELS_PER_LAYER } else { number % KERNELS_PER_LAYER };
        let call = Span::new(host + 1_500, host + 1_500 + about(draw, server.launch_us));
        let op = Span::new(host, call.end + 1_000);
        let us = match kind {
            // The copy of a few tokens.
            KERNELS_PER_LAYER => 6.0,
            // Norms are short.
            2 => server.base_us / 4.0,
            _ => server.base_us + server.us_per_1k_tokens * tokens as f64 / 1000.0,
        };
        let start = (call.end + LATENCY_NS).max(stream_free + GAP_NS);
        let work = Span::new(start, start + about(draw, us));
        stream_free = work.end;
        host = op.end + about(draw, 2.0);
        launches.push(Launch { kind, op, call, work });
    }
    let wait = Span::new(host, stream_free.max(host + 3_000) + 2_000);
    let end = wait.end + about(draw, 40.0);
    Step { span: Span::new(at, end), requests, tokens, launches, wait }
}
