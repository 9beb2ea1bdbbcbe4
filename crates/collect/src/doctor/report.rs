//! The checks as a report: a table of all, and what to do about those that did not pass.

use report::{Column, Finding, HealthStatus, Report, Severity, Table, Value};

use super::{Check, Hit};

/// The report of an examination.
pub fn report(checks: &[Check]) -> Report {
    let columns = vec![
        Column::text("status"),
        Column::text("check"),
        Column::text("found"),
        Column::text("id").data(),
        Column::text("why").data(),
        Column::text("fix").data(),
    ];
    let mut table = Table::new("checks", "Checks", columns);
    for check in checks {
        let text = |text: &str| Value::Text(text.into());
        let fix = match check.status {
            HealthStatus::Pass => Value::absent("nothing to fix"),
            _ => text(check.fix),
        };
        table.push(vec![
            text(check.status.name()),
            text(check.title),
            text(&check.found),
            text(check.id),
            text(check.why),
            fix,
        ]);
    }
    let mut troubled: Vec<&Check> =
        checks.iter().filter(|check| check.status != HealthStatus::Pass).collect();
    troubled.sort_by_key(|check| std::cmp::Reverse(check.status));
    let finding = |check: &&Check| Finding {
        id: check.id.into(),
        severity: if check.status == HealthStatus::Fail { Severity::High } else { Severity::Medium },
        title: format!("{}: {}", check.title, check.found),
        evidence: vec![
            ("found".into(), Value::Text(check.found.clone())),
            ("why".into(), Value::from(check.why)),
        ],
        gain_ceiling_ns: None,
        recommendation: format!("{}\n    $ {}", check.why, check.fix),
        ..Finding::default()
    };
    Report {
        command: "doctor".into(),
        tables: vec![table],
        findings: troubled.iter().map(finding).collect(),
        notes: vec![verdict(checks).into()],
        ..Report::default()
    }
}

/// `issues`: known issues that the machine has.
pub fn issues_table(hits: &[Hit]) -> Table {
    let columns = vec![
        Column::text("issue"),
        Column::text("found"),
        Column::text("effect"),
        Column::text("remedy"),
        Column::text("seen"),
        Column::text("link"),
        Column::text("id").data(),
    ];
    let mut table = Table::new("issues", "Known issues", columns);
    for Hit { issue, found } in hits {
        let text = |text: &str| Value::Text(text.into());
        table.push(vec![
            text(&issue.title),
            Value::Text(found.join(", ")),
            text(&issue.effect),
            text(&issue.remedy),
            text(&issue.seen),
            text(&issue.link),
            text(&issue.id),
        ]);
    }
    table
}

/// One line with what matters.
fn verdict(checks: &[Check]) -> String {
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let (failed, warned) = (count(HealthStatus::Fail), count(HealthStatus::Warn));
    match (failed, warned) {
        (0, 0) => format!("all {} checks passed", checks.len()),
        (0, warned) => format!("ready to profile, with {warned} warnings"),
        (failed, _) => format!("not ready to profile: {failed} of {} checks failed", checks.len()),
    }
}
