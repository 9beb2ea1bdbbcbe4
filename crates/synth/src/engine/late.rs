//! Ranks that are late: more kernels to run, pauses of the host.

use super::state::{Cause, Rank};
use super::{Engine, HOST_DRAWS};
use crate::random::Key;
use crate::ranks::{self, Resolved};
use crate::record::{Detail, Record};

/// Draws of extra launches begin here, far from those of the run without them.
const EXTRA: u64 = 1 << 40;

/// A host that does nothing for a while at the start of a step.
#[derive(Clone, Debug)]
pub(crate) struct Pause {
    pub rank: u32,
    /// Once in this many steps.
    pub every: u64,
    /// How long, as a multiple of what the step computes.
    pub of_compute: f64,
    pub frame: u32,
    pub cause: usize,
}

/// What makes a rank late, and the time it has added so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Late {
    /// Extra kernels for each kernel, and the cause.
    more: Option<(f64, usize)>,
    due: f64,
    launches: u64,
    kernels: u64,
    /// Time that each cause added to the rank's own work.
    pub added: Vec<i64>,
}

impl Late {
    /// How many extra kernels follow this one.
    pub(super) fn extra_kernels(&mut self) -> u32 {
        let Some((more, _)) = self.more else { return 0 };
        self.due += more;
        let now = self.due.floor();
        self.due -= now;
        now as u32
    }

    /// Number of the next extra kernel.
    pub(super) fn extra_instance(&mut self) -> u64 {
        self.kernels += 1;
        EXTRA + self.kernels
    }

    /// The cause of extra kernels.
    pub(super) fn extra_cause(&self) -> Option<usize> {
        self.more.map(|(_, cause)| cause)
    }

    pub(super) fn charge(&mut self, cause: Option<usize>, ns: i64) {
        let Some(cause) = cause else { return };
        if cause >= self.added.len() {
            self.added.resize(cause + 1, 0);
        }
        self.added[cause] += ns;
    }
}

/// Sets how much more work ranks get.
pub(super) fn more_work(faults: &Resolved, all: &mut [Rank]) {
    for (number, (rank, straggler)) in faults.stragglers.iter().enumerate() {
        if straggler.cause == ranks::Cause::MoreWork {
            all[*rank as usize].late.more = Some((straggler.factor - 1.0, number));
        }
    }
}

impl Engine<'_> {
    /// Time that a cause added to the work of a rank.
    pub(crate) fn added(&self, rank: u32, cause: usize) -> i64 {
        self.ranks[rank as usize].late.added.get(cause).copied().unwrap_or(0)
    }

    /// Pauses the main thread of a rank, once a step.
    pub(super) fn pause(&mut self, r: usize) {
        let step = self.ranks[r].threads[0].step;
        if self.ranks[r].threads[0].paused > step {
            return;
        }
        self.ranks[r].threads[0].paused = step + 1;
        let stage = self.program.layout.stage(r as u32);
        for number in 0..self.pauses.len() {
            let pause = &self.pauses[number];
            if pause.rank as usize != r || step % pause.every != pause.every - 1 {
                continue;
            }
            let key = Key { seed: self.seed, rank: r as u32, stream: HOST_DRAWS - 2, instance: step };
            let mean = self.program.step(step).compute_ns(stage) * pause.of_compute;
            let cost = ((mean * key.factor(self.host_spread)) as i64).max(1);
            let (frame, cause) = (pause.frame, pause.cause);
            let rank = &mut self.ranks[r];
            let start = rank.threads[0].now;
            rank.threads[0].now += cost;
            rank.records.push(Record::Host { thread: 0, frame, start, end: start + cost });
            rank.late.charge(Some(cause), cost);
        }
    }

    /// The launch of an extra kernel; its host time takes no draw from the others.
    pub(super) fn extra_launch(&mut self, r: usize, t: usize, api: u32, ns: f64, kernel: u32) -> Cause {
        let late = &mut self.ranks[r].late;
        late.launches += 1;
        let draws = std::mem::replace(&mut self.ranks[r].threads[t].draws, EXTRA);
        self.ranks[r].threads[t].draws += self.ranks[r].late.launches;
        let cause = self.launch(r, t, api, ns, 0, Detail::Launch { kernel });
        self.ranks[r].threads[t].draws = draws;
        cause
    }
}
