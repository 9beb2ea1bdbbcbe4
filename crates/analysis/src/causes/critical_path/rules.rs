//! The table `rules/critical_path.toml`: limits for what to trust.

use std::sync::LazyLock;

use serde::Deserialize;

/// The limits; the table explains each.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    pub clock_tolerance_ns: i64,
    pub unexplained_ns: i64,
    pub start_ns: i64,
    pub first_copy_ns: i64,
    pub enough_samples: usize,
    pub unexplained_start_ns: i64,
    pub call_cost_ns: i64,
    pub near_critical_pct: f64,
    pub path_rows: usize,
    pub ranked_kernels: usize,
}

/// The whole table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    pub limits: Limits,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    formats::tables::built_in(include_str!("../../../rules/critical_path.toml"))
        .expect("the table is checked by a test")
});

impl Rules {
    pub fn built_in() -> &'static Self {
        &RULES
    }
}
