//! The streams' side of the simulation: what was enqueued runs when all it waits for is known.

use stats::random::mix;

use super::state::{Arrival, Cause, Slowdown, Work};
use super::{Engine, HOST_DRAWS, ns};
use crate::program::{CollectiveWork, Mark};
use crate::random::{EVERY_RANK, Key, Spread};
use crate::ranks::{CollectiveTruth, GroupKind, Met, P2P};
use crate::record::Record;

impl Engine<'_> {
    pub(super) fn enqueue_collective(&mut self, r: usize, stream: u32, collective: u32, cause: Cause) {
        if self.ranks[r].threads[cause.thread as usize].capturing {
            return;
        }
        let facts = &self.program.collectives[collective as usize];
        let layout = &self.program.layout;
        let rank = &mut self.ranks[r];
        let me = r as u32;
        let group = layout.group(facts.group, me);
        let (sequence, key) = match facts.peer {
            None => {
                let next = &mut rank.collectives[facts.group as usize];
                *next += 1;
                (*next - 1, (u64::from(group), *next - 1))
            }
            // Each rank counts its sends and receives together; sender and receiver meet by their own order.
            Some(peer) => {
                let Some(other) = layout.neighbour(me, peer.next) else { return };
                let (from, to) = if peer.send { (me, other) } else { (other, me) };
                rank.p2p += 1;
                let turn = &mut rank.peers[peer.number()];
                *turn += 1;
                (rank.p2p - 1, (P2P | u64::from(from) << 31 | u64::from(to), *turn - 1))
            }
        };
        let met = Met { sequence, which: collective, group };
        self.enqueue(r, stream, Work::Collective { met, key, cause });
    }

    pub(super) fn enqueue(&mut self, r: usize, stream: u32, work: Work) {
        let owner = self.program.owners[stream as usize] as usize;
        if self.ranks[r].threads[owner].capturing {
            return;
        }
        self.ranks[r].streams[stream as usize].queue.push_back(work);
        self.advance(r, stream);
    }

    /// Runs a stream as far as possible, and then whatever that unblocked.
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
            Work::Kernel { kernel, cause, extra } => {
                let instance = if extra {
                    self.ranks[r].late.extra_instance()
                } else {
                    self.ranks[r].calls[kernel as usize] += 1;
                    self.ranks[r].calls[kernel as usize] - 1
                };
                let (duration, lost, mark) = self.kernel_time(r as u32, kernel, instance, false);
                let start = self.start_of(r, s, &cause);
                self.kernel_ran(r, s, kernel, start, start + duration, instance, &cause, None);
                let late = &mut self.ranks[r].late;
                if extra {
                    late.charge(late.extra_cause(), duration);
                } else {
                    let slow = |slow: &&Slowdown| slow.slows(r as u32, kernel, self.program);
                    late.charge(self.slow.iter().filter(slow).find_map(|slow| slow.cause), lost);
                }
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
                    if matches!(stream.queue.front(), Some(Work::Wait { recording: w, .. }) if *w == recording)
                    {
                        ready.push((r, other as u32));
                    }
                }
                true
            }
            Work::Wait { recording, stage } => {
                let rank = &mut self.ranks[r];
                let Some(at) = rank.recordings[recording as usize] else { return false };
                let stream = &mut rank.streams[s as usize];
                rank.bubble += if stage { (at - stream.tail).max(0) } else { 0 };
                stream.tail = stream.tail.max(at);
                true
            }
            Work::Collective { met, key, cause } => {
                if self.ranks[r].streams[s as usize].arrived {
                    return false;
                }
                let at = self.start_of(r, s, &cause);
                self.ranks[r].streams[s as usize].arrived = true;
                let meeting = self.meetings.entry(key).or_default();
                meeting.arrivals.push(Arrival { rank: r as u32, stream: s, at, cause, met });
                let facts = &self.program.collectives[met.which as usize];
                let everyone = if facts.peer.is_some() { 2 } else { self.program.layout.size(facts.group) };
                if meeting.arrivals.len() < everyone as usize {
                    return false;
                }
                let mut arrivals = std::mem::take(&mut meeting.arrivals);
                self.meetings.remove(&key);
                // In a fixed order, independent of which was simulated first: the sender before the receiver, else by rank.
                let receives = |a: &Arrival| {
                    self.program.collectives[a.met.which as usize].peer.is_some_and(|peer| !peer.send)
                };
                arrivals.sort_by_key(|a| (receives(a), a.rank));
                self.collective_ran(key, &arrivals);
                for Arrival { rank, stream, .. } in arrivals {
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
    fn collective_ran(&mut self, key: (u64, u64), arrivals: &[Arrival]) {
        let facts = &self.program.collectives[arrivals[0].met.which as usize];
        let (kernel, kind, me) = (facts.kernel, facts.group, arrivals[0].rank);
        // The world's draws are those of its sequence numbers; other groups have their own.
        let draw = if key.0 == 0 { key.1 } else { mix(key.0) ^ key.1 };
        let link_factor = self.faults.link_factor(&self.program.layout, kind, me);
        let transfer = self.transfer_time(facts, draw, arrivals, link_factor);
        let last = arrivals.iter().map(|a| a.at).max().unwrap_or(0);
        if let Some(late) = arrivals.iter().filter(|a| a.at == last).min_by_key(|a| a.rank) {
            self.ranks[late.rank as usize].last_arrivals += 1;
        }
        self.log_meeting(facts, kind, arrivals, (last, transfer), link_factor);
        for &Arrival { rank, stream, at, cause, met } in arrivals {
            let r = rank as usize;
            let end = last + transfer + self.end_jitter(rank, kernel, draw);
            self.ranks[r].calls[kernel as usize] += 1;
            self.ranks[r].waited += last - at;
            self.kernel_ran(r, stream, kernel, at, end, met.sequence, &cause, Some(met));
        }
    }

    /// How long data moves once everyone is there.
    fn transfer_time(
        &self,
        facts: &CollectiveWork,
        draw: u64,
        arrivals: &[Arrival],
        link_factor: f64,
    ) -> i64 {
        let (usual, _, _) = self.kernel_time(EVERY_RANK, facts.kernel, draw, true);
        let mut factor = link_factor;
        if let Some(links) = &self.program.links {
            let node = |a: &Arrival| a.rank / self.program.machine.ranks_per_node;
            let one_node = arrivals.iter().all(|a| node(a) == node(&arrivals[0]));
            let gbps = if one_node { links.node_gbps } else { links.network_gbps };
            let busiest = match facts.tokens {
                Some(_) => arrivals.iter().map(|a| self.faults.load(a.rank)).fold(1.0, f64::max),
                None => 1.0,
            };
            let wire = facts.wire_bytes(arrivals.len() as u32, busiest);
            let mean = links.latency_us * 1000.0 + wire / gbps;
            factor *= mean / self.program.kernels[facts.kernel as usize].mean_ns;
        }
        ((usual as f64 * factor) as i64).max(1)
    }

    /// How much later than the first a rank leaves a collective.
    fn end_jitter(&self, rank: u32, kernel: u32, draw: u64) -> i64 {
        let Some(jitter) = self.program.links.as_ref().map(|links| links.end_jitter_us).filter(|j| *j > 0.0)
        else {
            return 0;
        };
        let key = Key { seed: self.seed, rank, stream: HOST_DRAWS - 16 - kernel, instance: draw };
        (jitter * 1000.0 * (key.factor(Spread::of_cv(0.6)) - 0.2).max(0.0)) as i64
    }

    fn log_meeting(
        &mut self,
        facts: &CollectiveWork,
        kind: GroupKind,
        arrivals: &[Arrival],
        (last, transfer): (i64, i64),
        link_factor: f64,
    ) {
        let size = self.program.layout.size(kind);
        let sent = |a: &Arrival| facts.message(size, self.faults.load(a.rank)).0;
        let bytes = arrivals.iter().map(sent).max().unwrap_or(0);
        let index = self.program.layout.index(kind, arrivals[0].rank);
        let truth = CollectiveTruth {
            group: arrivals[0].met.group.to_string(),
            group_kind: kind.name(),
            operation: facts.operation.clone(),
            step: arrivals.iter().map(|a| a.cause.step).max().unwrap_or(0),
            bytes,
            transfer_ns: transfer,
            link_factor,
            end_ns: last + transfer,
            ranks: arrivals.iter().map(|a| a.rank).collect(),
            sequence: arrivals.iter().map(|a| a.met.sequence).collect(),
            arrived_ns: arrivals.iter().map(|a| a.at).collect(),
            waited_ns: arrivals.iter().map(|a| last - a.at).collect(),
            lost: Vec::new(),
        };
        self.log.add(kind, index, truth);
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
            if !shared && slow.slows(rank, kernel, self.program) {
                factor *= slow.factor;
                mark = if slow.mark > 0 || slow.cause.is_none() { slow.mark } else { mark };
            }
        }
        // Tokens are work, not a fault of the kernel.
        let usual = if facts.expert && !shared { usual * self.faults.load(rank) } else { usual };
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
        collective: Option<Met>,
    ) {
        self.steps.add(cause.step, end);

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
