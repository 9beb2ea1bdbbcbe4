//! Folders of recordings: the files beside the traces, and what tells a run of ours.

/// What a run is and what is in its folder.
pub const RUN_FILE: &str = "run.json";
/// Arguments of a server whose trace lies beside.
pub const SERVER_ARGS_FILE: &str = "server_args.json";
/// What `doctor` says of the machine that the traces beside it were made on, as JSON.
pub const DOCTOR_FILE: &str = "doctor.json";
/// What a profile is of, among the artifacts of triage.
pub const PROFILE_METADATA_FILE: &str = "profile_metadata.json";

/// Fields of [`RUN_FILE`] that readers look at.
pub mod field {
    /// Who wrote it: [`super::TOOL`].
    pub const TOOL: &str = "tool";
    /// What was done: [`super::COLLECT`] where a program was recorded.
    pub const KIND: &str = "kind";
    /// Paths of the traces that are the run, below its folder.
    pub const TRACES: &str = "traces";
}

/// This program.
pub const TOOL: &str = "rocm-perf";
/// A program that was recorded.
pub const COLLECT: &str = "collect";
