//! Findings: stragglers and slow links, with what they cost and what to look at.

use model::names::display_name;
use report::{Finding, NextStep, Severity, Value};

use super::time;
use crate::Ranks;
use crate::balance;
use crate::stragglers::{Cause, SlowLink, Straggler};

/// From this share of a step a finding is severe.
const SEVERE: f64 = 0.05;
/// Below this share, one of several late ranks costs nothing alone.
const SMALL: f64 = 0.01;
/// Experts are uneven if those of a rank take this many times the mean.
const UNEVEN: f64 = 1.1;
/// Name of the finding about uneven experts.
pub(super) const UNEVEN_EXPERTS: &str = "uneven-experts";

pub(super) fn findings(ranks: &Ranks) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        ranks.delays.stragglers.iter().map(|found| straggler(ranks, found)).collect();
    findings.extend(ranks.delays.slow_links.iter().map(|link| slow_link(ranks, link)));
    findings.extend(uneven_experts(ranks));
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.gain_ceiling_ns));
    findings
}

/// The rank whose experts take longest, if that costs something.
fn uneven_experts(ranks: &Ranks) -> Option<Finding> {
    let loads = balance::experts(&ranks.fleet);
    let worst = loads.iter().max_by_key(|load| load.moe_ns)?;
    let mean = loads.iter().map(|load| load.moe_ns as f64).sum::<f64>() / loads.len() as f64;
    let (beyond, span) = (worst.moe_ns as f64 - mean, ranks.fleet.members[worst.member as usize].span?);
    let share = beyond / (span.1 - span.0).max(1) as f64;
    let ratio = worst.moe_ns as f64 / mean;
    if ratio.is_nan() || ratio < UNEVEN || share < SMALL {
        return None;
    }
    let label = &ranks.fleet.members[worst.member as usize].label;
    Some(Finding {
        id: UNEVEN_EXPERTS.into(),
        key: format!("{UNEVEN_EXPERTS}:{label}"),
        severity: if share >= SEVERE { Severity::High } else { Severity::Medium },
        title: format!(
            "experts of rank {label} take {ratio:.2}x the mean of all ranks, which wait for it in all-to-all operations"
        ),
        evidence: vec![
            ("rank".into(), Value::from(label.as_str())),
            ("moe_ns".into(), Value::Int(worst.moe_ns)),
            ("mean_moe_ns".into(), Value::Int(mean.round() as i64)),
            ("moe_ratio".into(), Value::Float(ratio)),
        ],
        gain_ceiling_ns: Some(beyond.round() as i64),
        recommendation: "spread tokens more evenly: a larger weight of the router's balancing loss, a lower capacity factor, or \
                         other experts on this rank (expert-parallel load balancing in serving)"
            .into(),
        next_step: None,
        ..Finding::default()
    })
}

fn gain(ranks: &Ranks, with: Option<f64>, without: Option<f64>) -> (Option<i64>, Severity, f64) {
    let share = with.zip(without).map_or(0.0, |(with, without)| (with - without) / with);
    let steps = ranks.fleet.members.iter().map(|member| member.steps.len()).max().unwrap_or(0).max(1);
    let run = with.zip(without).map(|(with, without)| ((with - without) * steps as f64).round() as i64);
    let severity = if share >= SEVERE { Severity::High } else { Severity::Medium };
    (run.map(|ns| ns.max(0)), severity, share)
}

fn straggler(ranks: &Ranks, found: &Straggler) -> Finding {
    let member = &ranks.fleet.members[found.member as usize];
    let (run, severity, share) = gain(ranks, found.step_ns, found.step_without_ns);
    let on = if member.host.is_empty() { String::new() } else { format!(" on {}", member.host) };
    let together = ranks.delays.step_without_ns;
    let (run, severity, share) =
        if share < SMALL { gain(ranks, found.step_ns, together) } else { (run, severity, share) };
    let cost = match (found.step_ns, found.step_without_ns, together) {
        (Some(with), Some(without), _) if (with - without) / with >= SMALL => {
            format!("; without it a step takes {}, not {}", time(without), time(with))
        }
        (Some(with), _, Some(together)) if share >= SMALL => format!(
            "; others are late too, and without all of them a step takes {}, not {}",
            time(together),
            time(with)
        ),
        _ => String::new(),
    };
    let evidence = &found.evidence;
    let (kernel, ratio) = match &evidence.kernel {
        Some((name, ratio)) => (Value::from(name.as_str()), Value::Float(*ratio)),
        None => (Value::absent("no kernel takes longer than on its peers"), Value::absent("no such kernel")),
    };
    let shown = evidence.kernel.as_ref().map(|(name, _)| display_name(name)).unwrap_or_default();
    let look = match found.cause {
        Cause::HostIdle => NextStep::Explain,
        Cause::LowerClocks => NextStep::Explain,
        _ => evidence.kernel.as_ref().map_or(NextStep::Explain, |(name, _)| NextStep::Kernel(name.clone())),
    };
    Finding {
        id: "straggler".into(),
        key: format!("straggler:{}", member.label),
        severity,
        title: format!("all ranks wait for rank {}{on}: {}{cost}", member.label, found.cause.words()),
        evidence: vec![
            ("rank".into(), Value::Int(i64::from(member.rank))),
            ("host".into(), Value::from(member.host.as_str())),
            ("cause".into(), Value::from(found.cause.name())),
            ("own_excess_ns".into(), Value::Int(found.excess_ns.round() as i64)),
            ("more_work_ns".into(), Value::Int(evidence.more_work_ns.round() as i64)),
            ("slower_ns".into(), Value::Int(evidence.slower_ns.round() as i64)),
            ("idle_excess_ns".into(), Value::Int(evidence.idle_ns.round() as i64)),
            ("kernel".into(), kernel),
            ("kernel_ratio".into(), ratio),
        ],
        gain_ceiling_ns: run,
        recommendation: match found.cause {
            Cause::MoreWork => format!(
                "give rank {} the same share of the work: it does more of `{shown}` than its peers",
                member.label
            ),
            Cause::SlowerKernels => format!(
                "find out why `{shown}` is slower on rank {}: another process on the GPU, other library versions, or memory errors",
                member.label
            ),
            Cause::LowerClocks => format!(
                "check temperature, power cap and performance level of the GPU of rank {}{on} (`rocm-smi -a`), or replace it",
                member.label
            ),
            Cause::HostIdle => match evidence.idle_cause {
                Some(cause) => format!(
                    "look at the host of rank {}: its GPU has more idle time than its peers, most of it {}",
                    member.label,
                    cause.name()
                ),
                None => format!(
                    "look at the host of rank {}: data loading, garbage collection, other processes",
                    member.label
                ),
            },
        },
        next_step: Some(NextStep::InFile(Box::new((look, member.source.clone())))),
        ..Finding::default()
    }
}

fn slow_link(ranks: &Ranks, link: &SlowLink) -> Finding {
    let group = &ranks.fleet.groups[link.group as usize];
    let (run, severity, _) = gain(ranks, link.step_ns, link.step_without_ns);
    let cost = match link.step_ns.zip(link.step_without_ns) {
        Some((with, without)) => format!("; without it a step takes {}, not {}", time(without), time(with)),
        None => String::new(),
    };
    let hosts: std::collections::BTreeSet<&str> =
        group.members.iter().map(|&member| ranks.fleet.members[member as usize].host.as_str()).collect();
    let hosts: Vec<&str> = hosts.into_iter().filter(|host| !host.is_empty()).collect();
    Finding {
        id: "slow-link".into(),
        key: format!("slow-link:{}", group.label),
        severity,
        title: format!(
            "transfers of group {} take {:.1}x those of like groups{cost}",
            group.label, link.factor
        ),
        evidence: vec![
            ("group".into(), Value::from(group.name.as_str())),
            ("factor".into(), Value::Float(link.factor)),
            ("added_ns".into(), Value::Int(link.added_ns.round() as i64)),
            ("collectives".into(), Value::from(link.collectives)),
            ("like_groups".into(), Value::from(link.groups)),
            ("hosts".into(), Value::from(hosts.join(", ").as_str())),
        ],
        gain_ceiling_ns: run,
        recommendation: format!(
            "check the links between the GPUs of group {}{}: `rocm-smi --showtopo`, errors of network cards, RCCL's choice of transport (NCCL_DEBUG=INFO)",
            group.label,
            if hosts.is_empty() { String::new() } else { format!(" on {}", hosts.join(", ")) }
        ),
        next_step: None,
        ..Finding::default()
    }
}
