//! A single kernel that is not main work but takes much of the time.

use report::Value;
use trace::{Map, StrId, Table};

use crate::causes::critical_path::Scenario;
use crate::explain::facts::{Facts, Tally};
use crate::explain::rule::{Draft, Rule, Verdict, evidence, shown};
use crate::words::duration;
use stats::percent;

pub(super) const RULE: Rule = Rule {
    id: "slow-kernel",
    finds: "one kernel that is neither matrix product, attention nor communication, with much of the time in long calls",
    needs: "several kernels",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    let (limits, kernels) = (&facts.limits.slow_kernel, &facts.trace().kernels);
    let mut judged = false;
    let mut sums = Vec::new();
    for (number, gpu) in facts.gpus.iter().enumerate() {
        let mut tally = Tally::default();
        let mut durations: Map<StrId, (i64, i64)> = Map::default();
        let mut reached = gpu.span.0;
        for row in &gpu.rows {
            let (start, end) = (row.work.start, row.work.end);
            if let Some(kernel) = row.row.row_of(Table::Kernels) {
                let name = kernels.name[kernel];
                let sum = durations.entry(name).or_default();
                *sum = (sum.0 + end - start, sum.1 + 1);
                let category = facts.context.category(row.row);
                if !limits.main.iter().any(|main| main == category.name()) {
                    tally.add(number, name, (start, end), (end - start.max(reached)).max(0));
                }
            }
            reached = reached.max(end);
        }
        let mut means: Vec<i64> = durations.values().map(|(total, calls)| total / calls).collect();
        means.sort_unstable();
        judged |= means.len() > 1;
        let Some(&typical) = means.get(means.len().saturating_sub(1) / 2).filter(|_| means.len() > 1) else {
            continue;
        };
        let shortest = limits.shortest_ns.max((typical as f64 * limits.times_typical) as i64);
        sums.extend(tally.by_name().into_iter().filter(|sum| {
            let (total, calls) = durations[&sum.name];
            total / calls >= shortest && percent(sum.gain, gpu.total()) >= limits.min_pct
        }));
    }
    if !judged {
        return Verdict::CannotJudge("fewer than two kernels are recorded".into());
    }
    // Report each name once, for the GPU where it costs most.
    sums.sort_by_key(|sum| (sum.name, -sum.gain, sum.gpu));
    sums.dedup_by_key(|sum| sum.name);
    let findings = sums.iter().filter_map(|sum| {
        let total = facts.gpus[sum.gpu].total();
        let mut evidence = evidence(facts, sum);
        evidence.push(("mean_ns", Value::Int(sum.gain / sum.calls as i64)));
        let draft = Draft {
            id: RULE.id,
            about: shown(facts, sum.name),
            title: format!(
                "`{}` has {:.0} % of the time, {} a call",
                shown(facts, sum.name),
                percent(sum.gain, total),
                duration(sum.gain / sum.calls as i64)
            ),
            claimed: sum.gain,
            gpu_ns: sum.gain,
            total,
            min_pct: limits.min_pct,
            formula: "gain_ceiling_ns = the kernel's time on the clock, as if it took none",
            recommendation:
                "profile this kernel: its memory access, its shape, whether another algorithm needs less"
                    .into(),
            evidence,
            scenario: Some(without(facts, sum.name)),
        };
        draft.finding(facts)
    });
    Verdict::Judged(findings.collect())
}

/// The run with zero time for the kernel.
fn without(facts: &Facts, name: StrId) -> Scenario {
    let mut scenario = Scenario::default();
    let kernels = &facts.trace().kernels;
    for row in (0..kernels.len()).filter(|&row| kernels.name[row] == name) {
        scenario.work_takes(trace::RowRef::kernel(row), 0);
    }
    scenario
}
