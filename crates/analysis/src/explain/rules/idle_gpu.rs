//! Time without GPU work while the host runs other code, and the function that this time belongs to.

use crate::causes::critical_path::Scenario;
use crate::causes::idle::Cause;
use crate::explain::facts::{Facts, Tally};
use crate::explain::rule::{Draft, Rule, Verdict, evidence};
use crate::words::{duration, times};
use stats::percent;

pub(super) const RULE: Rule = Rule {
    id: "idle-gpu",
    finds: "time in which a GPU has nothing to do because the host runs other code, and the function, op or annotation it is in",
    needs: "GPU work; calls that launched it, to name the host's part",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    if !facts.has_host_calls() {
        return without_host(facts);
    }
    let min_pct = facts.limits.idle_gpu.min_pct;
    let mut findings = Vec::new();
    for (cause, during) in
        [(Cause::HostCode, ""), (Cause::NotRecorded, "the host is in code that was not recorded")]
    {
        for sum in Tally::of_idle(facts, cause).by_name() {
            let total = facts.gpus[sum.gpu].total();
            let name = facts.text(sum.name);
            let during =
                if during.is_empty() { format!("the host is in `{name}`") } else { during.to_string() };
            let advice =
                "move this work to another thread, or prepare the next step while the GPU still has work";
            let cut = percent(sum.worst_gain, total) > facts.limits.idle_gpu.cut_pct;
            let recommendation = match cut {
                true => format!(
                    "one gap is most of the time: if the trace was cut there it is not real; else {advice}"
                ),
                false => advice.into(),
            };
            let mut scenario = Scenario::default();
            let pieces = facts.gpus.iter().flat_map(|gpu| &gpu.idle);
            for piece in pieces.filter(|piece| piece.cause == cause && piece.place == sum.name) {
                facts.skip(&mut scenario, piece);
            }
            let draft = Draft {
                id: RULE.id,
                about: if name.is_empty() { cause.name().into() } else { name.to_string() },
                title: format!("the GPU is idle for {{gain}} while {during} ({})", times(sum.calls)),
                claimed: sum.gain,
                gpu_ns: 0,
                total,
                min_pct,
                formula: "gain_ceiling_ns = idle time that this host code fills, as far as the run would end sooner without it",
                recommendation,
                evidence: evidence(facts, &sum),
                scenario: (cause == Cause::HostCode).then_some(scenario),
            };
            findings.extend(draft.finding(facts));
        }
    }
    Verdict::Judged(findings)
}

/// Without host calls the idle time is known but not its cause.
fn without_host(facts: &Facts) -> Verdict {
    let idle = facts.gpus.iter().map(|gpu| gpu.idle_total()).max().unwrap_or(0);
    Verdict::CannotJudge(format!(
        "no launches are recorded: GPUs are idle for up to {}, cause unknown",
        duration(idle)
    ))
}
