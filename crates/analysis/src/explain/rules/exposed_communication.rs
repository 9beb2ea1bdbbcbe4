//! Communication that no computation overlaps, as found by the overlap analysis.

use crate::explain::facts::Facts;
use crate::explain::overlaps;
use crate::explain::rule::{Rule, Verdict};
use model::classify::Category;

pub(super) const RULE: Rule = Rule {
    id: "exposed-communication",
    finds: "communication without computation beside it, which computation of the same step could hide",
    needs: "communication kernels",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    let context = facts.context;
    let communicates = context.rows.iter().any(|&row| context.category(row) == Category::Communication);
    if !communicates {
        return Verdict::CannotJudge("no communication kernel is recorded".into());
    }
    Verdict::Judged(overlaps::findings(facts, RULE.id, facts.limits.exposed_communication.min_pct))
}
