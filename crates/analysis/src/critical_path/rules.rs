//! The table of `rules/critical_path.toml`: what calls do to the order of work, and limits.

use std::sync::LazyLock;

use serde::Deserialize;

/// What a runtime call does to the order of host and GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Marks a point of a stream.
    Record,
    /// Makes a stream wait for such a point.
    Wait,
    /// Makes the host wait for a stream.
    Stream,
    /// Makes the host wait for the device.
    Device,
    /// Makes the host wait for a point of a stream.
    Event,
    /// Makes the host wait for what the call launched.
    Own,
    /// May do so; the trace must show it.
    Perhaps,
}

impl Call {
    /// Whether the host may wait in it.
    pub fn blocks(self) -> bool {
        !matches!(self, Call::Record | Call::Wait)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Calls {
    record: Vec<String>,
    wait: Vec<String>,
    stream: Vec<String>,
    device: Vec<String>,
    event: Vec<String>,
    own: Vec<String>,
    perhaps: Vec<String>,
}

/// From when on what is seen is trusted; see the table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    pub clock_tolerance_ns: i64,
    pub unexplained_ns: i64,
    pub unexplained_start_ns: i64,
    pub call_cost_ns: i64,
    pub wake_up_ns: i64,
    pub near_critical_pct: f64,
    pub path_rows: usize,
    pub ranked_kernels: usize,
}

/// All of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    calls: Calls,
    pub limits: Limits,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    toml::from_str(include_str!("../../rules/critical_path.toml")).expect("the table is checked by a test")
});

impl Rules {
    pub fn built_in() -> &'static Self {
        &RULES
    }

    /// What a call of that name does.
    pub fn call(&self, name: &str) -> Option<Call> {
        let bare: String = name.split_whitespace().collect();
        let stem = ["hip", "cuda", "cu"].iter().find_map(|prefix| bare.strip_prefix(prefix)).unwrap_or(&bare);
        let calls = &self.calls;
        let kinds = [
            (&calls.record, Call::Record),
            (&calls.wait, Call::Wait),
            (&calls.stream, Call::Stream),
            (&calls.device, Call::Device),
            (&calls.event, Call::Event),
            (&calls.own, Call::Own),
            (&calls.perhaps, Call::Perhaps),
        ];
        kinds.into_iter().find(|(words, _)| words.iter().any(|word| word == stem)).map(|(_, call)| call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_by_name() {
        let rules = Rules::built_in();
        let cases = [
            ("hipEventRecord", Some(Call::Record)),
            ("Stream Wait Event", Some(Call::Wait)),
            ("cudaStreamSynchronize", Some(Call::Stream)),
            ("Context Sync", Some(Call::Device)),
            ("hipEventSynchronize", Some(Call::Event)),
            ("hipMemcpyWithStream", Some(Call::Own)),
            ("hipMemcpyAsync", Some(Call::Perhaps)),
            ("hipFree", Some(Call::Perhaps)),
            ("hipLaunchKernel", None),
            ("cudaEventQuery", None),
            ("aten::Free", None),
        ];
        for (name, call) in cases {
            assert_eq!(rules.call(name), call, "{name}");
        }
    }

    #[test]
    fn a_call_does_one_thing() {
        let calls = &Rules::built_in().calls;
        let lists = [
            &calls.record,
            &calls.wait,
            &calls.stream,
            &calls.device,
            &calls.event,
            &calls.own,
            &calls.perhaps,
        ];
        let mut all: Vec<&String> = lists.into_iter().flatten().collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
