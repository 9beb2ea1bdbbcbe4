//! Folders of recordings: the files next to the traces, and what identifies a run of ours.

/// Description of a run and the files in its folder.
pub const RUN_FILE: &str = "run.json";
/// Arguments of the server whose trace is in the folder.
pub const SERVER_ARGS_FILE: &str = "server_args.json";
/// The `doctor` report on the machine that recorded the traces in the folder, as JSON.
pub const DOCTOR_FILE: &str = "doctor.json";
/// Model and setup of a profile, among the artifacts of triage.
pub const PROFILE_METADATA_FILE: &str = "profile_metadata.json";

/// Fields of [`RUN_FILE`] that readers use.
pub mod field {
    /// The program that wrote it: [`super::TOOL`].
    pub const TOOL: &str = "tool";
    /// What was done: [`super::COLLECT`] if a program was recorded.
    pub const KIND: &str = "kind";
    /// Paths of the run's traces, relative to its folder.
    pub const TRACES: &str = "traces";
}

/// This program.
pub const TOOL: &str = "rocm-perf";
/// Kind of a run that recorded a program.
pub const COLLECT: &str = "collect";
