//! What the profiler recorded in a run, and what an analysis of it must find.

use serde::{Deserialize, Serialize};

/// What the profiler kept of a run. By default: everything, with its labels.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recording {
    /// Steps that ran before the recording began: neither their calls nor the GPU work they launched are in it.
    pub unrecorded_steps: u64,
    /// Whether the profiler's own span over the whole run is in it, as in torch traces.
    pub profiler_span: bool,
    /// Which lanes show the annotations of steps.
    pub annotations: AnnotationLanes,
    /// Whether collectives carry their number within the group (`Seq`).
    pub collective_numbers: bool,
    /// The process id that every rank shows, as programs in containers do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i64>,
    /// Whether a recording names its rank.
    pub rank_labels: bool,
}

impl Default for Recording {
    fn default() -> Self {
        Self {
            unrecorded_steps: 0,
            profiler_span: false,
            annotations: AnnotationLanes::Host,
            collective_numbers: true,
            pid: None,
            rank_labels: true,
        }
    }
}

/// Which lanes show annotations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnnotationLanes {
    /// The host's threads.
    #[default]
    Host,
    /// The GPU's streams only (`gpu_user_annotation`): each spans the kernels launched under it.
    Gpu,
}

/// What an analysis of the run must report, known because the run was made that way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expected {
    /// What bounds the run; any of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bound_by: Vec<String>,
    /// The rules of which one must be the first or the second finding.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// A word of the advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Short name of the kernel that a profile is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
}
