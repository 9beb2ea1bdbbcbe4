//! Making, listing and showing experiments and trials; tags, notes and links.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::database::{Cell, Database, Row};
use crate::error::StoreError;
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
    /// Fails unless it is a number with an interval around it.
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
    /// Files of these.
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
    /// Branch of the code; empty where it was not told.
    pub branch: String,
    /// What it ran on; empty where it was not told.
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
    pub(crate) id: i64,
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

/// What somebody wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// When.
    pub created_ns: i64,
    /// What.
    pub text: String,
}

/// Where else to look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The address.
    pub url: String,
    /// What is there.
    pub text: String,
}

/// A trial with all that was attached.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// What its list says of it.
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

/// Fails unless something can be called that in a path, an address and a table.
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

/// The numbers of an experiment and perhaps of one of its trials.
fn place(
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
            let made = database.query(
                "INSERT INTO experiments (name, description, created_ns, changed_ns) VALUES ($1, $2, $3, $4) \
                 ON CONFLICT (name) DO NOTHING RETURNING id",
                &[name.into(), description.into(), now.into(), now.into()],
            )?;
            if made.is_empty() {
                // Either it is removed, or it is there.
                living(database, name)?;
                return Err(StoreError::Exists(name.to_string()));
            }
            Ok(())
        })
    }

    /// Whether there is such an experiment; a removed one is an error.
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
                "SELECT e.name, e.description, e.created_ns, e.changed_ns, e.removed_ns, \
                 (SELECT count(*) FROM trials t WHERE t.experiment_id = e.id AND t.removed_ns IS NULL), \
                 (SELECT count(*) FROM artifacts a JOIN trials t ON t.id = a.trial_id \
                  WHERE t.experiment_id = e.id AND t.removed_ns IS NULL), \
                 (SELECT t.name FROM trials t WHERE t.experiment_id = e.id AND t.removed_ns IS NULL \
                  ORDER BY t.id DESC LIMIT 1), e.id \
                 FROM experiments e WHERE e.removed_ns {which} ORDER BY e.changed_ns DESC, e.id DESC"
            ),
            &[],
        )?;
        let mut tags = grouped(
            self.database
                .query("SELECT experiment_id, tag FROM tags WHERE trial_id IS NULL ORDER BY tag", &[])?,
        );
        let row = |row: Row| ExperimentRow {
            name: row[0].text(),
            description: row[1].text(),
            created_ns: row[2].int(),
            changed_ns: row[3].int(),
            removed_ns: (!row[4].is_null()).then(|| row[4].int()),
            trials: row[5].int(),
            artifacts: row[6].int(),
            last_trial: row[7].text_or_none(),
            tags: tags.remove(&row[8].int()).unwrap_or_default(),
        };
        Ok(rows.into_iter().map(row).collect())
    }

    /// What the list says of one experiment.
    pub fn experiment(&mut self, name: &str) -> Result<ExperimentRow, StoreError> {
        living(self.database.as_mut(), name)?;
        let found = self.experiments(false)?.into_iter().find(|row| row.name == name);
        found.ok_or_else(|| StoreError::NoExperiment(name.to_string()))
    }

    /// The trials of an experiment, oldest first.
    pub fn trials(&mut self, experiment: &str, removed: bool) -> Result<Vec<TrialRow>, StoreError> {
        let id = living(self.database.as_mut(), experiment)?;
        let which = if removed { "IS NOT NULL" } else { "IS NULL" };
        let rows = self.database.query(
            &format!(
                "SELECT t.id, t.name, t.branch, t.testbed, t.created_ns, t.removed_ns, \
                 (SELECT count(*) FROM artifacts a WHERE a.trial_id = t.id) \
                 FROM trials t WHERE t.experiment_id = $1 AND t.removed_ns {which} ORDER BY t.id"
            ),
            &[id.into()],
        )?;
        let mut metrics: BTreeMap<i64, Vec<Metric>> = BTreeMap::new();
        let found = self.database.query(
            "SELECT m.trial_id, m.name, m.unit, m.value, m.low, m.high, m.higher_is_better FROM metrics m \
             JOIN trials t ON t.id = m.trial_id WHERE t.experiment_id = $1 ORDER BY m.name",
            &[id.into()],
        )?;
        for row in found {
            metrics.entry(row[0].int()).or_default().push(metric(&row[1..]));
        }
        let mut tags = grouped(self.database.query(
            "SELECT trial_id, tag FROM tags WHERE experiment_id = $1 AND trial_id IS NOT NULL ORDER BY tag",
            &[id.into()],
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
                metrics: metrics.remove(&id).unwrap_or_default(),
                tags: tags.remove(&id).unwrap_or_default(),
            }
        };
        Ok(rows.into_iter().map(row).collect())
    }

    /// One trial with all that was attached.
    pub fn trial(&mut self, experiment: &str, trial: &str) -> Result<Trial, StoreError> {
        let (_, id) = living_trial(self.database.as_mut(), experiment, trial)?;
        let row = self.trials(experiment, false)?.into_iter().find(|row| row.id == id);
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

    /// The bytes of an artifact.
    pub fn content(&self, sha256: &str) -> Result<Vec<u8>, StoreError> {
        let path = self.blobs.path(sha256);
        std::fs::read(&path).map_err(StoreError::read(&path))
    }

    /// Adds tags to an experiment or a trial, or takes them away.
    pub fn tag(
        &mut self,
        experiment: &str,
        trial: Option<&str>,
        add: &[String],
        remove: &[String],
    ) -> Result<Vec<String>, StoreError> {
        add.iter().try_for_each(|tag| check_name(tag))?;
        self.whole(|database| {
            let (id, trial) = place(database, experiment, trial)?;
            // Nobody else changes these tags meanwhile.
            database.query("UPDATE experiments SET changed_ns = changed_ns WHERE id = $1", &[id.into()])?;
            let of = match trial {
                Some(_) => "experiment_id = $1 AND trial_id = $2",
                None => "experiment_id = $1 AND trial_id IS NULL",
            };
            let values = |tag: Option<&String>| -> Vec<Cell> {
                [Some(Cell::Int(id)), trial.map(Cell::Int), tag.map(Cell::from)]
                    .into_iter()
                    .flatten()
                    .collect()
            };
            let at = if trial.is_some() { "$3" } else { "$2" };
            for tag in add.iter().chain(remove) {
                database.query(&format!("DELETE FROM tags WHERE {of} AND tag = {at}"), &values(Some(tag)))?;
            }
            for tag in add {
                database.query(
                    "INSERT INTO tags (experiment_id, trial_id, tag) VALUES ($1, $2, $3)",
                    &[id.into(), trial.into(), tag.into()],
                )?;
            }
            let left =
                database.query(&format!("SELECT tag FROM tags WHERE {of} ORDER BY tag"), &values(None))?;
            Ok(left.into_iter().map(|row| row[0].text()).collect())
        })
    }

    /// Writes a note.
    pub fn add_note(&mut self, experiment: &str, trial: Option<&str>, text: &str) -> Result<(), StoreError> {
        let now = now_ns();
        self.whole(|database| {
            let (id, trial) = place(database, experiment, trial)?;
            database.query(
                "INSERT INTO notes (experiment_id, trial_id, created_ns, text) VALUES ($1, $2, $3, $4)",
                &[id.into(), trial.into(), now.into(), text.into()],
            )?;
            Ok(())
        })
    }

    /// Adds a link.
    pub fn add_link(&mut self, experiment: &str, trial: Option<&str>, link: &Link) -> Result<(), StoreError> {
        if !link.url.starts_with("https://") && !link.url.starts_with("http://") {
            return Err(StoreError::Malformed(format!(
                "`{}` is not an address: it must begin with https:// or http://",
                link.url
            )));
        }
        self.whole(|database| {
            let (id, trial) = place(database, experiment, trial)?;
            database.query(
                "INSERT INTO links (experiment_id, trial_id, url, text) VALUES ($1, $2, $3, $4)",
                &[id.into(), trial.into(), (&link.url).into(), (&link.text).into()],
            )?;
            Ok(())
        })
    }

    /// Notes of an experiment or a trial, oldest first.
    pub fn notes(&mut self, experiment: &str, trial: Option<&str>) -> Result<Vec<Note>, StoreError> {
        let rows = self.of_place(experiment, trial, "created_ns, text", "notes")?;
        Ok(rows.into_iter().map(|row| Note { created_ns: row[0].int(), text: row[1].text() }).collect())
    }

    /// Links of an experiment or a trial.
    pub fn links(&mut self, experiment: &str, trial: Option<&str>) -> Result<Vec<Link>, StoreError> {
        let rows = self.of_place(experiment, trial, "url, text", "links")?;
        Ok(rows.into_iter().map(|row| Link { url: row[0].text(), text: row[1].text() }).collect())
    }

    fn of_place(
        &mut self,
        experiment: &str,
        trial: Option<&str>,
        columns: &str,
        table: &str,
    ) -> Result<Vec<Row>, StoreError> {
        let database = self.database.as_mut();
        let select = format!("SELECT {columns} FROM {table} WHERE experiment_id = $1 AND trial_id");
        match place(database, experiment, trial)? {
            (id, Some(trial)) => {
                database.query(&format!("{select} = $2 ORDER BY id"), &[id.into(), trial.into()])
            }
            (id, None) => database.query(&format!("{select} IS NULL ORDER BY id"), &[id.into()]),
        }
    }
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

/// Texts by the number before them.
fn grouped(rows: Vec<Row>) -> BTreeMap<i64, Vec<String>> {
    let mut groups: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for row in rows {
        groups.entry(row[0].int()).or_default().push(row[1].text());
    }
    groups
}
