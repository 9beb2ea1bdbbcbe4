//! Why a rank does more than its peers: more kernels, slower kernels, a lower clock, or a host that does not keep up.

use analysis::causes::idle::Cause as IdleCause;
use stats::robust::median;
use trace::Map;

use crate::fleet::{Fleet, NameShare};
use crate::peers::Excess;

/// Kernels below this share of the computation say nothing about the clock.
const SMALL_KERNEL: f64 = 0.01;
/// All kernels that are slowed by at least this part of the worst are slowed alike.
const ALIKE: f64 = 0.4;
/// A lower clock slows at least this share of the computation.
const MOST_KERNELS: f64 = 0.5;
/// A clock below this share of the others' is lower.
const LOWER_CLOCK: f64 = 0.97;
/// A clock above this share of the others' is not.
const SAME_CLOCK: f64 = 0.99;

/// Why a rank's own work makes it late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// It runs more kernels, or kernels with larger grids.
    MoreWork,
    /// Some kernels take longer for the same work.
    SlowerKernels,
    /// Its GPU runs at a lower clock.
    LowerClocks,
    /// Its GPU waits for the host.
    HostIdle,
}

impl Cause {
    /// Its stable name.
    pub fn name(self) -> &'static str {
        match self {
            Cause::MoreWork => "more-work",
            Cause::SlowerKernels => "slower-kernels",
            Cause::LowerClocks => "lower-clocks",
            Cause::HostIdle => "host-idle",
        }
    }

    /// The cause in words.
    pub fn words(self) -> &'static str {
        match self {
            Cause::MoreWork => "it has more work",
            Cause::SlowerKernels => "the same kernels are slower",
            Cause::LowerClocks => "its GPU runs at a lower clock",
            Cause::HostIdle => "its GPU waits for the host",
        }
    }
}

/// What shows a cause.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The kernel that takes most time beyond the peers', and by how much its mean is longer.
    pub kernel: Option<(String, f64)>,
    /// Kernels beyond those of the peers, and their time.
    pub more_work_ns: f64,
    /// Time that the same work takes longer.
    pub slower_ns: f64,
    /// Idle time beyond the peers'.
    pub idle_ns: f64,
    /// The cause of idle time that grew most.
    pub idle_cause: Option<IdleCause>,
    /// Its clock and that of its peers in MHz, where both were sampled.
    pub clock_mhz: Option<(f64, f64)>,
    /// Time of its kernels if it were like its peers, as a share of what they take.
    pub typical_share: f64,
}

/// The median of the peers' calls of a kernel.
struct Typical {
    count: f64,
    total_ns: f64,
    work_items: f64,
}

/// Why a member does more than its peers.
pub(super) fn of(fleet: &Fleet, member: usize, excess: &Excess) -> (Cause, Evidence) {
    let peers = peers(fleet, member);
    let typical = typical(fleet, &peers);
    let own = &fleet.members[member];
    let mut evidence = Evidence { typical_share: 1.0, ..Evidence::default() };
    let mut slowed: Vec<(f64, f64)> = Vec::new();
    let mut worst: Option<(u32, f64, f64)> = None;
    let (mut usual, mut total) = (0.0, 0.0);
    for share in &own.kernels {
        let none = Typical { count: 0.0, total_ns: 0.0, work_items: 0.0 };
        let peer = typical.get(&share.name).unwrap_or(&none);
        let expected = expected_ns(share, peer);
        let (more, slower) = (expected - peer.total_ns, share.total_ns as f64 - expected);
        evidence.more_work_ns += more;
        evidence.slower_ns += slower;
        (usual, total) = (usual + peer.total_ns, total + share.total_ns as f64);
        if expected > 0.0 {
            slowed.push((share.total_ns as f64 / expected - 1.0, expected));
        }
        let beyond = more + slower;
        if worst.is_none_or(|worst| beyond > worst.1) {
            let mean = share.total_ns as f64 / f64::from(share.count.max(1));
            let ratio = mean / (peer.total_ns / peer.count.max(1.0));
            worst = Some((share.name, beyond, ratio));
        }
    }
    if total > 0.0 && usual > 0.0 {
        evidence.typical_share = (usual / total).min(1.0);
    }
    evidence.kernel = worst
        .filter(|worst| worst.1 > 0.0)
        .map(|worst| (fleet.kernels[worst.0 as usize].name.clone(), worst.2));
    evidence.idle_ns = excess.local_ns - excess.compute_ns;
    evidence.idle_cause = idle_cause(fleet, &peers, member);
    let clocks: Vec<f64> =
        peers.iter().filter_map(|&peer| fleet.members[peer].clock).map(|c| c.mean_mhz).collect();
    evidence.clock_mhz = own
        .clock
        .map(|clock| clock.mean_mhz)
        .filter(|_| !clocks.is_empty())
        .map(|own| (own, median(&clocks)));
    (decide(&evidence, excess, &slowed), evidence)
}

fn decide(evidence: &Evidence, excess: &Excess, slowed: &[(f64, f64)]) -> Cause {
    if evidence.idle_ns > excess.compute_ns {
        return Cause::HostIdle;
    }
    if evidence.more_work_ns > evidence.slower_ns {
        return Cause::MoreWork;
    }
    match evidence.clock_mhz {
        Some((own, others)) if own < LOWER_CLOCK * others => return Cause::LowerClocks,
        Some((own, others)) if own > SAME_CLOCK * others => return Cause::SlowerKernels,
        _ => {}
    }
    // Without clocks: one slow kernel points to that kernel, many equally slow ones to the clock.
    let all: f64 = slowed.iter().map(|kernel| kernel.1).sum();
    let large = || slowed.iter().filter(|kernel| kernel.1 >= SMALL_KERNEL * all);
    let most = large().map(|kernel| kernel.0).fold(0.0, f64::max);
    let alike = || large().filter(|kernel| kernel.0 >= ALIKE * most);
    let share = alike().map(|kernel| kernel.1).sum::<f64>() / all;
    if alike().count() > 1 && share >= MOST_KERNELS { Cause::LowerClocks } else { Cause::SlowerKernels }
}

/// Time that the member's work would take on its peers: by work-items where both have them, else by calls.
fn expected_ns(share: &NameShare, peer: &Typical) -> f64 {
    if peer.count <= 0.0 {
        // Nobody else runs it.
        return share.total_ns as f64;
    }
    if peer.work_items > 0.0 && share.work_items > 0 {
        return peer.total_ns * share.work_items as f64 / peer.work_items;
    }
    peer.total_ns * f64::from(share.count) / peer.count
}

/// Members that should do the same: of the same pipeline stage, or all where there is no other.
fn peers(fleet: &Fleet, member: usize) -> Vec<usize> {
    let stage = fleet.members[member].place.pipeline;
    let others = |same_stage: bool| -> Vec<usize> {
        (0..fleet.members.len())
            .filter(|&other| other != member)
            .filter(|&other| !same_stage || fleet.members[other].place.pipeline == stage)
            .collect()
    };
    Some(others(true)).filter(|peers| !peers.is_empty()).unwrap_or_else(|| others(false))
}

/// Most peers to compare with; more do not move a median.
const MOST_PEERS: usize = 257;

fn typical(fleet: &Fleet, peers: &[usize]) -> Map<u32, Typical> {
    let step = (peers.len() / MOST_PEERS).max(1);
    let asked: Vec<usize> = peers.iter().copied().step_by(step).collect();
    let mut found: Map<u32, Vec<NameShare>> = Map::default();
    for &peer in &asked {
        for share in &fleet.members[peer].kernels {
            found.entry(share.name).or_default().push(*share);
        }
    }
    let middle = |shares: &[NameShare], value: fn(&NameShare) -> f64| {
        let mut values: Vec<f64> = shares.iter().map(value).collect();
        values.resize(asked.len().max(values.len()), 0.0);
        median(&values)
    };
    found
        .into_iter()
        .map(|(name, shares)| {
            let typical = Typical {
                count: middle(&shares, |share| f64::from(share.count)),
                total_ns: middle(&shares, |share| share.total_ns as f64),
                work_items: middle(&shares, |share| share.work_items as f64),
            };
            (name, typical)
        })
        .collect()
}

/// The cause whose idle time exceeds that of the peers most.
fn idle_cause(fleet: &Fleet, peers: &[usize], member: usize) -> Option<IdleCause> {
    let beyond = |cause: usize| {
        let others: Vec<f64> = peers
            .iter()
            .take(MOST_PEERS)
            .map(|&peer| fleet.members[peer].account.idle_ns[cause] as f64)
            .collect();
        fleet.members[member].account.idle_ns[cause] as f64 - median(&others)
    };
    let best = (0..IdleCause::ALL.len()).max_by(|&a, &b| beyond(a).total_cmp(&beyond(b)))?;
    (beyond(best) > 0.0).then(|| IdleCause::ALL[best])
}
