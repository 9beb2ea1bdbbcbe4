//! Kernels whose same call now and then takes far longer.

use report::Value;

use crate::explain::facts::{Facts, Tally};
use crate::explain::rule::{Draft, Rule, Verdict, evidence, shown};
use crate::explain::series::{Series, series};
use crate::words::duration;

pub(super) const RULE: Rule = Rule {
    id: "kernel-variance",
    finds: "kernels of which some calls take far longer than most, with the same launch shape",
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
    for one in &all {
        for (time, excess) in outliers(facts, one) {
            tally.add(one.gpu, one.name, time, excess);
        }
    }
    let worth = tally.worth(facts, 1, limits.min_pct);
    let findings = worth.into_iter().map(|sum| {
        let of_name = all.iter().filter(|one| one.gpu == sum.gpu && one.name == sum.name);
        let mut evidence = evidence(facts, &sum);
        evidence.push(("of_calls", Value::from(of_name.map(|one| one.calls.len()).sum::<usize>())));
        evidence.push(("outlier_factor", Value::Float(limits.factor)));
        let draft = Draft {
            id: RULE.id,
            title: format!(
                "{} calls of `{}` take {} longer than most",
                sum.calls,
                shown(facts, sum.name),
                duration(sum.gain)
            ),
            gain: sum.gain,
            total: facts.gpus[sum.gpu].total(),
            formula: "gain_ceiling_ns = sum of (duration - median) over calls that take outlier_factor times the median",
            recommendation: "look at what else the GPU does at these times: clocks, other streams, different data".into(),
            evidence,
        };
        draft.finding(facts)
    });
    Verdict::Judged(findings.collect())
}

/// The calls that stick out of a tight middle, with what they take too much. The first call has a rule of its own.
fn outliers(facts: &Facts, series: &Series) -> Vec<((i64, i64), i64)> {
    let limits = &facts.limits.kernel_variance;
    let sorted = series.sorted_durations();
    let at = |share: usize| sorted[(sorted.len() - 1) * share / 4];
    let (lower, median, upper) = (at(1), at(2), at(3));
    if median <= 0 || upper as f64 > lower as f64 * limits.core_spread {
        return Vec::new();
    }
    let longest = (median as f64 * limits.factor) as i64;
    let later = series.calls.iter().skip(1);
    let out: Vec<_> = later
        .filter(|call| call.1 - call.0 > longest)
        .map(|&call| (call, call.1 - call.0 - median))
        .collect();
    let few = out.len() as f64 <= series.calls.len() as f64 * limits.most_outliers_pct / 100.0;
    if few { out } else { Vec::new() }
}
