//! What every report starts with: the inputs and their health.

use report::{HealthCheck, HealthStatus, InputFact, Report};
use trace::{Status, Trace};

/// An empty report of `command` on `trace`.
pub(crate) fn report(command: &str, trace: &Trace) -> Report {
    let inputs = trace.sources.iter().map(|source| InputFact {
        path: source.path.clone(),
        format: source.format.clone(),
        bytes: source.bytes,
        rank: source.rank,
    });
    let health = trace.health.checks.iter().map(|check| HealthCheck {
        id: check.id.to_string(),
        status: match check.status {
            Status::Pass => HealthStatus::Pass,
            Status::Warn => HealthStatus::Warn,
            Status::Fail => HealthStatus::Fail,
        },
        value: check.value,
        message: check.message.clone(),
    });
    Report {
        command: command.into(),
        inputs: inputs.collect(),
        health: health.collect(),
        ..Report::default()
    }
}
