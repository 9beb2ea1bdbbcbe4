//! Findings of the overlap analysis that are worth their share of the run.

use report::Finding;

use super::facts::Facts;
use super::propagated::propagated;
use crate::causes::critical_path::Scenario;
use stats::percent;

/// The findings of a rule whose gain is at least this share of the run.
pub(super) fn findings(facts: &Facts, rule: &str, min_pct: f64) -> Vec<Finding> {
    let of_rule = facts.overlap().opportunities.iter().filter(|one| one.rule == Some(rule));
    of_rule
        .filter(|one| percent(one.gain_ceiling_ns, facts.total()) >= min_pct)
        .filter_map(|one| {
            let mut scenario = Scenario::default();
            for &(row, exposed) in &one.pieces {
                // It still runs, but overlapped with other work.
                scenario.work_takes(row, facts.context.duration(row) - exposed);
            }
            let mut finding = one.finding()?;
            finding.key = facts.key(rule, &one.kernel_name);
            propagated(facts, finding, one.gain_ceiling_ns, min_pct, scenario)
        })
        .collect()
}
