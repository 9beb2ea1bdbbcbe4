//! How a command fails: one line saying what and why, one line of help, the right exit code.

use std::io::IsTerminal;
use std::process::ExitCode;

/// Exit codes of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// A gate failed (`--strict`).
    Gate = 1,
    /// Bad usage or bad input.
    BadInput = 2,
    /// An external tool or server failed.
    Tool = 3,
}

/// Why a command ended early.
#[derive(Clone, Debug)]
pub struct Failure {
    code: u8,
    message: String,
    help: Option<String>,
}

impl Failure {
    /// Bad usage or bad input.
    pub fn input(message: impl Into<String>) -> Self {
        Self { code: Exit::BadInput as u8, message: message.into(), help: None }
    }

    /// An external tool or server failed.
    pub fn tool(message: impl Into<String>) -> Self {
        Self { code: Exit::Tool as u8, message: message.into(), help: None }
    }

    /// A gate failed.
    pub fn gate(message: impl Into<String>) -> Self {
        Self { code: Exit::Gate as u8, message: message.into(), help: None }
    }

    /// The same with an exit code of its own: that of an interrupt, or of an application.
    pub fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// The same with what to type next.
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// The line that says what and why.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// All of it on one line, for a note of a report that stands without what failed.
    pub fn note(&self) -> String {
        let help = self.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        format!("{}{help}", self.message)
    }

    /// Prints it and gives the exit code.
    pub fn show(&self) -> ExitCode {
        let color =
            std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        let label = if color { "\x1b[1;31merror\x1b[0m" } else { "error" };
        eprintln!("{label}: {}", self.message);
        if let Some(help) = &self.help {
            eprintln!(" help: {help}");
        }
        ExitCode::from(self.code)
    }
}

impl From<ingest::Error> for Failure {
    fn from(error: ingest::Error) -> Self {
        let failure = Failure::input(error.to_string());
        match error.help() {
            Some(help) => failure.with_help(help),
            None => failure,
        }
    }
}
