//! First calls that take far longer than all later ones.

use crate::explain::facts::{Facts, Tally};
use crate::explain::rule::{Draft, Rule, Verdict, evidence, shown};
use crate::explain::series::series;
use crate::words::duration;

pub(super) const RULE: Rule = Rule {
    id: "first-call",
    finds: "kernels whose first call takes far longer than any later one",
    needs: "kernels that ran often enough",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    let limits = &facts.limits.first_call;
    let all = series(facts, limits.min_calls);
    if all.is_empty() {
        return Verdict::CannotJudge(format!("no kernel ran {} times", limits.min_calls));
    }
    let mut tally = Tally::default();
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
        }
    }
    let worth = tally.worth(facts, 1, limits.min_pct);
    let findings = worth.into_iter().map(|sum| {
        let draft = Draft {
            id: RULE.id,
            title: format!(
                "the first call of `{}` takes {} longer than later ones",
                shown(facts, sum.name),
                duration(sum.gain)
            ),
            gain: sum.gain,
            total: facts.gpus[sum.gpu].total(),
            formula: "gain_ceiling_ns = duration of the first call - median",
            recommendation: "warm up before measuring or serving; load, compile and tune code ahead of time"
                .into(),
            evidence: evidence(facts, &sum),
        };
        draft.finding(facts)
    });
    Verdict::Judged(findings.collect())
}
