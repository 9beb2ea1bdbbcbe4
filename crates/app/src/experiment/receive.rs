//! Files that another machine made, for a trial of this store: checked like any others, and not analysed again.

use std::path::PathBuf;

use serde_json::{Map, Value};
use store::{Attached, Attachment, Link, Metric, Store, StoreError};

use super::attach::{self, Prepared};
use crate::failure::Failure;

/// What was received.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// The experiment; created if new.
    pub experiment: String,
    /// The trial; created if new.
    pub trial: String,
    /// The files, under their names in the trial.
    pub folder: PathBuf,
    /// Branch of the code.
    pub branch: Option<String>,
    /// What it ran on.
    pub testbed: Option<String>,
    /// Metrics that were sent along.
    pub metrics: Vec<Metric>,
    /// Fields of the profile's metadata; its file takes precedence.
    pub metadata: Map<String, Value>,
    /// Tags to add.
    pub tags: Vec<String>,
    /// Notes of a new trial.
    pub notes: Vec<String>,
    /// Links of a new trial.
    pub links: Vec<Link>,
    /// Whether other files of the same name are replaced.
    pub replace: bool,
}

/// Why nothing was attached.
#[derive(Debug)]
pub enum Refused {
    /// A file is invalid.
    File(Failure),
    /// The store refused.
    Store(StoreError),
}

/// Checks the files and attaches all of them or none; if none, no experiment is created either.
pub fn receive(store: &mut Store, received: &Received) -> Result<Attached, Refused> {
    let mut files = Vec::new();
    attach::find(&received.folder, &mut files).map_err(Refused::File)?;
    let mut prepared = Prepared::default();
    for (name, path) in &files {
        prepared.add_file(name, path).map_err(Refused::File)?;
    }
    for metric in &received.metrics {
        prepared.metrics.retain(|there| there.name != metric.name);
        prepared.metrics.push(metric.clone());
    }
    let mut metadata = received.metadata.clone();
    metadata.extend(prepared.attachment().metadata);
    let attachment = Attachment {
        experiment: received.experiment.clone(),
        new_experiment: true,
        trial: received.trial.clone(),
        branch: received.branch.clone(),
        testbed: received.testbed.clone(),
        tags: received.tags.clone(),
        notes: received.notes.clone(),
        links: received.links.clone(),
        replace: received.replace,
        metadata,
        ..prepared.attachment()
    };
    store.attach(&attachment).map_err(Refused::Store)
}
