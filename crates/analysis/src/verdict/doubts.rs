//! What keeps a trace from being judged. Where there is a doubt the verdict names it and does not guess.

use trace::{Check, Status, Trace};

use super::{Parts, VerdictInputs};
use crate::triage::{NoRun, OneRun};

/// Checks that leave nothing to judge by even where they only warn: rows of a whole kind may be gone.
const INCOMPLETE: [&str; 1] = ["truncated"];

/// What the health of a trace says against any verdict on it.
pub(super) fn of_health(trace: &Trace) -> Vec<String> {
    let doubted = |check: &&Check| {
        check.status == Status::Fail
            || (check.status == Status::Warn && INCOMPLETE.contains(&check.id))
            || clocks_differ(trace, check)
    };
    trace.health.checks.iter().filter(doubted).map(|check| check.message.clone()).collect()
}

/// Whether the inputs are several runs, which have no verdict in common.
pub(super) fn of_inputs(trace: &Trace) -> Option<String> {
    let mut ranks: Vec<Option<u32>> = trace.sources.iter().map(|source| source.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks.into_iter().find_map(|rank| match OneRun::choose(&trace.sources, rank) {
        Err(NoRun::Several { paths }) => {
            Some(format!("there are {} runs, and each needs a verdict of its own", paths.len()))
        }
        _ => None,
    })
}

/// Whether most kernels start before they are launched: then no idle time can be told from what the host did.
fn clocks_differ(trace: &Trace, check: &Check) -> bool {
    check.id == "causality" && check.value.is_some_and(|early| early > trace.kernels.len() as f64 / 2.0)
}

/// What the GPU work that was recorded leaves open.
pub(super) fn of_work(inputs: &VerdictInputs, parts: Option<&Parts>) -> Vec<String> {
    let Some(parts) = parts else { return vec!["no GPU work is recorded".into()] };
    let mut doubts = Vec::new();
    if parts.pieces == 1 {
        doubts.push("only one kernel or copy is recorded".into());
    } else if inputs.reads_calls && parts.bound_by(inputs.is_linked).is_none() {
        doubts.push(match inputs.is_linked {
            true => "more than half of the time has no recorded cause".into(),
            false => "no launch is recorded, so why the GPU is idle is not known".into(),
        });
    }
    if !inputs.has_names {
        doubts.push("kernels have no names, so what takes the time is not known".into());
    }
    doubts
}
