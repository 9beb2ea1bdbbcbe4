//! What bounds one kernel, by the rules and as far as its figures tell.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::{Condition, Rules};
use crate::panels::expression::{Expression, Operator};

/// Figures of one kernel by name: counters in capitals, facts in small letters.
pub type Figures = BTreeMap<String, f64>;

/// A label that applies.
#[derive(Clone, Debug, PartialEq)]
pub struct Applies {
    /// `memory bandwidth` …
    pub label: &'static str,
    /// How strongly, 0 to 1.
    pub score: f64,
    /// Each condition with the value that meets it.
    pub evidence: Vec<String>,
    /// What to do about it.
    pub advice: &'static str,
}

/// What bounds a kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Labels that apply, the strongest first.
    pub labels: Vec<Applies>,
    /// Counters that undecided rules need.
    pub counters: Vec<String>,
    /// Facts that undecided rules need.
    pub facts: Vec<String>,
}

impl Verdict {
    /// The strongest label, or why there is none.
    pub fn label(&self) -> &'static str {
        match (self.labels.first(), self.counters.is_empty()) {
            (Some(first), _) => first.label,
            (None, false) => "not enough data",
            (None, true) => "none stands out",
        }
    }
}

/// Judges a kernel by its figures.
pub fn judge(figures: &Figures) -> Verdict {
    let rules: &'static Rules = Rules::built_in();
    let known = with_features(rules, figures);
    let mut verdict = Verdict::default();
    let mut missing: BTreeSet<&str> = BTreeSet::new();
    for rule in &rules.rules {
        let mut evidence = Vec::new();
        let mut unknown: Vec<&Condition> = Vec::new();
        let mut holds = true;
        for condition in &rule.when {
            match (value(&condition.left, &known), value(&condition.right, &known)) {
                (Some(left), Some(right)) => {
                    holds &= condition.operator.apply(left, right) != 0.0;
                    evidence.push(format!("{} is {}", condition.text, shown(left)));
                }
                _ => unknown.push(condition),
            }
        }
        // A condition that fails decides, whatever the others are.
        if !holds {
            continue;
        }
        if unknown.is_empty() {
            let score = value(&rule.score, &known).unwrap_or(0.0).clamp(0.0, 1.0);
            verdict.labels.push(Applies { label: &rule.label, score, evidence, advice: &rule.advice });
        } else {
            for condition in unknown {
                needed(rules, &condition.left, &known, &mut missing);
                needed(rules, &condition.right, &known, &mut missing);
            }
        }
    }
    // Equal scores keep the order of the table.
    verdict.labels.sort_by(|a, b| b.score.total_cmp(&a.score));
    for name in missing {
        let counter = name.starts_with(|c: char| c.is_ascii_uppercase());
        if counter { &mut verdict.counters } else { &mut verdict.facts }.push(name.to_string());
    }
    verdict
}

/// The figures with every feature that they give.
pub(super) fn with_features(rules: &Rules, figures: &Figures) -> Figures {
    let mut known = figures.clone();
    for feature in &rules.features {
        let found = feature.formulas.iter().find_map(|formula| value(formula, &known));
        if let Some(found) = found {
            known.insert(feature.name.clone(), found);
        }
    }
    known
}

/// The value of a formula; none where a name is not known or nothing sensible comes out.
pub(crate) fn value(expression: &Expression, known: &Figures) -> Option<f64> {
    let found = match expression {
        Expression::Number(number) => *number,
        Expression::Missing => return None,
        Expression::Name(name) => *known.get(name)?,
        Expression::Negative(a) => -value(a, known)?,
        Expression::Binary(operator, a, b) => {
            let (a, b) = (value(a, known)?, value(b, known)?);
            if *operator == Operator::Divide && b == 0.0 {
                return None;
            }
            operator.apply(a, b)
        }
        Expression::Choice(parts) => {
            let [condition, then, otherwise] = &**parts;
            value(if value(condition, known)? != 0.0 { then } else { otherwise }, known)?
        }
        Expression::Larger(parts) => value(&parts[0], known)?.max(value(&parts[1], known)?),
        // Channels are summed before figures come here.
        Expression::Whole(a) | Expression::Channels(a, _) => value(a, known)?,
        Expression::OfChannel(name, _) => *known.get(name)?,
    };
    found.is_finite().then_some(found)
}

/// The counters and facts that a formula lacks. Of several formulas of a feature, those of the one that lacks least.
fn needed<'r>(
    rules: &'r Rules,
    expression: &'r Expression,
    known: &Figures,
    missing: &mut BTreeSet<&'r str>,
) {
    let mut names: Vec<&str> = Vec::new();
    expression.names(&mut |name, _| names.push(name));
    for name in names {
        if known.contains_key(name) {
            continue;
        }
        match rules.features.iter().find(|feature| feature.name == name) {
            Some(feature) => {
                let lacks = |formula: &'r Expression| {
                    let mut lacks = BTreeSet::new();
                    needed(rules, formula, known, &mut lacks);
                    lacks
                };
                // What a thread trace alone tells is not asked for where a counter does.
                let count = |lacks: &BTreeSet<&str>| {
                    (lacks.iter().filter(|name| name.starts_with("att_")).count(), lacks.len())
                };
                let least = feature.formulas.iter().map(lacks).min_by_key(count);
                missing.extend(least.into_iter().flatten());
            }
            None => {
                missing.insert(name);
            }
        }
    }
}

fn shown(value: f64) -> String {
    if value.abs() >= 1000.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
