//! Steps: what annotations, file names and captures say about a run's stages, read from names alone.

mod labels;
mod marks;
mod own;
mod patterns;

pub use labels::label;
pub(crate) use marks::Annotations;
pub use marks::{Step, Steps};
pub use own::{StagePatternError, StagePatterns};
pub(crate) use patterns::StageRules;
pub use patterns::StepName;

use serde::Deserialize;

/// Compiles the built-in patterns now, so that the first name need not wait for it.
pub fn compile_patterns() {
    StageRules::built_in();
}

/// A stage of serving or of training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The context phase: prompts are read. SGLang calls it extend.
    Prefill,
    /// Tokens are generated.
    Decode,
    /// Speculative decoding: the target model checks drafted tokens.
    Verify,
    /// Speculative decoding: the draft model proposes tokens.
    Draft,
    /// Prefill and decode in one step.
    Mixed,
    /// Training: the forward pass.
    Forward,
    /// Training: the backward pass.
    Backward,
    /// Training: the weights are updated.
    Optimizer,
    /// Anything else, or unknown.
    #[default]
    Other,
}

impl Stage {
    /// All stages in the order they are shown.
    pub const ALL: [Stage; 9] = [
        Stage::Prefill,
        Stage::Decode,
        Stage::Verify,
        Stage::Draft,
        Stage::Mixed,
        Stage::Forward,
        Stage::Backward,
        Stage::Optimizer,
        Stage::Other,
    ];

    /// The word in reports: `prefill`, `decode` …
    pub fn name(self) -> &'static str {
        match self {
            Stage::Prefill => "prefill",
            Stage::Decode => "decode",
            Stage::Verify => "verify",
            Stage::Draft => "draft",
            Stage::Mixed => "mixed",
            Stage::Forward => "forward",
            Stage::Backward => "backward",
            Stage::Optimizer => "optimizer",
            Stage::Other => "other",
        }
    }

    /// The stage of that name; `extend` is prefill, `generate` is decode.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = match name {
            "extend" => "prefill",
            "generate" => "decode",
            name => name,
        };
        Self::ALL.into_iter().find(|stage| stage.name() == name)
    }

    /// Whether a filter on this stage includes `other`: speculative decoding counts as decoding.
    pub fn covers(self, other: Stage) -> bool {
        self == other || self == Stage::Decode && matches!(other, Stage::Verify | Stage::Draft)
    }

    /// The stage of a step with this many requests in each phase.
    pub fn of_requests(context: u64, generation: u64) -> Self {
        match (context > 0, generation > 0) {
            (true, true) => Stage::Mixed,
            (true, false) => Stage::Prefill,
            (false, true) => Stage::Decode,
            (false, false) => Stage::Other,
        }
    }
}
