//! The table that turns remedies and next steps into calls that an agent can make.

use app::{NextStep, Remedy};
use serde_json::{Value as Json, json};

/// A remedy in terms of tools; `None` if an agent cannot follow it.
pub fn remedy(remedy: &Remedy) -> Option<String> {
    let text = match remedy {
        Remedy::Advice(text) => return Some(text.clone()),
        Remedy::NameInput => "open_trace takes a trace file or a folder of traces",
        Remedy::Mapping => "pass a capture trace or a graph-off trace as `mapping`",
        Remedy::CaptureIsMapping => "open the trace of the run, and pass the capture trace as `mapping`",
        Remedy::AllShares => "pass `min_share` 0",
        Remedy::OtherRank => "choose another with `rank`",
        Remedy::OneMarker | Remedy::OneHost => "choose one recording with `rank`",
        Remedy::OneClock => {
            "give `start` and `end` as percentages or times from the start, or choose a `rank`"
        }
        Remedy::WhatIf => "write it like `gemm=0.5`: half the time for all GEMMs",
        Remedy::CompareAnyway => "pass `anyway` true to compare them all the same",
        Remedy::Repeats | Remedy::GateInterval => "name several runs on each side",
        Remedy::SeeContents => "`health` and `query` show what is in the trace",
        Remedy::SeeNames => {
            "`summary` lists kernel names; compute, copy, communication, launch, queueing, host, sync and categories \
             such as gemm work too"
        }
        Remedy::SeeFindings => "`explain` lists the findings with their keys",
        Remedy::RooflineCounters => "the run has to be collected again with the counters of a roofline",
        _ => return None,
    };
    Some(text.into())
}

/// The tool that looks closer at a finding, with its arguments.
pub fn next(step: &NextStep, trace: &str) -> Json {
    let call = |tool: &str, more: Json| {
        let mut arguments = json!({ "trace": trace });
        if let (Some(all), Json::Object(more)) = (arguments.as_object_mut(), more) {
            all.extend(more);
        }
        json!({ "tool": tool, "arguments": arguments })
    };
    let of_kernel = |name: &str| json!({ "kernel": format!("^{}$", app::exact_pattern(name)) });
    match step {
        NextStep::Without(key) => call("critical_path", json!({ "what_if": [format!("finding:{key}=0")] })),
        NextStep::CriticalPath => call("critical_path", json!({})),
        NextStep::Overlap => call("overlap", json!({})),
        NextStep::Ranks => call("breakdown", json!({ "by_rank": true })),
        NextStep::Copies => call("summary", json!({ "table": "memory_copies" })),
        NextStep::Triage => call("triage", json!({})),
        NextStep::Explain => call("explain", json!({})),
        NextStep::Roofline(kernel) | NextStep::Bottleneck(kernel) => call("roofline", of_kernel(kernel)),
        NextStep::Kernel(kernel) => call("summary", of_kernel(kernel)),
        NextStep::InFile(of_file) => json!({ "tool": "open_trace", "arguments": { "path": of_file.1 } }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::TOOLS;

    #[test]
    fn every_next_step_is_a_call_that_its_tool_accepts() {
        let name = || "void f<float>(int*)".to_string();
        let steps = [
            NextStep::Without("launch-bound".into()),
            NextStep::CriticalPath,
            NextStep::Overlap,
            NextStep::Ranks,
            NextStep::Copies,
            NextStep::Triage,
            NextStep::Explain,
            NextStep::Roofline(name()),
            NextStep::Bottleneck(name()),
            NextStep::Kernel(name()),
            NextStep::InFile(Box::new((NextStep::Explain, "rank3.json".into()))),
        ];
        for step in steps {
            let call = next(&step, "t1");
            let tool = TOOLS.find(call["tool"].as_str().unwrap()).expect("a tool");
            tool.check(call["arguments"].as_object().unwrap().clone()).expect("its arguments");
        }
        assert_eq!(
            next(&NextStep::Kernel(name()), "t1")["arguments"]["kernel"],
            "^void f<float>\\(int\\*\\)$"
        );
    }
}
