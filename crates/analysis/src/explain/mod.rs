//! `explain`: what is wrong with a run, by rules over the trace; largest gain first.
//!
//! ```text
//! GPU work ─► idle accounts ─┐
//! copies, kernels, collectives ┴► facts ─► rules ─► scenario ─► what-if engine ─► findings, and what cannot be judged
//! ```
//!
//! Rules judge totals and then list contributors. A gain is what removing the cause would save by propagation
//! through the run's graph, never more than the time it is about. Thresholds are in `rules/explain.toml`.
//!
//! Cost: the idle accounts, one graph of the run, and one propagation per candidate.

mod facts;
mod next_steps;
mod overlaps;
mod propagated;
mod rule;
mod rules;
mod series;
mod thresholds;

use report::{Column, Finding, Report, Table, Value};
use trace::Needs;

use self::facts::Facts;
use self::rule::Verdict;
use self::thresholds::Thresholds;
use crate::base;
use crate::causes::critical_path::{Engine, Scenario};
use crate::causes::idle::{self, IdleAccounts};
use crate::causes::verdict::{self, VerdictOptions};
use crate::serving::fuse::fuse;
use crate::serving::overlap::overlap_needs;
use model::Run;
use stats::percent;

pub use rule::Rule;
pub use rules::RULES;

/// What to read from a trace for `explain`.
pub fn explain_needs() -> Needs {
    Needs { shapes: true, ..overlap_needs() }
}

/// The result of one rule.
pub struct Judgement {
    /// The rule.
    pub rule: &'static Rule,
    /// Why it cannot judge, if it cannot.
    pub cannot: Option<String>,
    /// Keys of its findings.
    pub findings: Vec<String>,
    /// The gain of its largest finding.
    pub gain: Option<i64>,
}

/// What the rules found, and the data behind it.
pub struct Explained {
    /// Every rule that ran, in order.
    pub judgements: Vec<Judgement>,
    /// The findings, largest gain first.
    pub findings: Vec<Finding>,
    /// The run without each finding, by key.
    pub scenarios: Vec<(String, Scenario)>,
    /// The time of all GPUs.
    pub accounts: IdleAccounts,
}

/// What the rules find in a run that was read with [`explain_needs`]; `only` limits the rules, if not empty.
pub fn compute(context: &Run, only: &[String]) -> Explained {
    compute_with_graph(context, only).0
}

/// [`compute`], with the graph of the run if any rule needed it.
pub fn compute_with_graph<'a>(context: &'a Run<'a>, only: &[String]) -> (Explained, Option<Engine<'a>>) {
    // Together the rules need all of these; each is mostly up to one thread.
    let all = only.is_empty();
    let of_time = || rayon::join(|| idle::compute(context), || all.then(|| Engine::of(context)));
    let of_names = || (all && !context.trace.kernels.is_empty()).then(|| fuse(context));
    let ((accounts, engine), fusions) = rayon::join(of_time, of_names);
    let facts = Facts::of(context, accounts, engine, fusions);
    let (mut judgements, mut findings) = (Vec::new(), Vec::new());
    for rule in RULES.iter().filter(|rule| only.is_empty() || only.iter().any(|id| id == rule.id)) {
        let verdict = if facts.gpus.is_empty() {
            Verdict::CannotJudge("no GPU work is recorded".into())
        } else {
            (rule.judge)(&facts)
        };
        let (cannot, found) = match verdict {
            Verdict::CannotJudge(why) => (Some(why), Vec::new()),
            Verdict::Judged(found) => (None, found),
        };
        let keys = found.iter().map(|finding| finding.key.clone()).collect();
        let gain = found.iter().filter_map(|finding| finding.gain_ceiling_ns).max();
        judgements.push(Judgement { rule, cannot, findings: keys, gain });
        findings.extend(found);
    }
    without_shared_time(&mut findings, facts.limits);
    rank(&mut findings);
    let (accounts, scenarios, engine) = facts.finish();
    next_steps::add(&mut findings, &scenarios, context.trace);
    (Explained { judgements, findings, scenarios, accounts }, engine)
}

/// Fusing kernels saves launches too; in a launch-bound run that time belongs to that finding.
fn without_shared_time(findings: &mut Vec<Finding>, limits: &Thresholds) {
    // Why a copy is slow is more useful to know than that nothing overlaps it.
    const SLOW: [&str; 3] = ["pageable-copies", "small-copies", "slow-copies"];
    let name = |finding: &Finding| {
        finding.evidence.iter().find(|(key, _)| key == "name").map(|(_, name)| name.clone())
    };
    let slow: Vec<_> =
        findings.iter().filter(|finding| SLOW.contains(&finding.id.as_str())).filter_map(name).collect();
    findings.retain(|finding| {
        finding.id != "exposed-copies" || name(finding).is_none_or(|name| !slow.contains(&name))
    });
    let launching = findings.iter().find(|finding| finding.id == "launch-bound");
    let Some(launching) = launching.and_then(|finding| finding.gain_ceiling_ns) else { return };
    // Keep tiny kernels only if much of the launch time is before them; otherwise it is not their time.
    findings.retain(|finding| {
        finding.id != "tiny-kernels"
            || finding
                .gain_host_ns
                .is_none_or(|host| percent(host, launching) >= limits.tiny_kernels.min_launch_pct)
    });
    for finding in findings.iter_mut().filter(|finding| finding.id == "fusable-chain") {
        if let Some(gpu) = finding.gain_gpu_ns {
            finding.gain_ceiling_ns = Some(gpu);
            finding.gain_host_ns = Some(0);
        }
    }
}

/// The report: verdict, findings, idle time by cause, and the rules.
pub fn present(context: &Run, explained: &Explained, options: &VerdictOptions) -> Report {
    let mut report = base::report("explain", context.trace);
    report.verdict = Some(verdict::compute(context, &explained.accounts, &explained.findings, options));
    let mut table = rules_table();
    for judgement in &explained.judgements {
        let found = judgement.findings.len();
        let status = match (&judgement.cannot, found) {
            (Some(_), _) => "cannot judge",
            (None, 0) => "clear",
            (None, _) => "found",
        };
        let why = judgement.cannot.as_deref().unwrap_or_default();
        table.push(rule_row(judgement.rule.id, judgement.rule.finds, status, why, found, judgement.gain));
    }
    report.findings = explained.findings.clone();
    report.trace_start_ns = context.trace.bounds().map(|(first, _)| first);
    report.findings_first = true;
    report.notes.push(rules_in_a_line(&explained.judgements).into());
    report.tables = vec![idle::table(context.trace, &explained.accounts), table];
    report
}

/// `12 rules are clear; 3 cannot judge: straggler (one rank only) …`
fn rules_in_a_line(judgements: &[Judgement]) -> String {
    let clear = judgements.iter().filter(|one| one.cannot.is_none() && one.findings.is_empty()).count();
    let silent: Vec<String> = judgements
        .iter()
        .filter_map(|one| one.cannot.as_ref().map(|why| format!("{} ({why})", one.rule.id)))
        .collect();
    let rules = |count: usize| if count == 1 { "1 rule is".into() } else { format!("{count} rules are") };
    match silent.len() {
        0 => format!("{} clear", rules(clear)),
        count => format!("{} clear; {count} cannot judge: {}", rules(clear), silent.join(", ")),
    }
}

/// [`compute`] and [`present`] in one.
pub fn explain(context: &Run, only: &[String], options: &VerdictOptions) -> Report {
    present(context, &compute(context, only), options)
}

/// Name of the table of rules.
pub const RULES_TABLE: &str = "rules";

/// The table `rules`, without rows.
pub fn rules_table() -> Table {
    let columns = vec![
        Column::text("rule").key(),
        Column::text("status").key(),
        Column::int("findings", report::Unit::None),
        Column::int("gain_ceiling_ns", report::Unit::Ns),
        Column::text("why"),
        Column::text("finds").detail(),
    ];
    Table::new(RULES_TABLE, "Rules", columns).detail()
}

/// A row of the table `rules`.
pub fn rule_row(
    id: &str,
    finds: &str,
    status: &str,
    why: &str,
    found: usize,
    most: Option<i64>,
) -> Vec<Value> {
    vec![
        Value::from(id),
        Value::from(status),
        Value::from(found),
        Value::int_or(most, if found == 0 { "nothing found" } else { "the rule names no gain" }),
        Value::from(why),
        Value::from(finds),
    ]
}

/// Sorts findings by gain, largest first.
pub fn rank(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let key = |finding: &Finding| finding.gain_ceiling_ns.unwrap_or(-1);
        (key(b), &a.id, &a.title).cmp(&(key(a), &b.id, &b.title))
    });
}
