//! The table `rules/bottleneck.toml`: features as formulas, labels as conditions on them.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::kernels::panels::expression::{Expression, Operator, parse};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FeatureText {
    name: String,
    #[serde(default)]
    archs: Vec<String>,
    formulas: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    label: String,
    when: Vec<String>,
    score: String,
    gain: Option<String>,
    advice: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    feature: Vec<FeatureText>,
    rule: Vec<RuleText>,
}

/// A quantity of a kernel.
#[derive(Debug)]
pub(super) struct Feature {
    pub name: String,
    archs: Vec<String>,
    pub formulas: Vec<Expression>,
}

impl Feature {
    /// Whether this definition applies to an architecture; true if the architecture is not known.
    pub fn is_of(&self, arch: Option<&str>) -> bool {
        self.archs.is_empty() || arch.is_none_or(|arch| self.archs.iter().any(|known| known == arch))
    }
}

/// One condition of a rule: a feature against a bound.
#[derive(Debug)]
pub(super) struct Condition {
    pub text: String,
    pub left: Expression,
    pub operator: Operator,
    pub right: Expression,
}

/// When a label applies.
#[derive(Debug)]
pub(super) struct Rule {
    pub label: String,
    pub when: Vec<Condition>,
    pub score: Expression,
    /// Upper limit of the gain in nanoseconds.
    pub gain: Option<Expression>,
    pub advice: String,
}

/// The whole table.
#[derive(Debug)]
pub(super) struct Rules {
    pub features: Vec<Feature>,
    pub rules: Vec<Rule>,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    Rules::read(include_str!("../../../rules/bottleneck.toml")).expect("the table is checked by a test")
});

impl Rules {
    pub fn built_in() -> &'static Self {
        &RULES
    }

    fn read(text: &str) -> Result<Self, String> {
        let text: Text = formats::tables::built_in(text).map_err(|error| error.to_string())?;
        let formula = |text: &str| parse(text).map_err(|error| format!("`{text}`: {error}"));
        let mut features = Vec::new();
        for feature in text.feature {
            let formulas = feature.formulas.iter().map(|text| formula(text)).collect::<Result<_, _>>()?;
            features.push(Feature { name: feature.name, archs: feature.archs, formulas });
        }
        let mut rules = Vec::new();
        for rule in text.rule {
            let mut when = Vec::new();
            for text in rule.when {
                let Expression::Binary(operator, left, right) = formula(&text)? else {
                    return Err(format!("`{text}` compares nothing"));
                };
                if !operator.compares() {
                    return Err(format!("`{text}` compares nothing"));
                }
                when.push(Condition { text, left: *left, operator, right: *right });
            }
            rules.push(Rule {
                label: rule.label,
                when,
                score: formula(&rule.score)?,
                gain: rule.gain.as_deref().map(formula).transpose()?,
                advice: rule.advice,
            });
        }
        Ok(Self { features, rules })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::kernels::bottleneck::FACTS;

    #[test]
    fn every_name_is_a_counter_a_fact_or_a_feature_above() {
        let rules = Rules::built_in();
        let mut known: HashSet<&str> = FACTS.iter().map(|(name, _)| *name).collect();
        let check = |known: &HashSet<&str>, expression: &Expression| {
            expression.names(&mut |name, _| {
                let counter = name.starts_with(|c: char| c.is_ascii_uppercase());
                assert!(counter || known.contains(name.as_str()), "`{name}` is not known");
            });
        };
        for feature in &rules.features {
            feature.formulas.iter().for_each(|formula| check(&known, formula));
            known.insert(&feature.name);
        }
        // Each GPU has a single definition of a feature.
        for arch in ARCHS {
            let mut told = HashSet::new();
            for feature in rules.features.iter().filter(|feature| feature.is_of(Some(arch))) {
                assert!(told.insert(&feature.name), "{} twice on {arch}", feature.name);
            }
        }
        for rule in &rules.rules {
            rule.when.iter().for_each(|condition| {
                check(&known, &condition.left);
                check(&known, &condition.right);
            });
            check(&known, &rule.score);
            rule.gain.iter().for_each(|gain| check(&known, gain));
        }
    }

    const ARCHS: [&str; 5] = ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100"];

    #[test]
    fn counters_of_a_feature_exist_on_the_gpus_it_is_of() {
        for feature in Rules::built_in().features.iter().filter(|feature| !feature.archs.is_empty()) {
            for arch in &feature.archs {
                assert!(ARCHS.contains(&arch.as_str()));
                feature.formulas.iter().for_each(|formula| {
                    formula.names(&mut |name, _| {
                        let counter = name.starts_with(|c: char| c.is_ascii_uppercase());
                        assert!(!counter || hw::counters::find(arch, name).is_some(), "{arch} has no {name}");
                    });
                });
            }
        }
    }
}
