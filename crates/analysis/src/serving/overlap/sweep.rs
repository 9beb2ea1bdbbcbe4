//! One exact sweep over the work of a GPU: what ran alone, what was hidden, what costs critical time.
//!
//! Cost: two sorts of the rows, then constant work per edge however many rows run at once, because the
//! figures of a row are differences of running sums between its start and its end.

use std::collections::VecDeque;

use trace::Ns;

/// How the sweep treats a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bucket {
    Compute = 0,
    Communication = 1,
    Copy = 2,
}

/// A piece of GPU work on a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub start: Ns,
    pub end: Ns,
    pub stream: u32,
    pub bucket: Bucket,
}

/// How much of one piece of work overlapped with what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Time with nothing on another stream.
    pub exclusive: Ns,
    /// Time with something on another stream.
    pub hidden: Ns,
    /// The part of `hidden` with computation on another stream.
    pub hidden_by_compute: Ns,
    /// Critical time: computation alone on the GPU, communication without computation, copies without either.
    /// When several run at once, the first to start is charged, so the sum is wall-clock time.
    pub exposed: Ns,
    /// Time computing with no communication in parallel, charged the same way.
    pub without_communication: Ns,
    /// Time computing with no copy in parallel, charged the same way.
    pub without_copy: Ns,
}

/// The result of the sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Swept {
    /// Per span, in input order.
    pub seen: Vec<Seen>,
    /// Time with any work.
    pub busy: Ns,
    /// Time with work on at least two streams.
    pub overlapped: Ns,
    /// Most streams busy at once.
    pub peak: u32,
}

/// Sweeps spans in any order. A span that ends before it starts counts as zero time.
pub(super) fn sweep(spans: &[Span], streams: usize) -> Swept {
    let mut starts: Vec<u32> =
        (0..spans.len() as u32).filter(|&i| spans[i as usize].end > spans[i as usize].start).collect();
    let mut ends = starts.clone();
    starts.sort_unstable_by_key(|&i| (spans[i as usize].start, i));
    ends.sort_unstable_by_key(|&i| (spans[i as usize].end, i));
    let mut state = State::new(spans, streams);
    let mut next = starts.into_iter().peekable();
    for i in ends {
        let end = spans[i as usize].end;
        while let Some(started) = next.next_if(|&s| spans[s as usize].start < end) {
            state.start(started as usize);
        }
        state.end(i as usize);
    }
    state.swept
}

struct State<'a> {
    spans: &'a [Span],
    swept: Swept,
    now: Ns,
    running_on: Vec<u32>,
    computing_on: Vec<u32>,
    streams: u32,
    computing_streams: u32,
    /// XOR of the numbers of all computing streams: the stream's own number if there is only one.
    computing_which: u32,
    running: [u32; 3],
    queues: [VecDeque<u32>; 3],
    ended: Vec<bool>,
    /// Running sums: time with one busy stream, time with computation, time when only this stream computed.
    alone: Ns,
    computing: Ns,
    only: Vec<Ns>,
    at_start: Vec<(Ns, Ns, Ns)>,
}

impl<'a> State<'a> {
    fn new(spans: &'a [Span], streams: usize) -> Self {
        Self {
            spans,
            swept: Swept { seen: vec![Seen::default(); spans.len()], ..Swept::default() },
            now: Ns::MIN,
            running_on: vec![0; streams],
            computing_on: vec![0; streams],
            streams: 0,
            computing_streams: 0,
            computing_which: 0,
            running: [0; 3],
            queues: Default::default(),
            ended: vec![false; spans.len()],
            alone: 0,
            computing: 0,
            only: vec![0; streams],
            at_start: vec![(0, 0, 0); spans.len()],
        }
    }

    fn start(&mut self, i: usize) {
        let span = self.spans[i];
        self.pass(span.start);
        let stream = span.stream as usize;
        self.at_start[i] = (self.alone, self.computing, self.only[stream]);
        self.running_on[stream] += 1;
        if self.running_on[stream] == 1 {
            self.streams += 1;
            self.swept.peak = self.swept.peak.max(self.streams);
        }
        if span.bucket == Bucket::Compute {
            self.computing_on[stream] += 1;
            if self.computing_on[stream] == 1 {
                self.computing_streams += 1;
                self.computing_which ^= span.stream;
            }
        }
        self.running[span.bucket as usize] += 1;
        self.queues[span.bucket as usize].push_back(i as u32);
    }

    fn end(&mut self, i: usize) {
        let span = self.spans[i];
        self.pass(span.end);
        let stream = span.stream as usize;
        let (alone, computing, only) = self.at_start[i];
        let seen = &mut self.swept.seen[i];
        seen.exclusive = self.alone - alone;
        seen.hidden = span.end - span.start - seen.exclusive;
        seen.hidden_by_compute = (self.computing - computing) - (self.only[stream] - only);
        self.running_on[stream] -= 1;
        if self.running_on[stream] == 0 {
            self.streams -= 1;
        }
        if span.bucket == Bucket::Compute {
            self.computing_on[stream] -= 1;
            if self.computing_on[stream] == 0 {
                self.computing_streams -= 1;
                self.computing_which ^= span.stream;
            }
        }
        self.running[span.bucket as usize] -= 1;
        self.ended[i] = true;
    }

    /// Adds the time since the last edge.
    fn pass(&mut self, to: Ns) {
        let length = if self.streams == 0 { 0 } else { to - self.now };
        self.now = to;
        if length == 0 {
            return;
        }
        self.swept.busy += length;
        if self.streams == 1 {
            self.alone += length;
        } else {
            self.swept.overlapped += length;
        }
        if self.computing_streams > 0 {
            self.computing += length;
        }
        if self.computing_streams == 1 {
            self.only[self.computing_which as usize] += length;
        }
        self.charge(length);
    }

    fn charge(&mut self, length: Ns) {
        let [compute, communication, copies] = self.running.map(|count| count > 0);
        let bucket = match (compute, communication) {
            (true, _) => Bucket::Compute,
            (false, true) => Bucket::Communication,
            (false, false) => Bucket::Copy,
        };
        let queue = &mut self.queues[bucket as usize];
        while queue.front().is_some_and(|&i| self.ended[i as usize]) {
            queue.pop_front();
        }
        let Some(&first) = queue.front() else { return };
        let seen = &mut self.swept.seen[first as usize];
        if !compute || self.streams == 1 {
            seen.exposed += length;
        }
        if compute && !communication {
            seen.without_communication += length;
        }
        if compute && !copies {
            seen.without_copy += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BUCKETS: [Bucket; 3] = [Bucket::Compute, Bucket::Communication, Bucket::Copy];

    fn spans() -> impl Strategy<Value = Vec<Span>> {
        let one = (-30i64..50, -2i64..20, 0u32..4, 0usize..3);
        prop::collection::vec(one, 0..30).prop_map(|all| {
            let span = |(start, length, stream, bucket): (i64, i64, u32, usize)| Span {
                start,
                end: start + length,
                stream,
                bucket: BUCKETS[bucket],
            };
            all.into_iter().map(span).collect()
        })
    }

    /// The same result, computed nanosecond by nanosecond.
    fn slow(spans: &[Span]) -> Swept {
        let mut swept = Swept { seen: vec![Seen::default(); spans.len()], ..Swept::default() };
        for t in -30..80 {
            let active: Vec<usize> =
                (0..spans.len()).filter(|&i| spans[i].start <= t && t < spans[i].end).collect();
            let mut streams: Vec<u32> = active.iter().map(|&i| spans[i].stream).collect();
            streams.sort_unstable();
            streams.dedup();
            swept.busy += i64::from(!streams.is_empty());
            swept.overlapped += i64::from(streams.len() > 1);
            swept.peak = swept.peak.max(streams.len() as u32);
            for &i in &active {
                let mut others = active.iter().filter(|&&o| spans[o].stream != spans[i].stream);
                let hidden = others.clone().next().is_some();
                let by_compute = others.any(|&o| spans[o].bucket == Bucket::Compute);
                swept.seen[i].exclusive += i64::from(!hidden);
                swept.seen[i].hidden += i64::from(hidden);
                swept.seen[i].hidden_by_compute += i64::from(by_compute);
            }
            let first = |bucket: Bucket| {
                let of = active.iter().filter(|&&i| spans[i].bucket == bucket);
                of.copied().min_by_key(|&i| (spans[i].start, i))
            };
            let [compute, communication, copy] = BUCKETS.map(first);
            match (compute, communication, copy) {
                (Some(i), communication, copy) => {
                    swept.seen[i].exposed += i64::from(streams.len() == 1);
                    swept.seen[i].without_communication += i64::from(communication.is_none());
                    swept.seen[i].without_copy += i64::from(copy.is_none());
                }
                (None, Some(i), _) | (None, None, Some(i)) => swept.seen[i].exposed += 1,
                (None, None, None) => {}
            }
        }
        swept
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]
        #[test]
        fn equals_looking_at_every_nanosecond(spans in spans()) {
            let swept = sweep(&spans, 4);
            prop_assert_eq!(&swept, &slow(&spans));
            let exposed: i64 = swept.seen.iter().map(|seen| seen.exposed).sum();
            prop_assert!(exposed <= swept.busy);
        }
    }

    #[test]
    fn nothing_takes_no_time() {
        assert_eq!(sweep(&[], 0), Swept::default());
    }
}
