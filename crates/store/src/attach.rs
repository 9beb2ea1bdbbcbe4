//! Adding files, metadata and metrics to a trial, all of them or none.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::blobs::Stored;
use crate::database::{Cell, Database};
use crate::error::StoreError;
use crate::experiments::{self, Conclusion, Metric};
use crate::remarks::{self, Link};
use crate::{Store, now_ns, overview};

/// Where the bytes of an artifact come from.
#[derive(Clone, Debug)]
pub enum Content {
    /// In a file.
    File(PathBuf),
    /// In memory.
    Bytes(Vec<u8>),
}

/// A file to attach.
#[derive(Clone, Debug)]
pub struct NewArtifact {
    /// Its name in the trial, with `/` between folders.
    pub path: String,
    /// Its bytes.
    pub content: Content,
    /// The schema that it was checked against.
    pub schema: Option<String>,
}

/// What to attach.
#[derive(Clone, Debug, Default)]
pub struct Attachment {
    /// The experiment.
    pub experiment: String,
    /// Whether a new experiment is created; otherwise it must exist.
    pub new_experiment: bool,
    /// The trial; created if it is new.
    pub trial: String,
    /// Branch of the code [default: as the trial has it].
    pub branch: Option<String>,
    /// Machine or machines that it ran on [default: as the trial has it].
    pub testbed: Option<String>,
    /// Files.
    pub artifacts: Vec<NewArtifact>,
    /// Fields of the profile's metadata.
    pub metadata: Map<String, Value>,
    /// Figures.
    pub metrics: Vec<Metric>,
    /// What analyses conclude [default: as the trial has it].
    pub conclusion: Option<Conclusion>,
    /// Tags to add.
    pub tags: Vec<String>,
    /// Notes; only a new trial gets them, so that they are not written twice.
    pub notes: Vec<String>,
    /// Links; only a new trial gets them.
    pub links: Vec<Link>,
    /// Whether another file of the same name is replaced.
    pub replace: bool,
}

/// What an attach did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attached {
    /// Whether the trial is new.
    pub new_trial: bool,
    /// Names of artifacts that the trial did not have.
    pub added: Vec<String>,
    /// Names of artifacts that replaced others.
    pub replaced: Vec<String>,
    /// Names of artifacts that were there already.
    pub unchanged: Vec<String>,
}

impl Store {
    /// Attaches to a trial. When it returns, everything is durable; when it fails, nothing is stored.
    pub fn attach(&mut self, attachment: &Attachment) -> Result<Attached, StoreError> {
        experiments::check_name(&attachment.experiment)?;
        experiments::check_name(&attachment.trial)?;
        attachment.artifacts.iter().try_for_each(|artifact| check_path(&artifact.path))?;
        attachment.metrics.iter().try_for_each(Metric::check)?;
        attachment.tags.iter().try_for_each(|tag| experiments::check_name(tag))?;
        attachment.links.iter().try_for_each(Link::check)?;
        // An unknown experiment is refused before gigabytes are written.
        match experiments::living(self.database.as_mut(), &attachment.experiment) {
            Err(StoreError::NoExperiment(_)) if attachment.new_experiment => {}
            known => _ = known?,
        }
        let _kept = self.blobs.keep()?;
        let stored: Result<Vec<Stored>, StoreError> =
            attachment.artifacts.iter().map(|artifact| self.put(artifact)).collect();
        let mut stored = stored?;
        self.blobs.publish(&mut stored).map_err(StoreError::write(self.blobs.folder()))?;
        self.whole(|database| rows(database, attachment, &stored))
    }

    fn put(&self, artifact: &NewArtifact) -> Result<Stored, StoreError> {
        match &artifact.content {
            Content::Bytes(bytes) => {
                self.blobs.put(&mut bytes.as_slice()).map_err(StoreError::write(self.blobs.folder()))
            }
            Content::File(path) => {
                let mut file = std::fs::File::open(path).map_err(StoreError::read(path))?;
                self.blobs.put(&mut file).map_err(StoreError::write(self.blobs.folder()))
            }
        }
    }
}

/// Adds the rows of an attach.
fn rows(
    database: &mut dyn Database,
    attachment: &Attachment,
    stored: &[Stored],
) -> Result<Attached, StoreError> {
    let now = now_ns();
    if attachment.new_experiment {
        experiments::make(database, &attachment.experiment, "", now)?;
    }
    let experiment = experiments::living(database, &attachment.experiment)?;
    let (trial, new_trial) = trial(database, experiment, attachment, now)?;
    let mut attached = Attached { new_trial, ..Attached::default() };
    for (artifact, stored) in attachment.artifacts.iter().zip(stored) {
        let found = database.query(
            "SELECT sha256 FROM artifacts WHERE trial_id = $1 AND path = $2",
            &[trial.into(), artifact.path.as_str().into()],
        )?;
        let list = match found.first().map(|row| row[0].text()) {
            Some(there) if there == stored.sha256 => {
                attached.unchanged.push(artifact.path.clone());
                continue;
            }
            Some(_) if !attachment.replace => {
                return Err(StoreError::Differs {
                    trial: attachment.trial.clone(),
                    path: artifact.path.clone(),
                });
            }
            Some(_) => &mut attached.replaced,
            None => &mut attached.added,
        };
        list.push(artifact.path.clone());
        database.query(
            "INSERT INTO artifacts (trial_id, path, sha256, bytes, schema_name, attached_ns) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (trial_id, path) DO UPDATE SET \
             sha256 = excluded.sha256, bytes = excluded.bytes, schema_name = excluded.schema_name, \
             attached_ns = excluded.attached_ns",
            &[
                trial.into(),
                artifact.path.as_str().into(),
                stored.sha256.as_str().into(),
                (stored.bytes as i64).into(),
                artifact.schema.as_deref().into(),
                now.into(),
            ],
        )?;
    }
    for (field, value) in &attachment.metadata {
        database.query(
            "INSERT INTO metadata (trial_id, field, value) VALUES ($1, $2, $3) \
             ON CONFLICT (trial_id, field) DO UPDATE SET value = excluded.value",
            &[trial.into(), field.as_str().into(), Cell::Text(value.to_string())],
        )?;
    }
    for metric in &attachment.metrics {
        database.query(
            "INSERT INTO metrics (trial_id, name, unit, value, low, high, higher_is_better) \
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (trial_id, name) DO UPDATE SET \
             unit = excluded.unit, value = excluded.value, low = excluded.low, high = excluded.high, \
             higher_is_better = excluded.higher_is_better",
            &[
                trial.into(),
                metric.name.as_str().into(),
                metric.unit.as_str().into(),
                metric.value.into(),
                metric.low.into(),
                metric.high.into(),
                i64::from(metric.higher_is_better).into(),
            ],
        )?;
    }
    if let Some(conclusion) = &attachment.conclusion {
        conclude(database, trial, conclusion)?;
    }
    if !attachment.tags.is_empty() {
        remarks::tag_rows(database, experiment, Some(trial), &attachment.tags, &[])?;
    }
    if new_trial {
        for note in &attachment.notes {
            remarks::note_row(database, experiment, Some(trial), now, note)?;
        }
        for link in &attachment.links {
            remarks::link_row(database, experiment, Some(trial), link)?;
        }
    }
    // Holds the experiment until the end, so that the overview of one attach does not miss another one.
    database
        .query("UPDATE experiments SET changed_ns = $1 WHERE id = $2", &[now.into(), experiment.into()])?;
    overview::refresh(database, experiment)?;
    Ok(attached)
}

/// Stores what analyses conclude, on top of what the trial had.
fn conclude(database: &mut dyn Database, trial: i64, conclusion: &Conclusion) -> Result<(), StoreError> {
    let there = database.query("SELECT conclusion FROM trials WHERE id = $1", &[trial.into()])?;
    let earlier = there.first().and_then(|row| serde_json::from_str(&row[0].text()).ok());
    let text = serde_json::to_string(&conclusion.clone().over(earlier))
        .map_err(|error| StoreError::Malformed(error.to_string()))?;
    database.query("UPDATE trials SET conclusion = $1 WHERE id = $2", &[Cell::Text(text), trial.into()])?;
    Ok(())
}

/// The trial, created if it is new, and locked until the attach ends.
fn trial(
    database: &mut dyn Database,
    experiment: i64,
    attachment: &Attachment,
    now: i64,
) -> Result<(i64, bool), StoreError> {
    let made = database.query(
        "INSERT INTO trials (experiment_id, name, branch, testbed, created_ns, changed_ns) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (experiment_id, name) DO NOTHING RETURNING id",
        &[
            experiment.into(),
            attachment.trial.as_str().into(),
            attachment.branch.as_deref().unwrap_or_default().into(),
            attachment.testbed.as_deref().unwrap_or_default().into(),
            now.into(),
            now.into(),
        ],
    )?;
    if let Some(row) = made.first() {
        return Ok((row[0].int(), true));
    }
    let rows = database.query(
        "UPDATE trials SET changed_ns = $1 WHERE experiment_id = $2 AND name = $3 \
         RETURNING id, removed_ns",
        &[now.into(), experiment.into(), attachment.trial.as_str().into()],
    )?;
    let row = rows
        .first()
        .ok_or_else(|| StoreError::NoTrial(attachment.experiment.clone(), attachment.trial.clone()))?;
    if !row[1].is_null() {
        return Err(StoreError::Removed(attachment.trial.clone()));
    }
    let id = row[0].int();
    for (sql, value) in [
        ("UPDATE trials SET branch = $1 WHERE id = $2", &attachment.branch),
        ("UPDATE trials SET testbed = $1 WHERE id = $2", &attachment.testbed),
    ] {
        if let Some(value) = value {
            database.query(sql, &[value.into(), id.into()])?;
        }
    }
    Ok((id, false))
}

/// Fails unless it is a relative path that stays below its folder.
pub(crate) fn check_path(path: &str) -> Result<(), StoreError> {
    let why = match path {
        "" => "it is empty",
        _ if path.len() > 1000 => "it is too long",
        _ if path.starts_with('/') || path.contains('\\') => "it must be relative, with `/` between folders",
        _ if path.chars().any(char::is_control) => "it has control characters",
        _ if path.split('/').any(|part| ["", ".", ".."].contains(&part)) => "it must stay below its folder",
        _ => return Ok(()),
    };
    Err(StoreError::BadName(path.to_string(), why))
}
