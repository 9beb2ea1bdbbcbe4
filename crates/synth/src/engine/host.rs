//! The threads' side of the simulation: each instruction takes its host time, and enqueues work or waits.

use super::state::{Cause, Work};
use super::{Engine, HOST_DRAWS, ns};
use crate::program::{FrameKind, Instr, Mark, Node, SyncTarget};
use crate::random::Key;
use crate::record::{Detail, Record};

/// Time between a thread's steps that belongs to no frame.
const BETWEEN_STEPS_NS: i64 = 200;

impl Engine<'_> {
    /// Runs one thread until it must wait; returns what it waits for, or `None` when it is done.
    pub(super) fn run_thread(&mut self, rank: usize, thread: usize, until: u64) -> Option<String> {
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
                    FrameKind::Python | FrameKind::Module
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
    pub(super) fn launch(
        &mut self,
        r: usize,
        t: usize,
        api: u32,
        ns_: f64,
        mark: Mark,
        detail: Detail,
    ) -> Cause {
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
