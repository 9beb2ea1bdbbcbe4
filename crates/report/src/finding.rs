//! Findings: something worth acting on, with the evidence for it.

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

/// Something an analysis found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finding {
    /// Stable name of the rule.
    pub id: String,
    /// Tells it from other findings of the rule; the same trace gives the same key.
    pub key: String,
    /// How much it matters.
    pub severity: Severity,
    /// One line.
    pub title: String,
    /// Rows, time ranges, formula and numbers behind it.
    pub evidence: Vec<(String, crate::Value)>,
    /// Most that could be won, in critical-path time; absent when it cannot be told.
    pub gain_ceiling_ns: Option<i64>,
    /// How much of that is time in which the GPU works.
    pub gain_gpu_ns: Option<i64>,
    /// How much of that is time in which the GPU waits for the host.
    pub gain_host_ns: Option<i64>,
    /// What to do.
    pub recommendation: String,
    /// The command that looks closer; empty where there is none.
    pub next: String,
}
