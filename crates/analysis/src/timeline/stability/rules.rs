//! The table `rules/stability.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LabelRule {
    pub name: String,
    /// The last label has no limit in the table: tables are read as JSON values, which have no infinity.
    #[serde(default = "no_limit")]
    pub max_cv: f64,
}

fn no_limit() -> f64 {
    f64::INFINITY
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutlierRule {
    pub min_runs: usize,
    pub deviations: f64,
    pub min_pct: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DriftRule {
    pub min_runs: usize,
    pub min_rho: f64,
    pub max_p: f64,
    pub min_pct: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BimodalRule {
    pub min_runs: usize,
    pub min_explained: f64,
    pub min_share: f64,
    pub min_separation: f64,
    pub min_pct: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WarmUpRule {
    pub min_runs: usize,
    pub max_runs: usize,
    pub min_pct: f64,
}

/// The whole table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    pub label: Vec<LabelRule>,
    pub outlier: OutlierRule,
    pub drift: DriftRule,
    pub bimodal: BimodalRule,
    pub warm_up: WarmUpRule,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    formats::tables::built_in(include_str!("../../../rules/stability.toml"))
        .expect("the table is checked by a test")
});

impl Rules {
    pub fn built_in() -> &'static Self {
        &RULES
    }

    /// The label for a coefficient of variation.
    pub fn label(&self, cv: f64) -> &'static str {
        let rules: &'static [LabelRule] = &RULES.label;
        rules.iter().find(|rule| cv <= rule.max_cv).map_or("unstable", |rule| rule.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_although_jsons_values_have_no_infinity() {
        let rules = Rules::built_in();
        assert_eq!(rules.label(f64::INFINITY), "unstable");
        assert_eq!(rules.label.last().map(|rule| rule.max_cv), Some(f64::INFINITY));
        assert_ne!(rules.label(0.0), "unstable");
    }
}
