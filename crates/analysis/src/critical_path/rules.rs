//! The table of `rules/critical_path.toml`: from when on what is seen is trusted.

use std::sync::LazyLock;

use serde::Deserialize;

/// From when on what is seen is trusted; see the table.
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

/// All of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    pub limits: Limits,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    formats::tables::built_in(include_str!("../../rules/critical_path.toml"))
        .expect("the table is checked by a test")
});

impl Rules {
    pub fn built_in() -> &'static Self {
        &RULES
    }
}
