//! The verdict: one sentence and a few numbers that answer "what is slow" before any table.

use serde_json::{Value as Json, json};

/// What bounds a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BoundBy {
    /// Kernels.
    Gpu,
    /// The host issues work too slowly.
    Launch,
    /// The host does other work.
    Host,
    /// The host waits for the GPU and has to start again.
    Sync,
    /// Copies that overlap with nothing.
    Copy,
    /// Collectives that overlap with nothing.
    Communication,
    /// Memory allocation calls.
    Allocation,
    /// No single cause.
    Mixed,
}

impl BoundBy {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            BoundBy::Gpu => "gpu",
            BoundBy::Launch => "launch",
            BoundBy::Host => "host",
            BoundBy::Sync => "sync",
            BoundBy::Copy => "copy",
            BoundBy::Communication => "communication",
            BoundBy::Allocation => "allocation",
            BoundBy::Mixed => "mixed",
        }
    }
}

/// Something and the time it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// What takes the time.
    pub what: String,
    /// How long.
    pub ns: i64,
    /// Share of the span.
    pub share_pct: f64,
}

/// Whether the trace was taken on the architecture you care about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArchMatch {
    /// `exact`, `compatible` or `unknown`.
    pub status: String,
    /// The architecture you care about.
    pub target: String,
    /// Why.
    pub reason: String,
}

/// One answer, first in every analysis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// The sentence.
    pub text: String,
    /// What bounds the run; `None` if that is unknown.
    pub bound_by: Option<BoundBy>,
    /// First to last GPU work.
    pub span_ns: Option<i64>,
    /// Share of the span in which a GPU works (all GPUs together).
    pub busy_pct: Option<f64>,
    /// Time in which no work runs, summed over GPUs.
    pub idle_ns: Option<i64>,
    /// Median time of a step.
    pub step_ns: Option<i64>,
    /// Steps seen.
    pub steps: Option<usize>,
    /// `gfx942`.
    pub architecture: Option<String>,
    /// `MI300X`.
    pub product: Option<String>,
    /// Whether that is the architecture you care about.
    pub arch_match: ArchMatch,
    /// Why the trace must not be trusted; empty if it can be.
    pub why_not: Vec<String>,
    /// What takes most of the time.
    pub largest_cost: Option<Cost>,
    /// The most that one finding would save.
    pub largest_gain_ns: Option<i64>,
    /// The key of that finding.
    pub finding: Option<String>,
}

impl Verdict {
    /// Whether the trace is complete enough to act on.
    pub fn trusted(&self) -> bool {
        self.why_not.is_empty()
    }

    /// Architecture and match in a line: `gfx942, target gfx950: compatible`.
    pub fn hardware(&self) -> String {
        let observed = self.architecture.as_deref().unwrap_or("architecture unknown");
        let ArchMatch { status, target, .. } = &self.arch_match;
        format!("{observed}, target {target}: arch_match {status}")
    }

    /// JSON in the form of the contract.
    pub fn json(&self) -> Json {
        let cost = self.largest_cost.as_ref();
        json!({
            "text": self.text,
            "bound_by": self.bound_by.map(BoundBy::name),
            "span_ns": self.span_ns,
            "busy_pct": self.busy_pct,
            "idle_ns": self.idle_ns,
            "step_ns": self.step_ns,
            "steps": self.steps,
            "architecture": self.architecture,
            "product": self.product,
            "arch_match": self.arch_match.status,
            "hardware_relevance_reason": self.arch_match.reason,
            "trusted": self.trusted(),
            "why_not": if self.trusted() { Json::Null } else { json!(self.why_not.join("; ")) },
            "largest_cost": cost.map(|cost| json!({ "what": cost.what, "ns": cost.ns, "share_pct": cost.share_pct })),
            "largest_gain_ns": self.largest_gain_ns,
            "finding": self.finding,
        })
    }
}
