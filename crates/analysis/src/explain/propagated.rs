//! Findings of other analyses, limited to what the run would really gain.

use report::{Finding, Value};

use super::facts::Facts;
use super::rule::severity;
use crate::causes::critical_path::Scenario;
use stats::percent;

/// A finding with its gain capped at what its scenario saves; `None` if that is too little.
pub(super) fn propagated(
    facts: &Facts,
    mut finding: Finding,
    gpu_ns: i64,
    min_pct: f64,
    scenario: Scenario,
) -> Option<Finding> {
    let claimed = finding.gain_ceiling_ns?;
    let saving = facts.engine().map_or(claimed, |engine| engine.saving(&scenario));
    let gain = saving.min(claimed);
    let share = percent(gain, facts.total());
    if share < min_pct {
        return None;
    }
    let gpu = gpu_ns.clamp(0, gain);
    finding.gain_ceiling_ns = Some(gain);
    finding.gain_gpu_ns = Some(gpu);
    finding.gain_host_ns = Some(gain - gpu);
    finding.severity = finding.severity.min(severity(facts, share));
    finding.evidence.push(("gain_share_pct".into(), Value::Float(share)));
    facts.remember(&finding.key, scenario);
    Some(finding)
}
