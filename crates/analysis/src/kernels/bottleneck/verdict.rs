//! What bounds one kernel according to the rules, as far as its figures are known.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use expr::{Expression, Operator};
use trace::Map;

use super::figures::FACTS;
use super::rules::{Condition, Rules};

/// Figures of one kernel by name: counters in upper case, facts in lower case.
pub type Figures = BTreeMap<String, f64>;

/// One condition that holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// The metric: `hbm_pct`.
    pub metric: &'static str,
    /// Its value.
    pub value: f64,
    /// The whole condition: `hbm_pct >= 60`.
    pub threshold: &'static str,
    /// Where the value comes from: `counters`, `thread trace`, `trace`.
    pub source: &'static str,
}

impl Evidence {
    /// As text: `hbm_pct >= 60 is 85.0`.
    pub fn text(&self) -> String {
        format!("{} is {}", self.threshold, shown(self.value))
    }
}

/// A label that applies.
#[derive(Clone, Debug, PartialEq)]
pub struct Applies {
    /// `memory bandwidth` …
    pub label: &'static str,
    /// Strength, 0 to 1.
    pub score: f64,
    /// Each condition with its value.
    pub evidence: Vec<Evidence>,
    /// Upper limit of the gain in nanoseconds over all dispatches, if known.
    pub gain_ns: Option<i64>,
    /// What to do about it.
    pub advice: &'static str,
}

impl Applies {
    /// All conditions with their values, on one line.
    pub fn text(&self) -> String {
        self.evidence.iter().map(Evidence::text).collect::<Vec<_>>().join("; ")
    }
}

/// What bounds a kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Labels that apply, strongest first.
    pub labels: Vec<Applies>,
    /// Counters that undecided rules need, limited to those the GPU has.
    pub counters: Arc<[String]>,
    /// Facts that undecided rules need.
    pub facts: Arc<[String]>,
}

impl Verdict {
    /// The strongest label, or why there is none.
    pub fn label(&self) -> &'static str {
        match (self.labels.first(), self.counters.is_empty() && self.lacks().is_empty()) {
            (Some(first), _) => first.label,
            (None, false) => "not enough data",
            (None, true) => "none stands out",
        }
    }

    /// What the source itself should have recorded: times, and the GPU. Other runs record the rest.
    pub fn lacks(&self) -> Vec<&str> {
        self.facts.iter().map(String::as_str).filter(|name| FACTS.contains(&(*name, true))).collect()
    }
}

/// Judges a kernel by its figures, on an unknown GPU.
pub fn judge(figures: &Figures) -> Verdict {
    judge_on(figures, None)
}

/// Judges a kernel by its figures on an architecture, as the counter catalogue names it.
pub fn judge_on(figures: &Figures, arch: Option<&str>) -> Verdict {
    Judge::default().judge(figures, arch)
}

/// Counters and facts that undecided rules need.
type Lacking = (Arc<[String]>, Arc<[String]>);

/// Judges many kernels. Most of them lack the same figures, so the list is computed once and shared.
#[derive(Default)]
pub(super) struct Judge {
    /// By known figures, GPU and open conditions.
    lacking: Map<String, Lacking>,
}

impl Judge {
    pub(super) fn judge(&mut self, figures: &Figures, arch: Option<&str>) -> Verdict {
        let rules: &'static Rules = Rules::built_in();
        let known = with_features(rules, figures, arch);
        let needs = Needs { rules, known: &known, arch };
        let mut labels = Vec::new();
        let mut undecided: Vec<Vec<&'static Condition>> = Vec::new();
        let mut key = arch.unwrap_or_default().to_string();
        for (place, rule) in rules.rules.iter().enumerate() {
            let mut evidence = Vec::new();
            let mut unknown: Vec<(usize, &'static Condition)> = Vec::new();
            let mut holds = true;
            for (which, condition) in rule.when.iter().enumerate() {
                match (value(&condition.left, &known), value(&condition.right, &known)) {
                    (Some(left), Some(right)) => {
                        holds &= condition.operator.apply(left, right) != 0.0;
                        evidence.push((condition, left));
                    }
                    _ => unknown.push((which, condition)),
                }
            }
            // One failed condition is enough, whatever the others are.
            if !holds {
                continue;
            }
            if unknown.is_empty() {
                let score = value(&rule.score, &known).unwrap_or(0.0).clamp(0.0, 1.0);
                let gain = rule.gain.as_ref().and_then(|gain| value(gain, &known));
                let gain_ns = gain.map(|gain| gain.max(0.0).round() as i64);
                let evidence = evidence.into_iter().map(|(condition, left)| needs.evidence(condition, left));
                labels.push(Applies {
                    label: &rule.label,
                    score,
                    evidence: evidence.collect(),
                    gain_ns,
                    advice: &rule.advice,
                });
            } else {
                for (which, _) in &unknown {
                    // Writing to a string cannot fail.
                    let _ = write!(key, " {place}.{which}");
                }
                undecided.push(unknown.into_iter().map(|(_, condition)| condition).collect());
            }
        }
        // Equal scores keep the order of the table; of several rules with one label, keep the strongest.
        labels.sort_by(|a, b| b.score.total_cmp(&a.score));
        let mut said: BTreeSet<&str> = BTreeSet::new();
        labels.retain(|applies: &Applies| said.insert(applies.label));
        for name in known.keys() {
            key.push(' ');
            key.push_str(name);
        }
        let (counters, facts) = self.lacking.entry(key).or_insert_with(|| needs.of_all(&undecided)).clone();
        Verdict { labels, counters, facts }
    }
}

/// The counters that decide all rules on an architecture.
pub fn bottleneck_counters(arch: &str) -> Vec<String> {
    let rules = Rules::built_in();
    let nothing = Figures::new();
    let needs = Needs { rules, known: &nothing, arch: Some(arch) };
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for condition in rules.rules.iter().flat_map(|rule| &rule.when) {
        for side in [&condition.left, &condition.right] {
            names.extend(needs.of(side).into_iter().flatten());
        }
    }
    let counter = |name: &&str| name.starts_with(|c: char| c.is_ascii_uppercase());
    names.into_iter().filter(counter).map(str::to_string).collect()
}

/// The figures plus every feature that follows from them.
pub(super) fn with_features(rules: &Rules, figures: &Figures, arch: Option<&str>) -> Figures {
    let mut known = figures.clone();
    for feature in rules.features.iter().filter(|feature| feature.is_of(arch)) {
        let found = feature.formulas.iter().find_map(|formula| value(formula, &known));
        if let Some(found) = found {
            known.entry(feature.name.clone()).or_insert(found);
        }
    }
    known
}

/// The value of a formula; `None` if a name is not known or the result is not finite.
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
        Expression::Call(function, parts) => {
            let arguments: Option<Vec<f64>> = parts.iter().map(|part| value(part, known)).collect();
            function.apply(&arguments?)
        }
        Expression::Not(a) => f64::from(u8::from(value(a, known)? == 0.0)),
        // Rule tables only compare two numbers, never words.
        Expression::Text(_) | Expression::Chain(..) | Expression::In(..) => return None,
        // Channels are already summed in the figures.
        Expression::Whole(a) | Expression::Channels(a, _) => value(a, known)?,
        Expression::OfChannel(name, _) => *known.get(name)?,
    };
    found.is_finite().then_some(found)
}

/// Finds out what a GPU could still measure.
struct Needs<'k> {
    rules: &'static Rules,
    known: &'k Figures,
    arch: Option<&'k str>,
}

impl Needs<'_> {
    /// The counters and facts that rules with these undecided conditions lack.
    fn of_all(&self, undecided: &[Vec<&'static Condition>]) -> Lacking {
        let mut missing: BTreeSet<&str> = BTreeSet::new();
        for unknown in undecided {
            // A rule that this GPU cannot decide needs nothing.
            let lacking: Option<Vec<BTreeSet<&str>>> =
                unknown.iter().flat_map(|of| [self.of(&of.left), self.of(&of.right)]).collect();
            missing.extend(lacking.into_iter().flatten().flatten());
        }
        let is_counter = |name: &str| name.starts_with(|c: char| c.is_ascii_uppercase());
        let (counters, facts): (Vec<String>, Vec<String>) =
            missing.into_iter().map(str::to_string).partition(|name| is_counter(name));
        (counters.into(), facts.into())
    }

    /// The counters and facts that a formula lacks; `None` if the GPU cannot measure one of them. If a
    /// feature has several definitions, the one that lacks least.
    fn of(&self, expression: &'static Expression) -> Option<BTreeSet<&'static str>> {
        let mut names: Vec<&'static str> = Vec::new();
        expression.names(&mut |name, _| names.push(name));
        let mut lacks = BTreeSet::new();
        for name in names {
            if self.known.contains_key(name) {
                continue;
            }
            let mut features = self.rules.features.iter().filter(|feature| feature.name == name).peekable();
            if features.peek().is_some() {
                let ways =
                    features.filter(|feature| feature.is_of(self.arch)).flat_map(|feature| &feature.formulas);
                // Prefer counters over facts that need a thread trace.
                let count = |lacks: &BTreeSet<&str>| {
                    (lacks.iter().filter(|name| name.starts_with("att_")).count(), lacks.len())
                };
                lacks.extend(ways.filter_map(|way| self.of(way)).min_by_key(count)?);
            } else if self.has(name) {
                lacks.insert(name);
            } else {
                return None;
            }
        }
        Some(lacks)
    }

    /// Whether the GPU has a counter; an unknown GPU may have any.
    fn has(&self, name: &str) -> bool {
        let counter = name.starts_with(|c: char| c.is_ascii_uppercase());
        let catalogued =
            |arch: &str| hw::counters::catalogue(arch).is_none() || hw::counters::find(arch, name).is_some();
        !counter || self.arch.is_none_or(catalogued)
    }

    fn evidence(&self, condition: &'static Condition, value: f64) -> Evidence {
        let mut metric = condition.text.as_str();
        condition.left.names(&mut |name, _| metric = name);
        let source = self.source(&condition.left);
        Evidence { metric, value, threshold: &condition.text, source }
    }

    /// Where a value comes from: the source of the names it was computed from.
    fn source(&self, expression: &'static Expression) -> &'static str {
        let mut source = "trace";
        let mut names: Vec<&'static str> = Vec::new();
        expression.names(&mut |name, _| names.push(name));
        for name in names {
            let features =
                self.rules.features.iter().filter(|feature| feature.name == name && feature.is_of(self.arch));
            let known = |way: &&'static Expression| value(way, self.known).is_some();
            let way = features.flat_map(|feature| &feature.formulas).find(known);
            let of = match way {
                Some(way) => self.source(way),
                None if name.starts_with("att_") => "thread trace",
                None if name.starts_with(|c: char| c.is_ascii_uppercase()) => "counters",
                None => "trace",
            };
            if of != "trace" {
                source = of;
            }
        }
        source
    }
}

fn shown(value: f64) -> String {
    if value.abs() >= 1000.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
