//! Whether the metrics of a trial pass, judged by the trials before it and by limits.

use std::collections::BTreeSet;

use stats::change;

use crate::Store;
use crate::error::StoreError;
use crate::experiments::{self, Metric, TrialRow};
use crate::trends::{Series, SeriesDecisions, SeriesKey, covers, key_of, series_of};

/// Whether a metric of a trial passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Pass,
    /// It is worse, or out of bounds.
    Fail,
    /// There is not enough data to judge.
    CannotJudge,
}

impl Verdict {
    /// `pass`, `fail` or `cannot_judge`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::CannotJudge => "cannot_judge",
        }
    }
}

/// The gate's judgement of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The series.
    pub key: SeriesKey,
    /// The trial's figure, if it has one.
    pub metric: Option<Metric>,
    /// Whether it passes.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// The first bad trial, if the level got worse.
    pub first_trial: Option<String>,
}

impl Store {
    /// Judges a trial, or the latest one, by the trials of its branch and testbed before it. What cannot be
    /// judged is reported as such; missing data never passes.
    pub fn judge(
        &mut self,
        experiment: &str,
        trial: Option<&str>,
        metrics: &[String],
    ) -> Result<(String, Vec<Judgement>), StoreError> {
        let id = experiments::living(self.database.as_mut(), experiment)?;
        let said = SeriesDecisions::read(self.database.as_mut(), id)?;
        let mut trials = experiments::trials_of(self.database.as_mut(), id, false)?;
        let none = |name: &str| StoreError::NoTrial(experiment.to_string(), name.to_string());
        let at = match trial {
            Some(name) => trials.iter().position(|row| row.name == name).ok_or_else(|| none(name))?,
            None => trials.len().checked_sub(1).ok_or_else(|| none("(any)"))?,
        };
        // Later trials do not matter for this one.
        trials.truncate(at + 1);
        Ok((trials[at].name.clone(), judge_last(&trials, metrics, &said)))
    }
}

/// Judges the last of these trials by those before it: the given metrics, or all if none are given.
pub(crate) fn judge_last(trials: &[TrialRow], metrics: &[String], said: &SeriesDecisions) -> Vec<Judgement> {
    let Some(judged) = trials.last() else { return Vec::new() };
    let same = |row: &&TrialRow| row.branch == judged.branch && row.testbed == judged.testbed;
    let peers: Vec<TrialRow> = trials.iter().filter(same).cloned().collect();
    let known = peers.iter().flat_map(|row| &row.metrics).map(|metric| metric.name.clone());
    let asked: BTreeSet<String> =
        if metrics.is_empty() { known.collect() } else { metrics.iter().cloned().collect() };
    let series = series_of(&peers);
    let judge = |name: &String| {
        let key = key_of(judged, name);
        let found = series.iter().find(|series| series.key == key);
        let metric = judged.metrics.iter().find(|metric| metric.name == *name).cloned();
        judgement(key, metric, found, said)
    };
    asked.iter().map(judge).collect()
}

fn judgement(
    key: SeriesKey,
    metric: Option<Metric>,
    series: Option<&Series>,
    said: &SeriesDecisions,
) -> Judgement {
    let limit = said.limits.iter().find(|limit| covers(&limit.key, &key));
    let mut judgement =
        Judgement { key, metric, verdict: Verdict::CannotJudge, reason: String::new(), first_trial: None };
    let (Some(metric), Some(series)) = (&judgement.metric, series) else {
        judgement.reason = "the trial does not have it".into();
        return judgement;
    };
    let unit = if metric.unit.is_empty() { String::new() } else { format!(" {}", metric.unit) };
    let out_of_bounds = limit.and_then(|limit| {
        let below = limit.least.filter(|least| metric.value < *least).map(|least| ("least", least));
        below.or(limit.most.filter(|most| metric.value > *most).map(|most| ("most", most)))
    });
    if let Some((which, bound)) = out_of_bounds {
        judgement.verdict = Verdict::Fail;
        judgement.reason = format!("the {which} that is allowed is {bound}{unit}");
        return judgement;
    }
    if let Some(at) = series.changes.len().checked_sub(1).filter(|at| series.changes[*at].is_worse) {
        let change = &series.changes[at];
        let first = series.points[change.first].trial.clone();
        let by = change.change_pct.map_or_else(String::new, |pct| format!(" by {:.1} %", pct.abs()));
        judgement.reason = format!("worse{by} since trial {first}");
        judgement.first_trial = Some(first);
        let state = said.state(series, at);
        match state.reason() {
            None => judgement.verdict = Verdict::Fail,
            Some(reason) => {
                judgement.verdict = Verdict::Pass;
                judgement.reason.push_str(&format!("; {}: {reason}", state.name()));
            }
        }
        return judgement;
    }
    let before = series.points.len() - 1;
    let needed = change::LEAST_BEFORE;
    (judgement.verdict, judgement.reason) = match (limit, before < needed) {
        (_, false) => (Verdict::Pass, format!("as in the {before} trials before, within their noise")),
        (Some(_), true) => (Verdict::Pass, "within its limits".into()),
        (None, true) => (
            Verdict::CannotJudge,
            format!("{before} earlier trials of this branch and testbed have it; {needed} are needed"),
        ),
    };
    judgement
}
