//! What pages query about artifacts: their names in all trials at once, one of them, and where its bytes are.

use std::path::PathBuf;

use crate::Store;
use crate::error::StoreError;
use crate::experiments::{self, Artifact};

impl Store {
    /// (trial, artifact) of all trials of an experiment, the oldest trial first.
    pub fn artifact_names(&mut self, experiment: &str) -> Result<Vec<(String, String)>, StoreError> {
        let id = experiments::living(self.database.as_mut(), experiment)?;
        let rows = self.database.query(
            "SELECT t.name, a.path FROM artifacts a JOIN trials t ON t.id = a.trial_id \
             WHERE t.experiment_id = $1 AND t.removed_ns IS NULL ORDER BY t.id, a.path",
            &[id.into()],
        )?;
        Ok(rows.iter().map(|row| (row[0].text(), row[1].text())).collect())
    }

    /// One artifact of a trial, if the trial has it.
    pub fn artifact(
        &mut self,
        experiment: &str,
        trial: &str,
        path: &str,
    ) -> Result<Option<Artifact>, StoreError> {
        let (_, id) = experiments::living_trial(self.database.as_mut(), experiment, trial)?;
        let rows = self.database.query(
            "SELECT sha256, bytes, schema_name, attached_ns FROM artifacts WHERE trial_id = $1 AND path = $2",
            &[id.into(), path.into()],
        )?;
        Ok(rows.first().map(|row| Artifact {
            path: path.to_string(),
            sha256: row[0].text(),
            bytes: row[1].int(),
            schema: row[2].text_or_none(),
            attached_ns: row[3].int(),
        }))
    }

    /// The file with the bytes of an artifact. It is never changed.
    pub fn content_path(&self, sha256: &str) -> PathBuf {
        self.blobs.path(sha256)
    }
}
