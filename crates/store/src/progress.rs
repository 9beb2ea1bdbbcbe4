//! Progress of runs that write to a trial, for people who watch.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::database::{Cell, Database};
use crate::error::StoreError;
use crate::{Store, experiments, now_ns};

/// After this much silence a run counts as gone.
pub(crate) const SILENCE_NS: i64 = 120_000_000_000;

/// Runs whose last report is older than this are forgotten.
const FORGOTTEN_NS: i64 = 7 * 86_400_000_000_000;

/// Progress of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The experiment.
    pub experiment: String,
    /// The trial that it writes to.
    pub trial: String,
    /// `collect`, `autotune`, `optimize` …
    pub kind: String,
    /// Steps done.
    pub done: i64,
    /// All steps, if known.
    pub total: Option<i64>,
    /// What it does now.
    pub message: String,
    /// When it reported this; filled in by the store.
    pub at_ns: i64,
    /// Whether it ended.
    pub ended: bool,
}

impl Progress {
    /// Whether it is still running: it did not end, and reported something lately.
    pub fn is_running(&self) -> bool {
        !self.ended && self.at_ns > now_ns() - SILENCE_NS
    }
}

impl Store {
    /// Stores the progress of a run. There is one row for each command and trial.
    pub fn set_progress(&mut self, progress: &Progress) -> Result<(), StoreError> {
        experiments::check_name(&progress.trial)?;
        let experiment = experiments::living(self.database.as_mut(), &progress.experiment)?;
        self.database.query(
            "INSERT INTO progress (experiment_id, trial, kind, done, total, message, at_ns, ended) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (experiment_id, trial, kind) DO UPDATE SET \
             done = excluded.done, total = excluded.total, message = excluded.message, \
             at_ns = excluded.at_ns, ended = excluded.ended",
            &[
                experiment.into(),
                (&progress.trial).into(),
                (&progress.kind).into(),
                progress.done.into(),
                progress.total.into(),
                (&progress.message).into(),
                now_ns().into(),
                i64::from(progress.ended).into(),
            ],
        )?;
        Ok(())
    }

    /// Runs that reported something after a time, of one experiment if given, the oldest report first. Clocks
    /// of machines differ: ask a few seconds back and take what is new.
    pub fn progress(&mut self, experiment: Option<&str>, since_ns: i64) -> Result<Vec<Progress>, StoreError> {
        let mut values = vec![Cell::Int(since_ns)];
        let mut which = "";
        if let Some(name) = experiment {
            values.push(experiments::living(self.database.as_mut(), name)?.into());
            which = "AND e.id = $2 ";
        }
        let rows = self.database.query(
            &format!(
                "SELECT e.name, p.trial, p.kind, p.done, p.total, p.message, p.at_ns, p.ended FROM progress p \
                 JOIN experiments e ON e.id = p.experiment_id WHERE p.at_ns > $1 AND e.removed_ns IS NULL {which}\
                 ORDER BY p.at_ns, p.trial, p.kind"
            ),
            &values,
        )?;
        let progress = |row: Vec<Cell>| Progress {
            experiment: row[0].text(),
            trial: row[1].text(),
            kind: row[2].text(),
            done: row[3].int(),
            total: (!row[4].is_null()).then(|| row[4].int()),
            message: row[5].text(),
            at_ns: row[6].int(),
            ended: row[7].int() != 0,
        };
        Ok(rows.into_iter().map(progress).collect())
    }
}

/// Numbers of experiments where something runs now.
pub(crate) fn running(database: &mut dyn Database) -> Result<BTreeSet<i64>, StoreError> {
    let since = now_ns() - SILENCE_NS;
    let rows = database.query(
        "SELECT DISTINCT experiment_id FROM progress WHERE at_ns > $1 AND ended = 0",
        &[since.into()],
    )?;
    Ok(rows.iter().map(|row| row[0].int()).collect())
}

/// Forgets runs that have been silent for long.
pub(crate) fn forget(database: &mut dyn Database) -> Result<(), StoreError> {
    database.query("DELETE FROM progress WHERE at_ns < $1", &[(now_ns() - FORGOTTEN_NS).into()])?;
    Ok(())
}
