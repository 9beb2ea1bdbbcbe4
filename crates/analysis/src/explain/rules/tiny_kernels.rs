//! Kernels so short that starting them costs as much as running them.

use report::Value;
use trace::{Map, RowRef, Table};

use crate::causes::critical_path::Scenario;
use crate::causes::idle::{Cause, Piece};
use crate::explain::facts::{Facts, Tally};
use crate::explain::rule::{Draft, Rule, Verdict, contributors, evidence};
use crate::words::duration;

pub(super) const RULE: Rule = Rule {
    id: "tiny-kernels",
    finds: "many kernels of a few microseconds, which with the launches before them take much of the time",
    needs: "GPU work",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    let (limits, kernels) = (&facts.limits.tiny_kernels, &facts.trace().kernels);
    let mut tally = Tally::default();
    let mut scenario = Scenario::default();
    let mut gpu_ns: Map<usize, i64> = Map::default();
    for (number, gpu) in facts.gpus.iter().enumerate() {
        let starting = |piece: &&Piece| match piece.cause {
            Cause::Launching => true,
            Cause::StartingQueuedWork => piece.length() <= limits.longest_ns,
            _ => false,
        };
        let mut before: Map<RowRef, i64> = Map::default();
        for piece in gpu.idle.iter().filter(starting) {
            *before.entry(piece.next).or_default() += piece.length();
        }
        let mut reached = gpu.span.0;
        for row in &gpu.rows {
            let (start, end) = (row.work.start, row.work.end);
            if let Some(kernel) = row.row.row_of(Table::Kernels)
                && end - start <= limits.longest_ns
                && end > reached
            {
                let alone = end - start.max(reached);
                let gap = before.get(&row.row).copied().unwrap_or(0);
                tally.add(number, kernels.name[kernel], (start, end), gap + alone);
                *gpu_ns.entry(number).or_default() += alone;
                scenario.work_takes(row.row, 0);
                scenario.without_launch_latency(row.row);
            }
            reached = reached.max(end);
        }
        for piece in gpu.idle.iter().filter(starting) {
            let tiny = facts.context.duration(piece.next) <= limits.longest_ns;
            if tiny && piece.next.row_of(Table::Kernels).is_some() {
                facts.skip(&mut scenario, piece);
            }
        }
    }
    let Some((all, sums)) = tally.of_worst_gpu().filter(|(all, _)| all.calls >= limits.min_calls) else {
        return Verdict::Judged(Vec::new());
    };
    let gpu_ns = gpu_ns.get(&all.gpu).copied().unwrap_or(0);
    let mut evidence = evidence(facts, &sums[0]);
    evidence.push(("contributors", contributors(facts, &sums)));
    evidence.push(("kernels", Value::from(all.calls)));
    evidence.push(("kernel_time_ns", Value::Int(gpu_ns)));
    let draft = Draft {
        id: RULE.id,
        about: String::new(),
        title: format!(
            "{} kernels of {} on average take {{gain}} with the launches before them",
            all.calls,
            duration(gpu_ns / all.calls as i64)
        ),
        claimed: all.gain,
        gpu_ns,
        total: facts.gpus[all.gpu].total(),
        min_pct: limits.min_pct,
        formula: "gain_ceiling_ns = the kernels' time on the clock and the launches the GPU waits for before them, as far as the run would end sooner without",
        recommendation: "fuse them (a fused optimizer, `torch.compile`, a kernel of your own), or give each more to do: larger batches, several items in one launch"
            .into(),
        evidence,
        scenario: Some(scenario),
    };
    Verdict::Judged(draft.finding(facts).into_iter().collect())
}
