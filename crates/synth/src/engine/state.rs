//! What the simulation keeps between instructions: ranks with their threads and streams, the work enqueued on
//! them, and meetings that wait for their last rank.

use std::collections::VecDeque;

use super::Late;
use crate::program::{Mark, Program};
use crate::ranks::Met;
use crate::record::Record;

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
    pub(super) fn slows(&self, rank: u32, kernel: u32, program: &Program) -> bool {
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
pub(super) struct Cause {
    pub(super) thread: u32,
    pub(super) step: u64,
    pub(super) ready: i64,
    pub(super) correlation: i64,
    pub(super) external: i64,
    pub(super) replayed: bool,
    pub(super) mark: Mark,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
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

pub(super) struct Rank {
    pub(super) streams: Vec<Stream>,
    pub(super) threads: Vec<Thread>,
    /// When each recording of an event completed, as far as known.
    pub(super) recordings: Vec<Option<i64>>,
    /// The latest recording of each event.
    pub(super) events: Vec<Option<u32>>,
    pub(super) slots: Vec<Option<(i64, i64, u32)>>,
    pub(super) in_use: Vec<i64>,
    pub(super) next_address: i64,
    pub(super) queues: Vec<VecDeque<i64>>,
    pub(super) correlation: i64,
    pub(super) external: i64,
    pub(super) calls: Vec<u64>,
    pub(super) copies: u64,
    /// Collectives so far by kind of group; sends and receives so far, in all and by peer.
    pub(super) collectives: [u64; 5],
    pub(super) p2p: u64,
    pub(super) peers: [u64; 4],
    pub(super) late: Late,
    /// Time that compute was stalled by data from another stage.
    pub(super) bubble: i64,
    pub(super) records: Vec<Record>,
    pub(super) marked: Vec<Marked>,
    /// Time in collectives before the last rank came, and how often this was the last.
    pub(super) waited: i64,
    pub(super) last_arrivals: u64,
}

impl Rank {
    pub(super) fn mark(&mut self, mark: Mark, start: i64, end: i64, lost: i64) {
        if mark > 0 {
            self.marked[mark as usize - 1].add(start, end, lost);
        }
    }

    pub(super) fn unnamed_recording(&mut self) -> u32 {
        self.recordings.push(None);
        self.recordings.len() as u32 - 1
    }

    pub(super) fn new_recording(&mut self, event: u32) -> u32 {
        let recording = self.unnamed_recording();
        self.events[event as usize] = Some(recording);
        recording
    }

    /// The thread's last call only returns at `until`.
    pub(super) fn stretch_call(&mut self, t: usize, correlation: i64, until: i64) {
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

pub(super) struct Thread {
    pub(super) now: i64,
    /// Next instruction of the step it is in.
    pub(super) at: usize,
    pub(super) step: u64,
    /// External ids of the ops and annotations it is in; zero for frames without one.
    pub(super) externals: Vec<i64>,
    pub(super) capturing: bool,
    pub(super) draws: u64,
    /// Correlation of its latest call.
    pub(super) last_call: i64,
    /// The step after the last one that it paused in.
    pub(super) paused: u64,
}

#[derive(Default)]
pub(super) struct Stream {
    pub(super) queue: VecDeque<Work>,
    /// When everything run so far is done.
    pub(super) tail: i64,
    /// The head has arrived at its collective.
    pub(super) arrived: bool,
    /// Set once the stream has run something.
    pub(super) used: bool,
}

impl Stream {
    pub(super) fn ran_until(&mut self, end: i64) {
        self.tail = end;
        self.used = true;
    }
}

#[derive(Default)]
pub(super) struct Meeting {
    pub(super) arrivals: Vec<Arrival>,
}

/// A rank that has come to a meeting.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub(super) rank: u32,
    pub(super) stream: u32,
    pub(super) at: i64,
    pub(super) cause: Cause,
    pub(super) met: Met,
}
