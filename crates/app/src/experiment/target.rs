//! The trial that a command attaches its own result to.

use std::path::PathBuf;

use report::{Note, Report};
use store::{Attachment, StoreError};

use super::attach::Prepared;
use super::{StoreLocation, analyses};
use crate::failure::Failure;
use crate::observer::Observer;

/// Where the result of a command goes besides the screen.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// The store.
    pub place: StoreLocation,
    /// The experiment; created if new.
    pub experiment: String,
    /// The trial; created if new.
    pub trial: String,
    /// Branch of the code.
    pub branch: Option<String>,
    /// What it ran on.
    pub testbed: Option<String>,
    /// Whether an earlier result of the same command is replaced.
    pub replace: bool,
}

impl Target {
    /// Fails before the work if its result could not be attached afterwards.
    pub fn check(&self, command: &str) -> Result<(), Failure> {
        let mut store = self.place.open()?;
        if !store.has_experiment(&self.experiment)? {
            store.new_experiment(&self.experiment, "")?;
        }
        let path = file_of(command);
        match store.trial(&self.experiment, &self.trial) {
            Ok(trial) if !self.replace && trial.artifacts.iter().any(|artifact| artifact.path == path) => {
                Err(StoreError::Differs { trial: self.trial.clone(), path }.into())
            }
            Ok(_) | Err(StoreError::NoTrial(..)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Attaches a report as the JSON that its command prints, together with files; the report says so.
    pub fn attach(
        &self,
        report: &mut Report,
        files: &[PathBuf],
        observer: &dyn Observer,
    ) -> Result<(), Failure> {
        let mut prepared = Prepared::default();
        prepared.add_bytes(&file_of(&report.command), analyses::json(report.clone(), observer))?;
        for path in files {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            prepared.add_file(&name, path)?;
        }
        let attachment = Attachment {
            experiment: self.experiment.clone(),
            trial: self.trial.clone(),
            branch: self.branch.clone(),
            testbed: self.testbed.clone(),
            replace: self.replace,
            ..prepared.attachment()
        };
        let attached = self.place.open()?.attach(&attachment)?;
        let files = attached.added.len() + attached.replaced.len() + attached.unchanged.len();
        let plural = if files == 1 { "file" } else { "files" };
        let text = format!(
            "attached {files} {plural} to trial `{}` of experiment `{}`",
            self.trial, self.experiment
        );
        report.notes.push(Note::from(text));
        Ok(())
    }
}

/// The artifact of a command.
fn file_of(command: &str) -> String {
    format!("{}.json", command.replace('-', "_"))
}
