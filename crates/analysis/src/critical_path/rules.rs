//! The table of `rules/critical_path.toml`: from when on what is seen is trusted.

use std::sync::LazyLock;

use serde::Deserialize;

/// From when on what is seen is trusted; see the table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    pub clock_tolerance_ns: i64,
    pub unexplained_ns: i64,
    pub unexplained_start_ns: i64,
    pub call_cost_ns: i64,
    pub near_critical_pct: f64,
    pub path_rows: usize,
    pub ranked_kernels: usize,
}

/// All of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    pub limits: Limits,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    toml::from_str(include_str!("../../rules/critical_path.toml")).expect("the table is checked by a test")
});

impl Rules {
    pub fn built_in() -> &'static Self {
        &RULES
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
