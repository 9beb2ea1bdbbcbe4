//! Device memory that is allocated and freed in the middle of the work.

use report::Value;

use crate::causes::critical_path::Scenario;
use crate::causes::idle::Cause;
use crate::explain::facts::{Facts, Tally};
use crate::explain::rule::{Draft, Rule, Verdict, contributors, evidence};

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
    let Some((all, sums)) = Tally::of_idle(facts, Cause::Allocating).of_worst_gpu() else {
        return Verdict::Judged(Vec::new());
    };
    if all.calls < limits.min_calls {
        return Verdict::Judged(Vec::new());
    }
    let mut scenario = Scenario::default();
    for piece in facts.gpus.iter().flat_map(|gpu| &gpu.idle).filter(|piece| piece.cause == Cause::Allocating)
    {
        facts.skip(&mut scenario, piece);
    }
    sums.iter().for_each(|sum| scenario.returns_at_once(sum.name));
    let mut evidence = evidence(facts, &sums[0]);
    evidence.push(("contributors", contributors(facts, &sums)));
    evidence.push(("idle_ns", Value::Int(all.gain)));
    let draft = Draft {
        id: RULE.id,
        about: String::new(),
        title: format!(
            "the GPU is idle for {{gain}} while the host allocates and frees memory ({} calls, most in `{}`)",
            all.calls,
            facts.text(sums[0].name)
        ),
        claimed: all.gain,
        gpu_ns: 0,
        total: facts.gpus[all.gpu].total(),
        min_pct: limits.min_pct,
        formula: "gain_ceiling_ns = idle time in calls for memory, as far as the run would end sooner without it",
        recommendation: "keep the memory: allocate once, use a pool or a caching allocator, and do not empty its cache in the loop"
            .into(),
        evidence,
        scenario: Some(scenario),
    };
    Verdict::Judged(draft.finding(facts).into_iter().collect())
}
