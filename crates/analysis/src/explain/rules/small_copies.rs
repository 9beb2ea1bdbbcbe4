//! Many copies of a few bytes each where one would do.

use report::Value;
use trace::{Map, RowRef, StrId, Table};

use crate::causes::critical_path::Scenario;
use crate::causes::idle::{Cause, Piece};
use crate::explain::facts::{Facts, Tally};
use crate::explain::rule::{Draft, Rule, Verdict, evidence};

pub(super) const RULE: Rule = Rule {
    id: "small-copies",
    finds: "hundreds of small copies, each of which costs a call and a start of its own",
    needs: "copies with their sizes",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    let limits = &facts.limits.small_copies;
    let (mut tally, mut sized, mut copies, mut exposed) = (Tally::default(), 0, 0, 0);
    let mut of_name: Map<StrId, Scenario> = Map::default();
    for (number, gpu) in facts.gpus.iter().enumerate() {
        // The call and the wait of each copy are part of its cost, other host code is not.
        let of_copy = |piece: &&Piece| {
            matches!(piece.cause, Cause::Launching | Cause::BlockingCall | Cause::StartingQueuedWork)
                && piece.next.row_of(Table::MemoryCopies).is_some()
        };
        let mut gaps: Map<RowRef, Vec<&Piece>> = Map::default();
        gpu.idle.iter().filter(of_copy).for_each(|piece| gaps.entry(piece.next).or_default().push(piece));
        let rows = gpu.rows.iter().filter(|row| facts.copy(row.row).is_some());
        for (row, copy) in rows.zip(facts.copies(gpu)) {
            copies += 1;
            let Some(bytes) = copy.bytes else { continue };
            sized += 1;
            if bytes <= limits.largest_bytes {
                let before = gaps.get(&row.row).map_or(&[][..], Vec::as_slice);
                let gap: i64 = before.iter().map(|piece| piece.length()).sum();
                tally.add(number, copy.name, (copy.start, copy.end), copy.exposed + gap);
                exposed += copy.exposed;
                let scenario = of_name.entry(copy.name).or_default();
                before.iter().for_each(|piece| facts.skip(scenario, piece));
                facts.skip_launch(scenario, copy.row);
                scenario.work_takes(copy.row, 0);
                scenario.without_launch_latency(copy.row);
            }
        }
    }
    if sized == 0 {
        return Verdict::CannotJudge(match copies {
            0 => "no copy is recorded".into(),
            _ => "the sizes of copies are not recorded".into(),
        });
    }
    let many = tally.by_name().into_iter().filter(|sum| sum.calls >= limits.min_calls);
    let findings = many.filter_map(|sum| {
        let mut evidence = evidence(facts, &sum);
        evidence.push(("largest_bytes", Value::Int(limits.largest_bytes)));
        let draft = Draft {
            id: RULE.id,
            about: facts.text(sum.name).to_string(),
            title: format!("{} small copies `{}` take {{gain}}", sum.calls, facts.text(sum.name)),
            claimed: sum.gain,
            gpu_ns: exposed,
            total: facts.gpus[sum.gpu].total(),
            min_pct: limits.min_pct,
            formula: "gain_ceiling_ns = the copies' time without a kernel beside them and the calls that the GPU waits for before them, as far as the run would end sooner without",
            recommendation: "gather the data on the host and copy it at once, or keep it on the GPU".into(),
            evidence,
            scenario: of_name.get(&sum.name).cloned(),
        };
        draft.finding(facts)
    });
    Verdict::Judged(findings.collect())
}
