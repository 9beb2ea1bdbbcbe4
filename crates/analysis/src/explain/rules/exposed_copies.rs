//! Copies on the stream of the kernels: nothing overlaps them.

use report::Value;
use trace::{Map, StreamId};

use crate::causes::critical_path::Scenario;
use crate::explain::facts::{Facts, Tally};
use crate::explain::rule::{Draft, Rule, Verdict, evidence};
use crate::words::duration;

pub(super) const RULE: Rule = Rule {
    id: "exposed-copies",
    finds: "copies between host and GPU on a stream with kernels, with nothing beside them",
    needs: "copies, and streams",
    judge,
};

/// Parts of copy names that show one end is host memory.
const WITH_HOST: [&str; 4] = ["HtoD", "DtoH", "HOST_TO_DEVICE", "DEVICE_TO_HOST"];

fn judge(facts: &Facts) -> Verdict {
    let limits = &facts.limits.exposed_copies;
    let trace = facts.trace();
    if trace.memory_copies.is_empty() {
        return Verdict::CannotJudge("no copy is recorded".into());
    }
    let mut with_kernels: Map<StreamId, ()> = Map::default();
    trace.kernels.stream.iter().filter(|stream| stream.is_some()).for_each(|&stream| {
        with_kernels.insert(stream, ());
    });
    if with_kernels.is_empty() {
        return Verdict::CannotJudge("the streams of kernels are not recorded".into());
    }
    let mut tally = Tally::default();
    let mut of_name: Map<_, Scenario> = Map::default();
    for (number, gpu) in facts.gpus.iter().enumerate() {
        for copy in facts.copies(gpu) {
            let Some(row) = copy.row.row_of(trace::Table::MemoryCopies) else { continue };
            let name = facts.text(copy.name);
            let large = copy.bytes.is_none_or(|bytes| bytes >= limits.smallest_bytes);
            let with_host = WITH_HOST.iter().any(|word| name.contains(word)) && !name.contains("Pageable");
            if large && with_host && with_kernels.contains_key(&trace.memory_copies.stream[row]) {
                tally.add(number, copy.name, (copy.start, copy.end), copy.exposed);
                of_name.entry(copy.name).or_default().work_takes(copy.row, copy.duration() - copy.exposed);
            }
        }
    }
    let findings = tally.by_name().into_iter().filter_map(|sum| {
        let mut evidence = evidence(facts, &sum);
        evidence.push(("exposed_ns", Value::Int(sum.gain)));
        let draft = Draft {
            id: RULE.id,
            about: facts.text(sum.name).to_string(),
            title: format!(
                "{} copies `{}` run on the kernels' stream, {} of it with nothing in parallel",
                sum.calls,
                facts.text(sum.name),
                duration(sum.gain)
            ),
            claimed: sum.gain,
            gpu_ns: sum.gain,
            total: facts.gpus[sum.gpu].total(),
            min_pct: limits.min_pct,
            formula: "gain_ceiling_ns = time of these copies without a kernel beside them, as far as the run would end sooner if other work hid it",
            recommendation: "copy on a stream of its own while the step before computes (prefetch, double buffers), or keep the data on the GPU"
                .into(),
            evidence,
            scenario: of_name.get(&sum.name).cloned(),
        };
        draft.finding(facts)
    });
    Verdict::Judged(findings.collect())
}
