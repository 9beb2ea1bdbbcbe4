//! Many copies of a few bytes where one would do.

use report::Value;
use trace::{Map, RowRef, Table};

use crate::explain::facts::{Facts, Tally};
use crate::explain::rule::{Draft, Rule, Verdict, evidence};
use crate::words::duration;

pub(super) const RULE: Rule = Rule {
    id: "small-copies",
    finds: "hundreds of small copies, each of which costs a call and a start of its own",
    needs: "copies with their sizes",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    let limits = &facts.limits.small_copies;
    let (mut tally, mut sized, mut copies) = (Tally::default(), 0, 0);
    for (number, gpu) in facts.gpus.iter().enumerate() {
        let gaps: Map<RowRef, i64> = gpu
            .gaps
            .iter()
            .filter(|gap| gap.next.row_of(Table::MemoryCopies).is_some())
            .map(|gap| (gap.next, gap.length().min(facts.limits.gaps.long_ns)))
            .collect();
        let rows = gpu.rows.iter().filter(|row| facts.copy(row.row).is_some());
        for (row, copy) in rows.zip(facts.copies(gpu)) {
            copies += 1;
            let Some(bytes) = copy.bytes else { continue };
            sized += 1;
            if bytes <= limits.largest_bytes {
                let gap = gaps.get(&row.row).copied().unwrap_or(0);
                tally.add(number, copy.name, (copy.start, copy.end), copy.exposed + gap);
            }
        }
    }
    if sized == 0 {
        return Verdict::CannotJudge(match copies {
            0 => "no copy is recorded".into(),
            _ => "the sizes of copies are not recorded".into(),
        });
    }
    let worth = tally.worth(facts, limits.min_calls, limits.min_pct);
    let findings = worth.into_iter().map(|sum| {
        let mut evidence = evidence(facts, &sum);
        evidence.push(("largest_bytes", Value::Int(limits.largest_bytes)));
        let draft = Draft {
            id: RULE.id,
            title: format!(
                "{} small copies `{}` take {}",
                sum.calls,
                facts.text(sum.name),
                duration(sum.gain)
            ),
            gain: sum.gain,
            total: facts.gpus[sum.gpu].total(),
            formula: "gain_ceiling_ns = sum of the copies' time without a kernel beside them and of the short gaps before them",
            recommendation: "gather the data on the host and copy it at once, or keep it on the GPU".into(),
            evidence,
        };
        draft.finding(facts)
    });
    Verdict::Judged(findings.collect())
}
