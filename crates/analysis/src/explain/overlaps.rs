//! Findings of the overlap analysis that are worth their share of the run.

use report::Finding;

use super::facts::Facts;
use stats::percent;

/// The findings with that id, whose gain is at least that share of the run.
pub(super) fn findings(facts: &Facts, id: &str, min_pct: f64) -> Vec<Finding> {
    let total = facts.total();
    let mut findings = facts.overlap().findings.clone();
    findings.retain(|finding| {
        finding.id == id && percent(finding.gain_ceiling_ns.unwrap_or(0), total) >= min_pct
    });
    findings
}
