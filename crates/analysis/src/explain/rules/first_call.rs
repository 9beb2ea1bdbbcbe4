//! First calls that take far longer than all later calls.

use trace::{Map, StrId};

use crate::causes::critical_path::Scenario;
use crate::causes::idle::Cause;
use crate::explain::facts::{Facts, Tally};
use crate::explain::rule::{Draft, Rule, Verdict, evidence, shown};
use crate::explain::series::series;

pub(super) const RULE: Rule = Rule {
    id: "first-call",
    finds: "kernels whose first call takes far longer than any later one, and idle time while code is loaded or compiled",
    needs: "kernels that ran often enough",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    let limits = &facts.limits.first_call;
    let all = series(facts, limits.min_calls);
    let mut findings: Vec<report::Finding> = loading(facts).into_iter().collect();
    if all.is_empty() && findings.is_empty() {
        return Verdict::CannotJudge(format!("no kernel ran {} times", limits.min_calls));
    }
    let mut tally = Tally::default();
    let mut of_name: Map<StrId, Scenario> = Map::default();
    for one in &all {
        let first = one.calls[0];
        let took = first.1 - first.0;
        let sorted = one.sorted_durations();
        let median = sorted[(sorted.len() - 1) / 2];
        let longest_later = one.calls[1..].iter().map(|call| call.1 - call.0).max().unwrap_or(0);
        let sticks_out = took as f64 >= median as f64 * limits.factor
            && took as f64 >= longest_later as f64 * limits.beyond_longest;
        if sticks_out && median > 0 {
            tally.add(one.gpu, one.name, first, took - median);
            of_name.entry(one.name).or_default().work_takes(one.rows[0], median);
        }
    }
    findings.extend(tally.by_name().into_iter().filter_map(|sum| {
        let draft = Draft {
            id: RULE.id,
            about: shown(facts, sum.name),
            title: format!(
                "the first call of `{}` takes {{gain}} longer than later ones",
                shown(facts, sum.name)
            ),
            claimed: sum.gain,
            gpu_ns: sum.gain,
            total: facts.gpus[sum.gpu].total(),
            min_pct: limits.min_pct,
            formula: "gain_ceiling_ns = duration of the first call - median",
            recommendation: "warm up before measuring or serving; load, compile and tune code ahead of time"
                .into(),
            evidence: evidence(facts, &sum),
            scenario: of_name.get(&sum.name).cloned(),
        };
        draft.finding(facts)
    }));
    Verdict::Judged(findings)
}

/// Idle time while the host loads or compiles code.
fn loading(facts: &Facts) -> Option<report::Finding> {
    let (all, sums) = Tally::of_idle(facts, Cause::FirstCall).of_worst_gpu()?;
    let mut scenario = Scenario::default();
    for piece in facts.gpus.iter().flat_map(|gpu| &gpu.idle).filter(|piece| piece.cause == Cause::FirstCall) {
        facts.skip(&mut scenario, piece);
        scenario.without_launch_latency(piece.next);
    }
    let draft = Draft {
        id: RULE.id,
        about: "loading".into(),
        title: format!(
            "the GPU is idle for {{gain}} while the host loads or compiles code ({} calls, most in `{}`)",
            all.calls,
            facts.text(sums[0].name)
        ),
        claimed: all.gain,
        gpu_ns: 0,
        total: facts.gpus[all.gpu].total(),
        min_pct: facts.limits.first_call.min_pct,
        formula: "gain_ceiling_ns = idle time in calls that load code, or that launch a kernel for the first time and take far longer than usual",
        recommendation: "warm up before measuring or serving; load, compile and tune code ahead of time"
            .into(),
        evidence: evidence(facts, &sums[0]),
        scenario: Some(scenario),
    };
    draft.finding(facts)
}
