//! Findings of the overlap analysis: each with its formula, its numbers and a piece of work to look at.

use report::{Finding, Severity, Value};

use super::opportunities::{Analysed, Opportunity};
use super::order::Cause;
use super::risk::Why;
use super::rules::{Kind, Rules};
use super::tables::{scope, stage_word};
use crate::words::duration;
use model::Run;
use model::names;
use stats::percent;

/// Which priorities are worth a finding.
const PRIORITIES: [&str; 2] = ["P1", "P2"];

pub(super) fn findings(context: &Run, devices: &[Analysed], found: &[Opportunity]) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        found.iter().filter(|found| worth(found)).map(|found| finding(context, devices, found)).collect();
    findings
        .sort_by_key(|finding| (std::cmp::Reverse(finding.severity), -finding.gain_ceiling_ns.unwrap_or(0)));
    findings
}

fn worth(found: &Opportunity) -> bool {
    let urgent = PRIORITIES.contains(&found.decision().priority.as_str());
    urgent || is_serialised(found)
}

/// Computation that events keep from computation on another stream.
fn is_serialised(found: &Opportunity) -> bool {
    let by_event = matches!(
        found.why,
        Why::Followed { cause: Cause::Event, .. } | Why::Follows { cause: Cause::Event, .. }
    );
    found.kind == Kind::Compute && by_event && found.gain > 0
}

fn id(found: &Opportunity) -> &'static str {
    match found.kind {
        Kind::Communication => "exposed-communication",
        Kind::Copy => "exposed-copies",
        Kind::Compute => "serialised-streams",
        _ => "overlap-headroom",
    }
}

fn finding(context: &Run, devices: &[Analysed], found: &Opportunity) -> Finding {
    let (d, i) = found.representative;
    let (analysed, rules) = (&devices[d], Rules::built_in());
    let (work, seen) = (&analysed.device.work[i as usize], &analysed.device.swept.seen[i as usize]);
    let raw = context.trace.strings.get(found.name);
    let busy = devices.iter().map(|analysed| analysed.device.swept.busy).max().unwrap_or(0);
    let gain_pct = percent(found.gain, busy);
    let severity = match gain_pct {
        pct if pct >= rules.severity.high_pct => Severity::High,
        pct if pct >= rules.severity.medium_pct => Severity::Medium,
        _ => Severity::Info,
    };
    let reason = analysed.scene(context).words(&found.why);
    let beside = match found.kind {
        Kind::Communication => "computation without communication beside it, in the same step",
        Kind::Copy => "computation without a copy beside it, in the same step",
        Kind::Compute => "other matrix and attention kernels that run alone in the same step",
        _ => "matrix and attention kernels that run alone in the same step",
    };
    let mut evidence: Vec<(String, Value)> = Vec::new();
    let mut add = |key: &str, value: Value| evidence.push((key.to_string(), value));
    add("stage", Value::from(stage_word(context, found.stage)));
    add("kernel_name", Value::from(raw));
    add("python_scope", scope(context, found));
    add("calls", Value::from(found.calls));
    add("total_ns", Value::Int(found.total));
    add("exposed_ns", Value::Int(found.exposed));
    add("beside_ns", Value::Int(found.beside));
    add("beside", Value::from(beside));
    add(
        "formula",
        Value::from(
            "gain_ceiling_ns = sum over steps of min(exposed_ns, beside_ns) of the step, on the GPU where that is most",
        ),
    );
    add("gain_share_of_busy_pct", Value::Float(gain_pct));
    add("free_gain_ns", Value::int_or(found.free_gain, "the order between streams is not recorded"));
    add("dependency_risk", Value::from(found.risk.name()));
    add("risk_reason", Value::Text(reason.clone()));
    add("example_start_ns", Value::Int(work.start));
    add("example_end_ns", Value::Int(work.end));
    add("example_exposed_ns", Value::Int(seen.exposed));
    add("example_stream", Value::Text(analysed.device.streams[work.stream as usize].label.clone()));
    add("example_gpu", Value::Text(analysed.device.gpu.label.clone()));
    if let Some(collective) = collective(context, found) {
        add("collective", Value::Text(collective));
    }
    let what = names::display_name(raw);
    let title = match found.kind {
        Kind::Communication => {
            format!("`{what}` runs {} without computation beside it", duration(found.exposed))
        }
        Kind::Copy => format!("`{what}` runs {} with nothing beside it", duration(found.exposed)),
        Kind::Compute => format!("events keep `{what}` from overlapping other streams"),
        _ => {
            format!("`{what}` runs {} alone that could hide beside computation", duration(found.exposed))
        }
    };
    Finding {
        id: id(found).into(),
        severity,
        title,
        evidence,
        gain_ceiling_ns: Some(found.gain),
        recommendation: format!("{}: {reason}", found.decision().recommendation),
        next_step: Some(report::NextStep::CriticalPath),
        ..Finding::default()
    }
}

/// The operation and size of the collective, when the trace says.
fn collective(context: &Run, found: &Opportunity) -> Option<String> {
    if found.kind != Kind::Communication {
        return None;
    }
    let collectives = &context.trace.collectives;
    let mut of_name = (0..collectives.len()).filter(|&i| {
        let kernel = collectives.row[i].row_of(trace::Table::Kernels);
        kernel.is_some_and(|kernel| context.trace.kernels.name[kernel] == found.name)
    });
    let first = of_name.next()?;
    let operation = context.trace.strings.get(collectives.operation[first]);
    Some(match collectives.bytes[first].get() {
        Some(bytes) => format!("{operation} of {bytes} bytes"),
        None => operation.to_string(),
    })
}
