//! The known truth of a simulated run, written as `truth.json` next to the data.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::clock::Clock;
use crate::identity::RankIdentity;
use crate::lose::LossTruth;
use crate::program::Program;
use crate::ranks::RanksTruth;
use crate::record::{Detail, Record};
use crate::recording::Expected;
use crate::snapshot::MemoryTruth;

/// The truth about a run.
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
    /// Injected faults, per rank.
    pub injected: Vec<Injected>,
    /// What ran but is not in the trace, per rank.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LossTruth>,
    /// What an analysis must report, if the scenario says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// The truth across ranks, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub across_ranks: Option<RanksTruth>,
    /// Each rank.
    pub ranks: Vec<RankTruth>,
    /// The memory of each rank, if snapshots were written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<MemoryTruth>,
}

/// An injected fault on one rank.
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
    /// Time that its occurrences took, or took too much.
    pub magnitude_ns: i64,
    /// How much shorter the whole run is without it, from running it again without.
    pub gain_ns: Option<i64>,
}

/// The truth about one rank. Times are on the rank's clock.
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
    /// Idle time between the first and the last GPU work.
    pub idle: IdleTruth,
    /// What the clock and rounds of workgroups cost, if the scenario sets either.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<EfficiencyTruth>,
    /// GPU work by stage, if the scenario's steps have stages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageTruth>,
    /// Kernels by name.
    pub kernels: Vec<KernelTruth>,
}

/// Time between the first and the last GPU work of a rank in which none of its GPUs runs anything, and where
/// the host was meanwhile. The rest is host time outside these calls and frames.
#[derive(Clone, Copy, Debug, Default, Serialize, PartialEq)]
pub struct IdleTruth {
    /// Start of the first kernel or copy.
    pub first_work_ns: i64,
    /// End of the last kernel or copy.
    pub last_work_ns: i64,
    /// Total idle time.
    pub total_ns: i64,
    /// While a thread was in a call that launches work and does not wait for it.
    pub in_launch_calls_ns: i64,
    /// While a thread was in a call that waits for the GPU, blocking copies included.
    pub in_blocking_calls_ns: i64,
    /// While a thread was in the host code that the scenario names (`host`).
    pub in_host_code_ns: i64,
    /// From the end of the first recorded launch to the start of its work.
    pub first_wait_ns: i64,
}

/// Kernel time that a GPU at its peak clock, with full rounds of workgroups, would not take.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct EfficiencyTruth {
    /// What the clock costs.
    pub clock_ns: i64,
    /// What partial rounds of workgroups cost, of the rest.
    pub quantisation_ns: i64,
}

/// The truth about one stage on one rank.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct StageTruth {
    /// The stage.
    pub stage: String,
    /// Kernels launched by its steps.
    pub kernels: u64,
    /// How long they ran in all.
    pub total_ns: i64,
}

/// The truth about one kernel on one rank.
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
    launch_calls: Intervals,
    blocking_calls: Intervals,
    host_code: Intervals,
    /// Correlation and end of the first launch, and when its work started.
    first_launch: Option<(i64, i64)>,
    first_start: Option<i64>,
    stages: BTreeMap<String, (u64, i64)>,
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
            launch_calls: Intervals::default(),
            blocking_calls: Intervals::default(),
            host_code: Intervals::default(),
            first_launch: None,
            first_start: None,
            stages: BTreeMap::new(),
        }
    }

    pub(crate) fn add(&mut self, program: &Program, records: &[Record]) {
        for record in records {
            let (start, end) = match *record {
                Record::Enter { at, .. } | Record::Leave { at, .. } => (at, at),
                Record::Chatter { start, end, .. } => (start, end),
                Record::Host { start, end, .. } => {
                    self.host_code.add(self.clock.show(start), self.clock.show(end));
                    (start, end)
                }
                Record::Call { api, start, end, detail, correlation, .. } => {
                    self.calls += 1;
                    self.call(program, api, (start, end), detail, correlation);
                    (start, end)
                }
                Record::Kernel { kernel, start, end, correlation, step, .. } => {
                    if self.first_launch.is_some_and(|(first, _)| first == correlation) {
                        self.first_start.get_or_insert(start);
                    }
                    if let Some(stage) = &program.step(step).stage {
                        let sums = self.stages.entry(stage.clone()).or_default();
                        sums.0 += 1;
                        sums.1 += self.clock.show(end) - self.clock.show(start);
                    }
                    let (from, to) = (self.clock.show(start), self.clock.show(end));
                    let totals = &mut self.kernels[kernel as usize];
                    *totals = (totals.0 + 1, totals.1 + to - from);
                    let communicates = program.kernels[kernel as usize].communicates;
                    let intervals = if communicates { &mut self.communication } else { &mut self.compute };
                    intervals.add(from, to);
                    (start, end)
                }
                Record::Copy { start, end, correlation, .. } => {
                    if self.first_launch.is_some_and(|(first, _)| first == correlation) {
                        self.first_start.get_or_insert(start);
                    }
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

    fn call(
        &mut self,
        program: &Program,
        api: u32,
        (start, end): (i64, i64),
        detail: Detail,
        correlation: i64,
    ) {
        let shown = (self.clock.show(start), self.clock.show(end));
        let waits = match detail {
            Detail::Copy { copy } => program.copies[copy as usize].blocking,
            Detail::Stream { .. } | Detail::EventSync { .. } => true,
            Detail::None => program.apis[api as usize] == "hipDeviceSynchronize",
            _ => false,
        };
        if waits {
            self.blocking_calls.add(shown.0, shown.1);
        } else if matches!(detail, Detail::Launch { .. } | Detail::Copy { .. } | Detail::Graph { .. }) {
            self.launch_calls.add(shown.0, shown.1);
        }
        if matches!(detail, Detail::Launch { .. } | Detail::Copy { .. } | Detail::Graph { .. }) {
            self.first_launch.get_or_insert((correlation, end));
        }
    }

    /// Length of the run in true time.
    pub(crate) fn true_span(&self) -> i64 {
        (self.last - self.first).max(0)
    }

    pub(crate) fn finish(
        mut self,
        program: &Program,
        place: &RankIdentity,
        waited: i64,
        last: u64,
    ) -> RankTruth {
        let (first_ns, last_ns) = (self.clock.show(self.first), self.clock.show(self.last));
        for intervals in [
            &mut self.compute,
            &mut self.communication,
            &mut self.copies,
            &mut self.launch_calls,
            &mut self.blocking_calls,
            &mut self.host_code,
        ] {
            intervals.merge();
        }
        let compute = self.compute.total();
        let with_communication = self.compute.joined(&self.communication);
        let all = with_communication.joined(&self.copies);
        RankTruth {
            rank: place.rank,
            host: place.host(program),
            pid: place.pid(program),
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
            idle: self.idle(&all),
            efficiency: self.efficiency(program),
            stages: self
                .stages
                .iter()
                .map(|(stage, &(kernels, total_ns))| StageTruth { stage: stage.clone(), kernels, total_ns })
                .collect(),
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

impl Tally {
    fn efficiency(&self, program: &Program) -> Option<EfficiencyTruth> {
        let lost =
            |kernel: &crate::program::Kernel| kernel.lost_to_clock > 0.0 || kernel.lost_to_rounds > 0.0;
        program.kernels.iter().any(lost).then(|| {
            let (mut clock, mut rounds) = (0.0, 0.0);
            for (kernel, &(_, total_ns)) in program.kernels.iter().zip(&self.kernels) {
                let by_clock = total_ns as f64 * kernel.lost_to_clock;
                clock += by_clock;
                rounds += (total_ns as f64 - by_clock) * kernel.lost_to_rounds;
            }
            EfficiencyTruth { clock_ns: clock.round() as i64, quantisation_ns: rounds.round() as i64 }
        })
    }

    fn idle(&self, busy: &Intervals) -> IdleTruth {
        let gaps = busy.gaps();
        let first_wait = self.first_launch.zip(self.first_start).map_or(0, |((_, end), start)| start - end);
        IdleTruth {
            first_work_ns: busy.0.first().map_or(0, |first| first.0),
            last_work_ns: busy.0.last().map_or(0, |last| last.1),
            total_ns: gaps.total(),
            in_launch_calls_ns: gaps.shared(&self.launch_calls),
            in_blocking_calls_ns: gaps.shared(&self.blocking_calls),
            in_host_code_ns: gaps.shared(&self.host_code),
            first_wait_ns: first_wait,
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

    /// The gaps between merged intervals.
    fn gaps(&self) -> Self {
        Self(self.0.windows(2).map(|pair| (pair[0].1, pair[1].0)).collect())
    }

    /// Time that two merged lists have in common.
    fn shared(&self, other: &Self) -> i64 {
        let (mut i, mut j, mut sum) = (0, 0, 0);
        while let (Some(a), Some(b)) = (self.0.get(i), other.0.get(j)) {
            sum += (a.1.min(b.1) - a.0.max(b.0)).max(0);
            if a.1 <= b.1 {
                i += 1;
            } else {
                j += 1;
            }
        }
        sum
    }

    fn joined(&self, other: &Self) -> Self {
        let mut all = Self(self.0.iter().chain(&other.0).copied().collect());
        all.merge();
        all
    }
}
