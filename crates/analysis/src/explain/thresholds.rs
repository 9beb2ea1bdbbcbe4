//! Thresholds of the rules, from `rules/explain.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

macro_rules! sections {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $ty:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $name { $(pub $field: $ty,)* }
    )*};
}

sections! {
    Severities { high_pct: f64, medium_pct: f64, }
    /// For rules with only a minimum share.
    Share { min_pct: f64, }
    IdleGpu { min_pct: f64, cut_pct: f64, }
    Repeated { min_pct: f64, min_calls: usize, }
    BlockingSync { min_pct: f64, min_idle_pct: f64, }
    SerialisedStreams {
        min_pct: f64,
        min_waits: usize,
        most_overlap_pct: f64,
        switching: Vec<Functions>,
    }
    Functions { file: String, functions: Vec<String>, }
    ExposedCopies { min_pct: f64, smallest_bytes: i64, }
    TinyKernels { longest_ns: i64, min_calls: usize, min_pct: f64, min_launch_pct: f64, }
    PageableCopies { reference_gbps: f64, min_pct: f64, }
    SmallCopies { largest_bytes: i64, min_calls: usize, min_pct: f64, }
    SlowCopies { smallest_bytes: i64, reference_gbps: f64, slow_pct: f64, min_pct: f64, }
    KernelVariance {
        factor: f64,
        core_spread: f64,
        most_outliers_pct: f64,
        min_calls: usize,
        min_pct: f64,
    }
    FirstCall { factor: f64, beyond_longest: f64, min_calls: usize, min_pct: f64, }
    Straggler { last_pct: f64, chance_spreads: f64, min_collectives: usize, min_pct: f64, }
    SlowKernel { main: Vec<String>, shortest_ns: i64, times_typical: f64, min_pct: f64, }
}

/// All thresholds, one section per rule.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Thresholds {
    pub severity: Severities,
    pub idle_gpu: IdleGpu,
    pub launch_bound: Repeated,
    pub tiny_kernels: TinyKernels,
    pub blocking_sync: BlockingSync,
    pub allocation_churn: Repeated,
    pub pageable_copies: PageableCopies,
    pub small_copies: SmallCopies,
    pub slow_copies: SlowCopies,
    pub serialised_streams: SerialisedStreams,
    pub exposed_copies: ExposedCopies,
    pub exposed_communication: Share,
    pub fusable_chain: Share,
    pub agent_imbalance: Share,
    pub kernel_variance: KernelVariance,
    pub first_call: FirstCall,
    pub straggler: Straggler,
    pub slow_kernel: SlowKernel,
}

static BUILT_IN: LazyLock<Thresholds> = LazyLock::new(|| {
    formats::tables::built_in(include_str!("../../rules/explain.toml"))
        .expect("the table is checked by a test")
});

impl Thresholds {
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read() {
        assert!(Thresholds::built_in().severity.high_pct > Thresholds::built_in().severity.medium_pct);
    }
}
