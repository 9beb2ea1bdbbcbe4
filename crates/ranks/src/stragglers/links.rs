//! Groups whose transfers take longer than those of like groups: a slow link.

use trace::Map;

use crate::figures::{AllFigures, Figures, Method};
use crate::fleet::Fleet;
use crate::operation::Operation;

/// Transfers must take this many times those of like groups.
const SLOWER: f64 = 1.25;
/// Fewest collectives of one kind and size that are compared.
const FEWEST: usize = 3;

/// A group with a slow link.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowLink {
    /// Place in the groups.
    pub group: u32,
    /// How many times longer its transfers take.
    pub factor: f64,
    /// Time that its transfers take beyond those of like groups, in the whole run.
    pub added_ns: f64,
    /// Collectives that were compared.
    pub collectives: usize,
    /// Like groups that it was compared with.
    pub groups: usize,
    /// Time of a step as measured.
    pub step_ns: Option<f64>,
    /// Time of a step with transfers like those of other groups.
    pub step_without_ns: Option<f64>,
}

/// What makes transfers comparable: the operation, its size, the ranks, and whether they are on one node.
type TransferClass = (Operation, Option<u64>, u32, bool);

/// Finds groups with slow links.
pub(super) fn slow(fleet: &Fleet, figures: &AllFigures) -> Vec<SlowLink> {
    let one_node: Vec<bool> = fleet.groups.iter().map(|group| is_one_node(fleet, &group.members)).collect();
    let mut transfers: Map<TransferClass, Map<u32, Vec<f64>>> = Map::default();
    let told = |group: u32| fleet.groups[group as usize].is_told;
    let counts = |one: &&Figures| !one.is_start && one.method != Method::None && told(one.group);
    for one in figures.meetings.iter().filter(counts) {
        let alike = (one.operation, one.bytes(), one.count, one_node[one.group as usize]);
        transfers.entry(alike).or_default().entry(one.group).or_default().push(f64::from(one.transfer_ns));
    }
    // Group: usual and actual total time, collectives, and groups compared.
    let mut sums: Map<u32, (f64, f64, usize, usize)> = Map::default();
    for by_group in transfers.values() {
        let middles: Map<u32, f64> = by_group
            .iter()
            .filter(|(_, times)| times.len() >= FEWEST)
            .map(|(&group, times)| (group, stats::robust::median(times)))
            .collect();
        if middles.len() < 2 {
            continue;
        }
        let mut known: Vec<f64> = middles.values().copied().collect();
        known.sort_by(f64::total_cmp);
        // Of two, the faster one is normal.
        let usual = known[(known.len() - 1) / 2];
        for (group, middle) in &middles {
            let count = by_group[group].len();
            let sum = sums.entry(*group).or_default();
            sum.0 += usual * count as f64;
            sum.1 += middle * count as f64;
            sum.2 += count;
            sum.3 = sum.3.max(middles.len());
        }
    }
    let mut found: Vec<SlowLink> = sums
        .into_iter()
        .filter(|(_, sum)| sum.0 > 0.0 && sum.1 / sum.0 >= SLOWER)
        .map(|(group, sum)| SlowLink {
            group,
            factor: sum.1 / sum.0,
            added_ns: sum.1 - sum.0,
            collectives: sum.2,
            groups: sum.3,
            step_ns: None,
            step_without_ns: None,
        })
        .collect();
    found.sort_by(|a, b| b.added_ns.total_cmp(&a.added_ns).then(a.group.cmp(&b.group)));
    found
}

/// Whether all members are on one host, as far as hosts are known.
pub(crate) fn is_one_node(fleet: &Fleet, members: &[u32]) -> bool {
    let host = |member: &u32| &fleet.members[*member as usize].host;
    members.iter().all(|member| host(member) == host(&members[0]))
}
