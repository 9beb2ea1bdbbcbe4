//! What the run would save without an op, by propagation: hidden work saves nothing.

use model::Run;
use stats::percent;
use trace::{Map, StrId};

use crate::causes::critical_path::Engine;

/// Most ops to evaluate: each one needs a walk through the run's graph.
const MOST_OPS: usize = 12;

/// An op that launches GPU work.
#[derive(Clone, Debug, PartialEq)]
pub struct OpSaving {
    /// Its name.
    pub op: String,
    /// Kernels and copies that it launches.
    pub calls: usize,
    /// Their GPU time.
    pub gpu_ns: i64,
    /// Share of all GPU time.
    pub gpu_share_pct: f64,
    /// How much sooner the run would end without it.
    pub removal_saves_ns: i64,
}

/// The ops with the most GPU time, sorted by what removing them would save.
pub(super) fn of(context: &Run, engine: &Engine) -> Vec<OpSaving> {
    let mut sums: Map<StrId, (i64, usize)> = Map::default();
    let mut all = 0;
    for &row in &context.rows {
        let ns = context.duration(row);
        all += ns;
        let sum = sums.entry(context.attribution.site(row).cpu_op).or_default();
        *sum = (sum.0 + ns, sum.1 + 1);
    }
    let text = |op: StrId| context.attribution.text(op);
    let mut ops: Vec<(StrId, (i64, usize))> =
        sums.into_iter().filter(|(op, _)| !text(*op).is_empty()).collect();
    ops.sort_by(|a, b| (b.1.0, text(a.0)).cmp(&(a.1.0, text(b.0))));
    ops.retain(|(_, (ns, _))| percent(*ns, all) >= context.min_share_pct);
    ops.truncate(MOST_OPS);
    let names: Vec<&str> = ops.iter().map(|(op, _)| text(*op)).collect();
    let saves = engine.without_each(context, &names);
    let mut savings: Vec<OpSaving> = (ops.into_iter().zip(saves))
        .map(|((op, (gpu_ns, calls)), removal_saves_ns)| OpSaving {
            op: text(op).to_string(),
            calls,
            gpu_ns,
            gpu_share_pct: percent(gpu_ns, all),
            removal_saves_ns,
        })
        .collect();
    savings.sort_by_key(|saving| std::cmp::Reverse((saving.removal_saves_ns, saving.gpu_ns)));
    savings
}
