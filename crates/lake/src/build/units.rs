//! What is read together: a trace, and the files next to it about the same rank.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use ingest::{Format, Input, rank_of_path, role_of_path};

use super::{BuildRequest, Problem};
use crate::Error;
use crate::manifest::SourceFile;

/// Run name if nothing gives one.
const NO_NAME: &str = "run";

/// One trace and what belongs to it.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// What is read.
    pub paths: Vec<PathBuf>,
    /// The same files, as manifests record them.
    pub sources: Vec<SourceFile>,
    pub bytes: u64,
    /// Its place among all units: its rank if nothing else gives one.
    pub place: i64,
}

/// All units of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Units {
    pub all: Vec<Unit>,
    pub run: String,
    pub node: Option<String>,
    /// The rank that the caller gave.
    pub rank: Option<i64>,
    pub problems: Vec<Problem>,
    pub left_out: Vec<PathBuf>,
}

impl Units {
    pub fn find(request: &BuildRequest) -> Result<Self, Error> {
        let (inputs, unusable) = ingest::find_usable_inputs(&request.inputs)?;
        let mut units = Units {
            run: request.run.clone().unwrap_or_else(|| run_name(&request.inputs)),
            node: request.node.clone(),
            ..Units::default()
        };
        let unreadable = |error: &ingest::Error| Problem::Unreadable { message: error.to_string() };
        units.problems.extend(unusable.iter().map(unreadable));
        let (traces, beside): (Vec<Input>, Vec<Input>) =
            inputs.into_iter().partition(|input| is_trace(input.format));
        for input in traces {
            if input.format == Format::Torch && role_of_path(&input.path).is_some() {
                units.left_out.push(input.path);
                continue;
            }
            let place = units.all.len() as i64;
            units.all.push(Unit::of(&input, place));
        }
        for input in beside {
            units.add_beside(&input);
        }
        if units.all.len() == 1 {
            units.rank = request.rank;
        }
        Ok(units)
    }

    /// Adds a file about a rank to the trace of that rank.
    fn add_beside(&mut self, input: &Input) {
        let rank = rank_of_path(&input.path);
        let only = self.all.len() == 1;
        let is_its = |unit: &&mut Unit| only || (rank.is_some() && rank_of_path(&unit.paths[0]) == rank);
        match self.all.iter_mut().find(is_its) {
            Some(unit) => {
                unit.paths.extend(input.files.iter().cloned());
                unit.sources.extend(input.files.iter().map(|file| source(file)));
                unit.bytes += input.bytes;
            }
            None => self.problems.push(Problem::NoRank { path: input.path.clone() }),
        }
    }
}

impl Unit {
    fn of(input: &Input, place: i64) -> Self {
        // A workload folder is read as a folder.
        let paths = if input.path.is_dir() { vec![input.path.clone()] } else { input.files.clone() };
        let sources = input.files.iter().map(|file| source(file)).collect();
        Self { paths, sources, bytes: input.bytes, place }
    }
}

/// Whether a format has rows of its own; other formats describe a trace.
fn is_trace(format: Format) -> bool {
    !matches!(format, Format::Snapshot | Format::Inspector | Format::Prometheus | Format::UnifiedMemory)
}

fn source(path: &Path) -> SourceFile {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let meta = std::fs::metadata(path).ok();
    let modified = meta.as_ref().and_then(|meta| meta.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    SourceFile {
        path: absolute.display().to_string(),
        bytes: meta.map_or(0, |meta| meta.len()),
        modified_ns: modified.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(0)),
    }
}

/// The name of the folder that the inputs are in, or of the input folder itself.
fn run_name(inputs: &[PathBuf]) -> String {
    let folder = |path: &PathBuf| -> Option<PathBuf> {
        let path = std::path::absolute(path).ok()?;
        if path.is_dir() { Some(path) } else { path.parent().map(Path::to_path_buf) }
    };
    let mut folders = inputs.iter().filter_map(folder);
    let Some(mut common) = folders.next() else { return NO_NAME.into() };
    for folder in folders {
        while !folder.starts_with(&common) && common.pop() {}
    }
    common.file_name().map_or_else(|| NO_NAME.into(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_after_the_folder_of_its_traces() {
        let name = |paths: &[&str]| run_name(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(name(&["/traces/4711/rank0.json", "/traces/4711/rank1.json"]), "4711");
        assert_eq!(name(&["/traces/4711/a/rank0.json", "/traces/4711/b/rank1.json"]), "4711");
        assert_eq!(name(&["/rank0.json"]), NO_NAME);
    }
}
