//! Failures as exceptions of `rocm_perf`, with the text of the command line.

use app::{Failure, FailureKind};
use pyo3::prelude::*;

use crate::words;

/// Why a call failed; becomes an exception where Python sees it.
pub enum Failed {
    /// The request failed.
    Request(Failure),
    /// The user's SQL is wrong.
    Sql(Failure),
    /// A file changed after it was opened.
    Changed(Failure),
    /// Python itself has an exception, such as KeyboardInterrupt.
    Python(PyErr),
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Failed::Request(failure)
    }
}

impl From<PyErr> for Failed {
    fn from(error: PyErr) -> Self {
        Failed::Python(error)
    }
}

impl From<Failed> for PyErr {
    fn from(failed: Failed) -> Self {
        let (class, failure) = match failed {
            Failed::Python(error) => return error,
            Failed::Sql(failure) => ("SqlError", failure),
            Failed::Changed(failure) => ("ChangedError", failure),
            Failed::Request(failure) => (class(failure.kind()), failure),
        };
        let help = failure.remedy().and_then(words::words);
        Python::attach(|py| {
            let made = py
                .import("rocm_perf._errors")
                .and_then(|errors| errors.getattr(class))
                .and_then(|class| class.call1((failure.message(), help)));
            made.map_or_else(|error| error, PyErr::from_value)
        })
    }
}

fn class(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Gate => "GateError",
        FailureKind::BadInput => "InputError",
        FailureKind::Tool | FailureKind::Exit(_) => "ToolError",
        FailureKind::Cancelled => "CancelledError",
    }
}
