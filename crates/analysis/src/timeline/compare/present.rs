//! The report of `compare`.

use report::{Finding, HealthCheck, HealthStatus, Note, Remedy, Report, Severity};

use super::ground::{CommonGround, Repeated};
use super::rows::percent;
use super::{Comparison, GateOutcome, GateStatus, gates, structure, tables, waterfall};

/// The whole report: gates and comparability first.
pub fn present(comparison: &Comparison) -> Report {
    let mut report = comparison.read.clone();
    let (rows, ground) = (&comparison.rows, &comparison.ground);
    report.tables = vec![
        gates::table(&comparison.gates),
        tables::kernels(rows),
        tables::end_to_end(rows),
        waterfall::table(&comparison.span_causes),
        tables::categories(rows),
        tables::regions(rows),
    ];
    if let Some(structure) = comparison.structure.as_ref().filter(|_| comparison.by_places) {
        // Places come first, and the span is explained by them; kernels by name are only for scripts.
        let places = structure::tables(structure);
        report.tables[1].is_detail = true;
        report.tables[3] = waterfall::table(&structure.span_causes);
        report.tables.splice(1..1, places);
        report.result = Some(serde_json::json!({
            "matched_pct": structure.smaller_matched_pct(),
            "base_matched_pct": structure.matched_pct[0],
            "candidate_matched_pct": structure.matched_pct[1],
        }));
        report.notes.push(
            format!(
                "{:.1} % of the base's and {:.1} % of the candidate's GPU time with a recorded launch is at places that both have",
                structure.matched_pct[0], structure.matched_pct[1]
            )
            .into(),
        );
    }
    report.tables.retain(|table| !table.rows.is_empty());
    report.tables.push(tables::comparability(ground));
    let differences = ground.differences();
    if !differences.is_empty() {
        let message = format!("the runs are of different things: {}", differences.join(", "));
        warn(&mut report, "different_ground", None, message);
    }
    report.findings_first = true;
    report.findings = comparison.gates.iter().filter_map(not_judged).collect();
    say_whether_comparable(&mut report, ground);
    caveats(&mut report, comparison);
    report
}

/// A gate that cannot be judged as a finding.
fn not_judged(outcome: &GateOutcome) -> Option<Finding> {
    let GateStatus::CannotJudge(why) = &outcome.status else { return None };
    Some(Finding {
        id: "gate".into(),
        key: outcome.gate.clone(),
        severity: Severity::High,
        title: outcome.to_string(),
        recommendation: why.advice().into(),
        ..Finding::default()
    })
}

/// States before all tables whether the runs can be compared.
fn say_whether_comparable(report: &mut Report, ground: &CommonGround) {
    let mut say = |key: &str, severity, title: String, recommendation: &str| {
        report.findings.push(Finding {
            id: "comparability".into(),
            key: key.into(),
            severity,
            title,
            recommendation: recommendation.into(),
            ..Finding::default()
        });
    };
    match ground.repeated {
        Some(Repeated::Content) => {
            let title = "the same recording is on both sides: nothing can have changed".into();
            say("same_recording", Severity::High, title, "give two recordings");
        }
        Some(Repeated::Recording) => {
            let title = "a recording of the base is in the candidate too, with other rows".into();
            say(
                "same_recording",
                Severity::Medium,
                title,
                "give two recordings, or two parts of one on purpose",
            );
        }
        None => {}
    }
    let differences = ground.differences();
    if !differences.is_empty() {
        let title = format!("not comparable: different {}", differences.join(", "));
        say("different", Severity::High, title, "read a change as one of all these together");
    } else if let Some(gap) = ground.gap().filter(|_| ground.repeated != Some(Repeated::Content)) {
        say("unknown", Severity::Medium, format!("comparable or not is unknown: {gap}"), "");
    }
}

fn warn(report: &mut Report, id: &str, value: Option<f64>, message: String) {
    report.health.push(HealthCheck { id: id.into(), status: HealthStatus::Warn, value, message });
}

fn caveats(report: &mut Report, comparison: &Comparison) {
    if comparison.is_of_single_runs {
        let floor = comparison.options.single_run_floor_pct;
        warn(
            report,
            "single_run",
            Some(1.0),
            format!(
                "one run on each side: noise between runs is unknown, so a change counts from {floor} % on"
            ),
        );
        report.notes.push(Note::new("several runs of each side would show smaller changes", Remedy::Repeats));
    }
    if let Some(ratio) = comparison.launch_ratio {
        warn(
            report,
            "calls",
            Some(ratio),
            format!(
                "the candidate launched {ratio:.2} times as many kernels: totals may be of different work"
            ),
        );
        let text = "the runs launched different numbers of kernels, so totals may be of different work";
        report.notes.push(Note::new(text, Remedy::CompareCalls));
    }
    if let Some(drift) = comparison.rows.drift.as_ref().filter(|drift| drift.real) {
        report.notes.push(
            format!(
                "the median kernel changed by {:+.1} %, more than runs vary: check clocks, power and machine",
                percent(drift.shift.exp())
            )
            .into(),
        );
    }
}
