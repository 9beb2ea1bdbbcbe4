//! Large copies far below the bandwidth of their link.

use report::Value;
use trace::{Map, StrId};

use crate::causes::critical_path::Scenario;
use crate::explain::facts::{Facts, Tally};
use crate::explain::rule::{Draft, Rule, Verdict, evidence};

pub(super) const RULE: Rule = Rule {
    id: "slow-copies",
    finds: "large copies that reach little of the bandwidth that others of their kind reach",
    needs: "copies with their sizes",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    let limits = &facts.limits.slow_copies;
    let (mut copies, mut all) = (Vec::new(), 0);
    let mut fastest: Map<StrId, f64> = Map::default();
    for (number, gpu) in facts.gpus.iter().enumerate() {
        for copy in facts.copies(gpu) {
            all += 1;
            // Pageable memory has its own rule.
            let pageable = facts.text(copy.name).contains("Pageable");
            let large = copy.bytes.is_some_and(|bytes| bytes >= limits.smallest_bytes);
            if let (true, false, Some(gbps)) = (large, pageable, copy.gbps()) {
                let best = fastest.entry(copy.name).or_insert(limits.reference_gbps);
                *best = best.max(gbps);
                copies.push((number, copy, gbps));
            }
        }
    }
    if all == 0 {
        return Verdict::CannotJudge("no copy is recorded".into());
    }
    if copies.is_empty() {
        return Verdict::CannotJudge("no large copy with its size is recorded".into());
    }
    let mut tally = Tally::default();
    let mut of_name: Map<StrId, Scenario> = Map::default();
    for (number, copy, gbps) in &copies {
        let reference = fastest[&copy.name];
        if *gbps < reference * limits.slow_pct / 100.0 {
            let needed = copy.bytes.map_or(0, |bytes| (bytes as f64 / reference) as i64);
            let gain = (copy.duration() - needed).clamp(0, copy.exposed);
            tally.add(*number, copy.name, (copy.start, copy.end), gain);
            of_name.entry(copy.name).or_default().work_takes(copy.row, copy.duration() - gain);
        }
    }
    let findings = tally.by_name().into_iter().filter_map(|sum| {
        let mut evidence = evidence(facts, &sum);
        evidence.push(("reference_gbps", Value::Float(fastest[&sum.name])));
        let draft = Draft {
            id: RULE.id,
            about: facts.text(sum.name).to_string(),
            title: format!("{} copies `{}` lose {{gain}} to low bandwidth", sum.calls, facts.text(sum.name)),
            claimed: sum.gain,
            gpu_ns: sum.gain,
            total: facts.gpus[sum.gpu].total(),
            min_pct: limits.min_pct,
            formula: "gain_ceiling_ns = sum of min(duration - bytes / reference_gbps, time without a kernel beside it)",
            recommendation: "check the host's NUMA node, the link's width and what else uses it at that time".into(),
            evidence,
            scenario: of_name.get(&sum.name).cloned(),
        };
        draft.finding(facts)
    });
    Verdict::Judged(findings.collect())
}
