//! The next step for each finding.

use report::{Finding, NextStep, Value};
use trace::Trace;

use crate::causes::critical_path::Scenario;

/// The kind of next step for findings of a rule.
#[derive(Clone, Copy)]
enum Look {
    /// Predict the run without it.
    Without,
    Overlap,
    Copies,
    Kernel,
    Roofline,
    Ranks,
    Triage,
}

const LOOKS: &[(&str, Look)] = &[
    ("agent-imbalance", Look::Ranks),
    ("allocation-churn", Look::Without),
    ("blocking-sync", Look::Without),
    ("eager-attention", Look::Triage),
    ("exposed-communication", Look::Overlap),
    ("exposed-copies", Look::Overlap),
    ("first-call", Look::Without),
    ("fusable-chain", Look::Triage),
    ("idle-gpu", Look::Without),
    ("kernel-variance", Look::Kernel),
    ("launch-bound", Look::Without),
    ("pageable-copies", Look::Copies),
    ("serialised-streams", Look::Overlap),
    ("slow-copies", Look::Copies),
    ("slow-kernel", Look::Roofline),
    ("small-copies", Look::Copies),
    ("straggler", Look::Ranks),
    ("tiny-kernels", Look::Without),
];

/// Gives every finding its next step; `scenarios` has the findings whose removal can be predicted.
pub(super) fn add(findings: &mut [Finding], scenarios: &[(String, Scenario)], trace: &Trace) {
    // A roofline needs counters or ops with shapes.
    let is_placed = !trace.counters.is_empty()
        || !trace.counter_columns.is_empty()
        || trace.strings.find("Input Dims").is_some();
    for finding in findings {
        let look = LOOKS.iter().find(|(id, _)| *id == finding.id).map(|(_, look)| *look);
        let name = || kernel(finding).unwrap_or_default();
        let can_predict = || scenarios.iter().any(|(key, _)| *key == finding.key);
        finding.next_step = Some(match look {
            Some(Look::Without) if can_predict() => NextStep::Without(finding.key.clone()),
            Some(Look::Without) | None => NextStep::CriticalPath,
            Some(Look::Overlap) => NextStep::Overlap,
            Some(Look::Copies) => NextStep::Copies,
            Some(Look::Kernel) => NextStep::Kernel(name()),
            Some(Look::Roofline) if is_placed => NextStep::Roofline(name()),
            Some(Look::Roofline) => NextStep::Bottleneck(name()),
            Some(Look::Ranks) => NextStep::Ranks,
            Some(Look::Triage) => NextStep::Triage,
        });
    }
}

/// The kernel of a finding.
fn kernel(finding: &Finding) -> Option<String> {
    finding.evidence.iter().find_map(|(key, value)| match value {
        Value::Text(name) if key == "name" || key == "kernel_name" => Some(name.clone()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::RULES;

    #[test]
    fn every_rule_says_what_looks_closer() {
        for rule in RULES {
            assert!(LOOKS.iter().any(|(id, _)| *id == rule.id), "{}", rule.id);
        }
        assert_eq!(LOOKS.len(), RULES.len());
    }
}
