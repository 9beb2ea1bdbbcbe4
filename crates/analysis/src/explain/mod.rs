//! `explain`: what is wrong with a run, by rules over the trace, most to win first.
//!
//! ```text
//! GPU work ─► gaps ─► launches ─► host threads ─┐
//! copies, kernels, collectives ─────────────────┴► facts ─► rules ─► findings, and what could not be judged
//! ```
//!
//! A gain ceiling is the most that could be won if the one thing were gone; ceilings of different findings may be
//! about the same time. Thresholds are in `rules/explain.toml`.
//!
//! Cost: one sort of each GPU's rows, then passes over rows and regions; a binary search per gap.

mod calls;
mod facts;
mod gaps;
mod overlaps;
mod rule;
mod rules;
mod series;
mod thresholds;

use report::{Column, Finding, Report, Table, Value};
use trace::Needs;

use self::facts::Facts;
use self::rule::Verdict;
use crate::base;
use crate::overlap::overlap_needs;
use crate::triage::Context;

pub use rule::Rule;
pub use rules::RULES;

/// What traces must be read with.
pub fn explain_needs() -> Needs {
    Needs { shapes: true, ..overlap_needs() }
}

/// What the rules find in a run read with [`explain_needs`]; only those named, where any are.
pub fn explain(context: &Context, only: &[String]) -> Report {
    let mut report = base::report("explain", context.trace);
    let mut table = rules_table();
    let facts = Facts::of(context);
    for rule in RULES.iter().filter(|rule| only.is_empty() || only.iter().any(|id| id == rule.id)) {
        let verdict = if facts.gpus.is_empty() {
            Verdict::CannotJudge("no GPU work is recorded".into())
        } else {
            (rule.judge)(&facts)
        };
        let (status, why, findings) = match verdict {
            Verdict::CannotJudge(why) => ("cannot judge", why, Vec::new()),
            Verdict::Judged(findings) if findings.is_empty() => ("clear", String::new(), findings),
            Verdict::Judged(findings) => ("found", String::new(), findings),
        };
        table.push(rule_row(rule.id, rule.finds, status, &why, &findings));
        report.findings.extend(findings);
    }
    rank(&mut report.findings);
    report.trace_start_ns = context.trace.bounds().map(|(first, _)| first);
    report.tables = vec![table];
    report
}

/// The table `rules`, still empty.
pub fn rules_table() -> Table {
    let columns = vec![
        Column::text("rule").key(),
        Column::text("status").key(),
        Column::int("findings", report::Unit::None),
        Column::int("gain_ceiling_ns", report::Unit::Ns),
        Column::text("why"),
        Column::text("finds").detail(),
    ];
    Table::new("rules", "Rules", columns)
}

/// A row of it.
pub fn rule_row(id: &str, finds: &str, status: &str, why: &str, findings: &[Finding]) -> Vec<Value> {
    let most = findings.iter().filter_map(|finding| finding.gain_ceiling_ns).max();
    vec![
        Value::from(id),
        Value::from(status),
        Value::from(findings.len()),
        Value::int_or(most, if findings.is_empty() { "nothing found" } else { "the rule names no gain" }),
        Value::from(why),
        Value::from(finds),
    ]
}

/// Puts what could win most first.
pub fn rank(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let key = |finding: &Finding| finding.gain_ceiling_ns.unwrap_or(-1);
        (key(b), &a.id, &a.title).cmp(&(key(a), &b.id, &b.title))
    });
}
