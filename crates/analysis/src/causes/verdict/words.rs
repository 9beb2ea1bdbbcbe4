//! The verdict as a sentence.

use report::{BoundBy, Finding, Verdict};

use crate::words::duration;
use model::Run;
use model::stages::Stage;

/// `vLLM decode`; empty if neither is known.
pub(super) fn run(framework: Option<&str>, run: &Run) -> String {
    let mut present: Vec<Stage> = Vec::new();
    for &row in &run.rows {
        let stage = run.stage(row);
        if stage != Stage::Other && !present.contains(&stage) {
            present.push(stage);
        }
    }
    let order = |stage: &Stage| Stage::ALL.iter().position(|one| one == stage);
    present.sort_by_key(order);
    let stages: Vec<&str> = present.into_iter().map(Stage::name).collect();
    let framework = match framework {
        Some("vllm") => "vLLM",
        Some("sglang") => "SGLang",
        Some(other) => other,
        None => "",
    };
    [framework, &stages.join(" + ")]
        .iter()
        .filter(|part| !part.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join(" ")
}

/// Why a trace with this much time without recorded work cannot be trusted.
pub(super) fn missing(ns: i64, share: f64) -> String {
    format!(
        "for {} ({share:.0} % of the time) queued work does not start for no recorded reason: the GPU did work \
         that is not in the trace, or the trace was put together from parts",
        duration(ns)
    )
}

/// What bounds the run, on what, the largest cost and the largest gain.
pub(super) fn sentence(verdict: &Verdict, gpus: Option<usize>, what: &str, findings: &[Finding]) -> String {
    let (Some(gpus), Some(span), Some(busy)) = (gpus, verdict.span_ns, verdict.busy_pct) else {
        return "No GPU work is recorded, so nothing can be said about GPU time.".into();
    };
    let on = match (&verdict.product, &verdict.architecture) {
        (Some(product), Some(arch)) => format!(" on {product} ({arch})"),
        (Some(product), None) => format!(" on {product}"),
        (None, Some(arch)) => format!(" on {arch}"),
        (None, None) => String::new(),
    };
    let subject = match format!("{what}{on}").trim() {
        "" => String::new(),
        subject => format!("{subject}: "),
    };
    let gpu = if gpus == 1 { "the GPU works".into() } else { format!("{gpus} GPUs work") };
    let steps = match (verdict.steps, verdict.step_ns) {
        (Some(steps), Some(step)) if steps > 1 => format!(", {steps} steps of {}", duration(step)),
        _ => String::new(),
    };
    let bound = match verdict.bound_by {
        Some(BoundBy::Gpu) => "GPU bound",
        Some(BoundBy::Launch) => "launch bound",
        Some(BoundBy::Host) => "host bound",
        Some(BoundBy::Sync) => "bound by waiting for the GPU",
        Some(BoundBy::Copy) => "copy bound",
        Some(BoundBy::Communication) => "communication bound",
        Some(BoundBy::Allocation) => "bound by memory allocation",
        Some(BoundBy::Mixed) => "no single bound",
        None if verdict.trusted() => "what bounds it cannot be judged from what was read",
        None => "what bounds it cannot be judged",
    };
    let mut text = format!("{subject}{bound}; {gpu} {busy:.1} % of {}{steps}.", duration(span));
    if let Some(first) = text.chars().next().filter(|_| what.is_empty()) {
        text.replace_range(..first.len_utf8(), &first.to_uppercase().to_string());
    }
    if let Some(cost) = &verdict.largest_cost {
        text.push_str(&format!(" Largest cost: {} ({:.0} %).", cost.what, cost.share_pct));
    }
    let best = verdict.finding.as_ref().and_then(|key| findings.iter().find(|finding| &finding.key == key));
    if let (Some(finding), Some(gain)) = (best, verdict.largest_gain_ns) {
        text.push_str(&format!(" Largest gain: {} ({}).", duration(gain), finding.id));
    }
    text
}
