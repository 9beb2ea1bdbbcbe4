//! Kernels that run one after another although a single kernel for them exists.

use report::{Finding, Value};

use crate::explain::facts::Facts;
use crate::explain::rule::{Rule, Verdict};
use crate::fuse::Fuse;
use stats::percent;

pub(super) const RULE: Rule = Rule {
    id: "fusable-chain",
    finds: "kernels that run one after another although some program is known to have one kernel for them",
    needs: "kernels",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    if facts.trace().kernels.is_empty() {
        return Verdict::CannotJudge("no kernel is recorded".into());
    }
    Verdict::Judged(found(facts, RULE.id))
}

/// The fusions that are findings of a rule and worth their share of the run, with an example each.
pub(super) fn found(facts: &Facts, id: &str) -> Vec<Finding> {
    let Fuse { findings, instances, .. } = facts.fusions();
    let mut findings = findings.clone();
    findings.retain(|finding| {
        let share = percent(finding.gain_ceiling_ns.unwrap_or(0), facts.total());
        finding.id == id && share >= facts.limits.fusable_chain.min_pct
    });
    for finding in &mut findings {
        let told =
            |key: &str| finding.evidence.iter().find(|(k, _)| k == key).map(|(_, value)| value.clone());
        let (pattern, stage) = (told("pattern"), told("stage"));
        let example = instances.iter().find(|instance| {
            let of_stage = instance.rows.first().map(|&row| facts.context.stage(row).name());
            pattern == Some(Value::from(instance.pattern.as_str())) && stage == of_stage.map(Value::from)
        });
        if let Some(example) = example {
            let names: Vec<&str> =
                example.rows.iter().map(|&row| facts.text(facts.context.name(row))).collect();
            let times = example.rows.iter().map(|&row| facts.context.time(row));
            let (from, to) = times.fold((i64::MAX, i64::MIN), |(a, b), (c, d)| (a.min(c), b.max(d)));
            finding.evidence.push(("kernel_names".into(), Value::Json(names.into())));
            finding.evidence.push(("example_start_ns".into(), Value::Int(from)));
            finding.evidence.push(("example_end_ns".into(), Value::Int(to)));
        }
    }
    findings
}
