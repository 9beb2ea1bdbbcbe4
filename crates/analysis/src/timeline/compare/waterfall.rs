//! What explains the change of the span: contributions that add up to it exactly.

use crate::base::kernel_column;
use std::collections::BTreeMap;

use report::{Column, Table, Unit, Value};

use super::measure::{GpuTime, Run};
use super::rows::{ComparedRow, ComparedRows};
use super::verdict::Verdict;
use stats::percent;

/// One cause of the change of the span, as time per GPU, mean over GPUs and runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanCause {
    /// The kernel, or what else took the time.
    pub name: String,
    /// `kernel`, `place`, `replaced`, `new`, `gone`, `communication`, `copies` or `idle`.
    pub kind: &'static str,
    /// Its part of the base's span.
    pub base_ns: i64,
    /// Its part of the candidate's span.
    pub candidate_ns: i64,
    /// Its verdict.
    pub verdict: Verdict,
}

impl SpanCause {
    /// What it adds to the span.
    pub fn contribution_ns(&self) -> i64 {
        self.candidate_ns - self.base_ns
    }
}

/// A cause before its times are divided by the number of GPUs.
pub(super) struct Cause<'a> {
    pub kind: &'static str,
    pub name: &'a str,
    pub verdict: Verdict,
    pub base: i128,
    pub candidate: i128,
}

/// The causes of the change of the span, largest first; their contributions add up to it.
pub(super) fn causes(base: &[Run], candidate: &[Run], rows: &ComparedRows) -> Vec<SpanCause> {
    let (before, after) = (Sum::of(base), Sum::of(candidate));
    let mut causes: Vec<Cause> = Vec::new();
    for row in &rows.kernels {
        let candidate_name = row.matched_name.as_deref().unwrap_or(&row.name);
        let base = if row.base.is_some() { before.own(&row.name) } else { 0 };
        let candidate = if row.candidate.is_some() { after.own(candidate_name) } else { 0 };
        // Kernels for communication and copies have no time of their own here; they are in the causes below.
        if base == 0 && candidate == 0 {
            continue;
        }
        causes.push(Cause { kind: kind(row), name: &row.name, verdict: row.verdict, base, candidate });
    }
    let whole = |name: &str| rows.end_to_end.iter().find(|row| row.name == name).map(|row| row.verdict);
    causes.extend(other_causes(&before, &after, whole));
    divided(&causes, before.parts, after.parts)
}

/// Causes other than computation, with the verdict on their whole-run row.
pub(super) fn other_causes(
    before: &Sum,
    after: &Sum,
    whole: impl Fn(&str) -> Option<Verdict>,
) -> Vec<Cause<'static>> {
    let mut causes = Vec::new();
    type Figure = fn(&Sum) -> i128;
    let figures: [(&'static str, &'static str, Figure); 3] = [
        ("communication", "exposed_communication", |sum| sum.communication),
        ("copies", "exposed_copies", |sum| sum.copies),
        ("idle", "idle", |sum| sum.idle),
    ];
    for (kind, row, figure) in figures {
        let (base, candidate) = (figure(before), figure(after));
        if base != 0 || candidate != 0 {
            let verdict = whole(row).unwrap_or(Verdict::Inconclusive);
            causes.push(Cause { kind, name: kind, verdict, base, candidate });
        }
    }
    causes
}

fn kind(row: &ComparedRow) -> &'static str {
    match row.verdict {
        Verdict::New => "new",
        Verdict::Gone => "gone",
        _ => "kernel",
    }
}

pub(super) fn divided(causes: &[Cause], base_parts: i128, candidate_parts: i128) -> Vec<SpanCause> {
    // Each side is rounded so that its parts keep their exact sum; then the differences do too.
    let base = rounded(causes.iter().map(|cause| cause.base), base_parts);
    let candidate = rounded(causes.iter().map(|cause| cause.candidate), candidate_parts);
    let sides = base.into_iter().zip(candidate);
    let mut divided: Vec<SpanCause> = causes
        .iter()
        .zip(sides)
        .map(|(cause, (base_ns, candidate_ns))| SpanCause {
            name: cause.name.to_string(),
            kind: cause.kind,
            base_ns,
            candidate_ns,
            verdict: cause.verdict,
        })
        .collect();
    divided.sort_by(|one, other| {
        let key = |cause: &SpanCause| (-cause.contribution_ns().abs(), cause.kind);
        key(one).cmp(&key(other)).then_with(|| one.name.cmp(&other.name))
    });
    divided
}

/// The causes as a table that steps from the base's span to the candidate's.
pub(super) fn table(causes: &[SpanCause]) -> Table {
    let span: i64 = causes.iter().map(|cause| cause.base_ns).sum();
    let columns = vec![
        kernel_column("name"),
        Column::text("kind"),
        Column::int("base_ns", Unit::Ns),
        Column::int("candidate_ns", Unit::Ns),
        Column::int("contribution_ns", Unit::Ns).key(),
        Column::int("contribution_pct", Unit::Pct).key(),
        Column::int("span_ns", Unit::Ns),
        Column::text("verdict"),
    ];
    let mut table = Table::new("waterfall", "What explains the change of the span", columns);
    let mut reached = span;
    for cause in causes {
        let change = cause.contribution_ns();
        reached += change;
        table.push(vec![
            Value::from(cause.name.as_str()),
            Value::from(cause.kind),
            Value::Int(cause.base_ns),
            Value::Int(cause.candidate_ns),
            Value::Int(change),
            Value::Float(percent(change, span)),
            Value::Int(reached),
            Value::from(cause.verdict.name()),
        ]);
    }
    table
}

/// Each value divided by `parts`, rounded so that the sum is the rounded quotient of the sum.
fn rounded(values: impl Iterator<Item = i128>, parts: i128) -> Vec<i64> {
    let quotient = |sum: i128| (2 * sum + parts).div_euclid(2 * parts) as i64;
    let (mut sum, mut given) = (0i128, 0i64);
    let share = |value: i128| {
        sum += value;
        let share = quotient(sum) - given;
        given += share;
        share
    };
    values.map(share).collect()
}

/// Times of all GPUs of all runs of a side.
pub(super) struct Sum {
    /// GPUs over all runs.
    pub parts: i128,
    idle: i128,
    communication: i128,
    copies: i128,
    own: BTreeMap<String, i128>,
}

impl Sum {
    pub fn of(runs: &[Run]) -> Self {
        let all = |figure: fn(&GpuTime) -> i64| runs.iter().map(|run| figure(&run.gpus) as i128).sum();
        let mut own: BTreeMap<String, i128> = BTreeMap::new();
        for (name, &ns) in runs.iter().flat_map(|run| &run.gpus.own) {
            *own.entry(name.clone()).or_default() += ns as i128;
        }
        Self {
            parts: (runs.iter().map(|run| run.gpus.gpus as i128).sum::<i128>()).max(1),
            idle: all(|gpus| gpus.idle),
            communication: all(|gpus| gpus.communication),
            copies: all(|gpus| gpus.copies),
            own,
        }
    }

    /// The computation of all kernels.
    pub fn all_own(&self) -> i128 {
        self.own.values().sum()
    }

    fn own(&self, name: &str) -> i128 {
        self.own.get(name).copied().unwrap_or(0)
    }
}
