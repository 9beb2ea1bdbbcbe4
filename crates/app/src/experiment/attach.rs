//! Attaching files and folders to a trial: known artifacts are checked, traces are analysed.

use std::path::{Path, PathBuf};

use report::Report;
use serde_json::{Map, Value};
use store::{Attachment, Conclusion, Content, Metric, NewArtifact, Store};

use super::{StoreLocation, analyses, conclusion, importance, known, metrics, present, report};
use crate::failure::Failure;
use crate::observer::Observer;

/// Artifacts above this size are not read as JSON.
const MOST_JSON_BYTES: u64 = 1 << 30;

/// What to attach to which trial.
#[derive(Clone, Debug, Default)]
pub struct AttachRequest {
    /// The store.
    pub place: StoreLocation,
    /// The experiment; it must exist.
    pub experiment: String,
    /// The trial; created if new.
    pub trial: String,
    /// Files and folders.
    pub paths: Vec<PathBuf>,
    /// Branch of the code.
    pub branch: Option<String>,
    /// What it ran on.
    pub testbed: Option<String>,
    /// Metrics given by the user.
    pub metrics: Vec<Metric>,
    /// Whether other files of the same name are replaced.
    pub replace: bool,
    /// Whether to store traces without running analyses on them.
    pub without_analyses: bool,
}

/// Attaches, all of it or nothing.
pub fn attach(request: &AttachRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    let mut store = request.place.open()?;
    // Fails before traces are analysed.
    store.experiment(&request.experiment)?;
    let mut files = Vec::new();
    for path in &request.paths {
        find(path, &mut files)?;
    }
    if files.is_empty() && request.metrics.is_empty() {
        return Err(Failure::input("there is nothing to attach").with_help("name files, folders or metrics"));
    }
    let mut prepared = Prepared::default();
    for (name, path) in &files {
        prepared.add_file(name, path)?;
    }
    if !request.without_analyses {
        prepared.analyse(&files, observer)?;
    }
    prepared.metrics.extend(request.metrics.iter().cloned());
    let attachment = Attachment {
        experiment: request.experiment.clone(),
        trial: request.trial.clone(),
        branch: request.branch.clone(),
        testbed: request.testbed.clone(),
        replace: request.replace,
        ..prepared.attachment()
    };
    attach_all(&mut store, &attachment, prepared.missing)
}

/// Attaches what is prepared and returns the outcome for each file.
pub(super) fn attach_all(
    store: &mut Store,
    attachment: &Attachment,
    notes: Vec<String>,
) -> Result<Report, Failure> {
    let attached = store.attach(attachment)?;
    let trial = store.trial(&attachment.experiment, &attachment.trial)?;
    Ok(report(vec![present::attached(&attached, &trial), present::metrics(&trial.row.metrics)], notes))
}

/// Files that were checked, and what was read from them.
#[derive(Default)]
pub(super) struct Prepared {
    artifacts: Vec<NewArtifact>,
    metadata: Map<String, Value>,
    pub metrics: Vec<Metric>,
    pub missing: Vec<String>,
    conclusion: Option<Conclusion>,
}

impl Prepared {
    /// Adds a file, checked if its format is known.
    pub fn add_file(&mut self, name: &str, path: &Path) -> Result<(), Failure> {
        let small = std::fs::metadata(path).is_ok_and(|facts| facts.len() <= MOST_JSON_BYTES);
        if known::is_known(name) && small {
            let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
            return self.add_bytes(name, bytes);
        }
        self.push(name, Content::File(path.to_path_buf()), None);
        Ok(())
    }

    /// Adds a file by its bytes, checked if its format is known.
    pub fn add_bytes(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), Failure> {
        let checked = known::check(name, &bytes)?;
        if let Some((_, document)) = &checked {
            if known::file_name(name) == formats::run::PROFILE_METADATA_FILE {
                self.metadata = document.as_object().cloned().unwrap_or_default();
            }
            if let Some(conclusion) = conclusion::of_artifact(name, document) {
                self.conclusion = Some(conclusion.over(self.conclusion.take()));
            }
            for metric in metrics::of_artifact(name, document)? {
                self.metrics.retain(|there| there.name != metric.name);
                self.metrics.push(metric);
            }
        }
        let importance = checked.as_ref().and_then(|(_, document)| match known::file_name(name) {
            "autotune.json" => importance::of_search(document),
            _ => None,
        });
        self.push(name, Content::Bytes(bytes), checked.map(|(schema, _)| schema));
        if let Some(importance) = importance {
            let beside = name.strip_suffix("autotune.json").unwrap_or_default();
            self.add_made(&format!("{beside}{}", importance::FILE), importance.to_string().into_bytes())?;
        }
        Ok(())
    }

    /// Adds a file that was made from another one, unless the trial has its own.
    fn add_made(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), Failure> {
        match self.artifacts.iter().any(|artifact| artifact.path == name) {
            true => Ok(()),
            false => self.add_bytes(name, bytes),
        }
    }

    fn push(&mut self, name: &str, content: Content, schema: Option<&str>) {
        // A file that comes with the trial replaces one that was made here.
        self.artifacts.retain(|artifact| artifact.path != name);
        self.artifacts.push(NewArtifact { path: name.into(), content, schema: schema.map(Into::into) });
    }

    /// Adds the results of analyses on the traces among the files.
    fn analyse(&mut self, files: &[(String, PathBuf)], observer: &dyn Observer) -> Result<(), Failure> {
        let is_trace =
            |(name, path): &&(String, PathBuf)| !known::is_known(name) && ingest::detect(path).is_ok();
        let traces: Vec<PathBuf> = files.iter().filter(is_trace).map(|(_, path)| path.clone()).collect();
        if traces.is_empty() {
            return Ok(());
        }
        let there: Vec<String> = self.artifacts.iter().map(|artifact| artifact.path.clone()).collect();
        let (made, missing) = analyses::of_traces(&traces, &there, observer)?;
        for (name, bytes) in made {
            self.add_bytes(&name, bytes)?;
        }
        self.missing.extend(missing);
        Ok(())
    }

    /// Everything as an attachment without a name.
    pub fn attachment(&self) -> Attachment {
        Attachment {
            artifacts: self.artifacts.clone(),
            metadata: self.metadata.clone(),
            metrics: self.metrics.clone(),
            conclusion: self.conclusion.clone(),
            ..Attachment::default()
        }
    }
}

/// The files behind a path, each with its name in the trial; links are not followed.
pub(super) fn find(path: &Path, files: &mut Vec<(String, PathBuf)>) -> Result<(), Failure> {
    let facts = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if !facts.is_dir() {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| Failure::input(format!("`{}` has no usable name", path.display())))?;
        return add(name.to_string(), path, files);
    }
    below(path, "", files)
}

fn below(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> Result<(), Failure> {
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().map_err(|error| unreadable(&entry.path(), &error))?;
        // Files of this program's own bookkeeping and of editors begin with a dot.
        if name.starts_with('.') {
            continue;
        }
        let name = format!("{prefix}{name}");
        if kind.is_dir() {
            below(&entry.path(), &format!("{name}/"), files)?;
        } else if kind.is_file() {
            add(name, &entry.path(), files)?;
        }
    }
    Ok(())
}

fn add(name: String, path: &Path, files: &mut Vec<(String, PathBuf)>) -> Result<(), Failure> {
    if let Some((_, other)) = files.iter().find(|(there, _)| *there == name) {
        let message = format!("`{}` and `{}` would both be called `{name}`", other.display(), path.display());
        return Err(Failure::input(message).with_help("attach the folder that holds both"));
    }
    files.push((name, path.to_path_buf()));
    Ok(())
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::input(format!("cannot read `{}`: {}", path.display(), error.to_string().to_lowercase()))
}
