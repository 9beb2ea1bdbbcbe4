//! Matched collectives by kind: operation, group, size. What each kind costs, and how near it comes to the links' peak.

use std::collections::BTreeMap;

use crate::figures::{Bound, Method};
use crate::matching::MatchedBy;
use crate::names::GroupKind;
use crate::operation::Operation;
use crate::stragglers::is_one_node;
use crate::{Fleet, Ranks};

/// Collectives of one kind.
#[derive(Clone, Debug)]
pub struct CollectiveKind {
    /// The operation.
    pub operation: Operation,
    /// What their groups are for; the name of the group if that is unknown.
    pub group: String,
    /// Ranks of an operation.
    pub ranks: u64,
    /// Bytes that a rank sends.
    pub bytes: Option<u64>,
    /// How many there are; those set apart are left out.
    pub calls: u64,
    /// Mean time from the first to the last arrival.
    pub skew_ns: f64,
    /// Mean time from the last arrival to the end.
    pub transfer_ns: f64,
    /// Mean waiting of a member.
    pub wait_ns: f64,
    /// The fastest tenth of the transfers takes no longer than this.
    pub best_transfer_ns: f64,
    /// Algorithm bandwidth by the mean transfer.
    pub algorithm_gbps: Option<f64>,
    /// Bus bandwidth by the mean transfer.
    pub bus_gbps: Option<f64>,
    /// The most that the links of a GPU can carry, or why that is not known.
    pub peak_gbps: Result<f64, &'static str>,
    /// What bounds them.
    pub bound: Bound,
    /// How their parts were found.
    pub matched_by: MatchedBy,
    /// How waiting and transfer were told apart.
    pub method: Method,
    /// First collectives that were set apart.
    pub set_apart: u64,
}

/// What makes collectives one kind.
type Key<'a> = (&'a str, Operation, Option<u64>, u64, bool);

#[derive(Default)]
struct Sums {
    transfers: Vec<f32>,
    skew: f64,
    wait: f64,
    bus_factor: Option<f64>,
    by: Option<MatchedBy>,
    by_durations: bool,
    set_apart: u64,
    group: u32,
}

/// The collectives of a job by kind, those that take most time first.
pub fn kinds(ranks: &Ranks) -> Vec<CollectiveKind> {
    let fleet = &ranks.fleet;
    let one_node: Vec<bool> = fleet.groups.iter().map(|group| is_one_node(fleet, &group.members)).collect();
    let mut found: BTreeMap<Key, Sums> = BTreeMap::new();
    for (meeting, one) in ranks.meetings.all.iter().zip(&ranks.figures.meetings) {
        let group = &fleet.groups[one.group as usize];
        let name = match group.kind {
            GroupKind::Other => group.name.as_str(),
            kind => kind.name(),
        };
        let key = (name, one.operation, one.bytes(), one.ranks(fleet), one_node[one.group as usize]);
        let sums = found.entry(key).or_default();
        sums.group = one.group;
        sums.by = sums.by.max(Some(meeting.by));
        if one.is_start {
            sums.set_apart += 1;
        } else if one.method != Method::None {
            sums.transfers.push(one.transfer_ns);
            sums.skew += f64::from(one.skew_ns);
            sums.wait += f64::from(one.wait_ns);
            sums.by_durations |= one.method == Method::Durations;
            sums.bus_factor = one.operation.bus_factor(one.ranks(fleet));
        }
    }
    let mut kinds: Vec<CollectiveKind> =
        found.into_iter().map(|(key, sums)| kind(fleet, key, sums)).collect();
    let cost = |kind: &CollectiveKind| {
        let each = if kind.transfer_ns.is_finite() { kind.transfer_ns + kind.wait_ns } else { 0.0 };
        each * kind.calls as f64
    };
    kinds.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    kinds
}

fn kind(fleet: &Fleet, key: Key, mut sums: Sums) -> CollectiveKind {
    let (group, operation, bytes, ranks, on_one_node) = key;
    let calls = sums.transfers.len();
    let mean = |sum: f64| if calls > 0 { sum / calls as f64 } else { f64::NAN };
    let transfer_ns = mean(sums.transfers.iter().map(|&time| f64::from(time)).sum());
    let best = calls / 10;
    let best_transfer_ns = match sums.transfers.get(best) {
        Some(_) => f64::from(*sums.transfers.select_nth_unstable_by(best, f32::total_cmp).1),
        None => f64::NAN,
    };
    let wait_ns = mean(sums.wait);
    // Mean of the bandwidths would count short transfers most.
    let message = bytes.map(|bytes| operation.message_bytes(bytes, ranks)).filter(|&bytes| bytes > 0);
    let algorithm_gbps = message.filter(|_| transfer_ns >= 1.0).map(|bytes| bytes as f64 / transfer_ns);
    CollectiveKind {
        operation,
        group: group.to_string(),
        ranks,
        bytes,
        calls: calls as u64,
        skew_ns: mean(sums.skew),
        transfer_ns,
        wait_ns,
        best_transfer_ns,
        algorithm_gbps,
        bus_gbps: algorithm_gbps.zip(sums.bus_factor).map(|(gbps, factor)| gbps * factor),
        peak_gbps: peak(fleet, sums.group, ranks, on_one_node),
        bound: if calls == 0 { Bound::Inconclusive } else { Bound::of(wait_ns, transfer_ns) },
        matched_by: sums.by.unwrap_or(MatchedBy::Order),
        method: match (calls, sums.by_durations) {
            (0, _) => Method::None,
            (_, true) => Method::Durations,
            _ => Method::Clocks,
        },
        set_apart: sums.set_apart,
    }
}

/// What the links between the GPUs of one node can carry.
fn peak(fleet: &Fleet, group: u32, ranks: u64, on_one_node: bool) -> Result<f64, &'static str> {
    if !on_one_node {
        return Err("ranks are on several nodes, and traces do not record the speed of their network");
    }
    let member = fleet.groups[group as usize].members.first();
    let member = member.map(|&member| &fleet.members[member as usize]).ok_or("the group has no members")?;
    let arch = hw::arch::find(&member.architecture).or_else(|| hw::arch::of_product(&member.product));
    let product = arch.and_then(|arch| arch.product(&member.product)).ok_or("the GPU is not known")?;
    product.peer_gbps(ranks.min(u64::from(u32::MAX)) as u32).ok_or("the links of this GPU are not known")
}
