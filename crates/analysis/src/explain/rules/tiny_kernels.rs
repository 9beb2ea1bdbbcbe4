//! Kernels so short that starting them costs as much as running them.

use trace::Table;

use crate::explain::facts::{Facts, Tally};
use crate::explain::rule::{Draft, Rule, Verdict, evidence, shown};
use crate::words::duration;

pub(super) const RULE: Rule = Rule {
    id: "tiny-kernels",
    finds: "many kernels of a few microseconds, which with the gaps around them take much of the time",
    needs: "GPU work",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    let (limits, kernels) = (&facts.limits.tiny_kernels, &facts.trace().kernels);
    let mut tally = Tally::default();
    for (number, gpu) in facts.gpus.iter().enumerate() {
        let mut reached = gpu.first;
        for row in &gpu.rows {
            let (start, end) = (row.work.start, row.work.end);
            if let Some(kernel) = row.row.row_of(Table::Kernels)
                && end - start <= limits.longest_ns
                && end > reached
            {
                // The gap before counts as far as it is one of starting kernels.
                let gap = (start - reached).clamp(0, limits.longest_ns);
                tally.add(number, kernels.name[kernel], (start, end), gap + end - start.max(reached));
            }
            reached = reached.max(end);
        }
    }
    let worth = tally.worth(facts, limits.min_calls, limits.min_pct);
    let findings = worth.into_iter().map(|sum| {
        let draft = Draft {
            id: RULE.id,
            title: format!(
                "{} runs of `{}` take {} on average",
                sum.calls,
                shown(facts, sum.name),
                duration(sum.gain / sum.calls as i64)
            ),
            gain: sum.gain,
            total: facts.gpus[sum.gpu].total(),
            formula: "gain_ceiling_ns = sum of the kernels' time on the clock and of the short gaps before them",
            recommendation: "fuse them, or give each more to do: larger batches, several items in one launch".into(),
            evidence: evidence(facts, &sum),
        };
        draft.finding(facts)
    });
    Verdict::Judged(findings.collect())
}
