//! The simulation itself: host threads run their programs, streams run what was enqueued, and every start
//! follows from what it had to wait for.
//!
//! Threads and streams are sequential and talk through queues only, so the run is a network of processes
//! with time stamps: each piece of work starts at the latest of its causes, whatever order the simulator
//! visits them in. A thread runs ahead until it must wait, a stream until its head depends on something not
//! known yet (an event, the last rank of a collective).

mod device;
mod host;
mod late;
mod state;

use std::collections::{BTreeMap, VecDeque};

use state::{Marked, Meeting, Rank, Stream, Thread};

use crate::Error;
use crate::program::Program;
use crate::random::Spread;
use crate::ranks::{MeetingLog, Resolved, StepEnds};
use crate::record::Record;

pub(crate) use late::{Late, Pause};
pub(crate) use state::Slowdown;

/// Draws for host times come from a separate stream, far from those of kernels.
const HOST_DRAWS: u32 = 1 << 31;

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
}
