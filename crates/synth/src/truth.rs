//! What is true of a run, known because it was made: written as `truth.json` beside the data.

use serde::Serialize;

use crate::clock::Clock;
use crate::identity::Place;
use crate::program::Program;
use crate::record::Record;

/// What is true of a run.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Truth {
    /// Version of this layout.
    pub schema: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// Steps that ran.
    pub steps: u64,
    /// Longest of the ranks' spans.
    pub span_ns: i64,
    /// The rank that came last to most collectives, when one did.
    pub straggler: Option<u32>,
    /// What is wrong on purpose, per rank.
    pub injected: Vec<Injected>,
    /// Each rank.
    pub ranks: Vec<RankTruth>,
}

/// Something wrong on purpose, on one rank.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Injected {
    /// Its name in the scenario.
    pub id: String,
    /// The rule that should find it.
    pub rule: String,
    /// What is wrong, for a person.
    pub text: String,
    /// The kernel, op, frame or call to blame.
    pub name: Option<String>,
    /// The rank.
    pub rank: u32,
    /// How often it happened.
    pub count: u64,
    /// First time, on the rank's clock.
    pub start_ns: i64,
    /// Last time, on the rank's clock.
    pub end_ns: i64,
    /// Time that its happenings took, or took too much.
    pub magnitude_ns: i64,
    /// How much shorter the whole run is without it, from running it again without.
    pub gain_ns: Option<i64>,
}

/// What is true of one rank. Times are on the rank's clock.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct RankTruth {
    /// The rank.
    pub rank: u32,
    /// Host name.
    pub host: String,
    /// Process id.
    pub pid: i64,
    /// Identity of the recording.
    pub guid: String,
    /// How far its clock was ahead when the run began.
    pub clock_offset_ns: i64,
    /// How much faster its clock runs.
    pub clock_drift_ppm: f64,
    /// First moment of anything, host included.
    pub first_ns: i64,
    /// Last moment of anything.
    pub last_ns: i64,
    /// From the first to the last.
    pub span_ns: i64,
    /// Time during which any kernel or copy ran.
    pub busy_ns: i64,
    /// Time during which a communication kernel ran.
    pub communication_ns: i64,
    /// Time during which only communication kernels ran.
    pub exposed_communication_ns: i64,
    /// Time during which a copy ran.
    pub memcpy_ns: i64,
    /// Time during which only copies ran.
    pub exposed_memcpy_ns: i64,
    /// Time spent in collectives before the last rank came.
    pub waited_in_collectives_ns: i64,
    /// To how many collectives this rank came last.
    pub last_arrivals: u64,
    /// Copies.
    pub copies: u64,
    /// Runtime calls.
    pub calls: u64,
    /// Kernels by name.
    pub kernels: Vec<KernelTruth>,
}

/// What is true of one kernel on one rank.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct KernelTruth {
    /// Short name in the scenario.
    pub id: String,
    /// Name in the trace.
    pub name: String,
    /// How often it ran.
    pub calls: u64,
    /// How long in all.
    pub total_ns: i64,
}

/// Adds up the log of one rank, block by block.
pub(crate) struct Tally {
    clock: Clock,
    first: i64,
    last: i64,
    calls: u64,
    kernels: Vec<(u64, i64)>,
    compute: Intervals,
    communication: Intervals,
    copies: Intervals,
    copy_count: u64,
}

impl Tally {
    pub(crate) fn new(program: &Program, clock: Clock) -> Self {
        Self {
            clock,
            first: i64::MAX,
            last: i64::MIN,
            calls: 0,
            kernels: vec![(0, 0); program.kernels.len()],
            compute: Intervals::default(),
            communication: Intervals::default(),
            copies: Intervals::default(),
            copy_count: 0,
        }
    }

    pub(crate) fn add(&mut self, program: &Program, records: &[Record]) {
        for record in records {
            let (start, end) = match *record {
                Record::Enter { at, .. } | Record::Leave { at, .. } => (at, at),
                Record::Chatter { start, end, .. } | Record::Host { start, end, .. } => (start, end),
                Record::Call { start, end, .. } => {
                    self.calls += 1;
                    (start, end)
                }
                Record::Kernel { kernel, start, end, .. } => {
                    let (from, to) = (self.clock.show(start), self.clock.show(end));
                    let totals = &mut self.kernels[kernel as usize];
                    *totals = (totals.0 + 1, totals.1 + to - from);
                    let communicates = program.kernels[kernel as usize].communicates;
                    let intervals = if communicates { &mut self.communication } else { &mut self.compute };
                    intervals.add(from, to);
                    (start, end)
                }
                Record::Copy { start, end, .. } => {
                    self.copy_count += 1;
                    self.copies.add(self.clock.show(start), self.clock.show(end));
                    (start, end)
                }
                Record::Memory { at, end, .. } => (at, end),
            };
            self.first = self.first.min(start);
            self.last = self.last.max(end);
        }
    }

    /// Length of the run in true time.
    pub(crate) fn true_span(&self) -> i64 {
        (self.last - self.first).max(0)
    }

    pub(crate) fn finish(mut self, program: &Program, place: &Place, waited: i64, last: u64) -> RankTruth {
        let (first_ns, last_ns) = (self.clock.show(self.first), self.clock.show(self.last));
        for intervals in [&mut self.compute, &mut self.communication, &mut self.copies] {
            intervals.merge();
        }
        let compute = self.compute.total();
        let with_communication = self.compute.joined(&self.communication);
        let all = with_communication.joined(&self.copies);
        RankTruth {
            rank: place.rank,
            host: place.host(program),
            pid: place.pid(),
            guid: place.guid(),
            clock_offset_ns: self.clock.offset_ns(),
            clock_drift_ppm: self.clock.drift_ppm(),
            first_ns,
            last_ns,
            span_ns: last_ns - first_ns,
            busy_ns: all.total(),
            communication_ns: self.communication.total(),
            exposed_communication_ns: with_communication.total() - compute,
            memcpy_ns: self.copies.total(),
            exposed_memcpy_ns: all.total() - with_communication.total(),
            waited_in_collectives_ns: waited,
            last_arrivals: last,
            copies: self.copy_count,
            calls: self.calls,
            kernels: program
                .kernels
                .iter()
                .zip(&self.kernels)
                .filter(|(_, (calls, _))| *calls > 0)
                .map(|(kernel, &(calls, total_ns))| KernelTruth {
                    id: kernel.id.clone(),
                    name: kernel.name.clone(),
                    calls,
                    total_ns,
                })
                .collect(),
        }
    }
}

/// Time intervals, merged on demand.
#[derive(Clone, Debug, Default)]
struct Intervals(Vec<(i64, i64)>);

impl Intervals {
    fn add(&mut self, start: i64, end: i64) {
        match self.0.last_mut() {
            Some(last) if start <= last.1 && start >= last.0 => last.1 = last.1.max(end),
            _ => self.0.push((start, end)),
        }
    }

    fn merge(&mut self) {
        self.0.sort_unstable();
        let mut merged: Vec<(i64, i64)> = Vec::with_capacity(self.0.len());
        for &(start, end) in &self.0 {
            match merged.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        self.0 = merged;
    }

    fn total(&self) -> i64 {
        self.0.iter().map(|(start, end)| end - start).sum()
    }

    fn joined(&self, other: &Self) -> Self {
        let mut all = Self(self.0.iter().chain(&other.0).copied().collect());
        all.merge();
        all
    }
}
