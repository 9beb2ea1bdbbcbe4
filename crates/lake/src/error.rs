//! Why a lake could not be built, read or queried.

/// A failure around a lake.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This build has no engine.
    #[error("this build cannot build or query lakes")]
    NoEngine,
    /// The address has no lake.
    #[error("there is no lake at `{lake}`")]
    NoLake {
        /// The address.
        lake: String,
    },
    /// A folder with something else in it.
    #[error("`{lake}` is not empty and is not a lake")]
    NotALake {
        /// The address.
        lake: String,
    },
    /// The lake does not have this run.
    #[error("the lake at `{lake}` has no run `{run}`, only {there}")]
    NoRun {
        /// The address.
        lake: String,
        /// The run.
        run: String,
        /// Runs that are there.
        there: String,
    },
    /// Written by a newer program.
    #[error(
        "the lake at `{lake}` has version {version}, and this program reads versions up to {}",
        crate::VERSION
    )]
    Newer {
        /// The address.
        lake: String,
        /// Its version.
        version: u64,
    },
    /// A file of the lake is not what it should be.
    #[error("`{file}` of the lake at `{lake}` is damaged: {why}")]
    Damaged {
        /// The address.
        lake: String,
        /// The file.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// The file system or the object store failed.
    #[error("the lake at `{lake}` cannot be {doing}: {why}")]
    Store {
        /// The address.
        lake: String,
        /// `read` or `written`.
        doing: &'static str,
        /// The store's reason.
        why: String,
    },
    /// The SQL is wrong, or failed while it ran.
    #[error("bad SQL: {message}")]
    Sql {
        /// The engine's message.
        message: String,
        /// One line of help.
        hint: Option<String>,
    },
    /// The cluster does not answer, or gave up.
    #[error("the cluster at `{url}` {why}")]
    Cluster {
        /// The address of its scheduler.
        url: String,
        /// What happened.
        why: String,
    },
    /// The client of the cluster is not installed.
    #[error("`{program}` cannot be started: {why}")]
    NoClient {
        /// The program.
        program: String,
        /// Why not.
        why: String,
    },
    /// An input cannot be read.
    #[error(transparent)]
    Input(#[from] ingest::Error),
}
