//! The table `rules/overlap.toml`: what is worth a row, and the recommendation.

use std::sync::LazyLock;

use serde::Deserialize;

use model::classify::Category;

/// Kinds of work, in table order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum WorkKind {
    Communication,
    Copy,
    Memory,
    Elementwise,
    Other,
    Compute,
}

/// How likely it is that the order is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Risk {
    Low,
    Unclear,
    High,
}

impl Risk {
    pub fn name(self) -> &'static str {
        match self {
            Risk::Low => "low",
            Risk::Unclear => "unclear",
            Risk::High => "high",
        }
    }
}

/// What a kind of work can hide behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Beside {
    /// Any computation.
    Computation,
    /// Kernels of kind compute.
    Compute,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KindRule {
    pub name: WorkKind,
    categories: Vec<String>,
    pub min_exclusive_pct: f64,
    pub beside: Beside,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Decision {
    kinds: Vec<String>,
    risk: String,
    pub priority: String,
    pub recommendation: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RiskRule {
    pub free_pct: f64,
    tight_shortest_ns: i64,
    tight_longest_ns: i64,
    tight_pct: f64,
}

impl RiskRule {
    /// Whether the gap next to a kernel of this duration is too short for other work to fit in between.
    pub fn is_tight(&self, gap: i64, duration: i64) -> bool {
        let share = (duration as f64 * self.tight_pct / 100.0) as i64;
        gap <= self.tight_shortest_ns.max(self.tight_longest_ns.min(share))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SeverityRule {
    pub high_pct: f64,
    pub medium_pct: f64,
}

/// The whole table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    kind: Vec<KindRule>,
    decision: Vec<Decision>,
    pub risk: RiskRule,
    pub severity: SeverityRule,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    formats::tables::built_in(include_str!("../../../rules/overlap.toml"))
        .expect("the table is checked by a test")
});

impl Rules {
    pub fn built_in() -> &'static Self {
        &RULES
    }

    /// The kind of a kernel that is neither a copy nor identified by its bucket.
    pub fn kind_of(&self, category: Category) -> WorkKind {
        let names = |rule: &&KindRule| rule.categories.iter().any(|name| name == category.name());
        self.kind.iter().find(names).map_or(WorkKind::Other, |rule| rule.name)
    }

    pub fn kind(&self, kind: WorkKind) -> &KindRule {
        self.kind.iter().find(|rule| rule.name == kind).expect("every kind has a rule; a test checks it")
    }

    /// Priority and recommendation for this kind and risk.
    pub fn decide(&self, kind: WorkKind, risk: Risk) -> &Decision {
        let fits = |decision: &&Decision| {
            let kinds = &decision.kinds;
            kinds.iter().any(|word| word == "*" || *word == kind.word())
                && (decision.risk == "*" || decision.risk == risk.name())
        };
        self.decision.iter().find(fits).expect("every case is decided; a test checks it")
    }
}

impl WorkKind {
    /// Its name in the table.
    pub fn word(self) -> &'static str {
        match self {
            WorkKind::Communication => "communication",
            WorkKind::Copy => "copy",
            WorkKind::Memory => "memory",
            WorkKind::Elementwise => "elementwise",
            WorkKind::Other => "other",
            WorkKind::Compute => "compute",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [WorkKind; 6] = [
        WorkKind::Communication,
        WorkKind::Copy,
        WorkKind::Memory,
        WorkKind::Elementwise,
        WorkKind::Other,
        WorkKind::Compute,
    ];

    #[test]
    fn the_table_covers_every_case() {
        let rules = Rules::built_in();
        for kind in ALL {
            assert_eq!(rules.kind(kind).name, kind);
            for risk in [Risk::Low, Risk::Unclear, Risk::High] {
                let decision = rules.decide(kind, risk);
                let number: u8 = decision.priority.strip_prefix('P').unwrap().parse().unwrap();
                assert!((1..=5).contains(&number), "{decision:?}");
            }
        }
        for category in Category::ALL {
            let listed = rules.kind.iter().filter(|k| k.categories.iter().any(|c| c == category.name()));
            assert_eq!(listed.count(), 1, "{}", category.name());
        }
    }

    #[test]
    fn only_what_is_free_of_order_comes_first() {
        let rules = Rules::built_in();
        let priority = |kind, risk| rules.decide(kind, risk).priority.as_str();
        assert_eq!(priority(WorkKind::Communication, Risk::Low), "P1");
        assert_eq!(priority(WorkKind::Copy, Risk::High), "P2");
        assert_eq!(priority(WorkKind::Elementwise, Risk::High), "P3");
        assert_eq!(priority(WorkKind::Compute, Risk::Unclear), "P4");
    }
}
