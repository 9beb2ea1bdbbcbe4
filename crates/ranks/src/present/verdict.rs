//! The verdict on a job: what bounds all of its ranks together, what a step takes, and what the worst delay costs.

use analysis::causes::idle::Cause;
use analysis::causes::verdict::bound_of;
use analysis::subject::{Architecture, TARGET_ARCH};
use model::names::display_name;
use report::{ArchMatch, BoundBy, Cost, Finding, Verdict};

use super::{are, time};
use crate::Ranks;
use crate::fleet::Member;

/// If at least this share is lost or missing, a job is not judged by the rest.
const MOST_LOST: f64 = 0.1;
/// From this share of time outside all recorded work on, the bound of a job is unknown.
const MOST_UNKNOWN: f64 = 0.5;

/// The answer before all tables.
pub(super) fn verdict(ranks: &Ranks, findings: &[Finding]) -> Verdict {
    let (architecture, product) = hardware(&ranks.fleet.members);
    let told = match &architecture {
        Some(arch) => format!("the traces of all ranks are of {arch}"),
        None => "the traces do not name one architecture for all ranks".into(),
    };
    let observed = Architecture { observed: architecture.clone(), evidence: told, is_foreign: false };
    let (matched, reason) = observed.compare(TARGET_ARCH);
    let mut verdict = Verdict {
        architecture,
        product,
        arch_match: ArchMatch { status: matched.name().into(), target: TARGET_ARCH.into(), reason },
        why_not: doubts(ranks),
        steps: ranks.fleet.members.iter().map(|member| member.steps.len()).max().filter(|&steps| steps > 0),
        ..Verdict::default()
    };
    let total = Totals::of(&ranks.fleet.members);
    if total.span > 0 {
        verdict.span_ns = Some(total.longest);
        verdict.busy_pct = Some(100.0 * (1.0 - total.idle as f64 / total.span as f64));
        verdict.idle_ns = Some(total.idle);
        verdict.bound_by = total.bound_by();
        verdict.largest_cost = Some(largest_cost(ranks, &total));
    }
    if verdict.steps.is_some_and(|steps| steps > 1) {
        verdict.step_ns = ranks.delays.step_ns.map(|ns| ns.round() as i64);
    }
    let best = findings.iter().filter(|finding| finding.gain_ceiling_ns.is_some_and(|gain| gain > 0));
    if let Some(best) = best.max_by_key(|finding| finding.gain_ceiling_ns) {
        verdict.largest_gain_ns = best.gain_ceiling_ns;
        verdict.finding = Some(best.key.clone());
    }
    verdict.text = text(ranks, findings, &verdict);
    verdict
}

/// Time of all ranks by what it was spent on.
#[derive(Default)]
struct Totals {
    /// Span of the longest rank.
    longest: i64,
    span: i64,
    idle: i64,
    compute: i64,
    exposed: i64,
    by_cause: [i64; Cause::ALL.len()],
}

impl Totals {
    fn of(members: &[Member]) -> Self {
        let mut total = Self::default();
        for member in members {
            let Some((from, to)) = member.span else { continue };
            total.longest = total.longest.max(to - from);
            total.span += to - from;
            total.idle += member.account.idle_total();
            total.compute += member.account.compute_ns;
            total.exposed += member.account.exposed_ns;
            total.by_cause.iter_mut().zip(member.account.idle_ns).for_each(|(sum, ns)| *sum += ns);
        }
        total
    }

    fn bound_by(&self) -> Option<BoundBy> {
        let of = |causes: &[Cause]| -> i64 {
            Cause::ALL
                .iter()
                .zip(self.by_cause)
                .filter(|(cause, _)| causes.contains(cause))
                .map(|(_, ns)| ns)
                .sum()
        };
        let unknown = of(&[Cause::NotRecorded, Cause::BeforeAndAfter]);
        if unknown as f64 > MOST_UNKNOWN * self.span as f64 {
            return None;
        }
        let parts = [
            (BoundBy::Gpu, self.compute),
            (BoundBy::Communication, self.exposed + of(&[Cause::WaitingElsewhere])),
            (BoundBy::Launch, of(&[Cause::Launching, Cause::FirstCall])),
            (BoundBy::Host, of(&[Cause::HostCode])),
            (BoundBy::Sync, of(&[Cause::BlockingCall, Cause::WaitingForEvent])),
            (BoundBy::Allocation, of(&[Cause::Allocating])),
        ];
        Some(bound_of(&parts, unknown, self.span))
    }
}

/// The kernel that takes most time on all ranks, or exposed communication.
fn largest_cost(ranks: &Ranks, total: &Totals) -> Cost {
    let kernel = ranks.fleet.kernels.iter().max_by_key(|kernel| kernel.total_ns);
    let (what, ns) = match kernel.filter(|kernel| kernel.total_ns > total.exposed) {
        Some(kernel) => (display_name(&kernel.name), kernel.total_ns),
        None => ("exposed communication (no computation at the same time)".into(), total.exposed),
    };
    Cost { what, ns, share_pct: 100.0 * ns as f64 / total.span as f64 }
}

/// Architecture and product, where all ranks have the same.
fn hardware(members: &[Member]) -> (Option<String>, Option<String>) {
    let one = |of: fn(&Member) -> &String| {
        let first = of(members.first()?);
        let is_same = members.iter().all(|member| of(member) == first);
        (is_same && !first.is_empty()).then(|| first.clone())
    };
    (one(|member| &member.architecture), one(|member| &member.product))
}

/// Why the job must not be judged by these inputs.
fn doubts(ranks: &Ranks) -> Vec<String> {
    let mut doubts = Vec::new();
    if ranks.delays.is_contradictory {
        doubts.push("collectives of the ranks contradict each other's order".to_string());
    }
    let (lost, all) = (ranks.meetings.unmatched, ranks.meetings.collectives);
    if lost as f64 > MOST_LOST * all as f64 {
        doubts.push(format!("{lost} of {all} collectives have no partner on another rank"));
    }
    let (missing, there) = (&ranks.fleet.missing, ranks.fleet.members.len());
    if missing.len() as f64 > MOST_LOST * (missing.len() + there) as f64 {
        doubts.push(format!("{} missing and may hold the others up", are(missing)));
    }
    doubts
}

fn text(ranks: &Ranks, findings: &[Finding], verdict: &Verdict) -> String {
    let delays = &ranks.delays;
    let hosts: std::collections::BTreeSet<&str> = ranks
        .fleet
        .members
        .iter()
        .map(|member| member.host.as_str())
        .filter(|host| !host.is_empty())
        .collect();
    let nodes = match hosts.len() {
        0 => String::new(),
        1 => " on 1 node".into(),
        count => format!(" on {count} nodes"),
    };
    let bound = match verdict.bound_by {
        Some(BoundBy::Gpu) => ", GPU bound",
        Some(BoundBy::Launch) => ", launch bound",
        Some(BoundBy::Host) => ", host bound",
        Some(BoundBy::Sync) => ", bound by waiting for the GPU",
        Some(BoundBy::Copy) => ", copy bound",
        Some(BoundBy::Communication) => ", communication bound",
        Some(BoundBy::Allocation) => ", bound by memory allocation",
        Some(BoundBy::Mixed) => ", no single bound",
        None => "",
    };
    let who = format!("{} ranks{nodes}{bound}", ranks.fleet.members.len());
    let what = if verdict.step_ns.is_some() { "a step takes" } else { "the run takes" };
    let mut text = match (delays.step_ns, delays.step_without_ns) {
        (Some(with), Some(without)) if !delays.stragglers.is_empty() || !delays.slow_links.is_empty() => {
            format!(
                "{who}: {what} {}, and would take {} without the delays found.",
                time(with),
                time(without)
            )
        }
        (Some(with), _) if delays.is_contradictory => format!("{who}: {what} {}.", time(with)),
        (Some(with), _) if ranks.meetings.all.is_empty() && ranks.fleet.members.len() > 1 => format!(
            "{who}: {what} {}; no collective has a partner, so it is unknown who waits for whom.",
            time(with)
        ),
        (Some(with), _) if findings.iter().any(|finding| finding.id == super::findings::UNEVEN_EXPERTS) => {
            format!("{who}: {what} {}; ranks wait for those with more work for their experts.", time(with))
        }
        (Some(with), _) => format!("{who}: {what} {}; no rank or link holds the others up.", time(with)),
        (None, _) => format!("{who}; the inputs have no step times."),
    };
    if let Some(cost) = &verdict.largest_cost {
        text.push_str(&format!(" Largest cost: {} ({:.0} % of the time).", cost.what, cost.share_pct));
    }
    text
}
