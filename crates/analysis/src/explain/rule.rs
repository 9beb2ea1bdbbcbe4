//! Rules, and how they word their findings.

use report::{Finding, Severity, Value};

use super::facts::{Facts, Sum};
use crate::base;
use crate::causes::critical_path::Scenario;
use crate::words::duration;
use model::names;
use stats::percent;

/// The result of a rule on a run.
pub(super) enum Verdict {
    /// The findings; empty if all is well.
    Judged(Vec<Finding>),
    /// What the trace lacks.
    CannotJudge(String),
}

/// A rule: one question about the trace.
pub struct Rule {
    /// Stable id, also used for its findings.
    pub id: &'static str,
    /// What it finds.
    pub finds: &'static str,
    /// What it needs in order to judge.
    pub needs: &'static str,
    pub(super) judge: fn(&Facts) -> Verdict,
}

/// A finding under construction.
pub(super) struct Draft {
    pub id: &'static str,
    /// What distinguishes it from other findings of the rule.
    pub about: String,
    /// Title; `{gain}` stands for the time it would save.
    pub title: String,
    /// The rule's own estimate of the gain; propagation may find less.
    pub claimed: i64,
    /// The part of the gain that is GPU work.
    pub gpu_ns: i64,
    /// The base of the gain's share, and the minimum share for a finding.
    pub total: i64,
    pub min_pct: f64,
    pub formula: &'static str,
    pub recommendation: String,
    /// Further evidence.
    pub evidence: Vec<(&'static str, Value)>,
    /// The run without it; `None` if its effect cannot be propagated.
    pub scenario: Option<Scenario>,
}

impl Draft {
    /// The finding, with severity by share; `None` if it would save too little.
    pub fn finding(self, facts: &Facts) -> Option<Finding> {
        if percent(self.claimed, self.total) < self.min_pct {
            return None;
        }
        let saving = self.scenario.as_ref().and_then(|scenario| Some(facts.engine()?.saving(scenario)));
        let gain = saving.map_or(self.claimed, |saving| saving.min(self.claimed));
        let share = percent(gain, self.total);
        if share < self.min_pct {
            return None;
        }
        let mut evidence: Vec<(String, Value)> = Vec::new();
        evidence.extend(self.evidence.into_iter().map(|(key, value)| (key.to_string(), value)));
        evidence.push(("formula".into(), Value::from(self.formula)));
        evidence.push(("gain_share_pct".into(), Value::Float(share)));
        let key = facts.key(self.id, &self.about);
        if let Some(scenario) = self.scenario {
            facts.remember(&key, scenario);
        }
        let gpu = self.gpu_ns.clamp(0, gain);
        let worded = |text: &str| text.replace("{gain}", &duration(gain));
        Some(Finding {
            id: self.id.into(),
            key,
            severity: severity(facts, share),
            title: worded(&self.title),
            evidence,
            gain_ceiling_ns: Some(gain),
            gain_gpu_ns: Some(gpu),
            gain_host_ns: Some(gain - gpu),
            recommendation: worded(&self.recommendation),
            ..Finding::default()
        })
    }
}

/// The severity of a share of the run.
pub(super) fn severity(facts: &Facts, share: f64) -> Severity {
    match share {
        pct if pct >= facts.limits.severity.high_pct => Severity::High,
        pct if pct >= facts.limits.severity.medium_pct => Severity::Medium,
        _ => Severity::Info,
    }
}

/// Where and when a sum occurred, as evidence.
pub(super) fn evidence(facts: &Facts, sum: &Sum) -> Vec<(&'static str, Value)> {
    let gpu = &facts.gpus[sum.gpu];
    vec![
        ("name", Value::from(facts.text(sum.name))),
        ("rank", base::rank_of(gpu.lane.rank)),
        ("agent", base::agent_of(facts.trace(), gpu.lane.agent)),
        ("calls", Value::from(sum.calls)),
        ("first_ns", Value::Int(sum.first)),
        ("last_ns", Value::Int(sum.last)),
        ("worst_start_ns", Value::Int(sum.worst.0)),
        ("worst_end_ns", Value::Int(sum.worst.1)),
    ]
}

/// The largest contributors to a total, as evidence.
pub(super) fn contributors(facts: &Facts, sums: &[Sum]) -> Value {
    const SHOWN: usize = 8;
    let rows = sums.iter().take(SHOWN).map(
        |sum| serde_json::json!({ "name": facts.text(sum.name), "calls": sum.calls, "time_ns": sum.gain }),
    );
    Value::Json(rows.collect::<Vec<_>>().into())
}

/// A name short enough for a title.
pub(super) fn shown(facts: &Facts, name: trace::StrId) -> String {
    names::display_name(facts.text(name))
}
