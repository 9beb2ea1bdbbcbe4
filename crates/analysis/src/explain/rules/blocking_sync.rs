//! Calls that wait for the GPU, so that it has nothing to do until the host has begun anew.

use crate::explain::facts::{Facts, Tally};
use crate::explain::gaps::Cause;
use crate::explain::rule::{Draft, Rule, Verdict, evidence};
use crate::words::duration;

pub(super) const RULE: Rule = Rule {
    id: "blocking-sync",
    finds: "synchronisations after which the GPU is idle until the host has launched more",
    needs: "calls that launched the work, and the synchronising calls",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    if !facts.has_host_calls() {
        return Verdict::CannotJudge("no launch is recorded".into());
    }
    let limits = &facts.limits.blocking_sync;
    let tally = Tally::of_gaps(facts, |cause| match cause {
        Cause::Sync(call) => Some(call),
        _ => None,
    });
    let worth = tally.worth(facts, limits.min_calls, limits.min_pct);
    let findings = worth.into_iter().map(|sum| {
        let name = facts.text(sum.name);
        let draft = Draft {
            id: RULE.id,
            title: format!("the GPU is idle for {} after {} calls of `{name}`", duration(sum.gain), sum.calls),
            gain: sum.gain,
            total: facts.gpus[sum.gpu].total(),
            formula: "gain_ceiling_ns = sum of the gaps that begin while the launching thread is in this call",
            recommendation: "wait with an event for what is needed, later or on another thread; keep launches ahead of the GPU"
                .into(),
            evidence: evidence(facts, &sum),
        };
        draft.finding(facts)
    });
    Verdict::Judged(findings.collect())
}
