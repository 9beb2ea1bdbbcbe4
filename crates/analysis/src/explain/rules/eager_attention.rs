//! Attention computed step by step: product, softmax, product.

use super::fusable_chain::judge_fusions;
use crate::explain::facts::Facts;
use crate::explain::rule::{Rule, Verdict};

pub(super) const RULE: Rule = Rule {
    id: "eager-attention",
    finds: "attention computed as product, softmax and product, which one kernel does without writing the scores to memory",
    needs: "kernels",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    judge_fusions(facts, RULE.id)
}
