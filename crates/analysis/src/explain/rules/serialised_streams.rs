//! Streams that events keep from running at the same time, as the overlap analysis finds it.

use report::Value;

use crate::explain::calls::CallKind;
use crate::explain::facts::Facts;
use crate::explain::overlaps;
use crate::explain::rule::{Rule, Verdict};

pub(super) const RULE: Rule = Rule {
    id: "serialised-streams",
    finds: "kernels of several streams that events force to run one after the other",
    needs: "several streams, and the calls that record and await events",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    let kernels = &facts.trace().kernels;
    let first = kernels.stream.first().copied();
    if kernels.stream.iter().all(|&stream| Some(stream) == first) {
        return Verdict::CannotJudge("all kernels are on one stream".into());
    }
    let Some(wait) = facts.calls.most_frequent(CallKind::WaitEvent) else {
        return Verdict::CannotJudge("no wait for an event is recorded".into());
    };
    let mut findings = overlaps::findings(facts, RULE.id, facts.limits.serialised_streams.min_pct);
    for finding in &mut findings {
        finding.evidence.insert(0, ("name".into(), Value::from(facts.text(wait))));
    }
    Verdict::Judged(findings)
}
