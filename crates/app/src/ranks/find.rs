//! Which files belong to ranks: digests, and traces of any format with a timeline or collectives.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use ingest::{Format, Input};
use ranks::digest::is_digest;

use crate::failure::Failure;

/// File extension of digests.
pub(super) const ENDING: &str = "digest";

/// Formats without a timeline of a rank.
const NO_RANKS: &[Format] = &[
    Format::Compute,
    Format::Rocprof,
    Format::ComputeAnalysis,
    Format::Prometheus,
    Format::UnifiedMemory,
    Format::Snapshot,
];

/// One input.
pub(super) enum Source {
    /// A digest.
    Digest {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// A trace.
    Trace {
        /// Its files.
        input: Input,
        /// When it was last changed, in ns since 1970.
        modified_ns: i64,
    },
}

impl Source {
    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            Source::Digest { path, .. } => path,
            Source::Trace { input, .. } => &input.path,
        }
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        match self {
            Source::Digest { bytes, .. } => *bytes,
            Source::Trace { input, .. } => input.bytes,
        }
    }
}

/// All inputs, and those that cannot be used.
#[derive(Default)]
pub(super) struct RankSources {
    /// Digests first, then traces by name.
    pub sources: Vec<Source>,
    /// (path, why)
    pub unusable: Vec<(String, String)>,
}

/// The inputs behind files and folders.
pub(super) fn find(paths: &[PathBuf]) -> Result<RankSources, Failure> {
    let mut found = RankSources::default();
    let (mut digests, mut traces) = (Vec::new(), Vec::new());
    for path in paths {
        if path.is_dir() {
            let before = digests.len();
            let mut others = false;
            list(path, 0, &mut digests, &mut others);
            // A folder of digests alone may hold thousands of them; no reader has to look at each.
            if others || digests.len() == before {
                traces.push((path.clone(), digests.len() > before));
            }
        } else if is_digest(&head(path)) {
            digests.push(path.clone());
        } else {
            traces.push((path.clone(), false));
        }
    }
    digests.sort();
    digests.dedup();
    for path in digests {
        let bytes = fs::metadata(&path).map_or(0, |meta| meta.len());
        found.sources.push(Source::Digest { path, bytes });
    }
    for (path, has_digests) in traces {
        match ingest::find_usable_inputs(std::slice::from_ref(&path)) {
            Ok((inputs, unusable)) => {
                let why = |error: ingest::Error| (path.display().to_string(), error.to_string());
                found.unusable.extend(unusable.into_iter().map(why));
                inputs.into_iter().for_each(|input| found.take(input));
            }
            // A folder with digests may have no traces.
            Err(ingest::Error::NoTraces { .. }) if has_digests => {}
            Err(error) if paths.len() > 1 => {
                found.unusable.push((path.display().to_string(), error.to_string()));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

impl RankSources {
    fn take(&mut self, input: Input) {
        if NO_RANKS.contains(&input.format) {
            return;
        }
        if let Some(role) = ingest::role_of_path(&input.path).filter(|_| input.format == Format::Torch) {
            let why = format!("it is not a rank of the run ({role})");
            self.unusable.push((input.path.display().to_string(), why));
            return;
        }
        let modified = input.files.iter().filter_map(|file| fs::metadata(file).ok()?.modified().ok()).max();
        let since = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
        let modified_ns = since.map_or(0, |since| since.as_nanos() as i64);
        self.sources.push(Source::Trace { input, modified_ns });
    }
}

/// Deeper folders are not looked into.
const DEEPEST: usize = 16;

/// The digests below a folder, and whether there are other files.
fn list(folder: &Path, depth: usize, digests: &mut Vec<PathBuf>, others: &mut bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type();
        if kind.as_ref().is_ok_and(|kind| kind.is_dir()) {
            if depth < DEEPEST {
                list(&path, depth + 1, digests, others);
            }
        } else if path.extension().is_some_and(|ending| ending == ENDING) {
            digests.push(path);
        } else if !entry.file_name().to_string_lossy().starts_with('.') {
            *others = true;
        }
    }
}

fn head(path: &Path) -> Vec<u8> {
    use std::io::Read;
    let mut head = Vec::new();
    if let Ok(file) = fs::File::open(path) {
        let _ = file.take(16).read_to_end(&mut head);
    }
    head
}
