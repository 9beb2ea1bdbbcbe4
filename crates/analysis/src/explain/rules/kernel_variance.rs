//! Kernels for which the same call occasionally takes far longer.

use report::Value;
use trace::{Map, RowRef, StrId};

use crate::causes::critical_path::Scenario;
use crate::explain::facts::{Facts, Tally};
use crate::explain::rule::{Draft, Rule, Verdict, evidence, shown};
use crate::explain::series::{Series, series};

pub(super) const RULE: Rule = Rule {
    id: "kernel-variance",
    finds: "kernels of which some calls take far longer than most, with the same launch shape and problem size",
    needs: "kernels that ran often enough",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    let limits = &facts.limits.kernel_variance;
    let all = series(facts, limits.min_calls);
    if all.is_empty() {
        return Verdict::CannotJudge(format!("no kernel ran {} times", limits.min_calls));
    }
    let mut tally = Tally::default();
    let mut of_name: Map<StrId, Scenario> = Map::default();
    for one in &all {
        for (time, row, excess) in outliers(facts, one) {
            tally.add(one.gpu, one.name, time, excess);
            of_name.entry(one.name).or_default().work_takes(row, time.1 - time.0 - excess);
        }
    }
    let findings = tally.by_name().into_iter().filter_map(|sum| {
        let calls_of_name = all.iter().filter(|one| one.gpu == sum.gpu && one.name == sum.name);
        let mut evidence = evidence(facts, &sum);
        evidence.push(("of_calls", Value::from(calls_of_name.map(|one| one.calls.len()).sum::<usize>())));
        evidence.push(("outlier_factor", Value::Float(limits.factor)));
        let draft = Draft {
            id: RULE.id,
            about: shown(facts, sum.name),
            title: format!("{} calls of `{}` take {{gain}} longer than most", sum.calls, shown(facts, sum.name)),
            claimed: sum.gain,
            gpu_ns: sum.gain,
            total: facts.gpus[sum.gpu].total(),
            min_pct: limits.min_pct,
            formula: "gain_ceiling_ns = sum of (duration - median) over calls that take outlier_factor times the median",
            recommendation: "look at what else the GPU does at these times: clocks, other streams, different data".into(),
            evidence,
            scenario: of_name.get(&sum.name).cloned(),
        };
        draft.finding(facts)
    });
    Verdict::Judged(findings.collect())
}

/// The outliers of a series that is otherwise tight, with their excess time. First calls have their own rule.
fn outliers(facts: &Facts, series: &Series) -> Vec<((i64, i64), RowRef, i64)> {
    let limits = &facts.limits.kernel_variance;
    let sorted = series.sorted_durations();
    let at = |share: usize| sorted[(sorted.len() - 1) * share / 4];
    let (lower, median, upper) = (at(1), at(2), at(3));
    if median <= 0 || upper as f64 > lower as f64 * limits.core_spread {
        return Vec::new();
    }
    let longest = (median as f64 * limits.factor) as i64;
    let later = series.calls.iter().zip(&series.rows).skip(1);
    let out: Vec<_> = later
        .filter(|(call, _)| call.1 - call.0 > longest)
        .map(|(&call, &row)| (call, row, call.1 - call.0 - median))
        .collect();
    let few = out.len() as f64 <= series.calls.len() as f64 * limits.most_outliers_pct / 100.0;
    if few { out } else { Vec::new() }
}
