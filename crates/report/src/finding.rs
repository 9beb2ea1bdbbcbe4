//! Findings: something worth acting on, with the evidence for it.

use crate::{Unit, Value, number};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know.
    #[default]
    Info,
    /// Worth a look.
    Medium,
    /// Costs a large share of the run.
    High,
}

impl Severity {
    /// `info`, `medium`, `high`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Medium => "medium",
            Severity::High => "high",
        }
    }
}

/// The next analysis for a finding, on the same trace. Each front end has its own words for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Predict the run without the cause of the finding with this key.
    Without(String),
    /// The critical path of the run.
    CriticalPath,
    /// What could run at the same time.
    Overlap,
    /// Where idle time goes, by rank.
    Ranks,
    /// Sizes and rates of copies.
    Copies,
    /// Kernels with their sites, fusions and overlaps.
    Triage,
    /// What is wrong with the run as a whole.
    Explain,
    /// The kernel with this name under the roofs of the GPU.
    Roofline(String),
    /// What bounds the kernel with this name.
    Bottleneck(String),
    /// The times of the kernel with this name.
    Kernel(String),
    /// A step on one of several inputs: the step and the file.
    InFile(Box<(NextStep, String)>),
}

/// Something an analysis found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finding {
    /// Stable name of the rule.
    pub id: String,
    /// Identifies it among the findings of the rule; the same trace gives the same key.
    pub key: String,
    /// How much it matters.
    pub severity: Severity,
    /// One line.
    pub title: String,
    /// Rows, time ranges, formula and numbers behind it.
    pub evidence: Vec<(String, crate::Value)>,
    /// The most that could be saved, in critical-path time; `None` if unknown.
    pub gain_ceiling_ns: Option<i64>,
    /// How much of that is time in which the GPU works.
    pub gain_gpu_ns: Option<i64>,
    /// How much of that is time in which the GPU waits for the host.
    pub gain_host_ns: Option<i64>,
    /// What to do.
    pub recommendation: String,
    /// The next analysis.
    pub next_step: Option<NextStep>,
    /// The next step as a command to type; empty until a front end fills it in.
    pub next: String,
}

/// Parts below this share of the gain are not mentioned.
const SMALLEST_PART: f64 = 0.01;

impl Finding {
    /// The most that could be saved, such as `1.20 ms`.
    pub fn gain(&self) -> Option<String> {
        self.gain_ceiling_ns.map(shown)
    }

    /// Whose time the gain is, in parentheses after a space; empty if all of it is GPU work or unknown.
    pub fn gain_parts(&self) -> String {
        let (Some(gpu), Some(host)) = (self.gain_gpu_ns, self.gain_host_ns) else { return String::new() };
        let is_small = |part: i64| part <= 0 || (part as f64) < SMALLEST_PART * (gpu + host) as f64;
        match (is_small(gpu), is_small(host)) {
            (_, true) => String::new(),
            (true, false) => " (the GPU waits for the host)".into(),
            (false, false) => {
                format!(" ({} of GPU work, {} of waiting for the host)", shown(gpu), shown(host))
            }
        }
    }
}

fn shown(ns: i64) -> String {
    number::show(&Value::Int(ns), Unit::Ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_millisecond_of_gpu_work_no_longer_comes_with_a_microsecond_of_waiting() {
        let parts = |gpu, host| {
            Finding { gain_gpu_ns: Some(gpu), gain_host_ns: Some(host), ..Finding::default() }.gain_parts()
        };
        assert_eq!(parts(1_000_000, 1_000), "");
        assert_eq!(parts(1_000, 1_000_000), " (the GPU waits for the host)");
        assert_eq!(parts(0, 1_000_000), " (the GPU waits for the host)");
        assert_eq!(parts(0, 0), "");
        let both = parts(1_000_000, 1_000_000);
        assert!(both.contains("of GPU work, ") && both.contains("of waiting for the host"), "{both}");
    }
}
