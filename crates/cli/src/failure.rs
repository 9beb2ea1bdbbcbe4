//! How a command fails: one line saying what and why, one line of help, the right exit code.

use std::io::IsTerminal;
use std::process::ExitCode;

pub use app::Failure;
use app::FailureKind;

use report::visible;

use crate::remedies;

/// Exit code of the contract.
fn code(kind: FailureKind) -> u8 {
    match kind {
        FailureKind::Gate => 1,
        FailureKind::BadInput => 2,
        FailureKind::Tool => 3,
        FailureKind::Cancelled => 130,
        FailureKind::Exit(code) => code,
    }
}

/// Prints it and returns the exit code.
pub fn show(failure: &Failure) -> ExitCode {
    let color = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let label = if color { "\x1b[1;31merror\x1b[0m" } else { "error" };
    eprintln!("{label}: {}", visible(failure.message()));
    if let Some(remedy) = failure.remedy() {
        eprintln!(" help: {}", visible(&remedies::words(remedy)));
    }
    ExitCode::from(code(failure.kind()))
}
