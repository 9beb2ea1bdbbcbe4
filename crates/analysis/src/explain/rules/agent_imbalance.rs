//! GPUs of one process with unequal work.

use report::Value;
use trace::{Map, StrId, Table};

use crate::base;
use crate::causes::critical_path::Scenario;
use crate::causes::idle::GpuAccount;
use crate::explain::facts::Facts;
use crate::explain::rule::{Draft, Rule, Verdict, shown};
use crate::words::duration;
use stats::percent;

pub(super) const RULE: Rule = Rule {
    id: "agent-imbalance",
    finds: "GPUs of one process of which one has much more work than the others",
    needs: "several GPUs in one process or rank",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    let mut findings = Vec::new();
    let mut judged = false;
    // GPUs are sorted by rank, so those of one process are adjacent; each stage's file is a process.
    let process = |gpu: &GpuAccount| gpu.lane.agent.get().map(|agent| facts.trace().agents[agent].process);
    for group in facts.gpus.chunk_by(|a, b| a.lane.rank == b.lane.rank && process(a) == process(b)) {
        let gpus: Vec<&GpuAccount> = group.iter().filter(|gpu| gpu.lane.agent.is_some()).collect();
        if gpus.len() < 2 {
            continue;
        }
        judged = true;
        let sum: i64 = gpus.iter().map(|gpu| gpu.busy).sum();
        let mean = sum / gpus.len() as i64;
        let Some(busiest) = gpus.iter().max_by_key(|gpu| gpu.busy) else { continue };
        let gain = busiest.busy - mean;
        let total = busiest.total();
        if percent(gain, total) < facts.limits.agent_imbalance.min_pct {
            continue;
        }
        let name = most_uneven(facts, busiest, &gpus);
        let busy: Vec<serde_json::Value> = gpus.iter().map(|gpu| gpu.busy.into()).collect();
        let draft = Draft {
            id: RULE.id,
            title: format!(
                "{} is busy {} longer than the GPUs of its process on average",
                busiest.lane.label,
                duration(gain)
            ),
            about: busiest.lane.label.clone(),
            claimed: gain,
            gpu_ns: gain,
            total,
            min_pct: facts.limits.agent_imbalance.min_pct,
            scenario: Some(evenly(facts, busiest, mean)),
            formula: "gain_ceiling_ns = busy time of the busiest GPU - mean of all",
            recommendation: match name {
                Some(name) => format!("balance the work across GPUs, starting with `{}`", shown(facts, name)),
                None => "share the work evenly".into(),
            },
            evidence: vec![
                (
                    "name",
                    name.map_or_else(|| Value::absent("no kernel"), |name| Value::from(facts.text(name))),
                ),
                ("rank", base::rank_of(busiest.lane.rank)),
                ("agent", base::agent_of(facts.trace(), busiest.lane.agent)),
                ("first_ns", Value::Int(busiest.span.0)),
                ("last_ns", Value::Int(busiest.span.1)),
                ("busy_ns", Value::Int(busiest.busy)),
                ("mean_busy_ns", Value::Int(mean)),
                ("busy_of_each_ns", Value::Json(busy.into())),
            ],
        };
        findings.extend(draft.finding(facts));
    }
    if judged { Verdict::Judged(findings) } else { Verdict::CannotJudge("one GPU only, per process".into()) }
}

/// The run with the mean amount of work on the busiest GPU.
fn evenly(facts: &Facts, busiest: &GpuAccount, mean: i64) -> Scenario {
    let mut scenario = Scenario::default();
    for row in &busiest.rows {
        let takes = facts.context.duration(row.row) as f64 * mean as f64 / busiest.busy.max(1) as f64;
        scenario.work_takes(row.row, takes as i64);
    }
    scenario
}

/// The kernel with the largest excess over the mean on the busiest GPU.
fn most_uneven(facts: &Facts, busiest: &GpuAccount, gpus: &[&GpuAccount]) -> Option<StrId> {
    let kernels = &facts.trace().kernels;
    let mut beyond: Map<StrId, i64> = Map::default();
    let count = gpus.len() as i64;
    for gpu in gpus {
        // Multiplied by the number of GPUs to stay with integers: n·own − sum.
        let weight = if std::ptr::eq(*gpu, busiest) { count - 1 } else { -1 };
        for row in &gpu.rows {
            if let Some(kernel) = row.row.row_of(Table::Kernels) {
                *beyond.entry(kernels.name[kernel]).or_default() += weight * (row.work.end - row.work.start);
            }
        }
    }
    beyond.into_iter().max_by_key(|&(name, ns)| (ns, std::cmp::Reverse(name))).map(|(name, _)| name)
}
