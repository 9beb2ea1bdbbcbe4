//! What `optimize` reports.

use report::{Column, Note, Report, Table, Unit, Value};
use serde_json::json;

use super::session::Session;

/// The report of a session.
pub fn optimize_report(session: &Session) -> Report {
    let mut report = Report {
        command: "optimize".into(),
        tables: vec![candidates(session)],
        notes: notes(session).into_iter().map(Note::from).collect(),
        result: Some(result(session)),
        ..Report::default()
    };
    if !session.kernels.is_empty() {
        report.tables.push(kernels(session));
    }
    report
}

fn candidates(session: &Session) -> Table {
    let columns = vec![
        Column::int("id", Unit::Exact).key(),
        Column::text("kernel").normal(),
        Column::text("proposal"),
        Column::text("status"),
        Column::int("speedup", Unit::None).key(),
        Column::int("ci_low", Unit::None),
        Column::int("ci_high", Unit::None),
        Column::int("pairs", Unit::None),
        Column::text("origin").detail(),
        Column::text("reason").detail(),
    ];
    let mut table = Table::new("candidates", "Candidates", columns);
    for one in &session.candidates {
        let measured = one.proof.as_ref().map(|proof| proof.fresh.as_ref().unwrap_or(&proof.first));
        let why = "not measured";
        let number = |value: Option<f64>| {
            value
                .filter(|value| value.is_finite())
                .map_or(Value::absent(why), |value| Value::Float((value * 1e4).round() / 1e4))
        };
        let effect = measured.map(|experiment| experiment.effect);
        table.push(vec![
            Value::from(one.id),
            Value::from(one.kernel.as_str()),
            Value::from(one.description.as_str()),
            Value::from(one.status.name()),
            number(effect.map(|effect| effect.speedup)),
            number(effect.map(|effect| effect.low)),
            number(effect.map(|effect| effect.high)),
            Value::int_or(effect.map(|effect| effect.pairs as i64), why),
            Value::from(one.origin.as_str()),
            Value::from(one.reason.as_str()),
        ]);
    }
    table
}

fn kernels(session: &Session) -> Table {
    let columns = vec![
        Column::text("name"),
        Column::int("share_pct", Unit::Pct).key(),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("dispatches", Unit::None),
        Column::text("ranked_by").detail(),
    ];
    let mut table = Table::new("kernels", "Kernels by their share of the run", columns);
    for one in &session.kernels {
        let share = one.evidence.share_pct;
        table.push(vec![
            Value::from(one.name.as_str()),
            share.map_or(Value::absent("no profile"), Value::Float),
            Value::int_or(one.evidence.total_ns, "no profile"),
            Value::from(one.evidence.dispatches),
            Value::from(one.evidence.ranked_by),
        ]);
    }
    table
}

fn notes(session: &Session) -> Vec<String> {
    let mut notes = session.notes.clone();
    if let Some(speedup) = session.speedup {
        notes
            .push(format!("the accepted changes make it {speedup:.3} times as fast, measured in fresh runs"));
    }
    if let Some(floor) = &session.noise_floor {
        notes.push(format!(
            "noise: two measurements of the same program differ by {:.1} %, end to end by {:.1} %",
            100.0 * floor.effect.seen(),
            100.0 * floor.end_to_end.seen()
        ));
    }
    if !session.flags.is_empty() {
        notes.push(format!("build with `{}`: this is not in the source", session.flags.join(" ")));
    }
    if let Some(backup) = &session.applied {
        notes.push(format!("the source was changed; the original is in `{}`", backup.display()));
    }
    notes
}

fn result(session: &Session) -> serde_json::Value {
    json!({
        "accepted": session.accepted().count() > 0,
        "accepted_candidates": session.accepted().map(|one| one.id).collect::<Vec<_>>(),
        "tried": session.candidates.len(),
        "speedup": session.speedup,
        "noise_floor_pct": session.noise_floor.map(|floor| 100.0 * floor.effect.seen()),
        "accepted_flags": session.flags,
        "applied": session.applied.is_some(),
    })
}
