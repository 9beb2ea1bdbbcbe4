//! Removing, restoring, and deleting for good.

use std::collections::BTreeSet;

use crate::database::{Cell, Database};
use crate::error::StoreError;
use crate::experiments;
use crate::{Store, now_ns, overview, progress};

/// What a collection freed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Experiments that were deleted for good.
    pub experiments: i64,
    /// Trials that were deleted for good, those of these experiments included.
    pub trials: i64,
    /// Files that nothing referred to.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

impl Store {
    /// Removes an experiment or a trial; `gc` makes that final.
    pub fn remove(&mut self, experiment: &str, trial: Option<&str>) -> Result<(), StoreError> {
        let now = now_ns();
        self.whole(|database| match trial {
            None => {
                let id = experiments::living(database, experiment)?;
                mark(database, "experiments", id, Some(now))
            }
            Some(trial) => {
                let (of, id) = experiments::living_trial(database, experiment, trial)?;
                mark_trial(database, of, id, Some(now))
            }
        })
    }

    /// Brings a removed experiment or trial back.
    pub fn restore(&mut self, experiment: &str, trial: Option<&str>) -> Result<(), StoreError> {
        self.whole(|database| {
            let found = match trial {
                None => database
                    .query("SELECT id, removed_ns FROM experiments WHERE name = $1", &[experiment.into()])?,
                Some(trial) => {
                    let id = experiments::living(database, experiment)?;
                    database.query(
                        "SELECT id, removed_ns, experiment_id FROM trials WHERE experiment_id = $1 AND name = $2",
                        &[id.into(), trial.into()],
                    )?
                }
            };
            match (found.first(), trial) {
                (None, None) => Err(StoreError::NoExperiment(experiment.to_string())),
                (None, Some(trial)) => Err(StoreError::NoTrial(experiment.to_string(), trial.to_string())),
                (Some(row), _) if row[1].is_null() => {
                    Err(StoreError::NotRemoved(trial.unwrap_or(experiment).to_string()))
                }
                (Some(row), Some(_)) => mark_trial(database, row[2].int(), row[0].int(), None),
                (Some(row), None) => mark(database, "experiments", row[0].int(), None),
            }
        })
    }

    /// Deletes what was removed, and files that nothing refers to. Attaches wait meanwhile.
    pub fn collect(&mut self) -> Result<Collected, StoreError> {
        let _alone = self.blobs.hold()?;
        let mut collected = self.whole(|database| {
            let count = |database: &mut dyn Database, sql: &str| -> Result<i64, StoreError> {
                Ok(database.query(sql, &[])?.first().map_or(0, |row| row[0].int()))
            };
            let trials = count(
                database,
                "SELECT count(*) FROM trials WHERE removed_ns IS NOT NULL OR experiment_id IN \
                 (SELECT id FROM experiments WHERE removed_ns IS NOT NULL)",
            )?;
            let experiments =
                count(database, "SELECT count(*) FROM experiments WHERE removed_ns IS NOT NULL")?;
            database.query("DELETE FROM trials WHERE removed_ns IS NOT NULL", &[])?;
            database.query("DELETE FROM experiments WHERE removed_ns IS NOT NULL", &[])?;
            progress::forget(database)?;
            Ok(Collected { experiments, trials, ..Collected::default() })
        })?;
        let named = self.database.query("SELECT DISTINCT sha256 FROM artifacts", &[])?;
        let named: BTreeSet<String> = named.into_iter().map(|row| row[0].text()).collect();
        let folder = self.blobs.folder();
        (collected.files, collected.bytes) = self.blobs.collect(&named).map_err(StoreError::write(folder))?;
        Ok(collected)
    }
}

fn mark(
    database: &mut dyn Database,
    table: &str,
    id: i64,
    removed_ns: Option<i64>,
) -> Result<(), StoreError> {
    let values = [Cell::from(removed_ns), id.into()];
    database.query(&format!("UPDATE {table} SET removed_ns = $1 WHERE id = $2"), &values)?;
    Ok(())
}

/// Marks a trial as removed or restored, which changes the overview row of its experiment.
fn mark_trial(
    database: &mut dyn Database,
    experiment: i64,
    trial: i64,
    removed_ns: Option<i64>,
) -> Result<(), StoreError> {
    mark(database, "trials", trial, removed_ns)?;
    experiments::hold(database, experiment)?;
    overview::refresh(database, experiment)
}
