//! Steps: what annotations, file names and captures say of a run's stages, read from names alone.

mod labels;
mod marks;
mod patterns;

pub use labels::label;
pub(crate) use marks::Annotations;
pub use marks::{Step, Steps};
pub(crate) use patterns::StageRules;
pub use patterns::StepName;

use serde::Deserialize;

/// A stage of serving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The context phase: prompts are read. SGLang says extend.
    Prefill,
    /// Tokens are generated (verifying drafted ones included).
    Decode,
    /// Both in one step.
    Mixed,
    /// Anything else, or not known.
    #[default]
    Other,
}

impl Stage {
    /// All stages in the order they are shown.
    pub const ALL: [Stage; 4] = [Stage::Prefill, Stage::Decode, Stage::Mixed, Stage::Other];

    /// `prefill`, `decode`, `mixed`, `other`.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Prefill => "prefill",
            Stage::Decode => "decode",
            Stage::Mixed => "mixed",
            Stage::Other => "other",
        }
    }

    /// The stage of that name; `extend` is prefill.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = if name == "extend" { "prefill" } else { name };
        Self::ALL.into_iter().find(|stage| stage.name() == name)
    }

    /// By how many requests are in which phase.
    pub fn of_requests(context: u64, generation: u64) -> Self {
        match (context > 0, generation > 0) {
            (true, true) => Stage::Mixed,
            (true, false) => Stage::Prefill,
            (false, true) => Stage::Decode,
            (false, false) => Stage::Other,
        }
    }
}
