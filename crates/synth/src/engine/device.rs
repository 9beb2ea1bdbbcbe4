//! The streams' side of the simulation: what was enqueued runs when all it waits for is known.

use super::{Cause, Engine, HOST_DRAWS, Work, ns};
use crate::program::Mark;
use crate::random::{EVERY_RANK, Key};
use crate::record::Record;

impl Engine<'_> {
    pub(super) fn enqueue_collective(&mut self, r: usize, stream: u32, collective: u32, cause: Cause) {
        if self.ranks[r].threads[cause.thread as usize].capturing {
            return;
        }
        let sequence = self.ranks[r].collectives;
        self.ranks[r].collectives += 1;
        self.enqueue(r, stream, Work::Collective { collective, sequence, cause });
    }

    pub(super) fn enqueue(&mut self, r: usize, stream: u32, work: Work) {
        let owner = self.program.owners[stream as usize] as usize;
        if self.ranks[r].threads[owner].capturing {
            return;
        }
        self.ranks[r].streams[stream as usize].queue.push_back(work);
        self.advance(r, stream);
    }

    /// Runs a stream as far as possible, and then whatever that set free.
    fn advance(&mut self, r: usize, stream: u32) {
        let mut ready = vec![(r, stream)];
        while let Some((r, s)) = ready.pop() {
            while let Some(&work) = self.ranks[r].streams[s as usize].queue.front() {
                if !self.run_work(r, s, work, &mut ready) {
                    break;
                }
                self.ranks[r].streams[s as usize].queue.pop_front();
            }
        }
    }

    /// Runs the head of a stream; false when it must wait.
    fn run_work(&mut self, r: usize, s: u32, work: Work, ready: &mut Vec<(usize, u32)>) -> bool {
        match work {
            Work::Kernel { kernel, cause } => {
                let instance = self.ranks[r].calls[kernel as usize];
                self.ranks[r].calls[kernel as usize] += 1;
                let (duration, lost, mark) = self.kernel_time(r as u32, kernel, instance, false);
                let start = self.start_of(r, s, &cause);
                self.kernel_ran(r, s, kernel, start, start + duration, instance, &cause, None);
                self.ranks[r].mark(mark, start, start + duration, lost);
                true
            }
            Work::Copy { copy, cause } => {
                let facts = self.program.copies[copy as usize];
                let instance = self.ranks[r].copies;
                self.ranks[r].copies += 1;
                let key = Key { seed: self.seed, rank: r as u32, stream: HOST_DRAWS - 1, instance };
                let moving = facts.bytes as f64 / facts.gbps;
                let fixed = self.program.machine.copy_us * 1000.0;
                let duration = (((moving + fixed) * key.factor(self.copy_spread)) as i64).max(1);
                let start = self.start_of(r, s, &cause);
                let end = start + duration;
                let rank = &mut self.ranks[r];
                rank.records.push(Record::Copy {
                    thread: cause.thread,
                    copy,
                    stream: s,
                    start,
                    end,
                    correlation: cause.correlation,
                    external: cause.external,
                    replayed: cause.replayed,
                });
                rank.streams[s as usize].ran_until(end);
                rank.mark(cause.mark, start, end, duration);
                true
            }
            Work::Record { recording, ready: call_done } => {
                let rank = &mut self.ranks[r];
                let at = rank.streams[s as usize].tail.max(call_done);
                rank.recordings[recording as usize] = Some(at);
                // Any stream of this rank may have waited for it.
                for (other, stream) in rank.streams.iter().enumerate() {
                    if matches!(stream.queue.front(), Some(Work::Wait { recording: w }) if *w == recording) {
                        ready.push((r, other as u32));
                    }
                }
                true
            }
            Work::Wait { recording } => {
                let rank = &mut self.ranks[r];
                let Some(at) = rank.recordings[recording as usize] else { return false };
                let stream = &mut rank.streams[s as usize];
                stream.tail = stream.tail.max(at);
                true
            }
            Work::Collective { collective, sequence, cause } => {
                if self.ranks[r].streams[s as usize].arrived {
                    return false;
                }
                let at = self.start_of(r, s, &cause);
                self.ranks[r].streams[s as usize].arrived = true;
                let meeting = self.meetings.entry(sequence).or_default();
                meeting.arrivals.push((r as u32, s, at, cause));
                if meeting.arrivals.len() < self.ranks.len() {
                    return false;
                }
                let arrivals = std::mem::take(&mut meeting.arrivals);
                self.meetings.remove(&sequence);
                self.collective_ran(collective, sequence, &arrivals);
                for (rank, stream, _, _) in arrivals {
                    let stream_state = &mut self.ranks[rank as usize].streams[stream as usize];
                    stream_state.arrived = false;
                    if (rank as usize, stream) != (r, s) {
                        stream_state.queue.pop_front();
                        ready.push((rank as usize, stream));
                    }
                }
                true
            }
        }
    }

    /// A collective is over for all when the last has come and the transfer is done.
    fn collective_ran(&mut self, collective: u32, sequence: u64, arrivals: &[(u32, u32, i64, Cause)]) {
        let kernel = self.program.collectives[collective as usize].kernel;
        let (transfer, _, _) = self.kernel_time(EVERY_RANK, kernel, sequence, true);
        let last = arrivals.iter().map(|a| a.2).max().unwrap_or(0);
        if let Some(&(rank, ..)) = arrivals.iter().filter(|a| a.2 == last).min_by_key(|a| a.0) {
            self.ranks[rank as usize].last_arrivals += 1;
        }
        for &(rank, stream, start, cause) in arrivals {
            let r = rank as usize;
            self.ranks[r].calls[kernel as usize] += 1;
            self.ranks[r].waited += last - start;
            let facts = Some((sequence, collective));
            self.kernel_ran(r, stream, kernel, start, last + transfer, sequence, &cause, facts);
        }
    }

    /// The earliest start on a stream: after its own launch, and after the work before it.
    fn start_of(&self, r: usize, s: u32, cause: &Cause) -> i64 {
        let stream = &self.ranks[r].streams[s as usize];
        let machine = &self.program.machine;
        let gap = if cause.replayed { machine.graph_gap_us } else { machine.gap_us };
        let after = if stream.used { stream.tail + ns(gap) } else { stream.tail };
        after.max(cause.ready)
    }

    /// (duration, part of it that a truth costs, that truth).
    fn kernel_time(&self, rank: u32, kernel: u32, instance: u64, shared: bool) -> (i64, i64, Mark) {
        let facts = &self.program.kernels[kernel as usize];
        let key = Key { seed: self.seed, rank, stream: kernel, instance };
        let usual = facts.mean_ns * key.factor(facts.spread) * self.scale[kernel as usize];
        let (mut factor, mut mark) = (1.0, 0);
        if let Some(first) = facts.first_call_factor.filter(|_| instance == 0) {
            (factor, mark) = (factor * first, facts.mark);
        }
        if let Some((every, outlier)) = facts.outliers
            && instance % every == every - 1
        {
            (factor, mark) = (factor * outlier, facts.mark);
        }
        for slow in &self.slow {
            if !shared && slow.rank == rank && slow.kernel.is_none_or(|k| k == kernel) {
                factor *= slow.factor;
                mark = slow.mark;
            }
        }
        let duration = ((usual * factor) as i64).max(1);
        (duration, duration - (usual as i64).max(1), mark)
    }

    #[allow(clippy::too_many_arguments)]
    fn kernel_ran(
        &mut self,
        r: usize,
        s: u32,
        kernel: u32,
        start: i64,
        end: i64,
        instance: u64,
        cause: &Cause,
        collective: Option<(u64, u32)>,
    ) {
        if r == 0 {
            self.kernels += 1;
        }
        let rank = &mut self.ranks[r];
        rank.records.push(Record::Kernel {
            thread: cause.thread,
            step: cause.step,
            kernel,
            stream: s,
            start,
            end,
            correlation: cause.correlation,
            external: cause.external,
            instance,
            replayed: cause.replayed,
            collective,
        });
        rank.streams[s as usize].ran_until(end);
        rank.mark(cause.mark, start, end, end - start);
    }
}
