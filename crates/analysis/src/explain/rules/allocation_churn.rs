//! Device memory that is got and given back in the middle of the work.

use crate::explain::facts::{Facts, Tally};
use crate::explain::gaps::Cause;
use crate::explain::rule::{Draft, Rule, Verdict, evidence};
use crate::words::duration;

pub(super) const RULE: Rule = Rule {
    id: "allocation-churn",
    finds: "GPUs that are idle while the host allocates and frees memory again and again",
    needs: "calls that launched the work, and the calls for memory",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    if !facts.has_host_calls() {
        return Verdict::CannotJudge("no launch is recorded".into());
    }
    let limits = &facts.limits.allocation_churn;
    let tally = Tally::of_gaps(facts, |cause| match cause {
        Cause::Memory(call) => Some(call),
        _ => None,
    });
    let worth = tally.worth(facts, limits.min_calls, limits.min_pct);
    let findings = worth.into_iter().map(|sum| {
        let name = facts.text(sum.name);
        let draft = Draft {
            id: RULE.id,
            title: format!(
                "the GPU is idle for {} around {} calls of `{name}`",
                duration(sum.gain),
                sum.calls
            ),
            gain: sum.gain,
            total: facts.gpus[sum.gpu].total(),
            formula: "gain_ceiling_ns = sum of the gaps of which calls for memory cover more than half",
            recommendation: "keep the memory: allocate once, use a pool or a caching allocator".into(),
            evidence: evidence(facts, &sum),
        };
        draft.finding(facts)
    });
    Verdict::Judged(findings.collect())
}
