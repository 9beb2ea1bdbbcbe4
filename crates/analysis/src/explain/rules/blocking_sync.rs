//! Calls in which the host waits for the GPU, after which the GPU waits for the host.

use report::Value;

use crate::causes::critical_path::Scenario;
use crate::causes::idle::Cause;
use crate::explain::facts::{Facts, Tally};
use crate::explain::rule::{Draft, Rule, Verdict, evidence};
use crate::words::times;
use stats::percent;

pub(super) const RULE: Rule = Rule {
    id: "blocking-sync",
    finds: "calls that wait for the GPU to finish, so that it runs dry before the host launches more",
    needs: "calls that launched the work",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    if !facts.has_host_calls() {
        return Verdict::CannotJudge("no launch is recorded".into());
    }
    let limits = &facts.limits.blocking_sync;
    let mut sums = Tally::of_idle(facts, Cause::BlockingCall).by_name();
    sums.retain(|sum| percent(sum.gain, facts.gpus[sum.gpu].total()) >= limits.min_idle_pct);
    let findings = sums.into_iter().filter_map(|sum| {
        let gpu = &facts.gpus[sum.gpu];
        let mut scenario = Scenario::default();
        scenario.returns_at_once(sum.name);
        facts.skip_calls(&mut scenario, sum.name);
        facts.start_with_calls(&mut scenario, sum.name);
        let mut evidence = evidence(facts, &sum);
        evidence.push(("idle_ns", Value::Int(sum.gain)));
        let name = facts.text(sum.name);
        let draft = Draft {
            id: RULE.id,
            about: name.to_string(),
            title: format!("the host waits for the GPU in `{name}` ({}); without that the run is {{gain}} shorter", times(sum.calls)),
            // The host would run ahead: launches that the GPU now waits for would come in time.
            claimed: gpu.idle_total(),
            gpu_ns: 0,
            total: gpu.total(),
            min_pct: limits.min_pct,
            formula: "gain_ceiling_ns = how much sooner the run ends if the call is not made, at most all idle time",
            recommendation: "read results later or in bulk, copy asynchronously, use events instead of waiting; `.item()`, `.cpu()` and printing a tensor wait too"
                .into(),
            evidence,
            scenario: Some(scenario),
        };
        draft.finding(facts)
    });
    Verdict::Judged(findings.collect())
}
