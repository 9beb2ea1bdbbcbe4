//! Shared parts of reports: the inputs, their health, and how a row names a GPU.

use report::{Column, HealthCheck, HealthStatus, InputFact, Report, Value};
use trace::{AgentId, Health, Status, Trace};

/// An empty report of `command` on `trace`.
pub(crate) fn report(command: &str, trace: &Trace) -> Report {
    let inputs = trace.sources.iter().map(|source| InputFact {
        path: source.path.clone(),
        format: source.format.clone(),
        bytes: source.bytes,
        rank: source.rank,
    });
    Report {
        command: command.into(),
        inputs: inputs.collect(),
        health: health(&trace.health),
        ..Report::default()
    }
}

/// A trace's health checks for a report.
pub fn health(health: &Health) -> Vec<HealthCheck> {
    let check = |check: &trace::Check| HealthCheck {
        id: check.id.to_string(),
        status: match check.status {
            Status::Pass => HealthStatus::Pass,
            Status::Warn => HealthStatus::Warn,
            Status::Fail => HealthStatus::Fail,
        },
        value: check.value,
        message: check.message.clone(),
    };
    health.checks.iter().map(check).collect()
}

/// A column of kernel names, which are said shortly where they do not fit.
pub(crate) fn kernel_column(key: &str) -> Column {
    Column::text(key).shortened_by(model::names::display_name)
}

/// The rank of a GPU as a cell.
pub(crate) fn rank_of(rank: Option<u32>) -> Value {
    Value::int_or(rank.map(i64::from), "the input does not record a rank")
}

/// The device of a GPU as a cell.
pub(crate) fn agent_of(trace: &Trace, agent: AgentId) -> Value {
    let index = agent.get().and_then(|agent| trace.agents.get(agent)?.absolute_index.get());
    Value::int_or(index, "the input does not record the device")
}
