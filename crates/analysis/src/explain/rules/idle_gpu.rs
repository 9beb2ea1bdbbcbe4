//! Long gaps without GPU work, and the host frame or call behind them.

use crate::explain::facts::{Facts, Tally};
use crate::explain::gaps::Cause;
use crate::explain::rule::{Draft, Rule, Verdict, evidence, times};
use crate::statistics::percent;
use crate::words::duration;
use trace::StrId;

pub(super) const RULE: Rule = Rule {
    id: "idle-gpu",
    finds: "long times in which a GPU has nothing to do while the host is busy elsewhere, and the frame, op or call it is in",
    needs: "GPU work; calls that launched it, to name the host's part",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    if !facts.has_host_calls() {
        return without_host(facts);
    }
    let mut tally = Tally::default();
    for (number, gpu) in facts.gpus.iter().enumerate() {
        for gap in &gpu.gaps {
            if let Cause::Host(name) = gap.cause {
                tally.add(number, name.unwrap_or(StrId::EMPTY), (gap.start, gap.end), gap.length());
            }
        }
    }
    let worth = tally.worth(facts, 1, facts.limits.idle_gpu.min_pct);
    let findings = worth.into_iter().map(|sum| {
        let during = match sum.name {
            StrId::EMPTY => "the host is in code that was not recorded".to_string(),
            name => format!("the host is in `{}`", facts.text(name)),
        };
        let total = facts.gpus[sum.gpu].total();
        let advice =
            "move this work to another thread, or prepare the next step while the GPU still has work";
        let cut = percent(sum.worst_gain, total) > facts.limits.idle_gpu.cut_pct;
        let recommendation = match cut {
            true => format!(
                "one gap is most of the time: if the trace was cut there it is not real; else {advice}"
            ),
            false => advice.into(),
        };
        let draft = Draft {
            id: RULE.id,
            title: format!(
                "the GPU is idle for {} while {during} ({})",
                duration(sum.gain),
                times(sum.calls)
            ),
            gain: sum.gain,
            total,
            formula: "gain_ceiling_ns = sum of the gaps whose next work was launched after this host code",
            recommendation,
            evidence: evidence(facts, &sum),
        };
        draft.finding(facts)
    });
    Verdict::Judged(findings.collect())
}

/// How much is idle can be told without the host, why cannot.
fn without_host(facts: &Facts) -> Verdict {
    let idle = facts.gpus.iter().map(|gpu| gpu.total() - gpu.busy).max().unwrap_or(0);
    Verdict::CannotJudge(format!(
        "no launch is recorded: GPUs are idle for up to {}, and nothing tells why",
        duration(idle)
    ))
}
