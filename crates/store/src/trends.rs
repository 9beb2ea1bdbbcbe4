//! Series of a metric by branch and testbed: where they changed, what people said about it, and alerts.

use std::collections::BTreeMap;

use stats::change;

use crate::database::{Cell, Database, Row};
use crate::error::StoreError;
use crate::experiments::{self, Metric, TrialRow};
use crate::{Store, now_ns, overview};

/// Half of a 95 % interval in standard errors.
const NORMAL_95: f64 = 1.959_964;

/// What identifies a series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeriesKey {
    /// Branch of the code.
    pub branch: String,
    /// What it ran on.
    pub testbed: String,
    /// The metric.
    pub metric: String,
}

/// One value of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The trial.
    pub trial: String,
    /// Its figure.
    pub metric: Metric,
    trial_id: i64,
}

/// A metric over the trials of one branch on one testbed, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What identifies it.
    pub key: SeriesKey,
    /// Its values.
    pub points: Vec<Point>,
    /// Where its level changed.
    pub changes: Vec<Change>,
}

/// A change of level.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Place of the first trial of the new level.
    pub first: usize,
    /// Place of the trial that revealed it.
    pub found: usize,
    /// The level before.
    pub before: f64,
    /// The level after.
    pub after: f64,
    /// The change in percent of the level before; `None` if that is zero.
    pub change_pct: Option<f64>,
    /// The probability of such a change by noise.
    pub chance: f64,
    /// Whether it is for the worse.
    pub is_worse: bool,
}

/// The state of an alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlertState {
    /// Nobody has looked at it yet.
    Open,
    /// Somebody looked, and said this.
    Acknowledged(String),
    /// The series is muted, for this reason.
    Suppressed(String),
    /// The level changed again since.
    Over,
}

impl AlertState {
    /// `open`, `acknowledged`, `suppressed` or `over`.
    pub fn name(&self) -> &'static str {
        match self {
            AlertState::Open => "open",
            AlertState::Acknowledged(_) => "acknowledged",
            AlertState::Suppressed(_) => "suppressed",
            AlertState::Over => "over",
        }
    }

    /// The reason that was given.
    pub fn reason(&self) -> Option<&str> {
        match self {
            AlertState::Acknowledged(reason) | AlertState::Suppressed(reason) => Some(reason),
            AlertState::Open | AlertState::Over => None,
        }
    }
}

/// A change for the worse.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    /// The series.
    pub key: SeriesKey,
    /// Unit of its values.
    pub unit: String,
    /// The first bad trial.
    pub first_trial: String,
    /// The trial that revealed it.
    pub found_trial: String,
    /// The change.
    pub change: Change,
    /// Its state.
    pub state: AlertState,
}

/// Bounds of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The series; an empty branch or testbed means all.
    pub key: SeriesKey,
    /// The least that is allowed.
    pub least: Option<f64>,
    /// The most that is allowed.
    pub most: Option<f64>,
}

impl Series {
    fn new(key: SeriesKey, points: Vec<Point>) -> Self {
        let changes = changes(&points);
        Self { key, points, changes }
    }
}

/// Where a series changed. Positive values are compared as ratios, as noise grows with the value.
fn changes(points: &[Point]) -> Vec<Change> {
    let ratios = points.iter().all(|point| point.metric.value > 0.0);
    let scaled = |value: f64| if ratios { value.ln() } else { value };
    let back = |value: f64| if ratios { value.exp() } else { value };
    let values: Vec<f64> = points.iter().map(|point| scaled(point.metric.value)).collect();
    let deviation = |point: &Point| {
        let (low, high) = (point.metric.low?, point.metric.high?);
        let half = (high - low) / 2.0 / NORMAL_95;
        Some(if ratios { half / point.metric.value } else { half })
    };
    let deviations: Vec<Option<f64>> = points.iter().map(deviation).collect();
    let change = |found: change::Change| {
        let (before, after) = (back(found.before), back(found.after));
        Change {
            first: found.first,
            found: found.found,
            before,
            after,
            change_pct: (before != 0.0).then(|| (after / before - 1.0) * 100.0),
            chance: found.chance,
            is_worse: (after > before) != points[found.first].metric.higher_is_better,
        }
    };
    change::changes(&values, &deviations).into_iter().map(change).collect()
}

/// The series of trials, in the order of the trials.
pub(crate) fn series_of(trials: &[TrialRow]) -> Vec<Series> {
    let mut series: BTreeMap<SeriesKey, Vec<Point>> = BTreeMap::new();
    for trial in trials {
        for metric in &trial.metrics {
            let key = key_of(trial, &metric.name);
            let point = Point { trial: trial.name.clone(), trial_id: trial.id, metric: metric.clone() };
            series.entry(key).or_default().push(point);
        }
    }
    series.into_iter().map(|(key, points)| Series::new(key, points)).collect()
}

pub(crate) fn key_of(trial: &TrialRow, metric: &str) -> SeriesKey {
    SeriesKey { branch: trial.branch.clone(), testbed: trial.testbed.clone(), metric: metric.to_string() }
}

/// What people decided about the series of an experiment.
pub(crate) struct SeriesDecisions {
    acknowledged: Vec<(SeriesKey, i64, String)>,
    suppressed: Vec<(SeriesKey, String)>,
    pub(crate) limits: Vec<Limit>,
}

impl SeriesDecisions {
    pub(crate) fn read(database: &mut dyn Database, experiment: i64) -> Result<Self, StoreError> {
        let mut rows = |columns: &str, table: &str| {
            let sql = format!(
                "SELECT branch, testbed, metric, {columns} FROM {table} WHERE experiment_id = $1 \
                 ORDER BY metric, branch, testbed"
            );
            database.query(&sql, &[experiment.into()])
        };
        let acknowledged = rows("first_trial_id, reason", "acknowledged")?;
        let suppressed = rows("reason", "suppressed")?;
        let limits = rows("least, most", "limits")?;
        let limit = |row: &Row| Limit { key: key(row), least: row[3].real(), most: row[4].real() };
        Ok(Self {
            acknowledged: acknowledged.iter().map(|row| (key(row), row[3].int(), row[4].text())).collect(),
            suppressed: suppressed.iter().map(|row| (key(row), row[3].text())).collect(),
            limits: limits.iter().map(limit).collect(),
        })
    }

    /// The state of the alert for the `at`th change of a series.
    pub(crate) fn state(&self, series: &Series, at: usize) -> AlertState {
        let first = series.points[series.changes[at].first].trial_id;
        let known = self.acknowledged.iter().find(|(key, trial, _)| *key == series.key && *trial == first);
        if let Some((_, _, reason)) = known {
            return AlertState::Acknowledged(reason.clone());
        }
        if let Some((_, reason)) = self.suppressed.iter().find(|(key, _)| covers(key, &series.key)) {
            return AlertState::Suppressed(reason.clone());
        }
        if at + 1 < series.changes.len() { AlertState::Over } else { AlertState::Open }
    }
}

fn key(row: &Row) -> SeriesKey {
    SeriesKey { branch: row[0].text(), testbed: row[1].text(), metric: row[2].text() }
}

/// Whether a decision covers a series; an empty branch or testbed means all.
pub(crate) fn covers(said: &SeriesKey, series: &SeriesKey) -> bool {
    let fits = |said: &str, of: &str| said.is_empty() || said == of;
    said.metric == series.metric && fits(&said.branch, &series.branch) && fits(&said.testbed, &series.testbed)
}

impl Store {
    /// All series of an experiment.
    pub fn series(&mut self, experiment: &str) -> Result<Vec<Series>, StoreError> {
        Ok(series_of(&self.trials(experiment, false)?))
    }

    /// Changes for the worse, the latest first.
    pub fn alerts(&mut self, experiment: &str) -> Result<Vec<Alert>, StoreError> {
        let id = experiments::living(self.database.as_mut(), experiment)?;
        let said = SeriesDecisions::read(self.database.as_mut(), id)?;
        Ok(alerts_of(&self.series(experiment)?, &said))
    }

    /// Acknowledges the alerts that begin with a trial; returns how many there are.
    pub fn acknowledge(
        &mut self,
        experiment: &str,
        first_trial: &str,
        metric: Option<&str>,
        reason: &str,
    ) -> Result<usize, StoreError> {
        let (id, trial) = experiments::living_trial(self.database.as_mut(), experiment, first_trial)?;
        let alerts = self.alerts(experiment)?;
        let meant: Vec<&Alert> = alerts
            .iter()
            .filter(|alert| alert.first_trial == first_trial)
            .filter(|alert| metric.is_none_or(|metric| alert.key.metric == metric))
            .collect();
        if meant.is_empty() {
            return Err(StoreError::NoAlert(first_trial.to_string()));
        }
        let now = now_ns();
        self.whole(|database| {
            experiments::hold(database, id)?;
            for alert in &meant {
                let key = &alert.key;
                database.query(
                    "INSERT INTO acknowledged (experiment_id, branch, testbed, metric, first_trial_id, reason, \
                     acknowledged_ns) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT \
                     (experiment_id, branch, testbed, metric, first_trial_id) DO UPDATE SET reason = excluded.reason",
                    &[
                        id.into(),
                        (&key.branch).into(),
                        (&key.testbed).into(),
                        (&key.metric).into(),
                        trial.into(),
                        reason.into(),
                        now.into(),
                    ],
                )?;
            }
            overview::refresh(database, id)
        })?;
        Ok(meant.len())
    }

    /// Suppresses the alerts of a series for a reason, or enables them again.
    pub fn suppress(
        &mut self,
        experiment: &str,
        key: &SeriesKey,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        let now = now_ns();
        let rest = reason.map(|reason| vec![reason.into(), now.into()]);
        self.say(experiment, "suppressed", "reason, suppressed_ns", key, rest)
    }

    /// Sets the bounds of a metric, or removes them if there are none.
    pub fn set_limit(&mut self, experiment: &str, limit: &Limit) -> Result<(), StoreError> {
        let bounds = [limit.least, limit.most];
        if bounds.iter().flatten().any(|bound| !bound.is_finite()) {
            return Err(StoreError::Malformed("a limit must be a number".into()));
        }
        let any = bounds.iter().any(Option::is_some);
        let rest = any.then(|| bounds.map(Cell::from).to_vec());
        self.say(experiment, "limits", "least, most", &limit.key, rest)
    }

    /// The bounds of the metrics of an experiment.
    pub fn limits(&mut self, experiment: &str) -> Result<Vec<Limit>, StoreError> {
        let id = experiments::living(self.database.as_mut(), experiment)?;
        Ok(SeriesDecisions::read(self.database.as_mut(), id)?.limits)
    }

    /// Replaces a decision about a series.
    fn say(
        &mut self,
        experiment: &str,
        table: &str,
        columns: &str,
        key: &SeriesKey,
        rest: Option<Vec<Cell>>,
    ) -> Result<(), StoreError> {
        self.whole(|database| {
            let id = experiments::living(database, experiment)?;
            experiments::hold(database, id)?;
            let mut values =
                vec![Cell::Int(id), (&key.branch).into(), (&key.testbed).into(), (&key.metric).into()];
            database.query(
                &format!(
                    "DELETE FROM {table} WHERE experiment_id = $1 AND branch = $2 AND testbed = $3 AND metric = $4"
                ),
                &values,
            )?;
            if let Some(rest) = rest {
                values.extend(rest);
                database.query(
                    &format!(
                        "INSERT INTO {table} (experiment_id, branch, testbed, metric, {columns}) \
                         VALUES ($1, $2, $3, $4, $5, $6)"
                    ),
                    &values,
                )?;
            }
            overview::refresh(database, id)
        })
    }
}

/// The changes for the worse of these series, the latest first.
pub(crate) fn alerts_of(all: &[Series], said: &SeriesDecisions) -> Vec<Alert> {
    let mut alerts = Vec::new();
    for series in all {
        for (at, change) in series.changes.iter().enumerate().filter(|(_, change)| change.is_worse) {
            let alert = Alert {
                key: series.key.clone(),
                unit: series.points[change.first].metric.unit.clone(),
                first_trial: series.points[change.first].trial.clone(),
                found_trial: series.points[change.found].trial.clone(),
                change: change.clone(),
                state: said.state(series, at),
            };
            alerts.push((series.points[change.found].trial_id, alert));
        }
    }
    alerts.sort_by_key(|(trial, _)| std::cmp::Reverse(*trial));
    alerts.into_iter().map(|(_, alert)| alert).collect()
}
