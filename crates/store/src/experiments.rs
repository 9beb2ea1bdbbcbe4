//! Making, listing and showing experiments and trials.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::database::{Cell, Database, Row};
use crate::error::StoreError;
use crate::remarks::{Link, Note};
use crate::{Store, now_ns};

/// A figure of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// `throughput`
    pub name: String,
    /// `tok/s`; empty for plain numbers.
    #[serde(default)]
    pub unit: String,
    /// The figure.
    pub value: f64,
    /// Lower end of its 95 % interval.
    #[serde(default)]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(default)]
    pub high: Option<f64>,
    /// Whether more is better.
    #[serde(default)]
    pub higher_is_better: bool,
}

impl Metric {
    /// Fails unless its values are numbers and the interval surrounds the figure.
    pub fn check(&self) -> Result<(), StoreError> {
        let wrong = |why: &str| Err(StoreError::Malformed(format!("metric `{}`: {why}", self.name)));
        match (self.low, self.high) {
            _ if self.name.is_empty() || self.name.chars().any(char::is_control) => wrong("it has no name"),
            _ if !self.value.is_finite() => wrong("it is not a number"),
            (None, None) => Ok(()),
            (Some(low), Some(high)) if low <= self.value && self.value <= high && high.is_finite() => Ok(()),
            _ => wrong("its interval does not hold its value"),
        }
    }
}

/// A line of the list of experiments.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentRow {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// Trials that are not removed.
    pub trials: i64,
    /// Their files.
    pub artifacts: i64,
    /// The latest trial.
    pub last_trial: Option<String>,
    /// When it was made.
    pub created_ns: i64,
    /// When something was attached last.
    pub changed_ns: i64,
    /// When it was removed, if it was.
    pub removed_ns: Option<i64>,
    /// Its own tags.
    pub tags: Vec<String>,
}

/// A line of the list of trials.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialRow {
    /// Its name.
    pub name: String,
    /// Branch of the code; empty if unknown.
    pub branch: String,
    /// What it ran on; empty if unknown.
    pub testbed: String,
    /// When it was made.
    pub created_ns: i64,
    /// When it was removed, if it was.
    pub removed_ns: Option<i64>,
    /// Number of files.
    pub artifacts: i64,
    /// Figures, by name.
    pub metrics: Vec<Metric>,
    /// Tags.
    pub tags: Vec<String>,
    /// What its analyses conclude.
    pub conclusion: Option<Conclusion>,
    pub(crate) id: i64,
}

/// What the analyses of a trial conclude.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conclusion {
    /// The verdict in a sentence.
    pub verdict: Option<String>,
    /// What bounds the run: `launch`, `memory` …
    pub bound_by: Option<String>,
    /// `gfx942`
    pub architecture: Option<String>,
    /// `exact`, `compatible` or `unknown`.
    pub arch_match: Option<String>,
    /// Why.
    pub arch_reason: Option<String>,
}

impl Conclusion {
    /// This conclusion, completed with an earlier one.
    pub fn over(self, earlier: Option<Conclusion>) -> Self {
        let earlier = earlier.unwrap_or_default();
        Self {
            verdict: self.verdict.or(earlier.verdict),
            bound_by: self.bound_by.or(earlier.bound_by),
            architecture: self.architecture.or(earlier.architecture),
            arch_match: self.arch_match.or(earlier.arch_match),
            arch_reason: self.arch_reason.or(earlier.arch_reason),
        }
    }
}

/// A file of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its name.
    pub path: String,
    /// Hash of its content.
    pub sha256: String,
    /// Its size.
    pub bytes: i64,
    /// The schema that it was checked against.
    pub schema: Option<String>,
    /// When it was attached.
    pub attached_ns: i64,
}

/// A trial with all that was attached.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Its row in the list of trials.
    pub row: TrialRow,
    /// Its files.
    pub artifacts: Vec<Artifact>,
    /// Fields of the profile's metadata.
    pub metadata: Map<String, Value>,
    /// Notes, oldest first.
    pub notes: Vec<Note>,
    /// Links.
    pub links: Vec<Link>,
}

/// Fails unless the name works in a path, an address and a table.
pub(crate) fn check_name(name: &str) -> Result<(), StoreError> {
    let why = match name {
        "" => "it is empty",
        "." | ".." => "a folder is called that",
        _ if name.len() > 200 => "it has more than 200 bytes",
        _ if name.contains(['/', '\\']) => "it has a slash",
        _ if name.starts_with('-') => "it begins like an option",
        _ if name.chars().any(char::is_control) || name.trim() != name => {
            "it has control characters, or blanks around it"
        }
        _ => return Ok(()),
    };
    Err(StoreError::BadName(name.to_string(), why))
}

/// Creates an experiment unless its name is taken; returns whether it did.
pub(crate) fn make(
    database: &mut dyn Database,
    name: &str,
    description: &str,
    now: i64,
) -> Result<bool, StoreError> {
    let made = database.query(
        "INSERT INTO experiments (name, description, created_ns, changed_ns) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (name) DO NOTHING RETURNING id",
        &[name.into(), description.into(), now.into(), now.into()],
    )?;
    Ok(!made.is_empty())
}

/// The number of an experiment that is not removed.
pub(crate) fn living(database: &mut dyn Database, name: &str) -> Result<i64, StoreError> {
    let rows = database.query("SELECT id, removed_ns FROM experiments WHERE name = $1", &[name.into()])?;
    match rows.first() {
        None => Err(StoreError::NoExperiment(name.to_string())),
        Some(row) if !row[1].is_null() => Err(StoreError::Removed(name.to_string())),
        Some(row) => Ok(row[0].int()),
    }
}

/// The number of a trial that is not removed.
pub(crate) fn living_trial(
    database: &mut dyn Database,
    experiment: &str,
    trial: &str,
) -> Result<(i64, i64), StoreError> {
    let id = living(database, experiment)?;
    let rows = database.query(
        "SELECT id, removed_ns FROM trials WHERE experiment_id = $1 AND name = $2",
        &[id.into(), trial.into()],
    )?;
    match rows.first() {
        None => Err(StoreError::NoTrial(experiment.to_string(), trial.to_string())),
        Some(row) if !row[1].is_null() => Err(StoreError::Removed(trial.to_string())),
        Some(row) => Ok((id, row[0].int())),
    }
}

/// Keeps others from changing an experiment until the transaction ends.
pub(crate) fn hold(database: &mut dyn Database, experiment: i64) -> Result<(), StoreError> {
    database.query("UPDATE experiments SET changed_ns = changed_ns WHERE id = $1", &[experiment.into()])?;
    Ok(())
}

/// The numbers of an experiment and, if given, of one of its trials.
pub(crate) fn place(
    database: &mut dyn Database,
    experiment: &str,
    trial: Option<&str>,
) -> Result<(i64, Option<i64>), StoreError> {
    match trial {
        Some(trial) => living_trial(database, experiment, trial).map(|(id, trial)| (id, Some(trial))),
        None => living(database, experiment).map(|id| (id, None)),
    }
}

impl Store {
    /// Makes an experiment.
    pub fn new_experiment(&mut self, name: &str, description: &str) -> Result<(), StoreError> {
        check_name(name)?;
        let now = now_ns();
        self.whole(|database| {
            if !make(database, name, description, now)? {
                // Either it was removed, or it exists.
                living(database, name)?;
                return Err(StoreError::Exists(name.to_string()));
            }
            Ok(())
        })
    }

    /// Whether an experiment exists; a removed one is an error.
    pub fn has_experiment(&mut self, name: &str) -> Result<bool, StoreError> {
        match living(self.database.as_mut(), name) {
            Ok(_) => Ok(true),
            Err(StoreError::NoExperiment(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// All experiments, the one that changed last first.
    pub fn experiments(&mut self, removed: bool) -> Result<Vec<ExperimentRow>, StoreError> {
        let which = if removed { "IS NOT NULL" } else { "IS NULL" };
        let rows = self.database.query(
            &format!(
                "SELECT {EXPERIMENT} FROM experiments e WHERE e.removed_ns {which} \
                 ORDER BY e.changed_ns DESC, e.id DESC"
            ),
            &[],
        )?;
        let mut tags = grouped(
            self.database
                .query("SELECT experiment_id, tag FROM tags WHERE trial_id IS NULL ORDER BY tag", &[])?,
        );
        let row = |row: Row| experiment_row(&row, tags.remove(&row[0].int()));
        Ok(rows.into_iter().map(row).collect())
    }

    /// The list row of one experiment.
    pub fn experiment(&mut self, name: &str) -> Result<ExperimentRow, StoreError> {
        let id = living(self.database.as_mut(), name)?;
        let rows = self
            .database
            .query(&format!("SELECT {EXPERIMENT} FROM experiments e WHERE e.id = $1"), &[id.into()])?;
        let mut tags = tags_of(self.database.as_mut(), &[id])?;
        let found = rows.first().map(|row| experiment_row(row, tags.remove(&id)));
        found.ok_or_else(|| StoreError::NoExperiment(name.to_string()))
    }

    /// The trials of an experiment, oldest first.
    pub fn trials(&mut self, experiment: &str, removed: bool) -> Result<Vec<TrialRow>, StoreError> {
        let id = living(self.database.as_mut(), experiment)?;
        trials_of(self.database.as_mut(), id, removed)
    }

    /// One trial with all that was attached.
    pub fn trial(&mut self, experiment: &str, trial: &str) -> Result<Trial, StoreError> {
        let (_, id) = living_trial(self.database.as_mut(), experiment, trial)?;
        let row = trial_rows(self.database.as_mut(), "t.id = $1", id)?.pop();
        let row = row.ok_or_else(|| StoreError::NoTrial(experiment.to_string(), trial.to_string()))?;
        let artifacts = self.database.query(
            "SELECT path, sha256, bytes, schema_name, attached_ns FROM artifacts WHERE trial_id = $1 ORDER BY path",
            &[id.into()],
        )?;
        let artifact = |row: Row| Artifact {
            path: row[0].text(),
            sha256: row[1].text(),
            bytes: row[2].int(),
            schema: row[3].text_or_none(),
            attached_ns: row[4].int(),
        };
        let metadata = self
            .database
            .query("SELECT field, value FROM metadata WHERE trial_id = $1 ORDER BY field", &[id.into()])?;
        let field = |row: Row| {
            let text = row[1].text();
            (row[0].text(), serde_json::from_str(&text).unwrap_or(Value::String(text)))
        };
        Ok(Trial {
            row,
            artifacts: artifacts.into_iter().map(artifact).collect(),
            metadata: metadata.into_iter().map(field).collect(),
            notes: self.notes(experiment, Some(trial))?,
            links: self.links(experiment, Some(trial))?,
        })
    }

    /// Where the bytes of an artifact are.
    pub fn path_of(&self, sha256: &str) -> PathBuf {
        self.blobs.path(sha256)
    }

    /// The bytes of an artifact.
    pub fn content(&self, sha256: &str) -> Result<Vec<u8>, StoreError> {
        let path = self.blobs.path(sha256);
        std::fs::read(&path).map_err(StoreError::read(&path))
    }
}

/// Columns that a list needs of an experiment `e`; see [`experiment_row`].
pub(crate) const EXPERIMENT: &str = "e.id, e.name, e.description, e.created_ns, e.changed_ns, e.removed_ns, \
     e.trial_count, e.artifact_count, e.last_trial";

/// An experiment from the columns of [`EXPERIMENT`].
pub(crate) fn experiment_row(row: &Row, tags: Option<Vec<String>>) -> ExperimentRow {
    ExperimentRow {
        name: row[1].text(),
        description: row[2].text(),
        created_ns: row[3].int(),
        changed_ns: row[4].int(),
        removed_ns: (!row[5].is_null()).then(|| row[5].int()),
        trials: row[6].int(),
        artifacts: row[7].int(),
        last_trial: row[8].text_or_none(),
        tags: tags.unwrap_or_default(),
    }
}

/// The trials of an experiment by its number, oldest first.
pub(crate) fn trials_of(
    database: &mut dyn Database,
    experiment: i64,
    removed: bool,
) -> Result<Vec<TrialRow>, StoreError> {
    let which = if removed { "IS NOT NULL" } else { "IS NULL" };
    trial_rows(database, &format!("t.experiment_id = $1 AND t.removed_ns {which}"), experiment)
}

/// The trials `t` that meet a condition on a number, oldest first.
fn trial_rows(database: &mut dyn Database, which: &str, number: i64) -> Result<Vec<TrialRow>, StoreError> {
    let rows = database.query(
        &format!(
            "SELECT t.id, t.name, t.branch, t.testbed, t.created_ns, t.removed_ns, \
             (SELECT count(*) FROM artifacts a WHERE a.trial_id = t.id), t.conclusion \
             FROM trials t WHERE {which} ORDER BY t.id"
        ),
        &[number.into()],
    )?;
    let mut metrics: BTreeMap<i64, Vec<Metric>> = BTreeMap::new();
    let found = database.query(
        &format!(
            "SELECT m.trial_id, m.name, m.unit, m.value, m.low, m.high, m.higher_is_better FROM metrics m \
             JOIN trials t ON t.id = m.trial_id WHERE {which} ORDER BY m.trial_id, m.name"
        ),
        &[number.into()],
    )?;
    for row in found {
        metrics.entry(row[0].int()).or_default().push(metric(&row[1..]));
    }
    let mut tags = grouped(database.query(
        &format!(
            "SELECT g.trial_id, g.tag FROM tags g JOIN trials t ON t.id = g.trial_id \
             AND t.experiment_id = g.experiment_id WHERE {which} ORDER BY g.tag"
        ),
        &[number.into()],
    )?);
    let row = |row: Row| {
        let id = row[0].int();
        TrialRow {
            id,
            name: row[1].text(),
            branch: row[2].text(),
            testbed: row[3].text(),
            created_ns: row[4].int(),
            removed_ns: (!row[5].is_null()).then(|| row[5].int()),
            artifacts: row[6].int(),
            conclusion: serde_json::from_str(&row[7].text()).unwrap_or_default(),
            metrics: metrics.remove(&id).unwrap_or_default(),
            tags: tags.remove(&id).unwrap_or_default(),
        }
    };
    Ok(rows.into_iter().map(row).collect())
}

/// The experiments' own tags.
pub(crate) fn tags_of(
    database: &mut dyn Database,
    experiments: &[i64],
) -> Result<BTreeMap<i64, Vec<String>>, StoreError> {
    if experiments.is_empty() {
        return Ok(BTreeMap::new());
    }
    let places: Vec<String> = (1..=experiments.len()).map(|at| format!("${at}")).collect();
    let values: Vec<Cell> = experiments.iter().map(|id| Cell::Int(*id)).collect();
    let sql = format!(
        "SELECT experiment_id, tag FROM tags WHERE experiment_id IN ({}) AND trial_id IS NULL ORDER BY tag",
        places.join(", ")
    );
    Ok(grouped(database.query(&sql, &values)?))
}

/// A metric from `name, unit, value, low, high, higher_is_better`.
pub(crate) fn metric(row: &[Cell]) -> Metric {
    Metric {
        name: row[0].text(),
        unit: row[1].text(),
        value: row[2].real().unwrap_or(f64::NAN),
        low: row[3].real(),
        high: row[4].real(),
        higher_is_better: row[5].int() != 0,
    }
}

/// Groups texts by the number before them.
pub(crate) fn grouped(rows: Vec<Row>) -> BTreeMap<i64, Vec<String>> {
    let mut groups: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for row in rows {
        groups.entry(row[0].int()).or_default().push(row[1].text());
    }
    groups
}
