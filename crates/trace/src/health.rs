//! Trace health: what is known to be missing, damaged or doubtful, computed once and shown everywhere.

/// Severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// No problem.
    #[default]
    Pass,
    /// Usable, with a caveat.
    Warn,
    /// Results may be wrong.
    Fail,
}

impl Status {
    /// `pass`, `warn`, `fail`.
    pub fn name(self) -> &'static str {
        match self {
            Status::Pass => "pass",
            Status::Warn => "warn",
            Status::Fail => "fail",
        }
    }
}

/// One health check.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Stable name: `coverage`, `truncated`, `lost_events` …
    pub id: &'static str,
    /// Severity.
    pub status: Status,
    /// The number behind it, if there is one.
    pub value: Option<f64>,
    /// One line for a person.
    pub message: String,
}

/// All checks of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    /// In the order they were made.
    pub checks: Vec<Check>,
}

impl Health {
    /// Adds a check.
    pub fn report(
        &mut self,
        id: &'static str,
        status: Status,
        value: Option<f64>,
        message: impl Into<String>,
    ) {
        self.checks.push(Check { id, status, value, message: message.into() });
    }

    /// The worst of all checks.
    pub fn status(&self) -> Status {
        self.checks.iter().map(|c| c.status).max().unwrap_or_default()
    }

    /// The checks that are not perfect.
    pub fn problems(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|c| c.status != Status::Pass)
    }
}
