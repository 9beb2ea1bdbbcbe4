//! The report on a job: who is late and why, collectives, clocks, balance.

mod charts;
mod findings;
mod tables;
mod verdict;

use report::{HealthCheck, HealthStatus, InputFact, Report, Unit, Value, show};
use serde_json::json;

use crate::Ranks;
use crate::clocks::MemberClock;
use crate::fleet::ranges;

/// At most this many ranks, files or reasons are named in a sentence.
const NAMED: usize = 5;

/// The report on a job.
pub fn present(ranks: &Ranks) -> Report {
    let inputs = ranks.fleet.members.iter().map(|member| InputFact {
        path: member.source.clone(),
        format: member.format.clone(),
        bytes: member.bytes,
        rank: Some(member.rank),
    });
    let findings = findings::findings(ranks);
    Report {
        command: "ranks".into(),
        inputs: inputs.collect(),
        verdict: Some(verdict::verdict(ranks, &findings)),
        health: health(ranks),
        tables: tables::tables(ranks),
        findings,
        findings_first: true,
        charts: charts::charts(ranks),
        result: Some(result(ranks)),
        notes: notes(ranks).into_iter().map(Into::into).collect(),
        ..Report::default()
    }
}

fn notes(ranks: &Ranks) -> Vec<String> {
    let fleet = &ranks.fleet;
    let mut notes = Vec::new();
    if fleet.is_numbered_by_file {
        notes.push("no input records its rank: ranks are numbered by file name".into());
    }
    if fleet.members.iter().all(|member| member.steps.is_empty()) {
        notes.push(
            "no input has step annotations, so figures are for the whole run (torch's ProfilerStep, or a roctx range around each step)"
                .into(),
        );
    }
    if let Some(steps) = fleet.steps_compared {
        let all = fleet.members.iter().map(|member| member.steps.len()).max().unwrap_or(0);
        notes.push(format!(
            "collectives of the first {steps} of {all} steps are compared: those of all steps would take too much memory"
        ));
    }
    if ranks.delays.is_contradictory {
        notes.push(
            "collectives of the ranks contradict each other's order, so no rank is blamed: the inputs do not record process groups (torch traces and RCCL's Inspector do)"
                .into(),
        );
    }
    let set_apart = ranks.figures.meetings.iter().filter(|one| one.is_start).count();
    if set_apart > 0 {
        notes.push(format!(
            "{set_apart} first collectives are left out: they show when the profiler began on each rank"
        ));
    }
    // Groups may share a label.
    let mut not_joined: Vec<&String> = ranks.meetings.not_joined.iter().collect();
    not_joined.dedup();
    notes.extend(not_joined.into_iter().take(NAMED).cloned());
    notes
}

fn health(ranks: &Ranks) -> Vec<HealthCheck> {
    let fleet = &ranks.fleet;
    let mut checks = Vec::new();
    let mut add = |id: &str, count: usize, message: String| {
        if count > 0 {
            let (id, value) = (id.to_string(), Some(count as f64));
            checks.push(HealthCheck { id, status: HealthStatus::Warn, value, message });
        }
    };
    let missing = &fleet.missing;
    add("missing_ranks", missing.len(), format!("{} missing", are(missing)));
    let left = fleet.left_out.len();
    let named: Vec<String> =
        fleet.left_out.iter().take(NAMED).map(|left| format!("`{}`: {}", left.path, left.why)).collect();
    let more = if left > NAMED {
        format!("; {} more are in the table left_out", left - NAMED)
    } else {
        String::new()
    };
    let inputs = if left == 1 { "1 input is".to_string() } else { format!("{left} inputs are") };
    add("left_out", left, format!("{inputs} left out: {}{more}", named.join("; ")));
    let refused: Vec<(usize, &str)> = ranks
        .clocks
        .members
        .iter()
        .enumerate()
        .filter_map(|(member, clock)| match clock {
            MemberClock::Refused(why) => Some((member, why.as_str())),
            MemberClock::Aligned(_) => None,
        })
        .collect();
    if fleet.members.len() > 1 {
        let of: Vec<u32> = refused.iter().map(|(member, _)| fleet.members[*member].rank).collect();
        let why = refused.first().map_or("", |first| first.1);
        add("clocks", refused.len(), format!("the clocks of {} are not aligned: {why}", some_ranks(&of)));
    }
    let lost = ranks.meetings.unmatched;
    add(
        "unmatched_collectives",
        lost,
        format!(
            "{lost} of {} collectives have no partner on another rank: records are lost, or ranks are missing",
            ranks.meetings.collectives
        ),
    );
    let problems: Vec<(&str, &str)> = fleet
        .members
        .iter()
        .filter_map(|member| Some((member.label.as_str(), member.problems.first()?.as_str())))
        .collect();
    if let Some((label, problem)) = problems.first() {
        add(
            "rank_traces",
            problems.len(),
            match problems.len() {
                1 => format!("the trace of rank {label} has problems: {problem}"),
                count => format!("the traces of {count} ranks have problems; rank {label}: {problem}"),
            },
        );
    }
    checks
}

/// `rank 3`, `ranks 0-7`, `ranks 1, 5 and 90 more`.
fn some_ranks(ranks: &[u32]) -> String {
    match ranks {
        [] => "no ranks".into(),
        [one] => format!("rank {one}"),
        [first, .., last] if (last - first) as usize == ranks.len() - 1 => format!("ranks {}", ranges(ranks)),
        _ => {
            let named: Vec<String> = ranks.iter().take(NAMED).map(u32::to_string).collect();
            let more = ranks.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("ranks {}{more}", named.join(", "))
        }
    }
}

/// `rank 3 is`, `ranks 0-7 are`.
fn are(ranks: &[u32]) -> String {
    format!("{} {}", some_ranks(ranks), if ranks.len() == 1 { "is" } else { "are" })
}

/// The figures that programs look for.
fn result(ranks: &Ranks) -> serde_json::Value {
    let delays = &ranks.delays;
    let whole = |ns: Option<f64>| ns.map(|ns| ns.round() as i64);
    let aligned =
        ranks.clocks.members.iter().filter(|clock| matches!(clock, MemberClock::Aligned(_))).count();
    json!({
        "ranks": ranks.fleet.members.len(),
        "missing_ranks": ranks.fleet.missing,
        "aligned_ranks": aligned,
        "collectives": ranks.meetings.all.len(),
        "unmatched_collectives": ranks.meetings.unmatched,
        "step_ns": whole(delays.step_ns),
        "step_without_delays_ns": whole(delays.step_without_ns),
        "stragglers": delays.stragglers.iter().map(|straggler| ranks.fleet.members[straggler.member as usize].rank).collect::<Vec<_>>(),
    })
}

pub(crate) fn time(ns: f64) -> String {
    show(&Value::Int(ns.round() as i64), Unit::Ns)
}
