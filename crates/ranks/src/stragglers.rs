//! Ranks that others wait for: which, why, and what a step would take without them.
//!
//! A rank is to blame if its own work between collectives takes longer than that of its peers. A rank that is
//! late with the usual amount of own work was held up itself; it passes on the delay of another one.

mod cause;
mod links;

use rayon::prelude::*;

use crate::figures::{AllFigures, Method};
use crate::fleet::{Fleet, Member};
use crate::matching::{Meetings, MemberRow};
use crate::peers::{Excess, Peers};
use crate::simulate::{Change, StepGraph};
pub use cause::{Cause, Evidence};
pub use links::SlowLink;
pub(crate) use links::is_one_node;

/// A straggler's work beyond that of its peers is at least this share of the run.
const SMALLEST_SHARE: f64 = 0.01;
/// A straggler costs at least this share of a step.
const SMALLEST_COST: f64 = 0.01;
/// A straggler's excess work is at least this share of the worst one's: smaller ones show once that is fixed.
const BESIDE_WORST: f64 = 0.15;
/// A straggler's excess work is this many spreads of all ranks above the median.
const SPREADS: f64 = 6.0;
/// At most this many are named.
const MOST: usize = 16;
/// Ranks that come last to at least this share of a group's collectives are late.
const OFTEN_LAST: f64 = 0.5;
/// Fewest collectives of a group that show who is often last.
const FEWEST: u64 = 8;

/// A rank that others wait for because of its own work.
#[derive(Clone, Debug, PartialEq)]
pub struct Straggler {
    /// Place in the members.
    pub member: u32,
    /// Why it is late.
    pub cause: Cause,
    /// What shows it.
    pub evidence: Evidence,
    /// Work of its own beyond that of its peers, in the whole run.
    pub excess_ns: f64,
    /// Time of a step as measured.
    pub step_ns: Option<f64>,
    /// Time of a step if it were like its peers.
    pub step_without_ns: Option<f64>,
}

/// A rank that is late because of another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Propagated {
    /// Place in the members.
    pub member: u32,
    /// The group that waits for it.
    pub group: u32,
    /// Share of the group's collectives to which it comes last.
    pub last_share: f64,
    /// The straggler that held it up, if one was found.
    pub from: Option<u32>,
}

/// Everything that makes ranks wait.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// By what they cost.
    pub stragglers: Vec<Straggler>,
    /// Ranks that pass delays on.
    pub propagated: Vec<Propagated>,
    /// Groups whose transfers take longer than those of like groups.
    pub slow_links: Vec<SlowLink>,
    /// Mean time of a step as measured.
    pub step_ns: Option<f64>,
    /// Mean time of a step without any of these.
    pub step_without_ns: Option<f64>,
    /// Local work of each member beyond that of its peers.
    pub excess_ns: Vec<f64>,
    /// Whether the order of matched collectives contradicts itself, so that nobody can be blamed.
    pub is_contradictory: bool,
}

/// Finds everything that makes ranks wait.
pub(crate) fn delays(
    fleet: &Fleet,
    meetings: &Meetings,
    figures: &AllFigures,
    mut graph: StepGraph,
) -> Delays {
    let peers = Peers::of(fleet, meetings, &graph);
    peers.fill_lost(fleet, &mut graph);
    let graph = &graph;
    let excess: Vec<Excess> =
        (0..fleet.members.len()).into_par_iter().map(|member| peers.excess(fleet, graph, member)).collect();
    let base = graph.run(&Change::default()).map(|outcome| outcome.step_times());
    let measured = measured_steps(fleet);
    let step_ns = mean(&measured);
    let predict = |change: &Change| {
        let base = base.as_deref()?;
        if change.is_empty() {
            return predicted(&measured, base, base);
        }
        predicted(&measured, base, &graph.run(change)?.step_times())
    };
    let mut all = Change::default();
    let mut delays = Delays {
        step_ns,
        excess_ns: excess.iter().map(|excess| excess.local_ns).collect(),
        ..Delays::default()
    };
    // Collectives that contradict each other's order were matched wrongly: nobody is blamed by them.
    let guilty = if base.is_some() { guilty(fleet, &excess) } else { Vec::new() };
    delays.is_contradictory = base.is_none();
    for (number, member) in guilty.into_iter().enumerate() {
        if number >= MOST {
            all.local.insert(member as u32, peers.typical(fleet, graph, member, 1.0));
            continue;
        }
        let (cause, evidence) = cause::of(fleet, member, &excess[member]);
        let own = peers.typical(fleet, graph, member, evidence.typical_share);
        let local = [(member as u32, own.clone())].into_iter().collect();
        all.local.insert(member as u32, own);
        let without = predict(&Change { local, ..Change::default() });
        delays.stragglers.push(Straggler {
            member: member as u32,
            cause,
            evidence,
            excess_ns: excess[member].local_ns,
            step_ns,
            step_without_ns: without,
        });
    }
    let worst = delays.stragglers.iter().map(|straggler| straggler.excess_ns).fold(0.0, f64::max);
    delays.stragglers.retain(|straggler| straggler.excess_ns >= BESIDE_WORST * worst);
    // What costs nothing needs no attention. If several are equally late, none costs anything alone.
    let gain = |without: Option<f64>| step_ns.zip(without).map(|(with, without)| (with - without) / with);
    let is_costly = |without: Option<f64>| gain(without).is_none_or(|gain| gain >= SMALLEST_COST);
    let alone = delays.stragglers.iter().filter_map(|straggler| gain(straggler.step_without_ns)).sum::<f64>();
    let together = gain(predict(&all)).unwrap_or(0.0);
    if together < SMALLEST_COST || alone > together / 2.0 {
        delays.stragglers.retain(|straggler| is_costly(straggler.step_without_ns));
        let kept: Vec<u32> = delays.stragglers.iter().map(|straggler| straggler.member).collect();
        all.local.retain(|member, _| kept.contains(member));
    }
    for mut link in links::slow(fleet, figures) {
        let change = Change {
            transfer_factor: [(link.group, 1.0 / link.factor)].into_iter().collect(),
            ..Change::default()
        };
        all.transfer_factor.insert(link.group, 1.0 / link.factor);
        link.step_ns = step_ns;
        link.step_without_ns = predict(&change);
        delays.slow_links.push(link);
    }
    delays.step_without_ns = predict(&all);
    let cost = |straggler: &Straggler| {
        let won =
            straggler.step_ns.zip(straggler.step_without_ns).map_or(0.0, |(with, without)| with - without);
        (won, straggler.excess_ns)
    };
    delays.stragglers.sort_by(|a, b| cost(b).partial_cmp(&cost(a)).unwrap_or(std::cmp::Ordering::Equal));
    delays.propagated = propagated(fleet, meetings, figures, graph, &delays.stragglers);
    delays
}

/// Times of steps as measured, each in the middle of all members; the whole run where there are not two steps.
fn measured_steps(fleet: &Fleet) -> Vec<f64> {
    let count = fleet.members.iter().map(|member| member.steps.len()).max().unwrap_or(0);
    let count = fleet.steps_compared.map_or(count, |steps| count.min(steps as usize));
    let time = |member: &Member, step: usize| {
        Some((member.steps.get(step + 1)?.end - member.steps.get(step)?.end) as f64)
    };
    let middle = |values: Vec<f64>| (!values.is_empty()).then(|| stats::robust::median(&values));
    if count < 2 {
        let spans = fleet.members.iter().filter_map(|member| member.span);
        return middle(spans.map(|span| (span.1 - span.0) as f64).collect()).into_iter().collect();
    }
    (0..count - 1)
        .filter_map(|step| middle(fleet.members.iter().filter_map(|member| time(member, step)).collect()))
        .collect()
}

fn mean(times: &[f64]) -> Option<f64> {
    let known = || times.iter().filter(|time| time.is_finite());
    (known().count() > 0).then(|| known().sum::<f64>() / known().count() as f64)
}

/// The mean time of a changed step. What the simulation gets wrong in most steps it also gets wrong in the changed ones; a step that
/// it cannot follow, as records are lost, does not count.
fn predicted(measured: &[f64], base: &[f64], changed: &[f64]) -> Option<f64> {
    let ratios: Vec<f64> =
        measured.iter().zip(base).map(|(with, base)| with / base).filter(|ratio| ratio.is_finite()).collect();
    let ratio = if ratios.is_empty() { return None } else { stats::robust::median(&ratios) };
    Some(mean(changed)? * ratio)
}

/// Members that do more than their peers, the worst first.
fn guilty(fleet: &Fleet, excess: &[Excess]) -> Vec<usize> {
    let told: Vec<f64> =
        excess.iter().filter(|excess| excess.collectives > 0).map(|excess| excess.local_ns).collect();
    if told.len() < 2 {
        return Vec::new();
    }
    let (middle, spread) = (stats::robust::median(&told), stats::robust::median_absolute_deviation(&told));
    let span = |member: usize| fleet.compared_ns(&fleet.members[member]) as f64;
    let mut found: Vec<usize> = (0..excess.len())
        .filter(|&member| excess[member].collectives > 0)
        .filter(|&member| {
            let beyond = excess[member].local_ns - middle.min(0.0);
            beyond > SMALLEST_SHARE * span(member) && excess[member].local_ns > middle + SPREADS * spread
        })
        .collect();
    found.sort_by(|&a, &b| excess[b].local_ns.total_cmp(&excess[a].local_ns));
    found
}

/// Ranks to which a group waits most of the time and that do no more than their peers.
fn propagated(
    fleet: &Fleet,
    meetings: &Meetings,
    figures: &AllFigures,
    graph: &StepGraph,
    stragglers: &[Straggler],
) -> Vec<Propagated> {
    let mut last: trace::Map<(u32, u32), u64> = trace::Map::default();
    let mut count: trace::Map<u32, u64> = trace::Map::default();
    for one in figures.meetings.iter().filter(|one| !one.is_start && one.method != Method::None) {
        *last.entry((one.group, one.last)).or_default() += 1;
        *count.entry(one.group).or_default() += 1;
    }
    let is_guilty = |member: u32| stragglers.iter().any(|straggler| straggler.member == member);
    let mut late: Vec<((u32, u32), u64)> = last
        .into_iter()
        .filter(|((group, member), times)| {
            let (all, members) = (count[group], fleet.groups[*group as usize].members.len() as f64);
            let share = *times as f64 / all as f64;
            all >= FEWEST && !is_guilty(*member) && share > OFTEN_LAST.max(1.5 / members)
        })
        .collect();
    late.sort_unstable_by_key(|(place, _)| *place);
    late.truncate(MOST);
    let origin = |member: u32| origin(meetings, figures, graph, member, stragglers);
    let found = late.into_iter().map(|((group, member), times)| Propagated {
        member,
        group,
        last_share: times as f64 / count[&group] as f64,
        from: origin(member),
    });
    found.filter(|found| found.from.is_some()).collect()
}

/// Hops after which the search for an origin stops.
const MOST_HOPS: usize = 16;

/// The straggler that held a member up: whom it waited for most, and whom that one waited for, and so on.
fn origin(
    meetings: &Meetings,
    figures: &AllFigures,
    graph: &StepGraph,
    member: u32,
    stragglers: &[Straggler],
) -> Option<u32> {
    let mut at = member;
    let mut seen = vec![member];
    for _ in 0..MOST_HOPS {
        let mut waited: trace::Map<u32, f64> = trace::Map::default();
        for event in &graph.tracks[at as usize].events {
            let Some(meeting) = meetings.all.get(event.meeting as usize) else { continue };
            let one = &figures.meetings[event.meeting as usize];
            if one.is_start || one.last == at || seen.contains(&one.last) {
                continue;
            }
            let parts = meetings.parts_of(meeting);
            if let Some(place) = place_of(parts, at) {
                let wait = figures.waits[meeting.first as usize + place];
                *waited.entry(one.last).or_default() += f64::from(wait);
            }
        }
        let guilty = |member: u32| stragglers.iter().any(|straggler| straggler.member == member);
        let (next, _) = waited.into_iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
        if guilty(next) {
            return Some(next);
        }
        seen.push(next);
        at = next;
    }
    None
}

/// The place of a member among parts, which are sorted by member; a message has two, in any order.
fn place_of(parts: &[MemberRow], member: u32) -> Option<usize> {
    if parts.len() <= 2 {
        return parts.iter().position(|part| part.member == member);
    }
    parts.binary_search_by_key(&member, |part| part.member).ok()
}
