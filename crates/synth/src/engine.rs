//! The simulation itself: host threads run their programs, streams run what was enqueued, and every start
//! follows from what it had to wait for.
//!
//! Threads and streams are sequential and talk through queues only, so the run is a network of processes
//! with time stamps: each piece of work starts at the latest of its causes, whatever order the simulator
//! visits them in. A thread runs ahead until it must wait, a stream until its head depends on something not
//! known yet (an event, the last rank of a collective).

mod device;
mod late;

use std::collections::{BTreeMap, VecDeque};

use crate::Error;
use crate::program::{Instr, Mark, Node, Program, SyncTarget};
use crate::random::{Key, Spread};
use crate::ranks::{MeetingLog, Met, Resolved, StepEnds};
use crate::record::{Detail, Record};

pub(crate) use late::{Late, Pause};

/// Draws for host times come from a separate stream, far from those of kernels.
const HOST_DRAWS: u32 = 1 << 31;

/// A rank's kernels that take longer: kernel (or all), factor, truth or cause.
#[derive(Clone, Debug)]
pub(crate) struct Slowdown {
    pub rank: u32,
    pub kernel: Option<u32>,
    pub factor: f64,
    pub mark: Mark,
    /// Only kernels that the clock decides on.
    pub clocked: bool,
    /// Number of the cause that the time is charged to.
    pub cause: Option<usize>,
}

impl Slowdown {
    /// Whether it slows this kernel of this rank.
    fn slows(&self, rank: u32, kernel: u32, program: &Program) -> bool {
        let facts = &program.kernels[kernel as usize];
        self.rank == rank
            && self.kernel.is_none_or(|k| k == kernel)
            && (!self.clocked || facts.clocked)
            && (self.cause.is_none() || !facts.communicates)
    }
}

/// What happened under one truth on one rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marked {
    pub count: u64,
    pub first: i64,
    pub last: i64,
    /// Time lost to it, as far as single occurrences show.
    pub total_ns: i64,
}

impl Default for Marked {
    fn default() -> Self {
        Self { count: 0, first: i64::MAX, last: i64::MIN, total_ns: 0 }
    }
}

impl Marked {
    fn add(&mut self, start: i64, end: i64, lost: i64) {
        self.count += 1;
        self.first = self.first.min(start);
        self.last = self.last.max(end);
        self.total_ns += lost;
    }
}

#[derive(Clone, Copy, Debug)]
struct Cause {
    thread: u32,
    step: u64,
    ready: i64,
    correlation: i64,
    external: i64,
    replayed: bool,
    mark: Mark,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    /// `extra` kernels are those that a rank with more work runs in addition.
    Kernel {
        kernel: u32,
        cause: Cause,
        extra: bool,
    },
    Copy {
        copy: u32,
        cause: Cause,
    },
    Record {
        recording: u32,
        ready: i64,
    },
    Wait {
        recording: u32,
        stage: bool,
    },
    Collective {
        met: Met,
        key: (u64, u64),
        cause: Cause,
    },
}

#[derive(Default)]
struct Stream {
    queue: VecDeque<Work>,
    /// When everything run so far is done.
    tail: i64,
    /// The head has arrived at its collective.
    arrived: bool,
    /// Set once the stream has run something.
    used: bool,
}

struct Thread {
    now: i64,
    /// Next instruction of the step it is in.
    at: usize,
    step: u64,
    /// External ids of the ops and annotations it is in; zero for frames without one.
    externals: Vec<i64>,
    capturing: bool,
    draws: u64,
    /// Correlation of its latest call.
    last_call: i64,
    /// The step after the last one that it paused in.
    paused: u64,
}

struct Rank {
    streams: Vec<Stream>,
    threads: Vec<Thread>,
    /// When each recording of an event completed, as far as known.
    recordings: Vec<Option<i64>>,
    /// The latest recording of each event.
    events: Vec<Option<u32>>,
    slots: Vec<Option<(i64, i64, u32)>>,
    in_use: Vec<i64>,
    next_address: i64,
    queues: Vec<VecDeque<i64>>,
    correlation: i64,
    external: i64,
    calls: Vec<u64>,
    copies: u64,
    /// Collectives so far by kind of group; sends and receives so far, in all and by peer.
    collectives: [u64; 5],
    p2p: u64,
    peers: [u64; 4],
    late: Late,
    /// Time that compute was stalled by data from another stage.
    bubble: i64,
    records: Vec<Record>,
    marked: Vec<Marked>,
    /// Time in collectives before the last rank came, and how often this was the last.
    waited: i64,
    last_arrivals: u64,
}

#[derive(Default)]
struct Meeting {
    arrivals: Vec<Arrival>,
}

/// A rank that has come to a meeting.
#[derive(Clone, Copy)]
struct Arrival {
    rank: u32,
    stream: u32,
    at: i64,
    cause: Cause,
    met: Met,
}

/// A run in progress.
pub(crate) struct Engine<'a> {
    program: &'a Program,
    seed: u64,
    scale: Vec<f64>,
    slow: Vec<Slowdown>,
    ranks: Vec<Rank>,
    faults: Resolved,
    pauses: Vec<Pause>,
    meetings: BTreeMap<(u64, u64), Meeting>,
    log: MeetingLog,
    steps: StepEnds,
    host_spread: Spread,
    copy_spread: Spread,
    /// Kernels run so far on rank 0.
    pub(crate) kernels: u64,
}

/// Time between a thread's steps that belongs to no frame.
const BETWEEN_STEPS_NS: i64 = 200;

fn ns(us: f64) -> i64 {
    (us * 1000.0).round() as i64
}

impl<'a> Engine<'a> {
    /// A run at its beginning. `scale` has a factor for each kernel.
    pub(crate) fn new(
        program: &'a Program,
        seed: u64,
        ranks: u32,
        scale: Vec<f64>,
        slow: Vec<Slowdown>,
        truths: usize,
        (faults, pauses): (Resolved, Vec<Pause>),
    ) -> Self {
        let rank = || Rank {
            streams: program.streams.iter().map(|_| Stream::default()).collect(),
            threads: program
                .threads
                .iter()
                .map(|_| Thread {
                    now: 0,
                    at: 0,
                    step: 0,
                    externals: Vec::new(),
                    capturing: false,
                    draws: 0,
                    last_call: 0,
                    paused: 0,
                })
                .collect(),
            recordings: Vec::new(),
            events: vec![None; program.events],
            slots: vec![None; program.slots],
            in_use: vec![0; program.machine.gpus as usize],
            next_address: 0x7f10_0000_0000,
            queues: vec![VecDeque::new(); program.queues],
            correlation: 0,
            external: 0,
            calls: vec![0; program.kernels.len()],
            copies: 0,
            collectives: [0; 5],
            p2p: 0,
            peers: [0; 4],
            late: Late::default(),
            bubble: 0,
            records: Vec::new(),
            marked: vec![Marked::default(); truths],
            waited: 0,
            last_arrivals: 0,
        };
        let mut all: Vec<Rank> = (0..ranks).map(|_| rank()).collect();
        late::more_work(&faults, &mut all);
        Self {
            program,
            seed,
            scale,
            slow,
            faults,
            pauses,
            ranks: all,
            meetings: BTreeMap::new(),
            log: MeetingLog::default(),
            steps: StepEnds::default(),
            host_spread: Spread::of_cv(program.machine.host_cv),
            copy_spread: Spread::of_cv(0.03),
            kernels: 0,
        }
    }

    /// Runs all threads up to the end of step `until` (exclusive).
    pub(crate) fn run(&mut self, until: u64) -> Result<(), Error> {
        loop {
            let (mut progress, mut waiting) = (false, None);
            for rank in 0..self.ranks.len() {
                for thread in 0..self.program.threads.len() {
                    let before = (self.ranks[rank].threads[thread].step, self.ranks[rank].threads[thread].at);
                    if let Some(reason) = self.run_thread(rank, thread, until) {
                        waiting.get_or_insert((rank, reason));
                    }
                    let now = &self.ranks[rank].threads[thread];
                    progress |= (now.step, now.at) != before;
                }
            }
            match waiting {
                None => return self.drained(),
                Some((rank, what)) if !progress => {
                    return Err(Error::Deadlock { rank: rank as u32, what });
                }
                Some(_) => {}
            }
        }
    }

    /// Fails if work is left on streams when all threads are done: it can never run.
    fn drained(&self) -> Result<(), Error> {
        for (number, rank) in self.ranks.iter().enumerate() {
            if let Some(stuck) = rank.streams.iter().position(|s| !s.queue.is_empty()) {
                let what = format!("work on stream {}", self.program.streams[stuck].id);
                return Err(Error::Deadlock { rank: number as u32, what });
            }
        }
        Ok(())
    }

    /// The log of a rank since the last call.
    pub(crate) fn take_records(&mut self, rank: usize) -> Vec<Record> {
        std::mem::take(&mut self.ranks[rank].records)
    }

    /// How many records are logged and not taken yet.
    pub(crate) fn logged(&self) -> usize {
        self.ranks.iter().map(|r| r.records.len()).sum()
    }

    /// True time before which no thread will act again.
    pub(crate) fn reached(&self) -> i64 {
        self.ranks.iter().flat_map(|r| r.threads.iter().map(|t| t.now)).min().unwrap_or(0)
    }

    /// (time waited for other ranks in collectives, how often it was the last to come).
    pub(crate) fn meetings_of(&self, rank: usize) -> (i64, u64) {
        (self.ranks[rank].waited, self.ranks[rank].last_arrivals)
    }

    /// Who met when, so far.
    pub(crate) fn take_log(&mut self) -> MeetingLog {
        std::mem::take(&mut self.log)
    }

    pub(crate) fn steps(&self) -> &StepEnds {
        &self.steps
    }

    /// Time that each rank's compute was stalled waiting for data from another stage.
    pub(crate) fn bubbles(&self) -> Vec<i64> {
        self.ranks.iter().map(|rank| rank.bubble).collect()
    }

    /// What happened under each truth on a rank.
    pub(crate) fn marked(&self, rank: usize) -> &[Marked] {
        &self.ranks[rank].marked
    }

    /// Runs one thread until it must wait; returns what it waits for, or `None` when it is done.
    fn run_thread(&mut self, rank: usize, thread: usize, until: u64) -> Option<String> {
        let program = self.program;
        loop {
            let state = &mut self.ranks[rank].threads[thread];
            if state.step >= until {
                return None;
            }
            let stage = program.layout.stage(rank as u32);
            let instrs = program.step(state.step).thread(stage, thread);
            match instrs.get(state.at) {
                None => {
                    state.step += 1;
                    state.at = 0;
                    state.now += BETWEEN_STEPS_NS;
                }
                Some(&instr) => {
                    if thread == 0 && !self.pauses.is_empty() && !matches!(instr, Instr::Enter { .. }) {
                        self.pause(rank);
                    }
                    if let Err(reason) = self.execute(rank, thread, instr) {
                        return Some(reason);
                    }
                    self.ranks[rank].threads[thread].at += 1;
                }
            }
        }
    }

    /// Host time with its spread; never less than a nanosecond unless it is free.
    fn host_time(&mut self, rank: usize, thread: usize, mean_ns: f64) -> i64 {
        if mean_ns == 0.0 {
            return 0;
        }
        let state = &mut self.ranks[rank].threads[thread];
        state.draws += 1;
        let key = Key {
            seed: self.seed,
            rank: rank as u32,
            stream: HOST_DRAWS + thread as u32,
            instance: state.draws,
        };
        ((mean_ns * key.factor(self.host_spread)) as i64).max(1)
    }

    fn execute(&mut self, r: usize, t: usize, instr: Instr) -> Result<(), String> {
        let thread = t as u32;
        match instr {
            Instr::Enter { frame, ns } => {
                let cost = self.host_time(r, t, ns);
                let numbered = !matches!(
                    self.program.frames[frame as usize].kind,
                    crate::program::FrameKind::Python | crate::program::FrameKind::Module
                );
                let rank = &mut self.ranks[r];
                if numbered {
                    rank.external += 1;
                }
                let external = if numbered { rank.external } else { 0 };
                let state = &mut rank.threads[t];
                state.externals.push(external);
                let (at, step) = (state.now, state.step);
                rank.records.push(Record::Enter { thread, frame, at, external, step });
                state.now += cost;
            }
            Instr::Leave { ns } => {
                let cost = self.host_time(r, t, ns);
                let rank = &mut self.ranks[r];
                let state = &mut rank.threads[t];
                state.externals.pop();
                state.now += cost;
                rank.records.push(Record::Leave { thread, at: state.now });
            }
            Instr::Busy { ns } => {
                let cost = self.host_time(r, t, ns);
                self.ranks[r].threads[t].now += cost;
            }
            Instr::Chatter { frames, ns } => {
                let cost = self.host_time(r, t, ns);
                let rank = &mut self.ranks[r];
                let start = rank.threads[t].now;
                rank.threads[t].now += cost;
                rank.records.push(Record::Chatter { thread, start, end: start + cost, frames });
            }
            Instr::Host { frame, ns, mark } => {
                let cost = self.host_time(r, t, ns);
                let rank = &mut self.ranks[r];
                let start = rank.threads[t].now;
                rank.threads[t].now += cost;
                rank.records.push(Record::Host { thread, frame, start, end: start + cost });
                rank.mark(mark, start, start + cost, cost);
            }
            Instr::Call { api, ns, mark } => {
                self.call(r, t, api, ns, mark, Detail::None);
            }
            Instr::Launch { kernel, stream, api, ns, mark } => {
                let cause = self.launch(r, t, api, ns, mark, Detail::Launch { kernel });
                self.enqueue(r, stream, Work::Kernel { kernel, cause, extra: false });
                for _ in 0..self.ranks[r].late.extra_kernels() {
                    let cause = self.extra_launch(r, t, api, ns, kernel);
                    self.enqueue(r, stream, Work::Kernel { kernel, cause, extra: true });
                }
            }
            Instr::Copy { copy, stream, api, ns, mark } => {
                let cause = self.launch(r, t, api, ns, mark, Detail::Copy { copy });
                self.enqueue(r, stream, Work::Copy { copy, cause });
            }
            Instr::Finish { stream } => {
                let rank = &mut self.ranks[r];
                let state = &rank.streams[stream as usize];
                if !state.queue.is_empty() {
                    return Err(format!("stream {}", self.program.streams[stream as usize].id));
                }
                let (tail, call) = (state.tail, rank.threads[t].last_call);
                rank.stretch_call(t, call, tail);
            }
            Instr::Sync { target, api, ns, mark } => return self.sync(r, t, target, api, ns, mark),
            Instr::Record { event, stream, api, ns } => {
                let recording = self.ranks[r].new_recording(event);
                let cause = self.launch(r, t, api, ns, 0, Detail::Event { event, stream, recording });
                self.enqueue(r, stream, Work::Record { recording, ready: cause.ready });
            }
            Instr::Wait { event, stream, api, ns, mark, stage } => {
                let recording = self.ranks[r].events[event as usize];
                let known = recording.unwrap_or(u32::MAX);
                self.call(r, t, api, ns, mark, Detail::Event { event, stream, recording: known });
                // An event that was never recorded is complete.
                if let Some(recording) = recording.filter(|_| !self.ranks[r].threads[t].capturing) {
                    self.enqueue(r, stream, Work::Wait { recording, stage });
                }
            }
            Instr::Alloc { slot, bytes, gpu, api, ns, mark } => {
                let (start, end, correlation) = self.call(r, t, api, ns, mark, Detail::Alloc { bytes });
                let rank = &mut self.ranks[r];
                let address = rank.next_address;
                let size = bytes as i64;
                rank.next_address += (size + 0x1f_ffff) & !0x1f_ffff;
                rank.slots[slot as usize] = Some((address, size, gpu));
                let in_use = &mut rank.in_use[gpu as usize];
                *in_use += size;
                let in_use = *in_use;
                rank.records.push(Record::Memory {
                    thread,
                    gpu,
                    at: start,
                    end,
                    address,
                    bytes: size,
                    correlation,
                    in_use,
                });
            }
            Instr::Free { slot, api, ns, mark } => {
                let (start, end, correlation) = self.call(r, t, api, ns, mark, Detail::None);
                let rank = &mut self.ranks[r];
                if let Some((address, size, gpu)) = rank.slots[slot as usize].take() {
                    rank.in_use[gpu as usize] -= size;
                    let in_use = rank.in_use[gpu as usize];
                    rank.records.push(Record::Memory {
                        thread,
                        gpu,
                        at: start,
                        end,
                        address,
                        bytes: -size,
                        correlation,
                        in_use,
                    });
                }
            }
            Instr::Collective { collective, stream, api, ns, mark } => {
                let kernel = self.program.collectives[collective as usize].kernel;
                let cause = self.launch(r, t, api, ns, mark, Detail::Launch { kernel });
                self.enqueue_collective(r, stream, collective, cause);
            }
            Instr::GraphLaunch { graph, stream, api, ns } => self.graph(r, t, graph, stream, api, ns),
            Instr::BeginCapture { api, ns } => {
                self.call(r, t, api, ns, 0, Detail::None);
                self.ranks[r].threads[t].capturing = true;
            }
            Instr::EndCapture { api, ns } => {
                self.call(r, t, api, ns, 0, Detail::None);
                self.ranks[r].threads[t].capturing = false;
            }
            Instr::Post { queue } => {
                let rank = &mut self.ranks[r];
                rank.queues[queue as usize].push_back(rank.threads[t].now);
            }
            Instr::Take { queue } => {
                let rank = &mut self.ranks[r];
                let Some(posted) = rank.queues[queue as usize].pop_front() else {
                    return Err(format!("a token of queue {queue}"));
                };
                rank.threads[t].now = rank.threads[t].now.max(posted);
            }
        }
        Ok(())
    }

    /// A runtime call: (start, end, correlation).
    fn call(
        &mut self,
        r: usize,
        t: usize,
        api: u32,
        mean_ns: f64,
        mark: Mark,
        detail: Detail,
    ) -> (i64, i64, i64) {
        let cost = self.host_time(r, t, mean_ns);
        let rank = &mut self.ranks[r];
        rank.correlation += 1;
        let correlation = rank.correlation;
        let state = &mut rank.threads[t];
        let external = state.externals.iter().rev().copied().find(|e| *e != 0).unwrap_or(0);
        let (start, end) = (state.now, state.now + cost);
        state.now = end;
        state.last_call = correlation;
        let thread = t as u32;
        rank.records.push(Record::Call { thread, api, start, end, correlation, external, detail });
        rank.mark(mark, start, end, cost);
        (start, end, correlation)
    }

    /// A call that enqueues work, and what that work knows of it. Kernels carry the mark, not their launch.
    fn launch(&mut self, r: usize, t: usize, api: u32, ns_: f64, mark: Mark, detail: Detail) -> Cause {
        let (_, end, correlation) = self.call(r, t, api, ns_, 0, detail);
        let externals = &self.ranks[r].threads[t].externals;
        let external = externals.iter().rev().copied().find(|e| *e != 0).unwrap_or(0);
        let ready = end + ns(self.program.machine.latency_us);
        let step = self.ranks[r].threads[t].step;
        Cause { thread: t as u32, step, ready, correlation, external, replayed: false, mark }
    }

    fn sync(
        &mut self,
        r: usize,
        t: usize,
        target: SyncTarget,
        api: u32,
        ns: f64,
        mark: Mark,
    ) -> Result<(), String> {
        let program = self.program;
        let rank = &self.ranks[r];
        let drained = |stream: usize| rank.streams[stream].queue.is_empty();
        let (done, detail) = match target {
            SyncTarget::Stream(stream) => {
                if !drained(stream as usize) {
                    return Err(format!("stream {}", program.streams[stream as usize].id));
                }
                (rank.streams[stream as usize].tail, Detail::Stream { stream })
            }
            SyncTarget::Event(event) => {
                let recording = rank.events[event as usize];
                let done = match recording {
                    Some(recording) => {
                        rank.recordings[recording as usize].ok_or_else(|| format!("event {event}"))?
                    }
                    None => 0,
                };
                (done, Detail::EventSync { event, recording: recording.unwrap_or(u32::MAX) })
            }
            SyncTarget::Device(gpu) => {
                let mut done = 0;
                for (stream, place) in program.streams.iter().enumerate() {
                    if place.gpu == gpu && program.owners[stream] == t as u32 {
                        if !drained(stream) {
                            return Err(format!("stream {}", place.id));
                        }
                        done = done.max(rank.streams[stream].tail);
                    }
                }
                (done, Detail::None)
            }
        };
        let (start, end, correlation) = self.call(r, t, api, ns, 0, detail);
        let rank = &mut self.ranks[r];
        rank.stretch_call(t, correlation, done);
        let end = end.max(rank.threads[t].now);
        rank.mark(mark, start, end, end - start);
        Ok(())
    }

    fn graph(&mut self, r: usize, t: usize, graph: u32, stream: u32, api: u32, ns: f64) {
        let mut cause = self.launch(r, t, api, ns, 0, Detail::Graph { graph });
        cause.replayed = true;
        // The graph runs after what its launching stream holds, and that stream continues after the graph.
        let begun = self.ranks[r].unnamed_recording();
        self.enqueue(r, stream, Work::Record { recording: begun, ready: cause.ready });
        let mut others: Vec<u32> = Vec::new();
        let program = self.program;
        for node in &program.graphs[graph as usize] {
            let on = match *node {
                Node::Kernel { stream, .. }
                | Node::Copy { stream, .. }
                | Node::Record { stream, .. }
                | Node::Wait { stream, .. }
                | Node::Collective { stream, .. } => stream,
            };
            if on != stream && !others.contains(&on) {
                others.push(on);
                self.enqueue(r, on, Work::Wait { recording: begun, stage: false });
            }
            match *node {
                Node::Kernel { kernel, stream, mark } => {
                    let cause = Cause { mark, ..cause };
                    self.enqueue(r, stream, Work::Kernel { kernel, cause, extra: false });
                    for _ in 0..self.ranks[r].late.extra_kernels() {
                        self.enqueue(r, stream, Work::Kernel { kernel, cause, extra: true });
                    }
                }
                Node::Copy { copy, stream, mark } => {
                    self.enqueue(r, stream, Work::Copy { copy, cause: Cause { mark, ..cause } });
                }
                Node::Record { event, stream } => {
                    let recording = self.ranks[r].new_recording(event);
                    self.enqueue(r, stream, Work::Record { recording, ready: 0 });
                }
                Node::Wait { event, stream } => {
                    if let Some(recording) = self.ranks[r].events[event as usize] {
                        self.enqueue(r, stream, Work::Wait { recording, stage: false });
                    }
                }
                Node::Collective { collective, stream, mark } => {
                    self.enqueue_collective(r, stream, collective, Cause { mark, ..cause });
                }
            }
        }
        for other in others {
            let ended = self.ranks[r].unnamed_recording();
            self.enqueue(r, other, Work::Record { recording: ended, ready: 0 });
            self.enqueue(r, stream, Work::Wait { recording: ended, stage: false });
        }
    }
}

impl Stream {
    fn ran_until(&mut self, end: i64) {
        self.tail = end;
        self.used = true;
    }
}

impl Rank {
    fn mark(&mut self, mark: Mark, start: i64, end: i64, lost: i64) {
        if mark > 0 {
            self.marked[mark as usize - 1].add(start, end, lost);
        }
    }

    fn unnamed_recording(&mut self) -> u32 {
        self.recordings.push(None);
        self.recordings.len() as u32 - 1
    }

    fn new_recording(&mut self, event: u32) -> u32 {
        let recording = self.unnamed_recording();
        self.events[event as usize] = Some(recording);
        recording
    }

    /// The thread's last call only returns at `until`.
    fn stretch_call(&mut self, t: usize, correlation: i64, until: i64) {
        let now = self.threads[t].now.max(until);
        self.threads[t].now = now;
        for record in self.records.iter_mut().rev() {
            if let Record::Call { correlation: c, end, .. } = record
                && *c == correlation
            {
                *end = now;
                return;
            }
        }
    }
}
