//! What the API says of experiments and trials.

use serde::Serialize;
use serde_json::{Map, Value};
use store::{Alert, Artifact, Link, Metric, Note, OverviewRow, Point, Series, Trial, TrialRow};
use utoipa::ToSchema;

use crate::data;
use crate::time;

/// A list of experiments.
#[derive(Serialize, ToSchema)]
pub struct ExperimentList {
    /// Experiments that pass the filters.
    pub total: usize,
    /// Experiments before these.
    pub offset: usize,
    /// A part of them.
    pub experiments: Vec<OverviewEntry>,
}

/// An experiment in a list.
#[derive(Serialize, ToSchema)]
pub struct OverviewEntry {
    /// Its name.
    name: String,
    /// What it is about.
    description: String,
    /// `regressed`, `passing`, `unjudged` or `empty`.
    status: &'static str,
    /// Whether something runs now.
    running: bool,
    /// Alerts that nobody answered.
    open_alerts: usize,
    /// Trials that are not removed.
    trials: i64,
    /// The latest trial.
    last_trial: Option<String>,
    /// When it changed last.
    changed: String,
    /// Its tags.
    tags: Vec<String>,
    /// Branch, testbed, conclusion and trends of the latest trial.
    #[schema(value_type = Object)]
    summary: Value,
}

impl From<&OverviewRow> for OverviewEntry {
    fn from(row: &OverviewRow) -> Self {
        Self {
            name: row.experiment.name.clone(),
            description: row.experiment.description.clone(),
            status: row.status.name(),
            running: row.running,
            open_alerts: row.open_alerts,
            trials: row.experiment.trials,
            last_trial: row.experiment.last_trial.clone(),
            changed: time::iso(row.experiment.changed_ns),
            tags: row.experiment.tags.clone(),
            summary: serde_json::to_value(&row.summary).unwrap_or_default(),
        }
    }
}

/// A figure of a trial.
#[derive(Serialize, ToSchema)]
pub struct MetricEntry {
    /// `throughput`
    name: String,
    /// `tok/s`; empty for plain numbers.
    unit: String,
    /// The figure.
    value: f64,
    /// Lower end of its 95 % interval.
    low: Option<f64>,
    /// Upper end.
    high: Option<f64>,
    /// Whether more is better.
    higher_is_better: bool,
}

impl From<&Metric> for MetricEntry {
    fn from(metric: &Metric) -> Self {
        let Metric { name, unit, value, low, high, higher_is_better } = metric.clone();
        Self { name, unit, value, low, high, higher_is_better }
    }
}

/// A trial in a list.
#[derive(Serialize, ToSchema)]
pub struct TrialEntry {
    /// Its name.
    name: String,
    /// Branch of the code; empty if unknown.
    branch: String,
    /// What it ran on; empty if unknown.
    testbed: String,
    /// When it was made.
    created: String,
    /// Number of files.
    artifacts: i64,
    /// Its figures.
    metrics: Vec<MetricEntry>,
    /// Its tags.
    tags: Vec<String>,
}

impl From<&TrialRow> for TrialEntry {
    fn from(row: &TrialRow) -> Self {
        Self {
            name: row.name.clone(),
            branch: row.branch.clone(),
            testbed: row.testbed.clone(),
            created: time::iso(row.created_ns),
            artifacts: row.artifacts,
            metrics: row.metrics.iter().map(Into::into).collect(),
            tags: row.tags.clone(),
        }
    }
}

/// A metric over trials.
#[derive(Serialize, ToSchema)]
pub struct SeriesEntry {
    /// The metric.
    metric: String,
    /// Branch of the code.
    branch: String,
    /// What it ran on.
    testbed: String,
    /// Its values, oldest first.
    points: Vec<PointEntry>,
    /// Places of the first trials of new levels.
    changes: Vec<usize>,
}

/// A value of a series.
#[derive(Serialize, ToSchema)]
pub struct PointEntry {
    /// The trial.
    trial: String,
    /// Its figure.
    metric: MetricEntry,
}

impl From<&Series> for SeriesEntry {
    fn from(series: &Series) -> Self {
        let point = |point: &Point| PointEntry { trial: point.trial.clone(), metric: (&point.metric).into() };
        Self {
            metric: series.key.metric.clone(),
            branch: series.key.branch.clone(),
            testbed: series.key.testbed.clone(),
            points: series.points.iter().map(point).collect(),
            changes: series.changes.iter().map(|change| change.first).collect(),
        }
    }
}

/// A change for the worse.
#[derive(Serialize, ToSchema)]
pub struct AlertEntry {
    /// The metric.
    metric: String,
    /// Its unit.
    unit: String,
    /// Branch of the code.
    branch: String,
    /// What it ran on.
    testbed: String,
    /// The first bad trial.
    first_trial: String,
    /// The trial with which it was found.
    found_trial: String,
    /// The level before.
    before: f64,
    /// The level after.
    after: f64,
    /// The change in percent of the level before.
    change_pct: Option<f64>,
    /// The chance that noise looks like this.
    chance: f64,
    /// `open`, `acknowledged`, `suppressed` or `over`.
    state: &'static str,
    /// What was said of it.
    reason: Option<String>,
}

impl From<&Alert> for AlertEntry {
    fn from(alert: &Alert) -> Self {
        Self {
            metric: alert.key.metric.clone(),
            unit: alert.unit.clone(),
            branch: alert.key.branch.clone(),
            testbed: alert.key.testbed.clone(),
            first_trial: alert.first_trial.clone(),
            found_trial: alert.found_trial.clone(),
            before: alert.change.before,
            after: alert.change.after,
            change_pct: alert.change.change_pct,
            chance: alert.change.chance,
            state: alert.state.name(),
            reason: alert.state.reason().map(str::to_string),
        }
    }
}

/// A file of a trial.
#[derive(Serialize, ToSchema)]
pub struct ArtifactEntry {
    /// Its name.
    path: String,
    /// Hash of its content.
    sha256: String,
    /// Its size.
    bytes: i64,
    /// The schema that it was checked against.
    schema: Option<String>,
    /// When it was attached.
    attached: String,
}

impl From<&Artifact> for ArtifactEntry {
    fn from(artifact: &Artifact) -> Self {
        Self {
            path: artifact.path.clone(),
            sha256: artifact.sha256.clone(),
            bytes: artifact.bytes,
            schema: artifact.schema.clone(),
            attached: time::iso(artifact.attached_ns),
        }
    }
}

/// What somebody wrote.
#[derive(Serialize, ToSchema)]
pub struct NoteEntry {
    /// When.
    created: String,
    /// What.
    text: String,
}

impl From<&Note> for NoteEntry {
    fn from(note: &Note) -> Self {
        Self { created: time::iso(note.created_ns), text: note.text.clone() }
    }
}

/// Where else to look.
#[derive(Serialize, ToSchema)]
pub struct LinkEntry {
    /// The address.
    url: String,
    /// What is there.
    text: String,
}

impl From<&Link> for LinkEntry {
    fn from(link: &Link) -> Self {
        Self { url: link.url.clone(), text: link.text.clone() }
    }
}

/// An experiment.
#[derive(Serialize, ToSchema)]
pub struct ExperimentDetails {
    /// Its name.
    name: String,
    /// What it is about.
    description: String,
    /// When it was made.
    created: String,
    /// When it changed last.
    changed: String,
    /// Its tags.
    tags: Vec<String>,
    /// Its trials, oldest first.
    trials: Vec<TrialEntry>,
    /// Metrics over trials.
    series: Vec<SeriesEntry>,
    /// Changes for the worse, the latest first.
    alerts: Vec<AlertEntry>,
    /// Notes, oldest first.
    notes: Vec<NoteEntry>,
    /// Links.
    links: Vec<LinkEntry>,
}

impl From<&data::Experiment> for ExperimentDetails {
    fn from(found: &data::Experiment) -> Self {
        Self {
            name: found.row.name.clone(),
            description: found.row.description.clone(),
            created: time::iso(found.row.created_ns),
            changed: time::iso(found.row.changed_ns),
            tags: found.row.tags.clone(),
            trials: found.trials.iter().map(Into::into).collect(),
            series: found.series.iter().map(Into::into).collect(),
            alerts: found.alerts.iter().map(Into::into).collect(),
            notes: found.notes.iter().map(Into::into).collect(),
            links: found.links.iter().map(Into::into).collect(),
        }
    }
}

/// A trial with all that was attached.
#[derive(Serialize, ToSchema)]
pub struct TrialDetails {
    /// What its list says of it.
    #[serde(flatten)]
    row: TrialEntry,
    /// Its files.
    files: Vec<ArtifactEntry>,
    /// Fields of the profile's metadata.
    #[schema(value_type = Object)]
    metadata: Map<String, Value>,
    /// Notes, oldest first.
    notes: Vec<NoteEntry>,
    /// Links.
    links: Vec<LinkEntry>,
}

impl From<&Trial> for TrialDetails {
    fn from(trial: &Trial) -> Self {
        Self {
            row: (&trial.row).into(),
            files: trial.artifacts.iter().map(Into::into).collect(),
            metadata: trial.metadata.clone(),
            notes: trial.notes.iter().map(Into::into).collect(),
            links: trial.links.iter().map(Into::into).collect(),
        }
    }
}
