//! Why a tool gives no answer: one line with the problem and its cause, and what to ask instead.

use app::Failure;

use crate::words;

/// A tool error as the agent reads it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", help.as_ref().map(|help| format!("\nhelp: {help}")).unwrap_or_default())]
pub struct Refusal {
    message: String,
    help: Option<String>,
}

impl Refusal {
    /// What is wrong and why.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None }
    }

    /// Adds what to ask instead.
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// The first line.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to ask instead.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self { message: failure.message().into(), help: failure.remedy().and_then(words::remedy) }
    }
}
