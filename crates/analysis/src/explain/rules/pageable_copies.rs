//! Copies from or to host memory that is not pinned.

use report::Value;

use trace::{Map, StrId};

use crate::causes::critical_path::Scenario;
use crate::explain::facts::{Facts, Tally};
use crate::explain::rule::{Draft, Rule, Verdict, evidence};

pub(super) const RULE: Rule = Rule {
    id: "pageable-copies",
    finds: "copies from or to pageable host memory, which pinned memory would speed up",
    needs: "copies whose name shows the kind of host memory (torch traces)",
    judge,
};

/// Parts of copy names that show the kind of memory.
const KINDS: [&str; 4] = ["Pageable", "Pinned", "Host ->", "-> Host"];

fn judge(facts: &Facts) -> Verdict {
    let limits = &facts.limits.pageable_copies;
    let (mut tally, mut told, mut copies) = (Tally::default(), false, 0);
    let mut of_name: Map<StrId, Scenario> = Map::default();
    for (number, gpu) in facts.gpus.iter().enumerate() {
        for copy in facts.copies(gpu) {
            copies += 1;
            let name = facts.text(copy.name);
            told |= KINDS.iter().any(|kind| name.contains(kind));
            if name.contains("Pageable") {
                let needed = copy.bytes.map_or(0, |bytes| (bytes as f64 / limits.reference_gbps) as i64);
                let gain = (copy.duration() - needed).clamp(0, copy.exposed);
                tally.add(number, copy.name, (copy.start, copy.end), gain);
                let scenario = of_name.entry(copy.name).or_default();
                scenario.work_takes(copy.row, copy.duration() - gain);
                // The call that stages pageable memory takes as long as its copy.
                facts.skip_launch(scenario, copy.row);
            }
        }
    }
    if !told {
        return Verdict::CannotJudge(match copies {
            0 => "no copy is recorded".into(),
            _ => "copy names do not show the kind of host memory".into(),
        });
    }
    let findings = tally.by_name().into_iter().filter_map(|sum| {
        let mut evidence = evidence(facts, &sum);
        evidence.push(("reference_gbps", Value::Float(limits.reference_gbps)));
        let draft = Draft {
            id: RULE.id,
            about: facts.text(sum.name).to_string(),
            title: format!("{} copies `{}` use pageable memory", sum.calls, facts.text(sum.name)),
            claimed: sum.gain,
            gpu_ns: sum.gain,
            total: facts.gpus[sum.gpu].total(),
            min_pct: limits.min_pct,
            formula: "gain_ceiling_ns = sum of min(duration - bytes / reference_gbps, time without a kernel beside it)",
            recommendation: "pin the host memory (`pin_memory`, `hipHostMalloc`) and copy asynchronously: up to {gain} faster"
                .into(),
            evidence,
            scenario: of_name.get(&sum.name).cloned(),
        };
        draft.finding(facts)
    });
    Verdict::Judged(findings.collect())
}
