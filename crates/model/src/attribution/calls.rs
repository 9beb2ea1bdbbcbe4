//! Runtime calls by what they do: launches, copies, graph launches, begin and end of a capture.

use trace::{StrId, Trace};

/// What a runtime call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Nothing that matters here.
    Other,
    Launch,
    GraphLaunch,
    Copy,
    Fill,
    BeginCapture,
    EndCapture,
}

/// Words in the name of a call, first match; `hip`, `cuda` and `cu` calls are named alike.
const WORDS: &[(&str, Call)] = &[
    ("GraphLaunch", Call::GraphLaunch),
    ("HostFunc", Call::Other),
    ("BeginCapture", Call::BeginCapture),
    ("EndCapture", Call::EndCapture),
    ("Launch", Call::Launch),
    ("Memcpy", Call::Copy),
    ("Memset", Call::Fill),
];

/// The calls of a trace: every distinct name judged once.
pub(super) struct Calls {
    by_name: Vec<Call>,
    /// Categories whose names may look like calls and are none.
    not_calls: [Option<StrId>; 3],
}

impl Calls {
    pub fn of(trace: &Trace) -> Self {
        let not_calls = ["python_function", "cpu_op", "user_annotation"].map(|c| trace.strings.find(c));
        Self { by_name: trace.strings.iter().map(kind).collect(), not_calls }
    }

    #[inline]
    pub fn of_region(&self, trace: &Trace, row: usize) -> Call {
        let call = self.by_name[trace.regions.name[row].0 as usize];
        if call != Call::Other && self.not_calls.contains(&Some(trace.regions.category[row])) {
            return Call::Other;
        }
        call
    }
}

fn kind(name: &str) -> Call {
    let is_call = (name.starts_with("hip") || name.starts_with("cu"))
        && name.len() < 64
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !is_call {
        return Call::Other;
    }
    WORDS.iter().find(|(word, _)| name.contains(word)).map_or(Call::Other, |(_, call)| *call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_by_name() {
        let cases = [
            ("hipLaunchKernel", Call::Launch),
            ("hipExtModuleLaunchKernel", Call::Launch),
            ("cuLaunchKernelEx", Call::Launch),
            ("hipGraphLaunch", Call::GraphLaunch),
            ("cudaGraphLaunch", Call::GraphLaunch),
            ("hipLaunchHostFunc", Call::Other),
            ("hipMemcpyWithStream", Call::Copy),
            ("cudaMemsetAsync", Call::Fill),
            ("hipStreamBeginCapture", Call::BeginCapture),
            ("cudaStreamEndCapture", Call::EndCapture),
            ("hipStreamIsCapturing", Call::Other),
            ("cuda_graph.py(3): GraphLaunch", Call::Other),
            ("custom_op Launch", Call::Other),
        ];
        for (name, call) in cases {
            assert_eq!(kind(name), call, "{name}");
        }
    }
}
