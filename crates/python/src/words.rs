//! What to ask for instead, in terms of Python: arguments and methods of `rocm_perf`.

use app::{NextStep, Remedy};

/// A remedy as a line of help; `None` if Python has no equivalent.
pub fn words(remedy: &Remedy) -> Option<String> {
    let text = match remedy {
        Remedy::Advice(text) => return Some(text.clone()),
        Remedy::LookCloser(closer) => return Some(look_closer(&closer.0)),
        Remedy::GpuFact(name) => return Some(format!("pass `{name}=`")),
        Remedy::NameInput => "pass the path of a trace: `rp.open(\"run_results.db\")`",
        Remedy::OtherPlace => "pass another path",
        Remedy::OtherPlaceOrReplace => "pass another path, or `replace=True`",
        Remedy::Mapping => "pass `mapping=`: a capture trace of the graphs, or a trace with graphs off",
        Remedy::CaptureIsMapping => {
            "open the trace of the run, and pass the capture: `rp.open(run).triage(mapping=capture)`"
        }
        Remedy::KernelRules => "name more kernels with `rules=\"rules.toml\"`",
        Remedy::AllShares => "pass `min_share=0` to see all",
        Remedy::OtherRank => "choose another with `t.select(rank=N)`",
        Remedy::OneMarker => "choose one with `start=` and `end=`, `rank=` or `pid=`",
        Remedy::OneClock => {
            "pass a percentage (`start=\"30%\"`) or a time from the start (`\"1.2s\"`), which apply to each clock, or \
             choose one recording with `rank=` or `pid=`"
        }
        Remedy::OneHost => {
            "look at one host at a time: choose with `rank=` or `pid=`, or open its files only"
        }
        Remedy::Overlapping => "`overlapping=True` also keeps rows that only touch the window",
        Remedy::AllSegments => "pass `all_segments=True` for a row of each segment",
        Remedy::WhatIf => "write it like `what_if=[\"gemm=0.5\"]`: half the time for all GEMMs",
        Remedy::PythonFrames => "include them with `python_frames=True`",
        Remedy::Repeats => "pass several runs of each side: `rp.compare([a1, a2], [b1, b2])`",
        Remedy::CompareCalls => "compare the mean per call with `value=\"mean\"`",
        Remedy::CompareAnyway => "compare them anyway with `force=True`",
        Remedy::AssumeComparable => "if you know that the runs are comparable, pass `assume_comparable=True`",
        Remedy::GateInterval => {
            "pass several runs of each side, or judge the change itself with `fail_on_point=True`"
        }
        Remedy::Arch => "pass `arch=\"gfx942\"`",
        Remedy::Everything => "`to_dict()` has all of them",
        Remedy::SeeContents => "see what is in a trace with `t.info()`",
        Remedy::SeeNames => {
            "list kernel names with `t.summary()`, or use compute, copy, communication, launch, queueing, host, sync or \
             a category such as gemm"
        }
        Remedy::SeeFindings => "list them with `t.explain()`",
        _ => return None,
    };
    Some(text.into())
}

/// The call that shows more about a finding.
fn look_closer(step: &NextStep) -> String {
    let of_kernel =
        |name: &str| format!("t.select(kernel={})", quoted(&format!("^{}$", app::exact_pattern(name))));
    match step {
        NextStep::Without(key) => {
            format!("t.critical_path(what_if=[{}])", quoted(&format!("finding:{key}=0")))
        }
        NextStep::CriticalPath => "t.critical_path()".into(),
        NextStep::Overlap => "t.overlap()".into(),
        NextStep::Ranks => "t.breakdown(by_rank=True)".into(),
        NextStep::Copies => "t.summary().memory_copies".into(),
        NextStep::Triage => "t.triage()".into(),
        NextStep::Explain => "t.explain()".into(),
        NextStep::Roofline(kernel) => format!("{}.roofline()", of_kernel(kernel)),
        NextStep::Bottleneck(kernel) => format!("{}.bottleneck()", of_kernel(kernel)),
        NextStep::Kernel(kernel) => format!("{}.summary()", of_kernel(kernel)),
        NextStep::InFile(of_file) => {
            look_closer(&of_file.0).replacen('t', &format!("rp.open({})", quoted(&of_file.1)), 1)
        }
    }
}

/// A text as a Python literal.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
