//! How evenly work is spread: kernels and ops over ranks, experts, and the stages of a pipeline.

use std::collections::BTreeMap;

use trace::Ns;

use crate::digest::NONE;
use crate::figures::AllFigures;
use crate::fleet::{Fleet, Member, NameShare, NameTotals};
use crate::matching::Meetings;
use crate::names::GroupKind;

/// The time of one name over the ranks that run it.
#[derive(Clone, Debug, PartialEq)]
pub struct Imbalance {
    /// The kernel or op.
    pub name: String,
    /// Category of a kernel.
    pub category: String,
    /// Ranks that run it.
    pub ranks: usize,
    /// Calls on all ranks.
    pub calls: u64,
    /// Mean time of a rank.
    pub mean_ns: f64,
    /// The least of a rank, and which.
    pub min: (Ns, u32),
    /// The most of a rank, and which.
    pub max: (Ns, u32),
    /// Median of all calls.
    pub median_call_ns: Option<Ns>,
}

impl Imbalance {
    /// How far the most is above the mean.
    pub fn percent(&self) -> f64 {
        if self.mean_ns > 0.0 { 100.0 * (self.max.0 as f64 / self.mean_ns - 1.0) } else { 0.0 }
    }

    /// Time of the busiest rank above the mean.
    pub fn beyond_ns(&self) -> f64 {
        self.max.0 as f64 - self.mean_ns
    }
}

/// Kernels by the time of the busiest rank above the mean.
pub fn kernels(fleet: &Fleet) -> Vec<Imbalance> {
    imbalance(fleet, &fleet.kernels, |member| &member.kernels)
}

/// Ops by the time of the busiest rank above the mean.
pub fn ops(fleet: &Fleet) -> Vec<Imbalance> {
    imbalance(fleet, &fleet.ops, |member| &member.ops)
}

fn imbalance(
    fleet: &Fleet,
    totals: &[NameTotals],
    of: impl Fn(&Member) -> &Vec<NameShare>,
) -> Vec<Imbalance> {
    let mut all: Vec<Imbalance> = totals
        .iter()
        .map(|name| Imbalance {
            name: name.name.clone(),
            category: name.category.clone(),
            ranks: 0,
            calls: name.count,
            mean_ns: 0.0,
            min: (Ns::MAX, 0),
            max: (Ns::MIN, 0),
            median_call_ns: name.sketch.quantile(0.5),
        })
        .collect();
    for (place, member) in fleet.members.iter().enumerate() {
        for share in of(member) {
            let found = &mut all[share.name as usize];
            found.ranks += 1;
            found.mean_ns += share.total_ns as f64;
            found.min = found.min.min((share.total_ns, place as u32));
            if share.total_ns > found.max.0 {
                found.max = (share.total_ns, place as u32);
            }
        }
    }
    all.retain(|found| found.ranks > 1);
    all.iter_mut().for_each(|found| found.mean_ns /= found.ranks as f64);
    all.sort_by(|a, b| b.beyond_ns().total_cmp(&a.beyond_ns()).then_with(|| a.name.cmp(&b.name)));
    all
}

/// Parts of names of kernels that compute experts, whatever category they have: a matrix product for each expert. Letters and
/// digits alone, as libraries write `grouped_gemm` and `GroupedGemm`.
const EXPERT_KERNELS: &[&str] = &["groupedgemm", "groupedmm", "groupgemm", "fusedmoe", "moegemm"];

/// The experts of one rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpertLoad {
    /// Place in the members.
    pub member: u32,
    /// Time in kernels of experts.
    pub moe_ns: Ns,
    /// Bytes that it gets in all-to-all operations.
    pub received: u64,
    /// Bytes that it sends.
    pub sent: u64,
}

/// What the experts of each rank do; empty if there are none.
pub fn experts(fleet: &Fleet) -> Vec<ExpertLoad> {
    let has_experts = fleet.groups.iter().any(|group| group.kind == GroupKind::Expert);
    let is_moe = |kernel: &NameTotals| {
        let letters = kernel.name.chars().filter(char::is_ascii_alphanumeric);
        let name: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
        kernel.category == "moe" || (has_experts && EXPERT_KERNELS.iter().any(|part| name.contains(part)))
    };
    let is_moe: Vec<bool> = fleet.kernels.iter().map(is_moe).collect();
    let place_of: BTreeMap<u32, u32> =
        fleet.members.iter().enumerate().map(|(place, member)| (member.rank, place as u32)).collect();
    let mut loads: Vec<ExpertLoad> = (0..fleet.members.len() as u32)
        .map(|member| ExpertLoad { member, moe_ns: 0, received: 0, sent: 0 })
        .collect();
    for (place, member) in fleet.members.iter().enumerate() {
        let moe = member.kernels.iter().filter(|share| is_moe[share.name as usize]);
        loads[place].moe_ns = moe.map(|share| share.total_ns).sum();
        for (rank, bytes) in &member.traffic {
            loads[place].sent += bytes;
            if let Some(&to) = place_of.get(rank) {
                loads[to as usize].received += bytes;
            }
        }
    }
    loads.retain(|load| load.moe_ns > 0 || load.sent > 0 || load.received > 0);
    loads
}

/// One stage of a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// Its number.
    pub stage: u32,
    /// Its members.
    pub members: Vec<u32>,
    /// Mean span of a member.
    pub span_ns: f64,
    /// Mean computation.
    pub compute_ns: f64,
    /// Mean time in which a member does nothing but wait for a message from another stage.
    pub bubble_ns: f64,
}

/// The stages of the pipeline; empty if there is none.
pub fn pipeline(fleet: &Fleet, meetings: &Meetings, figures: &AllFigures) -> Vec<Stage> {
    let mut bubbles = vec![0.0f64; fleet.members.len()];
    let mut has_messages = false;
    for (meeting, one) in meetings.all.iter().zip(&figures.meetings) {
        if !one.operation.is_message() || one.is_start {
            continue;
        }
        has_messages = true;
        for (at, part) in meetings.parts_of(meeting).iter().enumerate() {
            let row = &fleet.members[part.member as usize].collectives[part.row as usize];
            let wait = f64::from(figures.waits[meeting.first as usize + at]);
            // Only the receiver stands still, and only while nothing computes.
            if row.operation == crate::Operation::Receive && wait.is_finite() {
                bubbles[part.member as usize] += wait.min(row.tail_ns as f64);
            }
        }
    }
    let mut stages: BTreeMap<u32, Stage> = BTreeMap::new();
    for (place, member) in fleet.members.iter().enumerate().filter(|_| has_messages) {
        let Some(number) = member.place.pipeline.filter(|&stage| stage != NONE) else { continue };
        let empty =
            Stage { stage: number, members: Vec::new(), span_ns: 0.0, compute_ns: 0.0, bubble_ns: 0.0 };
        let stage = stages.entry(number).or_insert(empty);
        stage.members.push(place as u32);
        stage.span_ns += fleet.compared_ns(member) as f64;
        stage.compute_ns += fleet.compared_compute_ns(member) as f64;
        stage.bubble_ns += bubbles[place];
    }
    let mut stages: Vec<Stage> = stages.into_values().collect();
    for stage in &mut stages {
        let count = stage.members.len() as f64;
        stage.span_ns /= count;
        stage.compute_ns /= count;
        stage.bubble_ns /= count;
    }
    if stages.len() > 1 { stages } else { Vec::new() }
}
