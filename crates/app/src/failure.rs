//! How a request fails: whose fault it is, one line that says what and why, and what to ask for instead.

use report::{Note, Remedy};

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// A gate failed: the answer is no.
    Gate,
    /// Bad request or bad input.
    BadInput,
    /// An external tool or server failed.
    Tool,
    /// Stopped on request.
    Cancelled,
    /// A program failed with this exit code.
    Exit(u8),
}

/// Why a request was not fulfilled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    kind: FailureKind,
    message: String,
    remedy: Option<Remedy>,
}

impl Failure {
    fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), remedy: None }
    }

    /// Bad request or bad input.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(FailureKind::BadInput, message)
    }

    /// An external tool or server failed.
    pub fn tool(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Tool, message)
    }

    /// A gate failed.
    pub fn gate(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Gate, message)
    }

    /// The caller cancelled it.
    pub fn cancelled() -> Self {
        Self::new(FailureKind::Cancelled, "stopped on request")
    }

    /// Sets an exit code: that of an interrupt, or of an application.
    pub fn with_code(self, code: u8) -> Self {
        Self { kind: FailureKind::Exit(code), ..self }
    }

    /// Adds what to ask for instead.
    pub fn with_help(self, remedy: impl Into<Remedy>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// Adds what to ask for instead, if anything helps.
    pub fn with_remedy(self, remedy: Option<impl Into<Remedy>>) -> Self {
        match remedy {
            Some(remedy) => self.with_help(remedy),
            None => self,
        }
    }

    /// Whose fault it is.
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    /// The line that says what and why.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to ask for instead.
    pub fn remedy(&self) -> Option<&Remedy> {
        self.remedy.as_ref()
    }

    /// A note for a report that is shown without the failed part.
    pub fn note(&self, what: &str) -> Note {
        Note { text: format!("{what}: {}", self.message), remedy: self.remedy.clone() }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<ingest::Error> for Failure {
    fn from(error: ingest::Error) -> Self {
        if matches!(error, ingest::Error::Outside { .. }) {
            return Failure::input(error.to_string()).with_help(Remedy::FollowLinks);
        }
        Failure::input(error.to_string()).with_remedy(error.help())
    }
}

impl From<analysis::filters::FilterError> for Failure {
    fn from(error: analysis::filters::FilterError) -> Self {
        Failure::input(error.to_string()).with_remedy(error.help())
    }
}
