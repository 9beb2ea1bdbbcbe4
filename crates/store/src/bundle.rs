//! An experiment as data that another store can import: facts in one JSON object, files by their hash.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::attach::{Attached, Attachment, Content, NewArtifact};
use crate::error::StoreError;
use crate::experiments::{Artifact, Conclusion, Metric};
use crate::remarks::{Link, Note};
use crate::{Store, sha256};

/// The file with the facts.
const FACTS: &str = "experiment.json";
/// The folder of the files.
const FILES: &str = "artifacts";
/// Version of the format.
const VERSION: u32 = 1;

/// An exported experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bundle {
    /// Version of the format.
    pub version: u32,
    /// Its name.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// Its own tags.
    pub tags: Vec<String>,
    /// Its own notes.
    pub notes: Vec<Note>,
    /// Its own links.
    pub links: Vec<Link>,
    /// Trials, oldest first.
    pub trials: Vec<BundleTrial>,
}

/// An exported trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BundleTrial {
    /// Its name.
    pub name: String,
    /// Branch of the code.
    pub branch: String,
    /// What it ran on.
    pub testbed: String,
    /// When it was made.
    pub created_ns: i64,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its notes.
    pub notes: Vec<Note>,
    /// Its links.
    pub links: Vec<Link>,
    /// Fields of the profile's metadata.
    pub metadata: Map<String, Value>,
    /// Its figures.
    pub metrics: Vec<Metric>,
    /// What its analyses conclude.
    #[serde(default)]
    pub conclusion: Option<Conclusion>,
    /// Its files.
    pub artifacts: Vec<Artifact>,
}

impl Store {
    /// An experiment with all its trials.
    pub fn bundle(&mut self, experiment: &str) -> Result<Bundle, StoreError> {
        let row = self.experiment(experiment)?;
        let mut trials = Vec::new();
        for row in self.trials(experiment, false)? {
            let trial = self.trial(experiment, &row.name)?;
            trials.push(BundleTrial {
                name: row.name,
                branch: row.branch,
                testbed: row.testbed,
                created_ns: row.created_ns,
                tags: row.tags,
                metrics: row.metrics,
                conclusion: row.conclusion,
                notes: trial.notes,
                links: trial.links,
                metadata: trial.metadata,
                artifacts: trial.artifacts,
            });
        }
        Ok(Bundle {
            version: VERSION,
            name: row.name,
            description: row.description,
            tags: row.tags,
            notes: self.notes(experiment, None)?,
            links: self.links(experiment, None)?,
            trials,
        })
    }

    /// Writes an experiment with its files to a new folder, and extra files next to them.
    pub fn export(
        &mut self,
        experiment: &str,
        folder: &Path,
        beside: &[(&str, &[u8])],
    ) -> Result<Bundle, StoreError> {
        let _kept = self.blobs.keep()?;
        let bundle = self.bundle(experiment)?;
        let output = files::OutputFolder::create(folder).map_err(StoreError::write(folder))?;
        let into = output.partial().join(FILES);
        std::fs::create_dir_all(&into).map_err(StoreError::write(&into))?;
        let hashes: BTreeSet<&String> = bundle
            .trials
            .iter()
            .flat_map(|trial| &trial.artifacts)
            .map(|artifact| &artifact.sha256)
            .collect();
        for hash in hashes {
            let (from, to) = (self.blobs.path(hash), into.join(hash));
            std::fs::copy(&from, &to).map_err(StoreError::read(&from))?;
        }
        for (name, bytes) in beside {
            let path = output.partial().join(name);
            std::fs::write(&path, bytes).map_err(StoreError::write(&path))?;
        }
        let facts = output.partial().join(FACTS);
        let text = serde_json::to_string_pretty(&bundle)
            .map_err(|error| StoreError::Malformed(error.to_string()))?;
        std::fs::write(&facts, text + "\n").map_err(StoreError::write(&facts))?;
        output.commit().map_err(StoreError::write(folder))?;
        Ok(bundle)
    }

    /// Imports an exported experiment, under its own name or another one. Trials that already exist are left
    /// alone if they equal those of the bundle; otherwise the import fails.
    pub fn import(
        &mut self,
        folder: &Path,
        name: Option<&str>,
    ) -> Result<(String, Vec<Attached>), StoreError> {
        let facts = folder.join(FACTS);
        let text = std::fs::read_to_string(&facts).map_err(StoreError::read(&facts))?;
        let malformed = |why: String| StoreError::Malformed(format!("`{}`: {why}", facts.display()));
        let bundle: Bundle = serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?;
        if bundle.version != VERSION {
            return Err(malformed(format!("version {} is not known", bundle.version)));
        }
        let name = name.unwrap_or(&bundle.name).to_string();
        let mut attachments = Vec::new();
        for trial in &bundle.trials {
            let artifacts: Result<Vec<NewArtifact>, StoreError> =
                trial.artifacts.iter().map(|artifact| file_of(folder, artifact)).collect();
            attachments.push(Attachment {
                experiment: name.clone(),
                trial: trial.name.clone(),
                branch: Some(trial.branch.clone()),
                testbed: Some(trial.testbed.clone()),
                artifacts: artifacts?,
                metadata: trial.metadata.clone(),
                metrics: trial.metrics.clone(),
                conclusion: trial.conclusion.clone(),
                tags: trial.tags.clone(),
                notes: trial.notes.iter().map(|note| note.text.clone()).collect(),
                links: trial.links.clone(),
                ..Attachment::default()
            });
        }
        let is_new = !self.has_experiment(&name)?;
        if is_new {
            self.new_experiment(&name, &bundle.description)?;
        }
        self.tag(&name, None, &bundle.tags, &[])?;
        // A second import does not write them twice.
        if is_new {
            bundle.notes.iter().try_for_each(|note| self.add_note(&name, None, &note.text))?;
            bundle.links.iter().try_for_each(|link| self.add_link(&name, None, link))?;
        }
        let done: Result<Vec<Attached>, StoreError> =
            attachments.iter().map(|attachment| self.attach(attachment)).collect();
        Ok((name, done?))
    }
}

/// A file of a bundle, if its content is what the bundle says.
fn file_of(folder: &Path, artifact: &Artifact) -> Result<NewArtifact, StoreError> {
    crate::attach::check_path(&artifact.path)?;
    let is_hash = artifact.sha256.len() == 64 && artifact.sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash {
        return Err(StoreError::Malformed(format!("`{}` has no SHA-256", artifact.path)));
    }
    let path = folder.join(FILES).join(&artifact.sha256);
    let mut bytes = Vec::new();
    std::fs::File::open(&path)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(StoreError::read(&path))?;
    if sha256(&bytes) != artifact.sha256 {
        return Err(StoreError::Malformed(format!("`{}` is not the file that was exported", path.display())));
    }
    Ok(NewArtifact {
        path: artifact.path.clone(),
        content: Content::File(path),
        schema: artifact.schema.clone(),
    })
}
