//! Alerts, what people say about them, limits, and the gate for CI.

use report::Report;
use store::{Judgement, Limit, SeriesKey, Verdict};

use super::{StoreLocation, present, report};
use crate::Answer;
use crate::failure::Failure;

/// What the gate judges.
#[derive(Clone, Debug, Default)]
pub struct GateRequest {
    /// The store.
    pub place: StoreLocation,
    /// The experiment.
    pub experiment: String,
    /// The trial [default: the latest].
    pub trial: Option<String>,
    /// Metrics [default: all that the trials of its branch and testbed have].
    pub metrics: Vec<String>,
}

/// Judges a trial by those before it. The gate is closed unless every metric passes.
pub fn gate(request: &GateRequest) -> Result<Answer, Failure> {
    let mut store = request.place.open()?;
    let (trial, judgements) = store.judge(&request.experiment, request.trial.as_deref(), &request.metrics)?;
    let failure = why_closed(&trial, &judgements);
    let note = match &failure {
        None => format!("trial {trial} passes"),
        Some(_) => format!("trial {trial} does not pass"),
    };
    Ok(Answer { report: report(vec![present::judgements(&judgements)], vec![note]), failure })
}

fn why_closed(trial: &str, judgements: &[Judgement]) -> Option<Failure> {
    let of = |verdict: Verdict| -> Vec<String> {
        let those = judgements.iter().filter(|judgement| judgement.verdict == verdict);
        those.map(|judgement| format!("{} ({})", judgement.key.metric, judgement.reason)).collect()
    };
    let (failed, unknown) = (of(Verdict::Fail), of(Verdict::CannotJudge));
    match (judgements.is_empty(), failed.is_empty(), unknown.is_empty()) {
        (true, ..) => Some(
            Failure::gate(format!("trial {trial} cannot be judged: it has no metrics"))
                .with_help("attach metrics to it"),
        ),
        (_, false, _) => Some(Failure::gate(format!("trial {trial} got worse: {}", failed.join(", ")))),
        (_, _, false) => {
            Some(Failure::gate(format!("trial {trial} cannot be judged: {}", unknown.join(", "))))
        }
        _ => None,
    }
}

/// Regressions, and whether they were resolved.
pub fn alerts(place: &StoreLocation, name: &str) -> Result<Report, Failure> {
    let alerts = place.open()?.alerts(name)?;
    let notes = alerts.is_empty().then(|| "nothing got worse beyond noise".to_string());
    Ok(report(vec![present::alerts(&alerts)], notes.into_iter().collect()))
}

/// Marks the alerts that begin with a trial as known.
pub fn acknowledge(
    place: &StoreLocation,
    name: &str,
    trial: &str,
    metric: Option<&str>,
    reason: &str,
) -> Result<Report, Failure> {
    place.open()?.acknowledge(name, trial, metric, reason)?;
    alerts(place, name)
}

/// Suppresses the alerts of a metric for a reason; without a reason, enables them again.
pub fn suppress(
    place: &StoreLocation,
    name: &str,
    key: &SeriesKey,
    reason: Option<&str>,
) -> Result<Report, Failure> {
    place.open()?.suppress(name, key, reason)?;
    alerts(place, name)
}

/// Sets the bounds of a metric, or removes them.
pub fn set_limit(place: &StoreLocation, name: &str, limit: &Limit) -> Result<Report, Failure> {
    let mut store = place.open()?;
    store.set_limit(name, limit)?;
    Ok(report(vec![present::limits(&store.limits(name)?)], Vec::new()))
}
