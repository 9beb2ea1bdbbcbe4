//! Profiling a running server, and the triage of its traces.

use std::path::PathBuf;

use collect::capture::{Captured, Error};
use report::{Column, HealthCheck, HealthStatus, InputFact, Report, Table, Unit, Value};

use crate::failure::Failure;
use crate::observer::{ForwardedEvents, Observer};
use crate::triage::{Folder, ProfileFacts, TriageRequest, triage};

pub use collect::capture::{Framework, Lengths, Options, Role, Site, Workload};

/// How to triage the captured traces.
#[derive(Clone, Debug, Default)]
pub struct CapturedTriage {
    /// Least share of a row, in percent.
    pub min_share: f64,
    /// What is known of the profile.
    pub profile: ProfileFacts,
}

/// Profiles a running server; triages its traces on request.
pub fn capture(
    options: &Options,
    triaged: Option<&CapturedTriage>,
    observer: &dyn Observer,
) -> Result<Report, Failure> {
    let captured = collect::capture::capture(options, &ForwardedEvents { observer, output: false })?;
    let mut report = report(&captured, options);
    if let Some(how) = triaged {
        add_triage(&mut report, &captured, options, how, observer);
    }
    Ok(report)
}

/// Adds the triage of what was captured. The traces stay even if the triage fails.
fn add_triage(
    report: &mut Report,
    captured: &Captured,
    options: &Options,
    how: &CapturedTriage,
    observer: &dyn Observer,
) {
    let of_role = |role: Role| -> Vec<PathBuf> {
        let own = captured.traces.iter().filter(|trace| trace.role == role);
        own.map(|trace| trace.path.clone()).collect()
    };
    let request = TriageRequest {
        mapping: of_role(Role::Mapping),
        min_share: how.min_share,
        profile: how.profile.clone(),
        folder: Some(Folder { path: options.formal.output_dir.clone(), perfetto_fix: false }),
        ..TriageRequest::new(of_role(Role::Formal))
    };
    match triage(&request, observer) {
        Ok(triage) => {
            report.tables.extend(triage.tables);
            report.findings.extend(triage.findings);
            report.health.extend(triage.health);
            report.notes.extend(triage.notes);
        }
        Err(failure) => report.health.push(HealthCheck {
            id: "triage".into(),
            status: HealthStatus::Warn,
            value: None,
            message: format!("the traces could not be triaged: {}", failure.message()),
        }),
    }
}

fn report(captured: &Captured, options: &Options) -> Report {
    let columns = vec![
        Column::text("role"),
        Column::text("stage"),
        Column::int("rank", Unit::None).key(),
        Column::int("bytes", Unit::Bytes).key(),
        Column::text("path"),
    ];
    let mut traces = Table::new("traces", "Traces", columns);
    for trace in &captured.traces {
        traces.push(vec![
            Value::from(trace.role.name()),
            Value::from(trace.stage.name()),
            Value::int_or(trace.rank.map(i64::from), "the file name has no rank"),
            Value::Int(trace.bytes as i64),
            Value::from(trace.path.display().to_string().as_str()),
        ]);
    }
    let columns = vec![
        Column::text("role"),
        Column::text("url"),
        Column::text("framework"),
        Column::text("version"),
        Column::text("model"),
        Column::int("tp_size", Unit::None).key(),
    ];
    let mut servers = Table::new("servers", "Servers", columns);
    let text = |value: &Option<String>| match value {
        Some(text) => Value::from(text.as_str()),
        None => Value::absent("the server does not report it"),
    };
    for (role, facts) in &captured.servers {
        servers.push(vec![
            Value::from(role.name()),
            Value::from(facts.url.as_str()),
            Value::from(facts.framework.name()),
            text(&facts.version),
            text(&facts.model),
            Value::int_or(facts.tp_size.map(i64::from), "the server does not report it"),
        ]);
    }
    let health = captured.warnings.iter().map(|message| HealthCheck {
        id: "capture".into(),
        status: HealthStatus::Warn,
        value: None,
        message: message.clone(),
    });
    let inputs = captured.traces.iter().map(|trace| InputFact {
        path: trace.path.display().to_string(),
        format: ingest::Format::Torch.name().into(),
        bytes: trace.bytes,
        rank: trace.rank,
    });
    Report {
        command: "capture".into(),
        inputs: inputs.collect(),
        health: health.collect(),
        tables: vec![traces, servers],
        notes: vec![format!("the traces are in `{}`", options.formal.output_dir.display()).into()],
        ..Report::default()
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let make = if error.is_usage() { Failure::input } else { Failure::tool };
        make(error.to_string()).with_remedy(error.help())
    }
}
