//! The documents of a trial.

use std::collections::BTreeSet;
use std::sync::Arc;

use store::Artifact;

use crate::documents::Document;
use crate::pages::views::{self, file_name};
use crate::state::Dashboard;

/// Artifacts that may hold the verdict, the preferred one first.
pub const VERDICTS: [&str; 8] = [
    "explain.json",
    "triage.json",
    "report.json",
    "summary.json",
    "breakdown.json",
    "efficiency.json",
    "critical_path.json",
    "profile.json",
];

/// The documents of a trial that could be read, and why others could not.
pub struct Read {
    /// Paths and documents.
    pub documents: Vec<(String, Arc<Document>)>,
    /// Why others are not shown.
    pub problems: Vec<String>,
}

impl Read {
    /// Reads all documents that the page may show.
    pub async fn all(state: &Dashboard, artifacts: &[Artifact]) -> Self {
        let wanted: BTreeSet<&str> = views::sections()
            .iter()
            .flat_map(|section| &section.part)
            .flat_map(|part| part.artifacts.iter().map(String::as_str))
            .chain(VERDICTS)
            .collect();
        let mut read = Self { documents: Vec::new(), problems: Vec::new() };
        for artifact in artifacts.iter().filter(|artifact| wanted.contains(file_name(&artifact.path))) {
            match state.document(artifact).await {
                Ok(document) => read.documents.push((artifact.path.clone(), document)),
                Err(problem) => read.problems.push(problem.message),
            }
        }
        read
    }

    /// The document of an artifact.
    pub fn get(&self, artifact: &Artifact) -> Option<&Document> {
        self.documents.iter().find(|(path, _)| *path == artifact.path).map(|(_, document)| &**document)
    }

    /// The document with this file name.
    pub fn named(&self, name: &str) -> Option<&Document> {
        self.documents.iter().find(|(path, _)| file_name(path) == name).map(|(_, document)| &**document)
    }
}
