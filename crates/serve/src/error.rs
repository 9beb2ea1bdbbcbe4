//! What can go wrong: before the server runs, and while it answers.

use std::net::SocketAddr;
use std::path::PathBuf;

use app::{Failure, FailureKind};
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use store::StoreError;

/// Why the server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Anybody on the network could read and write.
    #[error("`{0}` can be reached from other machines, and no token is set")]
    NeedsToken(SocketAddr),
    /// An invalid token.
    #[error("{0}")]
    Token(String),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {}", error.to_string().to_lowercase())]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        error: std::io::Error,
    },
    /// The log of writes cannot be opened.
    #[error("cannot write `{}`: {}", path.display(), error.to_string().to_lowercase())]
    Audit {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Any other system error.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// Why a request got no answer: a status, a stable code and a sentence.
#[derive(Clone, Debug)]
pub struct Problem {
    /// HTTP status of the response.
    pub status: StatusCode,
    /// A word for programs.
    pub code: &'static str,
    /// One line for people.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Seconds after which to try again.
    pub retry_after: Option<u64>,
}

impl Problem {
    /// A problem without further advice.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), help: None, retry_after: None }
    }

    /// The resource does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// The request is invalid.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// It is not allowed.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// It is more than is accepted.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    }

    /// An error of the server.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }

    /// The server cannot answer now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        let problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message);
        Self { retry_after: Some(5), ..problem }
    }

    /// Adds advice.
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::NoExperiment(_) | StoreError::NoTrial(..) | StoreError::NoAlert(_) => {
                Self::not_found(message)
            }
            StoreError::Exists(_) => Self::new(StatusCode::CONFLICT, "exists", message),
            StoreError::Removed(_) => Self::new(StatusCode::CONFLICT, "removed", message)
                .with_help("restore it with `rocm-perf experiment rm --restore`"),
            StoreError::NotRemoved(_) => Self::new(StatusCode::CONFLICT, "not_removed", message),
            StoreError::Differs { .. } => Self::new(StatusCode::CONFLICT, "differs", message)
                .with_help("choose another trial, or ask to replace the existing one"),
            StoreError::BadName(..) | StoreError::Malformed(_) => Self::bad_request(message),
            StoreError::Newer { .. } => Self::new(StatusCode::SERVICE_UNAVAILABLE, "newer_schema", message)
                .with_help("run a newer rocm-perf"),
            StoreError::File { .. } => Self::internal(message),
            StoreError::Database(_) | StoreError::Unreachable(_) => Self::unavailable(message),
        }
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        let problem = match failure.kind() {
            FailureKind::Tool => Self::unavailable(failure.message()),
            _ => Self::bad_request(failure.message()),
        };
        let help = failure.remedy().and_then(|remedy| match remedy {
            app::Remedy::Advice(text) => Some(text.clone()),
            // The others name options of commands, which a server does not have.
            _ => None,
        });
        Self { help, ..problem }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(help) = &self.help {
            error["help"] = help.as_str().into();
        }
        let mut response = (self.status, Json(json!({ "error": error }))).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // Pages show it in their own form.
        response.extensions_mut().insert(self);
        response
    }
}
