//! A rank that all others wait for in collectives.
//!
//! Clocks of ranks differ, durations do not: the rank with the shortest collective arrived last, and the
//! others' collectives are longer by their wait. A wait that overlaps computation on the same GPU costs
//! nothing, and a rank that is last only slightly more often than the others is last by chance.

use report::Value;
use trace::{Map, StrId, Table};

use crate::causes::idle::GpuAccount;
use crate::explain::facts::Facts;
use crate::explain::rule::{Draft, Rule, Verdict, shown};
use crate::words::duration;
use model::lanes::Bucket;
use stats::percent;

pub(super) const RULE: Rule = Rule {
    id: "straggler",
    finds: "a rank that arrives last at most collectives, more often than by chance, while the others wait idle",
    needs: "several ranks with the same collectives in the same order",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    let limits = &facts.limits.straggler;
    let ranks: Vec<&GpuAccount> = facts.gpus.iter().filter(|gpu| gpu.lane.rank.is_some()).collect();
    let mut numbers: Vec<Option<u32>> = ranks.iter().map(|gpu| gpu.lane.rank).collect();
    numbers.dedup();
    if numbers.len() < 2 {
        return Verdict::CannotJudge("one rank only".into());
    }
    if numbers.len() < ranks.len() {
        return Verdict::CannotJudge("ranks have several GPUs each".into());
    }
    let collectives: Vec<Vec<Collective>> = ranks.iter().map(|gpu| collectives(facts, gpu)).collect();
    let count = collectives[0].len();
    if collectives.iter().any(|times| times.len() != count) {
        return Verdict::CannotJudge("ranks have different numbers of collectives".into());
    }
    let alike = |number: usize| collectives.iter().all(|own| own[number].name == collectives[0][number].name);
    if !(0..count).all(alike) {
        return Verdict::CannotJudge("ranks have collectives in different orders".into());
    }
    if count < limits.min_collectives {
        return Verdict::CannotJudge(format!(
            "fewer than {} collectives are recorded",
            limits.min_collectives
        ));
    }
    let (mut last, mut waited) = (vec![0usize; ranks.len()], vec![0i64; ranks.len()]);
    let computing: Vec<Vec<(i64, i64)>> = ranks.iter().map(|gpu| computation(gpu)).collect();
    for number in 0..count {
        let mut times: Vec<(i64, usize)> = collectives
            .iter()
            .enumerate()
            .map(|(rank, own)| (own[number].end - own[number].start, rank))
            .collect();
        times.sort_unstable();
        let ((shortest, rank), (time, before)) = (times[0], times[1]);
        let from = collectives[before][number].start;
        last[rank] += 1;
        waited[rank] += uncovered(&computing[before], from, from + time - shortest);
    }
    let slowest = (0..ranks.len()).max_by_key(|&rank| waited[rank]).unwrap_or(0);
    let (gpu, gain) = (ranks[slowest], waited[slowest]);
    let share_last = 100.0 * last[slowest] as f64 / count as f64;
    let by_chance = count as f64 / ranks.len() as f64;
    let spread = (by_chance * (1.0 - 1.0 / ranks.len() as f64)).sqrt();
    if (last[slowest] as f64) < by_chance + limits.chance_spreads * spread {
        return Verdict::Judged(Vec::new());
    }
    if share_last < limits.last_pct || percent(gain, gpu.total()) < limits.min_pct {
        return Verdict::Judged(Vec::new());
    }
    let name = slowest_kernel(facts, gpu, &ranks);
    let rank = gpu.lane.rank.unwrap_or(0);
    let draft = Draft {
        id: RULE.id,
        title: format!("all ranks wait {} for rank {rank} in collectives", duration(gain)),
        about: format!("rank {rank}"),
        claimed: gain,
        gpu_ns: gain,
        total: gpu.total(),
        min_pct: limits.min_pct,
        scenario: None,
        formula: "gain_ceiling_ns = sum over collectives at which the rank is last (its call is the shortest) of the \
                  wait of the one that came before it, without the part beside computation",
        recommendation: match name {
            Some(name) => format!(
                "look at `{}` on rank {rank}: it takes longer than on other ranks",
                shown(facts, name)
            ),
            None => format!("look at what the host of rank {rank} does between collectives"),
        },
        evidence: vec![
            (
                "name",
                name.map_or_else(
                    || Value::absent("no kernel takes longer than on other ranks"),
                    |name| Value::from(facts.text(name)),
                ),
            ),
            ("rank", Value::Int(i64::from(rank))),
            ("collectives", Value::from(count)),
            ("last_at", Value::from(last[slowest])),
            ("last_at_pct", Value::Float(share_last)),
            ("first_ns", Value::Int(gpu.span.0)),
            ("last_ns", Value::Int(gpu.span.1)),
        ],
    };
    Verdict::Judged(draft.finding(facts).into_iter().collect())
}

/// One rank's part in a collective.
struct Collective {
    name: StrId,
    start: i64,
    end: i64,
}

/// The collectives of a rank in time order.
fn collectives(facts: &Facts, gpu: &GpuAccount) -> Vec<Collective> {
    let collectives = gpu.rows.iter().filter(|row| row.work.bucket == Bucket::Communication);
    collectives
        .map(|row| Collective { name: facts.context.name(row.row), start: row.work.start, end: row.work.end })
        .collect()
}

/// When a GPU computes, sorted and without overlaps.
fn computation(gpu: &GpuAccount) -> Vec<(i64, i64)> {
    let rows = gpu.rows.iter().filter(|row| row.work.bucket == Bucket::Compute);
    let mut times: Vec<(i64, i64)> = rows.map(|row| (row.work.start, row.work.end)).collect();
    times.sort_unstable();
    let mut merged: Vec<(i64, i64)> = Vec::with_capacity(times.len());
    for (start, end) in times {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    merged
}

/// The part of a time range that no cover overlaps.
fn uncovered(covers: &[(i64, i64)], from: i64, to: i64) -> i64 {
    let first = covers.partition_point(|cover| cover.1 <= from);
    let inside = covers[first..].iter().take_while(|cover| cover.0 < to);
    to - from - inside.map(|cover| cover.1.min(to) - cover.0.max(from)).sum::<i64>()
}

/// The kernel with the largest excess over the mean of the ranks.
fn slowest_kernel(facts: &Facts, gpu: &GpuAccount, ranks: &[&GpuAccount]) -> Option<StrId> {
    let kernels = &facts.trace().kernels;
    let mut beyond: Map<StrId, i64> = Map::default();
    let count = ranks.len() as i64;
    for rank in ranks {
        let weight = if std::ptr::eq(*rank, gpu) { count - 1 } else { -1 };
        for row in rank.rows.iter().filter(|row| row.work.bucket == Bucket::Compute) {
            if let Some(kernel) = row.row.row_of(Table::Kernels) {
                *beyond.entry(kernels.name[kernel]).or_default() += weight * (row.work.end - row.work.start);
            }
        }
    }
    let most = beyond.into_iter().max_by_key(|&(name, ns)| (ns, std::cmp::Reverse(name)));
    most.filter(|&(_, ns)| ns > 0).map(|(name, _)| name)
}
