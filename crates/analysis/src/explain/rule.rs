//! What a rule is, and how it words what it found.

use report::{Finding, Severity, Value};

use super::facts::{Facts, Sum};
use crate::base;
use crate::statistics::percent;
use model::names;

/// What a rule says of a run.
pub(super) enum Verdict {
    /// What it found; nothing when all is well.
    Judged(Vec<Finding>),
    /// What the trace lacks.
    CannotJudge(String),
}

/// A rule: one question to the trace.
pub struct Rule {
    /// Stable name, also of its findings.
    pub id: &'static str,
    /// What it finds.
    pub finds: &'static str,
    /// What it needs, without which it cannot judge.
    pub needs: &'static str,
    pub(super) judge: fn(&Facts) -> Verdict,
}

/// A finding in the making.
pub(super) struct Draft {
    pub id: &'static str,
    pub title: String,
    pub gain: i64,
    /// What the gain is a share of.
    pub total: i64,
    pub formula: &'static str,
    pub recommendation: String,
    /// Further evidence.
    pub evidence: Vec<(&'static str, Value)>,
}

impl Draft {
    /// The finding, with severity by its share.
    pub fn finding(self, facts: &Facts) -> Finding {
        let share = percent(self.gain, self.total);
        let severity = match share {
            pct if pct >= facts.limits.severity.high_pct => Severity::High,
            pct if pct >= facts.limits.severity.medium_pct => Severity::Medium,
            _ => Severity::Info,
        };
        let mut evidence: Vec<(String, Value)> = Vec::new();
        evidence.extend(self.evidence.into_iter().map(|(key, value)| (key.to_string(), value)));
        evidence.push(("formula".into(), Value::from(self.formula)));
        evidence.push(("gain_share_pct".into(), Value::Float(share)));
        Finding {
            id: self.id.into(),
            severity,
            title: self.title,
            evidence,
            gain_ceiling_ns: Some(self.gain),
            recommendation: self.recommendation,
        }
    }
}

/// Who, where and when of a sum.
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

/// A name short enough for a title.
pub(super) fn shown(facts: &Facts, name: trace::StrId) -> String {
    names::display_name(facts.text(name))
}

/// `once`, `12 times`
pub(super) fn times(count: usize) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}
