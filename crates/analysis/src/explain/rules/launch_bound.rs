//! Stretches in which kernels end before the host has launched the next.

use report::Value;

use crate::explain::facts::{Facts, Gpu, Tally};
use crate::explain::gaps::Cause;
use crate::explain::rule::{Draft, Rule, Verdict, evidence, shown};
use crate::words::duration;

pub(super) const RULE: Rule = Rule {
    id: "launch-bound",
    finds: "stretches in which kernels end before the host has launched the next one",
    needs: "calls that launched the kernels",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    if !facts.has_host_calls() {
        return Verdict::CannotJudge("no launch is recorded".into());
    }
    let limits = &facts.limits.launch_bound;
    let mut tally = Tally::default();
    for (number, gpu) in facts.gpus.iter().enumerate() {
        for gap in gpu.gaps.iter().filter(|gap| gap.cause == Cause::Launch) {
            if let Some(kernel) = gap.next.row_of(trace::Table::Kernels) {
                let name = facts.trace().kernels.name[kernel];
                tally.add(number, name, (gap.start, gap.end), gap.length());
            }
        }
    }
    let worth = tally.worth(facts, limits.min_calls, limits.min_pct);
    let findings = worth.into_iter().map(|sum| {
        let gpu = &facts.gpus[sum.gpu];
        let mut evidence = evidence(facts, &sum);
        if let Some((from, to, kernels)) = longest_stretch(gpu) {
            evidence.push(("longest_stretch_start_ns", Value::Int(from)));
            evidence.push(("longest_stretch_end_ns", Value::Int(to)));
            evidence.push(("longest_stretch_kernels", Value::from(kernels)));
        }
        let draft = Draft {
            id: RULE.id,
            title: format!(
                "the GPU waits {} for launches of `{}` ({} kernels)",
                duration(sum.gain),
                shown(facts, sum.name),
                sum.calls
            ),
            gain: sum.gain,
            total: gpu.total(),
            formula: "gain_ceiling_ns = sum of the short gaps that end with this kernel, launched after they began",
            recommendation: "capture the launches in a graph, fuse the kernels, or take host work out of the launching thread"
                .into(),
            evidence,
        };
        draft.finding(facts)
    });
    Verdict::Judged(findings.collect())
}

/// The longest run of gaps that all wait for a launch: start, end, kernels.
fn longest_stretch(gpu: &Gpu) -> Option<(i64, i64, usize)> {
    let stretches = gpu.gaps.chunk_by(|a, b| a.cause == Cause::Launch && b.cause == Cause::Launch);
    let stretches = stretches.filter(|gaps| gaps[0].cause == Cause::Launch);
    let spans = stretches.map(|gaps| (gaps[0].start, gaps[gaps.len() - 1].end, gaps.len()));
    spans.max_by_key(|&(start, end, _)| (end - start, std::cmp::Reverse(start)))
}
