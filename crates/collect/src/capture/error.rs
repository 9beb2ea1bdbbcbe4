//! How a capture fails: what and why in one line, and what to do in another.

use std::path::PathBuf;

use report::Remedy;

/// Why nothing was captured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The options make no sense together.
    #[error("{0}")]
    Usage(String),
    /// Nothing listens at this address.
    #[error("cannot reach a server at `{url}`: {why}")]
    Refused {
        /// The server.
        url: String,
        /// The operating system's reason.
        why: String,
    },
    /// It accepts connections but does not respond.
    #[error("`{url}{path}` did not answer within {seconds} s")]
    Timeout {
        /// The server.
        url: String,
        /// The request path.
        path: String,
        /// How long it was given.
        seconds: u64,
    },
    /// It responded before and is gone.
    #[error("the server at `{url}` died during a request to `{path}`: {why}")]
    Died {
        /// The server.
        url: String,
        /// The request path.
        path: String,
        /// What happened.
        why: String,
    },
    /// It requires a key, or another one.
    #[error("the server at `{url}` rejected the key (HTTP {status} on `{path}`)")]
    Forbidden {
        /// The server.
        url: String,
        /// The request path.
        path: String,
        /// 401 or 403.
        status: u16,
        /// Whether a key was sent.
        key_sent: bool,
    },
    /// It is not a server that we know.
    #[error("the server at `{url}` is neither SGLang nor vLLM")]
    Unknown {
        /// The server.
        url: String,
    },
    /// The profile routes are missing.
    #[error("profiling is off on the {framework} server at `{url}` (HTTP 404 on `/start_profile`)")]
    ProfilingOff {
        /// The server.
        url: String,
        /// Its framework.
        framework: &'static str,
        /// How to start the server instead.
        help: String,
    },
    /// Another profile is already running.
    #[error("the server at `{url}` is already being profiled")]
    AlreadyRunning {
        /// The server.
        url: String,
    },
    /// It answered with an error.
    #[error("the server at `{url}` failed on `{path}` (HTTP {status}): {message}")]
    Failed {
        /// The server.
        url: String,
        /// The request path.
        path: String,
        /// Its status.
        status: u16,
        /// Its message.
        message: String,
    },
    /// Its response is invalid.
    #[error("unexpected response from the server at `{url}` to `{path}`: {why}")]
    Unexpected {
        /// The server.
        url: String,
        /// The request path.
        path: String,
        /// What was wrong.
        why: String,
    },
    /// The profile was taken, but no file appeared.
    #[error("no new trace appeared in `{}` within {seconds} s", folder.display())]
    NoFiles {
        /// The folder that was watched.
        folder: PathBuf,
        /// How long.
        seconds: u64,
        /// A trace that appeared elsewhere.
        elsewhere: Option<PathBuf>,
    },
    /// A file appeared but was never complete.
    #[error("`{}` is still incomplete after {seconds} s: {why}", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// How long it was given.
        seconds: u64,
        /// What is missing.
        why: String,
    },
    /// A folder or file of ours cannot be used.
    #[error("cannot use `{}`: {why}", path.display())]
    Folder {
        /// The path.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

impl Error {
    /// Whether the user must change the command instead of the server.
    pub fn is_usage(&self) -> bool {
        matches!(self, Error::Usage(_) | Error::Folder { .. })
    }

    /// What to do next.
    pub fn help(&self) -> Option<Remedy> {
        let advice = match self {
            Error::Refused { .. } => return Some(Remedy::ServerAddress),
            Error::Timeout { path, .. } if path == "/stop_profile" => {
                return Some(Remedy::TimeoutOrFewerSteps);
            }
            Error::Timeout { .. } => return Some(Remedy::TimeoutOrShorterRequests),
            Error::Died { .. } => return Some(Remedy::FewerSteps),
            Error::Forbidden { key_sent: false, .. } => return Some(Remedy::ServerKey),
            Error::Forbidden { .. } => {
                "the profile routes may need the admin key (SGLang: the server's `--admin-api-key`)"
            }
            Error::Unknown { .. } => return Some(Remedy::ServerFramework),
            Error::ProfilingOff { help, .. } => help,
            Error::NoFiles { elsewhere, .. } => {
                let path = elsewhere.as_ref().map(|path| path.display().to_string());
                return Some(Remedy::ServerFolder(path));
            }
            Error::AlreadyRunning { .. } => return Some(Remedy::StopFirst),
            Error::Failed { path, status: 400..500, .. } if !path.ends_with("_profile") => {
                return Some(Remedy::RequestLengths);
            }
            Error::Failed { path, .. } if path == "/start_profile" => {
                return Some(Remedy::StopFirst);
            }
            Error::Failed { .. } => "see the server's log",
            Error::Truncated { .. } => return Some(Remedy::UnfinishedFile),
            Error::Usage(_) | Error::Unexpected { .. } | Error::Folder { .. } => return None,
        };
        Some(Remedy::from(advice.to_string()))
    }
}
