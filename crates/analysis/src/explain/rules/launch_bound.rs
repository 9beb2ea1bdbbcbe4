//! All the time that GPUs wait for the host to launch work.

use report::Value;
use trace::Table;

use crate::causes::critical_path::Scenario;
use crate::causes::idle::Cause;
use crate::explain::facts::{Facts, Tally};
use crate::explain::rule::{Draft, Rule, Verdict, contributors, evidence};
use stats::percent;

pub(super) const RULE: Rule = Rule {
    id: "launch-bound",
    finds: "a run in which kernels end before the host has launched the next ones",
    needs: "calls that launched the kernels",
    judge,
};

fn judge(facts: &Facts) -> Verdict {
    if !facts.has_host_calls() {
        return Verdict::CannotJudge("no launch is recorded".into());
    }
    let limits = &facts.limits.launch_bound;
    let mut tally = Tally::default();
    let mut scenario = Scenario::default();
    for (number, gpu) in facts.gpus.iter().enumerate() {
        for piece in gpu.idle.iter().filter(|piece| piece.cause == Cause::Launching) {
            let name = facts.context.name(piece.next);
            tally.add(number, name, (piece.start, piece.end), piece.length());
            facts.skip(&mut scenario, piece);
            scenario.without_launch_latency(piece.next);
        }
    }
    let Some((all, sums)) = tally.of_worst_gpu().filter(|(all, _)| all.calls >= limits.min_calls) else {
        return Verdict::Judged(Vec::new());
    };
    let gpu = &facts.gpus[all.gpu];
    let work = gpu.rows.iter().filter(|row| row.row.row_of(Table::Kernels).is_some()).count();
    let mut evidence = evidence(facts, &sums[0]);
    evidence.push(("contributors", contributors(facts, &sums)));
    evidence.push(("gaps", Value::from(all.calls)));
    evidence.push(("idle_ns", Value::Int(all.gain)));
    let draft = Draft {
        id: RULE.id,
        about: String::new(),
        title: format!(
            "launch bound: the GPU waits {:.0} % of the time for the host to launch its {work} kernels",
            percent(all.gain, gpu.total())
        ),
        claimed: all.gain,
        gpu_ns: 0,
        total: gpu.total(),
        min_pct: limits.min_pct,
        formula: "gain_ceiling_ns = idle time in which the host was launching, as far as the run would end sooner without it",
        recommendation: advice(facts).into(),
        evidence,
        scenario: Some(scenario),
    };
    Verdict::Judged(draft.finding(facts).into_iter().collect())
}

/// Advises graphs if the framework has them.
fn advice(facts: &Facts) -> &'static str {
    let is_torch = facts.trace().sources.iter().any(|source| source.format == "torch");
    match (facts.context.program.framework, is_torch) {
        (Some("vllm"), _) => {
            "let vLLM capture graphs (no `--enforce-eager`, batch sizes within its capture sizes); fuse small kernels"
        }
        (Some("sglang"), _) => {
            "let SGLang capture graphs (no `--disable-cuda-graph`, batch sizes within `--cuda-graph-bs`); fuse small kernels"
        }
        (_, true) => {
            "capture the step in a graph (`torch.cuda.graph`, or `torch.compile(mode=\"reduce-overhead\")` where shapes are fixed), or compile it; fuse small kernels; larger batches"
        }
        (_, false) => {
            "capture the launches in a HIP graph, fuse small kernels, or launch from a thread that does nothing else"
        }
    }
}
