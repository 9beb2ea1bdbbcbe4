//! Kernels that run one after another although a single kernel for them exists.

use report::{Finding, Value};

use crate::explain::facts::Facts;
use crate::explain::propagated::propagated;
use crate::explain::rule::{Rule, Verdict};
use crate::serving::fuse::FuseInstance;
use stats::percent;

pub(super) const RULE: Rule = Rule {
    id: "fusable-chain",
    finds: "kernels that run one after another although some program is known to have one kernel for them",
    needs: "kernels",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    judge_fusions(facts, RULE.id)
}

/// The fusions of the catalogue that a rule reports.
pub(super) fn judge_fusions(facts: &Facts, id: &str) -> Verdict {
    if facts.trace().kernels.is_empty() {
        return Verdict::CannotJudge("no kernel is recorded".into());
    }
    Verdict::Judged(found(facts, id))
}

/// The fusions that a rule reports and that are worth their share of the run, with an example each.
fn found(facts: &Facts, id: &str) -> Vec<Finding> {
    let least = facts.limits.fusable_chain.min_pct;
    let of_rule = facts.fusions().opportunities.iter().filter(|one| one.rule == id);
    let worth = of_rule.filter(|one| percent(one.gain_ceiling_ns, facts.total()) >= least);
    worth
        .filter_map(|one| {
            let mut finding = one.finding();
            finding
                .evidence
                .extend(one.instances.first().into_iter().flat_map(|first| example(facts, first)));
            propagated(facts, finding, one.gain_gpu_ns, least, one.without(facts.context))
        })
        .collect()
}

/// One example to look at.
fn example(facts: &Facts, instance: &FuseInstance) -> Vec<(String, Value)> {
    let names: Vec<&str> = instance.rows.iter().map(|&row| facts.text(facts.context.name(row))).collect();
    let times = instance.rows.iter().map(|&row| facts.context.time(row));
    let (from, to) = times.fold((i64::MAX, i64::MIN), |(a, b), (c, d)| (a.min(c), b.max(d)));
    vec![
        ("kernel_names".into(), Value::Json(names.into())),
        ("example_start_ns".into(), Value::Int(from)),
        ("example_end_ns".into(), Value::Int(to)),
    ]
}
