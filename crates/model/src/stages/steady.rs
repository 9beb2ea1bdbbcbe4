//! Steady state: which steps at the beginning of a run are warm-up.

use trace::{RowRef, Table, Trace};

use super::Stages;
use crate::steps::{Stage, StageRules};

/// For each step whether it is warm-up; see [`Stages::is_warm_up`] for the rule.
pub(super) fn warm_up(stages: &Stages, trace: &Trace) -> Vec<bool> {
    let rules = &StageRules::built_in().warm_up;
    let mut gpu_ns = vec![0i64; stages.steps.len()];
    let tables = [
        (Table::Kernels, &trace.kernels.start, &trace.kernels.end),
        (Table::MemoryCopies, &trace.memory_copies.start, &trace.memory_copies.end),
    ];
    for (table, start, end) in tables {
        for row in 0..start.len() {
            if let Some(step) = stages.step(RowRef::new(table, row)) {
                gpu_ns[step] += end[row] - start[row];
            }
        }
    }
    let mut warm = vec![false; stages.steps.len()];
    for stage in Stage::ALL {
        // A step without GPU work is an annotation around others: it is ignored.
        let of_stage: Vec<usize> =
            (0..stages.steps.len()).filter(|&s| stages.steps[s].stage == stage && gpu_ns[s] > 0).collect();
        if of_stage.len() < rules.fewest_steps {
            continue;
        }
        let length = |s: usize| gpu_ns[s].max(stages.steps[s].end - stages.steps[s].start);
        let mut lengths: Vec<i64> = of_stage.iter().map(|&s| length(s)).collect();
        lengths.sort_unstable();
        let slow = lengths[lengths.len() / 2] as f64 * rules.slow_factor;
        let full = of_stage.iter().filter_map(|&s| stages.steps[s].batch).max().unwrap_or(0) as f64;
        let most = (of_stage.len() as f64 * rules.most_share) as usize;
        let unsettled = |s: usize| {
            let small = stages.steps[s].batch.is_some_and(|batch| (batch as f64) < full * rules.batch_share);
            length(s) as f64 > slow || small
        };
        for &s in of_stage.iter().take(most).take_while(|&&s| unsettled(s)) {
            warm[s] = true;
        }
    }
    warm
}
