//! One run of one configuration: how it ended, and the program that ran.

use std::time::Duration;

/// One run of one configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its outcome.
    pub status: Status,
    /// The metric; only with [`Status::Ok`].
    pub value: Option<f64>,
    /// Seconds the program itself ran.
    pub seconds: f64,
    /// Total seconds spent on it, including build and check.
    pub spent: f64,
    /// Why it failed: the end of its output.
    pub detail: String,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A value.
    Ok,
    /// The build command failed.
    BuildFailed,
    /// The program failed.
    RunFailed,
    /// It took longer than the time limit.
    Timeout,
    /// It was stopped because it took much longer than the best.
    TooSlow,
    /// The checker refused its result.
    WrongResult,
    /// It succeeded, but did not give the metric.
    NoValue,
    /// It gave a value in one run and failed in another.
    Unstable,
    /// It did not run: it cannot be launched.
    Skipped,
}

impl Status {
    /// Its name in reports and journals.
    pub fn name(self) -> &'static str {
        STATUSES.iter().find(|(status, _)| *status == self).map_or("", |(_, name)| name)
    }

    /// The status with this name.
    pub fn named(name: &str) -> Option<Self> {
        STATUSES.iter().find(|(_, known)| *known == name).map(|(status, _)| *status)
    }
}

/// The program to tune: runs a configuration once. The first run (number 0) also builds and checks.
pub trait Target {
    /// Runs the configuration with these levels; no part of it may take longer than `limit`.
    fn run(&mut self, levels: &[u16], number: usize, limit: Limit) -> Run;

    /// How many configurations it wants to know in advance.
    fn lookahead(&self) -> usize {
        0
    }

    /// Tells it the next configuration and the likely ones after it: it can prepare them together.
    fn prepare(&mut self, _next: &[&[u16]]) {}
}

/// How long a run may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// It is stopped after this time.
    pub time: Duration,
    /// Whether the limit comes from the best so far and not from the user.
    pub by_best: bool,
}

/// All statuses with their names.
const STATUSES: &[(Status, &str)] = &[
    (Status::Ok, "ok"),
    (Status::BuildFailed, "build_failed"),
    (Status::RunFailed, "run_failed"),
    (Status::Timeout, "timeout"),
    (Status::TooSlow, "too_slow"),
    (Status::WrongResult, "wrong_result"),
    (Status::NoValue, "no_value"),
    (Status::Unstable, "unstable"),
    (Status::Skipped, "skipped"),
];
