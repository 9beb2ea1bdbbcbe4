//! The truth across ranks: who came when to each collective, what transfers took, what steps took.

use std::collections::BTreeMap;

use serde::Serialize;

use super::groups::{GroupKind, Layout};

/// A collective or a send that a kernel took part in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Met {
    /// The rank's number for it in the group.
    pub sequence: u64,
    /// Which of the program's collectives.
    pub which: u32,
    /// Number of the group among all groups.
    pub group: u32,
}

/// The truth across the ranks of a run.
#[derive(Clone, Debug, Default, Serialize, PartialEq)]
pub struct RanksTruth {
    /// Mean time of a step, from the end of the first to the end of the last (of the only one: its whole time).
    pub step_time_ns: i64,
    /// Step time with nothing wrong, from running it again with the same seed.
    pub step_time_without_ns: i64,
    /// What is wrong.
    pub causes: Vec<CauseTruth>,
    /// Ranks that are late only because another is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub propagated: Vec<PropagatedTruth>,
    /// Groups of more than one rank that communicate.
    pub groups: Vec<GroupTruth>,
    /// Pipeline stages, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<PipelineTruth>,
    /// How unevenly tokens go to experts, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experts: Option<ExpertTruth>,
    /// Each collective and send. Empty in runs with too many of them: see `collectives_left_out`.
    pub collectives: Vec<CollectiveTruth>,
    /// Collectives that are not listed.
    pub collectives_left_out: u64,
}

/// One thing that is wrong with the ranks.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct CauseTruth {
    /// `more-work`, `slower-kernels`, `lower-clocks`, `host-idle`, `slow-link`, `expert-imbalance`.
    pub cause: String,
    /// How it was made, as options name it.
    pub made_by: String,
    /// The rank, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Name of the group, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Kind of that group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_kind: Option<&'static str>,
    /// Name of the kernel, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// How many times longer.
    pub factor: f64,
    /// Time it added: to the rank's own work, or to transfers of the group.
    pub added_ns: i64,
    /// Mean time of a step without this one and with all others.
    pub step_time_without_ns: i64,
}

/// A rank that comes last to its group because another rank is late.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct PropagatedTruth {
    /// The rank.
    pub rank: u32,
    /// The group it comes last to.
    pub group: String,
    /// Kind of that group.
    pub group_kind: &'static str,
    /// Share of the group's meetings that it comes last to.
    pub share: f64,
    /// That share with nothing wrong.
    pub share_without: f64,
}

/// One process group.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct GroupTruth {
    /// Its name in the trace.
    pub name: String,
    /// What its ranks share.
    pub kind: &'static str,
    /// Its number among the groups of its kind.
    pub index: u32,
    /// Its ranks.
    pub ranks: Vec<u32>,
    /// Collectives and sends in it.
    pub meetings: u64,
    /// Time that data moved, summed over them.
    pub transfer_ns: i64,
    /// For each rank of `ranks`: time that it waited for others, summed.
    pub waited_ns: Vec<i64>,
    /// For each rank of `ranks`: how often it came last.
    pub last_arrivals: Vec<u64>,
}

/// Pipeline stages.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct PipelineTruth {
    /// How many.
    pub stages: u32,
    /// Stage of each rank.
    pub stage: Vec<u32>,
    /// Time that each rank's compute stream was stalled by data that had not come from another stage.
    pub bubble_ns: Vec<i64>,
}

/// Tokens of experts.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct ExpertTruth {
    /// For each rank: tokens as a share of the mean of its group.
    pub load: Vec<f64>,
    /// Largest load of any rank.
    pub imbalance: f64,
}

/// One collective or send. Times are true nanoseconds since the run began.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct CollectiveTruth {
    /// Name of the group.
    pub group: String,
    /// What the group's ranks share.
    pub group_kind: &'static str,
    /// `allreduce` …; of a send and its receive, `send`.
    pub operation: String,
    /// The step that the last rank launched it in.
    pub step: u64,
    /// Bytes that a rank sends; of the one that sends most.
    pub bytes: u64,
    /// Time from the last arrival to the end.
    pub transfer_ns: i64,
    /// How many times longer the link made it.
    pub link_factor: f64,
    /// When it was done.
    pub end_ns: i64,
    /// The ranks; of a send, the sender first.
    pub ranks: Vec<u32>,
    /// For each of them, the number it gives the operation (`Seq`).
    pub sequence: Vec<u64>,
    /// For each of them, when it came.
    pub arrived_ns: Vec<i64>,
    /// For each of them, how long it waited for the last.
    pub waited_ns: Vec<i64>,
    /// Ranks whose record was lost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<u32>,
}

/// Most arrivals that a truth lists.
const LISTED_ARRIVALS: usize = 400_000;

/// Sums over the meetings of a group.
#[derive(Clone, Debug, Default)]
struct GroupSums {
    meetings: u64,
    transfer_ns: i64,
    link_added_ns: i64,
    /// By rank: waited, came last.
    ranks: BTreeMap<u32, (i64, u64)>,
}

/// All meetings of a run so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct MeetingLog {
    groups: BTreeMap<(GroupKind, u32), GroupSums>,
    listed: Vec<CollectiveTruth>,
    arrivals: usize,
    left_out: u64,
}

impl MeetingLog {
    /// Records a meeting of the group `index` of a kind.
    pub(crate) fn add(&mut self, kind: GroupKind, index: u32, meeting: CollectiveTruth) {
        let sums = self.groups.entry((kind, index)).or_default();
        sums.meetings += 1;
        sums.transfer_ns += meeting.transfer_ns;
        let usual = meeting.transfer_ns as f64 / meeting.link_factor;
        sums.link_added_ns += meeting.transfer_ns - usual.round() as i64;
        let last = meeting.arrived_ns.iter().copied().max().unwrap_or(0);
        let mut found = false;
        for ((&rank, &at), &waited) in meeting.ranks.iter().zip(&meeting.arrived_ns).zip(&meeting.waited_ns) {
            let sums = sums.ranks.entry(rank).or_default();
            sums.0 += waited;
            sums.1 += u64::from(at == last && !found);
            found |= at == last;
        }
        self.arrivals += meeting.ranks.len();
        if self.arrivals > LISTED_ARRIVALS {
            self.left_out += 1;
        } else {
            self.listed.push(meeting);
        }
    }

    /// Time that slow links added to transfers of a group.
    pub(crate) fn link_added_ns(&self, kind: GroupKind, index: u32) -> i64 {
        self.groups.get(&(kind, index)).map_or(0, |sums| sums.link_added_ns)
    }

    pub(crate) fn groups(&self, layout: &Layout) -> Vec<GroupTruth> {
        let group = |(&(kind, index), sums): (&(GroupKind, u32), &GroupSums)| {
            let ranks = layout.members(kind, index);
            let of = |rank: &u32| sums.ranks.get(rank).copied().unwrap_or_default();
            GroupTruth {
                name: layout.group(kind, ranks[0]).to_string(),
                kind: kind.name(),
                index,
                meetings: sums.meetings,
                transfer_ns: sums.transfer_ns,
                waited_ns: ranks.iter().map(|rank| of(rank).0).collect(),
                last_arrivals: ranks.iter().map(|rank| of(rank).1).collect(),
                ranks,
            }
        };
        self.groups.iter().map(group).collect()
    }

    /// Ranks that come last to most meetings of a group here, and to few of them in `without`.
    pub(crate) fn propagated(&self, without: &Self, layout: &Layout, guilty: &[u32]) -> Vec<PropagatedTruth> {
        let mut propagated = Vec::new();
        for (&(kind, index), sums) in &self.groups {
            let share = |sums: &GroupSums, rank: u32| {
                let last = sums.ranks.get(&rank).map_or(0, |rank| rank.1);
                last as f64 / sums.meetings.max(1) as f64
            };
            for &rank in sums.ranks.keys().filter(|rank| !guilty.contains(rank)) {
                let before = without.groups.get(&(kind, index)).map_or(0.0, |sums| share(sums, rank));
                let now = share(sums, rank);
                if now > 0.5 && now > before + 0.2 {
                    propagated.push(PropagatedTruth {
                        rank,
                        group: layout.group(kind, rank).to_string(),
                        group_kind: kind.name(),
                        share: now,
                        share_without: before,
                    });
                }
            }
        }
        propagated
    }

    /// The meetings that are listed, and how many are not.
    pub(crate) fn take(self) -> (Vec<CollectiveTruth>, u64) {
        (self.listed, self.left_out)
    }
}

/// When the GPU work of each step ended, on any rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepEnds(Vec<i64>);

impl StepEnds {
    pub(crate) fn add(&mut self, step: u64, end: i64) {
        let step = step as usize;
        if step >= self.0.len() {
            self.0.resize(step + 1, 0);
        }
        self.0[step] = self.0[step].max(end);
    }

    /// Mean time of a step.
    pub(crate) fn step_time_ns(&self) -> i64 {
        let known: Vec<i64> = self.0.iter().copied().filter(|end| *end > 0).collect();
        match known[..] {
            [] => 0,
            [only] => only,
            [first, .., last] => (last - first) / (known.len() as i64 - 1),
        }
    }
}
